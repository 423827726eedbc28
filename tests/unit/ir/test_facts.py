"""What is known of sizes that are known only at run time, and the algebra of reshapes over them."""

from __future__ import annotations

from itertools import product

import pytest

from lect.dialects import make_context
from lect.ir import SymbolicSizeError, parse_module, print_module
from lect.ir.facts import Facts, declared, problem_of, renamed, symbols_of, value_of
from lect.ir.index_map import contiguous_strides, delinearize, exact_quotient, linearize, space_dims, split_points, substitute
from lect.ir.symbolic import Expr, as_size, constant, ranges_of, symbol

s0, s1 = symbol(0), symbol(1)


def test_facts_tell_bounds_divisors_and_hints() -> None:
    facts = Facts.of({"s0": {"hint": 24, "min": 2, "max": 40, "multiple": 8}, "s1": {"hint": 3}})
    assert facts.bounds(s0 * 2 - 1) == (3, 79)
    assert facts.bounds(s1) == (2, None) and facts.bounds(symbol(5)) == (0, None)
    assert facts.at_least(s0, 2) and not facts.at_least(s1, 3) and facts.at_least(s1 + 1, 3)
    assert facts.divisible(s0 * 3, 8) and facts.divisible(s0 * s1, 8) and not facts.divisible(s0 + 4, 8) and facts.divisible(s1 * 16, 8)
    assert facts.hint(s0 * s1 + 1) == 73
    assert facts.hint(symbol(7)) == 64
    assert Facts.of({"s0": {"hint": 24, "min": 2, "max": 40, "multiple": 8}, "s1": {"hint": 3}}) is facts
    assert Facts.of(None).symbols == {}


def test_what_a_function_may_not_declare() -> None:
    assert problem_of({"s0": {"hint": 3}}) is None
    assert "names size symbols" in str(problem_of({"n": {"hint": 3}}))
    assert "are numbers" in str(problem_of({"s0": {"size": 3}}))
    assert "no size" in str(problem_of({"s0": {"min": 3, "max": 2}}))


def test_symbols_are_renamed_with_what_is_known() -> None:
    facts = Facts.of({"s4": {"hint": 24, "multiple": 8}})
    size = as_size(symbol(4) * 2 + symbol(4) // 3)
    assert renamed(size, {4: 0}) is s0 * 2 + s0 // 3
    assert symbols_of(size) == (4,)
    assert declared(facts, {4: 0}) == {"s0": {"hint": 24, "multiple": 8}}


def test_a_size_that_is_no_number_refuses_to_be_one() -> None:
    uses = (lambda: s0 < 3, lambda: s0 >= 3, lambda: bool(s0 - 5), lambda: range(s0), lambda: int(s0), lambda: max(s0, 3), lambda: float(s0), lambda: s0 > s1)
    for use in uses:
        with pytest.raises(SymbolicSizeError, match="s0.* known only at run time"):
            use()  # type: ignore[no-untyped-call]
    assert constant(3) < 4 and not constant(0) and int(constant(5)) == 5


def test_what_sizes_of_at_least_two_decide() -> None:
    assert s0 and s0 * s1 and s0 - 1 and s0 > 1 and s0 >= 2 and not s0 <= 1 and max(s0, 1) is s0 and s0 * 2 > s0 and s0 < s0 + 1
    assert s0 * s1 > s1 and s0 * s1 * 8 > s0 * 8 and s0 * s1 - s0 and not s0 * s1 < s0 + s1 and s0 * s0 >= s0 * 2


def test_sizes_in_attributes_are_text() -> None:
    text = "builtin.module {a = #lect.size<s0 * 8 + 1>, b = [1, #lect.size<s1>]} {\n}\n"
    module = parse_module(text, make_context())
    assert module.attrs["a"] is s0 * 8 + 1 and module.attrs["b"][1] is s1
    assert print_module(module) == text
    again = parse_module(print_module(module, generic=True), make_context())
    assert print_module(again) == text


RESHAPES = [
    ((s0, 12), (s0, 3, 4)),
    ((s0, 3, 4), (s0, 12)),
    ((s0 * s1, 4), (s0, s1, 4)),
    ((s0, s1, 4), (s0 * s1, 4)),
    ((s0, 3, s1, 4), (s0 * 3, s1, 4)),
    ((s0 * 3, s1, 4), (s0, 3, s1, 4)),
    ((s0, s1 + 1, 4), (s0 * (s1 + 1), 4)),
    ((s0 * (s1 + 1), 4), (s0, s1 + 1, 4)),
    ((s0, s1, s0), (s0 * s1 * s0,)),
    ((s0 * 2 + 2, 3), ((s0 + 1), 6)),
]


@pytest.mark.parametrize("case", range(len(RESHAPES)))
def test_reshapes_of_symbolic_sizes_find_the_elements_of_numbers(case: int) -> None:
    old, new = RESHAPES[case]
    point = delinearize(linearize(space_dims(new), new), old, ranges_of(new))
    for values in product((1, 2, 3, 5), repeat=2):
        table = dict(enumerate(values))
        sizes, shape = [value_of(size, table) for size in new], [value_of(size, table) for size in old]
        for place in product(*[range(size) for size in sizes]):
            offset = sum(index * step for index, step in zip(place, contiguous_strides(tuple(sizes))))
            found = [number(index, place, table) for index in point]
            assert sum(index * step for index, step in zip(found, contiguous_strides(tuple(shape)))) == offset
            assert all(0 <= index < size for index, size in zip(found, shape))


def number(index: Expr, place: tuple[int, ...], table: dict[int, int]) -> int:
    """An index at a point, with numbers for the sizes."""
    return value_of(as_size(substitute(index, [constant(k) for k in place], ranges_of(()))), table)


def test_dims_split_where_sizes_divide() -> None:
    new: tuple = (s0 * 12, s1, 64)
    found: dict = {}
    for index in delinearize(linearize(space_dims(new), new), (s0, 12, s1, 64), ranges_of(new)):
        split_points(index, new, found)
    assert found == {0: {12}}
    found = {}
    for index in delinearize(linearize(space_dims((s0 * s1, 4)), (s0 * s1, 4)), (s0, s1, 4), ranges_of((s0 * s1, 4))):
        split_points(index, (s0 * s1, 4), found)
    assert found == {0: {s1}}
    assert exact_quotient(s0 * 12, 4) is s0 * 3 and exact_quotient(s0, 2) is None and exact_quotient(12, s0) is None
    assert exact_quotient(s0 * (s1 + 1), s1 + 1) is s0
