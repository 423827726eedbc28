"""Order the dims of nests, so that what lies near is walked near, and nests, so that one that reads what the last one touched comes next.

    space = <d0: 64, d1: 512, d2: 32>                    space = <d0: 512, d1: 64, d2: 32>, order = "d1, d0, d2: 4194304 of 4198400 bytes lie so"
    load %x (d1 * 2048 + d0 * 32 + d2)       =>          load %x (d0 * 2048 + d1 * 32 + d2)
    load %y (d0)                                         load %y (d1)

Of two dims an access wants the one inside along which it takes the shorter steps; one that does not step along a dim at all wants that inside, where
the element stays in the first cache.  Accesses vote with the bytes that they touch.  The order changes only if bytes are won by it, and
not when fewer dims could be walked as one (`loop-collapse-dims`).  Dims that are
walked in an order stay, and so do the dims of matrix products, whose panels have an order of their own.

Nests and calls are looked at in the program's order: of the next `window` ones that may come, the one that shares the most bytes with the last comes
first, if they fit the second cache of the target.  The new order is taken only if the predicted peak does not grow; `order` of the function says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.building import Inlining, NestBuilder
from lect.dialects.loop.ops import FuncOp, LoadOp, NestOp, StoreOp
from lect.ir import Context, Operation
from lect.ir.facts import Facts, facts_of
from lect.ir.index_map import coefficient
from lect.ir.symbolic import Expr, dim
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.loop_collapse_dims import dim_groups
from lect.passes.loop.loop_order_for_memory import peak_of
from lect.passes.loop.nests import functions, has_scan, nbytes, put_in_place, rebuild, weights
from lect.passes.targets import is_gpu

L2_BYTES = 512 << 10
Accesses = list[tuple[tuple[int, ...], int]]
Votes = dict[tuple[int, int], int]


@dataclass(frozen=True)
class LoopReorder(Pass):
    """Put the dims of each nest, and the nests of each function, into the order in which memory is read best."""

    name: ClassVar[str] = "loop-reorder"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    window: int = option(8, "how many operations ahead are looked at")

    def run(self, op: Operation, ctx: Context) -> None:
        if is_gpu(ctx.target):
            return
        l2_bytes = int(ctx.target.get("l2_bytes", L2_BYTES))
        forms = forms_of(ctx)
        for func in functions(op):
            for nest in [inner for inner in func.body if isinstance(inner, NestOp)]:
                ctx.count("nests reordered", "tiles" not in nest.attrs and reorder_dims(nest, forms))
            ctx.count("operations moved", reorder_operations(func, self.window, l2_bytes))


# ---- dims ------------------------------------------------------------------------------------------------------------


def reorder_dims(nest: NestOp, forms: Forms) -> bool:
    """Rewrite a nest over its dims in the best order; False when they have it."""
    found = forms.ask(nest, better_order)
    if found is None:
        return False
    order, reason = found
    new = forms.make((nest,), "reordered", nest.sym_name, lambda: with_order(nest, order))
    assert new is not None
    new.attrs = {**nest.attrs, "space": new.space, "order": reason}
    put_in_place(nest, new)
    return True


def better_order(nest: NestOp) -> tuple[list[int], str] | None:
    """An order of the dims that wins bytes, and why; None when there is none."""
    sizes = nest.space.sizes
    if len(sizes) < 2 or has_scan(nest) or nest.products:
        return None
    accesses = _accesses(nest)
    long = [k for k, size in enumerate(sizes) if size != 1 and size != 0]
    if all(steps[a] >= steps[b] for steps, _ in accesses for a, b in pairwise(long)):
        return None
    votes, total = count_votes(accesses, long)
    order = best_order(len(sizes), votes)
    won = _agreement(order, votes) - _agreement(range(len(sizes)), votes)
    if won <= 0:
        return None
    new = with_order(nest, order)
    worse = len(dim_groups(new)) > len(dim_groups(nest))
    new.drop_operands()
    names = ", ".join(f"d{k}" for k in order)
    return None if worse else (order, f"{names}: {_bytes_that_lie_so(accesses, order)} of {total} bytes lie so")


def with_order(nest: NestOp, order: Sequence[int]) -> NestOp:
    """The nest over its dims in another order, not in a graph."""
    builder = NestBuilder(SpaceAttr(tuple([nest.space.sizes[k] for k in order])), nest.loc)
    place = {k: dim(position) for position, k in enumerate(order)}
    rebuild(nest, builder, Inlining(nest, builder, place), range(len(nest.results)))
    return builder.finish(nest.sym_name)


def _accesses(nest: NestOp) -> Accesses:
    """For each load and store how far it steps along each dim, and the bytes it touches; those that do not walk with whole steps are left out."""
    found = []
    sizes, facts = weights(nest), facts_of(nest)
    for op in nest.body:
        if not isinstance(op, (LoadOp, StoreOp)):
            continue
        steps = _steps(op.map.offset, len(sizes), facts)
        if steps is None:
            continue
        touched = op.buffer.type.element.bytes if isinstance(op, LoadOp) else op.value.type.bytes
        for size, step in zip(sizes, steps):
            touched *= size if step else 1
        found.append((steps, touched))
    return found


@lru_cache(maxsize=4096)
def _steps(offset: Expr, rank: int, facts: Facts) -> tuple[int, ...] | None:
    """How far an offset moves along each dim, to weigh with; None when it is not by whole steps."""
    steps = [coefficient(offset, k) for k in range(rank)]
    return None if None in steps else tuple([abs(facts.hint(step)) for step in steps])  # type: ignore[arg-type]


def count_votes(accesses: Accesses, long: Sequence[int]) -> tuple[Votes, int]:
    """For two dims (i, j) the bytes of accesses that want i outside of j less those that want it inside, and the bytes of all accesses."""
    votes: Votes = {}
    for steps, touched in accesses:
        for i in long:
            for j in long:
                if steps[i] > steps[j]:
                    votes[i, j] = votes.get((i, j), 0) + touched
                    votes[j, i] = votes.get((j, i), 0) - touched
    return votes, sum(touched for _, touched in accesses)


def best_order(rank: int, votes: Votes) -> list[int]:
    """The dims, the one first that wins against the most others; of equals, the first."""
    wins = [sum((votes.get((i, j), 0) > 0) - (votes.get((i, j), 0) < 0) for j in range(rank)) for i in range(rank)]
    return sorted(range(rank), key=lambda k: -wins[k])


def _agreement(order: Sequence[int], votes: Votes) -> int:
    return sum(votes.get((i, j), 0) for position, i in enumerate(order) for j in order[position + 1 :])


def _bytes_that_lie_so(accesses: Accesses, order: Sequence[int]) -> int:
    """Bytes of the accesses whose steps never grow from one dim to the next."""
    return sum(touched for steps, touched in accesses if all(steps[a] >= steps[b] for a, b in pairwise(order)))


# ---- operations ------------------------------------------------------------------------------------------------------


def reorder_operations(func: FuncOp, window: int, l2_bytes: int) -> int:
    """Let nests follow what they share bytes with; gives how many were moved."""
    before = list(func.body)
    order, place = list(before), {op: number for number, op in enumerate(before)}
    sizes = {value: nbytes(value) for op in before for value in (*op.operands, *op.results)}
    moved = shared = 0
    for position in range(len(order) - 1):
        last = order[position]
        touched = {*last.operands, *last.results}
        best, here, most = None, 0, 0
        for ahead in range(position + 1, min(position + 1 + window, len(order))):
            op = order[ahead]
            found = 0
            if isinstance(op, NestOp) and not touched.isdisjoint(op.operands):
                found = sum([sizes[value] for value in dict.fromkeys(op.operands) if value in touched])
                found = found if found <= l2_bytes else 0
            if ahead == position + 1:
                here = most = found
            elif found > most and all(place.get(value.owner, -1) <= position for value in op.operands):  # type: ignore[call-overload]
                best, most = op, found
        if best is not None:
            order.insert(position + 1, order.pop(place[best]))
            place.update({op: number for number, op in enumerate(order[position : position + window + 2], position)})
            moved += 1
            shared += most - here
    made = {value: sizes[value] for op in before for value in op.results}
    if not moved or peak_of(order, made) > peak_of(before, made):
        return 0
    func.body.move_all(order)
    func.order = "; ".join(text for text in (func.order, f"{moved} nests follow what they share {shared} bytes more with") if text)
    return moved

