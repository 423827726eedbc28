"""Fuse producers into consumers, so that what passes between them stays in registers.

    %0 = loop.nest @n0(%x) { sum over d1 }
    %1 = loop.nest @n1(%x, %0) { load %x / load %0 }   =>   %1 = loop.nest @n1(%x) {fused = [#loop.fuse<vertical @n0, @n1 saves ..>]} { load / sum }

Consumers are visited in order, the producers of each by the bytes that stay in registers.  A fusion is right when the consumer reads each element at
the point that the producer wrote it (the spaces may be different views of one), at most one of them folds, and no path leads from one to the other
through a third operation.  Two nests that both fold are left to `loop-fuse-reductions`.  What refuses is written on the consumer:
`blocked = [#loop.blocked<@n0 by "%4: ...">]`.  Where one nest hardly saves memory traffic, a record of tuning may say that two are faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import BlockedAttr, FuseAttr
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.fusion import Blocked, attempt, joined, put_joint, vertical
from lect.passes.loop.fusion_graph import FusionGraph
from lect.passes.loop.nests import functions, nbytes, readers, reduced
from lect.passes.tuning import Records, records_of

MAX_NOTES = 3


@dataclass(frozen=True)
class LoopFuseVertical(Pass):
    """Join each nest with the nests whose results it reads, where that is right."""

    name: ClassVar[str] = "loop-fuse-vertical"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    max_body: int = option(160, "largest block that a fusion may make, in operations")

    seed_bug: str = option("", "`fusion`: consumers read one operation too early, a wrong result on purpose to try the tools that look for one")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            fuser = Fuser(func, forms_of(ctx), self.max_body, self.seed_bug == "fusion")
            fuser.records = records_of(ctx)
            fuser.run()
            ctx.count("nests fused", fuser.fused)
            ctx.count("fusions refused", sum(map(len, fuser.refused.values())))
            ctx.count("bytes saved", fuser.saved)


class Fuser:
    """The fusion of one function; `kind` is what its decisions are called."""

    kind: ClassVar[str] = "vertical"

    def __init__(self, func: FuncOp, forms: Forms, max_body: int, early: bool = False) -> None:
        self.early = early
        self.records: Records | None = None
        self.forms = forms
        self.graph = FusionGraph(func)
        self.max_body = max_body
        self.alive = {op.sym_name for op in func.body if isinstance(op, (NestOp, ExternOp))}
        self.refused: dict[str, list[BlockedAttr]] = {}
        self.fused = 0
        self.saved = 0

    def run(self) -> None:
        """Visit consumers in order."""
        for op in list(self.graph.order):
            if isinstance(op, NestOp) and op in self.graph.position:
                self.notes(self.absorb(op))
        self.graph.write_order()

    def notes(self, nest: NestOp) -> None:
        """Write the refusals on the nest that stayed alone."""
        found = [note for note in self.refused.get(nest.sym_name, ()) if note.other in self.alive]
        if found:
            named = {note.other for note in found}
            nest.blocked = (*found, *[note for note in nest.blocked if note.other not in named])[:MAX_NOTES]

    def concerns(self, producer: NestOp, consumer: NestOp) -> bool:
        """Whether this pass decides about two nests."""
        return not (self.forms.ask(producer, reduced) and self.forms.ask(consumer, reduced))

    def absorb(self, consumer: NestOp) -> NestOp:
        """Join producers into `consumer` until none is left that may join; gives what became of it."""
        tried: set[NestOp] = set()
        while True:
            candidates: dict[NestOp, list[Value]] = {}
            for value in consumer.inputs:
                producer = value.owner
                if isinstance(producer, NestOp) and producer not in tried and self.concerns(producer, consumer):
                    candidates.setdefault(producer, []).append(value)
            if not candidates:
                return consumer
            best = max(candidates, key=lambda nest: (sum(map(nbytes, candidates[nest])), self.graph.position[nest]))
            tried.add(best)
            joined = self.try_join(best, consumer, candidates[best])
            if joined is not None:
                consumer = joined

    def try_join(self, producer: NestOp, consumer: NestOp, buffers: list[Value]) -> NestOp | None:
        """Join two nests, or note why not."""
        keep = [k for k, value in enumerate(producer.results) if readers(value) != [consumer]]
        try:
            stays = bool(keep)
            what = ("vertical", stays, self.max_body)
            joint = attempt(self.forms, producer, consumer, what, lambda: vertical(producer, consumer, buffers, stays, self.max_body))
            detour = self.graph.detour(producer, consumer)
            if detour is not None:
                raise Blocked(f"cycle through @{detour[0].symbol or detour[0].name}")
            if self.records is not None and self.records.apart(producer, consumer):
                raise Blocked("a record of tuning says that two are faster")
        except Blocked as reason:
            name = buffers[0].hint or f"result {buffers[0].index}"
            self.refused.setdefault(consumer.sym_name, []).append(BlockedAttr(producer.sym_name, f"%{name}: {reason}"))
            return None
        new = joined(self.forms, producer, consumer, joint, keep, self.early)
        saves = sum(nbytes(value) * (1 if value.index in keep else 2) for value in buffers)
        self.fused += 1
        self.saved += saves
        self.alive.discard(producer.sym_name)
        done = FuseAttr(self.kind, producer.sym_name, consumer.sym_name, saves)
        return put_joint(self.graph, producer, consumer, new, keep, done)
