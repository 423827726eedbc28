"""Decide where what is added to a matrix product of the library is added: by the library, or by the nests behind it.

    %0 = loop.extern @e0(%b, %x, %w) {callee = @aten.addmm.default, ..}        %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, ..}
    %1 = loop.nest @n1(%0) { gelu(load %0) }                              =>   %1 = loop.nest @n1(%0, %b) { gelu(load %0 + load %b) }

    %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, ..}               %1 = loop.extern @e0(%r, %x, %w) {callee = @aten.addmm.default, ..}
    %1 = loop.nest @n1(%0, %r) { load %0 + load %r }                      =>

A library that adds copies the addend into the result, multiplies, and reads the copy back: two trips through the result that nests behind it, which
read it anyway, do not make.  So it moves into them if only nests read the product, each element once; a row that is added to all rows stays in
the first cache, another addend is read by every nest, which must cost less than what is saved.  The other way round, a nest that does nothing
but add to a product that nothing else reads is a launch too many.  What was done stands in `fused` of the nest and in `chosen` of the call, what was
not in `blocked` of the nest.  Both ways every element is rounded as before: the product, then the sum.

Products that are nests themselves have their epilogue from `loop-fuse-vertical`.  A GPU's library adds a row while it multiplies, so nothing is moved
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

from lect.dialects.loop.attributes import BlockedAttr, FuseAttr, OperandAttr, ViewAttr
from lect.dialects.loop.building import NestBuilder
from lect.dialects.loop.ops import ExternOp, LoadOp, NestOp, ReturnOp, StoreOp
from lect.ir import Context, Operation, SymbolRef, Value
from lect.ir.index_map import delinearize, is_affine, linearize, space_dims, strides_of, substitute
from lect.ir.symbolic import Expr, ranges_of
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.fusion import Blocked
from lect.passes.loop.nests import functions, nbytes, own_point, points, readers, weight
from lect.passes.loop.products import CALLS, Product, broadcast
from lect.passes.targets import is_gpu

L1_BYTES = 32 << 10


@dataclass(frozen=True)
class LoopFuseEpilogue(Pass):
    """Move what is added to a product of the library into the nests behind it, or from a nest that does only that into the call."""

    name: ClassVar[str] = "loop-fuse-epilogue"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        if is_gpu(ctx.target):
            return
        l1_bytes = int(ctx.target.get("l1_bytes", L1_BYTES))
        forms = forms_of(ctx)
        for func in functions(op):
            for call in [inner for inner in func.body if isinstance(inner, ExternOp) and inner.callee.leaf in CALLS]:
                product = Product.of(call)
                if product is None:
                    continue
                try:
                    if product.added is not None:
                        ctx.count("bytes saved", defer(product, forms, l1_bytes))
                        ctx.count("sums moved behind a call")
                    elif absorb(product, forms):
                        ctx.count("sums moved into a call")
                except Blocked as reason:
                    _note(call, str(reason))
                    ctx.count("fusions refused")


def _note(call: ExternOp, reason: str) -> None:
    """Write a refusal on the first nest that reads the call's result."""
    for user in readers(call.results[0]):
        if isinstance(user, NestOp):
            user.blocked = (*user.blocked, BlockedAttr(call.sym_name, f"%{call.results[0].hint or 'result 0'}: {reason}"))
            return


# ---- from the call into nests ----------------------------------------------------------------------------------------


