"""loop: what is computed at every point of an index space, over flat memory, before anything is said about loops, lanes or threads.

A `loop.func` is one graph: nests, library calls and a return, over buffers.  A buffer is flat memory that one operation writes and that does not
change afterwards, so buffers are values; parameters are the memory from the first element of a tensor on.  Decisions of passes (what is stored,
what was fused and what was not and why, which buffers share memory) are attributes with reasons.

A `loop.nest` is ONE block of scalar operations over an index space.  The block's arguments are the dims.  The block is evaluated at every point,
in no order.  A value varies over the dims that its operands vary over; `reduce` gives a value that no longer varies over the dims it folds, the
same at all their points, and later operations may vary over those dims again: softmax and layer norm are one flat block, and how many sweeps over
a row they take is found when the nest is lowered.  All reductions of one nest fold the same dims.  `load` and `store` address flat memory by index
maps.  Each result of a nest is written by exactly one `store`, each element at one point (or at points that agree); an element that no point
writes is undefined, and nothing may read it.  A result that is written by an `update` instead begins with the elements of another buffer, whose
memory it takes over, and points may meet at an element: these come one after another, in the order of dims that the update names.  Such a nest stays
as it is.

Numbers are as the scalar operations have them: every float operation rounds once, halves are cast to f32, computed and cast back, and that cast
is the rounding.  `reduce` may fold in any order, with an error of the order of a pairwise sum.

A `loop.extern` calls a library function on strided views of buffers; its results are new buffers in the layout that the library gives.  A
`loop.return` gives strided views of buffers to the caller: of results, of parameters, several of one buffer if the tensors alias.  The one
exception to buffers that do not change are the last operations in front of it, `loop.write`, which copy into parameters.
"""

from __future__ import annotations

from lect.dialects.loop.attributes import BlockedAttr, DependsAttr, FuseAttr, SpaceAttr, ViewAttr, operand_numbers, verify_view
from lect.dialects.loop.coverage import verify_written
from lect.dialects.loop.types import BufferType
from lect.ir import (
    Attr,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    NoTerminator,
    Operand,
    Operation,
    Pure,
    Reads,
    RegionField,
    Result,
    ScalarType,
    SingleBlock,
    SymbolRef,
    SymbolTableTrait,
    Terminator,
    Type,
    Value,
    Variadic,
    VariadicResult,
    Writes,
    op,
    require,
)
from lect.ir.facts import problem_of, symbols_of
from lect.ir.index_map import IndexMap, dims_of, indices_of, is_affine
from lect.ir.symbolic import Expr
from lect.ir.types import i1, i64, index

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all", "xor"})
SCANS = frozenset({"sum", "prod", "max", "min", "logaddexp"})
UPDATES = frozenset({"set", "sum", "prod", "max", "min"})
IN_NEST = HasParent("loop.nest")
DECISIONS = (("realize", str), ("slots", (int, type(None))), ("fused", FuseAttr), ("blocked", BlockedAttr), ("in_place", tuple), ("depends", DependsAttr))


