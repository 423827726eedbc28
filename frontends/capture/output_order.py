"""The order in which a graph returns its tensors: what others are views of comes first, so that these can be shown as views of it.

A program that returns `h.t(), h`, or the halves of `h.chunk(2)`, returns views of `h`, which autograd goes through.  So `h` is a result of the graph in
front of them, in the second program one that no one but the views holds on to, as in eager.  So is a loss of which a program keeps `loss.detach()`.
"""

from __future__ import annotations

from collections import Counter

from lect.dialects.fx.ops import CallOp
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.attributes import from_python
from lect.frontends.capture.tracer import Tracer
from lect.frontends.tensors import LT
from lect.ir import Builder, Value


def bases_first(t: Tracer, outputs: list[LT], results: Value | None) -> list[LT]:
    """The tensors for a graph to return, and the operations that take `outputs` out of its results by number made to take them from there."""
    shared = _shared_bases(t, outputs)
    first = {id(base) for base in shared}
    ordered = [*shared, *[tensor for tensor in outputs if id(tensor) not in first]]
    if results is None or all(tensor is other for tensor, other in zip(ordered, outputs)):
        return outputs
    places = {id(tensor): place for place, tensor in enumerate(ordered)}
    for load in list(results.users):
        if isinstance(load, py.LoadItemOp) and load.operands[0] is results:
            constant = load.operands[1].op
            assert isinstance(constant, py.LoadConstOp)
            number = Builder.before(load).insert(py.LoadConstOp(from_python(places[id(outputs[constant.attrs["value"]])]), loc=load.loc))
            load.set_operand(1, number.results[0])
            if not constant.results[0].users:
                constant.erase()
    return ordered


def _shared_bases(t: Tracer, outputs: list[LT]) -> list[LT]:
    """What the graph makes and several outputs show, or one that is a view and one that is not."""
    bases = [tensor._base if tensor._is_view() else tensor for tensor in _undetached(t, outputs)]
    count = Counter(map(id, bases))
    differentiable = [base for base, tensor in zip(bases, outputs) if tensor.requires_grad and count[id(base)] > 1]
    made = {id(base): base for base in differentiable if type(base) is LT and not base.is_complex() and id(base) not in t.real_of}
    shown = [_in_graph(t, base) for base in made.values() if base.requires_grad]
    return [tensor for tensor in shown if tensor is not None]


def _undetached(t: Tracer, outputs: list[LT]) -> list[LT]:
    """For what `detach` has given what that was called on, which autograd does not tell; all others as they are."""
    found = {id(tensor): _detached(t.graph.value_of(tensor)) for tensor in outputs if not tensor.requires_grad}
    if not any(found.values()):
        return outputs
    by_value = {t.graph.value_of(tensor): tensor for tensor in t.graph.alive if t.graph.knows(tensor)}
    return [by_value.get(value, tensor) if (value := found.get(id(tensor))) is not None else tensor for tensor in outputs]


def _detached(value: Value) -> Value | None:
    """The value of which this one is detached; None when it is not."""
    before = value
    while isinstance(before.op, CallOp) and before.op.target.leaf in ("torch.Tensor.detach", "torch.detach"):
        before = before.op.operands[0]
    return before if before is not value else None


def _in_graph(t: Tracer, base: LT) -> LT | None:
    """A tensor, or the first with all of its elements that a call of the graph has given: `F.linear` of a batch gives a view."""
    if t.graph.knows(base):
        return base
    views = (tensor for tensor in t.graph.alive if tensor._is_view() and tensor._base is base and t.graph.knows(tensor))
    return next((view for view in views if view.numel() == base.numel() and view.requires_grad), None)