def defer(product: Product, forms: Forms, l1_bytes: int) -> int:
    """Let the nests that read a product add what its call adds; gives the bytes saved.  Raises `Blocked`."""
    call, result = product.op, product.op.results[0]
    assert product.added is not None
    added, view = call.operands[product.added], call.views[product.added]
    users = readers(result)
    nests = [user for user in users if isinstance(user, NestOp)]
    if not nests or len(nests) < len(users):
        raise Blocked("not only nests read the sum")
    for nest in nests:
        what = ("once", nest.inputs.index(result), product.batch, product.rows, product.columns)
        refusal = forms.together((nest,), what, partial(_read_twice, nest, product))
        if refusal:
            raise Blocked(refusal)
    wide = _wide(view)
    one_row = wide.sizes[:2] == (1, 1) or not any(stride for size, stride in zip(wide.sizes[:2], wide.strides or ()) if size != 1)
    read = 0 if one_row and weight(product.columns, call) * product.element_bytes <= l1_bytes else len(nests) * nbytes(result)
    saves = 2 * nbytes(result) - read
    if saves <= 0:
        raise Blocked(f"{len(nests)} nests would read what is added")
    for nest in nests:
        how = ("adds", nest.inputs.index(result), product.batch, product.rows, product.columns, wide)
        forms.change(nest, how, partial(_add, nest, product, added, wide), (added,), (call.loc,))
        nest.fused = (*nest.fused, FuseAttr("epilogue", call.sym_name, nest.sym_name, saves // len(nests)))
    plain = "aten.bmm.default" if call.callee.leaf == "aten.baddbmm.default" else "aten.mm.default"
    _replace_call(product, call, plain, [product.a, product.b], "the nests behind it add")
    return saves


@lru_cache(maxsize=4096)
def _wide(view: ViewAttr) -> ViewAttr:
    """A view as batch, rows and columns."""
    missing = 3 - len(view.sizes)
    return ViewAttr((1,) * missing + view.sizes, (0,) * missing + tuple(view.strides or ()), view.offset)


_callee, _operand = lru_cache(maxsize=64)(SymbolRef), lru_cache(maxsize=256)(OperandAttr)


def _read_twice(nest: NestOp, product: Product) -> str:
    """Why a nest may read an element of the product at more than one point; empty when it does not, whatever the elements are."""
    result = product.op.results[0]
    elements = result.type.numel  # type: ignore[attr-defined]
    if nest.space.points != elements and (type(elements) is not int or points(nest) > elements):
        return "an element is read at several points"
    for load in _loads(nest, result):
        if load.indices or load.masks:
            return "it is read at places that depend on data"
        if not all(is_affine(index) for index in _place(load, nest, product)):
            return "its rows and columns are not dims of the nest"
    return ""


def _loads(nest: NestOp, buffer: Value) -> list[LoadOp]:
    return [load for load in nest.loads if load.buffer is buffer]


def _place(load: LoadOp, nest: NestOp, product: Product) -> tuple[Expr, ...]:
    """Batch, row and column of the element that a load reads."""
    return delinearize(load.map.offset, (product.batch, product.rows, product.columns), nest.space.ranges)


def _add(nest: NestOp, product: Product, added: Value, view: ViewAttr) -> NestOp:
    """Put the sum behind each load of the product."""
    for load in _loads(nest, product.op.results[0]):
        builder = NestBuilder.inside(nest)
        builder.loc, builder.anchor = product.op.loc, load.next
        addend = builder.load(added, broadcast(view, _place(load, nest, product)))
        users = list(dict.fromkeys(load.value.users))
        total = builder.op("add", load.value, addend)
        for user in users:
            for number, value in enumerate(user.operands):
                if value is load.value:
                    user.set_operand(number, total)
    nest.set_operands(nest.needed_inputs)
    return nest


# ---- from a nest into the call ---------------------------------------------------------------------------------------


def absorb(product: Product, forms: Forms) -> bool:
    """Let the call add what a nest that does nothing else adds to its result; False when no nest does.  Raises `Blocked`."""
    call, result = product.op, product.op.results[0]
    users = readers(result)
    nest = users[0] if len(users) == 1 else None
    if not isinstance(nest, NestOp):
        return False
    number = nest.inputs.index(result)
    addend = forms.together((nest,), ("only adds", number), partial(_only_adds, nest, result)) if forms.ask(nest, _adds_two) else None
    if addend is None:
        if forms.together((nest,), ("is added to", number), partial(_is_added_to, nest, result)):
            raise Blocked("the nest does more than add to it")
        return False
    other, offset = addend
    view = _view_of(offset, nest, product)
    if any(isinstance(user, ReturnOp) for user in readers(nest.results[0])):
        raise Blocked("the sum is a result of the graph, in a view of its own")
    plain = "aten.baddbmm.default" if call.callee.leaf == "aten.bmm.default" else "aten.addmm.default"
    made = _replace_call(product, nest, plain, [product.a, product.b], f"adds what @{nest.sym_name} added, which saves a launch", (nest.inputs[other], view))
    made.results[0].hint = nest.results[0].hint
    nest.replace(made.results)
    call.erase()
    return True


def _is_added_to(nest: NestOp, result: Value) -> bool:
    """Whether a nest adds to an element of a product, whatever else it does."""
    return any(op.name == "loop.add" for load in _loads(nest, result) for op in load.value.users)


def _adds_two(nest: NestOp) -> bool:
    """Whether a nest does nothing but add two elements."""
    return len(nest.results) == 1 and sorted(op.name for op in nest.body) == ["loop.add", "loop.load", "loop.load", "loop.store"]


def _only_adds(nest: NestOp, result: Value) -> tuple[int, Expr] | None:
    """Input and offset of the addend if a nest that adds is `load result + load addend`, element by element, in the order in which they lie."""
    if nest.space.points != result.type.numel:  # type: ignore[attr-defined]
        return None
    first, second = nest.loads
    load, addend = (first, second) if first.buffer is result else (second, first)
    store = nest.stores[0]
    in_order = load.map.offset is own_point(nest) and isinstance(store, StoreOp) and store.map.offset is load.map.offset
    plain = load.buffer is result and addend.buffer is not result and not addend.indices and not addend.masks
    same = addend.buffer.type.element is result.type.element  # type: ignore[attr-defined]
    return (nest.inputs.index(addend.buffer), addend.map.offset) if in_order and plain and same else None


def _view_of(offset: Expr, nest: NestOp, product: Product) -> ViewAttr:
    """What a nest reads at an offset, as a tensor of the product's sizes.  Raises `Blocked`."""
    sizes = product.op.result_views[0].sizes
    ranges = ranges_of(sizes)
    point = delinearize(linearize(space_dims(sizes), sizes), nest.space.sizes, ranges)
    found = strides_of(substitute(offset, point, ranges), len(sizes))
    if found is None or type(found[0]) is not int:
        raise Blocked("what it adds has no strides")
    return ViewAttr(sizes, found[1], found[0])


def _replace_call(
    product: Product, before: Operation, callee: str, numbers: Sequence[int], chosen: str, added: tuple[Value, ViewAttr] | None = None
) -> ExternOp:
    """A call with other operands in front of `before`; it takes the old one's results over unless it gives another sum."""
    call = product.op
    given = ([added] if added else []) + [(call.operands[number], call.views[number]) for number in numbers]
    order = list(dict.fromkeys(given))
    attrs = {
        **call.attrs,
        "callee": _callee(callee),
        "views": tuple([view for _, view in order]),
        "args": tuple([_operand(order.index(pair)) for pair in given]),
        "chosen": "; ".join(text for text in (call.chosen, chosen) if text),
    }
    made = ExternOp.create([value for value, _ in order], [value.type for value in call.results], attrs, (), (), call.loc)
    assert before.parent is not None
    before.parent.insert_before(before, made)
    if added is None:
        made.results[0].hint = call.results[0].hint
        call.replace(made.results)
    return made
