"""What all lowerings of functional operations share: tensors as index maps, scalar formulas, and the graph under construction.

A functional tensor becomes a `Seen`: a buffer and the flat offset of each of its elements, an expression over the tensor's own dims.  View operations
change the expression alone.  Everything else makes a nest (`Lowering.nest`) or a library call (`Lowering.extern`).

New buffers have the physical order that the tensor's type has, which is eager's: so what a library call gets and what the caller gets has eager's
strides without a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from lect.dialects.functional.types import TensorType
from lect.dialects.loop.attributes import OperandAttr, SpaceAttr, ViewAttr
from lect.dialects.loop.building import NestBuilder
from lect.dialects.loop.ops import ExternOp, NestOp
from lect.dialects.loop.types import BufferType
from lect.ir import UNKNOWN, Block, LectError, Location, Operation, ScalarType, SymbolRef, Value
from lect.ir.index_map import contiguous_strides, linearize, space_dims, strided, strides_of, substitute
from lect.ir.symbolic import ZERO, Expr, ranges_of
from lect.ir.types import f32, i1

Dims = tuple[int, ...]
Point = tuple[Expr, ...]


class Seen:
    """A functional tensor at the loop level: element (d0, d1, ...) of `type` is element `offset` of `buffer`."""

    __slots__ = ("buffer", "offset", "type")

    def __init__(self, buffer: Value, offset: Expr, type: TensorType) -> None:
        self.buffer = buffer
        self.offset = offset
        self.type = type


def compute_type(element: ScalarType) -> ScalarType:
    """The type in which eager computes: f32 for halves, else the type itself."""
    return f32 if element.is_half else element


class Num:
    """A number inside a nest, for writing formulas: `x * (1 - t)`, `x.op("exp")`.  Python numbers take the other side's type."""

    __slots__ = ("body", "value")

    def __init__(self, body: NestBuilder, value: Value) -> None:
        self.body = body
        self.value = value

    @property
    def type(self) -> ScalarType:
        """The number's type."""
        return self.value.type  # type: ignore[return-value]

    def const(self, number: Any) -> Num:
        """A constant of this number's type."""
        return Num(self.body, self.body.const(number, self.type))

    def op(self, name: str, *others: Num | float) -> Num:
        """A scalar operation of the table."""
        operands = [other.value if isinstance(other, Num) else self.body.const(other, self.type) for other in others]
        return Num(self.body, self.body.op(name, self.value, *operands))

    def cast(self, element: ScalarType) -> Num:
        """The number in another type."""
        return Num(self.body, self.body.cast(self.value, element))

    def choose(self, when_true: Num | float, when_false: Num | float) -> Num:
        """For an i1: one of two numbers, of which at least one is a `Num`."""
        first, second = when_true, when_false
        if not isinstance(first, Num):
            assert isinstance(second, Num)
            first = second.const(first)
        if not isinstance(second, Num):
            second = first.const(second)
        return Num(self.body, self.body.select(self.value, first.value, second.value))

    def reduce(self, kind: str, over: Dims) -> Num:
        """Folded over dims."""
        return Num(self.body, self.body.reduce(kind, self.value, over))

    def __add__(self, other: Num | float) -> Num:
        return self.op("add", other)

    def __radd__(self, other: float) -> Num:
        return self.const(other).op("add", self)

    def __sub__(self, other: Num | float) -> Num:
        return self.op("sub", other)

    def __rsub__(self, other: float) -> Num:
        return self.const(other).op("sub", self)

    def __mul__(self, other: Num | float) -> Num:
        return self.op("mul", other)

    def __rmul__(self, other: float) -> Num:
        return self.const(other).op("mul", self)

    def __truediv__(self, other: Num | float) -> Num:
        return self.op("div", other)

    def __rtruediv__(self, other: float) -> Num:
        return self.const(other).op("div", self)

    def __neg__(self) -> Num:
        return self.op("neg")

    def __lt__(self, other: Num | float) -> Num:
        return self.op("lt", other)

    def __le__(self, other: Num | float) -> Num:
        return self.op("le", other)

    def __gt__(self, other: Num | float) -> Num:
        return self.op("gt", other)

    def __ge__(self, other: Num | float) -> Num:
        return self.op("ge", other)

    def equals(self, other: Num | float) -> Num:
        """i1: the two are equal."""
        return self.op("eq", other)

    def differs(self, other: Num | float) -> Num:
        """i1: the two are not equal."""
        return self.op("ne", other)

    def __and__(self, other: Num) -> Num:
        return self.op("and", other)

    def __or__(self, other: Num) -> Num:
        return self.op("or", other)

    def __invert__(self) -> Num:
        return self.op("not")


