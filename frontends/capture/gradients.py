"""`x.grad` of tensors that exist before the call: read along the path `x.grad`, written as an effect; and tensors that are made leaves."""

from __future__ import annotations

from typing import Any

import torch

from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer
from lect.frontends.tensors import LT

SET_GRAD: Any = torch.Tensor.grad.__set__  # type: ignore[attr-defined]


def switch(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`x.requires_grad_(flag)`: to a tensor that is so already torch does nothing."""
    from lect.frontends.capture.torch_calls import torch_call

    tensor, wanted = args[0][0], [box[0] for box in (*args[1:], *kwargs.values())] or [True]
    if type(tensor) is LT and len(wanted) == 1 and wanted[0] is tensor.requires_grad and set(kwargs) <= {"requires_grad"}:
        return args[0]
    return torch_call(t, torch.Tensor.requires_grad_, args, kwargs)


def note_switched(t: Tracer, function: Any, tensor: Any) -> bool:
    """A call has changed what autograd does with a tensor; True when torch has to run the graph for that.

    One that the frame has made may be a leaf from then on, as long as the frame has it alone.
    """
    if function is torch.Tensor.requires_grad_ and type(tensor) is LT and id(tensor) not in t.real_of:
        t.graph.leaves.append(tensor)
        t.memo.disturb()
        return False
    return True


def read_grad(t: Tracer, box: Box) -> Box:
    """`x.grad`.  Breaks for tensors that autograd has made, whose gradient comes and goes with hooks."""
    tensor, source = box
    t.memo.disturb()
    written = t.gradients.get(id(tensor))
    if written is not None:
        return written
    real = t.real_of.get(id(tensor))
    if real is None and tensor.is_leaf and not tensor.requires_grad:
        return NONE
    if real is None or not real.is_leaf:
        raise t.stop("LB0016", "grad of a tensor that is no leaf")
    known = t.seen[id(tensor)][1]
    assert known is not None
    return t.wrap(real.grad, known.attr("grad"))


def store_grad(t: Tracer, box: Box, item: Box) -> None:
    """`x.grad = item`.  Breaks for tensors made in the call, and for a value that is no gradient."""
    tensor = box[0]
    raw = t.leak(item)
    if t.real_of.get(id(tensor)) is None:
        raise t.stop("LB0016", "assignment to the grad of a tensor made in the call")
    if raw is not None and type(raw) is not LT:
        raise t.stop("LB0012", f"assignment of a {type(raw).__name__} to grad")
    t.gradients[id(tensor)] = item
    t.mutated[id(tensor)] = t.seen[id(tensor)]  # another tensor of the call must not turn out to be this one
    t.effects.append(Effect(SET_GRAD, t.seen[id(tensor)], [raw], {}, t.loc))
