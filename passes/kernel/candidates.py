"""Forms of one kernel that are worth measuring: what the estimate says first, then its neighbours.

A form is what a record of tuning may choose, `{"tiles": ..., "warps": 8}`.  Forms that cannot do well are left out before anything is compiled: those that
have too many or too few elements for a thread, more shared memory or accumulators than there are, and those for which `least_time` is more than has been
measured for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

from lect.dialects.kernel.attributes import TileAxis, TilesAttr
from lect.dialects.loop.ops import NestOp
from lect.passes.convert.loop_to_kernel_sweeps import PRODUCT
from lect.passes.kernel.kernel_choose_gpu_tiles import SECTOR, Chooser, KernelChooseGpuTiles
from lect.passes.kernel.kernel_choose_tiles import choose_tiles
from lect.passes.kernel.kernel_choose_warps import KernelChooseWarps
from lect.passes.loop.product_tiles import SMALL, cover
from lect.passes.targets import is_gpu

Choices = Mapping[str, Any]
MOST = 14
FEWEST_OF_THREAD, MOST_OF_THREAD = 2, 64
MOST_ACCUMULATORS = 192  # of the 255 registers of a thread
PRODUCT_TILES = ((128, 128, 64), (128, 256, 64), (256, 128, 64), (128, 64, 64), (64, 128, 64), (64, 64, 64), (64, 256, 64), (128, 128, 32))
SMALL_PRODUCT_TILES = ((64, 32, 128), (64, 16, 256), (32, 32, 128), (32, 16, 128), (16, 32, 128), (16, 16, 128))
SQUARES = ((32, 32), (32, 64), (64, 32), (64, 64), (128, 32), (32, 128))
READ_RATE, WRITE_RATE = 1.12, 0.9  # times the rate of a copy: reading is faster than writing
PRODUCT_RATE = 800_000_000  # operations a microsecond of tile products
COPY_RATE = 20_000  # bytes a microsecond that a processor moves at least


def candidates(nest: NestOp, target: Mapping[str, Any]) -> list[Choices]:
    """The forms of a nest's kernel, that of the estimate first, each once."""
    if not is_gpu(target):
        return _some({"tiles": tiles} for tiles in _of_cpu(nest, choose_tiles(nest, target)))
    own = Chooser(nest, KernelChooseGpuTiles(), target).choose()
    neighbours = _GPU.get(own.variant)
    rest = neighbours(nest, own, target) if neighbours is not None else iter(())
    usual = {"tiles": own, **_as_chosen(own)}  # the estimate's form says no warps, so that a record of it follows the estimate
    return _some([{"tiles": own}, *[form for form in rest if form != usual]])


def _as_chosen(tiles: TilesAttr) -> Choices:
    """The warps and stages that `kernel-choose-warps` gives a kernel of such tiles."""
    passes = KernelChooseWarps()
    if tiles.variant == PRODUCT:
        lanes = _lanes(tiles) // tiles.axes[-1].block
        return {"warps": passes.for_product(lanes), "stages": passes.ahead(lanes)}
    return {"warps": passes.for_lanes(_lanes(tiles))}


def _some(found: Iterable[Choices]) -> list[Choices]:
    """The first few that differ."""
    out: list[Choices] = []
    for each in found:
        if each not in out and len(out) < MOST:
            out.append(each)
    return out