def physical_order(type: TensorType) -> Dims | None:
    """The dims from the slowest to the fastest when the tensor is dense, else None.  Dims of size 1 stay where they are."""
    if type.is_contiguous:
        return tuple(range(type.rank))
    order = sorted(range(type.rank), key=lambda k: (-type.strides[k], type.shape[k] == 1, k))
    order = _place_units(order, type)
    physical = tuple([type.shape[k] for k in order])
    for k, stride in zip(order, contiguous_strides(physical)):
        if type.shape[k] != 1 and type.strides[k] != stride:
            return None
    return tuple(order)


def _place_units(order: list[int], type: TensorType) -> list[int]:
    moved = [k for k in order if type.shape[k] != 1]
    for k in range(type.rank):
        if type.shape[k] == 1:
            moved.insert(min(k, len(moved)), k)
    return moved


class Layout:
    """Where the elements of a new tensor go: the space in physical order, the index of each logical dim in it, the buffer, the offset.

    A tensor whose type has gaps is stored without them unless it must be `exact`; then it is no strided view with the type's strides.
    """

    __slots__ = ("buffer_type", "indices", "offset", "seen_offset", "space", "strides", "view")

    def __init__(self, type: TensorType, exact: bool) -> None:
        order = physical_order(type)
        strides = type.strides
        if order is None and not exact and 0 not in strides:
            order = tuple(sorted(range(type.rank), key=lambda k: -strides[k]))
            steps: Any = contiguous_strides(tuple([type.shape[k] for k in order]))
            strides = tuple([steps[order.index(k)] for k in range(type.rank)])
        if order is not None:
            sizes = tuple([type.shape[k] for k in order])
            dims = space_dims(sizes)
            self.indices: Point = tuple([dims[order.index(k)] for k in range(type.rank)])
            self.buffer_type = BufferType(sizes, type.element)
            self.offset = linearize(dims, sizes)
        else:  # gaps, or dims that repeat one element
            sizes = tuple([1 if stride == 0 else size for size, stride in zip(type.shape, type.strides)])
            self.indices = space_dims(sizes)
            self.buffer_type = BufferType((ViewAttr(type.shape, type.strides).span,), type.element)
            self.offset = strided(self.indices, type.strides)
        self.space = SpaceAttr(sizes)
        self.strides = strides
        self.seen_offset = strided(space_dims(type.shape), strides)
        self.view = ViewAttr(type.shape, type.strides)


@lru_cache(maxsize=4096)
def layout_of(type: TensorType, exact: bool = False) -> Layout:
    """Where a new tensor of a type is laid out."""
    return Layout(type, exact)


