"""Writes random programs of control flow: loops, exceptions, managers, generators, patterns, classes, closures and calls, with cuts in between.

All numbers are small, every loop ends, and everything that happens is told to a list, so that two runs can be compared.  Some statements call
`cut`, which is never compiled: there the function is cut, inside of whatever is open.
"""

from __future__ import annotations

import random
from collections.abc import Callable

PRELUDE = """\
class Base(Exception):
    pass
class Derived(Base):
    pass
class Point:
    __match_args__ = ("p", "q")
    def __init__(self, p, q=1, *rest, **more):
        self.p, self.q, self.rest, self.more = p, q, rest, more
    def __add__(self, other):
        return Point(self.p + other, self.q)
    def __getitem__(self, number):
        if number > 2:
            raise IndexError(number)
        return self.p * number
class Manager:
    def __init__(self, log, name, takes=()):
        self.log, self.name, self.takes = log, name, takes
    def __enter__(self):
        self.log.append(f"enter {self.name}")
        return self.name
    def __exit__(self, kind, error, traceback):
        self.log.append(f"exit {self.name} {kind and kind.__name__}")
        return kind is not None and issubclass(kind, tuple(self.takes))
@contextlib.contextmanager
def managed(log, name):
    log.append(f"begin {name}")
    try:
        yield len(log)
    except Derived:
        log.append(f"taken {name}")
    finally:
        log.append(f"end {name}")
def collect(first, second=2, *rest, key=3, **more):
    return first + second + sum(rest) + key + sum(more.values())
def traced(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) + 1
    return inner
"""
NAMES = ("a", "b", "c")


