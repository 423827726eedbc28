"""Building nests: a block under construction that never holds the same operation twice, and copying blocks into it.

`NestBuilder` numbers values: an operation equal to one that is there is found, not built again.  That is what shares loads and constants after two
blocks have been joined.  A load of what the same block stores at the same point gives the stored value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.ops import CastOp, ConstOp, IndexOp, LoadOp, NestOp, ReduceIndexOp, ReduceOp, ScanOp, SelectOp, StoreOp, UpdateOp
from lect.dialects.loop.scalar import BY_NAME, PREDICATES
from lect.dialects.loop.types import BufferType
from lect.ir import UNKNOWN, Block, Location, Operation, Region, ScalarType, Type, Value, literal_key
from lect.ir.index_map import dims_of, flat_map, indices_of, is_affine, substitute
from lect.ir.symbolic import Expr, Ranges, Size, dim
from lect.ir.types import i1, i64, index

INDEX_HINTS = tuple(f"d{k}" for k in range(64))


class NestBuilder:
    """A nest under construction over `space`; `finish` makes the operation."""

    def __init__(self, space: SpaceAttr, loc: Location = UNKNOWN) -> None:
        self.space = space
        self.rank = len(space.sizes)
        self.loc = loc
        self.block = Block([index] * self.rank, INDEX_HINTS[: self.rank])
        self.anchor: Operation | None = None
        self.inputs: dict[Value, None] = {}
        self.stored: dict[tuple[Value, Expr], Value] = {}
        self.result_types: list[Type] = []
        self._numbers: dict[Any, Value] = {}

    @classmethod
    def inside(cls, nest: NestOp) -> NestBuilder:
        """A builder that inserts into the block of an existing nest, before `anchor`; what stands there is made known by `meet`."""
        self = cls.__new__(cls)
        self.space, self.rank, self.loc = nest.space, len(nest.space.sizes), nest.loc
        self.block, self.anchor = nest.body, None
        self.inputs, self.stored, self.result_types, self._numbers = {}, {}, [], {}
        return self

    def meet(self, op: Operation) -> None:
        """Make an operation of the block known, or replace it by an equal one that was met before."""
        key = _key(op)
        found = self._numbers.setdefault(key, op.results[0])
        if found is not op.results[0]:
            op.replace([found])

    # ---- operations ----------------------------------------------------------------------------------------------

    def _find(self, key: Any, make: Callable[[], Operation]) -> Value:
        found = self._numbers.get(key)
        if found is None:
            made = self.block.insert_before(self.anchor, make())
            made.loc = self.loc
            found = self._numbers[key] = made.results[0]
        return found

    def op(self, name: str, *operands: Value) -> Value:
        """A scalar operation of the table by its name, with operands of one type."""
        result = i1 if name in PREDICATES else operands[0].type
        return self._find((name, operands), lambda: BY_NAME[name](*operands, result_types=(result,)))

    def const(self, value: Any, element: ScalarType) -> Value:
        """A number of type `element`; `value` is converted to it, or a size that is known only at run time."""
        if type(value) is Expr:
            return self.cast(self.index(value), element)
        value = float(value) if element.kind == "float" else bool(value) if element.kind == "bool" else int(value)
        return self._find(("const", literal_key(value), element), lambda: ConstOp(value, result_types=(element,)))

    def cast(self, value: Value, element: ScalarType) -> Value:
        """The number in another type, or itself when it has the type."""
        if value.type is element:
            return value
        return self._find(("cast", value, element), lambda: CastOp(value, result_types=(element,)))

    def select(self, condition: Value, when_true: Value, when_false: Value) -> Value:
        """A choice between two numbers of one type."""
        if when_true is when_false:
            return when_true
        key = ("select", condition, when_true, when_false)
        return self._find(key, lambda: SelectOp(condition, when_true, when_false, result_types=(when_true.type,)))

    def index(self, value: Expr) -> Value:
        """An index expression as a number."""
        return self._find(("index", value), lambda: IndexOp(flat_map(self.rank, value), result_types=(i64,)))

    def load(self, buffer: Value, offset: Expr, indices: Sequence[Value] = (), masks: Sequence[Value] = ()) -> Value:
        """An element of a buffer; of one that this block stores at `offset`, the number that was stored."""
        indices, masks = tuple(indices), tuple(dict.fromkeys(masks))
        if not indices:
            forwarded = self.stored.get((buffer, offset))
            if forwarded is not None:
                return self.masked(forwarded, masks)
        self.inputs[buffer] = None
        element = buffer.type.element  # type: ignore[attr-defined]
        key = ("load", buffer, offset, indices, masks)
        map = flat_map(self.rank, offset, len(indices))
        return self._find(key, lambda: LoadOp(buffer, indices, masks, map, result_types=(element,)))

    def masked(self, value: Value, masks: tuple[Value, ...]) -> Value:
        """`value` where all masks are true, else zero."""
        for mask in masks:
            value = self.select(mask, value, self.const(0, value.type))  # type: ignore[arg-type]
        return value

    def reduce(self, kind: str, value: Value, over: tuple[int, ...], contract: bool = False) -> Value:
        """Fold a value over dims; over no dim it is the value.  `contract`: it is a product that need not be rounded before it enters the sum."""
        if not over:
            return value
        return self._find(("reduce", kind, value, over, contract), lambda: ReduceOp(value, kind, over, contract, result_types=(value.type,)))

    def reduce_index(self, kind: str, value: Value, position: Value, over: tuple[int, ...]) -> Value:
        """The position of the greatest or least value."""
        if not over:
            return position
        key = ("reduce_index", kind, value, position, over)
        return self._find(key, lambda: ReduceIndexOp(value, position, kind, over, result_types=(i64,)))

    def scan(self, kind: str, value: Value, over: int) -> Value:
        """Fold a value with all before it along a dim."""
        return self._find(("scan", kind, value, over), lambda: ScanOp(value, kind, over, result_types=(value.type,)))

    def store(self, value: Value, result_type: BufferType, offset: Expr) -> int:
        """Write `value` to a new result; gives the result's number."""
        number = len(self.result_types)
        self.result_types.append(result_type)
        store = self.block.append(StoreOp(value, flat_map(self.rank, offset), number))
        store.loc = self.loc
        return number

    def update(
        self, kind: str, value: Value, base: Value, offset: Expr, order: tuple[int, ...], indices: Sequence[Value] = (), masks: Sequence[Value] = ()
    ) -> int:
        """Combine `value` with elements of a new result that begins with those of `base`; gives the result's number."""
        number = len(self.result_types)
        self.result_types.append(base.type)
        self.inputs[base] = None
        map = flat_map(self.rank, offset, len(indices))
        update = self.block.append(UpdateOp(value, base, list(indices), list(dict.fromkeys(masks)), kind, order, map, number))
        update.loc = self.loc
        return number

    def finish(self, name: str, attrs: Mapping[str, Any] | None = None) -> NestOp:
        """The nest; the builder must not be used any more."""
        return NestOp(list(self.inputs), name, self.space, regions=[Region([self.block])], result_types=self.result_types, loc=self.loc, **(attrs or {}))


