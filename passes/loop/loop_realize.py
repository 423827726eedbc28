"""Decide for every buffer whether it is stored or computed again by its readers, and write down why.

    %0 = loop.nest @n0(%x) {..} : !loop.buffer<8xf32> { exp }              {.., realize = ["inline"]}
    %1 = loop.nest @n1(%0) {..} : !loop.buffer<8xf32> { neg }         =>   {.., realize = ["graph output"]}
    loop.return(%1)                                                        loop.return(%1)

Results that nothing reads are dropped.  A buffer is stored when something outside of nests needs it, when it is folded from many values, and when
computing it again would cost more than reading it: several readers times heavy operations, or times the bytes read.  Everything else becomes
`inline`, which `loop-inline` carries out.  The attribute may be edited.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from lect.dialects.loop.ops import ExternOp, FuncOp, IndexOp, LoadOp, NestOp, ReturnOp, UpdateOp, WriteOp
from lect.ir import Context, Operation, Value
from lect.ir.index_map import delinearize, is_affine
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.nests import (
    FEW,
    INLINE,
    body_size,
    functions,
    gathers,
    has_scan,
    heavy_ops,
    is_gathered_inline,
    nbytes,
    own_point,
    points,
    readers,
    release,
    without_results,
)


@dataclass(frozen=True)
class LoopRealize(Pass):
    """Set `realize` on every nest; drop results without readers."""

    name: ClassVar[str] = "loop-realize"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    max_reads: int = option(12, "most buffers that a value may read and still be computed by its readers")
    max_body: int = option(128, "most operations that a value may take and still be computed by its readers")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            drop_unread(func, forms_of(ctx), ctx)
            decisions = Decisions(forms_of(ctx), self.max_reads, self.max_body)
            for nest in [inner for inner in func.body if isinstance(inner, NestOp)]:
                nest.realize = tuple([decisions.of(nest, k) for k in range(len(nest.results))])
                ctx.count("buffers inline", nest.realize.count(INLINE))
                ctx.count("buffers stored", len(nest.realize) - nest.realize.count(INLINE))


def drop_unread(func: FuncOp, forms: Forms, ctx: Context) -> None:
    """Erase results that nothing reads, from the last operation to the first."""
    op = func.body.last
    while op is not None:
        before = op.prev
        if isinstance(op, NestOp):
            kept = tuple([k for k, value in enumerate(op.results) if value.users])
            ctx.count("results dropped", len(op.results) - len(kept))
            if not kept:
                op.erase()
            elif len(kept) < len(op.results):
                drop_results(op, kept, forms)
        op = before


def drop_results(nest: NestOp, kept: tuple[int, ...], forms: Forms) -> None:
    """A nest with some of the results takes the place of one."""
    attrs = {name: tuple([value[k] for k in kept]) if name in ("realize", "slots") and value else value for name, value in nest.attrs.items()}
    new = forms.make((nest,), ("kept", kept), nest.sym_name, partial(without_results, nest, kept))
    assert new is not None and nest.parent is not None
    new.attrs = {**attrs, "space": new.space}
    nest.parent.insert_before(nest, new)
    for k, value in zip(kept, new.results):
        value.hint = nest.results[k].hint
        nest.results[k].replace_all_uses(value)
    nest.erase()
    release(nest)


def point_is_affine(nest: NestOp, load: LoadOp) -> bool:
    """True when the nest's point can be found from the offset of a load without division, which a masked offset may leave."""
    reader = load.parent_op
    assert isinstance(reader, NestOp)
    return all(is_affine(index) for index in delinearize(load.map.offset, nest.space.sizes, reader.space.ranges))


def unlike(nest: NestOp) -> frozenset[int]:
    """The inputs of a nest that it does not only load at known points, without a mask."""
    special = {op.operands[0] for op in nest.body if type(op) is LoadOp and len(op.operands) > 1}
    special |= {op.base for op in nest.updates}
    return frozenset([number for number, value in enumerate(nest.inputs) if value in special])


def special_accesses(buffer: Value, users: list[Operation], forms: Forms) -> list[LoadOp | UpdateOp]:
    """The loads of a buffer that have a mask or loaded indices, and the updates that begin with it."""
    found: list[LoadOp | UpdateOp] = []
    for user in users:
        if isinstance(user, NestOp) and user.inputs.index(buffer) in forms.ask(user, unlike):
            found += [op for op in user.body if (type(op) is LoadOp and op.buffer is buffer) or (type(op) is UpdateOp and op.base is buffer)]
    return found


