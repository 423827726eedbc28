"""Matrix products on a GPU: when a kernel of our own is faster than the library with a kernel behind it, and the nest that becomes such a kernel.

The library multiplies faster, but what stands behind a product then reads the result from memory again.  Where memory is what a product waits for, short sums
above all, one kernel that does both moves a third less.  Convolutions with a filter of one point, in tensors whose channels lie next to each other, are
products too.  Products of halves are summed in f32 by tile instructions, and rounded once, as the library's are.  Those of f32 are computed in f32, by fused
multiplications and additions, which is what the library does or, where the program allows it shorter factors, more exact; so they are small ones, for which
a launch counts more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lect.dialects.loop.attributes import OperandAttr, SpaceAttr, ViewAttr
from lect.dialects.loop.building import NestBuilder
from lect.dialects.loop.ops import ExternOp, NestOp
from lect.dialects.loop.types import BufferType
from lect.ir import Value
from lect.ir.facts import facts_of
from lect.ir.index_map import contiguous_strides, strided
from lect.ir.symbolic import Size
from lect.ir.types import f32
from lect.passes.loop.nests import nbytes, readers
from lect.passes.loop.product_tiles import LONG_SUM, PROCESSOR_RATE, library_nanoseconds, nanoseconds, programs_of, tiles_of
from lect.passes.loop.products import Product, broadcast, offset_of

OWN = "own tiles"  # how the reason of such a nest begins
CONVOLUTION = "aten.convolution.default"
HALVES = ("f16", "bf16")
SUM_NS = 1500.0  # of a kernel that adds up parts, where it joins nothing
LONGEST_SUM = 512  # of f32, which are added up one after the other
WIDTH = 8  # halves of 16 bytes
PARTS = (2, 4, 8)
PART_TILE = 64  # rows and columns of a tile
SHORTEST_PART = 128  # steps that are worth a program
LEAST = 16  # rows, columns and steps of a sum that tiles are worth


class Rates(Protocol):
    """What the choice weighs: teraflops of the library and of tiles, nanoseconds of a launch, and by how many percent tiles must be faster."""

    @property
    def gpu_library_rate(self) -> int: ...
    @property
    def gpu_own_rate(self) -> int: ...
    @property
    def gpu_launch_ns(self) -> int: ...
    @property
    def own_margin(self) -> int: ...


def is_tile_product(nest: NestOp) -> bool:
    """Whether a nest is a product by tiles of our own, maybe with what joined it: its reasons say so."""
    return any(reason.startswith(OWN) for reason in nest.chosen.split("; "))


def is_joining_product(value: Value) -> bool:
    """Whether a buffer is the result of a product by tiles, with one reader, which it joins."""
    return isinstance(value.owner, NestOp) and is_tile_product(value.owner) and len(readers(value)) == 1


@dataclass(frozen=True)
class TileProduct:
    """`batch` products of (rows, inner) and (inner, columns) matrices, each with its view as a tensor of three dims, and what is added.

    `added_late` says that the product is rounded before something is added, as eager does for the bias of a convolution.
    """

    op: ExternOp
    sizes: tuple[Size, Size, Size, Size]
    a: tuple[Value, ViewAttr]
    b: tuple[Value, ViewAttr]
    added: tuple[Value, ViewAttr] | None
    added_late: bool = False

    @classmethod
    def of(cls, op: ExternOp) -> TileProduct | None:
        """What a library call multiplies, if tiles can."""
        found = _pointwise_convolution(op) if op.callee.leaf == CONVOLUTION else _product(op)
        return found if found is not None and found.is_fit() else None

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return int(self.op.results[0].type.element.bytes)  # type: ignore[attr-defined]

    def is_fit(self) -> bool:
        """Whether the matrices lie so that 16 bytes are read at once, and are large enough for tiles."""
        facts = facts_of(self.op)
        _, rows, columns, inner = self.sizes
        along = [inner if view.strides[-1] == 1 else rows if view.strides[-2] == 1 else 1 for _, view in (self.a,)]  # type: ignore[index]
        along += [columns if view.strides[-1] == 1 else inner if view.strides[-2] == 1 else 1 for _, view in (self.b,)]  # type: ignore[index]
        steps = [stride for _, view in (self.a, self.b) for stride in (*(view.strides or ()), view.offset) if stride != 1]
        large = min([facts.hint(size) for size in (rows, columns, inner)]) >= LEAST
        short = self.size == 2 or (type(inner) is int and inner <= LONGEST_SUM)
        return large and short and all(facts.divisible(size, WIDTH) for size in (*along, *steps))

    def refusal(self) -> str:
        """Why tiles would not do, however fast they are; empty when they would."""
        result = self.op.results[0]
        users = readers(result)
        if len(users) != 1 or not isinstance(users[0], NestOp) or users[0].reduced or users[0].space.points != result.type.numel:  # type: ignore[attr-defined]
            return "library: no kernel behind it could take the product in"
        if any(is_joining_product(value) for value in users[0].inputs):
            return "library: another product joins the kernel behind it, and two have no room in registers"
        return ""

    def parts_are_faster(self, rates: Rates, target: Mapping[str, Any]) -> tuple[int, str]:
        """In how many parts sums are best added up where that is faster than anything else, and why; else 1."""
        processors = int(target["processors"])
        parts = self.best_parts(processors)
        if parts == 1:
            return 1, ""
        shape = self._hints()
        own, library = self._time_of_parts(parts, processors) + SUM_NS, library_nanoseconds(*shape, processors)
        if own * (100 + rates.own_margin) >= min(library, self._time_of_parts(1, processors)) * 100:
            return 1, ""
        return parts, f"{OWN}: {own / 1000:.1f} us in {parts} parts against {library / 1000:.1f} us of the library"

    def is_faster(self, rates: Rates, target: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether tiles are, and why."""
        refusal, result = self.refusal(), self.op.results[0]
        shape = batch, rows, columns, inner = self._hints()
        processors = int(target["processors"])
        tiles = tiles_of(*shape, processors, self.size)
        small = programs_of(tiles, batch, rows, columns) <= processors
        if refusal and (not small or self.size > 2 or self.joins_product()):
            return False, refusal
        rate = int(target["copy_rate"]) / 1000  # bytes a nanosecond
        operations = 2 * batch * rows * columns * inner
        factors, written = self.size * batch * (rows * inner + inner * columns), self.size * batch * rows * columns
        library = max(operations / rates.gpu_library_rate / 1000, (factors + written) / rate)
        own = max(operations / rates.gpu_own_rate / 1000, factors / rate)
        if small or self.size > 2:
            own = max(own, nanoseconds(tiles, *shape, processors, self.size))
            library = max(library, library_nanoseconds(*shape, processors))
        if refusal:
            own += written / rate
        else:
            reader: Any = readers(result)[0]
            behind = sum(nbytes(value) for value in (*reader.inputs, *reader.results) if value is not result)
            own = max(own, max(operations / rates.gpu_own_rate / 1000, (factors + behind) / rate))
            library += rates.gpu_launch_ns + (written + behind) / rate
        texts = [f"{time / 1000:.1f} us" for time in (own, library)]
        more = "" if refusal else " and a kernel behind it"
        if own * (100 + rates.own_margin) < library * 100:
            return True, f"{OWN}: {texts[0]} against {texts[1]} of the library{more}"
        return False, f"library: {texts[1]} with a kernel behind it, against {texts[0]} of tiles" if not refusal else refusal

    def joins_product(self) -> bool:
        """Whether a nest that reads the result is, or will be, that of another product by tiles."""
        nests = [user for user in readers(self.op.results[0]) if isinstance(user, NestOp)]
        return any(is_joining_product(value) for nest in nests for value in nest.inputs)

    def best_parts(self, processors: int) -> int:
        """In how many parts sums are best added up, by programs of their own: those of long sums where tiles leave most processors idle, if a nest reads the
        result, which then adds the parts."""
        users, inner = readers(self.op.results[0]), self.sizes[3]
        if len(users) != 1 or not isinstance(users[0], NestOp) or type(inner) is not int or inner < LONG_SUM or self.size > 2:
            return 1
        return min([1, *self.parts(processors)], key=lambda parts: self._time_of_parts(parts, processors))

    def _time_of_parts(self, parts: int, processors: int) -> float:
        """Nanoseconds of the sums of so many parts, with what is written and read again for that."""
        batch, rows, columns, inner = self._hints()
        shape = (batch * parts, rows, columns, inner // parts)
        moved = 0 if parts == 1 else 2 * 4 * parts * batch * rows * columns
        return nanoseconds(tiles_of(*shape, processors, self.size), *shape, processors, self.size) + moved / PROCESSOR_RATE / processors

    def _hints(self) -> tuple[int, int, int, int]:
        batch, rows, columns, inner = [facts_of(self.op).hint(size) for size in self.sizes]
        return batch, rows, columns, inner

    def parts(self, processors: int = 1 << 30) -> list[int]:
        """In how many parts sums may be added up: those that divide them into enough steps for tiles, where there are fewer tiles than processors."""
        batch, rows, columns, inner = self.sizes
        if not all(type(size) is int for size in self.sizes):
            return []
        tiles = batch * -(-rows // PART_TILE) * -(-columns // PART_TILE)
        return [parts for parts in PARTS if inner % (parts * WIDTH) == 0 and inner // parts >= SHORTEST_PART and tiles * parts <= 2 * processors]

    def nest(self, realize: str, chosen: str) -> NestOp:
        """The sum of products over the last dim, rounded as eager rounds it."""
        space = SpaceAttr(self.sizes)
        builder = NestBuilder(space, self.op.loc)
        batch, row, column, inner = space.dims
        total = self._sum(builder, (batch, row, column, inner), 3)
        return self._rounded(builder, total, (batch, row, column), self.op.sym_name, {"realize": (realize,), "chosen": chosen})

    def nests_of_parts(self, parts: int, realize: str, chosen: str) -> list[NestOp]:
        """The same by two nests: sums of parts in f32, by programs of their own, and the sums of these, which are rounded.

        The second folds nothing, so that it joins what reads it.
        """
        batches, rows, columns, length = self.sizes
        each = length // parts
        space = SpaceAttr((batches, parts, rows, columns, each))
        builder = NestBuilder(space, self.op.loc)
        batch, part, row, column, inner = space.dims
        kept = (batches, parts, rows, columns)
        place = strided((batch, part, row, column), contiguous_strides(kept))
        builder.store(self._sum(builder, (batch, row, column, part * each + inner), 4), BufferType(kept, f32), place)
        first = builder.finish(f"{self.op.sym_name}.part", {"realize": ("sums of parts",), "chosen": chosen})
        space = SpaceAttr((batches, rows, columns))
        builder = NestBuilder(space, self.op.loc)
        batch, row, column = space.dims
        strides = contiguous_strides(kept)
        loads = [builder.load(first.results[0], strided((batch, row, column), (strides[0], *strides[2:]), number * strides[1])) for number in range(parts)]
        total = loads[0]
        for load in loads[1:]:
            total = builder.op("add", total, load)
        return [first, self._rounded(builder, total, (batch, row, column), self.op.sym_name, {"realize": (realize,)})]

    def _sum(self, builder: NestBuilder, indices: tuple[Any, Any, Any, Any], over: int) -> Value:
        """The sum of products over a dim, at a batch, a row, a column and a step."""
        batch, row, column, inner = indices
        left = builder.cast(builder.load(self.a[0], offset_of(self.a[1], (batch, row, inner))), f32)
        right = builder.cast(builder.load(self.b[0], offset_of(self.b[1], (batch, inner, column))), f32)
        return builder.reduce("sum", builder.op("mul", left, right), (over,), contract=True)

    def _rounded(self, builder: NestBuilder, total: Value, indices: tuple[Any, Any, Any], name: str, attributes: dict[str, Any]) -> NestOp:
        """The nest that stores a sum, with what is added."""
        batch, row, column = indices
        half = self.op.results[0].type.element  # type: ignore[attr-defined]
        if self.added is not None:
            if self.added_late:
                total = builder.cast(builder.cast(total, half), f32)
            total = builder.op("add", total, builder.cast(builder.load(self.added[0], broadcast(self.added[1], (batch, row, column))), f32))
        place = strided((batch, row, column), contiguous_strides(self.sizes[:3]))
        builder.store(builder.cast(total, half), self.op.results[0].type, place)  # type: ignore[arg-type]
        return builder.finish(name, attributes)


def _product(op: ExternOp) -> TileProduct | None:
    product = Product.of(op, (*HALVES, "f32"))
    if product is None:
        return None

    def wide(number: int) -> tuple[Value, ViewAttr]:
        view = op.views[number]
        missing = 3 - len(view.sizes)
        return op.operands[number], ViewAttr((1,) * missing + view.sizes, (0,) * missing + tuple(view.strides or ()), view.offset)

    added = None if product.added is None else wide(product.added)
    return TileProduct(op, (product.batch, product.rows, product.columns, product.inner), wide(product.a), wide(product.b), added)


def _pointwise_convolution(op: ExternOp) -> TileProduct | None:
    """A convolution with a filter of one point, over tensors whose channels lie next to each other."""
    if len(op.args) != 9 or op.kwargs or not all(isinstance(value, OperandAttr) for value in op.args[:2]):
        return None
    stride, padding, dilation, transposed, _, groups = op.args[3:]
    image, filters, result = op.views[op.args[0].number], op.views[op.args[1].number], op.result_views[0]
    sizes = (*image.sizes, *filters.sizes, *result.sizes, *(image.strides or ()), *(filters.strides or ()), *(result.strides or ()))
    if not all(type(size) is int for size in sizes) or transposed or groups != 1 or len(image.sizes) < 3:
        return None
    count, width = len(image.sizes) - 2, filters.sizes[0]
    once = tuple(stride) == (1,) * count and not any(padding) and filters.sizes[2:] == (1,) * count
    element = op.results[0].type.element  # type: ignore[attr-defined]
    halves = str(element) in HALVES and all(value.type.element is element for value in op.operands)  # type: ignore[attr-defined]
    if not once or not halves or not (_channels_last(image) and _channels_last(result)) or result.offset or op.results[0].type.numel != result.span:  # type: ignore[attr-defined]
        return None
    rows = 1
    for size in (image.sizes[0], *image.sizes[2:]):
        rows *= size
    inner = image.sizes[1]
    across: Any = filters.strides
    a = op.operands[op.args[0].number], ViewAttr((1, rows, inner), (0, inner, 1), image.offset)
    b = op.operands[op.args[1].number], ViewAttr((1, inner, width), (0, across[1], across[0]), filters.offset)
    added = None
    if isinstance(op.args[2], OperandAttr):
        view = op.views[op.args[2].number]
        added = op.operands[op.args[2].number], ViewAttr((1, 1, width), (0, 0, *(view.strides or ())), view.offset)
    elif op.args[2] is not None:
        return None
    return TileProduct(op, (1, rows, width, inner), a, b, added, True)


def _channels_last(view: ViewAttr) -> bool:
    """Whether a tensor (N, C, ...) lies with its channels innermost and without gaps; dims of size 1 may have any stride."""
    order = [0, *range(2, len(view.sizes)), 1]
    wanted = contiguous_strides(tuple([view.sizes[k] for k in order]))
    return all(view.sizes[k] == 1 or (view.strides or ())[k] == stride for k, stride in zip(order, wanted))

