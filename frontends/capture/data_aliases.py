"""`x.data`: the elements of a tensor under another name, of which autograd knows nothing and which counts writes by itself; and `x.data = y`.

In the graph `x.data` is a call like others, and what is written through it is written to `x` without being counted there.  Behind the graph the residual
code reads `x.data` again.  An assignment is an effect: it gives a tensor that exists before the call other memory, so the graph, which was given the
memory, cannot go on with the tensor.  Reading `x.data` behind the assignment gives the new one's; for anything else the frame is cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.gradients import switch
from lect.frontends.capture.tensor_methods import guard_tensor_method
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer
from lect.frontends.tensors import LT, layout_of

if TYPE_CHECKING:
    from lect.frontends.capture.residual import ResidualBuilder
    from lect.ir import Value

GET_DATA: Any = torch.Tensor.data.__get__  # type: ignore[attr-defined]
SET_DATA: Any = torch.Tensor.data.__set__  # type: ignore[attr-defined]


def read_data(t: Tracer, box: Box) -> Box:
    """`x.data`.  Breaks inside of torch.func, whose tensors have none of their own."""
    from lect.frontends.capture.torch_calls import torch_call

    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise t.stop("LB0016", "data of a tensor inside of torch.func")
    guard_tensor_method(t, "data")
    t.memo.disturb()
    base: LT = t.graph.replaced[id(box[0])] if id(box[0]) in t.graph.replaced else box[0]
    made = torch_call(t, getattr, [(base, None), ("data", None)], {})
    t.graph.data_of[id(made[0])] = base
    return made


def store_data(t: Tracer, box: Box, item: Box) -> None:
    """`x.data = item`.  Breaks for tensors made in the call, and for what is no tensor."""
    tensor, new = box[0], t.leak(item)
    guard_tensor_method(t, "data")
    if type(new) is not LT:
        raise t.stop("LB0012", f"assignment of a {type(new).__name__} to data")
    t.memo.disturb()
    if _shows(t, new, t.graph.replaced[id(tensor)] if id(tensor) in t.graph.replaced else tensor):
        return
    known = t.seen.get(id(tensor))
    if t.real_of.get(id(tensor)) is None or known is None or t.graph.scopes:
        raise t.stop("LB0016", "assignment to the data of a tensor made in the call")
    t.graph.replaced[id(tensor)] = new
    t.mutated[id(tensor)] = known  # another tensor of the call must not turn out to be this one
    t.effects.append(Effect(SET_DATA, known, [new], {}, t.loc))


def data_attribute(t: Tracer, tensor: LT, name: str) -> None:
    """Break for metadata of a tensor whose data was replaced by something of another kind."""
    new = t.graph.replaced.get(id(tensor))
    if new is not None and name != "requires_grad" and layout_of(new)._replace(storage_offset=0) != layout_of(tensor)._replace(storage_offset=0):
        raise t.stop("LB0016", f"{name} of a tensor whose data was replaced")


def _shows(t: Tracer, new: LT, tensor: LT) -> bool:
    """True for the data of the tensor itself, as in `x.data += 1`: then nothing is to be done."""
    base = new
    while id(base) in t.graph.data_of:
        base = t.graph.data_of[id(base)]
    return base is tensor and layout_of(new) == layout_of(tensor)


def data_value(b: ResidualBuilder, tensor: LT) -> Value | None:
    """What the residual code makes of a tensor that is the data of another one; None for other tensors."""
    base = b.t.graph.data_of.get(id(tensor))
    if base is None:
        return None
    if tensor.is_inference() or tensor.requires_grad or layout_of(tensor) != layout_of(base):
        return None
    shown = b.call(GET_DATA, b.value(base))
    if tensor._version:
        b.call(count_writes, shown, b.constant(tensor._version))
    return shown


def count_writes(tensor: torch.Tensor, number: int) -> None:
    """Let a tensor's counter of writes say so many more, for what a graph has written through another name."""
    for _ in range(number):
        torch.autograd.graph.increment_version(tensor)


NEW_VARIABLE: Any = torch._C._LegacyVariableBase.__dict__["__new__"]


def make_variable(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`Variable(data, requires_grad=False)` of old programs: the tensor detached, which is a leaf where it is to require gradients."""
    from lect.frontends.capture.torch_calls import torch_call

    named = dict(zip(("data", "requires_grad", "volatile"), args)) | kwargs
    wanted = t.leak(named.pop("requires_grad", (False, None)))
    data, rest = named.pop("data", NONE), [t.leak(box) for box in named.values()]
    if type(data[0]) is not LT or type(wanted) is not bool or any(value is not None and value is not False for value in rest):
        raise t.stop("LB0003", "making a torch.autograd.Variable of what is no tensor, or with further arguments")
    made = torch_call(t, torch.Tensor.detach, [data], {})
    return switch(t, [made], {}) if wanted else made


def _is_view(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`x._is_view()`, which of an input is guarded."""
    from lect.frontends.capture.torch_calls import torch_call

    real, known = t.real_of.get(id(args[0][0])), t.seen.get(id(args[0][0]))
    if real is None or known is None or known[1] is None:
        return torch_call(t, torch.Tensor._is_view, args, kwargs)
    answer = real._is_view()
    t.guards.equals(known[1].attr("_is_view").step("call"), answer)
    return (answer, None)


VIEWS: Mapping[Any, Any] = MappingProxyType({torch.Tensor._is_view: _is_view})
