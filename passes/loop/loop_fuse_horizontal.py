"""Fuse nests that read the same elements and do not depend on each other, so that memory is read once.

    %0 = loop.nest @n0(%x) { exp(load %x) }
    %1 = loop.nest @n1(%x) { sum(load %x) }    =>    %0, %1 = loop.nest @n1(%x) {fused = [#loop.fuse<horizontal @n0, @n1 saves ..>]} { .. }

For every buffer, the largest first, its readers are looked at in order, each with the next.  Both walk as many points, meet in a common refinement
of their spaces, at most one folds, read some element at the same point, and no path leads from one to the other.  Buffers of fewer elements than the
space (weights, biases) are no reason to fuse.  Two nests that both fold are left to `loop-fuse-reductions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import FuseAttr
from lect.dialects.loop.ops import FuncOp, NestOp
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.fusion import Blocked, attempt, joined, put_joint, sideways
from lect.passes.loop.fusion_graph import FusionGraph
from lect.passes.loop.nests import functions, nbytes, points, reduced, weight


@dataclass(frozen=True)
class LoopFuseHorizontal(Pass):
    """Join independent nests that read the same elements of a buffer."""

    name: ClassVar[str] = "loop-fuse-horizontal"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    max_body: int = option(96, "largest block that a fusion may make, in operations")
    min_bytes: int = option(4096, "smallest buffer whose second reading is worth a fusion")
    window: int = option(64, "how far apart two nests may stand, in operations")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            fuser = SiblingFuser(func, forms_of(ctx), self.max_body, self.min_bytes, self.window)
            fuser.run()
            ctx.count("nests fused", fuser.fused)
            ctx.count("bytes saved", fuser.saved)


class SiblingFuser:
    """The fusion of one function; `kind` is what its decisions are called."""

    kind: ClassVar[str] = "horizontal"

    def __init__(self, func: FuncOp, forms: Forms, max_body: int, min_bytes: int, window: int) -> None:
        self.forms = forms
        self.graph = FusionGraph(func)
        self.max_body = max_body
        self.window = window
        self.fused = 0
        self.saved = 0
        self.buffers = {value: None for op in func.body for value in op.operands if isinstance(op, NestOp) and nbytes(value) >= min_bytes}

    def run(self) -> None:
        """Look at every buffer, the largest first."""
        for buffer in sorted(self.buffers, key=nbytes, reverse=True):
            self.readers_of(buffer)
        self.graph.write_order()

    def readers_of(self, buffer: Value) -> None:
        """Join the readers of one buffer pairwise, each with the next that fits."""
        position = self.graph.position
        waiting = sorted([user for user in buffer.users if isinstance(user, NestOp) and user in position], key=position.__getitem__)
        while len(waiting) > 1:
            first = waiting.pop(0)
            for number, second in enumerate(waiting):
                joined = self.try_join(first, second, buffer)
                if joined is not None:
                    waiting[number] = joined
                    waiting.sort(key=position.__getitem__)
                    break

    def concerns(self, first: NestOp, second: NestOp) -> bool:
        """Whether this pass decides about two nests."""
        return not (self.forms.ask(first, reduced) and self.forms.ask(second, reduced))

    def try_join(self, first: NestOp, second: NestOp, buffer: Value) -> NestOp | None:
        """The joint nest, or None when the two stay apart."""
        graph = self.graph
        if not self.concerns(first, second):
            return None
        if graph.position[second] - graph.position[first] > self.window or second in graph.successors[first]:
            return None
        if points(first) > weight(buffer.type.numel, first):  # type: ignore[attr-defined]
            return None
        try:
            what = ("sideways", first.inputs.index(buffer), self.max_body)
            joint = attempt(self.forms, first, second, what, lambda: sideways(first, second, buffer, self.max_body))
        except Blocked:
            return None
        if graph.detour(first, second) is not None:
            return None
        keep = range(len(first.results))
        new = joined(self.forms, first, second, joint, keep)
        saves = nbytes(buffer)
        self.fused += 1
        self.saved += saves
        return put_joint(graph, first, second, new, keep, FuseAttr(self.kind, first.sym_name, second.sym_name, saves))
