"""Compute the buffers marked `inline` in their readers.

    %0 = loop.nest @n0(%x) {realize = ["inline"]} { exp }
    %1 = loop.nest @n1(%0) { neg(load %0) }                  =>    %1 = loop.nest @n1(%x) {fused = [#loop.fuse<inline @n0, @n1 ..>]} { neg(exp(load %x)) }

A point of the producer is found from the offset at which the reader loads: the producer stored its points in order.  Where a load is masked, the
masks go to the loads of what replaces it, so nothing is read that was not, and the value is zero where the mask is false, as the load was.  A load at loaded
indices is replaced in the same way where their bounds say which dims of the producer they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import FuseAttr
from lect.dialects.loop.building import Inlining, NestBuilder, copy_block
from lect.dialects.loop.ops import FuncOp, LoadOp, NestOp
from lect.ir import Context, Operation, PassFailure, Value
from lect.ir.index_map import delinearize
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.nests import INLINE, functions, gathered_ranges, is_gathered_inline, nbytes, own_point, put_in_place, readers, release


@dataclass(frozen=True)
class LoopInline(Pass):
    """Substitute inline buffers into the nests that load them."""

    name: ClassVar[str] = "loop-inline"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            inline_function(func, forms_of(ctx), ctx)


def inline_function(func: FuncOp, forms: Forms, ctx: Context) -> None:
    """Change every reader of an inline buffer in program order, so that producers are complete when they are copied."""
    for nest in [inner for inner in func.body if isinstance(inner, NestOp)]:
        producers = [value.owner for value in nest.inputs if is_inline(value, forms)]
        if producers:
            compute_inside(nest, producers, forms)
            ctx.count("loads replaced", len(producers))
    for nest in reversed([inner for inner in func.body if isinstance(inner, NestOp)]):
        if INLINE in nest.realize:
            if readers(nest.results[0]):
                raise PassFailure("this buffer is marked inline but is read by something that is no nest", op=nest)
            nest.erase()
            release(nest)
            ctx.count("nests removed")


def is_inline(value: Value, forms: Forms) -> bool:
    """True for a result that its readers shall compute.  Raises `PassFailure` when they cannot."""
    owner = value.owner
    if not isinstance(owner, NestOp) or INLINE not in owner.realize:
        return False
    if not forms.ask(owner, stores_in_order):
        raise PassFailure("only a nest with one result, stored in order and not folded, can be inline", op=owner)
    return True


def stores_in_order(nest: NestOp) -> bool:
    """Whether a nest has one result, of which each point stores its own element, in order."""
    return len(nest.results) == 1 and not nest.reduced and nest.stores[0].map.offset is own_point(nest)


def compute_inside(nest: NestOp, producers: list[NestOp], forms: Forms) -> None:
    """Let a nest compute what its producers would store; where an equal nest did, what it became is written down again."""
    attrs = dict(nest.attrs)
    new = forms.make((nest, *producers), "inline", nest.sym_name, lambda: substitute_producers(nest, producers))
    assert new is not None
    fused = list(nest.fused)
    for producer in producers:
        fused += [decision for decision in producer.fused if decision not in fused]
        fused.append(FuseAttr("inline", producer.sym_name, nest.sym_name, 2 * nbytes(producer.results[0])))
    new.attrs = attrs
    new.fused = tuple(fused)
    if new is not nest:
        put_in_place(nest, new)


def substitute_producers(nest: NestOp, producers: list[NestOp]) -> NestOp:
    """Put the blocks of producers in front of the loads of their results; equal operations become one."""
    builder = NestBuilder.inside(nest)
    ranges = nest.space.ranges
    for op in nest.body:
        if isinstance(op, LoadOp) and op.buffer.owner in producers:
            producer = op.buffer.owner
            if op.indices and not is_gathered_inline(producer, nest, op):
                raise PassFailure("a buffer that is read at loaded indices cannot be inline unless its elements are found by them", op=op)
            builder.anchor = op
            known = gathered_ranges(nest, op) if op.indices else ranges
            point = delinearize(op.map.offset, producer.space.sizes, known)
            masks = tuple(op.masks)
            value = copy_block(Inlining(producer, builder, dict(enumerate(point)), masks, tuple(op.indices), known))[0][0]
            op.replace([builder.masked(value, masks)])
        elif op.results:
            builder.meet(op)
    nest.set_operands(nest.needed_inputs)
    return nest
