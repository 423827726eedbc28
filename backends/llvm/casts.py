"""Conversions between element types, as eager's: floats round to nearest even, floats go to integers towards zero."""

from __future__ import annotations

from lect.backends.llvm.arithmetic import Lane, unsigned
from lect.backends.llvm.values import Tile, register_type, typed
from lect.backends.llvm.writer import Writer
from lect.ir import ScalarType
from lect.ir.types import f32, f64, i1


def cast(writer: Writer, tile: Tile, element: ScalarType) -> Tile:
    """The tile in another element type."""
    source = tile.element
    if source is element:
        return tile
    if source.is_half or element.is_half:
        return _through_single(writer, tile, element)
    lane = Lane(writer, source, tile.width)
    rows = [_convert(lane, row, source, element) for row in tile.rows]
    return Tile(rows, tile.width, element)


def _through_single(writer: Writer, tile: Tile, element: ScalarType) -> Tile:
    single = writer.widen_half(tile) if tile.element.is_half else cast(writer, tile, f32)
    return writer.narrow_half(single, element) if element.is_half else cast(writer, single, element)


def _convert(lane: Lane, row: str, source: ScalarType, element: ScalarType) -> str:
    target = typed(register_type(element), lane.width)
    if element is i1:
        return lane.compare("une" if source.is_float else "ne", row, lane.constant(0))
    if source.is_float and element.is_float:
        return lane.writer.emit(f"{'fpext' if element is f64 else 'fptrunc'} {lane.type} {row} to {target}")
    if source.is_float:
        return _to_integer(lane, row, element)
    if element.is_float:
        return lane.writer.emit(f"{'uitofp' if unsigned(source) else 'sitofp'} {lane.type} {row} to {target}")
    if element.bits < source.bits and source is not i1:
        return lane.writer.emit(f"trunc {lane.type} {row} to {target}")
    if element.bits == source.bits and source is not i1:
        return row
    return lane.writer.emit(f"{'zext' if unsigned(source) else 'sext'} {lane.type} {row} to {target}")


def _to_integer(lane: Lane, row: str, element: ScalarType) -> str:
    """Towards zero.  What does not fit is some value (frozen, as LLVM would else let it be any at each use); narrow types are cut from i32."""
    wide = "i64" if element.bits > 32 or element.spelling == "ui32" else "i32"
    type = typed(wide, lane.width)
    whole = lane.writer.emit(f"fptosi {lane.type} {row} to {type}")
    whole = lane.writer.emit(f"freeze {type} {whole}")
    if register_type(element) == wide:
        return whole
    return lane.writer.emit(f"trunc {type} {whole} to {typed(register_type(element), lane.width)}")
