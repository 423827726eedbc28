"""kernel: a tile program, the one form from which GPU source and CPU code are printed.

A `kernel.func` describes one program of a grid.  Its axes cut the index space: an axis of role `grid` gives each program one block of it, a
`loop` axis is walked by `kernel.for`, a `whole` axis is covered by one tile.  Values are tiles that name the axes they vary over, and
operations broadcast by those names.  Programs may run in any order and at once, so two programs never write the same element (except by
`atomic_add`), and a program may read what it stored itself.

Memory is flat.  `load` and `store` keep the index map of the loop level: it sends index tiles (made by `lanes` and `index`, or loaded numbers as
its symbols) to an element offset, so that a printer reads contiguity off a coefficient.  Every lane whose masks are all true must be in bounds;
a lane masked out is neither read nor written, and a load gives zero there.  Where a block reaches past the extent of its axis, `bound` is the
mask that says so; it is the program's duty to use it.  `scratch` is memory of one program, one element for each index of a loop axis.

`for` walks a loop axis in blocks, its body gets the first index of the block and the carried tiles.  `reduce` folds a tile along one axis in
any order; what must not enter is masked with `select` before.  Float operations round as written, one by one: nothing is contracted or
reordered, but for the order of a `reduce` and of `for` accumulations that a pass has split.
"""

from __future__ import annotations

from lect.dialects.kernel.attributes import AxesAttr, Axis, BlocksAttr
from lect.dialects.kernel.scalar import SCALAR_OPS, join
from lect.dialects.kernel.types import PtrType, ScratchType, TileType, axes_of, element_of, with_element
from lect.ir import (
    Attr,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    Operand,
    Operation,
    OptionalOperand,
    Pure,
    Reads,
    RecursiveEffects,
    RegionField,
    Result,
    SingleBlock,
    Terminator,
    Type,
    Value,
    Variadic,
    VariadicResult,
    Writes,
    op,
    require,
)
from lect.ir.facts import problem_of
from lect.ir.index_map import IndexMap, exact_quotient
from lect.ir.symbolic import UNBOUNDED, Expr, Size, product
from lect.ir.types import ScalarType, i1, index

TILE = (TileType, ScalarType)
REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all", "xor"})


def scalar_op(name: str) -> type[Operation]:
    """The class of a scalar operation, `scalar_op("floor_div")`."""
    return SCALAR_OPS["".join(part.capitalize() for part in name.split("_")) + "Op"]


def function_of(operation: Operation) -> FuncOp:
    """The `kernel.func` around an operation.  Raises `VerifyError` outside of one."""
    cursor: Operation | None = operation
    while cursor is not None and not isinstance(cursor, FuncOp):
        cursor = cursor.parent_op
    require(cursor is not None, operation, "'{}' must stand inside 'kernel.func'", operation.name)
    assert isinstance(cursor, FuncOp)
    return cursor


def axis_of(operation: Operation, name: str) -> Axis:
    """The axis `name` of the function around an operation.  Raises `VerifyError` when it has none."""
    axes = function_of(operation).axes
    found = axes.find(name)
    require(found is not None, operation, "there is no axis {} among {}", name, ", ".join(axes.names) or "none")
    assert found is not None
    return found


