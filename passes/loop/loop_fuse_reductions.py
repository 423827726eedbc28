"""Fuse reductions over one axis, so that they share their sweeps over it.

    %0 = loop.nest @n0(%x) { max over d1 }
    %1 = loop.nest @n1(%x, %0) { sum over d1 of exp(load %x - load %0) }
        =>   %1 = loop.nest @n1(%x) {fused = [#loop.fuse<reductions @n0, @n1 saves ..>]} { max over d1; sum over d1 of exp(..) }

Two kinds of pairs are joined: a reduction and one that needs its result (the maximum of a row and the sum of exponentials, a mean and a variance),
whose result then stays in registers, and reductions that do not depend on each other but read the same elements, which then read them once.  All
reductions of a nest fold the same dims, and a product by the tiles of a GPU is alone; how many sweeps they take follows from which needs which when the nest
is lowered.  Other readers of what was joined are offered it again, as the path that kept them apart may be gone.  What refuses is written on the consumer as
in `loop-fuse-vertical`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.ops import FuncOp, NestOp
from lect.ir import Context, Operation, Value
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.gpu_products import is_tile_product
from lect.passes.loop.loop_fuse_horizontal import SiblingFuser
from lect.passes.loop.loop_fuse_vertical import Fuser
from lect.passes.loop.nests import functions, reduced
from lect.passes.tuning import records_of


@dataclass(frozen=True)
class LoopFuseReductions(Pass):
    """Join nests that fold the same dims: those that depend on each other, then those that read the same."""

    name: ClassVar[str] = "loop-fuse-reductions"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    max_body: int = option(160, "largest block that a fusion of dependent reductions may make, in operations")
    max_siblings: int = option(96, "largest block that a fusion of independent reductions may make, in operations")
    min_bytes: int = option(4096, "smallest buffer whose second reading is worth a fusion")
    window: int = option(64, "how far apart two independent reductions may stand, in operations")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            forms = forms_of(ctx)
            if sum(bool(forms.ask(nest, reduced)) for nest in func.body if isinstance(nest, NestOp)) < 2:
                continue
            dependent = DependentReductions(func, forms, self.max_body)
            dependent.records = records_of(ctx)
            dependent.run()
            independent = IndependentReductions(func, forms, self.max_siblings, self.min_bytes, self.window)
            independent.run()
            ctx.count("nests fused", dependent.fused + independent.fused)
            ctx.count("fusions refused", sum(map(len, dependent.refused.values())))
            ctx.count("bytes saved", dependent.saved + independent.saved)


class DependentReductions(Fuser):
    """Joins a reduction with one that reads its result; `made` are the names of joint nests."""

    kind: ClassVar[str] = "reductions"

    def __init__(self, func: FuncOp, forms: Forms, max_body: int) -> None:
        super().__init__(func, forms, max_body)
        self.made: set[str] = set()

    def concerns(self, producer: NestOp, consumer: NestOp) -> bool:
        both = bool(self.forms.ask(producer, reduced) and self.forms.ask(consumer, reduced))
        return both or producer.sym_name in self.made or consumer.sym_name in self.made

    def try_join(self, producer: NestOp, consumer: NestOp, buffers: list[Value]) -> NestOp | None:
        joined = super().try_join(producer, consumer, buffers)
        if joined is not None:
            self.made.add(joined.sym_name)
        return joined


class IndependentReductions(SiblingFuser):
    """Joins reductions that read the same elements."""

    kind: ClassVar[str] = "reductions"

    def concerns(self, first: NestOp, second: NestOp) -> bool:
        if is_tile_product(first) or is_tile_product(second):
            return False  # a product by tiles folds nothing else
        return bool(self.forms.ask(first, reduced) and self.forms.ask(second, reduced))
