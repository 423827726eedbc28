"""Undo views that cancel each other around pointwise operations, and read pieces where they come from.

    %0 = functional.reshape(%x) {shape = [12]} : !functional.tensor<12xf32>
    %1 = functional.relu(%0) : !functional.tensor<12xf32>                                =>     %2 = functional.relu(%x)
    %2 = functional.reshape(%1) {shape = [3, 4]} : !functional.tensor<3x4xf32>

    %0 = functional.expand(%x) {shape = [8, 16]} : !functional.tensor<8x16xf32, ..>      =>     %1 = functional.exp(%x)
    %1 = functional.exp(%0) : !functional.tensor<8x16xf32>                                      %2 = functional.expand(%1) {shape = [8, 16], strides = [16, 1]}

An operand that an operation broadcasts by itself is not expanded before; a slice of `cat`, `pad` or `expand` reads the part that it shows; the slices of one
tensor that `cat` puts side by side again are one slice.  Each result keeps the strides that eager gives it, in the attribute `strides` where they are
not those of the new operation.  Views of views are `canonicalize`'s.  What a graph returns as a view of another result stays one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import replace_by_op
from lect.dialects.functional.families import Elementwise
from lect.dialects.functional.view import CatOp, ExpandOp, PadOp, PermuteOp, ReshapeOp, SliceOp
from lect.ir import Context, Operation, Pattern, PatternSet, Rewriter, Value, apply_greedily
from lect.ir.symbolic import SIZES
from lect.passes.base import Pass
from lect.passes.functional.graphs import functions, rebuilt, restated, sharing_results, shown_as, simplify

ROUNDS = 4  # folding and canonicalizing make work for each other, mostly once


@dataclass(frozen=True)
class FunctionalFoldViews(Pass):
    """Cancel, drop and shorten views."""

    name: ClassVar[str] = "functional-fold-views"

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            sharing = frozenset(sharing_results(func))
            patterns = [
                CancelAroundPointwise(sharing),
                DropExpandOfOperand(sharing),
                ExpandLater(sharing),
                SliceOfCat(sharing),
                SliceOfPad(sharing),
                SliceOfExpand(sharing),
                CatOfNeighbours(sharing),
            ]
            table = PatternSet(patterns)
            for _ in range(ROUNDS):
                changes = apply_greedily(func, table, remove_dead=False)
                ctx.count("views folded", changes)
                if not changes:
                    break
                simplify(func)


@dataclass(frozen=True)
class _Fold(Pattern):
    """Base of patterns that leave results that share memory alone."""

    sharing: frozenset[Value]

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        return (not self.sharing or op.results[0] not in self.sharing) and self.fold(op, rewriter)

    def fold(self, op: Any, rewriter: Rewriter) -> bool:
        """Rewrite an operation whose result has memory of its own."""
        raise NotImplementedError


class CancelAroundPointwise(_Fold):
    """view(f(view'(x), view'(y)))  =>  f(x, y), where view undoes view'"""

    root = (ReshapeOp, PermuteOp)

    def fold(self, op: Any, rewriter: Rewriter) -> bool:
        inner: Any = op.operands[0].op
        if inner is None or Elementwise not in inner.traits or len(inner.results) != 1 or len(op.x.users) != 1:
            return False
        operands = []
        undone = False
        for value in inner.operands:
            if not value.type.rank:
                operands.append(value)
                continue
            view: Any = value.op
            if view is None or type(view) is not type(op) or value.type.shape != op.x.type.shape or not _undoes(op, view):
                return False
            operands.append(view.x)
            undone = True
        new = rebuilt(inner, operands, op.output.type) if undone else None
        if new is None:
            return False
        rewriter.replace_with(op, new)
        return True


def _undoes(outer: Any, inner: Any) -> bool:
    if isinstance(outer, ReshapeOp):
        return tuple(inner.x.type.shape) == tuple(outer.shape)
    return [inner.dims[dim] for dim in outer.dims] == list(range(len(outer.dims)))


class DropExpandOfOperand(_Fold):
    """f(expand(x), y)  =>  f(x, y), where y alone has the shape of the result"""

    root = ExpandOp

    def fold(self, op: ExpandOp, rewriter: Rewriter) -> bool:
        if not op.x.type.rank:
            return False
        changed = False
        for user in list(op.output.users):
            if Elementwise in user.traits and len(user.operands) > 1 and len(user.results) == 1 and user.results[0] not in self.sharing:
                changed = self.drop(user, rewriter) or changed
        return changed

    def drop(self, op: Operation, rewriter: Rewriter) -> bool:
        """Use what was expanded."""
        type: Any = op.results[0].type
        if not any(value.type.shape == type.shape and not isinstance(value.op, ExpandOp) for value in op.operands):  # type: ignore[attr-defined]
            return False
        expanded = [isinstance(value.op, ExpandOp) and value.op.x.type.rank > 0 for value in op.operands]
        new = rebuilt(op, [value.op.x if drop else value for value, drop in zip(op.operands, expanded)], type)  # type: ignore[union-attr]
        if new is None:
            return False
        rewriter.replace_with(op, new)
        return True