@op("kernel.func")
class FuncOp(Operation):
    """One program of a grid of `grid[0] * grid[1] * ...` programs; parameters are the memory it works on, and behind it the values of its size symbols.

    `symbols` says of s0, s1, ... in the order of these parameters what is known (`ir.facts`); the grid and the extents of axes may be expressions over them.

    `vector` names the axis whose lanes lie next to each other in memory: vector registers on a CPU, neighbouring threads on a GPU.  `target` is the kind
    of machine that it was cut for; on a GPU a program is `warps` warps, and `stages` steps of a loop over a product are read ahead.  With `groups` so many
    grids run at once, each on memory of its own: a launch gives the parameters of one group after those of the other.  `approximate` says why functions of
    f32 may have an error of some ulp (2^-20) in this kernel.  `early` says what may be started before what is in front of it in the
    stream has ended (programmatic dependent launch): the `next` kernel as soon as all programs of this one have begun, or `both` that and this one, whose
    programs wait before they touch memory.

    On a GPU an axis may be taken whole though its extent is known only at run time: then a launch takes a version whose block covers it (`fitting.py`), and
    above `MOST_WHOLE` indices the kernel called `longer`, which walks the axis.
    """

    sym_name: Attr[str]
    grid: Attr[tuple]
    axes: Attr[AxesAttr]
    blocks: Attr[BlocksAttr]
    vector: Attr[str] = None
    target: Attr[frozenset({"cpu", "cuda"})] = "cpu"
    warps: Attr[int] = None
    stages: Attr[int] = None
    groups: Attr[int] = None
    approximate: Attr[str] = None
    early: Attr[frozenset({"next", "both"})] = None
    longer: Attr[str] = None
    symbols: Attr[(dict, None)] = None
    contents: RegionField
    traits = (FuncLike, IsolatedFromAbove, SingleBlock)

    @property
    def programs(self) -> Size:
        """Number of programs, of all groups."""
        return product([1 if self.groups is None else self.groups, *self.grid])

    @property
    def pointers(self) -> list[Value]:
        """The parameters that are memory."""
        return [value for value in self.body.args if isinstance(value.type, PtrType)]

    def verify(self) -> None:
        count = len(self.body.args) - len(self.symbols or ())
        for value in self.body.args[: max(count, 0)]:
            require(isinstance(value.type, PtrType), self, "parameters of 'kernel.func' are !kernel.ptr, got {}", value.type)
        sizes = [value.type for value in self.body.args[max(count, 0) :]]
        require(count >= 0 and sizes == [index] * len(sizes), self, "the last parameters of 'kernel.func' are an index for each of its symbols, got {}", sizes)
        problem = problem_of(self.symbols) if self.symbols else None
        in_order = list(self.symbols or ()) == [f"s{k}" for k in range(len(self.symbols or ()))]
        require(problem is None and in_order, self, "{}", problem or "the symbols of 'kernel.func' are s0, s1, ... in order")
        require(all(type(size) is Expr or type(size) is int and size >= 0 for size in self.grid), self, "the grid must be sizes, got {}", self.grid)
        named = tuple(name for name, _ in self.blocks.sizes)
        require(named == self.axes.names, self, "blocks must name the axes {} in order, got {}", list(self.axes.names), list(named))
        require(self.vector is None or self.vector in named, self, "'vector' names no axis: {}", self.vector)
        many = self.groups is None or (self.groups > 0 and self.target == "cuda")
        require(many, self, "'groups' counts grids that run at once on a GPU, got {}", self.groups)
        require(self.warps is None or self.warps in (1, 2, 4, 8, 16, 32), self, "a program has 1, 2, 4, 8, 16 or 32 warps, got {}", self.warps)
        require(self.stages is None or 1 <= self.stages <= 8, self, "a loop is read ahead by 1 to 8 steps, got {}", self.stages)
        require(self.early is None or self.target == "cuda", self, "only on a GPU kernels are started early")
        for axis in self.axes.axes:
            covers = self.blocks.size(axis.name) >= axis.extent if type(axis.extent) is int else self.target == "cuda" and self.longer is not None
            whole = axis.role != "whole" or covers
            require(whole, self, "axis {} is taken whole, so its block must cover {}", axis.name, axis.extent)


@op("kernel.program_id")
class ProgramIdOp(Operation):
    """The number of this program along one dim of the grid."""

    dim: Attr[int] = 0
    number: Result[index]
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (index,)

    def verify(self) -> None:
        grid = function_of(self).grid
        require(0 <= self.dim < len(grid), self, "the grid has no dim {}, it has {}", self.dim, len(grid))


@op("kernel.lanes")
class LanesOp(Operation):
    """The indices of one block of an axis: block number `base` of a grid axis, from index `base` on of a loop axis, all of a whole axis."""

    base: OptionalOperand[index]
    axis: Attr[str]
    indices: Result
    traits = (Pure,)

    def verify(self) -> None:
        axis = axis_of(self, self.axis)
        require((self.base is None) == (axis.role == "whole"), self, "an axis of role {} takes {} base", axis.role, "no" if axis.role == "whole" else "a")
        names = function_of(self).axes.names
        expected = TileType([name if name == axis.name else None for name in names], index)
        require(self.indices.type is expected, self, "lanes of {} are {}, got {}", axis.name, expected, self.indices.type)


