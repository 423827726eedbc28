"""One `fx.graph` to one `functional.func`: every call runs again, on tensors without elements, under the recorder."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.gather import WithinOp
from lect.dialects.functional.ops import FuncOp, ReturnOp, WriteOp
from lect.dialects.functional.types import TensorType, tensor_type
from lect.dialects.fx import python_values
from lect.dialects.fx.modes import RANDOM_STATE_CALLS, kept_modes, without_saved_tensor_hooks
from lect.dialects.fx.ops import CallOp, EnterInferenceOp, GraphOp, LeaveInferenceOp
from lect.dialects.fx.ops import ReturnOp as FxReturnOp
from lect.dialects.fx.region_rules import RULES
from lect.dialects.fx.regions import AutogradFunctionOp, CheckpointOp, TransformOp, YieldOp, yields
from lect.dialects.fx.types import NumberType, ObjectRef
from lect.dialects.fx.types import TensorType as FxTensorType
from lect.frontends.tensors import plain_sizes
from lect.frontends.tensors.elements import meta_of_type
from lect.frontends.tensors.errors import internal
from lect.frontends.tensors.lower.emitter import Emitter, type_of
from lect.frontends.tensors.lower.memory import Entry
from lect.frontends.tensors.lower.recorder import ArgumentNode, Recorder
from lect.frontends.tensors.lower.symbols import found_symbols, known_sizes, new_symbols, note_decisions, stated_symbols, with_dims_of
from lect.frontends.tensors.lt import LT, layout_of, make_lt
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.numbers import symbolic
from lect.frontends.tensors.sizes import Sizes, has_sizes, size_of
from lect.frontends.tensors.torch_functions import WITHOUT_ELEMENTS, expected_reads
from lect.frontends.tensors.torch_warnings import silent
from lect.ir import Block, Builder, Context, LectError, Operation, Region, Type, Value
from lect.ir.symbolic import as_size, symbol
from lect.ir.types import f64, i64

# torch's own code for these leaves checks of the elements out when it is given a tensor without: they are called as a whole at run time.
WHOLE: Final = MappingProxyType({"torch.nn.functional.one_hot": torch.ops.aten.one_hot.default})
RECOMPUTE = "recompute"  # on an operation of a checkpointed region


@silent()
def lower_graphs(module: Operation, ctx: Context) -> None:
    """Replace every `fx.graph` of a module.  Raises `LectError` at the call that cannot be lowered."""
    for op in list(module.body):
        if isinstance(op, GraphOp):
            lowered = lower_graph(op)
            Builder.before(op).insert(lowered)
            op.erase()
            ctx.count("graphs lowered")
            ctx.count("operations", sum(1 for _ in lowered.body))
            ctx.count("opaque operations", sum(inner.name == "functional.opaque" for inner in lowered.body))


def lower_graph(graph: GraphOp) -> FuncOp:
    """The functional form of one graph, not yet inserted anywhere."""
    block = Block([functional_type(graph, value.type) for value in graph.body.args])
    for argument, value in zip(block.args, graph.body.args):
        argument.hint = value.hint
    run = Execution(block, known_sizes(graph), found_symbols(graph))
    for number, (value, argument) in enumerate(zip(graph.body.args, block.args)):
        run.add_input(number, value, argument)
    with kept_modes(), without_saved_tensor_hooks(), torch.set_grad_enabled(records_gradients(graph)), run.recorder, run.blocks:
        for op in graph.body:
            run.step(op)
    note_decisions(graph, run.sizes)
    return FuncOp(graph.sym_name, symbols=stated_symbols(graph, run.sizes), regions=[Region([block])], loc=graph.loc)


def records_gradients(graph: GraphOp) -> bool:
    """True when the graph was captured with gradients on: only then has a result of a call one."""
    return any(getattr(value.type, "requires_grad", False) for op in graph.walk() for value in op.results)


class WrongType(LectError):
    """A call of the graph gives something else than the graph says."""


class CallRaises(LectError):
    """A call of the graph raises where it is recorded, for its arguments are none that the function takes."""

    @classmethod
    def of(cls, name: str, error: Exception, op: Operation) -> LectError:
        """What is raised for `error`; something that is not implemented says nothing about the arguments."""
        kind = LectError if isinstance(error, NotImplementedError) else cls
        return kind(f"{name} raises {type(error).__name__}: {_first_line(error)}", op=op)


class Execution:
    """The state of one run: what each fx value is now."""

    def __init__(self, block: Block, sizes: Sizes | None = None, found: Collection[int] = ()) -> None:
        self.sizes = sizes
        self.found = found  # symbols that calls find
        self.told = set(sizes.hints).difference(found) if sizes is not None else set()  # symbols that are known so far
        self.emitter = Emitter(block)
        self.emitter.sizes = sizes
        self.recorder = Recorder(self.emitter)
        self.environment: dict[Value, Any] = {}
        self.blocks = ExitStack()
        self.inference: list[ExitStack] = []
        self.in_backward = self.reads_data = False
        self.answers: list[bool] = []  # what the running call reads, the last one first
        self.given: list[Any] = []
        self.stated: dict[Type, tuple[Any, ...]] = {}  # shape, dtype, strides and device of values of a type
        self.inputs: list[tuple[Value, Entry]] = []  # the tensors among the arguments

    def add_input(self, number: int, value: Value, argument: Value) -> None:
        if isinstance(value.type, NumberType):
            self.environment[value] = symbolic(ArgumentNode(1.5 if value.type.element is f64 else 3, argument, number))
            return
        # Some of torch's functions choose their operators by whether an operand requires a gradient.
        meta = meta_of_type(type_of(argument))._replace(requires_grad=value.type.requires_grad)  # type: ignore[attr-defined]
        tensor = make_lt(meta if self.sizes is None else with_dims_of(meta, self.sizes))
        self.recorder.bind(tensor, argument, number)
        self.inputs.append((argument, self.recorder.entries[id(tensor)]))
        self.given.append(tensor)
        self.environment[value] = tensor

    def step(self, op: Operation) -> None:
        """Run one operation of the graph."""
        self.emitter.loc = op.loc
        self.recorder.operation = op
        if isinstance(op, CallOp):
            self._call(op)
        elif isinstance(op, CheckpointOp):
            self._checkpoint(op)
        elif isinstance(op, TransformOp | AutogradFunctionOp):
            self._apply(op)
        elif isinstance(op, EnterInferenceOp):
            self.inference.append(self.blocks.enter_context(ExitStack()))
            self.inference[-1].enter_context(torch.inference_mode(op.enabled))
        elif isinstance(op, LeaveInferenceOp):
            self.inference.pop().close()
        elif isinstance(op, FxReturnOp):
            self._return(op)
        else:
            raise LectError(f"'{op.name}' cannot be lowered to functional operations", op=op)

    def _call(self, op: CallOp) -> None:
        operands = [self.environment[value] for value in op.operands]
        args, kwargs = op.args, op.kwargs
        self.reads_data = self.reads_data or (op.target.leaf == "builtins.getattr" and args[1] == "data")
        _refuse_objects(op, args)
        _refuse_objects(op, kwargs.values())
        if op.target.leaf in RANDOM_STATE_CALLS:
            raise LectError(f"{op.target.leaf} has no functional form", op=op)
        try:
            target: Any = python_values.target_of(op.target) if op.target.leaf not in WITHOUT_ELEMENTS else WITHOUT_ELEMENTS[op.target.leaf]
            given, named = python_values.decode(args, operands), python_values.decode_kwargs(kwargs, operands)
            if self.sizes is not None:
                given, named = self.sizes.dims(given), self.sizes.dims(named)
            self.answers = expected_reads(op.target.leaf, given, named)
            if self.found:
                new = iter(new_symbols([value.type for value in op.results], self.told))
                self.recorder.found = lambda func: self.sizes.dim(symbol(next(new))) if self.sizes is not None else None
            self.recorder.read = self.recorder.expected = self._asked if self.answers else None
            if op.target.leaf in WHOLE and _functorch_is_off():
                target = functools.partial(self.recorder.whole, WHOLE[op.target.leaf], meta_of_type(functional_type(op, op.results[0].type)))
            returned = target(*given, **named) if self.sizes is None else plain_sizes.call(target, given, named)
        except LectError as error:
            if error.op is None:
                error.op, error.loc = op, op.loc
            raise
        except Exception as error:
            if self.recorder.failure is not None:
                raise self.recorder.failure from None
            raise CallRaises.of(op.target.leaf, error, op) from internal(error)
        self._define(op, python_values.flatten_results(returned, op.structure, len(op.results)))

    def _asked(self, tensor: LT) -> Any:
        """The number that a function reads and does not raise for; that it is this one is checked when the graph runs."""
        if not self.answers:
            return None
        answer = self.answers.pop()
        number = self.emitter.to(self.recorder.entry(tensor).value, f64)
        self.emitter(WithinOp, number, min=float(answer), max=float(answer))
        return answer

    def _checkpoint(self, op: CheckpointOp) -> None:
        """The region in its place.  Its operations are marked, so that what is chosen for the backward honours that nothing of it is to be kept."""
        last = self.emitter.block.last
        found = self._region(op.body, *[self.environment[value] for value in op.operands])
        made = self.emitter.block.last
        while made is not last:
            assert made is not None
            made.attrs[RECOMPUTE] = True
            made = made.prev
        self._define(op, found)

    def _apply(self, op: Operation) -> None:
        """An operation whose rule calls its regions, maybe on tensors that torch.func has wrapped."""
        regions = [lambda *args, block=region.blocks[0]: self._region(block, *args) for region in op.regions]
        if isinstance(op, AutogradFunctionOp):
            regions[1] = functools.partial(self._in_backward, regions[1])
        try:
            found = RULES[op.name](op, regions, [self.environment[value] for value in op.operands])
        except LectError:
            raise
        except Exception as error:
            if self.recorder.failure is not None:
                raise self.recorder.failure from None
            raise CallRaises.of(f"'{op.name}'", error, op) from internal(error)
        self._define(op, found)

    def _in_backward(self, region: Any, *args: Any) -> list[Any]:
        """Call the region of a backward.  How gradients lie in memory was not known when it was captured."""
        before, self.in_backward = self.in_backward, True
        try:
            return region(*args)  # type: ignore[no-any-return]
        finally:
            self.in_backward = before

    def _region(self, block: Block, *args: Any) -> list[Any]:
        """Call a region; what it yields."""
        outer = self.recorder.operation, self.emitter.loc
        self.environment.update(zip(block.args, args))
        for op in block:
            if isinstance(op, YieldOp):
                break
            self.step(op)
        self.recorder.operation, self.emitter.loc = outer
        return [self.environment[value] for value in yields(block)]

    def _define(self, op: Operation, found: list[Any]) -> None:
        transformed = not _functorch_is_off()  # then tensors are wrapped, and types are those of an example
        for value, tensor in zip(op.results, found):
            self.environment[value] = tensor if transformed else self._checked(op, value, tensor)

    def _checked(self, op: Operation, value: Value, tensor: Any) -> Any:
        """The tensor, if it is what the graph says it is."""
        stated = self.stated.get(value.type)
        if stated is not None and type(tensor) is LT and _sized(layout_of(tensor))[:4] == stated:
            return tensor
        name = op.target.leaf if isinstance(op, CallOp) else op.name
        if not isinstance(tensor, torch.Tensor):
            raise LectError(f"a result of {name} is a {type(tensor).__name__}; graphs with numbers are not lowered", op=op)
        if type(tensor) is not LT:
            self.recorder.entry(tensor)
        meta = _sized(layout_of(tensor))
        expected = meta_of_type(functional_type(op, value.type))
        if self.in_backward:
            expected = expected._replace(strides=meta.strides)
        if meta._replace(storage_offset=0) != expected:
            raise WrongType(f"{name} gives {_describe(meta)}, but the graph says {_describe(expected)}", op=op)
        if not self.in_backward:
            self.stated[value.type] = meta[:4]
        return tensor

    def _return(self, op: FxReturnOp) -> None:
        entries = [self.recorder.entry(self.environment[value]) for value in op.operands]
        aliases = self.place_results(op, entries)
        self.write_inputs()
        self.append_return(op, [entry.value for entry in entries], aliases)

    def place_results(self, op: FxReturnOp, entries: list[Entry]) -> list[Any]:
        """For each result whose memory it lies in (none: its own).  Results that share memory become views of one value."""
        if any(entry.lazy for entry in entries):
            raise LectError("a result is conjugated or negated lazily, which its memory does not tell", op=op)
        sharing = Counter(entry.storage for entry in entries)
        for entry in entries:
            if sharing[entry.storage] > 1:
                entry.rebase(self.emitter, op)
        aliases: list[Any] = []
        for position, entry in enumerate(entries):
            aliases.append(self._alias(entries[:position], entry))
            if aliases[-1] is not None and self.reads_data:
                self._check_counter(op, entry, entries[:position])
        return aliases

    def _check_counter(self, op: FxReturnOp, entry: Entry, earlier: list[Entry]) -> None:
        """A result is shown as a view of a tensor whose memory it lies in, so autograd has to count the writes to both together: not where it is of `data`."""
        tensor, kinds = entry.tensor, [other for _, other in self.inputs] if entry.storage.source is not None else earlier
        for other in kinds:
            if other.storage is entry.storage and not tensor.is_inference() and not other.tensor.is_inference() and not _counted_together(tensor, other.tensor):
                raise LectError("a result shares the memory of another tensor by way of its data, which the counts of writes tell", op=op)

    def append_return(self, op: FxReturnOp, values: list[Value], aliases: list[Any]) -> None:
        """End the function."""
        stated = tuple(aliases) if any(alias is not None for alias in aliases) else None
        self.emitter.block.append(ReturnOp(values, aliases=stated, loc=op.loc))

    def write_inputs(self) -> None:
        """Write what inputs hold in the end to them; the last write to each counts as many times as eager wrote."""
        block = self.emitter.block
        for argument, entry in self.inputs:
            writes = list(entry.storage.writes.items())
            for number, ((_, _, offset), value) in enumerate(writes):
                versions = entry.tensor._version + entry.storage.uncounted if number == len(writes) - 1 else 0
                block.append(WriteOp(argument, value, offset=offset, versions=versions, loc=self.emitter.loc))

    def _alias(self, earlier: list[Any], entry: Any) -> Any:
        """Whose memory a result lies in: none, an input's, an earlier result's."""
        offset = size_of(layout_of(entry.tensor).storage_offset)
        if entry.storage.source is not None:
            return "input", entry.storage.source, offset
        for number, other in enumerate(earlier):
            if other.storage is entry.storage:
                return "result", number, as_size(offset - size_of(layout_of(other.tensor).storage_offset))
        return None


def _counted_together(one: torch.Tensor, other: torch.Tensor) -> bool:
    """True when a write to one tensor without elements counts for the other.  Counts are as they were behind this."""
    before = one._version, other._version
    torch._C._autograd._unsafe_set_version_counter((one,), (before[0] + 1,))
    together = other._version != before[1]
    torch._C._autograd._unsafe_set_version_counter((one,), (before[0],))
    return together


def _functorch_is_off() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is None


def functional_type(op: Operation, type: Any) -> TensorType:
    if isinstance(type, NumberType) and type.element in (f64, i64):
        return tensor_type((), type.element, None, "cpu")
    if not isinstance(type, FxTensorType):
        raise LectError(f"values of type {type} are not lowered; sizes must be known", op=op)
    return tensor_type(type.shape, type.element, type.strides, type.device)


def _sized(meta: TensorMeta) -> TensorMeta:
    """Metadata with expressions for sizes with symbols, as types have them."""
    return meta._replace(shape=size_of(meta.shape), strides=size_of(meta.strides)) if has_sizes(meta.shape) else meta


def _refuse_objects(op: CallOp, values: Iterable[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind is ObjectRef:
            raise LectError(f"{op.target.leaf} takes a live object ({value.what}), which cannot be lowered", op=op)
        if kind is tuple:
            _refuse_objects(op, value)
        elif kind is dict:
            _refuse_objects(op, value.values())


def _describe(meta: Any) -> str:
    return f"{list(meta.shape)} of {str(meta.dtype).removeprefix('torch.')} with strides {list(meta.strides)} on {meta.device}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]
