"""Lowering of one nest: where in the loops of its kernel each value is computed.

A kernel has levels: the body of the function, and inside of it the bodies of the loops of one sweep, the outer before the inner.  A value is
computed at the outermost level at which all axes it varies over are known, once for each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.attributes import AxesAttr, Axis, BlocksAttr, TileAxis, TilesAttr
from lect.dialects.kernel.scalar import SCALAR_OPS
from lect.dialects.kernel.types import PtrType, TileType, varying_over
from lect.dialects.loop import ops as loop
from lect.ir import Block, Location, Operation, PassFailure, Region, ScalarType, Type, Value
from lect.ir.facts import declared, facts_of, renamed, symbols_of
from lect.ir.index_map import IndexMap, dims_of, substitute
from lect.ir.symbolic import Ranges, Size, as_size, dim
from lect.ir.types import f32, i1, i32, index

FOLDS = MappingProxyType({"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"})
KERNEL_OPS = MappingProxyType({cls.name.partition(".")[2]: cls for cls in SCALAR_OPS.values()})


class Level:
    """One block under construction: the values computed in it, and the index of each dim that is known from here on."""

    def __init__(self, block: Block, axis: Axis | None = None) -> None:
        self.block = block
        self.axis = axis
        self.values: dict[Value, Value] = {}
        self.dims: dict[int, Value] = {}
        self.bounds: dict[str, Value] = {}
        self.constants: dict[Any, Value] = {}


class NestValues:
    """The function that a nest becomes, and the values emitted so far."""

    def __init__(self, nest: loop.NestOp, tiles: TilesAttr) -> None:
        self.nest = nest
        self.sizes: tuple[Size, ...] = nest.space.sizes
        self.facts = facts_of(nest)
        self.ranges = self.facts.ranges_of(self.sizes) if self.facts.symbols else nest.space.ranges
        self.symbols = symbols_in(nest)
        self.varying = loop.variance(nest)
        self.reduced = set(nest.reduced)
        self.tiles = [*tiles.axes, *self._loops_without_axis(tiles)]
        self.cut = frozenset(axis.name for axis in tiles.axes)
        self.axis_of_dim = {axis.dim: axis for axis in self.tiles}
        self.order = tuple([axis.name for axis in self.tiles])
        self.blocks = {axis.name: axis.block for axis in self.tiles}
        self.loc: Location = nest.loc
        self.func, self.pointers = self._function(tiles)
        self.levels = [Level(self.func.body)]
        self._grid_levels()

    def _loops_without_axis(self, tiles: TilesAttr) -> list[TileAxis]:
        """Loops over the reduced and the scanned dims, and those with an order, that have no tile axis: one index a step."""
        taken, used = {axis.dim for axis in tiles.axes}, {axis.name for axis in tiles.axes}
        names = [f"R{k}" for k in range(1, len(self.sizes) + 2) if f"R{k}" not in used]
        scanned = dict.fromkeys(op.over for op in self.nest.body if isinstance(op, loop.ScanOp) and self.sizes[op.over] != 1)
        walked = [k for k in (*self.nest.ordered, *scanned, *self.nest.reduced) if k not in taken]
        return [TileAxis(names[n], k, 1, "loop") for n, k in enumerate(walked)]

    def _function(self, tiles: TilesAttr) -> tuple[kernel.FuncOp, dict[Value, Value]]:
        buffers = list(self.nest.inputs) + list(self.nest.results)
        block = Block([PtrType(value.type.element) for value in buffers], [value.hint for value in buffers])
        axes = [Axis(axis.name, renamed(self.sizes[axis.dim], self.symbols), axis.role) for axis in self.tiles]
        attrs: dict[str, Any] = {
            "sym_name": self.nest.sym_name,
            "grid": tuple([renamed(size, self.symbols) for size, _ in self._grid()]),
            "axes": AxesAttr(axes),
            "blocks": BlocksAttr(tuple(self.blocks.items())),
        }
        if tiles.vector is not None:
            attrs["vector"] = tiles.vector
        if self.symbols:
            attrs["symbols"] = declared(self.facts, self.symbols)
            for number in self.symbols.values():
                block.add_arg(index, f"s{number}")
        func = kernel.FuncOp.create((), (), attrs, [Region([block])], loc=self.loc)
        return func, dict(zip(buffers, block.args))

    def _grid(self) -> list[tuple[Size, int]]:
        """(number of programs, dim) along each dim of the grid: dims walked one by one first, then the axes in blocks."""
        plain: list[tuple[Size, int]] = [(size, k) for k, size in enumerate(self.sizes) if k not in self.axis_of_dim]
        blocked = [(self._blocks_of(axis), axis.dim) for axis in self.tiles if axis.role == "grid"]
        return plain + blocked or [(1, -1)]

    def _blocks_of(self, axis: TileAxis) -> Size:
        """How many blocks cover an axis."""
        size = self.sizes[axis.dim]
        return as_size((size if self.facts.divisible(size, axis.block) else size + (axis.block - 1)) // axis.block)

    def _grid_levels(self) -> None:
        root = self.levels[0]
        for number, (_, k) in enumerate(self._grid()):
            if k >= 0:
                program = self.insert(root, kernel.ProgramIdOp(number)).result
                if k in self.axis_of_dim:
                    self.add_axis(root, self.axis_of_dim[k], program)
                else:
                    root.dims[k] = program
        for axis in self.tiles:
            if axis.role == "whole":
                self.add_axis(root, axis, None)

    # ---- building ----------------------------------------------------------------------------------------------------

    def insert(self, level: Level, op: Operation) -> Any:
        """Append an operation to a level."""
        op.loc = self.loc
        return level.block.append(op)

    def add_axis(self, level: Level, axis: TileAxis, base: Value | None) -> None:
        """Make the indices of an axis known at a level, and the mask of its extent where blocks do not divide it.

        A dim that is walked one by one has no lanes, its index is the loop's own.
        """
        if base is not None and axis.name not in self.cut:
            level.dims[axis.dim] = base
            return
        type = TileType([name if name == axis.name else None for name in self.order], index)
        lanes = self.insert(level, kernel.LanesOp(base, axis.name, result_types=[type])).result
        level.dims[axis.dim] = lanes
        if not self.facts.divisible(self.sizes[axis.dim], axis.block):
            level.bounds[axis.name] = self.insert(level, kernel.BoundOp(lanes, axis.name)).result

    def level_of(self, mask: int) -> int:
        """The outermost level that knows all dims of a bit mask."""
        for number in range(len(self.levels) - 1, 0, -1):
            axis = self.levels[number].axis
            assert axis is not None
            if any(tile.name == axis.name and mask >> tile.dim & 1 for tile in self.tiles):
                return number
        return 0

    def dim_value(self, k: int) -> Value:
        """The index of a dim, from the innermost level that knows it."""
        for level in reversed(self.levels):
            if k in level.dims:
                return level.dims[k]
        raise PassFailure(f"dim d{k} of @{self.nest.sym_name} is walked by no axis here", op=self.nest)

    def axes_in(self, mask: int) -> frozenset[str]:
        """Names of the axes over whose dims a bit mask varies."""
        return frozenset(axis.name for axis in self.tiles if mask >> axis.dim & 1 and axis.name in self.cut)

    def type_over(self, axes: frozenset[str], element: ScalarType) -> Type:
        """The type of a value over these axes."""
        return varying_over(axes, self.order, element)

    def bounds_for(self, mask: int) -> list[Value]:
        """Masks of the axes over which a value varies, where they are needed."""
        found = {name: bound for level in self.levels for name, bound in level.bounds.items()}
        return [found[axis.name] for axis in self.tiles if mask >> axis.dim & 1 and axis.name in found]

    def constant(self, value: bool | int | float, type: Type, number: int = 0) -> Value:
        """A constant at a level."""
        level = self.levels[number]
        key = (type, repr(value))
        if key not in level.constants:
            level.constants[key] = self.insert(level, kernel.ConstOp(value, result_types=[type])).result
        return level.constants[key]

    # ---- values ------------------------------------------------------------------------------------------------------

    def known(self, value: Value) -> Value | None:
        """The kernel's value for a value of the nest, if some open level has it."""
        for level in reversed(self.levels):
            if value in level.values:
                return level.values[value]
        return None

    def value(self, value: Value) -> Value:
        """The kernel's value for a value of the nest, computed where it belongs."""
        found = self.known(value)
        if found is not None:
            return found
        op = value.op
        assert op is not None
        operands = [self.value(operand) for operand in op.operands if operand not in self.pointers]
        number = self.level_of(self.varying[value])
        level = self.levels[number]
        saved, self.loc = self.loc, op.loc if op.loc.known else self.loc
        made = self._emit(level, number, op, operands)
        self.loc = saved
        level.values[value] = made
        return made

    def _emit(self, level: Level, number: int, op: Operation, operands: list[Value]) -> Value:
        if isinstance(op, loop.LoadOp):
            return self._load(level, op, operands)
        if isinstance(op, loop.ConstOp):
            return self.constant(op.value, op.result.type)
        if isinstance(op, loop.IndexOp):
            map, dims = self.kernel_map(op.map)
            position = self.insert(level, kernel.IndexOp(dims, map)).result
            if self._fits_half(op.map):
                position = self._cast(level, position, i32)
            return self._cast(level, position, op.result.type)
        if isinstance(op, loop.CastOp):
            return self._cast(level, operands[0], op.result.type)
        if isinstance(op, loop.SelectOp):
            return self.insert(level, kernel.SelectOp(*operands)).result
        made = KERNEL_OPS.get(op.name.partition(".")[2])
        if made is None:
            raise PassFailure(f"'{op.name}' cannot be computed where it stands", op=op)
        return self.insert(level, made(*operands)).result

    def _fits_half(self, map: IndexMap) -> bool:
        """Whether a map's values fit i32, so that what is done with them takes half the registers."""
        low, high = self.ranges.bounds(map.offset)
        return low is not None and high is not None and -(1 << 31) <= low and high < 1 << 31

    def _cast(self, level: Level, value: Value, element: ScalarType) -> Value:
        type = value.type
        target = TileType(type.axes, element) if isinstance(type, TileType) else element
        return self.insert(level, kernel.CastOp(value, result_types=[target])).result

    def _load(self, level: Level, op: loop.LoadOp, operands: list[Value]) -> Value:
        map, dims = self.kernel_map(op.map)
        count = len(op.indices)
        masks = self.bounds_for(self.varying[op.result]) + operands[count:]
        return self.insert(level, kernel.LoadOp(self.pointers[op.buffer], dims + operands[:count], masks, map)).result

    def kernel_map(self, map: IndexMap) -> tuple[IndexMap, list[Value]]:
        """The map over the dims that it uses, renumbered, and their indices."""
        if self.symbols and symbols_of(map.offset):
            map = IndexMap(map.num_dims, (renamed(map.offset, self.symbols),), map.num_indices)
        used = sorted(dims_of(map.offset))
        if used != list(range(len(used))):
            sizes = tuple([self.sizes[k] for k in used])
            offset = substitute(map.offset, {k: dim(position) for position, k in enumerate(used)}, Ranges(sizes))
        else:
            offset = map.offset
        return IndexMap(len(used), (offset,), map.num_indices), [self.dim_value(k) for k in used]

    def store(self, op: loop.StoreOp) -> None:
        """Emit a store at the innermost level that its address or value needs."""
        value = self.value(op.value)
        map, dims = self.kernel_map(op.map)
        mask = sum(1 << k for k in dims_of(op.map.offset))
        level = self.levels[self.level_of(mask | self.varying[op.value])]
        pointer = self.pointers[self.nest.results[op.to]]
        self.loc = op.loc if op.loc.known else self.nest.loc
        self.insert(level, kernel.StoreOp(pointer, value, dims, self.bounds_for(mask), map))
        self.loc = self.nest.loc

    def update(self, op: loop.UpdateOp) -> None:
        """Emit an update: read, combine and write at the innermost level, one step of the ordered loops after another."""
        value = self.value(op.value)
        indices, masks = [self.value(each) for each in op.indices], [self.value(each) for each in op.masks]
        map, dims = self.kernel_map(op.map)
        mask = sum(1 << k for k in dims_of(op.map.offset)) | self.varying[op.value]
        for each in (*op.indices, *op.masks):
            mask |= self.varying[each]
        level, pointer = self.levels[-1], self.pointers[self.nest.results[op.to]]
        self.loc = op.loc if op.loc.known else self.nest.loc
        place, allowed = dims + indices, self.bounds_for(mask) + masks
        if op.kind != "set":
            old = self.insert(level, kernel.LoadOp(pointer, place, allowed, map)).result
            value = self._combined(level, op.kind, old, value, op.value.type)
        self.insert(level, kernel.StoreOp(pointer, value, place, allowed, map))
        self.loc = self.nest.loc

    def _combined(self, level: Level, kind: str, old: Value, value: Value, element: ScalarType) -> Value:
        """Two elements folded; halves in f32, with one rounding."""
        if element is i1:
            return self.insert(level, KERNEL_OPS["or" if kind in ("sum", "max") else "and"](old, value)).result
        if not element.is_half:
            return self.insert(level, KERNEL_OPS[FOLDS[kind]](old, value)).result
        folded = self.insert(level, KERNEL_OPS[FOLDS[kind]](self._cast(level, old, f32), self._cast(level, value, f32))).result
        return self._cast(level, folded, element)


def symbols_in(nest: loop.NestOp) -> dict[int, int]:
    """The size symbols of a nest, and what its kernel calls them: s0, s1, ... in the order in which they occur."""
    found: dict[int, int] = {}
    for size in (*nest.space.sizes, *[op.map.offset for op in nest.body if isinstance(op, (loop.LoadOp, loop.StoreOp, loop.UpdateOp, loop.IndexOp))]):
        if type(size) is not int:
            for number in symbols_of(size):
                found.setdefault(number, len(found))
    return found


def reachable(roots: Sequence[Value], stop: type | tuple[type, ...]) -> list[Operation]:
    """Operations that the roots need, each once, not going through operations of the type `stop`."""
    seen: dict[Operation, None] = {}
    pending = list(roots)
    while pending:
        op = pending.pop().op
        if op is None or op in seen:
            continue
        seen[op] = None
        if not isinstance(op, stop):
            pending.extend(op.operands)
    return list(seen)
