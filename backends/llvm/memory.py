"""Loads and stores of tiles.

How an address moves along the lanes decides the instruction: not at all is a scalar access, by 1 is a vector access, anything else goes lane
by lane, unless the rows move by 1, then blocks are transposed in registers.  At the end of an axis exactly the live lanes are touched, by
accesses of that many elements.  Accesses under masks that are only known at run time are calls of small functions (`masked`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lect.backends.llvm.addresses import Index
from lect.backends.llvm.transpose import transpose
from lect.backends.llvm.values import IndexTile, Tile, memory_suffix, memory_type, power_of_two, register_type, typed, vector
from lect.backends.llvm.writer import Writer
from lect.ir import ScalarType
from lect.ir.types import i1


class Masks(NamedTuple):
    """All masks of one access: how many lanes are `live` (None: all), and what is known at run time only, as one tile or None.

    `prefix` is how many leading lanes that one tile lets pass, where that is all it says.
    """

    live: int | None
    dynamic: Tile | None
    prefix: str | None = None


def combine_masks(writer: Writer, tiles: Sequence[Tile]) -> Masks:
    """The conjunction."""
    live: int | None = None
    dynamic: Tile | None = None
    for tile in tiles:
        if tile.always:
            continue
        if tile.live is not None:
            live = tile.live if live is None else min(live, tile.live)
        else:
            dynamic = tile if dynamic is None else both(writer, dynamic, tile)
    return Masks(live, dynamic, dynamic.prefix if dynamic is not None and live is None else None)


def both(writer: Writer, left: Tile, right: Tile) -> Tile:
    """`and` of two masks."""
    width, count = max(left.width, right.width), max(len(left.rows), len(right.rows))
    left, right = writer.widen(left, width), writer.widen(right, width)
    rows = [writer.emit(f"and {typed('i1', width)} {left.row(number)}, {right.row(number)}") for number in range(count)]
    return Tile(rows, width, i1)


def live_mask(live: int, width: int) -> str:
    """The constant mask of the first `live` lanes."""
    return vector("i1", [str(lane < live).lower() for lane in range(width)])


class Access:
    """Memory of one type seen from `pointer` at an offset."""

    def __init__(self, writer: Writer, pointer: str, element: ScalarType, offset: Index, masks: Masks) -> None:
        self.writer = writer
        self.pointer = pointer
        self.element = element
        self.offset = offset
        self.live = masks.live
        self.dynamic = masks.dynamic
        self.prefix = masks.prefix
        self.stored = memory_type(element)
        self.register = register_type(element)

    # ---- addresses ---------------------------------------------------------------------------------------------------

    def at(self, base: str) -> str:
        """The address of the element at a scalar offset."""
        return self.writer.emit(f"getelementptr {self.stored}, ptr {self.pointer}, i64 {base}")

    def lanes_at(self, offset: IndexTile, count: int) -> Iterator[str]:
        """The addresses of the first lanes; steps that are known only at run time are taken one after another, as multiples of them would fill registers."""
        step, address = offset.lane_step, self.at(offset.base)
        for lane in range(count):
            if lane and isinstance(step, str):
                address = self.writer.emit(f"getelementptr {self.stored}, ptr {address}, i64 {step}")
            elif lane:
                address = self.at(self.writer.add_step(offset.base, lane, step))
            yield address

    def row_base(self, offset: IndexTile, row: int) -> str:
        """The offset of the first lane of a row."""
        return self.writer.add_step(offset.base, row, offset.row_step)

    def row_count(self, *tiles: Tile | None) -> int:
        """Rows over which the address or one of the tiles varies."""
        counts = [len(tile.rows) for tile in tiles if tile is not None]
        offset = self.offset
        if isinstance(offset, Tile):
            counts.append(len(offset.rows))
        elif offset.row_step:
            counts.append(max(offset.rows, 1))
        return max(counts, default=1)

    def offsets(self, row: int, width: int) -> str:
        """The offsets of one row as a vector; empty where they are linear and no run-time mask asks for them."""
        writer, offset = self.writer, self.offset
        if isinstance(offset, IndexTile):
            if self.dynamic is None:
                return ""
            offset = writer.as_tile(offset)
        return writer.widen(offset, width).row(row)

    def lane_offset(self, offsets: str, row: int, lane: int, width: int) -> str:
        """The offset of one lane."""
        if isinstance(self.offset, IndexTile):
            return self.writer.add_step(self.row_base(self.offset, row), lane, self.offset.lane_step)
        return self.writer.emit(f"extractelement <{width} x i64> {offsets}, i64 {lane}")

    def width(self, *tiles: Tile | None) -> int:
        """Lanes over which the access runs, 0 for one element a row."""
        widths = [tile.width for tile in tiles if tile is not None]
        offset = self.offset
        widths.append(offset.width if isinstance(offset, Tile) or offset.lane_step else 0)
        return max(widths)

    # ---- conversions between memory and register ---------------------------------------------------------------------

    def from_memory(self, text: str, width: int) -> str:
        """What was loaded, as a register holds it."""
        if self.element is not i1:
            return text
        zero = "zeroinitializer" if width else "0"
        return self.writer.emit(f"icmp ne {typed('i8', width)} {text}, {zero}")

    def to_memory(self, text: str, width: int) -> str:
        """What a register holds, as it is stored."""
        if self.element is not i1:
            return text
        return self.writer.emit(f"zext {typed('i1', width)} {text} to {typed('i8', width)}")

    # ---- reading -----------------------------------------------------------------------------------------------------

    def load(self) -> Tile:
        """The elements; zero where a mask is false."""
        offset, count = self.offset, self.row_count(self.dynamic)
        width = self.width()
        if not width:
            return self._load_scalars(count)
        if isinstance(offset, IndexTile) and offset.lane_step == 1:
            rows = [self._load_vector(self.row_base(offset, row), width, row) for row in range(count)]
        elif isinstance(offset, IndexTile) and offset.row_step == 1 and count > 1 and self.dynamic is None:
            rows = self._load_transposed(offset, count, width)
        else:
            rows = [self._gather(row, width) for row in range(count)]
        return Tile(rows, width, self.element)

    def _load_scalars(self, count: int) -> Tile:
        assert isinstance(self.offset, IndexTile) or not self.offset.width
        writer, rows = self.writer, []
        for row in range(count):
            address = self.at(self.row_base(self.offset, row) if isinstance(self.offset, IndexTile) else self.offset.row(row))
            if self.dynamic is not None:
                any_lane = self._any_lane(row)
                address = writer.emit(f"select i1 {any_lane}, ptr {address}, ptr @lect.zero")
            text = writer.emit(f"load {self.stored}, ptr {address}, align {self.element.bytes}")
            rows.append(self.from_memory(text, 0))
        tile = Tile(rows, 0, self.element)
        if self.dynamic is None or not self.dynamic.width:
            return tile
        wide = writer.widen(tile, self.dynamic.width)
        zeros = "zeroinitializer"
        chosen = [writer.emit(f"select {self.dynamic.type} {self.dynamic.row(row)}, {wide.type} {wide.row(row)}, {wide.type} {zeros}") for row in range(count)]
        return wide._replace(rows=chosen)

    def _any_lane(self, row: int) -> str:
        assert self.dynamic is not None
        mask = self.dynamic.row(row)
        if not self.dynamic.width:
            return mask
        return self.writer.emit(f"call i1 @llvm.vector.reduce.or.v{self.dynamic.width}i1({self.dynamic.type} {mask})")

    def _load_vector(self, base: str, width: int, row: int) -> str:
        address = self.at(base)
        live = width if self.live is None else min(self.live, width)
        if self.dynamic is None:
            return self._load_live(address, live, width)
        mask = self.writer.widen(self.dynamic, width).row(row)
        type = typed(self.stored, width)
        if self.prefix is not None and self.dynamic.width == width:
            return self.from_memory(self._load_prefix(address, mask, width), width)
        function = self.writer.masked("load", self.stored, width, live)
        return self.from_memory(self.writer.emit(f"call {type} {function}(ptr {address}, <{width} x i1> {mask})"), width)

    def _load_prefix(self, address: str, mask: str, width: int) -> str:
        """The first lanes of a vector, as many as a count says, the others zero."""
        writer, type = self.writer, typed(self.stored, width)
        if self.element.bytes in writer.mask_bytes:
            name = f"@llvm.masked.load.v{width}{memory_suffix(self.stored)}.p0"
            return writer.emit(f"call {type} {name}(ptr {address}, i32 {self.element.bytes}, <{width} x i1> {mask}, {type} zeroinitializer)")
        function = writer.masked("prefix_load", self.stored, width, width)
        return writer.emit(f"call {type} {function}(ptr {address}, i64 {self.prefix})")

    def _store_prefix(self, address: str, mask: str, text: str, width: int) -> None:
        """The first lanes of a vector, as many as a count says, to neighbouring elements."""
        writer, type = self.writer, typed(self.stored, width)
        if self.element.bytes in writer.mask_bytes:
            name = f"@llvm.masked.store.v{width}{memory_suffix(self.stored)}.p0"
            writer.line(f"call void {name}({type} {text}, ptr {address}, i32 {self.element.bytes}, <{width} x i1> {mask})")
            return
        function = writer.masked("prefix_store", self.stored, width, width)
        writer.line(f"call void {function}(ptr {address}, i64 {self.prefix}, {type} {text})")

    def _load_live(self, address: str, live: int, width: int) -> str:
        """`live` neighbouring elements as the first lanes of a vector, the others zero."""
        writer = self.writer
        text = writer.emit(f"load <{live} x {self.stored}>, ptr {address}, align {self.element.bytes}")
        if live < width:
            lanes = vector("i32", [min(lane, live) for lane in range(width)])
            text = writer.emit(f"shufflevector <{live} x {self.stored}> {text}, <{live} x {self.stored}> zeroinitializer, <{width} x i32> {lanes}")
        return self.from_memory(text, width)

    def _load_transposed(self, offset: IndexTile, count: int, width: int) -> list[str]:
        """Lane by lane a vector along the rows, then a transposition; lanes that are not live are zero."""
        live = width if self.live is None else self.live
        height = power_of_two(count)
        lines = []
        for address in self.lanes_at(offset, live):
            lines.append(self._load_live(address, count, height))
        lines += ["zeroinitializer"] * (width - live)
        return transpose(self.writer, lines, height, self.register)[:count]

    def _gather(self, row: int, width: int) -> str:
        """Lane by lane; lanes that are not live are zero."""
        writer, type = self.writer, typed(self.stored, width)
        live, offsets = width if self.live is None else min(self.live, width), self.offsets(row, width)
        if self.dynamic is not None:
            function = writer.masked("gather", self.stored, width, live)
            mask = writer.widen(self.dynamic, width).row(row)
            text = writer.emit(f"call {type} {function}(ptr {self.pointer}, <{width} x i64> {offsets}, <{width} x i1> {mask})")
            return self.from_memory(text, width)
        text = "zeroinitializer"
        for lane in range(live):
            address = self.at(self.lane_offset(offsets, row, lane, width))
            element = writer.emit(f"load {self.stored}, ptr {address}, align {self.element.bytes}")
            text = writer.emit(f"insertelement {type} {text}, {self.stored} {element}, i64 {lane}")
        return self.from_memory(text, width)

    # ---- writing -----------------------------------------------------------------------------------------------------

    def store(self, value: Tile) -> None:
        """Write the value's lanes where the masks let them."""
        offset, count = self.offset, self.row_count(value, self.dynamic)
        width = self.width()
        if not width:
            self._store_scalars(value, count)
            return
        value = self.writer.widen(value, width)
        if isinstance(offset, IndexTile) and offset.lane_step == 1:
            for row in range(count):
                self._store_vector(self.row_base(offset, row), value.row(row), width, row)
        elif isinstance(offset, IndexTile) and offset.row_step == 1 and count > 1 and self.dynamic is None:
            self._store_transposed(offset, value, count, width)
        else:
            for row in range(count):
                self._scatter(value.row(row), row, width)

    def _store_scalars(self, value: Tile, count: int) -> None:
        writer = self.writer
        for row in range(count):
            address = self.at(self.row_base(self.offset, row) if isinstance(self.offset, IndexTile) else self.offset.row(row))
            text = self.to_memory(value.row(row), 0)
            if self.dynamic is None:
                writer.line(f"store {self.stored} {text}, ptr {address}, align {self.element.bytes}")
                continue
            write, after = writer.new_label("write"), writer.new_label("after")
            writer.line(f"br i1 {self._any_lane(row)}, label %{write}, label %{after}")
            writer.start_block(write)
            writer.line(f"store {self.stored} {text}, ptr {address}, align {self.element.bytes}")
            writer.jump(after)

    def _store_vector(self, base: str, text: str, width: int, row: int) -> None:
        address, writer = self.at(base), self.writer
        text = self.to_memory(text, width)
        live = width if self.live is None else min(self.live, width)
        if self.dynamic is None:
            self._store_live(address, text, live, width)
            return
        mask = writer.widen(self.dynamic, width).row(row)
        if self.prefix is not None and self.dynamic.width == width:
            self._store_prefix(address, mask, text, width)
            return
        function = writer.masked("store", self.stored, width, live)
        writer.line(f"call void {function}(ptr {address}, <{width} x i1> {mask}, {typed(self.stored, width)} {text})")

    def _store_live(self, address: str, text: str, live: int, width: int) -> None:
        """The first `live` lanes of a vector to neighbouring elements."""
        if live < width:
            type = typed(self.stored, width)
            lanes = vector("i32", range(live))
            text = self.writer.emit(f"shufflevector {type} {text}, {type} poison, <{live} x i32> {lanes}")
        self.writer.line(f"store <{live} x {self.stored}> {text}, ptr {address}, align {self.element.bytes}")

    def _store_transposed(self, offset: IndexTile, value: Tile, count: int, width: int) -> None:
        height = power_of_two(count)
        lines = [value.row(row) for row in range(count)] + ["zeroinitializer"] * (height - count)
        columns = transpose(self.writer, lines, width, self.register)
        for address, column in zip(self.lanes_at(offset, width if self.live is None else self.live), columns):
            self._store_live(address, self.to_memory(column, height), count, height)

    def _scatter(self, text: str, row: int, width: int) -> None:
        writer, type = self.writer, typed(self.stored, width)
        live, offsets = width if self.live is None else min(self.live, width), self.offsets(row, width)
        text = self.to_memory(text, width)
        if self.dynamic is not None:
            function = writer.masked("scatter", self.stored, width, live)
            mask = writer.widen(self.dynamic, width).row(row)
            writer.line(f"call void {function}(ptr {self.pointer}, <{width} x i64> {offsets}, <{width} x i1> {mask}, {type} {text})")
            return
        for lane in range(live):
            address = self.at(self.lane_offset(offsets, row, lane, width))
            element = writer.emit(f"extractelement {type} {text}, i64 {lane}")
            writer.line(f"store {self.stored} {element}, ptr {address}, align {self.element.bytes}")

    # ---- other -------------------------------------------------------------------------------------------------------

    def prefetch(self, line_bytes: int) -> None:
        """Ask for each cache line that the lanes cover."""
        offset = self.offset
        assert isinstance(offset, IndexTile), "only linear addresses are fetched ahead"
        width = max(offset.width, 1) if offset.lane_step == 1 else 1
        for row in range(self.row_count()):
            address = self.at(self.row_base(offset, row))
            for position in range(0, width * self.element.bytes, line_bytes):
                line = self.writer.emit(f"getelementptr i8, ptr {address}, i64 {position}") if position else address
                self.writer.line(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")

    def atomic_add(self, value: Tile) -> None:
        """One read-modify-write for each lane, to a cell of its own where a mask is false."""
        writer, count = self.writer, self.row_count(value, self.dynamic)
        width = self.width(value, self.dynamic)
        value = writer.widen(value, width)
        opcode = "fadd" if self.element.is_float else "add"
        for row in range(count):
            for lane in range(width if self.live is None else self.live) if width else [None]:
                self._atomic_lane(opcode, value, row, lane, width)

    def _atomic_lane(self, opcode: str, value: Tile, row: int, lane: int | None, width: int) -> None:
        writer, text = self.writer, value.row(row)
        if lane is None:
            offset = writer.as_tile(self.offset).row(row)
            mask = self.dynamic.row(row) if self.dynamic is not None else None
        else:
            text = writer.emit(f"extractelement {value.type} {text}, i64 {lane}")
            offsets = writer.widen(writer.as_tile(self.offset), width)
            offset = writer.emit(f"extractelement <{width} x i64> {offsets.row(row)}, i64 {lane}")
            mask = None
            if self.dynamic is not None:
                masks = writer.widen(self.dynamic, width)
                mask = writer.emit(f"extractelement <{width} x i1> {masks.row(row)}, i64 {lane}")
        address = self.at(offset)
        if mask is not None:
            address = writer.emit(f"select i1 {mask}, ptr {address}, ptr %sink")
        writer.line(f"%{writer.new_label('old')} = atomicrmw {opcode} ptr {address}, {self.register} {text} monotonic, align {self.element.bytes}")
