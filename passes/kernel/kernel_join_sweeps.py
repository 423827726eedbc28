"""Walk long rows once for a maximum and for the sum of exponentials that needs it: the online form of softmax.

    %m = for R { maximum }          %m, %s = for R (-inf, 0) {step = 1024} {
    %s = for R { sum exp(x - %m) }    =>       %n = max(%m, for R over this chunk { maximum })
                                               %s * exp(%m - %n) + for R over this chunk { sum exp(x - %n) }
                                             }

The second loop reads a chunk from the first cache and not the whole row from memory again; the sum so far is scaled to the new maximum, once a chunk,
so it costs no exponential for each element.  This pays only where the second reading comes from memory: rows that the second cache of the target
does not hold, and that its last cache does not hold for all `threads` at once.  From a cache it comes as fast as exponentials are computed.  On a GPU every
row that is walked at all is walked once, a chunk being one tile, which stays in registers.

A row that begins with -inf counts as nothing until something greater comes; a row of -inf alone gives NaN and one with NaN or
+inf gives NaN, as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Block, Context, Operation, Region, Value
from lect.ir.block import clone_region
from lect.ir.types import index
from lect.passes.base import Pass, option
from lect.passes.kernel.kernel_keep_rows import Keys
from lect.passes.targets import is_gpu

L2_BYTES = 512 << 10
L3_BYTES = 8 << 20


@dataclass(frozen=True)
class KernelJoinSweeps(Pass):
    """Join the sweep of a maximum with that of the exponentials behind it where rows are long."""

    name: ClassVar[str] = "kernel-join-sweeps"
    chunk: int = option(1024, "elements of a chunk")
    row_bytes: int = option(0, "rows of more bytes are walked once; 0: those that the caches do not hold")

    def run(self, op: Operation, ctx: Context) -> None:
        gpu = is_gpu(ctx.target)
        shared = int(ctx.target.get("l3_bytes", L3_BYTES)) // max(int(ctx.target.get("threads", 1)), 1)
        limit = self.row_bytes or max(int(ctx.target.get("l2_bytes", L2_BYTES)), shared)
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp)]:
            pair = find(func)
            if pair is None:
                continue
            extent, block = kernel.axis_of(pair.second, pair.second.axis).extent, func.blocks.size(pair.second.axis)
            if type(extent) is not int:
                ctx.count("sweeps left apart")
                continue
            size = extent * sum(load.pointer.type.element.bytes for load in pair.second.body if isinstance(load, kernel.LoadOp))
            chunk = block if gpu else max(self.chunk // block, 1) * block
            if (gpu or size > limit) and extent >= 2 * chunk:
                Online(func, pair, chunk).rewrite()
                ctx.count("sweeps joined")
                why = "programs share the second cache" if gpu else f"a thread has {limit} of the caches"
                ctx.remark(f"rows of {size} bytes are walked once for maximum and sum, {why}", func)
            else:
                ctx.count("sweeps left apart")


@dataclass(frozen=True)
class Sweeps:
    """Two loops over one axis: of a maximum, which is folded by `folded`, and of a sum of exp(`shifted`), the only place that knows the maximum."""

    first: kernel.ForOp
    folded: kernel.ReduceOp
    second: kernel.ForOp
    total: kernel.ReduceOp
    shifted: Operation


def find(func: kernel.FuncOp) -> Sweeps | None:
    """The sweeps of a kernel that can be joined."""
    loops = [op for op in func.body if isinstance(op, kernel.ForOp)]
    if len(loops) < 2 or len(loops[0].results) != 1 or len(loops[1].results) != 1 or not all(map(_is_plain, loops[:2])):
        return None
    first, second = loops[:2]
    folded, total = [_fold_of(loop, kind) for loop, kind in ((first, "max"), (second, "sum"))]
    if first.axis != second.axis or folded is None or total is None:
        return None
    inside = [user for user in folded.result.users if user.parent is second.body]
    if len(inside) != 1 or inside[0].name != "kernel.sub" or inside[0].operands[1] is not folded.result:
        return None
    found = Sweeps(first, folded, second, total, inside[0])
    return found if _is_online(func, found) else None


def _is_plain(loop: kernel.ForOp) -> bool:
    """Whether a loop walks a whole axis, and has no loop inside and writes nothing."""
    whole = loop.start is None and loop.step is None and loop.span is None and not loop.begin
    return whole and not any(isinstance(op, (kernel.ForOp, kernel.StoreOp, kernel.ScratchStoreOp, kernel.PrefetchOp)) for op in loop.body)


def _fold_of(loop: kernel.ForOp, kind: str) -> kernel.ReduceOp | None:
    """The fold of what a loop carries along its lanes, the only user."""
    users = list(loop.results[0].users)
    fold = users[0] if len(users) == 1 else None
    same = isinstance(fold, kernel.ReduceOp) and fold.kind == kind and fold.axis == loop.axis and element_of(fold.tile.type).kind == "float"
    return fold if same else None  # type: ignore[return-value]


def _entering(loop: kernel.ForOp, name: str) -> Value | None:
    """What a loop folds with `name` into the value it carries; inside of a `select` by a bound, what stands in there."""
    last = loop.body.last
    assert last is not None
    fold, carried = last.operands[0].op, loop.body.args[1]
    if fold is None or fold.name != name or fold.operands[0] is not carried or not carried.has_one_use():
        return None
    value = fold.operands[1]
    if isinstance(value.op, kernel.SelectOp) and isinstance(value.op.condition.op, kernel.BoundOp):
        value = value.op.when_true
    return value


def _is_online(func: kernel.FuncOp, pair: Sweeps) -> bool:
    """Whether the sum is one of exp(x - maximum) for the very x that the maximum is of."""
    greatest, entering = _entering(pair.first, "kernel.maximum"), _entering(pair.second, "kernel.add")
    shifted = pair.shifted.results[0]
    if greatest is None or entering is None or entering.op is None or entering.op.name != "kernel.exp":
        return False
    if entering.op.operands[0] is not shifted or not shifted.has_one_use() or not entering.has_one_use():
        return False
    written = {op.pointer for op in func.walk() if isinstance(op, (kernel.StoreOp, kernel.AtomicAddOp))}
    numbers: dict[Any, int] = {}
    keys = [Keys(loop, written, numbers).keys for loop in (pair.first, pair.second)]
    mine, other = keys[0].get(greatest), keys[1].get(pair.shifted.operands[0])
    return mine is not None and mine == other


def _drop_bounds(block: Block) -> None:
    """Let every lane count: those of a whole chunk lie inside of their axis."""
    for bound in [op for op in block if isinstance(op, kernel.BoundOp)]:
        for user in list(bound.result.users):
            if isinstance(user, kernel.SelectOp) and user.condition is bound.result and user.when_true.type is user.result.type:
                user.replace([user.when_true])
            elif isinstance(user, kernel.LoadOp) and bound.result in user.masks:
                kept = [mask for mask in user.masks if mask is not bound.result]
                user.replace([block.insert_before(user, kernel.LoadOp(user.pointer, user.indices, kept, user.map, loc=user.loc)).results[0]])
        if not bound.result.users:
            bound.erase()


class Online:
    """Replaces two sweeps by one over chunks."""

    def __init__(self, func: kernel.FuncOp, pair: Sweeps, chunk: int) -> None:
        self.func = func
        self.pair = pair
        self.chunk = chunk
        self.element = pair.folded.result.type
        self.loc = pair.second.loc
        self.before: Operation = pair.first

    def rewrite(self) -> None:
        """The chunks, then what they leave over."""
        pair = self.pair
        extent = int(kernel.axis_of(pair.first, pair.first.axis).extent)
        span = extent // self.chunk * self.chunk
        self._move_up()
        block = pair.first.parent
        assert block is not None
        least = self._insert(block, kernel.ConstOp(float("-inf"), result_types=[self.element]))
        carried = [pair.first.initial[0], pair.second.initial[0], least]
        types = [value.type for value in carried]
        body = Block([index, *types])
        body.append(kernel.YieldOp(self._chunk(body, list(body.args[1:]), body.args[0], 0), loc=self.loc))
        loop = kernel.ForOp(carried, None, pair.first.axis, 0, self.chunk, span, regions=[Region([body])], result_types=types, loc=self.loc)
        block.insert_before(self.before, loop)
        results = list(loop.results)
        if span < extent:
            results = self._chunk(block, results, None, span)
        greatest = results[2]
        total = self._insert(block, kernel.ReduceOp(results[1], "sum", pair.second.axis))
        zero = self._insert(block, kernel.scalar_op("sub")(greatest, greatest))  # NaN where every element was -inf
        total = self._insert(block, kernel.scalar_op("add")(total, zero))
        pair.folded.result.replace_all_uses(greatest)
        pair.total.result.replace_all_uses(total)
        for op in (pair.total, pair.second, pair.folded, pair.first):
            op.erase()

    def _move_up(self) -> None:
        """What stands between the two loops and the second needs goes in front of both; nothing of it needs the maximum."""
        pair = self.pair
        between = []
        op = pair.first.next
        while op is not pair.second:
            assert op is not None
            between.append(op)
            op = op.next
        late: set[Operation | None] = {pair.folded}
        for op in between:
            if op is pair.folded or any(value.op in late for value in op.operands):
                late.add(op)
                continue
            op.detach()
            assert pair.first.parent is not None
            pair.first.parent.insert_before(pair.first, op)

    def _insert(self, block: Block, op: Operation) -> Value:
        op.loc = self.loc
        return block.insert_before(self.before if block is self.before.parent else None, op).results[0]

    def _part(self, block: Block, loop: kernel.ForOp, initial: Value, start: Value | None, begin: int, known: dict[Value, Value]) -> Value:
        """One chunk of a loop, or from `begin` on what chunks leave over."""
        span = self.chunk if start is not None else None
        region = clone_region(loop.region, known)
        if start is not None:
            _drop_bounds(region.blocks[0])
        return self._insert(block, kernel.ForOp([initial], start, loop.axis, begin, None, span, regions=[region], result_types=[initial.type]))

    def _chunk(self, block: Block, carried: list[Value], start: Value | None, begin: int) -> list[Value]:
        """(lanes of the maximum, lanes of the sum, maximum) after one chunk more."""
        pair, scalar = self.pair, kernel.scalar_op
        lanes, sums, old = carried
        lanes = self._part(block, pair.first, lanes, start, begin, {})
        new = self._insert(block, kernel.ReduceOp(lanes, "max", pair.first.axis))
        least = self._insert(block, kernel.ConstOp(float("-inf"), result_types=[self.element]))
        zero = self._insert(block, kernel.ConstOp(0.0, result_types=[self.element]))
        nothing = self._insert(block, scalar("eq")(new, least))
        shift = self._insert(block, kernel.SelectOp(nothing, zero, new))
        factor = self._insert(block, scalar("exp")(self._insert(block, scalar("sub")(old, shift))))
        scaled = self._insert(block, scalar("mul")(sums, factor))
        part = self._part(block, pair.second, pair.second.initial[0], start, begin, {pair.folded.result: shift})
        return [lanes, self._insert(block, scalar("add")(scaled, part)), new]
