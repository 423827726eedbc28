"""Tiles of a matrix product on a GPU, and how long the product takes by them where they are few.

Large results are cut into squares, which read the least.  A small result leaves processors idle with squares, and then it is not the memory of the device that
decides but how fast one processor gets its tiles: a few bytes are on their way at once, and each takes a while.  So the tiles become smaller, until all
processors have one, although each row and column is then read more often, from the second cache.
"""

from __future__ import annotations

from typing import NamedTuple

SIDE, DEPTH, FEWEST_DOT = 128, 64, 16  # of a tile: its sides, the steps of its sums, and the least that hardware multiplies
SIDES = (128, 64, 32, 16)
DEEP = 128  # steps of sums where rows and columns are few
SMALL = 2048  # elements of a tile that leaves room to read more steps ahead

# Measured on an H200, in nanoseconds and bytes and operations a nanosecond of one processor.
START_NS = 2000.0  # from the start of a program to its first products, and from its last to the end of the kernel
DEEP_NS, FEWER_ROWS_NS = 200.0, 220.0  # the least for 128 steps of a sum, with the 64 rows that the fastest instructions multiply, and with fewer
PROCESSOR_RATE = 90.0  # what comes from the second cache
HALF_RATE, FLOAT_RATE = 3400.0, 130.0  # by tile instructions on halves, and by those of numbers on f32
LIBRARY_NS, LIBRARY_SPLIT_NS = 4000.0, 2500.0  # the least that the library takes, and adding up the parts into which it cuts long sums of small results
LONG_SUM = 2048


class Tiles(NamedTuple):
    """Rows and columns of the result that a program computes, and the steps in which it adds up."""

    down: int
    across: int
    depth: int


def tiles_of(batch: int, rows: int, columns: int, inner: int, processors: int, size: int = 2) -> Tiles:
    """The tiles for elements of `size` bytes: squares, fewer columns or rows where there are few, and smaller ones where the squares leave processors idle."""
    across = min(max(cover(columns), FEWEST_DOT), SIDE)
    down = min(max(cover(rows), FEWEST_DOT), SIDE)
    depth = min(max(cover(inner), FEWEST_DOT), DEPTH)
    while down > SIDE // 2 and programs_of(Tiles(down, across, depth), batch, rows, columns) < processors:
        down //= 2
    usual = Tiles(down, across, depth)
    if programs_of(usual, batch, rows, columns) * 2 > processors:
        return usual
    smaller = [
        Tiles(a, b, min(max(cover(inner), FEWEST_DOT), DEEP if a + b <= SIDE else DEPTH))
        for a in SIDES
        if a <= down
        for b in SIDES
        if b <= across
    ]
    return min([usual, *smaller], key=lambda tiles: (nanoseconds(tiles, batch, rows, columns, inner, processors, size), tiles.down * tiles.across))


def programs_of(tiles: Tiles, batch: int, rows: int, columns: int) -> int:
    """Programs that compute a result by these tiles."""
    return batch * -(-rows // tiles.down) * -(-columns // tiles.across)


def nanoseconds(tiles: Tiles, batch: int, rows: int, columns: int, inner: int, processors: int, size: int = 2) -> float:
    """What a product takes by these tiles where the memory of the device does not count."""
    in_turn = -(-programs_of(tiles, batch, rows, columns) // processors)
    reading = (tiles.down + tiles.across) * tiles.depth * size / PROCESSOR_RATE
    multiplying = 2 * tiles.down * tiles.across * tiles.depth / (HALF_RATE if size == 2 else FLOAT_RATE)
    least = (DEEP_NS if tiles.down % 64 == 0 else FEWER_ROWS_NS) * tiles.depth / DEEP
    step = max(reading, multiplying, least)
    return START_NS + in_turn * -(-inner // tiles.depth) * step


def library_nanoseconds(batch: int, rows: int, columns: int, inner: int, processors: int) -> float:
    """What the library takes for a product at least."""
    few = programs_of(Tiles(SIDE // 2, SIDE // 2, DEPTH), batch, rows, columns) * 4 < processors
    return LIBRARY_NS + (LIBRARY_SPLIT_NS if few and inner >= LONG_SUM else 0.0)


def cover(size: int) -> int:
    """The least power of two that is not less than a size."""
    return 1 << max(size - 1, 0).bit_length()