@op("kernel.bound")
class BoundOp(Operation):
    """True in the lanes whose index lies inside the extent of the axis."""

    lanes: Operand[TileType]
    axis: Attr[str]
    inside: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (with_element(self.lanes.type, i1),)

    def verify(self) -> None:
        axis_of(self, self.axis)
        require(isinstance(self.lanes.op, LanesOp) and self.lanes.op.axis == self.axis, self, "'kernel.bound' takes the lanes of axis {}", self.axis)


@op("kernel.index")
class IndexOp(Operation):
    """Index arithmetic: `map` of the operands, its dims first, its symbols behind them."""

    indices: Variadic
    map: Attr[IndexMap]
    value: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (join(self, [value.type for value in self.indices], index),)

    def verify(self) -> None:
        _verify_map(self, self.map, self.indices)


@op("kernel.load")
class LoadOp(Operation):
    """Read the elements at `map` of the index tiles; zero where a mask is false."""

    pointer: Operand[PtrType]
    indices: Variadic
    masks: Variadic
    map: Attr[IndexMap]
    value: Result
    traits = (Reads("pointer"),)

    def infer(self) -> tuple[Type, ...]:
        return (join(self, [value.type for value in self.operands[1:]], self.pointer.type.element),)

    def verify(self) -> None:
        _verify_map(self, self.map, self.indices)
        _verify_masks(self, self.masks)


def _verify_write(operation: Operation, pointer: Value, value: Value, indices: list[Value], masks: list[Value], map: IndexMap) -> None:
    _verify_map(operation, map, indices)
    _verify_masks(operation, masks)
    element = element_of(value.type)
    require(element is pointer.type.element, operation, "memory of {} cannot take {}", pointer.type.element, element)
    _verify_reach(operation, value, indices)


def _verify_reach(operation: Operation, value: Value, indices: list[Value]) -> None:
    """No two lanes of the value go to one element."""
    reached = frozenset().union(*[axes_of(v.type) for v in indices])
    loose = sorted(axes_of(value.type) - reached)
    require(not loose, operation, "the value varies over {}, the address does not", ", ".join(loose))


@op("kernel.store")
class StoreOp(Operation):
    """Write `value` to the elements at `map` of the index tiles, where all masks are true."""

    pointer: Operand[PtrType]
    value: Operand[TILE]
    indices: Variadic
    masks: Variadic
    map: Attr[IndexMap]
    traits = (Writes("pointer"),)

    def verify(self) -> None:
        _verify_write(self, self.pointer, self.value, self.indices, self.masks, self.map)


@op("kernel.atomic_add")
class AtomicAddOp(Operation):
    """Add `value` to the elements at `map` of the index tiles, in any order among lanes and programs."""

    pointer: Operand[PtrType]
    value: Operand[TILE]
    indices: Variadic
    masks: Variadic
    map: Attr[IndexMap]
    traits = (Reads("pointer"), Writes("pointer"))

    def verify(self) -> None:
        _verify_map(self, self.map, self.indices)
        _verify_masks(self, self.masks)
        element = element_of(self.value.type)
        require(element is self.pointer.type.element, self, "memory of {} cannot take {}", self.pointer.type.element, element)


@op("kernel.prefetch")
class PrefetchOp(Operation):
    """Ask for the memory at `map` of the index tiles; any address will do, also one out of bounds, and nothing depends on it."""

    pointer: Operand[PtrType]
    indices: Variadic
    map: Attr[IndexMap]
    traits = (Reads("pointer"), Writes("pointer"))

    def verify(self) -> None:
        _verify_map(self, self.map, self.indices)


@op("kernel.scratch")
class ScratchOp(Operation):
    """Memory of this program alone, undefined at first."""

    memory: Result[ScratchType]
    traits = (Pure,)


@op("kernel.scratch_load")
class ScratchLoadOp(Operation):
    """Read the elements of the scratch at the lanes; zero where a mask is false."""

    scratch: Operand[ScratchType]
    lanes: Operand[TILE]
    masks: Variadic
    value: Result
    traits = (Reads("scratch"),)

    def infer(self) -> tuple[Type, ...]:
        return (join(self, [value.type for value in self.operands[1:]], self.scratch.type.element),)

    def verify(self) -> None:
        _verify_masks(self, self.masks)


