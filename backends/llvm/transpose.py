"""Transposing a block of vectors in registers."""

from __future__ import annotations

from collections.abc import Sequence

from lect.backends.llvm.values import vector
from lect.backends.llvm.writer import Writer


def transpose(writer: Writer, lines: Sequence[str], width: int, type: str) -> list[str]:
    """`width` vectors of `len(lines)` lanes from `len(lines)` vectors of `width` lanes; both numbers are powers of two, "zeroinitializer" is allowed."""
    height = len(lines)
    size = min(height, width)
    columns: list[list[str]] = []
    for start in range(0, width, size):
        blocks = []
        for top in range(0, height, size):
            part = [_piece(writer, line, start, size, width, type) for line in lines[top : top + size]]
            blocks.append(_square(writer, part, type))
        columns += [[block[number] for block in blocks] for number in range(size)]
    return [_join(writer, parts, size, type) for parts in columns]


def _piece(writer: Writer, line: str, start: int, size: int, width: int, type: str) -> str:
    """Lanes `start` to `start + size` of a vector."""
    if size == width or line == "zeroinitializer":
        return line
    lanes = vector("i32", range(start, start + size))
    return writer.emit(f"shufflevector <{width} x {type}> {line}, <{width} x {type}> poison, <{size} x i32> {lanes}")


def _join(writer: Writer, parts: list[str], size: int, type: str) -> str:
    """One vector of several, end to end."""
    while len(parts) > 1:
        lanes = vector("i32", range(2 * size))
        pairs = zip(parts[::2], parts[1::2])
        parts = [writer.emit(f"shufflevector <{size} x {type}> {a}, <{size} x {type}> {b}, <{2 * size} x i32> {lanes}") for a, b in pairs]
        size *= 2
    return parts[0]


def _square(writer: Writer, rows: Sequence[str], type: str) -> list[str]:
    """log2(n) rounds of exchanging off-diagonal blocks of n vectors of n lanes."""
    size = len(rows)
    current = list(rows)
    distance = size // 2
    while distance:
        low = vector("i32", [lane if not lane & distance else size + lane - distance for lane in range(size)])
        high = vector("i32", [lane + distance if not lane & distance else size + lane for lane in range(size)])
        exchanged = []
        for number in range(size):
            first = number & ~distance
            lanes = high if number & distance else low
            pair = f"<{size} x {type}> {current[first]}, <{size} x {type}> {current[first + distance]}"
            exchanged.append(writer.emit(f"shufflevector {pair}, <{size} x i32> {lanes}"))
        current = exchanged
        distance //= 2
    return current
