"""Writing instructions: names, labels, and the few shapes that a tile can be brought into."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lect.backends.llvm.masked import Masked
from lect.backends.llvm.values import IndexTile, Tile, register_type, suffix, typed, vector
from lect.backends.llvm.vecmath import name as function_name
from lect.ir import Location, ScalarType
from lect.ir.types import bf16, f16, f32, i1, index


def literal(element: ScalarType, value: Any) -> str:
    """A constant of an element type as LLVM writes it; floats by their bits, rounded to the type."""
    if element.kind == "bool":
        return "true" if value else "false"
    if not element.is_float:
        return str(int(value))
    if element is f16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', _half_range(value)))[0]:04X}"
    single = round_to_single(value) if element.bits < 64 else float(value)
    if element is bf16:
        return str(_bf16_bits(single))
    return f"0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X}"


def round_to_single(value: float) -> float:
    """The nearest f32; infinite beyond its range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _half_range(value: float) -> float:
    try:
        struct.pack("<e", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _bf16_bits(value: float) -> int:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return int(bits >> 16 | 0x40)
    return int((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)


class Writer:
    """The instructions of one function.  `mathematics` and `masked_functions` collect what it calls.

    `symbols` are the values of its size symbols, `hoisted` the instructions that run once, in front of all programs, `mask_bytes` the sizes of the elements
    that the processor reads and writes under masks.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        self.mathematics: set[tuple[str, str, int]] = set()
        self.masked_functions: set[Masked] = set()
        self.place = ""
        self.symbols: list[str] = []
        self.hoisted: list[str] = []
        self.mask_bytes: frozenset[int] = frozenset()
        self._names = 0
        self._labels = 0

    def name(self) -> str:
        """A new value name."""
        self._names += 1
        return f"%v{self._names}"

    def emit(self, text: str) -> str:
        """Append an instruction that gives a value, and return the value's name."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Append an instruction without a value."""
        self.lines.append("  " + text)

    def new_label(self, wish: str) -> str:
        """A label that is free."""
        self._labels += 1
        return f"{wish}{self._labels}"

    @contextmanager
    def in_front(self) -> Iterator[None]:
        """Instructions that are written here run once."""
        saved, self.lines = self.lines, self.hoisted
        yield
        self.lines = saved

    def start_block(self, label: str) -> None:
        """Begin a basic block; the one before must have ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block and begin block `label`."""
        self.line(f"br label %{label}")
        self.start_block(label)

    def source(self, loc: Location) -> None:
        """A comment that names the line of the user's program, where it is another than before."""
        place = f"{loc.file}:{loc.line}" if loc.known else ""
        if place and place != self.place:
            self.lines.append("  ; " + " ".join(place.split()))
        self.place = place or self.place

    # ---- shapes ------------------------------------------------------------------------------------------------------

    def splat(self, text: str, type: str, width: int) -> str:
        """A vector with the same scalar in every lane."""
        if not text.startswith("%"):
            return f"splat ({type} {text})"
        first = self.emit(f"insertelement <{width} x {type}> poison, {type} {text}, i64 0")
        return self.emit(f"shufflevector <{width} x {type}> {first}, <{width} x {type}> poison, <{width} x i32> zeroinitializer")

    def widen(self, tile: Tile, width: int) -> Tile:
        """The tile with vectors of `width` lanes; lanes it did not have are zero."""
        if tile.width == width or not width:
            return tile
        type = register_type(tile.element)
        if not tile.width:
            return tile._replace(rows=[self.splat(row, type, width) for row in tile.rows], width=width)
        lanes = vector("i32", [min(lane, tile.width) for lane in range(width)])
        rows = [self.emit(f"shufflevector {tile.type} {row}, {tile.type} zeroinitializer, <{width} x i32> {lanes}") for row in tile.rows]
        return tile._replace(rows=rows, width=width)

    def as_tile(self, value: Tile | IndexTile, element: ScalarType = index) -> Tile:
        """An index as the vector or scalar of its values, in i64 or in a type that is known to hold them."""
        if isinstance(value, Tile):
            return value
        rows, type = [], register_type(element)
        for row in range(max(value.rows, 1) if value.row_step else 1):
            base = self.add_step(value.base, row, value.row_step)
            if type != "i64" and base.startswith("%"):
                base = self.emit(f"trunc i64 {base} to {type}")
            if value.lane_step and value.width:
                steps = self._lane_steps(value.lane_step, value.width, type)
                base = self.emit(f"add <{value.width} x {type}> {self.splat(base, type, value.width)}, {steps}")
            rows.append(base)
        return Tile(rows, value.width if value.lane_step else 0, element)

    def _lane_steps(self, step: int | str, width: int, type: str) -> str:
        """0, step, 2 * step, ... as a vector."""
        if not isinstance(step, str):
            return vector(type, [lane * step for lane in range(width)])
        if type != "i64":
            step = self.emit(f"trunc i64 {step} to {type}")
        return self.emit(f"mul <{width} x {type}> {self.splat(step, type, width)}, {vector(type, range(width))}")

    def below(self, count: str, width: int) -> str:
        """The mask of the first lanes, as many as `count` (i64) says."""
        narrow = self.emit(f"trunc i64 {count} to i32")
        return self.emit(f"icmp slt <{width} x i32> {vector('i32', range(width))}, {self.splat(narrow, 'i32', width)}")

    # ---- arithmetic on scalar offsets --------------------------------------------------------------------------------

    def add_step(self, text: str, count: int, step: int | str) -> str:
        """`text + count * step` of i64."""
        scaled = self.scaled_step(step, count)
        return self.add_indices(text, scaled) if isinstance(scaled, str) else self.add_index(text, scaled)

    def scaled_step(self, step: int | str, count: int) -> int | str:
        """`count * step` of i64."""
        if not isinstance(step, str):
            return step * count
        return 0 if count == 0 else step if count == 1 else self.emit(f"mul i64 {step}, {count}")

    def sum_of_steps(self, left: int | str, right: int | str) -> int | str:
        """The sum of two steps."""
        if not isinstance(left, str) and not isinstance(right, str):
            return left + right
        return right if left == 0 else left if right == 0 else self.add_indices(str(left), str(right))

    def multiply_indices(self, left: str, right: str) -> str:
        """`left * right` of i64."""
        if not right.startswith("%"):
            return self.scale_index(left, int(right))
        return self.scale_index(right, int(left)) if not left.startswith("%") else self.emit(f"mul i64 {left}, {right}")

    def add_index(self, text: str, constant: int) -> str:
        """`text + constant` of i64."""
        if not text.startswith("%"):
            return str(int(text) + constant)
        return self.emit(f"add i64 {text}, {constant}") if constant else text

    def add_indices(self, left: str, right: str) -> str:
        """`left + right` of i64."""
        if not right.startswith("%"):
            return self.add_index(left, int(right))
        if not left.startswith("%"):
            return self.add_index(right, int(left))
        return self.emit(f"add i64 {left}, {right}")

    def scale_index(self, text: str, factor: int) -> str:
        """`text * factor` of i64."""
        if not text.startswith("%"):
            return str(int(text) * factor)
        if factor == 0:
            return "0"
        return text if factor == 1 else self.emit(f"mul i64 {text}, {factor}")

    # ---- calls -------------------------------------------------------------------------------------------------------

    def intrinsic(self, operation: str, element: ScalarType, width: int, *operands: str, flags: str = "", suffixed: str | None = None) -> str:
        """Call `llvm.<operation>` on operands of one type, which is also the result's."""
        type = typed(register_type(element), width)
        args = ", ".join([f"{type} {operand}" for operand in operands])
        return self.emit(f"call {flags}{type} @llvm.{operation}.{suffixed or suffix(element, width)}({args})")

    def function(self, operation: str, element: str, width: int, operand_type: str, result_type: str, *operands: str) -> str:
        """Call a function of the mathematics library at this width."""
        self.mathematics.add((operation, element, width or 1))
        args = ", ".join([f"{typed(operand_type, width)} {operand}" for operand in operands])
        return self.emit(f"call {typed(result_type, width)} {function_name(operation, element, width or 1)}({args})")

    def masked(self, kind: str, type: str, width: int, live: int) -> str:
        """The name of a function for masked accesses."""
        function = Masked(kind, type, width, live)
        self.masked_functions.add(function)
        return function.name

    # ---- half floats -------------------------------------------------------------------------------------------------

    def widen_half(self, tile: Tile) -> Tile:
        """A tile of 16-bit floats as f32; other tiles unchanged."""
        if not tile.element.is_half:
            return tile
        stored = register_type(tile.element)
        rows = [self.function("widen", tile.element.spelling, tile.width, stored, "float", row) for row in tile.rows]
        return Tile(rows, tile.width, f32)

    def narrow_half(self, tile: Tile, element: ScalarType) -> Tile:
        """A tile of f32 rounded to a 16-bit float."""
        stored = register_type(element)
        rows = [self.function("narrow", element.spelling, tile.width, "float", stored, row) for row in tile.rows]
        return Tile(rows, tile.width, element)

    def truth(self, tile: Tile) -> Tile:
        """A mask as a plain tile of i1."""
        return Tile(tile.rows, tile.width, i1)
