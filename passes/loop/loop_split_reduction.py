"""Take reductions in two stages where that keeps threads busy or lets nests join.

    %0 = loop.nest @n0(%x) {space = <d0: 1048576>}       %p = loop.nest @n0.part(%x) {space = <d0: 16, d1: 65536>,
      sum over d0                                   =>        realize = ["partial: 1 program for 2 threads"]}   sum over d1
                                                         %t = loop.nest @n0.total(%p) {space = <d0: 16>}        sum over d0
                                                         %0 = loop.nest @n0(%t) {..}                            what follows the sum

The first stage folds parts of the dims, the second folds their results; what needs the result is a third nest, which fusion joins with the second.
There are three reasons.  A nest with fewer programs than the target has threads leaves them idle: it is cut into several parts a thread, none with
fewer than `each` points.  And a nest that folds more dims than the producer of what it reads cannot join it: when it folds the producer's dims first, it
can, and the buffer between them need not be read (and often not be written); where the producer folds the channels of each group, the parts are groups.
So can two nests that read one buffer (row sums and the whole sum).  Both have to save `gain` times the bytes of the partial results.

A dim whose size has no fitting divisor is not cut.  On a GPU one whose size is known only at run time is cut into parts of equal size, the last of which may
reach behind its end: nothing is read there.  Partial results are rounded to the type of the fold, as those of a cascade are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from lect.dialects.loop.ops import FuncOp, NestOp
from lect.ir import Context, Operation, Value
from lect.ir.index_map import dims_of
from lect.ir.symbolic import dim
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.fusion import Blocked, Joint, joint_by_offset
from lect.passes.loop.nests import fresh_name, functions, has_scan, nbytes, near_columns, points, readers, reduced, unit_stride_bytes, weights
from lect.passes.loop.splitting import Each, Factors, count, first_reductions, loads_of, split_reduction
from lect.passes.targets import is_gpu

LANES = 64
ROW = 32768
LEAST = 64  # indices of a part where the number of parts depends on the call


@dataclass(frozen=True)
class LoopSplitReduction(Pass):
    """Cut reductions into partial results and their fold."""

    name: ClassVar[str] = "loop-split-reduction"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    threads: int = option(0, "threads to keep busy; 0: as many as the target has")
    each: int = option(0, "least points of a part; 0: 32768, on a GPU 4096 of columns")
    shares: int = option(0, "programs for each thread; 0: 4, on a GPU 1 for one or two threads of columns")
    gain: int = option(4, "least ratio of the bytes that a split for the sake of fusion saves to those of the partial results")

    def run(self, op: Operation, ctx: Context) -> None:
        threads = self.threads or int(ctx.target.get("threads", 1))
        for func in functions(op):
            splitter = Splitter(func, forms_of(ctx), self, threads, self.each or (4096 if is_gpu(ctx.target) else ROW), is_gpu(ctx.target))
            for nest in [inner for inner in func.body if isinstance(inner, NestOp)]:
                splitter.visit(nest)
            ctx.count("reductions split for threads", splitter.for_threads)
            ctx.count("reductions split for fusion", splitter.for_fusion)


class Splitter:
    """The splits of one function."""

    def __init__(self, func: FuncOp, forms: Forms, options: LoopSplitReduction, threads: int, each: int, uneven: bool = False) -> None:
        self.uneven = uneven
        self.forms = forms
        self.options = options
        self.threads = threads
        self.each = each
        self.names = {op.symbol for op in func.body}
        self.for_threads = 0
        self.for_fusion = 0

    def visit(self, nest: NestOp) -> None:
        """Split a nest as often as there is a reason, one reduction after the other."""
        if not self.forms.ask(nest, can_split):
            return
        buffer = self.producer_to_join(nest)
        if buffer is not None:
            value, factors = buffer
            producer = value.owner.symbol  # type: ignore[union-attr]
            self.split(nest, factors, f"partial: joins @{producer}, saves {nbytes(value)} bytes")
            self.for_fusion += 1
            return
        sibling = self.sibling_to_join(nest)
        if sibling is not None:
            other, value, factors = sibling
            self.split(nest, factors, f"partial: joins @{other.sym_name}, saves {nbytes(value)} bytes")
            self.for_fusion += 1
            return
        if self.threads < 2:
            return
        parts = self.parts_for_threads(nest)
        if parts:
            reason = f"partial: {programs(nest, self.uneven)} program{'s' if programs(nest, self.uneven) > 1 else ''} for {self.threads} threads"
            rest = self.split(nest, parts, reason)[-1]
            self.for_threads += 1
            self.visit(rest)

    def split(self, nest: NestOp, factors: Factors, reason: str) -> list[NestOp]:
        """The stages of a nest."""
        return split_reduction(nest, factors, [self.fresh(f"{nest.sym_name}.part"), self.fresh(f"{nest.sym_name}.total")], reason)

    def fresh(self, name: str) -> str:
        """A name that nothing has."""
        found = fresh_name(name, self.names)
        self.names.add(found)
        return found

    # ---- threads -----------------------------------------------------------------------------------------------------

    def parts_for_threads(self, nest: NestOp) -> Factors:
        """Folded dim -> parts, the outermost dims first; empty when there are programs enough or points too few."""
        have = programs(nest, self.uneven)
        votes, sizes = unit_stride_bytes(nest), nest.space.sizes
        symbolic = not all(type(sizes[k]) is int for k in nest.reduced)
        if symbolic and not self.uneven:
            return {}
        near = max(range(len(sizes)), key=lambda k: (votes[k], k))
        each = max(self.each, ROW) if near in nest.reduced and not self.options.each else self.each  # a row that lies on is read at once
        busy = (self.options.shares or 4) * self.threads
        if self.uneven and near not in nest.reduced and not self.options.shares:
            busy = self.threads if any(load.masks for load in nest.loads) else self.threads // 2  # what is read under masks is not read ahead
        wanted = min(-(-busy // have), points(nest) // (have * each))
        if have >= self.threads * 2 or wanted < 2:
            return {}
        if symbolic:
            return uneven_parts(nest, near, wanted)
        factors: dict[int, int] = {}
        for k in nest.reduced:
            part = best_divisor(sizes[k], wanted, LANES if k == near else 1)
            if part > 1:
                factors[k] = part
                wanted = -(-wanted // part)
        left = [k for k in nest.reduced if sizes[k] > 1 and factors.get(k, 1) < sizes[k]]
        return factors if left else {}

    # ---- fusion ------------------------------------------------------------------------------------------------------

    def producer_to_join(self, nest: NestOp) -> tuple[Value, dict[int, int]] | None:
        """A buffer whose producer folds some of the dims that the nest folds, and the dims to leave for the second stage."""
        makers = [(value, value.owner) for value in nest.inputs if isinstance(value.owner, NestOp)]
        makers = [(value, producer) for value, producer in makers if self.forms.ask(producer, folds)]  # type: ignore[arg-type]
        if not makers or not self.forms.ask(nest, folds_at_once):
            return None
        for value, producer in makers:
            assert isinstance(producer, NestOp)
            what = ("stages", self.options.gain, nest.inputs.index(value))
            factors = self.forms.together((nest, producer), what, partial(self._factors, nest, producer, value))
            if factors is not None:
                return value, factors
        return None

    def _factors(self, nest: NestOp, producer: NestOp, value: Value) -> dict[int, int] | None:
        """The dims to leave for the second stage so that the first can join the producer of a buffer."""
        reads = {load.map.offset for load in loads_of(nest, value)}
        if len(reads) != 1:
            return None
        try:
            joint = joint_by_offset(producer, nest, producer.store_of(value.index).map.offset, next(iter(reads)))
        except Blocked:
            return None
        sizes = nest.space.sizes
        inner = {k for d in producer.reduced for k in dims_of(joint.dims[d])}
        outer = {k for k in nest.reduced if sizes[k] != 1}
        shared = _outer_parts(nest, producer, joint)
        if joint.sizes != sizes or not inner or not inner <= outer or shared is None or (inner == outer and not shared):
            return None
        enough = nbytes(value) >= self.options.gain * self._partial_bytes(nest, inner) * prod(shared.values())
        return {**{k: sizes[k] for k in outer - inner}, **shared} if enough else None  # type: ignore[dict-item]

    def sibling_to_join(self, nest: NestOp) -> tuple[NestOp, Value, dict[int, int]] | None:
        """A nest over the same space that folds some of the dims that this one folds and reads the same elements of a buffer, and the dims to leave."""
        outer = {k for k in self.forms.ask(nest, reduced) if nest.space.sizes[k] != 1}
        if len(outer) < 2 or not self.forms.ask(nest, folds_at_once):
            return None
        for value in nest.inputs:
            offsets = {load.map.offset for load in loads_of(nest, value)}
            for other in readers(value):
                if not isinstance(other, NestOp) or other is nest or other.space is not nest.space or not self.forms.ask(other, folds):
                    continue
                inner = {k for k in self.forms.ask(other, reduced) if nest.space.sizes[k] != 1}
                if not inner or not inner < outer or not offsets & {load.map.offset for load in loads_of(other, value)}:
                    continue
                if any(buffer.owner is other for buffer in nest.inputs) or any(buffer.owner is nest for buffer in other.inputs):
                    continue
                if nbytes(value) >= self.options.gain * self._partial_bytes(nest, inner):
                    return other, value, {k: nest.space.sizes[k] for k in outer - inner}
        return None

    def _partial_bytes(self, nest: NestOp, inner: set[int]) -> int:
        """Bytes of the partial results when only some dims are folded."""
        stays = [k for k in range(len(nest.space.sizes)) if k not in inner]
        return count(weights(nest), stays) * sum(result.type.bytes for result in _folds(nest))  # type: ignore[attr-defined]


def _outer_parts(nest: NestOp, producer: NestOp, joint: Joint) -> dict[int, int] | None:
    """The dims of a nest of which the producer folds the inner part and not the outer one (channels of a group), and how many outer parts they have.

    None when the two parts of a dim lie otherwise.
    """
    folded = {k for d in producer.reduced for k in dims_of(joint.dims[d])}
    found: dict[int, int] = {}
    for d, parts in enumerate(producer.space.sizes):
        if d in producer.reduced or parts == 1:
            continue
        for k in dims_of(joint.dims[d]) & folded:
            size = nest.space.sizes[k]
            known = type(size) is int and type(parts) is int
            if k in found or not known or size % parts or joint.dims[d] is not nest.space.ranges.floordiv(dim(k), size // parts):
                return None
            found[k] = parts
    return found


def can_split(nest: NestOp) -> bool:
    """Whether a nest folds, and has points."""
    return bool(nest.reduced) and not has_scan(nest) and points(nest) != 0


def folds(nest: NestOp) -> bool:
    """Whether a nest folds, and its points have no order."""
    return bool(nest.reduced) and not has_scan(nest)


def folds_at_once(nest: NestOp) -> bool:
    """Whether no reduction of a nest needs another."""
    return len(first_reductions(nest)) == len(_folds(nest))


def _folds(nest: NestOp) -> list[Value]:
    return [op.result for op in nest.body if op.name in ("loop.reduce", "loop.reduce_index")]  # type: ignore[attr-defined]


def programs(nest: NestOp, on_gpu: bool = False) -> int:
    """How many programs the kernel of a reduction will have: one a row, or one a block of columns."""
    sizes, folded = weights(nest), set(nest.reduced)
    parallel = [k for k in range(len(sizes)) if k not in folded]
    votes = unit_stride_bytes(nest)
    near = max(range(len(sizes)), key=lambda k: (votes[k], k))
    block = 1 if near in folded else min(sizes[near], near_columns(nest) if on_gpu else LANES)
    return max(1, count(sizes, parallel) // block)


def uneven_parts(nest: NestOp, near: int, wanted: int) -> Factors:
    """Parts of so many indices each of the outermost folded dim whose size is known only at run time, so that there were `wanted` in the captured call."""
    sizes = weights(nest)
    for k in nest.reduced:
        each = 1 << max((-(-sizes[k] // wanted) - 1).bit_length(), 0)
        each = max(each, ROW // 8 if k == near else 1 if near in nest.reduced else LEAST)
        if type(nest.space.sizes[k]) is not int and each * 2 <= sizes[k]:
            return {k: Each(each)}
    return {}


def best_divisor(size: int, wanted: int, least: int) -> int:
    """The divisor of a size that makes at least `wanted` parts, few more, each of `least` indices or more; else the greatest below; 1 when there is none."""
    if wanted < 2:
        return 1
    fitting = [part for part in divisors(size) if part > 1 and size // part >= least]
    above = [part for part in fitting if wanted <= part <= 4 * wanted]
    return min(above) if above else max([part for part in fitting if part < wanted], default=1)


def divisors(size: int) -> Iterable[int]:
    """All divisors, in pairs."""
    for low in range(1, int(size**0.5) + 1):
        if size % low == 0:
            yield low
            if low * low != size:
                yield size // low
