"""Sum a row that has one element, or none, without walking it.

    %i = loop.index() {map = #loop.map<(d0, d1) -> (d1)>}
    %1 = loop.eq(%i, %t)                                            // %t is the same along d1
    %2 = loop.select(%1, %v, %zero)                                 // so is %v
    %3 = loop.reduce(%2) {kind = "sum", over = [1]}
=>
    %1 = loop.and(loop.ge(%t, 0), loop.lt(%t, size of d1))
    %3 = loop.add(loop.select(%1, %v, %zero), %zero)                // -0.0 in a sum is 0.0

The gradient of a loss over classes is such a row, and that of a log-softmax behind it needs its sum.  Other conditions beside the comparison may be joined
to it by `and`, if they are the same along the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from lect.dialects.loop.building import NestBuilder
from lect.dialects.loop.ops import ConstOp, IndexOp, NestOp, ReduceOp, SelectOp, variance
from lect.ir import Context, Operation, Value
from lect.ir.symbolic import dim
from lect.ir.types import i64
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, forms_of
from lect.passes.loop.nests import nests_of, remove_dead


@dataclass(frozen=True)
class LoopFoldOneHot(Pass):
    """Replace sums of rows with one element."""

    name: ClassVar[str] = "loop-fold-one-hot"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        forms = forms_of(ctx)
        for nest in nests_of(op):
            count = forms.ask(nest, rows_with_one)
            if count:
                forms.change(nest, "one hot", partial(without_walks, nest))
                ctx.count("sums of one element", count)


def rows_with_one(nest: NestOp) -> int:
    """How many sums of a nest are of rows with one element."""
    return len(_sums(nest)) if len(nest.reduced) == 1 else 0


def _sums(nest: NestOp) -> list[tuple[ReduceOp, Row]]:
    varying = variance(nest)
    return [(inner, row) for inner in nest.body if isinstance(inner, ReduceOp) and (row := Row.of(nest, inner, varying)) is not None]


def without_walks(nest: NestOp) -> NestOp:
    """Replace the sums of rows with one element in a nest."""
    for inner, row in _sums(nest):
        inner.replace([row.total(nest, inner)])
    remove_dead(nest)
    nest.set_operands(nest.needed_inputs)
    return nest


@dataclass(frozen=True)
class Row:
    """A row that is `value` at the index `place` where all `conditions` hold, and zero elsewhere."""

    place: Value
    value: Value
    conditions: tuple[Value, ...]

    @classmethod
    def of(cls, nest: NestOp, fold: ReduceOp, varying: dict[Value, int]) -> Row | None:
        """What a sum folds, if it is such a row."""
        chosen = fold.value.op
        if fold.kind != "sum" or len(fold.over) != 1 or not isinstance(chosen, SelectOp) or not _is_zero(chosen.when_false):
            return None
        along = 1 << fold.over[0]
        places: list[Value] = []
        conditions: list[Value] = []
        for condition in _joined(chosen.condition):
            if not varying[condition] & along:
                conditions.append(condition)
                continue
            place = _compared(condition, fold.over[0])
            if place is None or varying[place] & along:
                return None
            places.append(place)
        if len(places) != 1 or varying[chosen.when_true] & along:
            return None
        return cls(places[0], chosen.when_true, tuple(conditions))

    def total(self, nest: NestOp, fold: ReduceOp) -> Value:
        """The sum, computed in front of `fold`."""
        builder = NestBuilder.inside(nest)
        builder.loc, builder.anchor = fold.loc, fold
        size = nest.space.sizes[fold.over[0]]
        inside = builder.op("and", builder.op("ge", self.place, builder.const(0, i64)), builder.op("lt", self.place, builder.const(size, i64)))
        for condition in self.conditions:
            inside = builder.op("and", inside, condition)
        zero: Any = builder.const(0, self.value.type)  # type: ignore[arg-type]
        return builder.op("add", builder.select(inside, self.value, zero), zero)


def _is_zero(value: Value) -> bool:
    return isinstance(value.op, ConstOp) and not value.op.value


def _joined(condition: Value) -> list[Value]:
    """The conditions that an `and` of several asks for."""
    op = condition.op
    return [each for value in op.operands for each in _joined(value)] if op is not None and op.name == "loop.and" else [condition]


def _compared(condition: Value, over: int) -> Value | None:
    """What the index of a dim is compared with; None when the condition is something else."""
    op = condition.op
    if op is None or op.name != "loop.eq":
        return None
    for index, other in (op.operands, reversed(op.operands)):
        if isinstance(index.op, IndexOp) and index.op.map.offset is dim(over) and other.type is i64:
            return other
    return None