def _key(op: Any) -> Any:
    """What makes two operations of one block equal; the same as the methods of `NestBuilder` use."""
    kind = type(op)
    if kind is LoadOp:
        return ("load", op.buffer, op.map.offset, tuple(op.indices), tuple(op.masks))
    if kind is ConstOp:
        return ("const", literal_key(op.value), op.results[0].type)
    if kind is CastOp:
        return ("cast", op.operands[0], op.results[0].type)
    if kind is IndexOp:
        return ("index", op.map.offset)
    if kind is ReduceOp:
        return ("reduce", op.kind, op.operands[0], op.over, op.contract)
    if kind is ReduceIndexOp:
        return ("reduce_index", op.kind, *op.operands, op.over)
    if kind is SelectOp:
        return ("select", *op.operands)
    if kind is ScanOp:
        return ("scan", op.kind, op.operands[0], op.over)
    return (op.name.partition(".")[2], tuple(op.operands))


# ---- copying ---------------------------------------------------------------------------------------------------------


class Inlining:
    """How the block of one nest enters another: what each of its dims is there, and what must hold at every load.

    The dims may depend on loaded numbers `indices`, whose sizes are in `ranges`; then the block has no loaded indices of its own.
    """

    def __init__(
        self,
        source: NestOp,
        target: NestBuilder,
        dims: Mapping[int, Expr],
        masks: tuple[Value, ...] = (),
        indices: tuple[Value, ...] = (),
        ranges: Ranges | None = None,
    ) -> None:
        self.source = source
        self.target = target
        self.dims = dims
        self.masks = masks
        self.indices = indices
        self.ranges = ranges or target.space.ranges
        sizes = source.space.sizes
        self.same = sizes == target.space.sizes and all(value is dim(k) or sizes[k] == 1 for k, value in dims.items())
        self.over: dict[tuple[int, ...], tuple[int, ...]] = {}

    def expr(self, value: Expr) -> Expr:
        """An index expression of the source in the dims of the target."""
        return value if self.same else substitute(value, self.dims, self.ranges)

    def reduced(self, over: tuple[int, ...]) -> tuple[int, ...]:
        """Dims of the target that stand for the folded dims of the source."""
        if self.same:
            return over
        found = self.over.get(over)
        if found is None:
            found = self.over[over] = tuple(sorted({k for d in over for k in dims_of(self.dims[d])}))
        return found


