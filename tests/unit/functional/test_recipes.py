"""What is written again from a remembered call is what the rule would write: calls that differ in anything a rule sees are never taken for each other."""

from __future__ import annotations

import math

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.frontends.tensors import LT, PropagationCache, make_lt, meta_of
from lect.frontends.tensors.elements import type_of
from lect.frontends.tensors.lower.emitter import Emitter
from lect.frontends.tensors.lower.recorder import Recorder
from lect.frontends.tensors.op_facts import facts_of
from lect.ir import Block
from tests.unit.functional.programs import GraphBuilder, compare

aten = torch.ops.aten


def checked(graph: GraphBuilder, results: list[torch.Tensor], exact: bool = True) -> None:
    """Lower a graph, and compare what it gives with eager's results."""
    func = graph.lower(results)
    for expected, got in zip(results, run_functional(func, graph.inputs)):
        compare(expected, got, exact)


NUMBERS = (1, 1.0, True, 0, 0.0, -0.0, False, math.nan, math.inf, -1, -1.0)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16, torch.bool], ids=str)
def test_numbers_that_compare_equal_are_told_apart(dtype, order):
    x = torch.tensor([0.0, -0.0, 1.0, 2.5, -3.0]).to(dtype)
    graph = GraphBuilder()
    results = []
    for number in NUMBERS[::order] * 2:
        results.append(graph.call("torch.mul", torch.mul, x, number))
        if dtype is not torch.bool:
            results.append(graph.call("torch.add", torch.add, x, number))
        if dtype.is_floating_point:
            results.append(graph.call("torch.full_like", torch.full_like, x, number))
            results.append(graph.call("torch.clamp", torch.clamp, x, number))
    checked(graph, results)


def variants(shape: tuple[int, ...]):
    """Tensors of one shape that differ in elements, strides, offset or dtype, all of which a result or what is written for it may depend on."""
    x = torch.randn(shape)
    wide = torch.randn(*shape[:-1], shape[-1] * 2)
    yield x
    yield x.transpose(0, 1).contiguous().transpose(0, 1)
    yield wide[..., ::2]
    yield wide[..., 1::2]
    yield x[:1].expand(shape)
    yield x.double()
    yield x.bfloat16()
    yield x.long()


@pytest.mark.parametrize("reverse", [False, True])
def test_operands_that_differ_in_layout_or_dtype_are_told_apart(reverse):
    graph = GraphBuilder()
    results = []
    given = list(variants((4, 4))) * 2
    for x in given[::-1] if reverse else given:
        results.append(graph.call("torch.exp", torch.exp, x))
        results.append(graph.call("torch.amax", torch.amax, x, [1]))
        results.append(graph.call("torch.clone", torch.clone, x))
        results.append(graph.call("torch.t", torch.t, x))
        results.append(graph.call("torch.cat", torch.cat, [x, x], 1))
        results.append(graph.call("torch.mul", torch.mul, x, given[0]))
        results.append(graph.call("torch.neg", torch.neg, x))
    checked(graph, results)


@pytest.mark.parametrize("same_first", [False, True])
def test_one_operand_twice_is_no_pair_of_operands(same_first):
    x, y = torch.randn(3, 3), torch.randn(3, 3)
    pairs = [(x, x), (x, y), (y, x), (y, y)]
    graph = GraphBuilder()
    results = []
    for a, b in (pairs if same_first else pairs[1:] + pairs[:1]) * 2:
        results.append(graph.call("torch.sub", torch.sub, a, b))
        results.append(graph.call("torch.mm", torch.mm, a, b))
        results.append(graph.call("torch.cat", torch.cat, [a, b, a]))
        results.append(graph.call("torch.linalg.cross", torch.linalg.cross, a, b))  # is one opaque call, whose arguments name its operands
        results.append(graph.call("torch.addcmul", torch.addcmul, a, b, x))
    checked(graph, results, exact=False)  # products add up in an order of their own


def test_writes_through_remembered_views_reach_what_they_show():
    graph = GraphBuilder()
    results = []
    for scale in (2.0, 3.0, 5.0):
        x = torch.randn(4, 6)
        own = graph.call("torch.mul", torch.mul, x, 1.0)
        rows = graph.call("torch.Tensor.view", torch.Tensor.view, own, 2, 12)
        part = graph.call("torch.narrow", torch.narrow, rows, 1, 3, 5)
        first, second = graph.call("torch.split", torch.split, own, 3, 1)
        turned = graph.call("torch.t", torch.t, first)
        graph.call("torch.Tensor.mul_", torch.Tensor.mul_, part, scale)
        graph.call("torch.Tensor.add_", torch.Tensor.add_, turned, 1.0)
        results += [graph.call("torch.mul", torch.mul, each, 1.0) for each in (own, rows, part, first, second, turned)]
    checked(graph, results)


def recorded(*tensors: torch.Tensor) -> tuple[Recorder, list[LT]]:
    """A recorder with a cache of its own, and stand-ins that are arguments of its block."""
    block = Block()
    recorder = Recorder(Emitter(block))
    recorder.cache = PropagationCache()
    traced = []
    for number, tensor in enumerate(tensors):
        meta = meta_of(tensor)._replace(requires_grad=False, storage_offset=0)
        lt = make_lt(meta)
        recorder.bind(lt, block.add_arg(type_of(meta)), number)
        traced.append(lt)
    return recorder, traced


def test_the_second_call_of_a_kind_asks_no_rule(monkeypatch):
    recorder, (x, y) = recorded(torch.randn(3, 4), torch.randn(3, 4))
    asked = []
    emit = Recorder._emit
    monkeypatch.setattr(Recorder, "_emit", lambda self, func, *rest, **named: (asked.append(func), emit(self, func, *rest, **named))[1])
    with recorder:
        for a, b in ((x, y), (y, x), (x, y)):
            torch.relu(a * b)
        assert asked == [aten.mul.Tensor, aten.relu.default]
        x * x
        assert asked == [aten.mul.Tensor, aten.relu.default, aten.mul.Tensor]
    written = list(recorder.emitter.block)
    assert len(written) == 7
    (first, second), again = written[:2], written[4:6]
    assert [type(op) for op in again] == [type(first), type(second)]
    assert again[0].attrs is not first.attrs  # passes change the attributes of one operation only
    assert all(op.results[0].type is other.results[0].type for op, other in zip(again, (first, second)))


def test_whether_a_gradient_is_asked_for_changes_nothing_that_is_written():
    recorder, (x, y) = recorded(torch.randn(3), torch.randn(3))
    y.requires_grad_()
    with recorder:
        plain, watched = torch.exp(x), torch.exp(y)
    assert not plain.requires_grad
    assert watched.requires_grad
    assert recorder.cache.hits == 1  # of exp; autograd itself asks for `detach` once


def test_facts_know_what_writes_shares_and_draws():
    assert facts_of(aten.add_.Tensor).writes
    assert facts_of(aten.view.default).shares == 0
    assert facts_of(aten._unsafe_view.default).shares == 0
    assert facts_of(aten.mul.Tensor).shares is None
    assert facts_of(aten.rand_like.default).is_random
    assert facts_of(aten._foreach_add_.List).is_list
    assert not facts_of(aten.as_strided.default).is_repeatable
    assert facts_of(aten.mul.Tensor) is facts_of(aten.mul.Tensor)