@op("kernel.scratch_store")
class ScratchStoreOp(Operation):
    """Write a tile to the elements of the scratch at the lanes, where all masks are true."""

    scratch: Operand[ScratchType]
    value: Operand[TILE]
    lanes: Operand[TILE]
    masks: Variadic
    traits = (Writes("scratch"),)

    def verify(self) -> None:
        _verify_masks(self, self.masks)
        element = element_of(self.value.type)
        require(element is self.scratch.type.element, self, "scratch of {} cannot take {}", self.scratch.type.element, element)
        _verify_reach(self, self.value, [self.lanes])


@op("kernel.const")
class ConstOp(Operation):
    """A constant: one number, or a tile full of it."""

    value: Attr[(bool, int, float)]
    output: Result[TILE]
    traits = (Pure,)

    def verify(self) -> None:
        element = element_of(self.output.type)
        kinds = {"float": float, "bool": bool}
        require(type(self.value) is kinds.get(element.kind, int), self, "a constant of {} cannot be {}", element, self.value)


@op("kernel.cast")
class CastOp(Operation):
    """The operand in another element type.  To a narrower float: rounded to nearest even.  Float to integer: towards zero, some value when it does
    not fit.  To i1: whether it differs from zero."""

    value: Operand[TILE]
    output: Result[TILE]
    traits = (Pure,)

    def verify(self) -> None:
        expected = with_element(self.value.type, element_of(self.output.type))
        require(self.output.type is expected, self, "a cast keeps the axes of {}, got {}", self.value.type, self.output.type)

    def fold(self) -> Value | None:
        """cast(x : T) : T  =>  x"""
        return self.value if self.value.type is self.output.type else None


@op("kernel.select")
class SelectOp(Operation):
    """The second operand where the first is true, else the third."""

    condition: Operand[TILE]
    when_true: Operand[TILE]
    when_false: Operand[TILE]
    output: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (join(self, [value.type for value in self.operands], element_of(self.when_true.type)),)

    def verify(self) -> None:
        require(element_of(self.condition.type) is i1, self, "the condition must be i1, got {}", self.condition.type)
        first, second = element_of(self.when_true.type), element_of(self.when_false.type)
        require(first is second, self, "'kernel.select' chooses between values of one element type, got {} and {}", first, second)


@op("kernel.reduce")
class ReduceOp(Operation):
    """Fold a tile along one axis, in any order.  `max` and `min` give NaN if a lane is NaN."""

    tile: Operand[TileType]
    kind: Attr[REDUCTIONS]
    axis: Attr[str]
    output: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (_without(self.tile.type, self.axis),)

    def verify(self) -> None:
        require(self.axis in axes_of(self.tile.type), self, "{} does not vary over {}", self.tile.type, self.axis)


@op("kernel.reduce_index")
class ReduceIndexOp(Operation):
    """The entry of `indices` at the greatest (least) lane along one axis: at a NaN if there is one, of equal lanes the least entry."""

    tile: Operand[TileType]
    indices: Operand[TILE]
    kind: Attr[frozenset({"max", "min"})]
    axis: Attr[str]
    output: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (_without(join(self, [self.tile.type, self.indices.type], element_of(self.indices.type)), self.axis),)

    def verify(self) -> None:
        require(self.axis in axes_of(self.tile.type), self, "{} does not vary over {}", self.tile.type, self.axis)
        kind = element_of(self.indices.type).kind
        require(kind in ("signed", "unsigned", "index"), self, "entries must be integers, got {}", self.indices.type)


@op("kernel.scan")
class ScanOp(Operation):
    """Fold each lane with all lanes before it along one axis, in order."""

    tile: Operand[TileType]
    kind: Attr[frozenset({"sum", "prod", "max", "min"})]
    axis: Attr[str]
    output: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (self.tile.type,)

    def verify(self) -> None:
        require(self.axis in axes_of(self.tile.type), self, "{} does not vary over {}", self.tile.type, self.axis)


