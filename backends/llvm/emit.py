"""kernel.func to one LLVM function, `void @name(ptr args, i64 lo, i64 hi)`: the programs lo to hi - 1 of the grid.

The vector axis becomes LLVM vectors, a second axis with several lanes is written out as rows, loop axes become loops with their last, shorter
step written out behind them.  Where the grid does not divide an axis, the body is written twice, for full blocks and for the last one, so that
every mask of an axis is known here and costs nothing in the common case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

from lect.backends.llvm import folds
from lect.backends.llvm.addresses import Index, as_offset, evaluate
from lect.backends.llvm.arithmetic import scalar_operation
from lect.backends.llvm.casts import cast
from lect.backends.llvm.comparisons import compared_lanes
from lect.backends.llvm.memory import Access, combine_masks, live_mask
from lect.backends.llvm.programs import write_programs
from lect.backends.llvm.random_words import random_words
from lect.backends.llvm.tails import either, is_last_shorter, last_block, loop_from, loop_over
from lect.backends.llvm.values import TRUE, IndexTile, Tile, memory_type, power_of_two
from lect.backends.llvm.writer import Writer, literal
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.attributes import Axis
from lect.dialects.kernel.scalar import join
from lect.dialects.kernel.types import axes_of, element_of
from lect.dialects.scalars import neutral
from lect.ir import Block, LectError, Operation, Type, Value
from lect.ir.facts import Facts
from lect.ir.index_map import IndexMap
from lect.ir.symbolic import Size, as_size
from lect.ir.types import i1, i32, index

CACHE_LINE = 64
MOST_LANES = 8192


def global_name(symbol: str) -> str:
    """A symbol as LLVM writes it, between quotes where it is no plain name."""
    if symbol.isascii() and symbol.replace(".", "a").replace("_", "a").replace("$", "a").isalnum() and not symbol[0].isdigit():
        return "@" + symbol
    return '@"' + "".join([chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in symbol.encode()]) + '"'


class Extent(NamedTuple):
    """Lanes of an axis in the code being written: `live` of them count, or as many as the i64 `rest` says; vectors have `width` lanes."""

    live: int
    width: int
    rest: str | None = None

    @property
    def full(self) -> bool:
        """Whether every lane counts."""
        return self.live == self.width and self.rest is None


class FunctionEmitter:
    """Writes one function.  `tiles` holds what each value of the program is in LLVM, `numbers` the program's number along each dim of the grid."""

    def __init__(self, func: kernel.FuncOp, symbol: str) -> None:
        self.func = func
        self.symbol = symbol
        self.writer = Writer()
        self.tiles: dict[Value, Any] = {}
        self.axes = {axis.name: axis for axis in func.axes.axes}
        self.blocks = dict(func.blocks.sizes)
        self.vector, self.rows = self._roles()
        self.extents: dict[str, Extent] = {}
        self.facts = Facts.of(func.symbols)
        self.sizes: dict[Size, str] = {}
        self.starts: dict[str, str] = {}  # axes of the grid of which one row of a block is written: which
        self.singles: set[str] = set()  # axes of which single rows are written
        self.before, self.following, self.finish = "entry", "next", "done"  # labels: in front of all programs, behind one, behind all
        self.heap: list[str] = []
        self.numbers: list[str] = []
        self.scratches: list[str] = []
        self.scratch_names: dict[Operation, str] = {}

    def _roles(self) -> tuple[str | None, str | None]:
        several = [name for name, size in self.func.blocks.sizes if size > 1]
        vector = self.func.vector if self.func.vector in several else None
        rows = [name for name in several if name != vector]
        if len(rows) > 1:
            raise LectError(f"CPU code has one vector axis and one axis of rows, but {', '.join(several)} have several lanes", op=self.func)
        lanes = prod(self.blocks[name] for name in several)
        if lanes > MOST_LANES:  # LLVM splits wide vectors into registers, at a cost that grows faster than their width
            raise LectError(f"a tile of {lanes} lanes is more than the {MOST_LANES} that CPU code is made of", op=self.func)
        return vector, rows[0] if rows else None

    # ---- the function ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The function's text."""
        writer = self.writer
        args = self.func.body.args
        header = [f"define void {global_name(self.symbol)}(ptr %args, i64 %lo, i64 %hi) #0 {{", "entry:"]
        for number, value in enumerate(args):
            header.append(f"  %slot{number} = getelementptr ptr, ptr %args, i64 {number}")
            if value.type is index:
                header.append(f"  %s{number} = load i64, ptr %slot{number}")
                writer.symbols.append(f"%s{number}")
                self.tiles[value] = IndexTile(f"%s{number}")
                continue
            header.append(f"  %p{number} = load ptr, ptr %slot{number}")
            self.tiles[value] = f"%p{number}"
        if writer.symbols:
            self.before, self.finish = "begin", "end"
        self._start_extents()
        first = write_programs(self)
        start = ["  %some = icmp slt i64 %lo, %hi", f"  br i1 %some, label %{'begin' if writer.symbols else first}, label %done"]
        if writer.symbols:  # what is computed of sizes, and memory that depends on them, once for all programs
            start += ["begin:", *writer.hoisted, f"  br label %{first}"]
            writer.start_block("end")
            for name in self.heap:
                writer.line(f"call void @free(ptr {name})")
            writer.line("br label %done")
        writer.start_block("done")
        writer.line("ret void")
        return "\n".join([*header, *self.scratches, *start, *writer.lines, "}"]) + "\n"

    def size(self, size: Size) -> str:
        """A size as i64, computed once for all programs."""
        if type(size) is int:
            return str(size)
        found = self.sizes.get(size)
        if found is None:
            with self.writer.in_front():
                found = self.sizes[size] = evaluate(self.writer, self.func, IndexMap(0, (size,)), []).base  # type: ignore[union-attr]
        return found

    def _start_extents(self) -> None:
        """Blocks are full at first, and axes that are taken whole have the lanes that they have."""
        for name, axis in self.axes.items():
            block = self.blocks[name]
            self.extents[name] = self._extent(name, axis.extent) if axis.role == "whole" else Extent(block, block)

    def split_axes(self) -> list[Axis]:
        """The axes of the grid whose last block is not full."""
        return [axis for name, axis in self.axes.items() if axis.role == "grid" and not self.facts.divisible(axis.extent, self.blocks[name])]

    def body(self) -> None:
        """The text of one program, which ends in a branch to `following`."""
        saved = dict(self.tiles)
        self._block(self.func.body)
        self.tiles = saved
        self.writer.line(f"br label %{self.following}")

    def version(self, split: list[Axis], write: Callable[[], None]) -> None:
        """What `write` writes, once for each combination of full and last blocks of these axes."""
        if not split:
            write()
            return
        axis, rest = split[0], split[1:]
        if type(axis.extent) is int and axis.extent < self.blocks[axis.name]:
            self.last_version(axis, rest, write)
            return
        number, whole = self.numbers[self.grid_dim(axis)], self.size(as_size(axis.extent // self.blocks[axis.name]))
        full, part = self.writer.new_label("full"), self.writer.new_label("last")
        condition = self.writer.emit(f"icmp slt i64 {number}, {whole}")
        self.writer.line(f"br i1 {condition}, label %{full}, label %{part}")
        self.writer.start_block(full)
        self.version(rest, write)
        self.writer.start_block(part)
        self.last_version(axis, rest, write)

    def last_version(self, axis: Axis, rest: list[Axis], write: Callable[[], None]) -> None:
        """What `write` writes for the last block of an axis, and each combination of blocks of the others."""
        if type(axis.extent) is not int:
            last_block(self, axis, lambda: self.version(rest, write))
            return
        with self._extent_of(axis.name, self._extent(axis.name, axis.extent % self.blocks[axis.name])):
            self.version(rest, write)

    def _extent(self, name: str, live: int) -> Extent:
        return Extent(live, min(power_of_two(live), self.blocks[name]))

    def grid_dim(self, axis: Axis) -> int:
        """The dim of the grid whose number picks the block of an axis."""
        for op in self.func.body.parent.walk():  # type: ignore[union-attr]
            if isinstance(op, kernel.LanesOp) and op.axis == axis.name and op.base is not None:
                if isinstance(op.base.op, kernel.ProgramIdOp):
                    return op.base.op.dim
                raise LectError(f"lanes of the grid axis {axis.name} must start from a program id for CPU code", op=op)
        raise LectError(f"no lanes of the grid axis {axis.name} are used", op=self.func)

    # ---- operations --------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block:
            if op.results or not isinstance(op, (kernel.YieldOp, kernel.ReturnOp)):
                self.writer.source(op.loc)
            handler = HANDLERS.get(op.name)
            if handler is not None:
                handler(self, op)
            else:
                found = compared_lanes(self, op)
                self.tiles[op.result] = found or scalar_operation(self.writer, op, [self.tile(value) for value in op.operands])

    def tile(self, value: Value) -> Tile:
        """The value as a tile (an index becomes its numbers)."""
        found = self.tiles[value]
        return self.writer.as_tile(found)

    def index(self, value: Value) -> Index:
        """The value as an index."""
        return as_offset(self.writer, self.tiles[value])

    def shape(self, type: Type) -> tuple[int, int]:
        """Lanes (0 for none) and rows of a tile of this type."""
        axes = axes_of(type)
        width = self.extents[self.vector].width if self.vector in axes else 0  # type: ignore[index]
        rows = self.extents[self.rows].live if self.rows in axes else 1  # type: ignore[index]
        return width, rows

    def shaped(self, tile: Tile, type: Type) -> Tile:
        """The tile with exactly the lanes and rows of a type."""
        width, rows = self.shape(type)
        tile = self.writer.widen(tile, width)
        return tile._replace(rows=[tile.row(row) for row in range(rows)], live=None, always=False)

    def program_id(self, op: kernel.ProgramIdOp) -> None:
        self.tiles[op.result] = IndexTile(self.numbers[op.dim])

    def lanes(self, op: kernel.LanesOp) -> None:
        axis, extent = self.axes[op.axis], self.extents[op.axis]
        base = self.index(op.base).base if op.base is not None else "0"  # type: ignore[union-attr]
        if axis.role == "grid":
            base = self.writer.scale_index(base, self.blocks[op.axis])
            if op.axis in self.starts:
                base = self.writer.add_indices(base, self.starts[op.axis])
        if op.axis == self.vector:
            self.tiles[op.result] = IndexTile(base, lane_step=1, width=extent.width)
        elif op.axis == self.rows:
            self.tiles[op.result] = IndexTile(base, row_step=1, rows=extent.live)
        else:
            self.tiles[op.result] = IndexTile(base)

    def bound(self, op: kernel.BoundOp) -> None:
        """A constant: the axis' last block has a known number of live lanes, and rows that do not count are not written at all."""
        extent = self.extents[op.axis]
        if op.axis != self.vector or extent.full and extent.width == self.blocks[op.axis]:
            self.tiles[op.result] = TRUE
            return
        if extent.rest is not None:
            self.tiles[op.result] = Tile((self.writer.below(extent.rest, extent.width),), extent.width, i1, prefix=extent.rest)
            return
        self.tiles[op.result] = Tile((live_mask(extent.live, extent.width),), extent.width, i1, live=extent.live)

    def index_map(self, op: kernel.IndexOp) -> None:
        self.tiles[op.result] = evaluate(self.writer, op, op.map, [self.index(value) for value in op.indices])

    def const(self, op: kernel.ConstOp) -> None:
        element = element_of(op.result.type)
        if element.kind == "index":
            self.tiles[op.result] = IndexTile(str(op.value))
        else:
            self.tiles[op.result] = Tile((literal(element, op.value),), 0, element)

    def cast(self, op: kernel.CastOp) -> None:
        element, found = element_of(op.result.type), self.tiles[op.value]
        if isinstance(found, IndexTile) and element is i32:
            self.tiles[op.result] = self.writer.as_tile(found, i32)
            return
        tile = self.tile(op.value)
        inner = op.value.op
        if isinstance(inner, kernel.CastOp) and tile.element.is_half and element.spelling == "f32" and element_of(inner.value.type) is element:
            self.tiles[op.result] = self._rounded(self.tile(inner.value), tile.element.spelling)
            return
        self.tiles[op.result] = cast(self.writer, tile, element)

    def _rounded(self, single: Tile, half: str) -> Tile:
        """f32 to a half and back, without leaving f32 registers."""
        rows = [self.writer.function("round", half, single.width, "float", "float", row) for row in single.rows]
        return single._replace(rows=rows)

    def select(self, op: kernel.SelectOp) -> None:
        condition, yes, no = [self.tile(value) for value in op.operands]
        if condition.always and not self._short(op):
            self.tiles[op.result] = yes
            return
        if condition.live is not None or condition.prefix is not None or condition.always:
            condition, yes, no = self._bounded(op, condition, yes, no)
        width = max(tile.width for tile in (condition, yes, no))
        count = max(len(tile.rows) for tile in (condition, yes, no))
        condition, yes, no = [self.writer.widen(tile, width) for tile in (condition, yes, no)]
        rows = [self.writer.emit(f"select {condition.type} {condition.row(row)}, {yes.type} {yes.row(row)}, {no.type} {no.row(row)}") for row in range(count)]
        self.tiles[op.result] = Tile(rows, width, yes.element)

    def _short(self, op: kernel.SelectOp) -> bool:
        """Whether the condition bounds an axis of rows of which some are not written out."""
        bound = op.condition.op
        return isinstance(bound, kernel.BoundOp) and bound.axis == self.rows and self.extents[bound.axis].live < self.blocks[bound.axis]

    def _bounded(self, op: kernel.SelectOp, condition: Tile, yes: Tile, no: Tile) -> tuple[Tile, Tile, Tile]:
        """Operands brought to the whole block of the bounded axis, so that what is outside of it is the third operand and not missing."""
        if not condition.always:
            width = self.blocks[self.vector] if self.vector is not None else 0
            return self.writer.widen(condition, width), self.writer.widen(yes, width), no
        block = self.blocks[op.condition.op.axis]  # type: ignore[union-attr]
        live = self.extents[op.condition.op.axis].live  # type: ignore[union-attr]
        rows = [yes.row(row) for row in range(live)] + [self.writer.widen(no, yes.width).row(row) for row in range(live, block)]
        return TRUE, yes._replace(rows=rows), no

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _access(self, op: Any, masks: list[Value]) -> Access:
        offset = evaluate(self.writer, op, op.map, [self.index(value) for value in op.indices])
        combined = combine_masks(self.writer, [self.tile(mask) for mask in masks])
        return Access(self.writer, self.tiles[op.pointer], op.pointer.type.element, offset, combined)

    def load(self, op: kernel.LoadOp) -> None:
        self.tiles[op.result] = self._access(op, op.masks).load()

    def store(self, op: kernel.StoreOp) -> None:
        self._access(op, op.masks).store(self.tile(op.value))

    def atomic_add(self, op: kernel.AtomicAddOp) -> None:
        element = op.pointer.type.element
        if element.is_half or element is i1:
            raise LectError(f"there is no atomic addition of {element} in CPU code", op=op)
        self._sink()
        self._access(op, op.masks).atomic_add(self.tile(op.value))

    def _sink(self) -> None:
        line = "  %sink = alloca i64, align 8"
        if line not in self.scratches:
            self.scratches.append(line)

    def prefetch(self, op: kernel.PrefetchOp) -> None:
        self._access(op, []).prefetch(CACHE_LINE)

    def scratch(self, op: kernel.ScratchOp) -> None:
        """Memory on the stack, taken once for all programs, with room for the dead lanes of the last block."""
        type, name = op.result.type, self.scratch_names.get(op)
        if name is None:
            name = self.scratch_names[op] = f"%scratch{len(self.scratch_names)}"
            widest = max(self.blocks.values(), default=1)
            if not isinstance(type.count, int):
                self._heap(name, as_size((type.count + (widest - 1)) // widest * widest * type.element.bytes))
                self.tiles[op.result] = name
                return
            count = -(-max(type.count, 1) // widest) * widest
            self.scratches.append(f"  {name} = alloca [{count} x {memory_type(type.element)}], align 64")
        self.tiles[op.result] = name

    def _heap(self, name: str, size: Size) -> None:
        """Memory whose size is known only at run time, taken once for all programs."""
        self.heap.append(name)
        count = self.size(size)
        with self.writer.in_front():
            self.writer.line(f"{name} = call ptr @malloc(i64 {count})")

    def _scratch_access(self, op: Any) -> Access:
        combined = combine_masks(self.writer, [])
        return Access(self.writer, self.tiles[op.scratch], op.scratch.type.element, self.index(op.lanes), combined)

    def scratch_load(self, op: kernel.ScratchLoadOp) -> None:
        self.tiles[op.result] = self._scratch_access(op).load()

    def scratch_store(self, op: kernel.ScratchStoreOp) -> None:
        self._scratch_access(op).store(self.tile(op.value))

    # ---- folds -------------------------------------------------------------------------------------------------------

    def reduce(self, op: kernel.ReduceOp) -> None:
        tile = self.shaped(self.tile(op.tile), op.tile.type)
        half = tile.element if tile.element.is_half else None
        tile = self.writer.widen_half(tile)
        if op.axis == self.rows:
            tile = folds.fold_rows(self.writer, tile, op.kind)
        elif op.axis == self.vector:
            tile = folds.fold_lanes(self.writer, tile, op.kind)
        self.tiles[op.result] = self.writer.narrow_half(tile, half) if half else tile

    def reduce_index(self, op: kernel.ReduceIndexOp) -> None:
        both = join(op, [op.tile.type, op.indices.type], element_of(op.tile.type))
        values = self.writer.widen_half(self.shaped(self.tile(op.tile), both))
        indices = self.shaped(self.tile(op.indices), both)
        if op.axis in (self.rows, self.vector):
            indices = folds.fold_index(self.writer, values, indices, op.kind, op.axis == self.vector)
        self.tiles[op.result] = indices

    def scan(self, op: kernel.ScanOp) -> None:
        tile = self.shaped(self.tile(op.tile), op.tile.type)
        if tile.element.is_half:
            raise LectError(f"'kernel.scan' does not fold in {tile.element}, cast to f32 first", op=op)
        if op.axis == self.rows:
            tile = folds.scan_rows(self.writer, tile, op.kind)
        elif op.axis == self.vector:
            tile = folds.scan_lanes(self.writer, tile, op.kind, neutral(op.kind, tile.element))
        self.tiles[op.result] = tile

    def dot(self, op: kernel.DotOp) -> None:
        raise LectError("'kernel.dot' has no CPU code; matrix products are library calls", op=op)

    # ---- loops -------------------------------------------------------------------------------------------------------

    def for_loop(self, op: kernel.ForOp) -> None:
        """A loop over the full steps, then the last, shorter step."""
        axis, block = self.axes[op.axis], self.blocks[op.axis]
        step = op.step or block
        total = op.span if op.span is not None else as_size(axis.extent - op.begin)
        carried = [self.shaped(self.tile(value), value.type) for value in op.initial]
        if is_last_shorter(op, axis):
            self.tiles.update(zip(op.results, loop_from(self, op, step, carried)))
            return
        if type(total) is not int or type(op.begin) is not int:
            self.tiles.update(zip(op.results, loop_over(self, op, total, step, carried)))
            return
        main = total // step * step
        base = self.index(op.start).base if op.start is not None else str(op.begin)  # type: ignore[union-attr]
        if main == step and op.start is None:
            carried = self.step(op, base, carried)
        elif main:
            carried = self.loop(op, base, main, step, carried)
        if total > main:
            with self._extent_of(op.axis, self._extent(op.axis, total - main)):
                carried = self.step(op, str(op.begin + main), carried)
        for value, tile in zip(op.results, carried):
            self.tiles[value] = tile

    def loop(self, op: kernel.ForOp, base: str, span: int | str, step: int, carried: list[Tile]) -> list[Tile]:
        """The body again and again, over `span` indices; a span that is known only at run time may be 0."""
        writer = self.writer
        label, done = writer.new_label("loop"), writer.new_label("done")
        end = writer.add_indices(base, str(span))
        if isinstance(span, str):
            some = writer.emit(f"icmp sgt i64 {span}, 0")
        before = writer.block
        if isinstance(span, str):
            writer.line(f"br i1 {some}, label %{label}, label %{done}")
            writer.start_block(label)
        else:
            writer.jump(label)
        position = len(writer.lines)
        counter = writer.name()
        entering = [tile._replace(rows=[writer.name() for _ in tile.rows]) for tile in carried]
        leaving = self.step(op, counter, entering)
        following = writer.emit(f"add nsw i64 {counter}, {step}")
        phis = [f"  {counter} = phi i64 [ {base}, %{before} ], [ {following}, %{writer.block} ]"]
        for first, entered, left in zip(carried, entering, leaving):
            for a, name, b in zip(first.rows, entered.rows, left.rows):
                phis.append(f"  {name} = phi {first.type} [ {a}, %{before} ], [ {b}, %{writer.block} ]")
        writer.lines[position:position] = phis
        more = writer.emit(f"icmp slt i64 {following}, {end}")
        after = writer.block
        writer.line(f"br i1 {more}, label %{label}, label %{done}")
        writer.start_block(done)
        return either(self, carried, before, leaving, after) if isinstance(span, str) else leaving

    def step(self, op: kernel.ForOp, base: str, carried: list[Tile]) -> list[Tile]:
        """The body once, for the step that begins at `base`."""
        self.tiles[op.body.args[0]] = IndexTile(base)
        for value, tile in zip(op.body.args[1:], carried):
            self.tiles[value] = tile
        self._block(op.body)
        last = op.body.last
        assert last is not None
        with self._extent_of(op.axis, Extent(self.blocks[op.axis], self.blocks[op.axis])):
            return [self.shaped(self.tile(value), value.type) for value in last.operands]

    @contextmanager
    def _extent_of(self, axis: str, extent: Extent) -> Iterator[None]:
        saved = self.extents[axis]
        self.extents[axis] = extent
        yield
        self.extents[axis] = saved

    def part(self, axis: str, width: int, rest: str | None = None) -> AbstractContextManager[None]:
        """So many lanes of the vector axis are written, of which as many count as `rest` says."""
        return self._extent_of(axis, Extent(width, width, rest))

    @contextmanager
    def single(self, axis: str) -> Iterator[None]:
        """Single rows of an axis are written."""
        self.singles.add(axis)
        with self._extent_of(axis, Extent(1, 1)):
            yield
        self.singles.discard(axis)

    def nothing(self, op: Operation) -> None:
        """Ends of blocks are written by what owns the block."""


Handler = Callable[[FunctionEmitter, Any], None]
HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "kernel.program_id": FunctionEmitter.program_id,
        "kernel.lanes": FunctionEmitter.lanes,
        "kernel.bound": FunctionEmitter.bound,
        "kernel.index": FunctionEmitter.index_map,
        "kernel.const": FunctionEmitter.const,
        "kernel.cast": FunctionEmitter.cast,
        "kernel.select": FunctionEmitter.select,
        "kernel.load": FunctionEmitter.load,
        "kernel.store": FunctionEmitter.store,
        "kernel.atomic_add": FunctionEmitter.atomic_add,
        "kernel.prefetch": FunctionEmitter.prefetch,
        "kernel.scratch": FunctionEmitter.scratch,
        "kernel.scratch_load": FunctionEmitter.scratch_load,
        "kernel.scratch_store": FunctionEmitter.scratch_store,
        "kernel.reduce": FunctionEmitter.reduce,
        "kernel.reduce_index": FunctionEmitter.reduce_index,
        "kernel.scan": FunctionEmitter.scan,
        "kernel.dot": FunctionEmitter.dot,
        "kernel.philox32": random_words,
        "kernel.philox64": random_words,
        "kernel.for": FunctionEmitter.for_loop,
        "kernel.yield": FunctionEmitter.nothing,
        "kernel.return": FunctionEmitter.nothing,
    }
)