class Body:
    """A nest being filled: `indices` is where each dim of the tensor at hand stands."""

    def __init__(self, lowering: Lowering, space: SpaceAttr, indices: Point, loc: Location, exact: bool = False) -> None:
        self.lowering = lowering
        self.exact = exact
        self.builder = NestBuilder(space, loc)
        self.indices = indices
        self.results: list[tuple[TensorType, Expr]] = []

    def read(self, tensor: Value | Seen, indices: Point | None = None, *, raw: bool = False, masks: Sequence[Num] = ()) -> Num:
        """The element of a tensor at `indices` (those of the body when left out), broadcast from the right; halves are widened unless `raw`."""
        seen = tensor if isinstance(tensor, Seen) else self.lowering.seen[tensor]
        offset = self.lowering.offset_at(seen, self.indices if indices is None else indices, self.builder.space)
        number = Num(self.builder, self.builder.load(seen.buffer, offset, masks=[mask.value for mask in masks]))
        return number if raw else number.cast(compute_type(number.type))

    def const(self, number: Any, element: ScalarType) -> Num:
        """A constant."""
        return Num(self.builder, self.builder.const(wrapped(number, element), element))

    def index(self, value: Expr) -> Num:
        """An index expression as a number (i64)."""
        return Num(self.builder, self.builder.index(value))

    def store(self, number: Num, type: TensorType, indices: Point | None = None) -> None:
        """Write the next result, a tensor of `type`, at `indices` of it; the number is rounded to the element type here."""
        layout = layout_of(type, self.exact)
        offset = layout.offset if indices is None else strided(indices, layout.strides)
        self.builder.store(number.cast(type.element).value, layout.buffer_type, offset)
        self.results.append((type, layout.seen_offset))

    def discard(self) -> None:
        """Forget what was built: it must not count as a use of what it reads."""
        for op in self.builder.block:
            op.drop_operands()

    def finish(self) -> list[Seen]:
        """Append the nest to the graph; gives its results."""
        nest = self.lowering.append_nest(self.builder)
        return [Seen(value, offset, type) for value, (type, offset) in zip(nest.results, self.results)]


def wrapped(number: Any, element: ScalarType) -> Any:
    """A Python number converted to an element type as eager converts it: integers wrap; a size stays one."""
    if type(number) is not Expr and element.kind in ("signed", "unsigned") and type(number) is not float:
        low_bits = int(number) & ((1 << element.bits) - 1)
        return low_bits - (1 << element.bits) if element.kind == "signed" and low_bits >> (element.bits - 1) else low_bits
    return number


def _find_view(seen: Seen) -> ViewAttr | None:
    type = seen.type
    if type.is_empty:
        return ViewAttr(type.shape, type.strides)
    found = strides_of(seen.offset, type.rank)
    if found is None:
        return None
    offset, strides = found
    for size, have, want in zip(type.shape, strides, type.strides):
        if size != 1 and have != want:
            return None
    return ViewAttr(type.shape, type.strides, offset)


@lru_cache(maxsize=1024)
def _callee(name: str) -> SymbolRef:
    return SymbolRef(name)


@lru_cache(maxsize=256)
def operand_attr(number: int) -> OperandAttr:
    """The marker of an operand."""
    return OperandAttr(number)


