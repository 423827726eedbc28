"""`torch.cond`, `while_loop`, `scan` and `map`: control flow that depends on tensors, as operations with regions.

The functions are followed once each, on tensors that stand for their parameters, and must be pure but for reading: which of them run, and how often,
is known only when the graph runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import _higher_order_ops as higher

from lect.dialects.fx.regions import CondOp, ScanOp, WhileLoopOp
from lect.frontends.capture.calls import call
from lect.frontends.capture.iteration import iterate
from lect.frontends.capture.regions import box_of_tree, flatten, only_tensors, trace_region, tree_of, unflatten
from lect.frontends.capture.torch_calls import lower_box
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT, TensorMeta, layout_of, make_lt, make_recorded
from lect.ir import SEGMENTS

Kwargs = dict[str, Box]


def _stand_in(layout: TensorMeta, grad: bool) -> LT:
    made = make_lt(layout._replace(storage_offset=0))
    return make_recorded(layout_of(made)) if grad else made


def _needs_grad(*groups: Sequence[LT]) -> list[bool]:
    """For each position whether one of the tensors there requires a gradient."""
    return [torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors) for tensors in zip(*groups)]


def _same_layouts(t: Tracer, first: Sequence[LT], second: Sequence[LT], what: str) -> None:
    layouts = [[layout_of(tensor)._replace(storage_offset=0) for tensor in group] for group in (first, second)]
    if layouts[0] != layouts[1]:
        raise t.stop("LB0012", f"{what} differ in their shapes, dtypes, strides or devices")


def _arguments(names: tuple[str, ...], args: list[Box], kwargs: Kwargs) -> list[Box | None]:
    given: list[Box | None] = [kwargs.get(name) for name in names]
    given[: len(args)] = args
    return given


def cond(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.cond(pred, true_fn, false_fn, operands=())`."""
    predicate, true_fn, false_fn, operands = _arguments(("pred", "true_fn", "false_fn", "operands"), args, kwargs)
    assert predicate is not None and true_fn is not None and false_fn is not None
    given = iterate(t, operands) if operands is not None else []
    chosen = lower_box(t, predicate)
    if type(chosen) is bool:
        return call(t, true_fn if chosen else false_fn, given, {})
    if not issubclass(type(chosen), LT) or chosen.numel() != 1:
        raise t.stop("LB0012", "the predicate of cond is no bool and no tensor with one element")
    yes, no = true_fn, false_fn
    then, first, returned = trace_region(t, [], lambda: call(t, yes, given, {}), "a branch of cond")
    otherwise, second, other = trace_region(t, [], lambda: call(t, no, given, {}), "a branch of cond")
    only_tensors(t, returned, "a branch of cond")
    if returned[1] != other[1]:
        raise t.stop("LB0012", "the branches of cond return different structures")
    _same_layouts(t, first, second, "the results of the branches of cond")
    results = [_stand_in(layout_of(tensor), grad) for tensor, grad in zip(first, _needs_grad(first, second))]
    t.graph.add_region_op(CondOp, [chosen], {}, [then, otherwise], results, t.loc)
    return tree_of(t, returned, results)