class ExpandLater(_Fold):
    """f(expand(x))  =>  expand(f(x)): fewer elements are computed"""

    root = ExpandOp

    def fold(self, op: ExpandOp, rewriter: Rewriter) -> bool:
        if not op.x.type.rank or not SIZES.less(op.x.type.count, op.output.type.count):
            return False
        changed = False
        for user in list(op.output.users):
            if Elementwise in user.traits and len(user.operands) == 1 and len(user.results) == 1 and user.results[0] not in self.sharing:
                self.move(op, user, rewriter)
                changed = True
        return changed

    def move(self, expand: ExpandOp, op: Any, rewriter: Rewriter) -> None:
        """Compute first."""
        attrs = {name: value for name, value in op.attrs.items() if name != "strides"}
        new = op.__class__.create([expand.x], [expand.x.type], attrs, (), (), op.loc)
        (new.results[0].type,) = new.infer()
        rewriter.insert_before(op, new)
        type = op.results[0].type
        rewriter.replace_with(op, restated(ExpandOp(new.results[0], type.shape, loc=op.loc), type))


class SliceOfCat(_Fold):
    """slice(cat(.., x, ..))  =>  slice(x), where it shows elements of x alone"""

    root = SliceOp

    def fold(self, op: SliceOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, CatOp) or inner.dim != op.dim or op.output.type.is_empty:
            return False
        last = op.start + (op.output.type.shape[op.dim] - 1) * op.step
        position = 0
        for part in inner.inputs:
            size = part.type.shape[op.dim]
            if position <= op.start and last < position + size:
                return _replace_by_slice(op, part, op.start - position, op.end - position, rewriter)
            position += size
        return False


def _replace_by_slice(op: SliceOp, x: Value, start: int, end: int, rewriter: Rewriter) -> bool:
    """Replace a slice by one of another tensor, or by all of it."""
    size = x.type.shape[op.dim]  # type: ignore[attr-defined]
    if start == 0 and end >= size and op.step == 1:
        rewriter.replace(op, shown_as(op, x, op.output.type))
        return True
    return replace_by_op(op, SliceOp(x, op.dim, start, min(end, size), step=op.step), rewriter)


class SliceOfPad(_Fold):
    """slice(pad(x))  =>  slice(x), where it shows nothing of the padding and only this dim is padded"""

    root = SliceOp

    def fold(self, op: SliceOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, PadOp) or op.output.type.is_empty:
            return False
        if any(tuple(pair) != (0, 0) for dim, pair in enumerate(inner.pads) if dim != op.dim):
            return False
        before = inner.pads[op.dim][0]
        last = op.start + (op.output.type.shape[op.dim] - 1) * op.step
        if op.start < before or last >= before + inner.x.type.shape[op.dim]:
            return False
        return _replace_by_slice(op, inner.x, op.start - before, op.end - before, rewriter)


class SliceOfExpand(_Fold):
    """slice(expand(x)) of a repeated dim  =>  expand(x)"""

    root = SliceOp

    def fold(self, op: SliceOp, rewriter: Rewriter) -> bool:
        inner = op.x.op
        if not isinstance(inner, ExpandOp):
            return False
        missing = inner.output.type.rank - inner.x.type.rank
        repeated = op.dim < missing or inner.x.type.shape[op.dim - missing] == 1 != inner.output.type.shape[op.dim]
        return repeated and replace_by_op(op, ExpandOp(inner.x, op.output.type.shape), rewriter)


class CatOfNeighbours(_Fold):
    """cat(slice(x) {end = k}, slice(x) {start = k})  =>  cat(slice(x))"""

    root = CatOp

    def fold(self, op: CatOp, rewriter: Rewriter) -> bool:
        if len(op.inputs) < 2:
            return False
        runs: list[list[SliceOp | Value]] = []
        for value in op.inputs:
            part = value.op
            plain = isinstance(part, SliceOp) and part.dim == op.dim and part.step == 1
            if plain and runs and isinstance(runs[-1][-1], SliceOp) and runs[-1][-1].x is part.x and runs[-1][-1].end == part.start:  # type: ignore[union-attr]
                runs[-1].append(part)  # type: ignore[arg-type]
            else:
                runs.append([part if plain else value])  # type: ignore[list-item]
        if len(runs) == len(op.inputs):
            return False
        joined = [self.join(op, run, value, rewriter) for run, value in zip(runs, _firsts(op, runs))]
        if len(joined) == 1:
            rewriter.replace(op, shown_as(op, joined[0], op.output.type))
            return True
        return replace_by_op(op, CatOp(joined, op.dim), rewriter)

    def join(self, op: CatOp, run: list[Any], value: Value, rewriter: Rewriter) -> Value:
        """One value for a run of neighbours."""
        if len(run) == 1:
            return value
        x, start, end = run[0].x, run[0].start, run[-1].end
        if start == 0 and end == x.type.shape[op.dim]:
            return x  # type: ignore[no-any-return]
        return rewriter.insert_before(op, SliceOp(x, op.dim, start, end, loc=op.loc)).output


def _firsts(op: CatOp, runs: list[Any]) -> list[Value]:
    """The operand at which each run begins."""
    found, position = [], 0
    for run in runs:
        found.append(op.inputs[position])
        position += len(run)
    return found
