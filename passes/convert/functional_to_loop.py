"""functional to loop: one nest or one library call for each operation; views become index maps and vanish.

    functional.func @f.graph(%x: !functional.tensor<8x16xf32>) {
      %0 = functional.exp(%x) : !functional.tensor<8x16xf32>
      %1 = functional.permute(%0) {dims = [1, 0]} : !functional.tensor<16x8xf32, strides [1, 16]>
      %2 = functional.neg(%1) : !functional.tensor<16x8xf32, strides [1, 16]>
      functional.return(%2)
    }
    =>
    loop.func @f.graph(%x: !loop.buffer<8x16xf32>) {
      %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8, d1: 16>} : !loop.buffer<8x16xf32> {
      ^bb0(%d0: index, %d1: index):
        %2 = loop.load(%x) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>} : f32
        %3 = loop.exp(%2) : f32
        loop.store(%3) {map = #loop.map<(d0, d1) -> (d0 * 16 + d1)>}
      }
      %1 = loop.nest @n1(%0) ...
      loop.return(%1) {views = [#loop.view<16x8, strides [1, 16]>]}
    }

Each lowering is one entry of a table keyed by operation class; the topic files beside this one hold them.  Nothing is decided here: that every
result is stored is for `loop-realize` to change.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from lect.dialects.functional import gather as gather_ops
from lect.dialects.functional import ops as functional
from lect.dialects.functional.creation import CopyOp, FullOp
from lect.dialects.functional.symbols import places_of
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import AsStridedOp
from lect.dialects.loop.attributes import ViewAttr
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp, ReturnOp, WriteOp
from lect.dialects.loop.types import BufferType
from lect.ir import Block, Context, LectError, Location, Operation, Region, SymbolicSizeError, Value, literal_key
from lect.ir.index_map import strides_of
from lect.ir.symbolic import UNBOUNDED, Expr
from lect.passes.base import Pass
from lect.passes.convert import functional_to_loop_composite as composite
from lect.passes.convert import functional_to_loop_extern as extern
from lect.passes.convert import functional_to_loop_gather as gather
from lect.passes.convert import functional_to_loop_loss as loss
from lect.passes.convert import functional_to_loop_norm_gradients as norm_gradients
from lect.passes.convert import functional_to_loop_normalization as normalization
from lect.passes.convert import functional_to_loop_pointwise as pointwise
from lect.passes.convert import functional_to_loop_random as random
from lect.passes.convert import functional_to_loop_reduction as reduction
from lect.passes.convert import functional_to_loop_resample as resample
from lect.passes.convert import functional_to_loop_scan as scan
from lect.passes.convert import functional_to_loop_scatter as scatter
from lect.passes.convert import functional_to_loop_sort as sort
from lect.passes.convert import functional_to_loop_special as special
from lect.passes.convert import functional_to_loop_view as view
from lect.passes.convert import functional_to_loop_window as window
from lect.passes.convert.functional_to_loop_base import Layout, Lowering, Rule, Seen, layout_of, physical_order
from lect.passes.loop.forms import FORMS, Forms, Recipe, forms_of

TO_DEVICE = "aten._to_copy.default"
SLICES = (gather_ops.SliceScatterOp, gather_ops.DiagonalScatterOp, gather_ops.AsStridedScatterOp)
ON_CPU = (*scatter.RULES,)  # elsewhere the library does it: its atomic operations run at once what a nest does in order
BY_TYPES = frozenset(  # rules that ask for types, attributes and how operands lie alone
    {*pointwise.FORMULAS, *composite.FORMULAS, *reduction.RULES, *normalization.RULES, *view.BY_TYPES, *extern.BY_TYPES}
)
VIEWS = frozenset({*view.BY_TYPES, AsStridedOp, CopyOp})  # what may show the memory of its operand
RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        **dict.fromkeys((*extern.CALLS, *extern.SPECIAL), extern.call),
        **{
            cls: pointwise.elementwise(formula, extern.call)
            for cls, formula in {**pointwise.FORMULAS, **composite.FORMULAS, **random.FORMULAS, **special.FORMULAS}.items()
        },
        **special.RULES,
        **view.RULES,
        **gather.RULES,
        **scatter.RULES,
        **scan.RULES,
        **window.RULES,
        **resample.RULES,
        **reduction.RULES,
        **sort.RULES,
        **normalization.RULES,
        **norm_gradients.RULES,
        **loss.RULES,
    }
)


@dataclass(frozen=True)
class FunctionalToLoop(Pass):
    """Replace every `functional.func` by a `loop.func` of the same name."""

    name: ClassVar[str] = "functional-to-loop"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        for func in [inner for inner in op.body if isinstance(inner, functional.FuncOp)]:
            lowered = lower_function(func, forms_of(ctx))
            func.parent.insert_before(func, lowered)  # type: ignore[union-attr]
            func.detach()
            ctx.count("functions lowered")
            ctx.count("nests", sum(inner.name == "loop.nest" for inner in lowered.body))
            ctx.count("library calls", sum(inner.name == "loop.extern" for inner in lowered.body))


def lower_function(func: functional.FuncOp, forms: Forms | None = None) -> FuncOp:
    """The loop form of one graph; the graph itself is left as it is.  Raises `LectError` for an operation without one."""
    block = Block()
    lowering = Lowering(block)
    repeated = Repeated(lowering, forms or Forms())
    views = []
    writes: list[functional.WriteOp] = []
    for value in func.body.args:
        type: TensorType = value.type
        layout = layout_of(type, exact=True)
        buffer = block.add_arg(argument_buffer(type, layout), value.hint)
        views.append(layout.view)
        lowering.seen[value] = Seen(buffer, layout.seen_offset, type)
    written = {lowering.seen[op.target].buffer for op in func.body if isinstance(op, functional.WriteOp)}
    device = device_of(func)
    bring_numbers(lowering, func, device)
    for op in func.body:
        if isinstance(op, functional.WriteOp):
            writes.append(op)
            continue
        if isinstance(op, functional.ReturnOp):
            lower_end(lowering, op, writes)
            continue
        try:
            shown = copy_in_place(lowering, op, written) if isinstance(op, CopyOp) else None
            lowered = repeated.lower(op) if shown is None else [shown]
        except SymbolicSizeError as error:
            error.about(op)
            raise
        for value, seen in zip(op.results, lowered):
            lowering.seen[value] = seen
    plain = all(view is ViewAttr(value.type.sizes) for view, value in zip(views, block.args))
    told = {"symbols": declared_symbols(func), "consumed": consumed_by(func)}
    return FuncOp(func.attrs["sym_name"], () if plain else tuple(views), device, **told, regions=[Region([block])], loc=func.loc)


def copy_in_place(lowering: Lowering, op: CopyOp, written: AbstractSet[Value]) -> Seen | None:
    """What a copy reads, where it lies as the copy would: only dims of size 1 have other strides, as after a `select`.  None when memory of its own is needed,
    as that of a result, or because what it reads is written to."""
    seen, type = lowering.seen[op.x], op.output.type
    if op.x.type.device != type.device or seen.buffer in written:
        return None
    found = Seen(seen.buffer, seen.offset, type)
    return found if lowering.view_of(found) is not None and not is_shown_outside(op.output) else None


def is_shown_outside(value: Value) -> bool:
    """Whether a value, or a view of it, is a result or is written to an input."""
    users = value.users
    return any(isinstance(user, functional.ReturnOp | functional.WriteOp) or (type(user) in VIEWS and is_shown_outside(user.results[0])) for user in users)


def consumed_by(func: functional.FuncOp) -> tuple[int, ...]:
    """The parameters of a backward that were kept for it alone."""
    kept = (func.training or {}).get("kept", ())
    return tuple([number for number, (kind, _) in enumerate(kept) if kind == "kept"])


def declared_symbols(func: functional.FuncOp) -> dict[str, dict[str, int]] | None:
    """What the function says of its size symbols, as the levels below write it; None when all sizes are numbers."""
    places = places_of(func)
    found: dict[str, dict[str, int]] = {}
    for name, entries in (func.symbols or {}).items():
        found[name] = dict(entries)
        place = places.get(int(name[1:]))
        if place is not None:
            found[name]["argument"] = place.argument
            if place.dim is not None:
                found[name]["dim"] = place.dim
            if place.divisor != 1:
                found[name]["divisor"] = place.divisor
    return found or None


def device_of(func: functional.FuncOp) -> str:
    """The device on which a graph computes.

    Raises `LectError` when there are several: parameters and constants without dims that lie on the CPU may join any.
    """
    values = [value for op in func.body for value in op.results if not is_number(op)]
    values += [value for value in func.body.args if value.type.rank or value.type.device != "cpu"]
    devices = dict.fromkeys(value.type.device for value in values)
    if len(devices) > 1:
        raise LectError(f"tensors on several devices, {' and '.join(sorted(devices))}, in one graph", op=func)
    return next(iter(devices), "cpu")


def is_number(op: Operation) -> bool:
    """Whether an operation makes a constant without dims on the CPU that only computations read."""
    if not isinstance(op, FullOp) or op.output.type.rank or op.output.type.device != "cpu":
        return False
    return not any(isinstance(user, functional.ReturnOp | functional.WriteOp) for user in op.output.users)


def bring_numbers(lowering: Lowering, func: functional.FuncOp, device: str) -> None:
    """Parameters without dims that lie on the CPU, brought to the device of the graph."""
    for value in func.body.args:
        type: TensorType = value.type
        if type.device != device and value.users:
            moved = TensorType(type.shape, type.element, type.strides, device)
            (lowering.seen[value],) = lowering.extern(func, TO_DEVICE, [value], {"device": {"device": device}}, [moved])


def argument_buffer(type: TensorType, layout: Layout) -> BufferType:
    """The memory of a parameter from its first element on: as many elements as its strides reach."""
    return layout.buffer_type if physical_order(type) is not None else BufferType((ViewAttr(type.shape, type.strides).span,), type.element)


def lower_operation(lowering: Lowering, op: Any) -> list[Seen]:
    """The results of one operation."""
    rule = RULES.get(type(op))
    if rule is None:
        raise LectError(f"'{op.name}' has neither a loop form nor a library call", op=op)
    if type(op) in view.RULES:
        return rule(lowering, op)
    if type(op) in ON_CPU and op.operands[0].type.device != "cpu" and not isinstance(op, SLICES):
        return extern.call(lowering, op)
    for value in (*op.operands, *op.results):
        if value.type.element.kind == "complex":
            return extern.call(lowering, op)
    return rule(lowering, op)


class Repeated:
    """Lowers operations; what an equal operation on tensors that lie alike became is written down again: a nest, a library call, or a view."""

    def __init__(self, lowering: Lowering, forms: Forms) -> None:
        self.lowering = lowering
        self.forms = forms
        self.made: dict[Hashable, tuple[Recipe | CallRecipe | None, list[tuple[int, Expr]]]] = {}

    def lower(self, op: Operation) -> list[Seen]:
        """The results of an operation."""
        if type(op) not in BY_TYPES:
            return lower_operation(self.lowering, op)
        buffers: dict[Value, int] = {}
        key: list[Hashable] = [op.name, literal_key(op.attrs)]
        for value in op.operands:
            seen = self.lowering.seen[value]
            key += (seen.offset, seen.type, seen.buffer.type, buffers.setdefault(seen.buffer, len(buffers)))
        key += [value.type for value in op.results]
        found = self.made.get(tuple(key))
        if found is None:
            return self._first(op, tuple(key), buffers)
        recipe, places = found
        values: Sequence[Value] = list(buffers)
        if recipe is not None:
            block, name = self.lowering.block, self.lowering.name
            if isinstance(recipe, CallRecipe):
                values = block.append(recipe.make(values, name("e"), op.loc)).results
            else:
                values = block.append(self.forms.follow(recipe, values, (op.loc,), name("n"))).results
        return [Seen(values[number], offset, value.type) for (number, offset), value in zip(places, op.results)]

    def _first(self, op: Operation, key: Hashable, buffers: dict[Value, int]) -> list[Seen]:
        """Lower an operation that is not like one before, and remember what came of it if that is one nest, one call, or nothing new."""
        last = self.lowering.block.last
        results = lower_operation(self.lowering, op)
        made: Any = self.lowering.block.last
        if made is last:
            if all(seen.buffer in buffers for seen in results):
                self.made[key] = None, [(buffers[seen.buffer], seen.offset) for seen in results]
            return results
        if made.prev is not last or not all(seen.buffer.owner is made for seen in results):
            return results
        places = [(seen.buffer.index, seen.offset) for seen in results]
        if isinstance(made, ExternOp) and made.loc == op.loc:
            self.made[key] = CallRecipe(made, buffers), places
        elif isinstance(made, NestOp) and all(each.loc == op.loc for each in (made, *made.body)):
            self.made[key] = self.forms.recipe(made, buffers, {op.loc: 0}), places
        return results


class CallRecipe:
    """A library call in terms of numbered buffers."""

    __slots__ = ("attrs", "inputs", "results")

    def __init__(self, made: ExternOp, buffers: Mapping[Value, int]) -> None:
        self.attrs = dict(made.attrs)
        self.inputs = [buffers[value] for value in made.operands]
        self.results = [value.type for value in made.results]

    def make(self, buffers: Sequence[Value], name: str, loc: Location) -> ExternOp:
        """The call on other buffers, not in a graph."""
        return ExternOp.create([buffers[number] for number in self.inputs], self.results, {**self.attrs, "sym_name": name}, (), (), loc)


def lower_end(lowering: Lowering, op: Any, writes: Sequence[functional.WriteOp]) -> None:
    """The writes to inputs and the return; what they need is computed before."""
    targets = [lowering.block.args[each.target.index] for each in writes]
    values = [written_value(lowering, each, targets) for each in writes]
    returned = lower_return(lowering, op, {each.target.index for each in writes})
    for each, target, (buffer, seen) in zip(writes, targets, values):
        place = ViewAttr(seen.sizes, each.value.type.strides, each.offset)
        lowering.block.append(WriteOp(target, buffer, place, seen, each.versions, loc=each.loc))
    lowering.block.append(returned)


def written_value(lowering: Lowering, op: functional.WriteOp, targets: Sequence[Value]) -> tuple[Value, ViewAttr]:
    """What a write to an input copies, in any layout; a copy of what lies in an input that is written itself."""
    seen = lowering.seen[op.value]
    own = TensorType(seen.type.shape, seen.type.element, None, seen.type.device)
    found = strides_of(seen.offset, own.rank) if not own.is_empty else (0, own.strides)
    if found is None or seen.buffer in targets:
        seen = lowering.materialized(Seen(seen.buffer, seen.offset, own), op.loc)
        found = strides_of(seen.offset, own.rank)
        assert found is not None
    offset, strides = found
    return seen.buffer, ViewAttr(own.shape, strides, offset)


def lower_return(lowering: Lowering, op: Any, written: AbstractSet[int] = frozenset()) -> ReturnOp:
    """Every result as a strided view with eager's strides; it shares memory with an input or an earlier result where eager's does, and only there."""
    aliases = op.aliases or (None,) * len(op.operands)
    taken: set[Value] = set()
    values: list[Value] = []
    views: list[ViewAttr] = []
    for value, alias in zip(op.operands, aliases):
        if alias is None:
            buffer, view = own_memory(lowering, lowering.seen[value], taken, op)
        else:
            buffer, view = shared_memory(lowering, lowering.seen[value], alias, values, views, op, written)
        taken.add(buffer)
        values.append(buffer)
        views.append(view)
    return ReturnOp(values, tuple(views), loc=op.loc)


def own_memory(lowering: Lowering, seen: Seen, taken: set[Value], op: Operation) -> tuple[Value, ViewAttr]:
    """A result in memory that neither an input nor an earlier result has."""
    if seen.buffer in taken or seen.buffer.is_argument:
        seen = lowering.materialized(seen, op.loc)
    seen, view = lowering.strided(seen, op.loc)
    return seen.buffer, view


def shared_memory(
    lowering: Lowering, seen: Seen, alias: tuple[Any, ...], values: list[Value], views: list[ViewAttr], op: Operation, written: AbstractSet[int] = frozenset()
) -> tuple[Value, ViewAttr]:
    """A result in the memory of an input or of an earlier result.  Raises `LectError` when its elements are not there and are not written there.

    A part of an earlier result may have been computed otherwise, as what was put there.  Parts of complex numbers are what library calls give.
    """
    kind, number, offset = alias
    if kind == "input":
        buffer = lowering.block.args[number]
    else:
        buffer, offset = values[number], views[number].offset + offset
    view = ViewAttr(seen.type.shape, seen.type.strides, offset)
    inside = offset >= 0 and UNBOUNDED.less_equal(view.span, buffer.type.numel) is not False  # type: ignore[attr-defined]
    alike = seen.type.element is buffer.type.element  # type: ignore[attr-defined]
    there = seen.buffer is buffer or (kind == "input" and number in written) or (alike and (kind == "result" or seen.type.element.kind == "complex"))
    if not there or not inside:
        raise LectError(f"a result of type {seen.type} does not lie in the memory of {kind} {number}", op=op)
    return buffer, view
