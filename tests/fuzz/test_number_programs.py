"""Random programs that compute with numbers: seven calls with other numbers give what eager gives, to the bit, in values, types and objects changed."""

import linecache
import math
import random

import pytest
import torch

import lect

PROGRAMS = 40
CALLS = 7
OPERATORS = ("+", "-", "*", "+", "*", "/", "//", "%", "**")
COMPARISONS = ("<", "<=", ">", "==", "!=")
FUNCTIONS = ("abs", "float", "round", "int", "math.floor")
HELPERS = """\
def helper(p, q=2, *r, **k):
    return p * q + sum(r) - k.get('z', 0)
def count(p):
    for i in range(3):
        yield p + i
def f(x, o, xs, d, a, b):
    try:
        x = x + 1
"""


class Writer:
    """Writes one program."""

    def __init__(self, draw):
        self.draw = draw
        self.lines = []
        self.names = ["a", "b", "o.n", "o.r", "G", "xs[0]", "xs[1]", "d['k']"]

    def expression(self, depth=0):
        kind = self.draw.random()
        if depth > 2 or kind < 0.4:
            return self.draw.choice(self.names)
        if kind < 0.55:
            return repr(self.draw.choice([0, 1, 2, 3, -1, 0.5, 2.0, -0.25, 7]))
        first, second = self.expression(depth + 1), self.expression(depth + 1)
        if kind < 0.85:
            return f"({first} {self.draw.choice(OPERATORS)} {second})"
        if kind < 0.9:
            return f"(-{first})"
        if kind < 0.95:
            return f"{self.draw.choice(('min', 'max'))}({first}, {second})"
        return f"{self.draw.choice(FUNCTIONS)}({first})"

    def condition(self):
        first, second = self.expression(1), self.expression(1)
        return self.draw.choice([f"{first} {self.draw.choice(COMPARISONS)} {second}", first, f"{first} in xs", f"isinstance({first}, int)"])

    def simple(self):
        """Statements of one line, or of two, of which the second belongs to the first."""
        first, second, third = (self.expression(1) for _ in range(3))
        return self.draw.choice(
            [
                [f"o.n {self.draw.choice(('+=', '-=', '='))} {first}"],
                [f"o.r = {first}"],
                [f"xs.append({first})"],
                [f"xs[0] = {first}"],
                [f"d['k'] = {first}"],
                [f"d['z'] = [{first}, ({second}, {third})]"],
                [f"d['c'] = [q * {first} for q in xs]"],
                [f"d['g'] = list(count({first}))"],
                [f"o.p = ({first}, {second}) < ({third}, 1)"],
                [f"a, *o.rest = [{first}, b, {second}]"],
                ["for q in xs[:3]:", "    x = x * 0.5 + q"],
                [f"x = x + helper({first}, {second}, z={third})"],
                ["x = x + sum(xs)"],
                [f"x = torch.add(x, x, alpha=float({first}))"],
                [f"x = x + len(str({first}))"],
                [f"x = x {self.draw.choice('+-*')} ({first})"],
            ]
        )

    def statement(self, indent, depth=0):
        kind, space = self.draw.random(), "    " * indent
        if kind < 0.25:
            name = f"v{len(self.lines)}"
            self.lines.append(f"{space}{name} = {self.expression()}")
            if not depth:
                self.names.append(name)
        elif kind < 0.4 and depth < 2:
            self.lines.append(f"{space}if {self.condition()}:")
            self.statement(indent + 1, depth + 1)
        else:
            self.lines += [space + line for line in self.simple()]

    def program(self):
        for _ in range(self.draw.randint(3, 9)):
            self.statement(2)
        made = ", ".join(name for name in self.names if name.startswith("v")) or "a"
        self.lines.append(f"        return x, {made}, list(xs), dict(d), a, b")
        self.lines.append("    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:")
        self.lines.append("        return x, type(error).__name__, xs, d")
        return HELPERS + "\n".join(self.lines)


class Object:
    pass


def shown(value):
    """A value with the types of all its parts."""
    if isinstance(value, torch.Tensor):
        return value.dtype, [repr(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return type(value), [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return type(value), hex(value) if type(value) is int else repr(value)


def inputs(draw, style):
    kinds = {"int": (0,), "float": (1,), "mixed": (0, 0, 1)}[style]
    return [draw.randint(-3, 6) if draw.choice(kinds) == 0 else round(draw.uniform(-2, 3), 3) for _ in range(8)]


def outcome(function, namespace, numbers):
    """What a call gives and leaves behind."""
    target = Object()
    target.n, target.r, namespace["G"], first, second, item, a, b = numbers
    values, table = [first, second], {"k": item}
    try:
        found = function(torch.arange(4.0), target, values, table, a, b)
    except Exception as error:
        found = type(error).__name__
    return shown(found), shown(values), shown(table), shown(vars(target))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_program(seed):
    draw = random.Random(seed)
    text = Writer(draw).program()
    name = f"<program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {"torch": torch, "math": math, "G": 0}
    exec(compile(text, name, "exec"), namespace)
    lect.reset()
    compiled = lect.compile(namespace["f"], options={"level": "fx"}, dynamic=draw.choice([None, None, True]))
    style = draw.choice(["mixed", "int", "float"])
    for _ in range(CALLS):
        numbers = inputs(draw, style)
        assert outcome(compiled, namespace, numbers) == outcome(namespace["f"], namespace, numbers), text
    assert [event for event in lect.events("fallback") if event.number == "LB0020"] == []