@op("kernel.dot")
class DotOp(Operation):
    """Sum of products along one axis that both tiles vary over, added to `accumulator`; the axes are matched by name, so nothing is transposed."""

    lhs: Operand[TileType]
    rhs: Operand[TileType]
    accumulator: Operand[TILE]
    axis: Attr[str]
    output: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (self.accumulator.type,)

    def verify(self) -> None:
        shared = axes_of(self.lhs.type) & axes_of(self.rhs.type)
        require(self.axis in shared, self, "both tiles must vary over {}", self.axis)
        product = (axes_of(self.lhs.type) | axes_of(self.rhs.type)) - {self.axis}
        require(product == axes_of(self.accumulator.type), self, "the product varies over {}, the accumulator is {}", sorted(product), self.accumulator.type)


@op("kernel.for")
class ForOp(Operation):
    """Walk a loop axis in steps of its block (or of `step` indices): from `begin` to its end or over `span` indices, or `span` indices from `start` on, at
    most to the end of the axis.

    The block's arguments are the first index of the step and the carried tiles; `yield` gives their next values, and the results are the last.
    """

    initial: Variadic
    start: OptionalOperand[index]
    axis: Attr[str]
    begin: Attr[(int, Expr)] = 0
    step: Attr[int] = None
    span: Attr[(int, Expr)] = None
    final: VariadicResult
    contents: RegionField
    traits = (RecursiveEffects, SingleBlock)

    def verify(self) -> None:
        axis = axis_of(self, self.axis)
        require(axis.role == "loop", self, "axis {} has the role {}, only a loop axis is walked", self.axis, axis.role)
        block = function_of(self).blocks.size(self.axis)
        for name, size in (("begin", self.begin), ("step", self.step), ("span", self.span)):
            require(size is None or _is_multiple(size, block), self, "'{}' must be a multiple of the block {}, got {}", name, block, size)
        bounded = self.span is not None
        require(bounded or self.start is None, self, "a loop with a start needs a span")
        require(not (bounded and self.step) or _is_multiple(self.span, self.step), self, "the span {} must be a multiple of the step {}", self.span, self.step)
        end = self.begin if self.span is None else self.begin + self.span
        require(UNBOUNDED.less_equal(end, axis.extent) is not False, self, "the loop reaches beyond the extent {}", axis.extent)
        self._verify_carried()

    def _verify_carried(self) -> None:
        types = [value.type for value in self.initial]
        args = [value.type for value in self.body.args]
        require(args == [index, *types], self, "the body takes index and what is carried, {}; got {}", _list(types), _list(args))
        results = [value.type for value in self.results]
        require(results == types, self, "a loop gives what it carries, {}; got {}", _list(types), _list(results))
        last = self.body.last
        require(isinstance(last, YieldOp), self, "the body must end in 'kernel.yield'")
        assert last is not None
        given = [value.type for value in last.operands]
        require(given == types, last, "'kernel.yield' must give what is carried, {}; got {}", _list(types), _list(given))


@op("kernel.yield")
class YieldOp(Operation):
    """The carried tiles of the next step."""

    values: Variadic
    traits = (Terminator, HasParent("kernel.for"))


@op("kernel.return")
class ReturnOp(Operation):
    """The end of the program."""

    traits = (Terminator, HasParent("kernel.func"))


def _is_multiple(size: Size, of: int) -> bool:
    return size >= 0 and size % of == 0 if type(size) is int else exact_quotient(size, of) is not None


def _list(types: list[Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _without(type: Type, axis: str) -> Type:
    if not isinstance(type, TileType):
        return type
    left = [None if name == axis else name for name in type.axes]
    return TileType(left, type.element) if any(left) else type.element


def _verify_map(operation: Operation, map: IndexMap, indices: list[Value]) -> None:
    wanted = map.num_dims + map.num_indices
    require(len(map.results) == 1, operation, "the map must have one result, got {}", len(map.results))
    require(len(indices) == wanted, operation, "the map takes {} indices, got {}", wanted, len(indices))
    for value in indices:
        number = isinstance(value.type, TILE)
        require(number and element_of(value.type).kind in ("index", "signed", "unsigned"), operation, "an index must be an integer, got {}", value.type)


def _verify_masks(operation: Operation, masks: list[Value]) -> None:
    for mask in masks:
        require(isinstance(mask.type, TILE) and element_of(mask.type) is i1, operation, "a mask must be i1, got {}", mask.type)
