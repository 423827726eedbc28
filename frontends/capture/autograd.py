"""`torch.autograd.Function.apply`: an operation with two regions where gradients are recorded, else a call of `forward`.

The backward is followed together with the forward, on stand-ins for what was saved and for the gradients that will come.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

from lect.dialects.fx.regions import AutogradFunctionOp
from lect.frontends.capture.attributes import find_in_type, load_attr
from lect.frontends.capture.calls import call
from lect.frontends.capture.modes import set_grad_enabled
from lect.frontends.capture.objects import describe
from lect.frontends.capture.regions import box_of_tree, flatten, replay, trace_region, tree_of
from lect.frontends.capture.torch_calls import lower_box, torch_call, traced_tensors
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT, layout_of, make_lt

_FUNCTION = torch.autograd.Function
_APPLY = _FUNCTION.apply.__func__  # type: ignore[attr-defined]


def apply(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`cls.apply(*args)`.  Breaks for what the two regions cannot say: arguments that are written, gradients that may be missing."""
    cls, given = args[0], args[1:]
    if kwargs:
        raise t.stop("LB0003", f"{describe(cls[0])}.apply with keywords")
    needed = tuple([torch.is_grad_enabled() and type(box[0]) is LT and box[0].requires_grad for box in given])
    context = t.made(object.__new__(FunctionCtx))
    context[0].needs_input_grad = needed
    if any(needed):
        return _with_gradients(t, cls, context, given, needed)
    recording = torch.is_grad_enabled()
    if recording:
        set_grad_enabled(t, [(False, None)], {})
    returned = _forward(t, cls, context, given)
    if recording:
        set_grad_enabled(t, [(True, None)], {})
    inputs = {id(tensor) for tensor in traced_tensors([box[0] for box in given])}
    if any(id(tensor) in inputs for tensor in traced_tensors(returned[0])):
        raise t.stop("LB0003", f"{describe(cls[0])}, whose forward returns an argument")
    return returned


def _forward(t: Tracer, cls: Box, context: Box, given: list[Box]) -> Box:
    """`forward`, with the context in front or a `setup_context` behind it."""
    if find_in_type(cls[0], "setup_context") is find_in_type(_FUNCTION, "setup_context"):
        return call(t, load_attr(t, cls, "forward"), [context, *given], {})
    returned = call(t, load_attr(t, cls, "forward"), given, {})
    call(t, load_attr(t, cls, "setup_context"), [context, t.make_tuple(given), returned], {})
    return returned


def _with_gradients(t: Tracer, cls: Box, context: Box, given: list[Box], needed: tuple[bool, ...]) -> Box:
    operands = [box[0] for box in given if type(box[0]) is LT]
    counts: list[int] = []
    present: list[bool] = []  # for each value that forward returns whether it is a tensor; the backward gets None for the others
    kept: list[LT] = []

    def forward() -> Box:
        raw = lower_box(t, _forward(t, cls, context, given))
        counts.append(sum(issubclass(type(leaf), LT) for leaf in flatten(raw)[0]))
        if not counts[0] or any(not issubclass(type(part), LT) for part in (raw if type(raw) is tuple else (raw,)) if traced_tensors(part)):
            raise t.stop("LB0003", f"{describe(cls[0])}, whose forward returns tensors inside of containers")
        present.extend([issubclass(type(part), LT) for part in (raw if type(raw) is tuple else (raw,))])
        kept.extend({id(tensor): tensor for tensor in _kept_tensors(t, context)}.values())
        return box_of_tree(t, (raw, tuple(kept)))

    with torch.set_grad_enabled(False):
        ahead, tensors, returned = trace_region(t, operands, forward, f"the forward of {describe(cls[0])}", effects=True)
        outputs = tensors[: counts[0]]
        _check_context(t, cls, context, len(outputs))
        back, gradients = _backward(t, cls, context, kept, outputs, given, needed, present)
    marked = {id(tensor) for tensor in traced_tensors(context[0].__dict__.get("non_differentiable", ()))}
    plain = tuple([number for number, tensor in enumerate(outputs) if id(tensor) in marked])
    attrs = {"saved": len(kept), "gradients": gradients, "non_differentiable": plain}
    results = replay(t, AutogradFunctionOp, [ahead, back], operands, attrs, results=outputs)
    t.graph.add_region_op(AutogradFunctionOp, operands, attrs, [ahead, back], results, t.loc)
    leaves, spec = returned
    value = tree_of(t, (leaves, spec), [*results, *kept])[0][0]
    return box_of_tree(t, value)


def _kept_tensors(t: Tracer, context: Box) -> list[LT]:
    """The tensors that the context holds for the backward: those given to `save_for_backward`, and those in its attributes."""
    names = {name: value for name, value in context[0].__dict__.items() if name not in ("non_differentiable", "dirty_tensors")}
    return traced_tensors([lower_box(t, t.wrap(value)) for value in names.values() if traced_tensors(value)])


def _check_context(t: Tracer, cls: Box, context: Box, outputs: int) -> None:
    names = context[0].__dict__
    if names.get("dirty_tensors"):
        raise t.stop("LB0003", f"{describe(cls[0])}, whose forward writes to an argument")
    if names.get("materialize_grads") is False and outputs > 1:
        raise t.stop("LB0003", f"{describe(cls[0])}, whose backward may miss gradients")
    if names.get("saved_for_forward"):
        raise t.stop("LB0003", f"{describe(cls[0])} with forward gradients")


def _backward(
    t: Tracer, cls: Box, context: Box, kept: list[LT], outputs: list[LT], given: list[Box], needed: tuple[bool, ...], present: list[bool]
) -> tuple[Any, tuple[Any, ...]]:
    """The region of the backward, and for each tensor argument the number of the value that is its gradient."""
    gradients = [make_lt(layout_of(tensor)) for tensor in outputs]
    names = context[0].__dict__
    names["saved_tensors"] = tuple(names.get("to_save") or ())
    numbers: list[Any] = []

    def backward() -> Box:
        coming = iter(gradients)
        slopes: list[Box] = [(next(coming), None) if there else NONE for there in present]
        raw = lower_box(t, call(t, load_attr(t, cls, "backward"), [context, *slopes], {}))
        parts = raw if type(raw) is tuple else (raw,)
        if len(parts) < len(given) or any(part is not None for part in parts[len(given) :]):
            raise t.stop("LB0012", f"the backward of {describe(cls[0])} returns {len(parts)} gradients for {len(given)} arguments")
        used: list[LT] = []
        for box, part, asked in zip(given, parts, needed):
            if type(box[0]) is not LT or not asked or part is None:
                numbers.extend([None] if type(box[0]) is LT else [])
            elif issubclass(type(part), LT):
                numbers.append(len(used))
                used.append(part)
            else:
                raise t.stop("LB0012", f"the backward of {describe(cls[0])} returns a {type(part).__name__} for a tensor")
        return box_of_tree(t, tuple(used))

    region, _, _ = trace_region(t, [*kept, *gradients], backward, f"the backward of {describe(cls[0])}")
    return region, tuple(numbers)


def grad(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`torch.autograd.grad(outputs, inputs, ...)`: a call of the graph; while tracing the engine runs on traced tensors."""
    if t.graph.scopes:
        raise t.stop("LB0003", "torch.autograd.grad in a function that torch calls")
    return torch_call(t, torch.autograd.grad, args, kwargs)


def _engine(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    raise t.stop("LB0004", "a backward, which writes gradients")


AUTOGRAD: Mapping[Any, Any] = MappingProxyType({_APPLY: apply, torch.autograd.grad: grad, torch.autograd.backward: _engine})