def least_time(nest: NestOp, choices: Choices, target: Mapping[str, Any]) -> float:
    """Microseconds that a form takes at least: what it reads and writes at the rates of memory, by as many processors as have something to do, and its
    products."""
    tiles: TilesAttr = choices["tiles"]
    sizes = nest.space.sizes
    points = prod(sizes)
    read, written = [sum(min(value.type.numel, points) * value.type.element.bytes for value in values) for values in (nest.inputs, nest.results)]
    if not is_gpu(target):
        return (read + written) / COPY_RATE / int(target.get("threads", 1))
    cut = {axis.dim: axis for axis in tiles.axes}
    programs = 1
    for k, size in enumerate(sizes):
        if k in cut:
            programs *= -(-size // cut[k].block) if cut[k].role == "grid" else 1
        elif k not in nest.reduced:
            programs *= size
    narrow = next((axis.block for axis in tiles.axes if axis.name == tiles.vector and axis.role == "grid" and axis.block < sizes[axis.dim]), SECTOR)
    width = min([load.buffer.type.element.bytes for load in nest.loads], default=4)
    wasted = max(SECTOR / (narrow * width), 1.0) if tiles.variant != "flat" else 1.0
    moving = (read / READ_RATE + written / WRITE_RATE) * wasted / int(target["copy_rate"]) / min(1.0, programs / int(target["processors"]))
    return max(moving, 2 * points / PRODUCT_RATE) if nest.products else moving


# ---- GPU -------------------------------------------------------------------------------------------------------------


def _lanes(tiles: TilesAttr) -> int:
    return prod([axis.block for axis in tiles.axes])


def _with_block(tiles: TilesAttr, name: str, block: int) -> TilesAttr:
    return TilesAttr(tiles.variant, [axis._replace(block=block) if axis.name == name else axis for axis in tiles.axes], tiles.vector, tiles.wide)


def _warps(lanes: int, each: int) -> int:
    """Warps whose threads have `each` elements of a tile."""
    return min(max(lanes // (32 * each), 1), 2 * KernelChooseWarps().most)


def _by_warps(tiles: TilesAttr, each: Iterable[int] = (16, 8, 32)) -> Iterator[Choices]:
    """A tile with several numbers of warps."""
    for count in each:
        warps = _warps(_lanes(tiles), count)
        if FEWEST_OF_THREAD <= _lanes(tiles) / (32 * warps) <= MOST_OF_THREAD:
            yield {"tiles": tiles, "warps": warps}


def _flat(nest: NestOp, own: TilesAttr, target: Mapping[str, Any]) -> Iterator[Choices]:
    """Larger and smaller tiles, in the second axis where there is one."""
    axis = own.axes[0]
    yield from _by_warps(own)
    for block in (axis.block // 2, axis.block * 2, axis.block * 4, axis.block // 4):
        if 1 <= block <= cover(nest.space.sizes[axis.dim]) and _lanes(own) * block // axis.block >= 128:
            yield from _by_warps(_with_block(own, axis.name, block), (16, 8))


def _tiled(nest: NestOp, own: TilesAttr, target: Mapping[str, Any]) -> Iterator[Choices]:
    rows, columns = own.axes
    for down, across in SQUARES:
        if down <= cover(nest.space.sizes[rows.dim]) and across <= cover(nest.space.sizes[columns.dim]):
            yield from _by_warps(_with_block(_with_block(own, rows.name, down), columns.name, across), (16, 8))


def _rows(nest: NestOp, own: TilesAttr, target: Mapping[str, Any]) -> Iterator[Choices]:
    """Other numbers of warps, more or fewer rows a program, and long rows in steps."""
    whole = own.axes[-1]
    yield from _by_warps(own)
    if len(own.axes) > 1:
        rows = own.axes[0]
        for block in (rows.block // 2, rows.block * 2, rows.block * 4):
            if 1 <= block <= cover(nest.space.sizes[rows.dim]):
                yield from _by_warps(_with_block(own, rows.name, block), (16, 8))
    else:
        others = [k for k, size in enumerate(nest.space.sizes) if k not in nest.reduced and size > 1]
        if others and whole.block <= 2048:
            yield from _by_warps(TilesAttr(own.variant, [TileAxis("Y", others[-1], 2, "grid"), whole], own.vector))
    if whole.block >= 4096:
        for chunk in (2048, 4096):
            yield from _by_warps(TilesAttr("long rows", [TileAxis("R", whole.dim, chunk, "loop")], "R"), (16, 8))


def _long_rows(nest: NestOp, own: TilesAttr, target: Mapping[str, Any]) -> Iterator[Choices]:
    for chunk in (4096, 2048, 8192, 1024):
        yield from _by_warps(_with_block(own, own.axes[0].name, chunk))


def _columns(nest: NestOp, own: TilesAttr, target: Mapping[str, Any]) -> Iterator[Choices]:
    """Wider and narrower columns, and longer and shorter steps along them."""
    rows, columns = own.axes
    yield from _by_warps(own, (8, 16, 32))
    for across in (columns.block, columns.block // 2, columns.block * 2):
        if across < 8 or across > cover(nest.space.sizes[columns.dim]):
            continue
        for lanes in (4096, 1024, 8192, 2048):
            down = min(max(lanes // across, 1), cover(nest.space.sizes[rows.dim]))
            yield from _by_warps(_with_block(_with_block(own, rows.name, down), columns.name, across), (8,) if lanes <= 2048 else (16,))


def _product(nest: NestOp, own: TilesAttr, target: Mapping[str, Any]) -> Iterator[Choices]:
    """Tiles of several shapes for which there are registers and shared memory, by 4 and by 8 warps, with 3 and 4 steps read ahead."""
    by_name = {axis.name: axis for axis in own.axes}
    sides, size = [axis.block for axis in own.axes[:2]], min(load.buffer.type.element.bytes for load in nest.loads)
    forms = product(((4, 6), (4, 4)), SMALL_PRODUCT_TILES) if prod(sides) <= SMALL else product(((8, 3), (4, 3), (8, 4), (4, 4)), PRODUCT_TILES)
    for (warps, stages), (down, across, depth) in forms:
        tiles = own
        for name, block in (("Y", down), ("X", across), ("R", depth)):
            tiles = _with_block(tiles, name, min(block, max(cover(nest.space.sizes[by_name[name].dim]), 16)))
        blocks = {axis.name: axis.block for axis in tiles.axes}
        accumulators = blocks["X"] * blocks["Y"] / (32 * warps)
        shared = stages * (blocks["X"] + blocks["Y"]) * blocks["R"] * size
        if 2 <= accumulators <= MOST_ACCUMULATORS and shared <= int(target["shared_bytes"]):
            yield {"tiles": tiles, "warps": warps, "stages": stages}


_GPU: Mapping[str, Callable[[NestOp, TilesAttr, Mapping[str, Any]], Iterator[Choices]]] = MappingProxyType(
    {"flat": _flat, "tiled": _tiled, "rows": _rows, "long rows": _long_rows, "columns": _columns, "tile product": _product}
)


# ---- CPU -------------------------------------------------------------------------------------------------------------


def _of_cpu(nest: NestOp, own: TilesAttr) -> Iterator[TilesAttr]:
    """The estimate, then vectors twice and half as long, more and fewer rows, and a row by one program or by several."""
    yield own
    for axis in own.axes:
        for block in (axis.block // 2, axis.block * 2):
            if 2 <= block <= cover(nest.space.sizes[axis.dim]) and _lanes(own) * block // axis.block <= 512:
                yield _with_block(own, axis.name, block)
    if own.variant == "flat":
        axis = own.axes[0]
        other = axis._replace(role="loop" if axis.role == "grid" else "grid")
        yield TilesAttr(own.variant, [other], own.vector)