def copy_block(how: Inlining) -> dict[int, tuple[Value, Expr]]:
    """Put a copy of a nest's block into a builder, without its stores; gives (value, offset) of each result."""
    target = how.target
    values: dict[Value, Value] = {}
    out: dict[int, tuple[Value, Expr]] = {}
    saved = target.loc
    for inner in how.source.body:
        target.loc = inner.loc
        kind = type(inner)
        operands = tuple([values.get(value, value) for value in inner.operands])
        if kind is StoreOp:
            out[inner.to] = (operands[0], how.expr(inner.map.offset))
            continue
        values[inner.results[0]] = _copy(inner, kind, operands, how)
    target.loc = saved
    return out


def copy_operations(how: Inlining, operations: Iterable[Operation], known: Mapping[Value, Value] = MappingProxyType({})) -> dict[Value, Value]:
    """Put copies of some operations of a block, no stores, into a builder; gives what each value is there, `known` ones included."""
    values = dict(known)
    saved = how.target.loc
    for inner in operations:
        how.target.loc = inner.loc
        values[inner.results[0]] = _copy(inner, type(inner), tuple([values.get(value, value) for value in inner.operands]), how)
    how.target.loc = saved
    return values


def _copy(inner: Any, kind: type, operands: tuple[Value, ...], how: Inlining) -> Value:
    target = how.target
    if kind is LoadOp:
        count = len(inner.indices)
        indices, masks = operands[1 : 1 + count], operands[1 + count :] + how.masks
        offset = how.expr(inner.map.offset)
        return target.load(operands[0], offset, how.indices if how.indices and indices_of(offset) else indices, masks)
    if kind is ConstOp:
        return target.const(inner.value, inner.results[0].type)
    if kind is CastOp:
        return target.cast(operands[0], inner.results[0].type)
    if kind is SelectOp:
        return target.select(*operands)
    if kind is ReduceOp:
        return target.reduce(inner.kind, operands[0], how.reduced(inner.over), inner.contract)
    if kind is ReduceIndexOp:
        return target.reduce_index(inner.kind, operands[0], operands[1], how.reduced(inner.over))
    if kind is IndexOp:
        return target.index(how.expr(inner.map.offset))
    if kind in (ScanOp, UpdateOp):
        raise AssertionError("a scan or an update is bound to its dims and its nest is never joined with another")
    return target.op(inner.name.partition(".")[2], *operands)


def has_division(nest: NestOp) -> bool:
    """True when some map of the nest is not affine."""
    return any(not is_affine(inner.map.offset) for inner in nest.body if type(inner) in (LoadOp, StoreOp, UpdateOp, IndexOp))


def whole_range(sizes: Sequence[Size]) -> dict[int, Expr]:
    """Every dim as itself."""
    return {k: dim(k) for k in range(len(sizes))}