class Writer:
    """Writes one program with the function `f(x, log, a, b, xs)`.  `cuts` is how often a statement is a cut, from 0 to 1."""

    def __init__(self, seed: int, cuts: float) -> None:
        self.draw = random.Random(seed)
        self.cuts = cuts
        self.lines: list[str] = []
        self.made = 0
        self.loops = 0  # around the statement that is written next
        self.depth = 0
        self.yields = False  # the statement stands in a generator

    def program(self) -> str:
        """The text of a whole program."""
        self.lines = ["def f(x, log, a, b, xs):", "    c = 1"]
        for _ in range(self.draw.randint(3, 7)):
            self.statement(1)
        self.lines.append("    return x, a, b, c")
        return PRELUDE + "\n".join(self.lines) + "\n"

    # ---- expressions ---------------------------------------------------------------------------------------------------

    def new(self, kind: str) -> str:
        """A name that is used nowhere else."""
        self.made += 1
        return f"{kind}{self.made}"

    def number(self, depth: int = 0) -> str:
        """An expression for a small number."""
        if depth > 1 or self.draw.random() < 0.4:
            return self.draw.choice([*NAMES, *NAMES, "len(log)", "len(xs)", str(self.draw.randint(0, 4))])
        first, second = self.number(depth + 1), self.number(depth + 1)
        return self.draw.choice(
            [
                f"({first} + {second}) % 7",
                f"({first} * {second}) % 5",
                f"({first} if {self.condition(depth + 1)} else {second})",
                f"max({first}, {second})",
                f"sum([{first}, *range({second} % 4)]) % 7",
                f"sum(i for i in range({first} % 5) if i != {second})",
                f"len([i for i in range({first} % 4) for j in range(i) if j < {second}])",
                f"(lambda v, w={second}: v - w)({first}) % 6",
                f"collect({first}, *range({second} % 3), **{{'z': 1}}) % 7",
                f"(t := {first} % 3) + t" if not depth else f"-{first} % 3",
                f"len({{i: {second} for i in range({first} % 4)}})",
                f"[*map(lambda v: v + {second}, range({first} % 3 + 1))][-1]",
            ]
        )

    def condition(self, depth: int = 0) -> str:
        """An expression for a truth value."""
        first, second = self.number(depth + 1), self.number(depth + 1)
        return self.draw.choice(
            [
                f"{first} < {second}",
                f"{first} % 2 == 0",
                f"0 <= {first} < 3",
                f"{first} in (1, 2, {second})",
                f"not {first} > 2",
                f"{first} and {second}",
                f"any(i > {first} for i in xs)",
            ]
        )

    # ---- statements ----------------------------------------------------------------------------------------------------

    def put(self, indent: int, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * indent + text)

    def block(self, indent: int, most: int = 3) -> None:
        """Some statements."""
        self.depth += 1
        for _ in range(self.draw.randint(1, most if self.depth < 4 else 1)):
            self.statement(indent)
        self.depth -= 1

    def statement(self, indent: int) -> None:
        """One statement of any kind."""
        if self.draw.random() < self.cuts:
            self.put(indent, f"cut(log, {self.number(1)})")
            return
        if self.yields and self.draw.random() < 0.3:
            self.put(indent, self.draw.choice([f"yield {self.number(1)}", f"log.append((yield {self.number(1)}))", f"yield from range({self.number(1)} % 3)"]))
            return
        if self.depth < 4 and self.draw.random() < 0.62:
            self.draw.choice(self.compound)(self, indent)
        else:
            self.simple(indent)

    def simple(self, indent: int) -> None:
        """A statement of one line."""
        name, value = self.draw.choice(NAMES), self.number()
        kinds = [
            f"{name} = {value}",
            f"{name} += {value} % 3",
            f"log.append({value})",
            f"x = x + {value}",
            f"x = x * 2 - {value}" if self.depth < 2 else f"x = x - {value}",
            f"xs[{value} % len(xs)] = {value}",
            f"a, *rest = {value}, b, c",
            f"b, (a, c) = {value}, (a, b)",
            f"log.append(f'{{len(log)!r:>3}} {{{name}:03}}')",
            f"log.append(collect({value}, *xs[:2], key={name}, **dict(y={value})))",
            f"assert {self.condition()}, {value}" if self.draw.random() < 0.3 else "pass",
        ]
        if self.loops:
            kinds += [f"if {self.condition()}: break", f"if {self.condition()}: continue"]
        if self.draw.random() < 0.3:
            kinds = [f"if {self.condition()}: raise {self.draw.choice(('Base', 'Derived', 'ValueError'))}({value})"]
        elif self.draw.random() < 0.1:
            kinds = [f"if {self.condition()}: return {'x, a' if not self.yields else value}"]
        self.put(indent, self.draw.choice(kinds))

    def _loop(self, indent: int, head: str) -> None:
        self.put(indent, head)
        self.loops += 1
        self.block(indent + 1)
        self.loops -= 1
        if self.draw.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, 1)

    def for_loop(self, indent: int) -> None:
        """A loop over one of several iterables."""
        name, value = self.new("i"), self.number(1)
        iterables = (f"range({value} % 4)", "list(xs)", f"enumerate(xs[:{value}])", f"zip(range({value} % 5), xs)", f"Point({value})", "reversed(xs[:2])")
        self._loop(indent, f"for {name} in {self.draw.choice(iterables)}:")

    def while_loop(self, indent: int) -> None:
        """A loop that ends after a few rounds."""
        name = self.new("n")
        self.put(indent, f"{name} = {self.number(1)} % 4 + 1")
        self._loop(indent, f"while ({name} := {name} - 1) >= 0 and not {self.condition(1)}:")

    def branch(self, indent: int) -> None:
        """An if with its other ways."""
        self.put(indent, f"if {self.condition()}:")
        self.block(indent + 1)
        if self.draw.random() < 0.4:
            self.put(indent, f"elif {self.condition()}:")
            self.block(indent + 1, 1)
        if self.draw.random() < 0.5:
            self.put(indent, "else:")
            self.block(indent + 1, 2)

    def attempt(self, indent: int) -> None:
        """A try with some of its clauses."""
        self.put(indent, "try:")
        self.block(indent + 1)
        clauses = self.draw.randint(0, 2)
        for kinds in self.draw.sample(["Derived", "Base", "(ValueError, AssertionError)", "Exception"], clauses):
            self.put(indent, f"except {kinds} as error:")
            self.put(indent + 1, "log.append((type(error).__name__, *error.args, type(error.__context__).__name__))")
            self.block(indent + 1, 2)
            if self.draw.random() < 0.2:
                self.put(indent + 1, self.draw.choice(["raise", "raise Base(0) from error", "raise ValueError(1) from None"]))
        if clauses and self.draw.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, 1)
        if not clauses or self.draw.random() < 0.4:
            self.put(indent, "finally:")
            self.block(indent + 1, 2)

    def manager(self, indent: int) -> None:
        """A with of one to three managers."""
        made = []
        for _ in range(self.draw.randint(1, 3)):
            name = self.new("m")
            manager = self.draw.choice(
                [
                    f"Manager(log, '{name}')",
                    f"Manager(log, '{name}', (Base,))",
                    f"managed(log, '{name}')",
                    "contextlib.suppress(ValueError)",
                    f"contextlib.nullcontext({self.number(1)})",
                ]
            )
            made.append(f"{manager} as {name}" if self.draw.random() < 0.5 else manager)
        self.put(indent, f"with {', '.join(made)}:")
        self.block(indent + 1)

    def match(self, indent: int) -> None:
        """A match over subjects of several kinds."""
        value, other = self.number(1), self.number(1)
        subjects = (f"[{value}, {other}, c]", f"{{'k': {value}, 'l': [a, b]}}", f"Point({value}, {other})", f"({value}, *xs)", value)
        patterns = [
            "[0, *more]",
            "[p, q, 1] if p < q",
            "{'k': 0 | 1 as p, **more}",
            "{'l': [p, _]}",
            "Point(0, q)",
            "Point(p=p, q=1 | 2)",
            "[p, *_, 2]",
            "0 | 1 | 2",
            "int(p)",
            "[_, *more] if len(more) > 2",
        ]
        self.put(indent, f"match {self.draw.choice(subjects)}:")
        for pattern in self.draw.sample(patterns, self.draw.randint(2, 4)):
            self.put(indent + 1, f"case {pattern}:")
            bound = [name for name in ("p", "q", "more") if name in pattern.replace("Point", "").replace("p=", "")]
            self.put(indent + 2, f"log.append(({', '.join(bound)}{',' if bound else ''}))")
            self.block(indent + 2, 1)
        self.put(indent + 1, "case _:")
        self.block(indent + 2, 1)

    def _within(self, write: Callable[[], None], yields: bool) -> None:
        """Write the body of a function, where the loops around it do not count."""
        loops, before, self.loops, self.yields = self.loops, self.yields, 0, yields
        write()
        self.loops, self.yields = loops, before

    def generator(self, indent: int) -> None:
        """A generator function, and a way to use it up or to leave it."""
        name, one, two = self.new("g"), self.new("it"), self.new("it")
        self.put(indent, f"def {name}(a, b, c=2, x=0):")
        self.put(indent + 1, "try:")
        self._within(lambda: self.block(indent + 2, 3), True)
        self.put(indent + 2, "yield a")
        self.put(indent + 1, "finally:")
        self.put(indent + 2, f"log.append('left {name}')")
        first, second = self.number(1), self.number(1)
        for line in self.draw.choice(
            [
                [f"log.append(list({name}({first}, {second})))"],
                [
                    f"{one}, {two} = {name}({first}, 1), {name}(2, {second})",
                    f"log.append([*zip({one}, {two})])",
                    f"log.append(next({two}, None))",
                    f"{one}.close(); {two}.close()",
                ],
                [
                    f"{one} = {name}({first}, {second})",
                    f"log.append(next({one}, None))",
                    "try:",
                    f"    log.append({one}.send(3))",
                    "except StopIteration as error:",
                    "    log.append(error.value)",
                    f"{one}.close()",
                ],
                [
                    f"{one} = {name}({first}, {second})",
                    f"log.append(next({one}, None))",
                    "try:",
                    f"    {one}.throw(Derived(5))",
                    "except (Base, StopIteration) as error:",
                    "    log.append(repr(error))",
                    f"{one}.close()",
                ],
                [f"for {two} in {name}({first}, {second}):", f"    log.append({two})", f"    if {self.condition(1)}: break", f"{two} = None"],
            ]
        ):
            self.put(indent, line)

    def function(self, indent: int) -> None:
        """A function that changes a variable around it, decorated or not, called several times."""
        name, cell = self.new("h"), self.new("cell")
        self.put(indent, f"{cell} = {self.number(1)}")
        if self.draw.random() < 0.3:
            self.put(indent, "@traced")
        self.put(indent, f"def {name}(a, b=1, *rest, c=2, x=1, **more):")
        self.put(indent + 1, f"nonlocal {cell}")
        self.put(indent + 1, f"{cell} += a")
        self._within(lambda: self._body(indent + 1), False)
        self.put(indent + 1, f"return {cell} + len(rest) + len(more)")
        for _ in range(self.draw.randint(1, 2)):
            arguments = self.draw.choice([self.number(1), f"*xs[:3], c={self.number(1)}", f"1, **{{'y': 2, 'c': {self.number(1)}}}"])
            self.put(indent, f"log.append(({name}({arguments}), {cell}))")

    def _body(self, indent: int) -> None:
        before = len(self.lines)
        self.block(indent, 2)
        self.lines[before:] = [line.replace("return x, a", "return a") for line in self.lines[before:]]

    def class_body(self, indent: int) -> None:
        """A class whose body computes, and whose methods see names of the function and none of the body."""
        name = self.new("C")
        self.put(indent, f"class {name}({self.draw.choice(('Point', 'object', 'Manager, Point'))}):")
        for line in (f"a = {self.number(1)}", "for i in range(3): a += i", "values = [i for i in range(a % 4)]", f"if a > {self.number(2)}: b = a"):
            self.put(indent + 1, line)
        self.put(indent + 1, "def method(self, v=a): return v + a + self.b" if self.draw.random() < 0.5 else "method = lambda self, v=a: v + self.a")
        self.put(indent, "try:")
        self.put(indent + 1, f"log.append(({name}.values, {name}.a, {name}.__new__({name}).method()))")
        self.put(indent, "except AttributeError as error:")
        self.put(indent + 1, "log.append(str(error))")

    def deletion(self, indent: int) -> None:
        """A variable that may have no value when it is read."""
        name = self.new("v")
        self.put(indent, f"{name} = {self.number(1)}")
        self.put(indent, f"if {self.condition(1)}: del {name}")
        self.put(indent, "try:")
        self.put(indent + 1, f"log.append({name})")
        self.put(indent, "except UnboundLocalError as error:")
        self.put(indent + 1, "log.append(str(error))")

    compound = (for_loop, for_loop, while_loop, branch, attempt, attempt, manager, match, generator, generator, function, class_body, deletion)