@op("loop.func")
class FuncOp(Operation):
    """One graph.  `arguments` says how each parameter's memory is seen as a tensor (row-major in the buffer's sizes where it is left out).

    `consumed` are the numbers of parameters that nobody has behind the call, so their memory is given back behind their last use.
    `device` is where its memory lies.  `symbols` says what is known of the size symbols that occur (`ir.facts`) and whence they come.
    `slot_bytes` are the sizes of the pieces of memory that the buffer plan shares among buffers, `peak_bytes` the most
    that is live at once, `order` why the operations stand in another order than in the program.
    """

    sym_name: Attr[str]
    arguments: Attr[tuple] = ()
    device: Attr[str] = "cpu"
    slot_bytes: Attr[tuple] = ()
    peak_bytes: Attr[int] = 0
    order: Attr[str] = ""
    symbols: Attr[(dict, None)] = None
    consumed: Attr[tuple] = ()
    contents: RegionField
    traits = (FuncLike, IsolatedFromAbove, SingleBlock, SymbolTableTrait)

    def argument_view(self, number: int) -> ViewAttr:
        """The tensor that parameter `number` stands for."""
        if self.arguments:
            return self.arguments[number]
        return ViewAttr(self.body.args[number].type.sizes)

    def verify(self) -> None:
        args = self.body.args
        for value in args:
            require(isinstance(value.type, BufferType), self, "parameters of 'loop.func' are !loop.buffer, got {}", value.type)
        require(not self.arguments or len(self.arguments) == len(args), self, "'arguments' needs one view for each of {} parameters", len(args))
        for value, view in zip(args, self.arguments):
            verify_view(self, value, view)
        require(isinstance(self.body.last, ReturnOp), self, "'loop.func' ends in 'loop.return'")
        known = set(self.consumed) <= set(range(len(self.body.args))) and len(set(self.consumed)) == len(self.consumed)
        require(known, self, "'consumed' are numbers of parameters, each once, got {}", self.consumed)
        require(self.peak_bytes >= 0, self, "'peak_bytes' is a number of bytes, got {}", self.peak_bytes)
        for size in self.slot_bytes:
            require(type(size) is Expr or (type(size) is int and size >= 0), self, "'slot_bytes' are sizes in bytes, got {}", size)
        problem = problem_of(self.symbols) if self.symbols else None
        require(problem is None, self, "{}", problem)
        for inner in self.body:
            require(isinstance(inner, (NestOp, ExternOp, WriteOp, ReturnOp)), inner, "'{}' stands inside a nest, not in 'loop.func'", inner.name)
            if isinstance(inner, NestOp):
                self._verify_slots(inner)
            ordered = not isinstance(inner.prev, WriteOp) or isinstance(inner, (WriteOp, ReturnOp))
            require(ordered, inner, "'{}' stands behind a write to a parameter", inner.name)

    def _verify_slots(self, nest: NestOp) -> None:
        """A slot has room for what lies in it."""
        for value, slot in zip(nest.results, nest.slots):
            if slot is None:
                continue
            require(0 <= slot < len(self.slot_bytes), nest, "there is no slot {}, 'slot_bytes' has {}", slot, len(self.slot_bytes))
            have, need = self.slot_bytes[slot], value.type.bytes
            room = have is need or type(need) is type(have) is int and have >= need
            require(room, nest, "slot {} has {} bytes, a result in it needs {}", slot, have, need)


