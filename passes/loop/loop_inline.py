"""Compute the buffers marked `inline` in their readers.

    %0 = loop.nest @n0(%x) {realize = ["inline"]} { exp }
    %1 = loop.nest @n1(%0) { neg(load %0) }                  =>    %1 = loop.nest @n1(%x) {fused = [#loop.fuse<inline @n0, @n1 ..>]} { neg(exp(load %x)) }

A point of the producer is found from the offset at which the reader loads: the producer stored its points in order.  Where a load is masked, the
masks go to the loads of what replaces it, so nothing is read that was not, and the value is zero where the mask is false, as the load was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import FuseAttr
from lect.dialects.loop.building import Inlining, NestBuilder, copy_block, whole_range
from lect.dialects.loop.ops import FuncOp, LoadOp, NestOp
from lect.ir import Context, Operation, PassFailure, Value
from lect.ir.index_map import delinearize
from lect.ir.symbolic import Expr
from lect.passes.base import Pass
from lect.passes.loop.nests import INLINE, functions, nbytes, own_point, readers, rebuild


@dataclass(frozen=True)
class LoopInline(Pass):
    """Substitute inline buffers into the nests that load them."""

    name: ClassVar[str] = "loop-inline"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            inline_function(func, ctx)


def inline_function(func: FuncOp, ctx: Context) -> None:
    """Rebuild every reader of an inline buffer in program order, so that producers are complete when they are copied."""
    for nest in [inner for inner in func.body if isinstance(inner, NestOp)]:
        producers = [value.owner for value in nest.inputs if is_inline(value)]
        if producers:
            _replace(nest, _substituted(nest, producers))
            ctx.count("loads replaced", len(producers))
    for nest in reversed([inner for inner in func.body if isinstance(inner, NestOp)]):
        if INLINE in nest.realize:
            if readers(nest.results[0]):
                raise PassFailure("this buffer is marked inline but is read by something that is no nest", op=nest)
            nest.erase()
            ctx.count("nests removed")


def is_inline(value: Value) -> bool:
    """True for a result that its readers shall compute.  Raises `PassFailure` when they cannot."""
    owner = value.owner
    if not isinstance(owner, NestOp) or INLINE not in owner.realize:
        return False
    if len(owner.results) != 1 or owner.reduced or owner.stores[0].map.offset is not own_point(owner):
        raise PassFailure("only a nest with one result, stored in order and not folded, can be inline", op=owner)
    return True


def _substituted(nest: NestOp, producers: list[NestOp]) -> NestOp:
    builder = NestBuilder(nest.space, nest.loc)
    ranges = nest.space.ranges

    def replace_load(load: LoadOp, masks: tuple[Value, ...], offset: Expr) -> Value | None:
        if not is_inline(load.buffer):
            return None
        if load.indices:
            raise PassFailure("a buffer that is read at loaded indices cannot be inline", op=load)
        producer = load.buffer.owner
        point = delinearize(offset, producer.space.sizes, ranges)
        value = copy_block(Inlining(producer, builder, dict(enumerate(point)), masks))[0][0]
        return builder.masked(value, masks)

    rebuild(nest, builder, Inlining(nest, builder, whole_range(nest.space.sizes)), range(len(nest.results)), replace_load)
    fused = list(nest.fused)
    for producer in producers:
        fused += [decision for decision in producer.fused if decision not in fused]
        fused.append(FuseAttr("inline", producer.sym_name, nest.sym_name, 2 * nbytes(producer.results[0])))
    return builder.finish(nest.sym_name, {**_decisions(nest), "fused": tuple(fused)})


def _decisions(nest: NestOp) -> dict[str, object]:
    return {name: value for name, value in nest.attrs.items() if name not in ("sym_name", "space")}


def _replace(old: NestOp, new: NestOp) -> None:
    assert old.parent is not None
    old.parent.insert_before(old, new)
    for before, after in zip(old.results, new.results):
        after.hint = before.hint
    old.replace(new.results)
