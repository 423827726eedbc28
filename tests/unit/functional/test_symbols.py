"""Graphs with symbolic sizes: their declarations, what they are for given sizes, and their type rules."""

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.functional.specialize import specialized
from lect.dialects.functional.symbols import places_of, symbols_in, values_of
from lect.ir import LectError, SymbolicSizeError, parse_module, print_op, verify
from lect.ir.facts import facts_of, value_of
from lect.ir.symbolic import symbol
from lect.ir.symbolic_values import may_be_ordered, replace_symbols

TEXT = """
functional.func @f(%x: !functional.tensor<s0x(s1 * 4)xf32>, %n: !functional.tensor<i64>) {symbols = {
    s0 = {hint = 5, min = 2, max = 9}, s1 = {hint = 3, min = 2}, s2 = {hint = 6, min = 2, argument = 1}}} {
  %0 = functional.reshape(%x) {shape = [#lect.size<s0 * s1>, 4]} : !functional.tensor<(s0 * s1)x4xf32>
  %1 = functional.slice(%0) {dim = 0, start = 1, end = #lect.size<s0 * s1>} : !functional.tensor<(s0 * s1 - 1)x4xf32>
  %2 = functional.sum(%1) {dims = [0]} : !functional.tensor<4xf32>
  %3 = functional.full() {shape = [#lect.size<s2>, 4], value = 1.0, element = f32} : !functional.tensor<s2x4xf32>
  %4 = functional.add(%3, %2) : !functional.tensor<s2x4xf32>
  functional.return(%4)
}
"""


def graph():
    module = parse_module(TEXT, make_context())
    verify(module)
    (func,) = module.body
    return func


def test_symbols_are_found_in_the_arguments():
    func = graph()
    assert places_of(func) == {0: (0, 0, 1), 1: (0, 1, 4), 2: (1, None, 1)}
    assert facts_of(func).bounds(symbol(0) * 2 + 1) == (5, 19)
    assert values_of(func, [torch.zeros(3, 8), torch.tensor(7)]) == {0: 3, 1: 2, 2: 7}


@pytest.mark.parametrize("sizes", [(5, 12, 6), (2, 8, 2), (9, 16, 11)])
def test_one_graph_runs_for_all_sizes(sizes):
    rows, columns, length = sizes
    x = torch.randn(rows, columns)
    (found,) = run_functional(graph(), [x, torch.tensor(length)])
    torch.testing.assert_close(found, torch.ones(length, 4) + x.reshape(-1, 4)[1:].sum(0))


def test_inputs_are_checked_against_the_symbols():
    with pytest.raises(LectError, match="input 0"):
        run_functional(graph(), [torch.zeros(3, 9), torch.tensor(7)])


def test_specialized_graph_has_integers_alone():
    func = specialized(graph(), {0: 5, 1: 3, 2: 6})
    text = print_op(func)[0]
    assert "s0" not in text and "symbols" not in text
    assert "shape = [15, 4]" in text and "!functional.tensor<14x4xf32>" in text


def test_sizes_in_the_place_of_symbols():
    size = (symbol(0) * 6 + symbol(1)) // 4 + symbol(1) % 3
    assert value_of(replace_symbols(size, {1: symbol(0) + 2}), {0: 5}) == value_of(size, {0: 5, 1: 7})
    assert replace_symbols(symbol(0) * 4, {0: 3}) == 12
    assert set(symbols_in((size, 3, {"a": (symbol(2),)}))) == {0, 1, 2}


def test_order_of_sizes_is_decided_by_what_every_symbol_is():
    size = symbol(0)
    assert size > 1 and size >= 2 and size * 3 > size and not size < 2 and size
    assert size != 1 and size * 2 - size is size
    with pytest.raises(SymbolicSizeError, match="the size s0 is known only at run time, and here it is asked whether it is greater than 2"):
        size > 2  # noqa: B015
    with pytest.raises(SymbolicSizeError):
        bool(size - 2)
    assert may_be_ordered(0, 3, size) and not may_be_ordered(size, 1)