def has_values_everywhere(nest: NestOp) -> bool:
    """Whether the value of a nest can be computed at a point that is loaded: it loads at places that are known and does not ask where it is."""
    return not any(type(op) is IndexOp or (type(op) is LoadOp and op.indices) for op in nest.body)


def stored_for(nest: NestOp) -> str | None:
    """Why the results of a nest are stored whoever reads them."""
    if nest.reduced:
        return "folded from many values"
    if has_scan(nest):
        return "updated" if nest.updates else "scan"
    if len(nest.results) > 1:
        return "one of several results"
    if points(nest) == 0:
        return "empty"
    return None if nest.store_of(0).map.offset is own_point(nest) else "stored with gaps"


def cost(nest: NestOp) -> tuple[int, int]:
    """Operations of a block, and how many of them are heavy."""
    return body_size(nest), heavy_ops(nest)


class Decisions:
    """Decides in program order; remembers for each inline buffer what its readers would read and which nests they would repeat."""

    def __init__(self, forms: Forms, max_reads: int, max_body: int) -> None:
        self.forms = forms
        self.max_reads = max_reads
        self.max_body = max_body
        self.reads: dict[Value, dict[Value, None]] = {}
        self.nests: dict[Value, dict[NestOp, None]] = {}

    def of(self, nest: NestOp, number: int) -> str:
        """Why result `number` is stored, or "inline"."""
        buffer = nest.results[number]
        users = readers(buffer)
        needed = self.needed(nest, number, users)
        if needed is not None:
            return needed
        reads: dict[Value, None] = {}
        nests = {nest: None}
        for value in nest.inputs:
            reads.update(self.reads.get(value, {value: None}))
            nests.update(self.nests.get(value, {}))
        reason = self.too_dear(nest, buffer, len(users), reads, nests)
        gathered = any(isinstance(load, LoadOp) and load.indices for load in special_accesses(buffer, users, self.forms))
        if reason is None and gathered and not all(self.forms.ask(member, has_values_everywhere) for member in nests):
            reason = "read at loaded indices"
        if reason is None:
            self.reads[buffer], self.nests[buffer] = reads, nests
        return reason or INLINE

    def needed(self, nest: NestOp, number: int, users: list[Operation]) -> str | None:
        """What makes storing necessary whatever it costs."""
        for user in users:
            if isinstance(user, ReturnOp):
                return "graph output"
            if isinstance(user, WriteOp):
                return "written to an input"
            if isinstance(user, ExternOp):
                return f"operand of {user.callee.leaf}"
        kind = self.forms.ask(nest, stored_for)
        if kind is not None:
            return kind
        for load in special_accesses(nest.results[number], users, self.forms):
            if isinstance(load, UpdateOp):
                return "what an update begins with"
            if load.indices and not is_gathered_inline(nest, load.parent_op, load):  # type: ignore[arg-type]
                return "read at loaded indices"
            if load.masks and not point_is_affine(nest, load):
                return "read under a mask"
        return None

    def too_dear(self, nest: NestOp, buffer: Value, count: int, reads: dict[Value, None], nests: dict[NestOp, None]) -> str | None:
        """Why computing a value at each of `count` readers costs more than storing it."""
        if len(reads) > self.max_reads:
            return f"{len(reads)} buffers read"
        costs = [self.forms.ask(member, cost) for member in nests]
        size = sum(operations for operations, _ in costs)
        if size > self.max_body:
            return f"{size} operations"
        if count < 2:
            return None
        heavy = sum(dear for member, (_, dear) in zip(nests, costs) if points(member) * FEW >= points(nest))
        if heavy:
            return f"{count} readers x {heavy} heavy operations"
        if self.forms.ask(nest, gathers):
            return f"{count} readers x gather"
        read = sum(min(nbytes(value), points(nest) * value.type.element.bytes) for value in reads)  # type: ignore[attr-defined]
        if read * (count - 1) > nbytes(buffer) * count:
            return f"{count} readers x {read} bytes read, against {nbytes(buffer)} stored"
        return None