@op("loop.nest")
class NestOp(Operation):
    """One block of scalar operations over an index space; `inputs` are the buffers it loads, results the buffers it stores.

    `realize` says of each result why it is stored, or "inline" when its users shall compute it themselves; `slots` the piece of planned memory
    of each result (none: memory of its own), `in_place` pairs (result, input) that share memory point by point; an input that
    is a parameter lends its memory only to what `loop.write` puts there as a whole; `depends` says where it reads what other operations make;
    `chosen` why a matrix product or the like is this nest and no library call; `order` why its dims stand in another order than they were made in;
    `layout` in which other order of dims than the program's its results lie, and why.
    """

    inputs: Variadic[BufferType]
    sym_name: Attr[str]
    space: Attr[SpaceAttr]
    realize: Attr[tuple] = ()
    fused: Attr[tuple] = ()
    blocked: Attr[tuple] = ()
    slots: Attr[tuple] = ()
    in_place: Attr[tuple] = ()
    depends: Attr[tuple] = ()
    chosen: Attr[str] = ""
    order: Attr[str] = ""
    layout: Attr[str] = ""
    buffers: VariadicResult[BufferType]
    contents: RegionField
    traits = (Pure, SingleBlock, NoTerminator, HasParent("loop.func"))

    @property
    def loads(self) -> list[LoadOp]:
        """The loads of the block, in order."""
        return [inner for inner in self.body if type(inner) is LoadOp]

    @property
    def stores(self) -> list[StoreOp | UpdateOp]:
        """The stores and updates of the block, in order."""
        return [inner for inner in self.body if type(inner) in (StoreOp, UpdateOp)]

    @property
    def updates(self) -> list[UpdateOp]:
        """The updates of the block, in order."""
        return [inner for inner in self.body if type(inner) is UpdateOp]

    @property
    def ordered(self) -> tuple[int, ...]:
        """The dims whose points come one after another, outermost first; empty when the points have no order."""
        return next((inner.order for inner in self.updates), ())

    @property
    def needed_inputs(self) -> list[Value]:
        """The buffers that the block loads or that results begin with, each once."""
        found = [inner.buffer if type(inner) is LoadOp else inner.base for inner in self.body if type(inner) in (LoadOp, UpdateOp)]
        return list(dict.fromkeys(found))

    @property
    def products(self) -> list[ReduceOp]:
        """The sums of products of a matrix product or a convolution; empty for other nests, those with sums of squares among them."""
        return [inner for inner in self.body if type(inner) is ReduceOp and inner.contract and len(set(inner.value.op.operands)) > 1]  # type: ignore[union-attr]

    @property
    def reduced(self) -> tuple[int, ...]:
        """The dims that reductions fold, in order; empty when there is no reduction."""
        for inner in self.body:
            if type(inner) in (ReduceOp, ReduceIndexOp):
                return inner.over
        return ()

    def store_of(self, result: int) -> StoreOp | UpdateOp:
        """The store or update that writes result `result`."""
        return next(store for store in self.stores if store.to == result)

    def verify(self) -> None:
        rank = len(self.space.sizes)
        args = [value.type for value in self.body.args]
        require(args == [index] * rank, self, "the block takes {} dims of type index, got {}", rank, args)
        require(len(set(self.inputs)) == len(self.inputs), self, "a buffer is listed twice among the inputs")
        needed = set(self.needed_inputs)
        for value in self.inputs:
            require(value in needed, self, "an input of type {} is never loaded", value.type)
        require(self.results, self, "a nest stores at least one buffer")
        for name in ("realize", "slots"):
            have = len(getattr(self, name))
            require(have in (0, len(self.results)), self, "'{}' needs one entry for each of {} results, got {}", name, len(self.results), have)
        for name, kinds in DECISIONS:
            for entry in getattr(self, name):
                require(isinstance(entry, kinds), self, "'{}' cannot have the entry {}", name, entry)
        self._verify_body()

    def _verify_body(self) -> None:
        inputs = set(self.inputs)
        written: set[int] = set()
        over = None
        for inner in self.body:
            if type(inner) is LoadOp:
                require(inner.buffer in inputs, inner, "the loaded buffer is no input of its nest")
            elif type(inner) in (StoreOp, UpdateOp):
                require(inner.to not in written, inner, "result {} is stored twice", inner.to)
                written.add(inner.to)
                if type(inner) is UpdateOp:
                    self._verify_update(inner, inputs)
            elif type(inner) in (ReduceOp, ReduceIndexOp):
                require(over in (None, inner.over), inner, "one nest folds the dims {}, and here {}", over, inner.over)
                over = inner.over
            else:
                require(not inner.regions and type(inner) not in (NestOp, ExternOp, ReturnOp, FuncOp), inner, "'{}' is no scalar operation", inner.name)
        missing = [k for k in range(len(self.results)) if k not in written]
        require(not missing, self, "result {} is never stored", missing[0] if missing else 0)
        varying = variance(self)
        for store in self.stores:
            ordered = _mask(frozenset(store.order)) if type(store) is UpdateOp else 0
            loose = varying[store.value] & ~_mask(dims_of(store.map.offset)) & ~unit_dims(self) & ~ordered
            require(not loose, store, "the stored value varies over d{}, the address does not", loose.bit_length() - 1)
        verify_written(self)

    def _verify_update(self, update: UpdateOp, inputs: set[Value]) -> None:
        base = update.base
        require(base in inputs, update, "what the result begins with is no input of its nest")
        require(isinstance(base.owner, NestOp), update, "a result begins with the result of a nest, whose memory it takes over")
        alone = all(user is update or user is self for user in base.users)
        require(alone, update, "the result takes over the memory of a buffer that something else reads")
        require(update.order == self.ordered, update, "the updates of one nest have one order, {} and {}", list(self.ordered), list(update.order))


def _mask(dims: frozenset[int]) -> int:
    mask = 0
    for position in dims:
        mask |= 1 << position
    return mask


def unit_dims(nest: NestOp) -> int:
    """Bit mask of the dims of size 1, over which nothing varies."""
    return _mask(frozenset(k for k, size in enumerate(nest.space.sizes) if size == 1))


def variance(nest: NestOp) -> dict[Value, int]:
    """For each value of the block a bit mask of the dims it varies over."""
    out: dict[Value, int] = {value: 1 << k for k, value in enumerate(nest.body.args)}
    for inner in nest.body:
        mask = 0
        for value in inner.operands:
            mask |= out.get(value, 0)
        kind = type(inner)
        if kind is LoadOp or kind is IndexOp:
            mask |= _mask(dims_of(inner.map.offset))
        elif kind is ReduceOp or kind is ReduceIndexOp:
            mask &= ~_mask(frozenset(inner.over))
        elif kind is ScanOp:
            mask |= 1 << inner.over
        for value in inner.results:
            out[value] = mask
    return out


