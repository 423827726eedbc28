"""Evaluate what does not depend on inputs, and use the numbers where they appear.

    %0 = functional.iota() {size = 8} : !functional.tensor<8xi64>
    %1 = functional.sub(%0) {other = 1} : !functional.tensor<8xi64>     =>    %1 = functional.iota() {size = 8, start = -1}
    %2 = functional.ge(%0) {other = 0} : !functional.tensor<8xi1>       =>    %2 = functional.full() {shape = [8], value = true, element = i1}
    %3 = functional.where(%2, %x, %y) : !t                              =>    every use of %3 is a use of %x

The reference interpreter evaluates, so that the numbers are eager's.  A result is written as one `full` when all elements are one number, or as an
`iota` under reshape and expand when they are steps along one dim; others stay as they are computed, as nests compute masks of row and column numbers at
no cost.  Random numbers, undefined elements, opaque calls, sums of floats, complex numbers, NaN of unusual bits, tensors that are not on the CPU,
and what raises are never folded.  `budget` bounds the elements of a tensor that is made for this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import AddOp, MulOp, SubOp, with_number
from lect.dialects.functional.composite import MaskedFillOp
from lect.dialects.functional.creation import CopyOp, FullOp, IotaOp
from lect.dialects.functional.gather import IndexOp
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.pointwise import BIT_BINARY, COMPARISONS, EXTREMA, DivOp, WhereOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import ReshapeOp, SliceOp
from lect.ir import Builder, Context, Operation, Value
from lect.ir.types import i1
from lect.passes.base import Pass, load_body, option
from lect.passes.functional.graphs import functions, restated, sharing_results, shown_as, simplify

CONSTANTS = "lect.backends.reference.constants:Constants"
SOURCES = (FullOp, IotaOp)
VIEWS = frozenset({"functional.reshape", "functional.expand", "functional.permute"})
# Operation on i1 -> (the number beside which it is the other operand, the number beside which it is that number)
LOGIC: Mapping[type[Operation], tuple[bool, bool]] = MappingProxyType(
    {
        BIT_BINARY["BitwiseAndOp"]: (True, False),
        BIT_BINARY["BitwiseOrOp"]: (False, True),
        COMPARISONS["LogicalAndOp"]: (True, False),
        COMPARISONS["LogicalOrOp"]: (False, True),
    }
)
TAKE_A_NUMBER = (AddOp, SubOp, MulOp, DivOp, *EXTREMA.values(), *[cls for name, cls in COMPARISONS.items() if not name.startswith("Logical")])


@dataclass(frozen=True)
class FunctionalFoldConstants(Pass):
    """Write values that no input decides as `full` or `iota`, and simplify what uses them."""

    name: ClassVar[str] = "functional-fold-constants"
    budget: int = option(16384, "the most elements of a tensor that is evaluated")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            if any(isinstance(inner, SOURCES) for inner in func.body) and _Folding(func, self.budget, ctx).run():
                simplify(func)


class _Folding:
    """The work on one graph."""

    def __init__(self, func: FuncOp, budget: int, ctx: Context) -> None:
        self.func = func
        self.ctx = ctx
        self.constants = load_body(CONSTANTS)(budget)
        self.sharing = sharing_results(func)
        self.changed = False

    def run(self) -> bool:
        """Learn in order; simplify what only some operands decide; write the constants that are left; drop what was evaluated.

        True when there was something to do.
        """
        ops = list(self.func.body)
        known = self.constants.known
        learned = [op for op in ops if self.constants.learn(op) and not isinstance(op, SOURCES)]
        forms = {value: form for value in known if (form := self.form(value)) is not None}
        for op in ops:
            if not known.keys().isdisjoint(op.operands) and self.stays(op, forms):
                self.simplify(op)
        for value, form in forms.items():
            if any(self.stays(user, forms) for user in value.users):
                self.write(value, form)
        for op in reversed(learned):  # none of them raises, so they may go
            if op.parent is not None and not any(value.users for value in op.results):
                op.erase()
                self.ctx.count("operations evaluated")
        return self.changed or bool(learned)

    # ---- constants ---------------------------------------------------------------------------------------------------

    def form(self, value: Value) -> Any:
        """("full", number) or ("line", (dim, start, step)); None for what stays as it is."""
        if isinstance(value.op, SOURCES) or value in self.sharing:
            return None
        number = self.constants.number(value)
        if number is not None:
            return "full", number
        line = self.constants.line(value)
        return None if line is None or _is_view_of_iota(value) else ("line", line)

    def stays(self, op: Operation, forms: Mapping[Value, Any]) -> bool:
        """True when `op` is still there when all constants are written."""
        return not isinstance(op, SOURCES) and (not op.results or not all(value in forms for value in op.results))

    def write(self, value: Value, form: Any) -> None:
        """Put a constant in the place of what computes it."""
        op = value.op
        type = value.type
        assert op is not None and isinstance(type, TensorType)
        builder = Builder.before(op)
        kind, content = form
        if kind == "full":
            new = self.full(op, content, type)
        else:
            dim, start, step = content
            size = type.shape[dim]
            made = builder.insert(IotaOp(size, start=start, step=step, element=type.element, loc=op.loc)).output
            if type.rank > 1:
                made = builder.insert(ReshapeOp(made, tuple([size if k == dim else 1 for k in range(type.rank)]), loc=op.loc)).output
            new = shown_as(op, made, type)
        self.constants.known[new] = self.constants.known[value]
        new.hint = value.hint
        value.replace_all_uses(new)
        self.ctx.count("constants written")

    def full(self, anchor: Operation, number: Any, type: TensorType) -> Value:
        """A tensor of one number with a given type."""
        return Builder.before(anchor).insert(restated(FullOp(type.shape, number, type.element, loc=anchor.loc), type)).output

    # ---- operations with constant operands ---------------------------------------------------------------------------

    def simplify(self, op: Operation) -> None:
        """Replace an operation that its constant operands decide."""
        found: Value | None = None
        if any(value in self.sharing for value in op.results):
            return
        if type(op) in LOGIC and op.operands[0].type.element is i1 and len(op.operands) == 2:  # type: ignore[attr-defined]
            found = self.logic(op)
        elif isinstance(op, WhereOp | MaskedFillOp):
            found = self.selection(op)
        elif isinstance(op, IndexOp):
            found = self.slice_of(op)
        elif isinstance(op, TAKE_A_NUMBER):
            found = self.with_number(op)
        if found is None:
            return
        for value in op.results:
            if value in self.constants.known:
                self.constants.known[found] = self.constants.known.pop(value)
        op.replace([found])
        self.changed = True
        self.ctx.count("operations simplified")

    def logic(self, op: Any) -> Value | None:
        neutral, deciding = LOGIC[type(op)]
        for number, other in ((self.constants.number(op.x), op.y), (self.constants.number(op.y), op.x)):
            if number is neutral:
                return shown_as(op, other, op.output.type) if other.type.element is i1 else None
            if number is deciding:
                return self.full(op, deciding, op.output.type)
        return None

    def selection(self, op: Any) -> Value | None:
        if isinstance(op, WhereOp):
            chosen = self.constants.number(op.condition)
            return None if chosen is None else shown_as(op, op.x if chosen else op.y, op.output.type)
        chosen = self.constants.number(op.mask)
        if chosen is None:
            return None
        if not chosen:
            return shown_as(op, op.x, op.output.type)
        return self.full(op, op.other, op.output.type) if op.other is not None else shown_as(op, op.value, op.output.type)

    def slice_of(self, op: IndexOp) -> Value | None:
        """index(x, iota) is a slice when the places are inside."""
        if len(op.dims) != 1 or op.output.type.device != "cpu":
            return None
        (dim,), (index,) = op.dims, op.indices
        line = self.constants.line(index)
        number = self.constants.number(index) if line is None else None
        if line is not None:
            along, start, step = line
            size = index.type.shape[along]
        elif number is not None and index.type.count == 1:
            start, step, size = number, 1, 1
        else:
            return None
        if type(size) is not int or index.type.count != size or step < 1 or start < 0 or start + step * (size - 1) >= op.x.type.shape[dim]:
            return None
        builder = Builder.before(op)
        part = builder.insert(SliceOp(op.x, dim, start, start + step * (size - 1) + 1, step=step, loc=op.loc)).output
        if part.type.shape != op.output.type.shape:
            part = builder.insert(ReshapeOp(part, op.output.type.shape, loc=op.loc)).output
        return builder.insert(restated(CopyOp(part, loc=op.loc), op.output.type)).output

    def with_number(self, op: Any) -> Value | None:
        """f(x, full(v))  =>  f(x) {other = v}, where x has the shape of the result."""
        if op.y is None or len(op.operands) > 2 or op.attrs.get("alpha", 1) != 1:
            return None
        x, element = op.x, op.x.type.element
        if element is i1 or op.y.type.element is not element or x.type.shape != op.output.type.shape:
            return None
        number = self.constants.number(op.y)
        if number is None:
            return None
        return Builder.before(op).insert(restated(with_number(op, number), op.output.type)).output


def _is_view_of_iota(value: Value) -> bool:
    """An iota under views: nothing simpler says the same."""
    op: Any = value.op
    while op is not None and op.name in VIEWS:
        op = op.x.op
    return isinstance(op, IotaOp)
