"""Sizes that are known only at run time, as shape functions and torch's C++ code compute with them."""

import pytest
import torch

from lect.frontends.tensors import TensorMeta, make_lt, plain_sizes, propagating
from lect.frontends.tensors.sizes import Decision, Dim, Sizes, size_of
from lect.ir import SymbolicSizeError
from lect.ir.symbolic import symbol


def test_arithmetic_makes_expressions():
    sizes = Sizes()
    a, b = sizes.dim(sizes.add(4)), sizes.dim(sizes.add(6))
    assert str(a * b + 2 - a) == "s0 * s1 - s0 + 2"
    assert (a + 1) - a == 1 and type((a + 1) - a) is int
    assert a + 3 is 3 + a and hash(a + 3) == hash(3 + a)
    assert str((a * 6) // 3) == "s0 * 2" and (a * 6) % 3 == 0
    assert size_of((a * 2, 3)) == (symbol(0) * 2, 3)


def test_what_every_symbol_is_decides_without_a_decision():
    sizes = Sizes()
    a, b = sizes.dim(sizes.add(4)), sizes.dim(sizes.add(6))
    assert a > 1 and a != 0 and a != 1 and a >= 2 and not a < 2 and bool(a)
    assert a * b > b and a * 32 * b != b * 32 and not a * b <= a
    assert a < 2**62 and min(a, 2**63 - 1) is a
    assert sizes.decisions == []


def test_hints_decide_and_the_decision_is_known_from_then_on():
    sizes = Sizes()
    a, b = sizes.dim(sizes.add(4)), sizes.dim(sizes.add(6))
    assert a < 5 and a < 100 and a <= 4 and a != 5
    assert sizes.bounds[0] == (2, 4)
    assert a < b and b > a and a != b
    assert sizes.decisions == [Decision(4 - symbol(0), 0, None), Decision(symbol(1) - symbol(0), 1, None)] or len(sizes.decisions) == 2


def test_equal_hints_are_refused_without_an_owner():
    sizes = Sizes()
    a, b = sizes.dim(sizes.add(4)), sizes.dim(sizes.add(4))
    assert a == a  # noqa: PLR0124
    with pytest.raises(SymbolicSizeError, match="s0 == s1 holds for the sizes at hand"):
        bool(a == b)


def test_a_number_is_refused_without_an_owner():
    sizes = Sizes()
    a = sizes.dim(sizes.add(4))
    for use in (lambda: int(a), lambda: range(a), lambda: [0] * a):
        with pytest.raises(SymbolicSizeError):
            use()
    told = Sizes(needed=lambda size: 4)
    assert list(range(told.dim(told.add(4)))) == [0, 1, 2, 3]


def test_sizes_of_tensors_are_at_least_two():
    sizes = Sizes()
    a = sizes.dim(sizes.add(4))
    x = make_lt(TensorMeta((a, 8), torch.float32, (8, 1), torch.device("cpu")))
    with propagating():
        assert size_of(tuple(x[1:].shape)) == (symbol(0) - 1, 8)
    assert sizes.bounds[0][0] == 3
    with propagating(), pytest.raises((SymbolicSizeError, RuntimeError)):
        x[3:]  # one row, by the hint


def test_torch_computes_shapes_of_composite_functions():
    sizes = Sizes()
    b, t = sizes.dim(sizes.add(3)), sizes.dim(sizes.add(5))
    cpu = torch.device("cpu")
    x = make_lt(TensorMeta((b, t, 8), torch.float32, (t * 8, 8, 1), cpu))
    w = make_lt(TensorMeta((16, 8), torch.float32, (8, 1), cpu))
    with propagating():
        y = plain_sizes.call(torch.nn.functional.linear, (x, w), {})  # as 2.11 asks for the number of elements
        assert size_of(tuple(y.shape)) == (symbol(0), symbol(1), 16)
        flat = y.reshape(-1, 16)
        assert size_of(tuple(flat.shape)) == (symbol(0) * symbol(1), 16)
        assert size_of(torch.einsum("btc,bsc->bts", x, x).stride()) == (symbol(1) * symbol(1), symbol(1), 1)
    assert sizes.decisions == []
    assert type(size_of(tuple(x.shape))[2]) is int and isinstance(b, Dim)