def _nest_of(inner: Operation) -> NestOp:
    parent = inner.parent_op
    require(isinstance(parent, NestOp), inner, "'{}' must stand inside 'loop.nest'", inner.name)
    assert isinstance(parent, NestOp)
    return parent


def _verify_map(inner: Operation, map: IndexMap, count: int) -> NestOp:
    nest = _nest_of(inner)
    rank = len(nest.space.sizes)
    require(map.num_dims == rank, inner, "the map takes {} dims, the space has {}", map.num_dims, rank)
    require(len(map.results) == 1, inner, "the map must have one result, got {}", len(map.results))
    require(map.num_indices == count, inner, "the map takes {} loaded indices, got {}", map.num_indices, count)
    return nest


def _verify_bounds(inner: Operation, nest: NestOp, map: IndexMap, buffer: Type) -> None:
    """Affine maps of dims alone have exact bounds, so an access outside of the buffer is an error here."""
    assert isinstance(buffer, BufferType)
    numel = buffer.numel
    if type(numel) is not int or any(size == 0 for size in nest.space.sizes) or not is_affine(map.offset) or indices_of(map.offset):
        return
    if symbols_of(map.offset):
        return  # guards may know more of them than their bounds
    low, high = nest.space.ranges.bounds(map.offset)
    inside = (low is None or low >= 0) and (high is None or high < numel)
    require(inside, inner, "the map reaches from {} to {}, the buffer has {} elements", low, high, numel)


@op("loop.load")
class LoadOp(Operation):
    """The element at `map` of the dims and of the loaded `indices`; zero (false) where a mask is false, and then nothing is read."""

    buffer: Operand[BufferType]
    indices: Variadic[(i64, index)]
    masks: Variadic[i1]
    map: Attr[IndexMap]
    value: Result[ScalarType]
    traits = (Reads("buffer"), IN_NEST)

    def infer(self) -> tuple[Type, ...]:
        return (self.buffer.type.element,)

    def verify(self) -> None:
        nest = _verify_map(self, self.map, len(self.indices))
        if not self.masks:
            _verify_bounds(self, nest, self.map, self.buffer.type)


@op("loop.store")
class StoreOp(Operation):
    """Write a number to the element at `map` of result `to` of the nest."""

    value: Operand[ScalarType]
    to: Attr[int] = 0
    map: Attr[IndexMap]
    traits = (IN_NEST,)

    def verify(self) -> None:
        nest = _verify_map(self, self.map, 0)
        require(0 <= self.to < len(nest.results), self, "the nest has {} results, there is no number {}", len(nest.results), self.to)
        buffer = nest.results[self.to].type
        require(self.value.type is buffer.element, self, "result {} takes {}, got {}", self.to, buffer.element, self.value.type)
        _verify_bounds(self, nest, self.map, buffer)


@op("loop.update")
class UpdateOp(Operation):
    """Combine a number with the element at `map` of the dims and of the loaded `indices` of result `to` of the nest, where all masks are true.

    The result begins with the elements of `base`, a result of another nest that nothing else reads, and lies in its memory.  Points that differ in the
    dims `order` may meet at an element and come one after another, those of the last of these dims first; other points never meet.  With the kind
    "set" the last number stays; the others fold, and a half is rounded each time.
    """

    value: Operand[ScalarType]
    base: Operand[BufferType]
    indices: Variadic[(i64, index)]
    masks: Variadic[i1]
    kind: Attr[UPDATES]
    order: Attr[tuple]
    to: Attr[int] = 0
    map: Attr[IndexMap]
    traits = (Reads("base"), IN_NEST)

    def verify(self) -> None:
        nest = _verify_map(self, self.map, len(self.indices))
        require(0 <= self.to < len(nest.results), self, "the nest has {} results, there is no number {}", len(nest.results), self.to)
        rank = len(nest.space.sizes)
        good = len(set(self.order)) == len(self.order) and all(type(k) is int and 0 <= k < rank for k in self.order)
        require(good, self, "'order' lists dims of the space, each once; the space has {}, got {}", rank, list(self.order))
        buffer = nest.results[self.to].type
        require(self.value.type is buffer.element, self, "result {} takes {}, got {}", self.to, buffer.element, self.value.type)
        require(self.base.type is buffer, self, "result {} of type {} cannot begin with {}", self.to, buffer, self.base.type)
        if not self.masks:
            _verify_bounds(self, nest, self.map, buffer)