def while_loop(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`while_loop(cond_fn, body_fn, carried_inputs)`."""
    condition, body, carried = _arguments(("cond_fn", "body_fn", "carried_inputs"), args, kwargs)
    assert condition is not None and body is not None and carried is not None
    leaves, spec = flatten(tuple([lower_box(t, box) for box in iterate(t, carried)]))
    if not leaves or any(not issubclass(type(leaf), LT) for leaf in leaves):
        raise t.stop("LB0012", "while_loop that carries something else than tensors")
    parameters = [_stand_in(layout_of(leaf), grad) for leaf, grad in zip(leaves, _needs_grad(leaves))]
    inner = [box_of_tree(t, item) for item in unflatten(t, parameters, spec)[0]]
    asks, answer, _ = trace_region(t, parameters, lambda: call(t, condition, inner, {}), "the condition of while_loop")
    if len(answer) != 1 or answer[0].numel() != 1:
        raise t.stop("LB0012", "the condition of while_loop gives no tensor with one element")
    step, tensors, returned = trace_region(t, parameters, lambda: call(t, body, inner, {}), "the body of while_loop")
    only_tensors(t, returned, "the body of while_loop")
    _same_layouts(t, leaves, tensors, "what while_loop carries and what its body returns")
    results = [_stand_in(layout_of(leaf), grad) for leaf, grad in zip(leaves, _needs_grad(leaves, tensors))]
    t.graph.add_region_op(WhileLoopOp, leaves, {}, [asks, step], results, t.loc)
    return unflatten(t, results, spec)


def scan(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`scan(combine_fn, init, xs, *, dim=0, reverse=False)`."""
    options = {name: t.leak(kwargs[name]) for name in ("dim", "reverse") if name in kwargs}
    combine, init, xs = _arguments(("combine_fn", "init", "xs"), args, kwargs)
    assert combine is not None and init is not None and xs is not None
    carried, carried_spec = flatten(lower_box(t, init))
    over, over_spec = flatten(lower_box(t, xs))
    if options.get("dim", 0) != 0:
        raise t.stop("LB0003", "scan along another dim than the first")
    _check_slices(t, carried, over, "scan")
    parameters = [_stand_in(layout_of(leaf), grad) for leaf, grad in zip(carried, _needs_grad(carried))]
    slices = _slices(over)
    inner = [unflatten(t, parameters, carried_spec), unflatten(t, slices, over_spec)]
    region, tensors, returned = trace_region(t, [*parameters, *slices], lambda: call(t, combine, inner, {}), "the function of scan")
    only_tensors(t, returned, "the function of scan")
    count = len(carried)
    _same_layouts(t, carried, tensors[:count], "what scan carries and what its function returns")
    finals = [_stand_in(layout_of(leaf), grad) for leaf, grad in zip(carried, _needs_grad(carried, tensors[:count]))]
    results = [*finals, *_stacked(tensors[count:], over)]
    attrs = {"reverse": bool(options.get("reverse", False)), SEGMENTS: (count, len(over))}
    t.graph.add_region_op(ScanOp, [*carried, *over], attrs, [region], results, t.loc)
    return tree_of(t, returned, results)


def map_over(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`map(f, xs, *args)`: a scan that carries nothing."""
    function, xs, *rest = args
    over, spec = flatten(lower_box(t, xs))
    _check_slices(t, [], over, "map")
    slices = _slices(over)
    region, tensors, returned = trace_region(t, slices, lambda: call(t, function, [unflatten(t, slices, spec), *rest], {}), "the function of map")
    only_tensors(t, returned, "the function of map")
    results = _stacked(tensors, over)
    t.graph.add_region_op(ScanOp, over, {SEGMENTS: (0, len(over))}, [region], results, t.loc)
    return tree_of(t, returned, results)


def _check_slices(t: Tracer, carried: list[Any], over: list[Any], what: str) -> None:
    if not over or any(not issubclass(type(leaf), LT) for leaf in (*carried, *over)):
        raise t.stop("LB0012", f"{what} of something else than tensors")
    lengths = [leaf.shape[0] if leaf.dim() else 0 for leaf in over]
    if any(length != lengths[0] for length in lengths) or lengths[0] == 0:  # those with symbols have no hash
        raise t.stop("LB0012", f"{what} over tensors of the lengths {', '.join(map(str, lengths))}")


def _slices(over: list[LT]) -> list[LT]:
    """What stands for one slice of each tensor."""
    layouts = [layout_of(leaf) for leaf in over]
    reduced = [layout._replace(shape=layout.shape[1:], strides=layout.strides[1:]) for layout in layouts]
    return [_stand_in(layout, grad) for layout, grad in zip(reduced, _needs_grad(over))]


def _stacked(tensors: list[LT], over: list[LT]) -> list[LT]:
    """The results that are kept of each slice."""
    shapes = [(over[0].shape[0], *tensor.shape) for tensor in tensors]
    layouts = [layout_of(torch.empty(shape, dtype=tensor.dtype, device=tensor.device)) for shape, tensor in zip(shapes, tensors)]
    return [_stand_in(layout, grad) for layout, grad in zip(layouts, _needs_grad(tensors))]


CONTROL_FLOW: Mapping[Any, Any] = MappingProxyType({torch.cond: cond, higher.while_loop: while_loop, higher.scan: scan, higher.map: map_over})
