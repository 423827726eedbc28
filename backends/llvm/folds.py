"""Folding a tile along an axis: whole rows with each other, or the lanes of each row.

A fold along rows is a tree of pairs.  A fold along lanes is LLVM's reduction, whose order is free (`reassoc`, which stands on sums alone).
"""

from __future__ import annotations

from types import MappingProxyType

from lect.backends.llvm.arithmetic import Lane, scalar_row, unsigned
from lect.backends.llvm.values import Tile, suffix, vector
from lect.backends.llvm.writer import Writer, literal
from lect.ir.types import i1

COMBINE = MappingProxyType({"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "or", "all": "and", "xor": "xor"})


def combine(lane: Lane, kind: str, left: str, right: str) -> str:
    """One step of a fold."""
    return scalar_row(lane, COMBINE[kind], [left, right])


def fold_rows(writer: Writer, tile: Tile, kind: str) -> Tile:
    """One row of all rows, in pairs."""
    lane = Lane(writer, tile.element, tile.width)
    rows = list(tile.rows)
    while len(rows) > 1:
        pairs = [combine(lane, kind, a, b) for a, b in zip(rows[::2], rows[1::2])]
        rows = pairs + rows[len(rows) & ~1 :]
    return tile._replace(rows=rows)


def fold_lanes(writer: Writer, tile: Tile, kind: str) -> Tile:
    """A scalar for each row."""
    if not tile.width:
        return tile
    return Tile([_reduction(writer, tile, kind, row) for row in tile.rows], 0, tile.element)


def _reduction(writer: Writer, tile: Tile, kind: str, row: str) -> str:
    element, name = tile.element, suffix(tile.element, tile.width)
    scalar = tile.type.rpartition(" ")[2][:-1]
    if element.is_float and kind in ("sum", "prod"):
        start = literal(element, -0.0 if kind == "sum" else 1.0)
        operation = "fadd" if kind == "sum" else "fmul"
        return writer.emit(f"call reassoc {scalar} @llvm.vector.reduce.{operation}.{name}({scalar} {start}, {tile.type} {row})")
    if element.is_float:
        operation = "fmaximum" if kind == "max" else "fminimum"
    elif element is i1:
        operation = {"any": "or", "max": "or", "all": "and", "min": "and", "xor": "xor"}[kind]
    else:
        sign = "u" if unsigned(element) else "s"
        operation = {"sum": "add", "prod": "mul", "max": sign + "max", "min": sign + "min", "any": "or", "all": "and", "xor": "xor"}[kind]
    return writer.emit(f"call {scalar} @llvm.vector.reduce.{operation}.{name}({tile.type} {row})")


# ---- position of the extreme -----------------------------------------------------------------------------------------


def better(lane: Lane, kind: str, value: str, index: str, other: str, other_index: str, index_type: str) -> str:
    """A mask: (value, index) comes before (other, other_index), by NaN first, then by the value, then by the lower index."""
    predicate = "gt" if kind == "max" else "lt"
    wins, equal = scalar_row(lane, predicate, [value, other]), scalar_row(lane, "eq", [value, other])
    if lane.element.is_float:
        is_nan, other_is_nan = lane.compare("uno", value, value), lane.compare("uno", other, other)
        no_nan_there = lane.logic("xor", other_is_nan, "splat (i1 true)" if lane.width else "true")
        wins = lane.logic("or", wins, lane.logic("and", is_nan, no_nan_there))
        equal = lane.logic("or", equal, lane.logic("and", is_nan, other_is_nan))
    lower = lane.writer.emit(f"icmp slt {index_type} {index}, {other_index}")
    return lane.logic("or", wins, lane.logic("and", equal, lower))


def fold_index(writer: Writer, values: Tile, indices: Tile, kind: str, along_lanes: bool) -> Tile:
    """The index of the extreme value, along the lanes or along the rows."""
    pairs = list(zip(values.rows, indices.rows))
    if not along_lanes:
        while len(pairs) > 1:
            merged = [_better_pair(writer, values, indices, kind, a, b) for a, b in zip(pairs[::2], pairs[1::2])]
            pairs = merged + pairs[len(pairs) & ~1 :]
        return indices._replace(rows=[pairs[0][1]])
    out = [_fold_index_lanes(writer, values, indices, kind, pair) for pair in pairs]
    return Tile(out, 0, indices.element)


def _better_pair(writer: Writer, values: Tile, indices: Tile, kind: str, left: tuple[str, str], right: tuple[str, str]) -> tuple[str, str]:
    lane = Lane(writer, values.element, values.width)
    take = better(lane, kind, *left, *right, indices.type)
    index = writer.emit(f"select {lane.mask} {take}, {indices.type} {left[1]}, {indices.type} {right[1]}")
    return lane.select(take, left[0], right[0]), index


def _fold_index_lanes(writer: Writer, values: Tile, indices: Tile, kind: str, pair: tuple[str, str]) -> str:
    """Halve the vectors until one lane is left."""
    width = values.width
    while width > 1:
        half = width // 2
        low, high = vector("i32", range(half)), vector("i32", range(half, width))
        halves = []
        for lanes in (low, high):
            parts = []
            for tile, row in zip((values, indices), pair):
                type = f"<{width} x {tile.type.rpartition(' ')[2]}"
                parts.append(writer.emit(f"shufflevector {type} {row}, {type} poison, <{half} x i32> {lanes}"))
            halves.append((parts[0], parts[1]))
        narrow_values, narrow_indices = values._replace(width=half), indices._replace(width=half)
        pair = _better_pair(writer, narrow_values, narrow_indices, kind, *halves)
        width = half
    return writer.emit(f"extractelement <1 x {indices.type.rpartition(' ')[2]} {pair[1]}, i64 0") if width == 1 else pair[1]


# ---- scans -----------------------------------------------------------------------------------------------------------


def scan_rows(writer: Writer, tile: Tile, kind: str) -> Tile:
    """Each row folded with those before it."""
    lane = Lane(writer, tile.element, tile.width)
    rows = [tile.rows[0]]
    for row in tile.rows[1:]:
        rows.append(combine(lane, kind, rows[-1], row))
    return tile._replace(rows=rows)


def scan_lanes(writer: Writer, tile: Tile, kind: str, neutral: float | int) -> Tile:
    """Each lane folded with those before it, in log2(width) steps of shifting and combining."""
    lane = Lane(writer, tile.element, tile.width)
    filler = lane.constant(neutral)
    rows = []
    for row in tile.rows:
        distance, current = 1, row
        while distance < tile.width:
            lanes = vector("i32", [i - distance if i >= distance else tile.width for i in range(tile.width)])
            shifted = writer.emit(f"shufflevector {tile.type} {current}, {tile.type} {filler}, <{tile.width} x i32> {lanes}")
            current = combine(lane, kind, shifted, current)
            distance *= 2
        rows.append(current)
    return tile._replace(rows=rows)