class Lowering:
    """One graph under construction: `block` is its body, `seen` where each functional value is."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.seen: dict[Value, Seen] = {}
        self._names = 0
        self._offsets: dict[tuple[Expr, Dims, Point, SpaceAttr], Expr] = {}
        self._reindexed: dict[tuple[Expr, Dims, Point], Expr] = {}
        self._views: dict[tuple[Expr, TensorType], ViewAttr | None] = {}

    # ---- nests ---------------------------------------------------------------------------------------------------

    def name(self, letter: str) -> str:
        """A fresh symbol."""
        self._names += 1
        return f"{letter}{self._names - 1}"

    def body(self, type: TensorType, loc: Location = UNKNOWN, exact: bool = False) -> Body:
        """A nest over the elements of a new tensor of `type`, laid out with its gaps if `exact`."""
        layout = layout_of(type, exact)
        return Body(self, layout.space, layout.indices, loc, exact)

    def body_over(self, value: Value, loc: Location = UNKNOWN) -> Body:
        """A nest over the elements of an existing tensor, in the physical order of its type where that is dense."""
        type: TensorType = value.type  # type: ignore[assignment]
        order = physical_order(type) or tuple(range(type.rank))
        sizes = tuple([type.shape[k] for k in order])
        dims = space_dims(sizes)
        return Body(self, SpaceAttr(sizes), tuple([dims[order.index(k)] for k in range(type.rank)]), loc)

    def append_nest(self, builder: NestBuilder) -> NestOp:
        """Finish a nest and put it at the end of the graph."""
        return self.block.append(builder.finish(self.name("n")))

    def offset_at(self, seen: Seen, indices: Point, space: SpaceAttr) -> Expr:
        """The offset of a tensor's element at `indices` (of a space), dims of size 1 and missing leading dims broadcast."""
        shape = seen.type.shape
        key = (seen.offset, shape, indices, space)
        found = self._offsets.get(key)
        if found is None:
            behind = indices[len(indices) - len(shape) :] if shape else ()
            own = [ZERO if size == 1 else index for size, index in zip(shape, behind)]
            found = self._offsets[key] = substitute(seen.offset, own, space.ranges)
        return found

    # ---- views ---------------------------------------------------------------------------------------------------

    def reindexed(self, seen: Seen, type: TensorType, indices: Sequence[Expr]) -> Seen:
        """The tensor of `type` whose element at (d0, d1, ...) is the element of `seen` at `indices`."""
        key = (seen.offset, type.shape, tuple(indices))
        offset = self._reindexed.get(key)
        if offset is None:
            own = [ZERO if size == 1 else index for size, index in zip(seen.type.shape, indices)]
            offset = self._reindexed[key] = substitute(seen.offset, own, ranges_of(type.shape))
        return Seen(seen.buffer, offset, type)

    def view_of(self, seen: Seen) -> ViewAttr | None:
        """The strided view that a tensor is in its buffer, with exactly eager's strides; None when it lies there otherwise."""
        key = (seen.offset, seen.type)
        if key not in self._views:
            self._views[key] = _find_view(seen)
        return self._views[key]

    def materialized(self, seen: Seen, loc: Location = UNKNOWN) -> Seen:
        """A copy laid out as the type says."""
        if seen.type.element.kind == "complex":
            raise LectError("a view of complex numbers that eager makes by a copy cannot be lowered", loc)
        body = self.body(seen.type, loc, exact=True)
        body.store(body.read(seen, raw=True), seen.type)
        (copied,) = body.finish()
        return copied

    def strided(self, seen: Seen, loc: Location = UNKNOWN) -> tuple[Seen, ViewAttr]:
        """A tensor that is a strided view with eager's strides: itself, or a copy."""
        view = self.view_of(seen)
        if view is None:
            seen = self.materialized(seen, loc)
            view = self.view_of(seen)
            assert view is not None
        return seen, view

    # ---- library calls -------------------------------------------------------------------------------------------

    def extern(
        self, op: Operation, callee: str, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None, types: Sequence[TensorType] | None = None
    ) -> list[Seen]:
        """Call `callee` ("aten.mm.default"); tensors among the arguments become operands.  Results have `types`, those of `op` if left out."""
        operands: dict[tuple[Value, ViewAttr], int] = {}

        def convert(value: Any) -> Any:
            if isinstance(value, (Value, Seen)):
                seen, view = self.strided(value if isinstance(value, Seen) else self.seen[value], op.loc)
                return operand_attr(operands.setdefault((seen.buffer, view), len(operands)))
            if isinstance(value, (list, tuple)):
                return tuple([convert(item) for item in value])
            return value

        written = tuple([convert(value) for value in args])
        named = {name: convert(value) for name, value in (kwargs or {}).items()}
        types = [value.type for value in op.results] if types is None else types  # type: ignore[misc]
        layouts = [layout_of(type, exact=True) for type in types]
        call = ExternOp(
            [buffer for buffer, _ in operands],
            self.name("e"),
            _callee(callee),
            tuple([view for _, view in operands]),
            written,
            named,
            tuple([layout.view for layout in layouts]),
            result_types=[layout.buffer_type for layout in layouts],
            loc=op.loc,
        )
        self.block.append(call)
        return [Seen(value, layout.seen_offset, type) for value, layout, type in zip(call.results, layouts, types)]


Rule = Callable[[Lowering, Any], list[Seen]]


def truth(number: Num) -> Num:
    """i1: the number differs from zero (NaN does)."""
    return number if number.type is i1 else number.differs(0)
