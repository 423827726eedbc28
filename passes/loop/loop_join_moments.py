"""Fold the squares around a mean in the sweep of the mean.

    %1 = loop.reduce(%x) {kind = "sum", over = [1]}                    %k = the first element of the row
    %2 = loop.div(%1, %count)                                          %d = loop.sub(%x as f64, %k as f64)
    %3 = loop.sub(%x, %2)                                       =>     %s = loop.reduce(%d) {kind = "sum", over = [1]}
    %4 = loop.mul(%3, %3)                                              %q = loop.reduce(%d * %d) {kind = "sum", over = [1]}
    %5 = loop.reduce(%4) {kind = "sum", over = [1]}                    %2 = %k + %s / %count
                                                                       %5 = loop.maximum(%q - %s * %s / %count, 0)

The squares around the mean need the mean, and so a second sweep over the row.  Around an element of the row they do not, and what is then too much is
known from the sum of the distances.  Distances of f32 numbers and their sums are f64.  The element is one of the row, so its own distance d from the mean
is among the squares, which are d * d at least, and what cancels is n * d * d at most: of n elements the result loses n units in the last place of an f64,
which is less than sums of f32 lose behind the mean, wherever the mean lies.  Rows of equal elements give 0 exactly, rows with NaN or infinities NaN.
Where the target has `fma`, squares enter their sum before they are rounded.

Numbers that are f64 already, as those of a variance or of a batch are, lose nothing by it.  Where they are f32 it is done for rows that are read again
from memory, and not from a cache: the work on wide numbers costs as much as the second reading of a row from there.  `fused` of the nest says so, with the
bytes that are not read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

from lect.dialects.loop.attributes import FuseAttr
from lect.dialects.loop.building import Inlining, NestBuilder, copy_operations
from lect.dialects.loop.ops import CastOp, IndexOp, LoadOp, NestOp, ReduceIndexOp, ReduceOp, ScanOp, variance
from lect.ir import Context, Operation, ScalarType, Value
from lect.ir.index_map import is_affine
from lect.ir.symbolic import ZERO, Expr, Size, dim, product
from lect.ir.types import f32, f64
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, forms_of
from lect.passes.loop.nests import has_scan, nests_of, remove_dead, uniform, unit_stride_bytes, weights
from lect.passes.loop.splitting import count, needed_for
from lect.passes.targets import is_gpu

L3_BYTES = 32 << 20
PART = 4  # of the last cache a row may take a fourth of a thread's share and still be there when it is read again
LINE = 64  # bytes of the columns, at least, that one program folds


@dataclass(frozen=True)
class LoopJoinMoments(Pass):
    """Compute sums of squares around a mean without a sweep of their own."""

    name: ClassVar[str] = "loop-join-moments"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    longest_row: int = option(0, "bytes of a row of f32 numbers from which on it is read once; 0: a fourth of the last cache, divided among the threads")
    most: int = option(8, "operations that may compute what is folded, which are done once more for one element")

    def run(self, op: Operation, ctx: Context) -> None:
        if is_gpu(ctx.target):
            return
        shares = PART * max(int(ctx.target.get("threads", 1)), 1)
        forms, longest = forms_of(ctx), self.longest_row or int(ctx.target.get("l3_bytes", L3_BYTES)) // shares
        for nest in nests_of(op):
            read = forms.ask(nest, bytes_of_a_program)
            what = ("moments", self.most, read < longest)
            if not read or not forms.together((nest,), what, partial(moments, nest, self.most, read < longest)):
                continue
            forms.change(nest, what, partial(join_moments, nest, self.most, read < longest, bool(ctx.target.get("fma"))))
            nest.fused = (*nest.fused, FuseAttr("reductions", nest.sym_name, nest.sym_name, read * programs(nest)))
            ctx.count("sweeps saved")


def bytes_of_a_program(nest: NestOp) -> int:
    """What one program of a nest that folds reads of what varies along the folded dims; 0 for other nests."""
    sizes, folded = weights(nest), set(nest.reduced)
    if not folded or has_scan(nest):
        return 0
    mask = sum(1 << k for k in folded)
    varying = variance(nest)
    elements = sum({(load.buffer, load.map): load.value.type.bytes for load in nest.loads if varying[load.value] & mask}.values())
    votes = unit_stride_bytes(nest)
    near = max(range(len(sizes)), key=lambda k: (votes[k], k))
    beside = 1 if near in folded else min(sizes[near], LINE // 4)
    return count(sizes, folded) * elements * beside


def programs(nest: NestOp) -> int:
    """How often what `bytes_of_a_program` says is read, in whole numbers."""
    sizes, folded = weights(nest), set(nest.reduced)
    votes = unit_stride_bytes(nest)
    near = max(range(len(sizes)), key=lambda k: (votes[k], k))
    beside = 1 if near in folded else min(sizes[near], LINE // 4)
    return max(count(sizes, [k for k in range(len(sizes)) if k not in folded]) // beside, 1)


class Moment(NamedTuple):
    """A sum of squares `fold` of the distances of `value` from its own mean, the division `mean`, over `points` elements."""

    fold: ReduceOp
    value: Value
    mean: Operation
    points: Size


def moments(nest: NestOp, most: int, wide: bool) -> list[Moment]:
    """The sums of squares of a nest that can be had without the mean; with `wide` those of numbers that are folded in f64 anyway."""
    found = []
    for op in nest.body:
        if isinstance(op, ReduceOp) and op.kind == "sum" and not op.contract:
            moment = _squared_distance(op)
            if moment is None or not _is_narrow(moment.value) or (wide and op.result.type is not f64):
                continue
            if _can_be_moved(nest, moment.value, most):
                found.append(moment)
    return found


def _squared_distance(fold: ReduceOp) -> Moment | None:
    """A sum of (x - mean of x) squared."""
    square = _uncast(fold.value).op
    if square is None or square.name != "loop.mul" or square.operands[0] is not square.operands[1]:
        return None
    distance = _uncast(square.operands[0]).op
    if distance is None or distance.name != "loop.sub":
        return None
    value, mean = distance.operands[0], _uncast(distance.operands[1]).op
    if mean is None or mean.name != "loop.div":
        return None
    total = mean.operands[0].op
    nest = fold.parent_op
    assert isinstance(nest, NestOp)
    elements = product([nest.space.sizes[k] for k in fold.over])
    whole = uniform(mean.operands[1]) == elements
    same = isinstance(total, ReduceOp) and total.kind == "sum" and total.over == fold.over and value in (total.value, _uncast(total.value))
    return Moment(fold, value, mean, elements) if whole and same else None


def _is_narrow(value: Value) -> bool:
    """Whether a value is an f32, be it in an f64."""
    return value.type is f32 or (value.type is f64 and isinstance(value.op, CastOp) and value.op.operands[0].type is f32)


def _uncast(value: Value) -> Value:
    """What a value is a float cast of, if that loses at most the width of an f32."""
    op = value.op
    return op.operands[0] if isinstance(op, CastOp) and op.operands[0].type in (f32, f64) and value.type in (f32, f64) else value


def _can_be_moved(nest: NestOp, value: Value, most: int) -> bool:
    """Whether a value can be computed at another point of the row: by few operations, from elements that are surely there."""
    ops = needed_for([value], nest)
    if len(ops) > most or any(isinstance(op, (ReduceOp, ReduceIndexOp, ScanOp, IndexOp)) for op in ops):
        return False
    return all(not load.indices and not load.masks and is_affine(load.map.offset) for load in ops if isinstance(load, LoadOp))


def join_moments(nest: NestOp, most: int, wide: bool, contract: bool) -> NestOp:
    """Rewrite the sums of squares of a nest in place; with `contract` a square enters its sum before it is rounded, in one operation."""
    for moment in moments(nest, most, wide):
        _replace(nest, moment, contract)
    remove_dead(nest)
    nest.set_operands(nest.needed_inputs)
    return nest


def _replace(nest: NestOp, moment: Moment, contract: bool) -> None:
    fold, mean, over = moment.fold, moment.mean, moment.fold.over
    builder = NestBuilder.inside(nest)
    builder.loc, builder.anchor = mean.loc, mean
    first = builder.cast(_at_first(nest, builder, moment.value, over), f64)
    distance = builder.op("sub", builder.cast(moment.value, f64), first)
    total, points = builder.reduce("sum", distance, over), builder.const(moment.points, f64)
    from_first = builder.op("div", total, points)
    if mean.result.type is f32:  # the sum of f32 numbers is not needed any more, and this mean is the closer one
        mean.replace([builder.cast(builder.op("add", first, from_first), f32)])
    builder.loc, builder.anchor = fold.loc, fold
    squares = builder.reduce("sum", builder.op("mul", distance, distance), over, contract=contract)
    around = builder.op("maximum", builder.op("sub", squares, builder.op("mul", from_first, total)), builder.const(0, f64))
    element: ScalarType = fold.result.type  # type: ignore[assignment]
    fold.replace([builder.cast(around, element)])


def _at_first(nest: NestOp, builder: NestBuilder, value: Value, over: Iterable[int]) -> Value:
    """A value at the first point of its row."""
    dims: dict[int, Expr] = {k: ZERO if k in over else dim(k) for k in range(len(nest.space.sizes))}
    return copy_operations(Inlining(nest, builder, dims), needed_for([value], nest))[value]
