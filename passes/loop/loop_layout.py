"""Store what only the graph itself sees in the order in which it is walked.

    %0 = loop.nest @n0(%x) {space = <d0: 128, d1: 256>}            %0 = loop.nest @n0(%x) {.., layout = "result 0 as 256x128: .."}
      load %x (d1 * 128 + d0)                                        load %x (d1 * 128 + d0)
      store (d0 * 256 + d1)                                   =>     store (d1 * 128 + d0)
    %1 = loop.extern @e0(%0, %w) {callee = @aten.mm.default,       %1 = loop.extern @e0(%0, %w) {callee = @aten.mm.default,
             views = [<128x256>, ..]}                                       views = [<128x256, strides [1, 128]>, ..]}

A tensor that the caller gets, or that is written to a parameter, lies as in eager.  What a nest stores for others in the graph may lie in any order of the
dims of its store.  Each nest walks along one dim; accesses that do not step along it by one element, though they step, are crossed: their bytes are loaded and
stored line by line for a few elements each.  Of the orders in which a buffer may lie the one is taken with which the fewest bytes are crossed, by the nest
that stores it and by all that load it, if that is fewer than before.

Readers are nests that read at places which do not depend on data, and products of the library, which take a matrix by rows or by columns at one cost.  Products
that are nests have a layout of their own (`loop-choose-kernel`).  On a GPU the images of 16-bit floats that convolutions take and give lie with their channels
together where nobody else sees them (`images.py`): the library would copy them so, and back, for each one.

Buffers stay apart and are of one size before and after, so nothing else is decided here; the dims of nests follow the new order in `loop-reorder`, which
stands behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import ClassVar

from lect.dialects.loop.attributes import SpaceAttr, ViewAttr
from lect.dialects.loop.building import NestBuilder
from lect.dialects.loop.ops import ExternOp, FuncOp, LoadOp, NestOp, StoreOp
from lect.dialects.loop.types import BufferType
from lect.ir import Context, Operation, Value
from lect.ir.facts import facts_of
from lect.ir.index_map import coefficient, contiguous_strides, flat_map, linearize, strided, strides_of
from lect.ir.symbolic import Expr, Ranges, Size, as_size, product, ranges_of
from lect.passes.base import Pass, option
from lect.passes.loop.digits import Digits
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.fusion import Blocked
from lect.passes.loop.images import ORDER as IMAGE_ORDER
from lect.passes.loop.images import images_of
from lect.passes.loop.loop_reorder import reorder_dims
from lect.passes.loop.nests import fresh_name, functions, readers, weights
from lect.passes.loop.products import CALLS
from lect.passes.targets import is_gpu

Access = tuple[Expr, int]  # the offset of a load or store, and the bytes it touches


@dataclass(frozen=True)
class LoopLayout(Pass):
    """Choose in which order of its dims each buffer lies that only the graph itself sees."""

    name: ClassVar[str] = "loop-layout"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    most_dims: int = option(4, "dims of a buffer up to which all orders are tried")

    def run(self, op: Operation, ctx: Context) -> None:
        forms = forms_of(ctx)
        for func in functions(op):
            if is_gpu(ctx.target) and ctx.target.get("cudnn"):
                ctx.count("convolutions with channels together", lay_images(func, forms))
            for layout in list(candidates(func, forms, self.most_dims)):
                saved = choose(layout, forms)
                ctx.count("buffers laid otherwise", bool(saved))
                ctx.count("bytes not crossed", saved)


@dataclass(frozen=True)
class Layout:
    """A buffer whose order of dims is free: result `number` of a nest, and its readers."""

    nest: NestOp
    number: int
    digits: Digits
    nests: tuple[NestOp, ...]
    calls: tuple[ExternOp, ...]

    @property
    def buffer(self) -> Value:
        """The result."""
        return self.nest.results[self.number]


# ---- which buffers ----------------------------------------------------------------------------------------------------


def candidates(func: FuncOp, forms: Forms, most_dims: int) -> Iterator[Layout]:
    """The buffers of a function that may lie otherwise, and that a nest stores or loads across the order in which it walks."""
    crossing = {nest for nest in func.body if isinstance(nest, NestOp) and forms.ask(nest, bytes_crossed)}
    for nest in func.body if crossing else ():
        if not isinstance(nest, NestOp) or nest.products or nest.updates:
            continue
        for number, value in enumerate(nest.results):
            users = readers(value)
            if not users or not (nest in crossing or any(user in crossing for user in users)):
                continue
            nests = tuple([user for user in users if isinstance(user, NestOp)])
            calls = tuple([user for user in users if isinstance(user, ExternOp)])
            free = all(_may_follow(user, value) for user in nests) and all(_takes_any(call, value) for call in calls)
            if not free or len(nests) + len(calls) < len(users):
                continue
            digits = digits_of(nest, number)
            if digits is not None and 2 <= len(digits.sizes) <= most_dims:
                yield Layout(nest, number, digits, nests, calls)


def digits_of(nest: NestOp, number: int) -> Digits | None:
    """The dims over which a result is stored, if it is a row-major array of them, in some order and without a hole; else None."""
    store = nest.store_of(number)
    found = strides_of(store.map.offset, len(nest.space.sizes)) if isinstance(store, StoreOp) else None
    if found is None or found[0] != 0:
        return None
    facts = facts_of(nest)
    sizes, steps = nest.space.sizes, found[1]
    dims = sorted([k for k, step in enumerate(steps) if step != 0 and sizes[k] != 1], key=lambda k: -facts.hint(steps[k]))
    apart = contiguous_strides(tuple([sizes[k] for k in dims]))
    dense = all(step == steps[k] for k, step in zip(dims, apart)) and product([sizes[k] for k in dims]) == nest.results[number].type.numel
    return Digits(tuple([sizes[k] for k in dims])) if dense else None


def _may_follow(nest: NestOp, value: Value) -> bool:
    """Whether a nest may read a buffer in another order: at places that do not depend on data, and not as a factor whose panels were laid out already."""
    if nest.products or any(update.base is value for update in nest.updates):
        return False
    return not any(load.indices for load in nest.loads if load.buffer is value)


def _takes_any(call: ExternOp, value: Value) -> bool:
    """Whether a call is a product that reads a buffer as a factor and as nothing else."""
    kind = CALLS.get(call.callee.leaf)
    return kind is not None and not call.in_place and all(old is not value or number >= kind[1] for number, old in enumerate(call.operands))


# ---- what an order costs ----------------------------------------------------------------------------------------------


def accesses_of(nest: NestOp, offset_of: Callable[[LoadOp | StoreOp], Expr]) -> list[Access]:
    """The loads and stores of a nest at places that do not depend on data."""
    sizes = weights(nest)
    found = []
    for op in nest.body:
        if isinstance(op, StoreOp) or isinstance(op, LoadOp) and not op.indices:
            offset, touched = offset_of(op), op.value.type.bytes
            for k, size in enumerate(sizes):
                touched *= size if coefficient(offset, k) != 0 else 1
            found.append((offset, touched))
    return found


def crossed(accesses: Sequence[Access], sizes: Sequence[int]) -> int:
    """Bytes that are crossed when a nest walks along the best of its dims."""
    walked = [k for k, size in enumerate(sizes) if size > 1]
    return min([sum([touched for offset, touched in accesses if coefficient(offset, k) not in (0, 1)]) for k in walked], default=0)


def bytes_crossed(nest: NestOp) -> int:
    """Bytes that a nest crosses as it is; 0 for products, which have panels."""
    return 0 if nest.products else crossed(accesses_of(nest, lambda op: op.map.offset), weights(nest))


def choose(layout: Layout, forms: Forms) -> int:
    """Lay a buffer in the order that crosses the fewest bytes; gives how many fewer that are, 0 when it stays as it is."""
    nests = list(dict.fromkeys((layout.nest, *layout.nests)))
    now = tuple(range(len(layout.digits.sizes)))
    before = sum([forms.ask(nest, bytes_crossed) for nest in nests])
    best, fewest = now, before
    for order in permutations(now):
        if order == now or not all(_view(call, layout, order) for call in layout.calls):
            continue
        costs = [_cost(nest, layout, order) for nest in nests]
        if None in costs:
            return 0  # nor could the nest follow in any other order
        if sum(costs) < fewest:  # type: ignore[arg-type]
            best, fewest = order, sum(costs)  # type: ignore[arg-type]
    if best is now:
        return 0
    _lay(layout, best, f"{before - fewest} of {before} crossed bytes lie so", forms)
    return before - fewest


def _cost(nest: NestOp, layout: Layout, order: Sequence[int]) -> int | None:
    """Bytes that a nest crosses when a buffer lies in another order; None when it cannot follow without a division."""
    digits, ranges = layout.digits, nest.space.ranges

    def is_of_buffer(op: LoadOp | StoreOp) -> bool:
        return nest is layout.nest and op.to == layout.number if isinstance(op, StoreOp) else op.buffer is layout.buffer

    try:
        return crossed(accesses_of(nest, lambda op: _moved(digits, op, ranges, order) if is_of_buffer(op) else op.map.offset), weights(nest))
    except Blocked:
        return None


def _moved(digits: Digits, op: LoadOp | StoreOp, ranges: Ranges, order: Sequence[int]) -> Expr:
    """Where a load or store finds its element in another order.  Raises `Blocked` where that takes a division."""
    offset = digits.moved(op.map.offset, ranges, order)
    if offset is None:
        raise Blocked("it would divide")
    return offset


def _view(call: ExternOp, layout: Layout, order: Sequence[int]) -> dict[int, ViewAttr]:
    """How a product sees the buffer in another order: operand -> view; empty when the library would copy it first."""
    found = {}
    for number, value in enumerate(call.operands):
        if value is not layout.buffer:
            continue
        old = call.views[number]
        offset = layout.digits.moved(old.map, ranges_of(old.sizes), order)
        steps = None if offset is None else strides_of(offset, len(old.sizes))
        if steps is None:
            return {}
        strides = tuple([before if size == 1 else step for size, before, step in zip(old.sizes, old.strides, steps[1])])
        if not _is_matrix(old.sizes[-2:], strides[-2:]):
            return {}
        found[number] = ViewAttr(old.sizes, strides, as_size(steps[0]))
    return found


def _is_matrix(sizes: Sequence[Size], strides: Sequence[Size]) -> bool:
    """Whether the library reads a matrix as it lies: by rows or by columns."""
    (rows, columns), (down, along) = sizes, strides
    if type(rows) is int and type(columns) is int and type(down) is int and type(along) is int:
        return along == 1 and down >= columns or down == 1 and along >= rows
    return along == 1 and down == columns or down == 1 and along == rows


# ---- the change -------------------------------------------------------------------------------------------------------


def _lay(layout: Layout, order: Sequence[int], why: str, forms: Forms) -> None:
    """Let the nest store, and the readers load, in another order."""
    for call in layout.calls:
        views = _view(call, layout, order)
        call.views = tuple([views.get(number, view) for number, view in enumerate(call.views)])
    _move(layout.buffer, layout.digits, order, forms)
    _note(layout.buffer, why)


def _note(buffer: Value, why: str) -> None:
    """Write on the nest that stores a buffer in which order it lies now."""
    nest = buffer.op
    assert isinstance(nest, NestOp)
    text = f"result {buffer.index} as {'x'.join(map(str, buffer.type.sizes))}: {why}"
    nest.layout = f"{nest.layout}; {text}" if nest.layout else text


def _move(buffer: Value, digits: Digits, order: Sequence[int], forms: Forms) -> None:
    """Let the nests around a buffer store and load it in another order of its dims; the calls are left out."""
    producer = buffer.op
    nests = [user for user in readers(buffer) if isinstance(user, NestOp)]
    for nest in nests:
        forms.change(nest, ("layout of an input", nest.inputs.index(buffer), digits, tuple(order)), partial(_load, nest, buffer, digits, order))
    if isinstance(producer, NestOp):
        nests.append(producer)
        forms.change(producer, ("layout of a result", buffer.index, digits, tuple(order)), partial(_store, producer, buffer.index, digits, order))
    buffer.type = BufferType(tuple([digits.sizes[k] for k in order]), buffer.type.element)
    for nest in nests:
        forms.forget(nest)


def _load(nest: NestOp, buffer: Value, digits: Digits, order: Sequence[int]) -> None:
    for load in [load for load in nest.loads if load.buffer is buffer]:
        load.map = flat_map(len(nest.space.sizes), _moved(digits, load, nest.space.ranges, order))


def _store(nest: NestOp, number: int, digits: Digits, order: Sequence[int]) -> None:
    store = nest.store_of(number)
    assert isinstance(store, StoreOp)
    store.map = flat_map(len(nest.space.sizes), _moved(digits, store, nest.space.ranges, order))


# ---- images -----------------------------------------------------------------------------------------------------------


def lay_images(func: FuncOp, forms: Forms) -> int:
    """Let convolutions take and give images whose channels lie together; gives how many."""
    images = images_of(func)
    touched = {nest for value in images.moved for nest in (value.op, *readers(value)) if isinstance(nest, NestOp)}
    for value in images.copied:
        calls = [call for call in images.calls if call.operands[0] is value]
        copy = _copied(value, calls[0], func)
        for call in calls:
            call.set_operand(0, copy)
            call.views = (_by_channels(call.views[0]), *call.views[1:])
    for value in images.moved:
        calls = [user for user in readers(value) if isinstance(user, ExternOp)]
        sizes = (value.op.result_views[0] if isinstance(value.op, ExternOp) else calls[0].views[0]).sizes
        _move(value, Digits(sizes), IMAGE_ORDER, forms)
        for call in calls:
            call.views = (_by_channels(call.views[0]), *call.views[1:])
        if isinstance(value.op, ExternOp):
            value.op.result_views = (_by_channels(value.op.result_views[0]),)
            value.op.chosen = "images with their channels together, as a GPU multiplies halves"
        else:
            _note(value, f"for @{calls[0].sym_name}")
    for nest in [nest for nest in func.body if nest in touched]:
        reorder_dims(nest, forms)  # type: ignore[arg-type]
    return len(images.calls)


def _by_channels(view: ViewAttr) -> ViewAttr:
    """Images of the same sizes whose channels lie together."""
    return ViewAttr(view.sizes, Digits(view.sizes).strides(IMAGE_ORDER), 0)


def _copied(value: Value, call: ExternOp, func: FuncOp) -> Value:
    """The result of a nest in front of a call that copies its image into the order of channels."""
    sizes = call.views[0].sizes
    order = tuple([sizes[k] for k in IMAGE_ORDER])
    builder = NestBuilder(SpaceAttr(order), call.loc)
    dims = builder.space.dims
    where = strided(dims, tuple([contiguous_strides(sizes)[k] for k in IMAGE_ORDER]))
    builder.store(builder.load(value, where), BufferType(order, value.type.element), linearize(dims, order))
    nest = builder.finish(fresh_name(f"{call.sym_name}.image", {op.symbol for op in func.body}))
    nest.realize = (f"operand of {call.callee.leaf}",)
    nest.layout = f"result 0 as {'x'.join(map(str, order))}: for @{call.sym_name}"
    assert call.parent is not None
    call.parent.insert_before(call, nest)
    return nest.results[0]