@op("loop.index")
class IndexOp(Operation):
    """The value of `map` at this point, as a number."""

    map: Attr[IndexMap]
    value: Result[i64]
    traits = (Pure, IN_NEST)

    def infer(self) -> tuple[Type, ...]:
        return (i64,)

    def verify(self) -> None:
        _verify_map(self, self.map, 0)


def _verify_over(inner: Operation, over: tuple[int, ...]) -> None:
    rank = len(_nest_of(inner).space.sizes)
    valid = all(type(k) is int and 0 <= k < rank for k in over) and list(over) == sorted(set(over))
    require(over and valid, inner, "'over' lists dims of the space in order, each once; the space has {}, got {}", rank, list(over))


@op("loop.reduce")
class ReduceOp(Operation):
    """Fold a value over all points of the dims `over`; a value that does not vary there enters once for each point.

    `max` and `min` give NaN if a value is NaN.  Over no point, `sum` and `any` give zero, `prod` and `all` one, `max` and `min` the least and the
    greatest number of the type.  With `contract` the value is a product, and each may enter the sum before it is rounded, as in a matrix product.
    """

    value: Operand[ScalarType]
    kind: Attr[REDUCTIONS]
    over: Attr[tuple]
    contract: Attr[bool] = False
    folded: Result[ScalarType]
    traits = (Pure, IN_NEST)

    def infer(self) -> tuple[Type, ...]:
        return (self.value.type,)

    def verify(self) -> None:
        _verify_over(self, self.over)
        type = self.value.type
        require(not type.is_half, self, "'loop.reduce' does not fold in {}, cast to f32 first", type)
        require((self.kind in ("any", "all")) <= (type is i1), self, "'{}' folds i1, got {}", self.kind, type)
        require(type is not i1 or self.kind in ("any", "all", "xor"), self, "'{}' does not fold i1", self.kind)
        product = self.kind == "sum" and type.is_float and self.value.op is not None and self.value.op.name == "loop.mul"
        require(product or not self.contract, self, "'contract' is for sums of float products")


@op("loop.reduce_index")
class ReduceIndexOp(Operation):
    """The `position` that belongs to the greatest (least) value over the dims `over`: the first NaN if there is one, of equal values the least position."""

    value: Operand[ScalarType]
    position: Operand[i64]
    kind: Attr[frozenset({"max", "min"})]
    over: Attr[tuple]
    found: Result[i64]
    traits = (Pure, IN_NEST)

    def infer(self) -> tuple[Type, ...]:
        return (i64,)

    def verify(self) -> None:
        _verify_over(self, self.over)
        require(not self.value.type.is_half, self, "'loop.reduce_index' does not compare {}, cast to f32 first", self.value.type)


@op("loop.scan")
class ScanOp(Operation):
    """Fold a value with all values before it along the dim `over`, in order, itself included.

    "logaddexp" takes the logarithm of the sum of their exponentials.
    """

    value: Operand[ScalarType]
    kind: Attr[SCANS]
    over: Attr[int]
    folded: Result[ScalarType]
    traits = (Pure, IN_NEST)

    def infer(self) -> tuple[Type, ...]:
        return (self.value.type,)

    def verify(self) -> None:
        _verify_over(self, (self.over,))
        require(not self.value.type.is_half, self, "'loop.scan' does not fold in {}, cast to f32 first", self.value.type)


@op("loop.const")
class ConstOp(Operation):
    """A number."""

    value: Attr[(bool, int, float)]
    number: Result[ScalarType]
    traits = (Pure, IN_NEST)

    def verify(self) -> None:
        element = self.number.type
        wanted = {"float": float, "bool": bool}.get(element.kind, int)
        require(type(self.value) is wanted, self, "a constant of {} cannot be {}", element, self.value)
        if wanted is int:
            signed = element.kind != "unsigned"
            low, high = (-(1 << element.bits - 1), (1 << element.bits - 1) - 1) if signed else (0, (1 << element.bits) - 1)
            require(low <= self.value <= high, self, "{} does not fit {}", self.value, element)


@op("loop.cast")
class CastOp(Operation):
    """The number in another type.  To a narrower float: rounded to nearest even, the only rounding of 16-bit floats.  Float to integer: towards
    zero, and some value when it does not fit.  Integer to a narrower one: the low bits.  To i1: whether it differs from zero."""

    value: Operand[ScalarType]
    number: Result[ScalarType]
    traits = (Pure, IN_NEST)

    def fold(self) -> Value | None:
        """cast(x : T) : T  =>  x"""
        return self.value if self.value.type is self.number.type else None


