"""Sum long rows in two levels, so that the error grows with the square root of the length's and not with the length's.

    %s = for R (%zero) { yield add(%acc, %x) }   =>   %s = for R (%zero) {step = 1024, span = 16384} {
                                                        %t = for R (%zero) from this index {span = 1024} { yield add(%part, %x) }
                                                        yield add(%acc, %t)
                                                      }

A loop of at least `steps` steps that carries a sum is cut into chunks of about the square root of that many; each chunk starts from zero and is
added to the whole.  Other carried values pass through both loops.  What the chunks leave over is a loop of its own behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.types import element_of
from lect.ir import Block, Context, Operation, Region, Value
from lect.ir.block import clone_region
from lect.ir.types import index
from lect.passes.base import Pass, option


@dataclass(frozen=True)
class KernelCascadeSums(Pass):
    """Cut long float sums into chunks."""

    name: ClassVar[str] = "kernel-cascade-sums"
    steps: int = option(64, "shortest loop, in steps, that is cut")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, kernel.FuncOp)]:
            for loop in [inner for inner in func.walk() if isinstance(inner, kernel.ForOp)]:
                if _is_plain(loop) and _cut(func, loop, self.steps):
                    ctx.count("sums cut")


def _is_plain(loop: kernel.ForOp) -> bool:
    """Whether a loop runs over a whole axis and holds no other."""
    whole = loop.start is None and loop.step is None and loop.span is None and not loop.begin
    return whole and not any(isinstance(op, kernel.ForOp) for op in loop.body)


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


def _cut(func: kernel.FuncOp, loop: kernel.ForOp, steps: int) -> bool:
    """Replace a loop by two levels.  False when it is too short or carries no sum."""
    block = func.blocks.size(loop.axis)
    count = kernel.axis_of(loop, loop.axis).extent // block
    sums = float_sums(loop)
    if count < steps or not sums or not all(_is_zero(loop.initial[position]) for position in sums):
        return False
    chunk = 1 << (count.bit_length() // 2)
    whole = count // chunk * chunk
    outer = _outer_loop(loop, chunk * block, whole * block, sums)
    assert loop.parent is not None
    loop.parent.insert_before(loop, outer)
    results = list(outer.results)
    if whole * block < kernel.axis_of(loop, loop.axis).extent:
        initial = [loop.initial[k] if k in sums else value for k, value in enumerate(results)]
        rest = kernel.ForOp(initial, None, loop.axis, whole * block, regions=[clone_region(loop.region, {})], result_types=_types(loop), loc=loop.loc)
        loop.parent.insert_before(loop, rest)
        results = _totals(loop, loop.parent, loop, results, list(rest.results), sums)
    loop.replace(results)
    return True


def _outer_loop(loop: kernel.ForOp, step: int, span: int, sums: list[int]) -> kernel.ForOp:
    """Chunks of `step` indices, each an inner loop whose sums start from zero."""
    types = _types(loop)
    body = Block([index, *types])
    entering = body.args[1:]
    initial = [loop.initial[k] if k in sums else value for k, value in enumerate(entering)]
    region = clone_region(loop.region, {})
    inner = body.append(kernel.ForOp(initial, body.args[0], loop.axis, 0, None, step, regions=[region], result_types=types, loc=loop.loc))
    totals = _totals(loop, body, None, entering, list(inner.results), sums)
    body.append(kernel.YieldOp(totals, loc=loop.loc))
    return kernel.ForOp(loop.initial, None, loop.axis, 0, step, span, regions=[Region([body])], result_types=types, loc=loop.loc)


def _totals(loop: kernel.ForOp, block: Block, before: Operation | None, wholes: list[Value], parts: list[Value], sums: list[int]) -> list[Value]:
    """The sums so far plus those of the last part; other values are the last part's."""
    add = kernel.scalar_op("add")
    out = []
    for position, (whole, part) in enumerate(zip(wholes, parts)):
        if position in sums:
            out.append(block.insert_before(before, add(whole, part, loc=loop.loc)).result)
        else:
            out.append(part)
    return out


def _is_zero(value: Value) -> bool:
    maker = value.op
    return isinstance(maker, kernel.ConstOp) and maker.value == 0


def _types(loop: kernel.ForOp) -> list:  # type: ignore[type-arg]
    return [value.type for value in loop.results]
