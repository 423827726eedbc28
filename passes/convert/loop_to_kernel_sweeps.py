"""Lowering of one nest: the sweeps over its reduced dims.

A reduction ends a sweep: what uses its result belongs to a later one, which computes again what it needs of the earlier (a pass may keep it in
scratch instead).  A sweep is a nest of loops that carries one accumulator for each reduction; along the vector axis the accumulator is a tile that
is folded behind the loops, along an axis of rows each step is folded at once, unless the tiles are `wide`.  An axis that is taken whole is known
from the start: where it is the only one that is folded there are no loops, and every value is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.attributes import TileAxis, TilesAttr
from lect.dialects.kernel.types import axes_of, element_of
from lect.dialects.loop import ops as loop
from lect.dialects.scalars import neutral
from lect.ir import Block, Operation, PassFailure, Region, ScalarType, Value
from lect.ir.facts import symbols_of
from lect.ir.index_map import coefficient, dims_of
from lect.ir.types import i1, i32, i64, index
from lect.passes.convert.loop_to_kernel_values import KERNEL_OPS, Level, NestValues, reachable

COMBINE = MappingProxyType({"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "or", "all": "and", "xor": "xor"})
POSITIONS = MappingProxyType({i32: (1 << 31) - 1, i64: (1 << 63) - 1})  # the type that positions are carried in, and what stands for none
PRODUCT = "tile product"  # the variant whose sums of products are products of tiles
Reduction = loop.ReduceOp | loop.ReduceIndexOp


class Carried(NamedTuple):
    """What one reduction or scan carries through the loops: the operation, and the initial value of each accumulator."""

    op: Any
    initial: tuple[Value, ...]


def lower_nest(nest: loop.NestOp, tiles: TilesAttr) -> kernel.FuncOp:
    """The kernel of a nest.  Raises `PassFailure` when the tiles do not fit it."""
    check_tiles(nest, tiles)
    return NestSweeps(nest, tiles).lower()


def check_tiles(nest: loop.NestOp, tiles: TilesAttr) -> None:
    """Raise `PassFailure` unless the axes are over dims of the nest, folded dims are walked inside of a program, and no other dims with them."""
    reduced, name = set(nest.reduced), nest.sym_name
    for axis in tiles.axes:
        if axis.dim >= len(nest.space.sizes):
            raise PassFailure(f"the tiles of @{name} name the dim d{axis.dim}, which it lacks", op=nest)
        if axis.dim in nest.ordered:
            raise PassFailure(f"@{name} walks the dim d{axis.dim} in order, so it takes no tiles", op=nest)
        if axis.dim in reduced and axis.role == "grid":
            raise PassFailure(f"@{name} folds the dim d{axis.dim}, which its tiles give to the grid", op=nest)
        if reduced and axis.dim not in reduced and axis.role == "loop":
            raise PassFailure(f"@{name} folds other dims than d{axis.dim}, which its tiles give to a loop", op=nest)
        if axis.role == "whole" and type(nest.space.sizes[axis.dim]) is int and axis.block < nest.space.sizes[axis.dim]:
            raise PassFailure(f"axis {axis.name} of @{name} is taken whole, but its block does not cover {nest.space.sizes[axis.dim]}", op=nest)


class NestSweeps(NestValues):
    """Emits the sweeps of a nest."""

    def __init__(self, nest: loop.NestOp, tiles: TilesAttr) -> None:
        super().__init__(nest, tiles)
        chosen = [axis for axis in tiles.axes if axis.role == "loop"]
        self.loops = [axis for axis in self.tiles if axis.role == "loop" and axis not in chosen] + chosen
        self.loop_mask = sum(1 << axis.dim for axis in self.loops)
        self.vector = tiles.vector
        self.dots = tiles.variant == PRODUCT
        self.late = frozenset(axis.name for axis in chosen if tiles.wide or axis.name == tiles.vector)
        self.whole = [axis for axis in tiles.axes if axis.role == "whole" and axis.dim in self.reduced]
        self.first_values: list[Value] = []
        self.scan_carries: dict[Operation, Value] = {}
        self.scan_totals: dict[Operation, Value] = {}
        for op in nest.body:
            alone = self._is_scan(op) and ([axis.dim for axis in self.loops] or [axis.dim for axis in self.tiles if axis.role == "whole"]) == [op.over]
            if self._is_scan(op) and not alone:
                raise PassFailure(f"the scan along d{op.over} needs a loop over that dim alone", op=op)

    def _is_scan(self, op: Operation) -> bool:
        """Whether an operation is a scan of more than one element."""
        return isinstance(op, loop.ScanOp) and self.sizes[op.over] != 1

    def lower(self) -> kernel.FuncOp:
        """All sweeps, then what no sweep had to store."""
        phases = self._phases()
        last = max(phases.values(), default=0)
        inside = [store for store in self.nest.stores if (isinstance(store, loop.UpdateOp) and self.loops) or self._store_mask(store) & self.loop_mask]
        sweep = {store: self._sweep_of(store, phases, inside) for store in inside}
        for phase in range(last + 1):
            roots = [op for op in self.nest.body if isinstance(op, Reduction) and phases[op] == phase]
            stores = [store for store in inside if sweep[store] == phase]
            if roots or stores:
                self._sweep(roots, stores)
        self._store_all([store for store in self.nest.stores if store not in inside])
        self.func.body.append(kernel.ReturnOp(loc=self.nest.loc))
        return self.func

    def _phases(self) -> dict[Operation, int]:
        """For each operation the number of the sweep that can compute it first."""
        phases: dict[Operation, int] = {}
        for op in self.nest.body:
            found = 0
            for value in op.operands:
                maker = value.op
                if maker in phases:
                    found = max(found, phases[maker] + isinstance(maker, Reduction))
            phases[op] = found
        return phases

    def _sweep_of(self, store: loop.StoreOp | loop.UpdateOp, phases: dict[Operation, int], inside: Sequence[loop.StoreOp | loop.UpdateOp]) -> int:
        """The sweep that stores: the first that has the value; where it overwrites what was loaded, none in front of the last that loads that."""
        own, last = phases[store], max(phases.values())
        overwritten = dict(self.nest.in_place)
        if store.to not in overwritten:
            return own
        if isinstance(store, loop.UpdateOp) or sum(other.to in overwritten for other in inside) > 1:
            return last
        buffer = self.nest.inputs[overwritten[store.to]]
        loads = {load for load in self.nest.loads if load.buffer is buffer}
        steps = self.loop_mask & ~sum(1 << k for k in dims_of(store.map.offset))
        if steps or any(load.indices or load.map.offset is not store.map.offset for load in loads):
            return last  # an element may be loaded when it or another one has been stored
        for phase in range(last, own, -1):
            roots = [op for op in self.nest.body if isinstance(op, Reduction) and phases[op] == phase]
            ends = [*roots, *[other for other in inside if other is not store and phases[other] == phase]]
            if not loads.isdisjoint(reachable([op.operands[0] for op in ends], (loop.ReduceOp, loop.ReduceIndexOp))):
                return phase
        return own

    def _store_mask(self, store: loop.StoreOp | loop.UpdateOp) -> int:
        return self.varying[store.value] | sum(1 << k for k in dims_of(store.map.offset))

    def _store_all(self, stores: Sequence[loop.StoreOp | loop.UpdateOp]) -> None:
        """Everything that is to be stored is computed before the first store, which may overwrite what was loaded (in place)."""
        for store in stores:
            self.value(store.value)
        for store in stores:
            if isinstance(store, loop.UpdateOp):
                self.update(store)
            else:
                self.store(store)

    # ---- one sweep ---------------------------------------------------------------------------------------------------

    def _sweep(self, roots: Sequence[Reduction], stores: Sequence[loop.StoreOp | loop.UpdateOp]) -> None:
        if not self.loops:
            for op in roots:
                self.levels[0].values[op.result] = self._fold_at_once(op)
            self._store_all(stores)
            return
        needed = set(reachable([op.operands[0] for op in (*roots, *stores)], (loop.ReduceOp, loop.ReduceIndexOp)))
        scans = [op for op in self.nest.body if self._is_scan(op) and op in needed]
        carried = [Carried(op, self._initial(op)) for op in roots]
        carried += [Carried(op, (self._scan_start(op),)) for op in scans]
        initial = [value for item in carried for value in item.initial]
        self._open(initial)
        accumulators = iter(self.levels[-1].block.args[1:])
        current = [tuple([next(accumulators) for _ in item.initial]) for item in carried]
        for item, (carry, *_) in zip(carried[len(roots) :], current[len(roots) :]):
            self.scan_carries[item.op] = carry
        following: list[Value] = []
        for item, old in zip(carried, current[: len(roots)]):
            following += self._accumulate(item.op, old)
        self._store_all(stores)
        for op in scans:
            self.value(op.result)
            following.append(self.scan_totals[op])
        results = self._close(following)
        for item in carried[: len(roots)]:
            own = [results.pop(0) for _ in item.initial]
            self.levels[0].values[item.op.result] = self._finish(item.op, own)
        self.scan_carries.clear()
        self.scan_totals.clear()

    def _open(self, initial: list[Value]) -> None:
        """Begin the loops, outermost first; each body knows one more axis."""
        self.first_values = initial
        for axis in self.loops:
            block = Block([index, *[value.type for value in initial]])
            level = Level(block, next(a for a in self.func.axes.axes if a.name == axis.name))
            self.levels.append(level)
            self.add_axis(level, axis, block.args[0])
            initial = block.args[1:]

    def _close(self, following: list[Value]) -> list[Value]:
        """End the loops, innermost first, and give the results of the outermost."""
        results = following
        while len(self.levels) > 1:
            level = self.levels.pop()
            self.loc = self.nest.loc
            self.insert(level, kernel.YieldOp(results))
            outer = self.levels[-1]
            initial = outer.block.args[1:] if len(self.levels) > 1 else self.first_values
            types = [value.type for value in results]
            assert level.axis is not None
            made = self.insert(outer, kernel.ForOp(initial, None, level.axis.name, regions=[Region([level.block])], result_types=types))
            results = list(made.results)
        return results

    # ---- accumulators ------------------------------------------------------------------------------------------------

    def _accumulator_axes(self, value: Value) -> frozenset[str]:
        """Axes of an accumulator: those of the value that stay, and the vector axis if it is folded."""
        stay = self.axes_in(self.varying[value] & ~self.loop_mask)
        return stay | self.late | {axis.name for axis in self.whole}

    def _initial(self, op: Reduction) -> tuple[Value, ...]:
        element = op.value.type
        axes = self._accumulator_axes(op.value)
        if isinstance(op, loop.ReduceIndexOp):
            axes |= self._accumulator_axes(op.position)
            first = self.constant(neutral(op.kind, element), self.type_over(axes, element))
            carried = self._position_type(op)
            return first, self.constant(POSITIONS[carried], self.type_over(axes, carried))
        return (self.constant(neutral(op.kind, element), self.type_over(axes, element)),)

    def _scan_start(self, op: loop.ScanOp) -> Value:
        axes = self.axes_in(self.varying[op.value] & ~self.loop_mask)
        return self.constant(neutral(op.kind, op.value.type), self.type_over(axes, op.value.type))

    def _masked(self, value: Value, outside: bool | int | float) -> Value:
        """The value inside of the extents of the loops and of the axes that are folded whole, `outside` beyond them."""
        level, element = self.levels[-1], element_of(value.type)
        for axis in (*self.loops, *self.whole):
            bound = next((each.bounds[axis.name] for each in self.levels if axis.name in each.bounds), None)
            if bound is not None:
                other = self.constant(outside, element, len(self.levels) - 1)
                value = self.insert(level, kernel.SelectOp(bound, value, other)).result
        return value

    def _over(self, value: Value, axis: TileAxis) -> Value:
        """The value as a tile that varies over an axis, so that it enters a fold once for each index."""
        if axis.name in axes_of(value.type):
            return value
        always = self.constant(True, self.type_over(frozenset({axis.name}), i1), len(self.levels) - 1)
        return self.insert(self.levels[-1], kernel.SelectOp(always, value, value)).result

    def _fold_at_once(self, op: Reduction) -> Value:
        """A reduction over axes that are taken whole."""
        level = self.levels[0]
        value = self._masked(self.value(op.value), neutral(op.kind, op.value.type))
        if isinstance(op, loop.ReduceOp):
            return self._folded(op, [self._over_all(value)])[0]
        carried = self._position_type(op)
        position = self.value(op.position)
        position = position if carried is i64 else self._cast(level, position, carried)
        position = self._over_all(self._masked(position, POSITIONS[carried]))
        position = self._folded(op, [self._over_all(value), position])[1]
        return position if carried is i64 else self._cast(level, position, i64)

    def _over_all(self, value: Value) -> Value:
        for axis in self.whole:
            value = self._over(value, axis)
        return value

    def _folded(self, op: Reduction, results: list[Value]) -> list[Value]:
        """The value (and the position) folded along every folded axis that it still varies over."""
        level = self.levels[0]
        for axis in [each for each in self.tiles if each.dim in self.reduced and each.name in axes_of(results[0].type)]:
            value = self.insert(level, kernel.ReduceOp(results[0], op.kind, axis.name)).result
            if len(results) == 1:
                results = [value]
                continue
            position = self.insert(level, kernel.ReduceIndexOp(results[0], results[1], op.kind, axis.name)).result
            results = [value, position]
        return results

    def _accumulate(self, op: Reduction, old: tuple[Value, ...]) -> list[Value]:
        level, axis = self.levels[-1], self.loops[-1]
        if self.dots and isinstance(op, loop.ReduceOp) and op.contract:
            left, right = [self._factor(value) for value in op.value.op.operands]  # type: ignore[union-attr]
            saved, self.loc = self.loc, op.loc if op.loc.known else self.loc
            made = self.insert(level, kernel.DotOp(left, right, old[0], axis.name)).result
            self.loc = saved
            return [made]
        rows = axis.name not in self.late and axis.name in self.cut
        masked = any(each.name in bounds for each in (axis, *self.whole) for bounds in (level.bounds, self.levels[0].bounds))
        if isinstance(op, loop.ReduceOp) and op.contract and not rows and not masked:
            first, second = op.value.op.operands  # type: ignore[union-attr]
            return [self.insert(level, KERNEL_OPS["fma"](self.value(first), self.value(second), old[0])).result]
        value = self._masked(self.value(op.value), neutral(op.kind, op.value.type))
        if isinstance(op, loop.ReduceIndexOp):
            return self._accumulate_index(op, old, value, rows)
        if rows:
            value = self.insert(level, kernel.ReduceOp(self._over(value, axis), op.kind, axis.name)).result
        return [self.insert(level, KERNEL_OPS[COMBINE[op.kind]](old[0], value)).result]

    def _factor(self, value: Value) -> Value:
        """A factor of a product of tiles: halves as they are, and zero outside of the extent of the sum, as loads are there."""
        source = value.op.value if isinstance(value.op, loop.CastOp) and value.op.value.type.is_half else value
        found = self.value(source)
        return found if isinstance(source.op, loop.LoadOp) else self._masked(found, 0.0)

    def _position_type(self, op: loop.ReduceIndexOp) -> ScalarType:
        """The type in which positions are carried: half as wide where they all fit."""
        maker = op.position.op
        if not isinstance(maker, loop.IndexOp):
            return i64
        low, high = self.ranges.bounds(maker.map.offset)
        return i32 if low is not None and high is not None and low >= 0 and high < POSITIONS[i32] else i64

    def _first_position(self, op: loop.ReduceIndexOp) -> int | None:
        """The least position if positions grow from step to step, so that what is found first is the first of equals; else None."""
        maker = op.position.op
        if len(self.loops) != 1 or not isinstance(maker, loop.IndexOp):
            return None
        axis, offset = self.loops[0], maker.map.offset
        step = coefficient(offset, axis.dim)
        alone = dims_of(offset) == {axis.dim} and not symbols_of(offset)
        return offset.const if alone and type(step) is int and step > 0 and offset.const >= 0 else None

    def _accumulate_index(self, op: loop.ReduceIndexOp, old: tuple[Value, ...], value: Value, rows: bool) -> list[Value]:
        """Keep the better of what was found and what is here; of rows, the best row first."""
        level, axis = self.levels[-1], self.loops[-1]
        carried = self._position_type(op)
        position = self.value(op.position)
        position = position if carried is i64 else self._cast(level, position, carried)
        position = self._masked(position, POSITIONS[carried])
        if rows:
            value, position = self._over(value, axis), self._over(position, axis)
            found = self.insert(level, kernel.ReduceIndexOp(value, position, op.kind, axis.name)).result
            value = self.insert(level, kernel.ReduceOp(value, op.kind, axis.name)).result
            position = found
        best, best_position = old
        take = self._comes_first(level, op, (value, position), (best, best_position))
        chosen = self.insert(level, kernel.SelectOp(take, value, best)).result
        return [chosen, self.insert(level, kernel.SelectOp(take, position, best_position)).result]

    def _comes_first(self, level: Level, op: loop.ReduceIndexOp, new: tuple[Value, Value], old: tuple[Value, Value]) -> Value:
        """NaN before numbers, then the greater (less) value, then the lower position, which needs no look where positions grow."""

        def emit(name: str, *operands: Value) -> Value:
            return self.insert(level, KERNEL_OPS[name](*operands)).result

        real = op.value.type.is_float
        if self._first_position(op) is not None:
            worse = emit("le" if op.kind == "max" else "ge", new[0], old[0])
            better = emit("not", worse)
            return emit("and", better, emit("not", emit("isnan", old[0]))) if real else better
        wins = emit("gt" if op.kind == "max" else "lt", new[0], old[0])
        equal = emit("eq", new[0], old[0])
        if real:
            is_nan, was_nan = emit("isnan", new[0]), emit("isnan", old[0])
            wins = emit("or", wins, emit("and", is_nan, emit("not", was_nan)))
            equal = emit("or", equal, emit("and", is_nan, was_nan))
        return emit("or", wins, emit("and", equal, emit("lt", new[1], old[1])))

    def _finish(self, op: Reduction, results: list[Value]) -> Value:
        """Fold what the loops left along the axes that were kept."""
        results = self._folded(op, results)
        return results[0] if isinstance(op, loop.ReduceOp) else self._found_position(op, self.levels[0], results[1])

    def _found_position(self, op: loop.ReduceIndexOp, level: Level, position: Value) -> Value:
        """The position as i64; where every value was the worst of its type nothing was taken, and the first position is the answer."""
        carried, first = self._position_type(op), self._first_position(op)
        if first is not None:
            none, start = self.constant(POSITIONS[carried], carried), self.constant(first, carried)
            missing = self.insert(level, KERNEL_OPS["eq"](position, none)).result
            position = self.insert(level, kernel.SelectOp(missing, start, position)).result
        return position if carried is i64 else self._cast(level, position, i64)

    # ---- scans -------------------------------------------------------------------------------------------------------

    def _emit(self, level: Level, number: int, op: Operation, operands: list[Value]) -> Value:
        if isinstance(op, loop.ScanOp) and not self._is_scan(op):
            return operands[0]
        if not isinstance(op, loop.ScanOp):
            return super()._emit(level, number, op, operands)
        if not self.loops:
            axis = self.axis_of_dim[op.over]
            return self.insert(level, kernel.ScanOp(self._over(operands[0], axis), op.kind, axis.name)).result
        level, axis = self.levels[-1], self.loops[-1]
        if axis.name not in self.cut:  # one element a step: the total with it is the element's value
            self.scan_totals[op] = self._next_total(level, op.kind, self.scan_carries[op], operands[0])
            return self.scan_totals[op]
        if op.kind not in COMBINE:
            raise PassFailure(f"the scan of kind {op.kind} is walked one by one, so its dim takes no tiles", op=op)
        value = self._over(self._masked(operands[0], neutral(op.kind, op.value.type)), axis)
        carry, combine = self.scan_carries[op], KERNEL_OPS[COMBINE[op.kind]]
        inside = self.insert(level, kernel.ScanOp(value, op.kind, axis.name)).result
        total = self.insert(level, kernel.ReduceOp(value, op.kind, axis.name)).result
        self.scan_totals[op] = self.insert(level, combine(carry, total)).result
        return self.insert(level, combine(carry, inside)).result

    def _next_total(self, level: Level, kind: str, total: Value, value: Value) -> Value:
        """A running total with one more value."""

        def emit(name: str, *operands: Value) -> Value:
            return self.insert(level, KERNEL_OPS[name](*operands)).result

        if kind != "logaddexp":
            return emit(COMBINE[kind], total, value)
        most, least = emit("maximum", total, value), emit("minimum", total, value)
        sum = emit("add", emit("log1p", emit("exp", emit("sub", least, most))), most)
        alike = emit("and", emit("eq", most, least), emit("isinf", most))
        return self.insert(level, kernel.SelectOp(alike, most, sum)).result