@op("loop.select")
class SelectOp(Operation):
    """The second operand where the first is true, else the third."""

    condition: Operand[i1]
    when_true: Operand[ScalarType]
    when_false: Operand[ScalarType]
    chosen: Result[ScalarType]
    traits = (Pure, IN_NEST)

    def infer(self) -> tuple[Type, ...]:
        return (self.when_true.type,)

    def verify(self) -> None:
        first, second = self.when_true.type, self.when_false.type
        require(first is second, self, "'loop.select' needs operands of one type, got {} and {}", first, second)

    def fold(self) -> Value | None:
        """select(c, x, x)  =>  x, and  select(const, x, y)  =>  x or y"""
        if self.when_true is self.when_false:
            return self.when_true
        condition = self.condition.op
        if isinstance(condition, ConstOp):
            return self.when_true if condition.value else self.when_false
        return None


@op("loop.extern")
class ExternOp(Operation):
    """Call a library function: `callee` names an ATen overload, `args` and `kwargs` are written out with `#loop.operand<n>` where operand n goes.

    `views` says how each operand is seen as a tensor, `result_views` the tensors that the library returns, each in a new buffer whose sizes are its
    physical order.  A type among the arguments stands for a torch dtype.  A call may raise, so it is never dropped.
    `in_place` pairs (result, operand): the library writes to the operand, a parameter that `loop.write` gives the result in the end.  `chosen` says why
    this is a library call where a nest could do it.
    """

    operands_: Variadic[BufferType]
    sym_name: Attr[str]
    callee: Attr[SymbolRef]
    views: Attr[tuple] = ()
    args: Attr[tuple] = ()
    kwargs: Attr[dict] = {}  # noqa: RUF012
    result_views: Attr[tuple] = ()
    slots: Attr[tuple] = ()
    in_place: Attr[tuple] = ()
    chosen: Attr[str] = ""
    buffers: VariadicResult[BufferType]
    traits = (HasParent("loop.func"),)

    def verify(self) -> None:
        require(len(self.views) == len(self.operands), self, "'views' needs one view for each of {} operands, got {}", len(self.operands), len(self.views))
        for value, view in zip(self.operands, self.views):
            verify_view(self, value, view)
        count = len(self.results)
        require(len(self.result_views) == count, self, "'result_views' needs one view for each of {} results, got {}", count, len(self.result_views))
        for value, view in zip(self.results, self.result_views):
            verify_view(self, value, view)
        for number in operand_numbers((self.args, self.kwargs)):
            require(0 <= number < len(self.operands), self, "there is no operand {}, the call has {}", number, len(self.operands))
        for pair in self.in_place:
            good = isinstance(pair, tuple) and len(pair) == 2 and pair[0] in range(count) and pair[1] in range(len(self.operands))
            require(good, self, "'in_place' cannot have the entry {}", pair)


@op("loop.write")
class WriteOp(Operation):
    """Copy `value`, seen through `view`, into the memory of a parameter, seen through `place`; everything else was computed before.

    `versions` is how many writes in place autograd counts for it.
    """

    target: Operand[BufferType]
    value: Operand[BufferType]
    place: Attr[ViewAttr]
    view: Attr[ViewAttr]
    versions: Attr[int] = 1
    traits = (Reads("value"), Writes("target"), HasParent("loop.func"))

    def verify(self) -> None:
        require(self.target.is_argument, self, "only parameters are written")
        require(self.place.sizes == self.view.sizes, self, "a write copies equal sizes, got {} and {}", list(self.view.sizes), list(self.place.sizes))
        require(self.target.type.element is self.value.type.element, self, "a write keeps the element type {}", self.target.type.element)
        require(self.versions >= 0, self, "'versions' counts writes, got {}", self.versions)
        verify_view(self, self.target, self.place)
        verify_view(self, self.value, self.view)


@op("loop.return")
class ReturnOp(Operation):
    """End the graph with strided views of these buffers."""

    values: Variadic[BufferType]
    views: Attr[tuple] = ()
    traits = (Terminator, HasParent("loop.func"))

    def verify(self) -> None:
        require(len(self.views) == len(self.operands), self, "'views' needs one view for each of {} values, got {}", len(self.operands), len(self.views))
        for value, view in zip(self.operands, self.views):
            verify_view(self, value, view)
