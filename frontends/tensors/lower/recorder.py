"""The recorder: propagation that writes a functional operation for every ATen op it sees.

Each traced tensor stands for a value.  Tensors that share storage in eager share a `Storage` here, with a version: an in-place op gives the tensor a
new value and makes its other aliases stale, which are shown again when they are read (see `memory`).  What inputs were given is written to them at
the end of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NoReturn

import torch

from lect.dialects.functional.creation import FullOp
from lect.dialects.functional.normalization import BatchNormOp
from lect.dialects.functional.ops import OpaqueOp
from lect.dialects.functional.types import TensorType
from lect.frontends.tensors.elements import meta_of_type
from lect.frontends.tensors.elements import type_of as type_of_meta
from lect.frontends.tensors.errors import NumberNeeded, UnsupportedTensor
from lect.frontends.tensors.lower.emitter import Emitter, Rule, RunTimeScalar, restride, type_of
from lect.frontends.tensors.lower.inplace import functional_variant, with_defaults, without_outputs
from lect.frontends.tensors.lower.memory import Entry, Storage, overlaps_in_part, path_between, repeats_elements
from lect.frontends.tensors.lower.opaque import emit_opaque, gives_nothing
from lect.frontends.tensors.lower.recipes import Recipe, signature, write, written
from lect.frontends.tensors.lower.rules_views import constant
from lect.frontends.tensors.lower.symbols import with_dims_of
from lect.frontends.tensors.lower.table import RULES
from lect.frontends.tensors.lower.zeros import MADE, zero_rule
from lect.frontends.tensors.lt import LT, layout_of, make_lt
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.numbers import SYMBOLIC, NumberNode, SizeNumber, node_of
from lect.frontends.tensors.op_facts import ABSOLUTE, BATCH_NORMS, OpFacts, facts_of
from lect.frontends.tensors.propagate import Known, Propagation
from lect.frontends.tensors.size_floats import SizeFloat
from lect.frontends.tensors.templates import Alias
from lect.ir import LectError, Operation, Value, VerifyError
from lect.ir.types import i64

aten = torch.ops.aten


# Random operators in place that take their numbers in the order of memory; `normal_` has one of its own.
FILLS_IN_MEMORY_ORDER = frozenset(
    {
        aten.bernoulli_.float,
        aten.uniform_.default,
        aten.exponential_.default,
        aten.random_.default,
        aten.random_.to,
        getattr(aten.random_, "from"),
        aten.log_normal_.default,
        aten.cauchy_.default,
        aten.geometric_.default,
    }
)
# Views that set a bit of the tensor and leave its elements as they are.
# Views that differ from their operands in a bit that says how to read the memory, and the calls that compute what they show.
RESOLVED = MappingProxyType({aten._conj.default: aten.conj_physical.default, aten._neg_view.default: aten.neg.default})
LAZY = frozenset(RESOLVED)


def memory_order(strides: Sequence[int]) -> list[int]:
    """The dims of a tensor from the slowest to the fastest."""
    return sorted(range(len(strides)), key=lambda dim: -strides[dim])


class Recorder(Propagation):
    """Writes through `emitter`; `operation` is the fx operation being re-executed, for errors."""

    def __init__(self, emitter: Emitter) -> None:
        super().__init__()
        self.emitter = emitter
        self.entries: dict[int, Entry] = {}
        self.zeros: set[Value] = set()  # those of tensors that torch knows to be zero
        self.operation: Operation | None = None
        self.failure: Exception | None = None

    # ---- tensors and values ------------------------------------------------------------------------------------------

    def bind(self, tensor: torch.Tensor, value: Value, source: int | None = None) -> None:
        """Let `tensor` stand for `value`, in memory of its own or that of input `source`."""
        self.entries[id(tensor)] = Entry(tensor, value, Storage(value, source), 0, ())

    def bind_view(self, tensor: torch.Tensor, value: Value, of: Entry) -> None:
        """Let `tensor` stand for `value`, which was made of that of another tensor and lies in its memory."""
        step = path_between(value, of.value) if of.path is not None else None
        path = None if step is None else (*of.path, *step)  # type: ignore[misc]
        self.entries[id(tensor)] = Entry(tensor, value, of.storage, of.storage.version, path, of.lazy)

    def entry(self, tensor: torch.Tensor) -> Entry:
        """What a tensor holds at this point.  Raises `LectError` for one whose memory was changed through a view that is not known."""
        found = self.entries.get(id(tensor))
        if found is None:
            return self._constant(tensor)
        found.refresh(self.emitter, self.operation)
        return found

    def _constant(self, tensor: torch.Tensor) -> Entry:
        if type(tensor) is LT:
            raise UnsupportedTensor("a traced tensor came from outside of the graph")
        value = constant(self.emitter, tensor)
        if value is None:
            raise LectError("a tensor that is no input of the graph must be small to be a part of it", op=self.operation)
        self.bind(tensor, value)
        return self.entries[id(tensor)]

    def _values(self, argument: Any) -> Any:
        kind = type(argument)
        if kind is LT or isinstance(argument, torch.Tensor):
            return self.entry(argument).value
        if kind in SYMBOLIC:
            node = node_of(argument)
            if isinstance(node, SizeNumber):
                return RunTimeScalar(self.emitter(FullOp, shape=(), value=node.size, element=i64), node.example)
            if isinstance(node, SizeFloat):
                return RunTimeScalar(node.write(self.emitter), node.example)
            assert isinstance(node, ArgumentNode)
            return RunTimeScalar(node.value, node.example)
        if kind is list or kind is tuple:
            return [self._values(item) for item in argument]
        return argument

    def _special(self, facts: OpFacts, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ops on lists of tensors are taken apart as torch's own kernel for them does; autograd counts one write to each tensor that one writes to."""
        if not facts.is_list:
            return super()._special(facts, func, args, kwargs)
        with self:
            result = func._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *args, **kwargs)
        for tensor in _written(func, args, kwargs):
            self.entry(tensor).storage.uncounted += 1
        return result

    # ---- one op ------------------------------------------------------------------------------------------------------

    def observe(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Write what `func` did.  An error of ours is kept in `failure`, so that it is not taken for one of torch's."""
        try:
            self._observe(func, args, kwargs, result)
        except LectError:
            raise
        except Exception as error:
            self.failure = error
            raise

    def observe_known(self, facts: OpFacts, known: Known, tensors: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Write again what was written for such a call before; when there was none, remember what is written now."""
        if not (facts.is_repeatable and known.is_new) or self.zeros or facts.func is MADE:
            self.observe(facts.func, args, kwargs, result)
            return
        entries, values = self.entries, []
        for tensor in tensors:
            entry = entries.get(id(tensor))
            if entry is None or entry.version != entry.storage.version:
                entry = self._entry_of(tensor)
            values.append(entry.value)
        seen = signature(values)
        recipe = known.recipes.get(seen, False)
        if not recipe:
            last = self.emitter.block.last
            self.observe(facts.func, args, kwargs, result)
            if recipe is False:
                known.recipes[seen] = self._recipe(facts, values, last, args, result)
            return
        ops = write(self.emitter.block, self.emitter.loc, recipe.steps, values)
        if facts.shares is None:
            for made, position in zip((result,) if known.is_one else result, recipe.results):
                if made is not None:
                    value = values[position]
                    entries[id(made)] = Entry(made, value, Storage(value), 0, ())
            return
        source = entries[id(args[facts.shares])]
        storage, path = source.storage, source.path
        for made, position, steps in zip((result,) if known.is_one else result, recipe.results, recipe.paths):
            if made is not None:
                way = None if steps is None or path is None else (*path, *[ops[step] for step in steps])
                entries[id(made)] = Entry(made, values[position], storage, storage.version, way, source.lazy or facts.func in LAZY)

    def _entry_of(self, tensor: torch.Tensor) -> Entry:
        """`entry`, with an error of ours kept in `failure`."""
        try:
            return self.entry(tensor)
        except LectError:
            raise
        except Exception as error:
            self.failure = error
            raise

    def _recipe(self, facts: OpFacts, operands: list[Value], last: Operation | None, args: tuple[Any, ...], result: Any) -> Recipe | None:
        """How to write again what stands behind `last`; None when it holds more than a call of its kind."""
        found = written(self.emitter.block, last, operands)
        if found is None:
            return None
        steps, positions, ops = found
        source = None if facts.shares is None else self.entry(args[facts.shares])
        results: list[int] = []
        paths: list[tuple[int, ...] | None] = []
        for tensor in (result,) if type(result) is LT else result:
            entry = None if tensor is None else self.entries.get(id(tensor))
            path = () if source is None or entry is None else path_between(entry.value, source.value)
            if tensor is not None and (entry is None or entry.value not in positions or not set(path or ()) <= set(ops)):
                return None
            results.append(-1 if entry is None else positions[entry.value])
            paths.append(None if path is None else tuple([ops.index(op) for op in path]))
        return Recipe(tuple(steps), tuple(results), tuple(paths))

    def _observe(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if type(result) in (bool, int, float):  # a question, whose answer torch has used
            return
        facts = facts_of(func)
        if func in BATCH_NORMS:
            if args[5] and args[3] is not None and args[4] is not None:
                self._observe_statistics(args, list(result))
                return
            func = aten.native_batch_norm.default
        elif facts.writes:
            self._observe_mutation(func, args, kwargs, result)
            return
        if func in ABSOLUTE:
            args, kwargs = self._relative(func, args, kwargs)
        tensors = [result] if type(result) is LT else list(_tensors(result))
        types = [_result_type(tensor) for tensor in tensors]
        if self.zeros or func is MADE:
            values = self._emit_beside_zeros(facts, func, args, kwargs, types)
        else:
            values = self._emit(func, args, kwargs, types, exact=True)
        source = None if facts.shares is None else self.entry(args[facts.shares])
        for tensor, value in zip(tensors, values):
            if tensor is None or value is None:
                continue
            if source is None:
                self.bind(tensor, value)
            else:
                self.bind_view(tensor, value, source)
                if func in LAZY:
                    self.entries[id(tensor)].lazy = True

    def _emit_beside_zeros(
        self, facts: OpFacts, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], types: list[TensorType | None]
    ) -> list[Value | None]:
        """`_emit` where tensors are known to be zero, by torch's rules for these."""
        first, second = [position < len(args) and type(args[position]) is LT and self.entry(args[position]).value in self.zeros for position in (0, 1)]
        rule, is_zero = zero_rule(func, first, second) if first or second else (None, False)
        values = self._emit(func, args, kwargs, types, exact=True, rule=rule)
        if is_zero or func is MADE or (first and facts.shares == 0):
            self.zeros.update([value for value in values if value is not None])
        return values

    def _relative(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """as_strided counts from the start of the storage; a value has none, so the offset is made one from its first element."""
        absolute = args[3] if len(args) > 3 else kwargs.get("storage_offset")
        if func is not aten.as_strided.default or (absolute is not None and self.entry(args[0]).storage.source is not None):
            raise LectError(f"{func} addresses the storage of its operand, which is not known here", op=self.operation)
        x, size, stride = args[:3]
        own = layout_of(x)
        offset = 0 if absolute is None else absolute - own.storage_offset
        found = TensorMeta(tuple(size), own.dtype, tuple(stride), own.device, offset)
        if offset < 0 or found.reach > own._replace(storage_offset=0).reach:
            raise LectError(f"{func} reads memory outside of the tensor it is given", op=self.operation)
        return (x, size, stride, offset), {}

    def _emit(
        self, func: Any, args: Any, kwargs: dict[str, Any], types: list[TensorType | None], exact: bool, known: bool = False, rule: Rule | None = None
    ) -> list[Value | None]:
        """Write one call, by `rule` or the table's; a value for each result, typed as eager has it if `exact`.

        An opaque one gives these types if they are `exact` or `known`.
        """
        e = self.emitter
        if func in RESOLVED:  # values have no such bits, and calls behind it may look for them
            (value,) = self._emit(RESOLVED[func], args, kwargs, types, False)
            return [e.laid_out(value, types[0])]  # type: ignore[arg-type]
        e.results = types
        arguments = self._values(args)
        named = {name: self._values(value) for name, value in kwargs.items()}
        behind = e.block.last
        rule = rule or RULES.get(func)
        if rule is not None and not _has_complex(arguments, types):
            try:
                found = rule(e, *arguments, **named)
            except VerifyError:
                found = None  # eager takes what the closed set has no operation for
            if found is not None:
                values = list(found) if isinstance(found, tuple | list) else [found]
                if not exact or self._settle(values, types, behind):
                    return values
            _erase_after(e.block, behind)
        for node in _nodes((args, kwargs)):
            node.need()  # no operation of the closed set takes it, and an opaque one takes constants
        if not exact and not known:
            e.results = self._own_types(func, args, kwargs)
        if exact and gives_nothing(func, (arguments, named), e.results):
            return [None if type is None else e.nothing(type) for type in e.results]
        results = iter(emit_opaque(e, func, arguments, named))
        return [None if type is None else next(results) for type in e.results]

    def _own_types(self, func: Any, args: Any, kwargs: dict[str, Any]) -> list[TensorType | None]:
        """The types of the results of an op that was not itself called: of other elements, maybe, than what they are written to."""
        template = self.cache.find(func, args, kwargs)
        metas = list(template) if type(template) in (list, tuple) else [template]
        metas = [layout_of(args[meta.argument]) if isinstance(meta, Alias) and isinstance(meta.argument, int) else meta for meta in metas]
        return [type_of_meta(meta) if isinstance(meta, TensorMeta) else None for meta in metas]

    def _settle(self, values: list[Value | None], types: list[TensorType | None], behind: Operation | None) -> bool:
        """Give the values eager's strides; False when something else than strides disagrees."""
        for position, (value, type) in enumerate(zip(values, types)):
            if value is None or type is None or value.type is type:
                continue
            if type_of(value).with_strides(type.strides) is not type:
                return False
            op = value.op
            if op is not None and op is self.emitter.block.last and op is not behind:
                restride(op, value.index, type.strides)
            else:
                values[position] = self.emitter.laid_out(value, type)
        return True

    def whole(self, func: Any, meta: TensorMeta, *args: Any, **kwargs: Any) -> LT:
        """Write one call of a composite op without looking into it; its result has these metadata."""
        (value,) = self._emit(func, args, kwargs, [type_of_meta(meta)], exact=True)
        assert value is not None
        tensor = make_lt(meta)
        self.bind(tensor, value)
        return tensor

    # ---- in-place ops ------------------------------------------------------------------------------------------------

    def _observe_statistics(self, args: tuple[Any, ...], results: list[torch.Tensor | None]) -> None:
        """Batch normalisation in training writes to the running statistics, whatever its schema says."""
        x, weight, bias = [self._values(argument) for argument in args[:3]]
        running = [self.entry(tensor) for tensor in args[3:5]]
        op = BatchNormOp(x, *[entry.value for entry in running], weight, bias, training=True, momentum=args[6], eps=args[7], loc=self.emitter.loc)
        values: list[Value | None] = list(self.emitter.block.append(op).results)
        if not self._settle(values, [*map(_result_type, results), *[type_of(entry.value) for entry in running]], None):
            raise LectError("batch normalisation of elements beside which the statistics are of another type", op=self.operation)
        for tensor, value in zip(results, values):
            if tensor is not None and value is not None:
                self.bind(tensor, value)
        for entry, value in zip(running, values[3:]):
            assert value is not None
            entry.write(self.emitter, value, self.operation)

    def _observe_mutation(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        written = _written(func, args, kwargs)
        self._refuse_overlapping_writes(func, args, kwargs, written)
        if len(written) != 1 or result is not written[0]:
            self._observe_several(func, args, kwargs, result, written)
            return
        target = written[0]
        entry = self.entry(target)
        if torch.Tag.inplace_view in func.tags:
            self._observe_new_view(func, args, kwargs, target, entry)
            return
        entry.write(self.emitter, self._pure_value(func, args, kwargs, target, entry), self.operation)

    def _observe_several(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, written: list[torch.Tensor]) -> None:
        """An op that writes to other tensors than its results, or to lists of tensors: its pure form gives the results, then what was written."""
        results = [tensor for tensor in _tensors(result) if tensor is not None]
        if _has_outputs(func):
            self._observe_outputs(func, args, kwargs, results, written)
            return
        variant = functional_variant(func)
        if variant is None or any(tensor is target for tensor in results for target in written):
            raise LectError(f"{func} writes to a tensor that is not its only result, which is not lowered", op=self.operation)
        entries = [self.entry(tensor) for tensor in written]
        args, kwargs = with_defaults(func, args, without_outputs(func, kwargs))
        types: list[TensorType | None] = [*map(_result_type, results), *[type_of(entry.value) for entry in entries]]
        values = self._emit(variant, args, kwargs, types, exact=False)
        for tensor, type, value in zip(results, types, values):
            assert value is not None and type is not None
            self.bind(tensor, self.emitter.laid_out(value, type))
        found = values[len(results) :]
        if len(found) != len(entries) or None in found:
            raise LectError(f"{func} writes to lists of tensors and is not taken apart, so it is not lowered", op=self.operation)
        for entry, value in zip(entries, found):
            assert value is not None
            wanted = type_of(entry.value)
            entry.write(self.emitter, self.emitter.laid_out(self.emitter.to(value, wanted.element), wanted), self.operation)

    def _observe_outputs(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[torch.Tensor], written: list[torch.Tensor]) -> None:
        """An op that writes each of its results to a tensor it is given."""
        variant = functional_variant(func)
        entries = [self.entry(tensor) for tensor in written]
        if variant is None or len(results) != len(written):
            raise LectError(f"{func} writes to tensors that it is given and has no pure form", op=self.operation)
        args, kwargs = with_defaults(func, args, without_outputs(func, kwargs))
        for entry in entries:
            self._refuse_overlap(func, args, entry)
        values = self._emit(variant, args, kwargs, [type_of(entry.value) for entry in entries], exact=False)
        for entry, tensor, value in zip(entries, results, values):
            assert value is not None
            if isinstance(value.op, OpaqueOp):
                raise LectError(f"{func} is called as it is only: what else it would give may be rounded otherwise", op=self.operation)
            wanted = type_of(entry.value)
            if type_of(value).shape != wanted.shape or type_of(value).element is not wanted.element:
                raise LectError(f"{func} gives {type_of(value)}, which is not what it is given to write to", op=self.operation)
            entry.write(self.emitter, self.emitter.laid_out(value, wanted), self.operation)
            if tensor is not entry.tensor:
                self.bind_view(tensor, entry.value, entry)

    def _refuse_overlapping_writes(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[torch.Tensor]) -> None:
        """Leave to eager what it refuses: to write to memory that it reads in another place, or to one place many times."""
        if torch.Tag.inplace_view in func.tags:
            return
        operands = [*_tensors(args), *_tensors(list(kwargs.values()))]
        for target in written:
            own, entry = layout_of(target), self.entry(target)
            if repeats_elements(own):
                raise LectError(f"{func} writes to a tensor that repeats its elements", op=self.operation)
            for tensor in operands:
                if tensor is None or tensor is target or self.entry(tensor).storage is not entry.storage:
                    continue
                if overlaps_in_part(own, layout_of(tensor)):
                    raise LectError(f"{func} reads a part of the memory that it writes to", op=self.operation)

    def _pure_value(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], target: torch.Tensor, entry: Entry) -> Value:
        """What the written tensor holds behind the op."""
        e = self.emitter
        type = type_of(entry.value)
        if func is aten.copy_.default:
            source = self.entry(args[1]).value
            return e.laid_out(e.expand(e.to(source, type.element), type.shape), type)
        if func is aten.zero_.default or func is aten.fill_.Scalar:
            variant, args = aten.full_like.default, (target, 0 if func is aten.zero_.default else args[1])
        else:
            variant = functional_variant(func)
            args, kwargs = with_defaults(func, args, kwargs)
            kwargs = without_outputs(func, kwargs)
        if variant is None:
            raise LectError(f"{func} writes in place and has no pure form", op=self.operation)
        self._refuse_overlap(func, args, entry)
        if func in FILLS_IN_MEMORY_ORDER and args[0] is target:
            return self._filled(variant, args, kwargs, entry)
        (value, *_) = self._emit(variant, args, kwargs, [type], exact=False)
        assert value is not None
        if _has_outputs(func) and isinstance(value.op, OpaqueOp):
            raise LectError(f"{func} is called as it is only: what else it would give may be rounded otherwise", op=self.operation)
        return e.laid_out(e.to(value, type.element), type)

    def _filled(self, variant: Any, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry) -> Value:
        """A tensor filled with random numbers as eager fills it, one after the other as they lie in memory."""
        e = self.emitter
        type = type_of(entry.value)
        order = memory_order(type.strides)
        dense = type.like([type.shape[dim] for dim in order])
        empty = make_lt(meta_of_type(dense) if e.sizes is None else with_dims_of(meta_of_type(dense), e.sizes))
        self.bind(empty, e.laid_out(e.permute(entry.value, order), dense))
        (value, *_) = self._emit(variant, (empty, *args[1:]), kwargs, [dense], exact=False)
        assert value is not None
        filled = e.laid_out(e.to(value, type.element), dense)
        return e.laid_out(e.permute(filled, [order.index(dim) for dim in range(type.rank)]), type)

    def _refuse_overlap(self, func: Any, args: tuple[Any, ...], target: Entry) -> None:
        """Eager refuses to gather from the memory that it writes the result to; what is computed element by element may be written over."""
        if not _has_outputs(func) or torch.Tag.pointwise in func.tags:
            return
        for tensor in _tensors(args):
            if tensor is not None and self.entry(tensor).storage is target.storage:
                raise LectError(f"{func} is given one of its operands to write the result to", op=self.operation)

    def _observe_new_view(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], target: torch.Tensor, entry: Entry) -> None:
        """`t_`, `unsqueeze_`, ...: the tensor becomes another view of its storage."""
        if entry.storage.source is not None:
            raise LectError("this changes the sizes of an input of the graph, which is not lowered", op=self.operation)
        variant = functional_variant(func)
        if variant is None:
            raise LectError(f"{func} has no pure form", op=self.operation)
        if variant is aten.as_strided.default:
            args, kwargs = self._restrided(func, args, kwargs, entry)
        (value, *_) = self._emit(variant, args, kwargs, [_result_type(target)], exact=True)
        assert value is not None
        self.bind_view(target, value, entry)

    def _restrided(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """as_strided_ keeps the offset it finds unless it is given one, which counts from the start of a storage that is not known."""
        if len(args) > 3 or kwargs.get("storage_offset") is not None:
            raise LectError(f"{func} addresses the storage of its operand, which is not known here", op=self.operation)
        _, size, stride = with_defaults(func, args, kwargs)[0][:3]
        before = type_of(entry.value)
        own = layout_of(args[0])
        asked, found = (TensorMeta(tuple(shape), own.dtype, tuple(steps), own.device) for shape, steps in ((size, stride), (before.shape, before.strides)))
        if asked.reach > found.reach:
            raise LectError(f"{func} reads memory outside of the tensor it is given", op=self.operation)
        return (args[0], size, stride, 0), {}


class ArgumentNode(NumberNode):
    """The node of a number that is argument `position` of the graph, where `value` holds it.  Nothing may depend on its value any more."""

    def __init__(self, example: int | float, value: Value, position: int) -> None:
        super().__init__(example)
        self.value = value
        self.position = position

    def need(self) -> NoReturn:
        error = NumberNeeded(f"argument {self.position} of the graph must be a constant")
        error.arguments = (self.position,)
        raise error


def _nodes(value: Any) -> Iterator[NumberNode]:
    """The nodes of the run-time numbers among arguments."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _nodes(item)
    elif type(value) is dict:
        yield from _nodes(tuple(value.values()))
    elif (node := node_of(value)) is not None:
        yield node


def _tensors(result: Any) -> Iterator[torch.Tensor | None]:
    """Tensors and Nones of a result, lists flattened."""
    if result is None or isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, list | tuple):
        for item in result:
            yield from _tensors(item)


def _result_type(tensor: torch.Tensor | None) -> TensorType | None:
    return None if tensor is None else type_of_meta(layout_of(tensor))


@cache
def _has_outputs(func: Any) -> bool:
    return any(argument.is_out for argument in func._schema.arguments)


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    found = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[position] if position < len(args) else kwargs.get(argument.name)
            found += [tensor for tensor in _tensors(given) if tensor is not None]
    return found


def _has_complex(arguments: Any, types: list[TensorType | None]) -> bool:
    if any(type is not None and type.element.kind == "complex" for type in types):
        return True
    return any(isinstance(value, Value) and type_of(value).element.kind == "complex" for value in arguments)


def _erase_after(block: Any, last: Operation | None) -> None:
    """Drop what a rule wrote before it gave up."""
    while block.last is not last:
        block.last.erase()
