"""Sum long rows in several levels, so that the error grows with the logarithm of the length and not with the length.

    %s = for R (%zero) { yield add(%acc, %x) }   =>   %s = for R (%zero) {step = 1024, span = 16384} {
                                                        %t = for R (%zero) from this index {span = 1024} { yield add(%part, %x) }
                                                        yield add(%acc, %t)
                                                      }

A loop of at least `steps` steps that carries a sum is cut into chunks of `fan` steps, long ones into chunks of chunks; each chunk starts from zero
and is added to the whole.  Of loops in each other the inner is taken first: its sum starts from zero and is added to what the outer carries.
Other carried values pass through all loops.  What the chunks leave over is loops of its own behind them.  A loop whose length is known only at run time
is cut into greater chunks, and these into none, unless it is surely short: so its error grows with the root of the length there where that is very long.
The last chunk ends where the axis does, so that there is one text of the loop and not another for what is left over:

    %s = for R (%zero) {step = 4096} {
      %t = for R (%zero) from this index {span = 4096} { yield add(%part, %x) }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Block, Context, Operation, PassFailure, Region, Value
from lect.ir.block import clone_region
from lect.ir.facts import facts_of
from lect.ir.symbolic import Size, as_size
from lect.ir.types import index
from lect.passes.base import Pass, option

UNKNOWN = 4  # times the fan are the steps of a chunk of a loop whose length is not known: there is one level, as each is a text of its own to compile


@dataclass(frozen=True)
class KernelCascadeSums(Pass):
    """Cut long float sums into chunks."""

    name: ClassVar[str] = "kernel-cascade-sums"
    steps: int = option(64, "shortest loop, in steps, that is cut")
    fan: int = option(16, "steps of a chunk, and chunks of a greater one")

    def run(self, op: Operation, ctx: Context) -> None:
        if self.fan < 2:
            raise PassFailure(f"option 'fan' of pass '{self.name}' must be at least 2, got {self.fan}")
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cpu"]:
            inner_first = [inner for inner in func.walk() if isinstance(inner, kernel.ForOp)][::-1]
            for loop in inner_first:
                if not _is_whole(loop):
                    continue
                outer = loop.parent_op
                if isinstance(outer, kernel.ForOp) and (_is_long(func, loop, self.steps) or _is_long(func, outer, self.steps)):
                    _start_from_zero(loop)
                if _cut(func, loop, self.steps, self.fan):
                    ctx.count("sums cut")


def _is_whole(loop: kernel.ForOp) -> bool:
    """Whether a loop runs over a whole axis."""
    return loop.start is None and loop.step is None and loop.span is None and not loop.begin


def _is_long(func: kernel.FuncOp, loop: kernel.ForOp, steps: int) -> bool:
    """Whether a loop over a whole axis may have as many full steps."""
    most = facts_of(func).bounds(kernel.axis_of(loop, loop.axis).extent)[1]
    return most is None or most // func.blocks.size(loop.axis) >= steps


def _start_from_zero(loop: kernel.ForOp) -> None:
    """Let the sums of a loop inside of another start from zero, and add them to what the outer loop carries, which is then a sum of its own."""
    block = loop.parent
    assert block is not None
    for position in float_sums(loop):
        start, total = loop.initial[position], loop.results[position]
        if _is_zero(start):
            continue
        zero = block.insert_before(loop, kernel.ConstOp(0.0, result_types=[start.type], loc=loop.loc))
        loop.set_operand(position, zero.result)
        users = list(total.users)
        whole = kernel.scalar_op("add")(start, total, loc=loop.loc)
        block.insert_before(loop.next, whole)
        for user in users:
            for number, value in enumerate(user.operands):
                if value is total:
                    user.set_operand(number, whole.results[0])


def float_sums(loop: kernel.ForOp) -> list[int]:
    """Positions of the carried values that are float sums: the next value is the old one plus something, and nothing else reads the old one."""
    last = loop.body.last
    assert last is not None
    found = []
    for position, (accumulator, following) in enumerate(zip(loop.body.args[1:], last.operands)):
        maker = following.op
        adds = maker is not None and maker.name == "kernel.add" and maker.parent is loop.body and element_of(following.type).kind == "float"
        if adds and maker.operands[0] is accumulator and accumulator.has_one_use() and following.has_one_use():  # type: ignore[union-attr]
            found.append(position)
    return found


def _cut(func: kernel.FuncOp, loop: kernel.ForOp, steps: int, fan: int) -> bool:
    """Replace a loop by several levels.  False when it is too short or carries no sum."""
    block, extent = func.blocks.size(loop.axis), kernel.axis_of(loop, loop.axis).extent
    sums = float_sums(loop)
    if not _is_long(func, loop, max(steps, 2 * fan)) or not sums or not all(_is_zero(loop.initial[position]) for position in sums):
        return False
    chunks = _chunk_sizes(extent // block, fan, block) if type(extent) is int else [UNKNOWN * fan * block]
    cascade = Cascade(loop, sums, chunks)
    assert loop.parent is not None
    results = list(loop.initial)
    if type(extent) is not int:
        loop.replace(list(loop.parent.insert_before(loop, cascade.chunked(0, results, None, 0, None)).results))
        return True
    begin: Size = 0
    for level in reversed(range(len(cascade.chunks))):
        span = as_size((extent - begin) // cascade.chunks[level] * cascade.chunks[level])
        if span != 0:
            part = loop.parent.insert_before(loop, cascade.chunked(level, results, None, begin, span))
            results = cascade.totals(loop.parent, loop, results, list(part.results), begin == 0)
            begin = as_size(begin + span)
    if begin != extent:
        part = loop.parent.insert_before(loop, cascade.plain(results, None, begin, None))
        results = cascade.totals(loop.parent, loop, results, list(part.results), False)
    loop.replace(results)
    return True


def _chunk_sizes(count: int, fan: int, block: int) -> list[int]:
    """Indices of a chunk at each level, the smallest first, for a loop of `count` steps."""
    sizes, steps = [fan * block], fan
    while count // steps > 2 * fan:
        steps *= fan
        sizes.append(steps * block)
    return sizes


class Cascade:
    """Loops that stand for one loop; `sums` are the positions of its sums, `chunks` the indices of a chunk at each level."""

    def __init__(self, loop: kernel.ForOp, sums: list[int], chunks: list[int]) -> None:
        self.loop = loop
        self.sums = sums
        self.chunks = chunks
        self.types = [value.type for value in loop.results]

    def initial(self, before: list[Value]) -> list[Value]:
        """What a part starts from: sums from zero, other values from where they stand."""
        return [self.loop.initial[k] if k in self.sums else value for k, value in enumerate(before)]

    def plain(self, before: list[Value], start: Value | None, begin: Size, span: Size | None) -> kernel.ForOp:
        """A copy of the loop over some of its indices."""
        region, loop = clone_region(self.loop.region, {}), self.loop
        return kernel.ForOp(self.initial(before), start, loop.axis, begin, None, span, regions=[region], result_types=self.types, loc=loop.loc)

    def chunked(self, level: int, before: list[Value], start: Value | None, begin: Size, span: Size | None) -> kernel.ForOp:
        """A loop over the chunks of one level, each the loop of the level below."""
        loop, step = self.loop, self.chunks[level]
        body = Block([index, *self.types])
        entering = body.args[1:]
        if level:
            inner = body.append(self.chunked(level - 1, entering, body.args[0], 0, step))
        else:
            inner = body.append(self.plain(entering, body.args[0], 0, step))
        totals = self.totals(body, None, entering, list(inner.results), False)
        body.append(kernel.YieldOp(totals, loc=loop.loc))
        return kernel.ForOp(self.initial(before), start, loop.axis, begin, step, span, regions=[Region([body])], result_types=self.types, loc=loop.loc)

    def totals(self, block: Block, before: Operation | None, wholes: list[Value], parts: list[Value], first: bool) -> list[Value]:
        """The sums so far plus those of the last part (or the part's alone if it is the first); other values are the last part's."""
        add, out = kernel.scalar_op("add"), []
        for position, (whole, part) in enumerate(zip(wholes, parts)):
            if position in self.sums and not first:
                out.append(block.insert_before(before, add(whole, part, loc=self.loop.loc)).result)
            else:
                out.append(part)
        return out


def _is_zero(value: Value) -> bool:
    maker = value.op
    return isinstance(maker, kernel.ConstOp) and maker.value == 0
