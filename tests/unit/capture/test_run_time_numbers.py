"""Numbers of run time: bounds of integers, what guards let through, which sources are learned, and which ops take a number."""

import enum
import math
import random

import pytest
import torch

from lect.dialects import make_context
from lect.dialects.guard.arithmetic import FUNCTIONS
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.numbers import MAX_BITS, NumberPolicy, RunTimeNumber, _bound
from lect.frontends.capture.sources import SourceTable
from lect.frontends.tensors.lower.inplace import functional_variant
from lect.frontends.tensors.lower.table import RULES
from lect.frontends.tensors.numbers import TAKEN
from lect.ir import parse_module, print_module
from lect.runtime.guards import HOLDS, RAISED, build_predicate
from lect.runtime.numbers import changed_numbers
from lect.runtime.pipeline import compile_call

INT_FUNCTIONS = ("add", "sub", "mul", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor", "neg", "abs", "invert")


def number(value, bits):
    """A run-time number that belongs to no trace."""
    return RunTimeNumber(None, value, SourceTable().local("n"), bits)


@pytest.mark.parametrize("name", INT_FUNCTIONS)
def test_integers_stay_within_their_bound(name):
    draw = random.Random(0)
    for _ in range(300):
        bits = draw.choice((3, 20, 63, 200))
        left = draw.randint(-(1 << bits) + 1, (1 << bits) - 1)
        right = draw.randint(0, 16) if name in ("pow", "lshift", "rshift") else draw.randint(-(1 << 30), 1 << 30)
        args = (number(left, bits), right)[: 1 if name in ("neg", "abs", "invert") else 2]
        bound, checked = _bound(name, args)
        if bound > MAX_BITS or (not right and name in ("floordiv", "mod")):
            continue
        assert not checked
        result = FUNCTIONS[name](*[arg.value if isinstance(arg, RunTimeNumber) else arg for arg in args])
        assert result.bit_length() <= bound


@pytest.mark.parametrize("name", ["pow", "lshift"])
def test_exponents_and_shifts_of_run_time_are_not_applied(name):
    """2 ** n may take for ever when it is computed for a guard."""
    assert _bound(name, (2, number(3, 63)))[0] > MAX_BITS


def test_division_by_a_run_time_number_is_checked():
    assert _bound("truediv", (1, number(3, 63)))[1]
    assert not _bound("truediv", (number(3, 63), 100))[1]


# ---- guards ----------------------------------------------------------------------------------------------------------


def f(n):
    return n


def predicate(text):
    """The predicate of guards on the parameter `n`."""
    body = f'%n = guard.source() {{path = #guard.path<L["n"]>}} : !guard.object\n{text}'
    module = parse_module(f"guard.set @f.guards() {{\n{body}\n}}", make_context())
    guards = next(iter(module.body))
    return build_predicate(guards, f, {"args": ("n",)}, (), {"n": 1})


class Level(int, enum.Enum):
    LOW = 1


class Special(float):
    pass


def test_floats_of_any_value():
    holds = predicate("guard.number(%n) {element = f64}").holds
    for value in (0.0, -0.0, 1e308, math.inf, math.nan):
        assert holds(value) == HOLDS
    for value in (1, True, None, "1.0", Special(1.0), torch.tensor(1.0)):
        assert holds(value) == 0


def test_integers_of_64_bits():
    holds = predicate("guard.number(%n) {element = i64}").holds
    for value in (0, -(2**63), 2**63 - 1):
        assert holds(value) == HOLDS
    for value in (2**63, -(2**63) - 1, 1.0, True, Level.LOW):
        assert holds(value) == 0


@pytest.mark.parametrize(
    ("element", "fits", "good", "bad"),
    [
        ("f64", "f32", (3.4e38, -3.4e38, math.inf, -math.inf, math.nan), (3.5e38, -1e300)),
        ("f64", "f16", (65504.0, math.inf), (65505.0,)),
        ("i64", "i8", (127, -128), (128, -129)),
        ("i64", "ui8", (0, 255), (-1, 256)),
        ("i64", "f16", (65504,), (65505,)),
        ("i64", "f32", (2**63 - 1,), (2**63,)),
    ],
)
def test_numbers_that_fit(element, fits, good, bad):
    holds = predicate(f"guard.number(%n) {{element = {element}, fits = {fits}}}").holds
    assert [holds(value) for value in good] == [HOLDS] * len(good)
    assert [holds(value) for value in bad] == [0] * len(bad)


def test_outcomes_and_what_raises():
    text = '%0 = guard.apply(%n) {function = "truediv", args = [1, #fx.operand<0>]} : !guard.object\n'
    text += '%1 = guard.apply(%0) {function = "lt", args = [#fx.operand<0>, 0.5]} : !guard.object\nguard.truth(%1) {value = true}'
    holds = predicate(text).holds
    assert holds(4) == HOLDS
    assert holds(1) == 0
    assert holds(0) == RAISED
    assert holds("a") == RAISED


def test_changed_numbers_are_those_that_alone_fail():
    text = "guard.equals(%n) {value = 1}\nguard.not_none(%n)"
    assert {path.print_body() for path in changed_numbers(predicate(text), (2,), {}, f, {"n": 2})} == {'L["n"]'}
    assert changed_numbers(predicate(text), (1,), {}, f, {"n": 1}) == set()
    for other in ("1", True, None):
        assert changed_numbers(predicate(text), (other,), {}, f, {"n": other}) == set()
    items = predicate("guard.items(%n) {items = [1, 2.0, 3]}")
    value = [1, 2.5, 4]
    assert {path.print_body() for path in changed_numbers(items, (value,), {}, f, {"n": value})} == {'L["n"][1]', 'L["n"][2]'}
    for value in ([1, 2.0], [1, 2.0, "3"], (x for x in (1,))):
        assert changed_numbers(items, (value,), {}, f, {"n": value}) == set()


# ---- learning --------------------------------------------------------------------------------------------------------


def scaled(x, rate, size):
    return torch.cat([x * rate] * size), rate + size


def cut(x, rate, size):
    return (x * rate)[:, :size], rate + size


def test_a_needed_value_is_remembered():
    policy = NumberPolicy(arguments=True)
    texts = []
    observe = lambda stage, module: texts.append(print_module(module))  # noqa: E731
    made = compile_call(scaled, (torch.randn(4, 4), 0.5, 2), {}, CodeTable(), {"level": "fx"}, observe, policy)
    assert {path.print_body() for path in policy.by_value} == {'L["size"]'}
    assert 'guard.equals(%size) {value = 2}' in texts[0]
    assert 'guard.number(%rate) {element = f64, fits = f32}' in texts[0]
    assert made.statistics["traces begun anew"] == 1


def test_a_number_that_is_a_size_is_a_symbol_of_the_next_trace():
    policy = NumberPolicy(arguments=True)
    texts = []
    observe = lambda stage, module: texts.append(print_module(module))  # noqa: E731
    made = compile_call(cut, (torch.randn(4, 4), 0.5, 2), {}, CodeTable(), {"level": "fx"}, observe, policy)
    assert {path.print_body() for path in policy.sizes.numbers} == {'L["size"]'} and not policy.by_value
    assert 'guard.number(%size) {element = i64, size = #lect.size<s2>}' in texts[0]
    assert 'fx.graph @cut.graph(%x: !fx.tensor<s0xs1xf32>, %rate: !fx.number<f64>, %size: !fx.number<i64>)' in texts[0]
    assert 's2 = {hint = 2, min = 2, argument = 2}' in texts[0]
    assert 'guard.symbolic() {size = #lect.size<s1 - s2>, low = 0}' in texts[0]
    assert made.statistics["traces begun anew"] == 1


def test_without_a_policy_numbers_are_constants():
    texts = []
    compile_call(scaled, (torch.randn(4, 4), 0.5, 2), {}, CodeTable(), {"level": "fx"}, lambda stage, module: texts.append(print_module(module)))
    assert "guard.number" not in texts[0]


# ---- ops -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("func", TAKEN, ids=str)
def test_ops_that_take_numbers_have_such_arguments_and_a_rule(func):
    names = {argument.name for argument in func._schema.arguments}
    assert TAKEN[func].names & names
    pure = functional_variant(func) if func._schema.is_mutable else func
    assert pure in RULES or func._opname == "fill_"
