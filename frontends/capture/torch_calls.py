"""Calls of torch functions on traced tensors: run on the LTs for the metadata, recorded for the graph."""

from __future__ import annotations

import enum
import operator
from types import FunctionType
from typing import Any

import torch
from torch._ops import OpOverload

from lect.dialects.fx.python_values import OPERATORS, short_name
from lect.frontends.capture import policy
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.found_sizes import found_number, may_find, note_found, note_nonzero, why_not, with_places
from lect.frontends.capture.gradients import note_switched
from lect.frontends.capture.known_calls import alike, known_call, with_numbers
from lect.frontends.capture.momenta import with_moved_statistics
from lect.frontends.capture.number_ranges import check_numbers
from lect.frontends.capture.numbers import RunTimeNumber, numbers_in, with_constants, with_symbols, with_values
from lect.frontends.capture.numpy_values import python_numbers
from lect.frontends.capture.objects import describe
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.selections import with_selections
from lect.frontends.capture.size_symbols import is_size, leaves_of, sized
from lect.frontends.capture.taken_apart import TAKEN_APART, taken_apart
from lect.frontends.capture.targets import name_of
from lect.frontends.capture.tensor_methods import guard_operator
from lect.frontends.capture.torch_callees import stands_whole
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT, DataDependent, layout_of, make_lt, meta_of, plain_sizes
from lect.frontends.tensors.torch_functions import expected_reads
from lect.ir import LectError

_IN_PLACE_OPERATORS = frozenset(
    getattr(operator, name) for name in "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift imatmul setitem delitem".split()
)
# These copy Python numbers into a new tensor; torch makes it before any dispatch.
_MAKE_FROM_DATA = frozenset({torch.tensor, torch.as_tensor, torch.scalar_tensor})
_OF_ONE_NUMBER = frozenset({torch.tensor, torch.as_tensor})
# Questions for a bit that traced tensors do not have, and calls that give their operand itself where it is not set.
_LAZY_BITS = frozenset({"is_conj", "is_neg", "resolve_conj", "resolve_neg"})
_RANDOM = frozenset({"seed", "manual_seed", "set_rng_state", "get_rng_state", "initial_seed"})


MAX_NESTING = 100
_CONTAINERS = (list, tuple, dict)


def holds_tensor(value: Any, depth: int = 0) -> bool:
    """True when a traced tensor stands anywhere inside plain containers.  Breaks for containers without end."""
    kind = type(value)
    if kind is LT:
        return True
    if depth > MAX_NESTING:
        raise GraphBreak("LB0008", "a container that contains itself")
    if kind is tuple or kind is list:
        return any(holds_tensor(item, depth + 1) for item in value)
    if kind is dict:
        return any(holds_tensor(item, depth + 1) for item in value.values())
    if kind is slice:
        return holds_tensor(value.start) or holds_tensor(value.stop) or holds_tensor(value.step)
    return False


def traced_tensors(value: Any, depth: int = 0) -> list[LT]:
    """The traced tensors inside plain containers.  Breaks for containers without end."""
    kind = type(value)
    if kind is LT:
        return [value]
    if depth > MAX_NESTING:
        raise GraphBreak("LB0008", "a container that contains itself")
    if kind is tuple or kind is list:
        return [tensor for item in value for tensor in traced_tensors(item, depth + 1)]
    if kind is dict:
        return [tensor for item in value.values() for tensor in traced_tensors(item, depth + 1)]
    return []


def _write_counts(tensors: list[LT]) -> list[int]:
    """How often each tensor was written in place; tensors of inference mode do not count."""
    return [-1 if tensor.is_inference() else tensor._version for tensor in tensors]


def torch_call(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """Call a torch function (or an operator on tensors) and record it."""
    if (other := _taken_apart(t, function, args, kwargs)) is not None:
        return other
    function, args, kwargs = with_selections(t, *with_places(t, *_as_recorded(t, function, args, kwargs), torch_call), torch_call)
    name, raw, raw_kwargs = _lowered(t, function, args, kwargs)
    asked = t.repeats.ask(name, raw, raw_kwargs, t.mode.draws) if t.repeats.on else None
    again = t.repeats.calls.get(asked.key) if asked is not None else None
    if asked is not None and again is not None:
        return _made_of_number(t, function, raw, _boxed(t, t.repeats.give(again, asked, t.loc)))
    short = short_name(name)
    on_tensor = holds_tensor(raw) or holds_tensor(raw_kwargs)
    if not on_tensor and short not in policy.WITHOUT_TENSOR:
        raise t.stop("LB0003", f"{name} without a tensor")
    if short == "item" and len(raw) == 1 and type(raw[0]) is LT:
        number = t.elements.number(raw[0])
        if number is not None:
            return number
    if on_tensor and short in policy.NEEDS_ELEMENTS:
        known = _of_elements(t, function, name, raw, raw_kwargs)
        if known is not None:
            return known
    _check_allowed(t, function, name, short, raw, raw_kwargs)
    out = raw_kwargs.get("out")
    tensors = traced_tensors([raw, raw_kwargs]) if on_tensor else []
    before, writes = _write_counts(tensors), t.known.writes
    layout, written = (None, 0) if out is None else (layout_of(out), _write_counts([out])[0])
    given = raw
    try:
        raw, raw_kwargs, returned = _run_reading(t, function, raw, raw_kwargs, name)
    except GraphBreak as stop:
        if stop.number != "LB0002" or _is_in_place(function, short):
            raise
        return known_call(t, function, name, with_constants(raw), with_constants(raw_kwargs), torch_call, why_not(t))
    asked = None if note_found(t, returned) else asked
    check_numbers(t, function, name, raw, raw_kwargs, tensors, returned)
    if out is not None:
        _check_out(t, name, out, returned, layout, written)
    wrote = _write_counts(tensors) != before or _writes(function, short, raw, raw_kwargs)
    if short in policy.GRADIENT_SWITCHES:
        t.graph.gradients, asked = note_switched(t, function, raw[0]) or t.graph.gradients, None
    calls = t.graph.calls
    made = _record(t, function, name, raw, raw_kwargs, returned)
    note_nonzero(t, function, args, made)
    recorded = t.graph.calls != calls
    if t.known.writes != writes:
        wrote = True
        if recorded:
            t.graph.writers.add(id(t.graph.block.last))
    if wrote:
        t.graph.note_write(t.loc)
    special = raw is not given or t.graph.foreign_numbers or t.graph.gradients
    t.memo.disturbed += wrote or special or (not recorded and short not in policy.OF_METADATA)
    if t.graph.foreign_numbers:
        t.graph.foreign_numbers = False
        if not alike(returned, _run(t, function, python_numbers(raw), python_numbers(raw_kwargs), name)):
            raise t.stop("LB0006", f"{name} takes a number of numpy for another one than Python's")
    elif asked is not None and recorded and not wrote and raw is given:
        t.repeats.learn(asked, t.graph.block.last, returned, t.mode.draws)
    return _made_of_number(t, function, raw, made)


def _of_elements(t: Tracer, function: Any, name: str, raw: list[Any], raw_kwargs: dict[str, Any]) -> Box | None:
    """The answer of a function that reads elements: by what is known of them, or a size that the graph finds; None for a call whose results have one."""
    try:
        return known_call(t, function, name, raw, raw_kwargs, torch_call, why_not(t))
    except GraphBreak as stop:
        short = short_name(name)
        number = found_number(t, raw[0], torch_call) if stop.number == "LB0002" and short == "item" and type(raw[0]) is LT else None
        if number is None and (stop.number != "LB0002" or short not in policy.FINDS_SIZES or not may_find(t)):
            raise
        return number


def _recorded_name(t: Tracer, function: Any) -> str:
    """The name by which the graph calls a function.  Breaks for one without a name, and for one in Python below which something was replaced."""
    name = name_of(function)
    if name is None:
        raise t.stop("LB0015", describe(function))
    if type(function) is FunctionType and not stands_whole(t, function):
        raise t.stop("LB0003", f"{name}, which calls what is not torch's own")
    return name


def _lowered(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> tuple[str, list[Any], dict[str, Any]]:
    """The name of a function and its arguments as torch gets them."""
    raw = [lower_box(t, box) for box in args]
    raw_kwargs = {name: lower_box(t, box) for name, box in kwargs.items()}
    name = _recorded_name(t, function)
    if t.symbols and short_name(name).strip("_") in policy.COMPUTES_WITH_NUMBERS:
        raw = [t.symbols.operand(value) for value in raw]
    return name, raw, raw_kwargs


def _has_generator(function: Any, args: list[Box], kwargs: dict[str, Box]) -> bool:
    """True when a function draws from a generator of the program."""
    if kwargs and type(kwargs.get("generator", NONE)[0]) is torch.Generator:
        return True
    return type(function) is FunctionType and any(type(box[0]) is torch.Generator for box in args)


def _drawn(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> Box:
    from lect.frontends.capture.generator_states import draws_from_generator

    return draws_from_generator(t, function, args, kwargs)


def _taken_apart(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> Box | None:
    """The result of a call that stands in the graph as several; None for others."""
    if _has_generator(function, args, kwargs):
        return _drawn(t, function, args, kwargs)
    if function in TAKEN_APART:
        return taken_apart(t, function, args, kwargs)
    return with_moved_statistics(t, function, args, kwargs) if t.numbers else None


def _check_out(t: Tracer, name: str, out: LT, returned: Any, layout: Any, written: int) -> None:
    """Break where a call did something else with its `out` than writing to it."""
    if returned is not out or layout_of(out) != layout:
        raise t.stop("LB0004", f"{name} with an out of another shape or type")
    if _write_counts([out]) == [written] != [-1]:
        raise t.stop("LB0004", f"{name}, which does not write to the out that it is given while it is traced")


def _made_of_number(t: Tracer, function: Any, raw: list[Any], made: Box) -> Box:
    """The box of a tensor; of which number it was made is noted."""
    if function is torch.scalar_tensor and raw and type(raw[0]) is RunTimeNumber and type(made[0]) is LT:
        t.elements.note_made(made[0], raw[0])
    return made


def _check_allowed(t: Tracer, function: Any, name: str, short: str, raw: list[Any], raw_kwargs: dict[str, Any]) -> None:
    """Break for functions, and for arguments of functions, that no graph may hold."""
    if short == "_is_view":
        t.repeats.views_are_told_apart()
    if short in _LAZY_BITS and raw and type(raw[0]) is LT and (raw[0].is_complex() or raw[0]._is_view()):
        raise t.stop("LB0005", "a tensor that may be conjugated or negated lazily")
    converts = function is torch.Tensor.type and len(raw) > 1 and issubclass(type(raw[1]), torch.dtype)  # else it gives or takes the name of a class
    named = function is torch.Tensor.type and len(raw) == 1 and not raw_kwargs  # "torch.FloatTensor", which follows from dtype and device
    refused = short in policy.REFUSED_METHODS and not converts and not named and function is not torch.autograd.grad
    if refused or short in _RANDOM:
        raise t.stop("LB0004", name)
    out = raw_kwargs.get("out")
    if out is not None and type(out) is not LT:
        raise t.stop("LB0004", f"{name} with an out that is no tensor")
    if out is not None and any(tensor is out for tensor in traced_tensors(raw)) and not _is_elementwise(short):
        raise t.stop("LB0004", f"{name} with one of its operands as out")
    if function is setattr or (function is getattr and raw[1] in policy.REFUSED_ATTRIBUTES):
        raise t.stop("LB0016", str(raw[1]))


def _is_elementwise(short: str) -> bool:
    """True for operators whose out may be one of the operands; the others refuse that."""
    packet = getattr(torch.ops.aten, short, None)
    return packet is not None and any(torch.Tag.pointwise in getattr(packet, overload).tags for overload in packet.overloads())


def _as_recorded(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> tuple[Any, list[Box], dict[str, Box]]:
    """The call that the graph has in the place of this one: the same, but for functions that look at data which the graph has otherwise."""
    method = guard_operator(t, function, args)
    if type(method) is FunctionType and not stands_whole(t, method):
        raise t.stop("LB0003", f"torch.Tensor.{method.__name__}, which calls what is not torch's own")
    if function is torch.Tensor.new_tensor:
        function, args, kwargs = _of_data(t, args, kwargs)
    if t.numbers and function in _OF_ONE_NUMBER:
        function, kwargs = _of_number(function, args, kwargs)
    return function, args, kwargs


def _of_number(function: Any, args: list[Box], kwargs: dict[str, Box]) -> tuple[Any, dict[str, Box]]:
    """`torch.tensor(n)` of a run-time number as `torch.scalar_tensor`, which need not look at it, with the dtype that tensor() takes from the type."""
    if len(args) != 1 or type(args[0][0]) is not RunTimeNumber or not set(kwargs) <= {"dtype", "device"}:
        return function, kwargs
    chosen = torch.int64 if type(args[0][0].value) is int else torch.get_default_dtype()
    given = kwargs.get("dtype", NONE)
    return torch.scalar_tensor, {**kwargs, "dtype": given if given[0] is not None else (chosen, None)}


def _of_data(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> tuple[Any, list[Box], dict[str, Box]]:
    """`x.new_tensor(data)` of Python numbers as `torch.tensor(data)` with the dtype and the device of `x`."""
    if len(args) != 2 or type(args[0][0]) is not LT or holds_tensor(lower_box(t, args[1])) or not set(kwargs) <= {"dtype", "device", "requires_grad"}:
        return torch.Tensor.new_tensor, args, kwargs
    like = args[0][0]
    own: dict[str, Box] = {"dtype": (like.dtype, None), "device": (like.device, None)}
    return torch.tensor, args[1:], {**own, **{name: box for name, box in kwargs.items() if box[0] is not None}}


def _is_in_place(function: Any, short: str) -> bool:
    return function in _IN_PLACE_OPERATORS or (short.endswith("_") and not short.startswith("_"))


def _run_reading(t: Tracer, function: Any, raw: list[Any], raw_kwargs: dict[str, Any], name: str) -> tuple[list[Any], dict[str, Any], Any]:
    """Run, and give the arguments to record: where torch has read a tensor as a number, because its value is known, that is the number."""
    reads = t.known.reads
    if t.numbers and numbers_in([raw, raw_kwargs]):
        reads.clear()
        returned = _run_with_numbers(t, function, raw, raw_kwargs, name)
        if returned is not _ASKED and not reads:
            return raw, raw_kwargs, returned
        raw, raw_kwargs = with_constants(raw), with_constants(raw_kwargs)
    reads.clear()
    returned = _run(t, function, raw, raw_kwargs, name)
    if not reads:
        return raw, raw_kwargs, returned
    numbers = dict(reads)
    reads.clear()
    if short_name(name).endswith("_"):
        raise t.stop("LB0002", f"{name} reads the number in a tensor")
    raw, raw_kwargs = with_numbers(raw, numbers), with_numbers(raw_kwargs, numbers)
    again = _run(t, function, raw, raw_kwargs, name)
    if reads or not alike(returned, again):
        raise t.stop("LB0002", f"{name} reads the number in a tensor")
    return raw, raw_kwargs, again


_ASKED = object()


def _run_with_numbers(t: Tracer, function: Any, raw: list[Any], raw_kwargs: dict[str, Any], name: str) -> Any:
    """The result with symbolic numbers of torch for numbers of run time; `_ASKED` where the function, being Python, has to see their values."""
    if t.symbols and all(is_size(leaf) for leaf in leaves_of([raw, raw_kwargs]) if type(leaf) is RunTimeNumber):
        return _run(t, function, with_symbols(raw), with_symbols(raw_kwargs), name)
    if type(function) is FunctionType and name not in policy.TAKES_NUMBERS:
        return _ASKED
    if short_name(name).startswith("_foreach_") and name.endswith("_"):  # writes to tensors, which stay what they are whatever the numbers
        return _run(t, function, with_values(raw), with_values(raw_kwargs), name)
    try:
        returned = function(*with_symbols(raw), **with_symbols(raw_kwargs))
    except Exception:  # torch itself has asked for the value in a way that our numbers do not answer
        return _ASKED
    return returned if issubclass(type(returned), torch.Tensor) else _ASKED


def _run(t: Tracer, function: Any, raw: list[Any], raw_kwargs: dict[str, Any], name: str) -> Any:
    t.known.expected = expected_reads(name, raw, raw_kwargs)
    try:
        return plain_sizes.call(function, raw, raw_kwargs) if t.symbols else function(*raw, **raw_kwargs)
    except DataDependent as error:
        raise t.stop("LB0002", f"{name}: {error.message}{why_not(t)}") from None
    except Exception as error:
        if t.symbols:
            t.symbols.refuse(name, error, [raw, raw_kwargs])
        raise _stop(t, name, error) from None
    finally:
        t.known.expected = []


def _stop(t: Tracer, name: str, error: Exception) -> GraphBreak:
    """The break for what a call raised while it was followed."""
    if isinstance(error, LectError):
        return t.stop("LB0005", f"{name}: {error.message}")
    text = str(error).partition("\n")[0][:200]
    foreign = name.startswith(OPERATORS) and not name.startswith(f"{OPERATORS}aten.")  # it may lack a kernel for tensors without elements
    return t.stop("LB0003" if foreign else "LB0012", f"{name} raised {type(error).__name__}: {text}")


def _record(t: Tracer, function: Any, name: str, raw: list[Any], raw_kwargs: dict[str, Any], returned: Any) -> Box:
    kind = type(returned)
    if kind in SCALAR_TYPES and (returned is not None or not (holds_tensor(raw) or holds_tensor(raw_kwargs))):
        return (returned, None)
    if t.symbols and (kind is torch.SymInt or kind is torch.Size or kind is tuple):
        returned = sized(t, returned)
        if type(returned) is RunTimeNumber or kind is torch.SymInt:
            return (returned, None)
    if kind is torch.Size or (issubclass(type(returned), tuple | list) and not holds_tensor(list(returned))):
        return (returned, None) if kind is not list else t.made(returned)
    if issubclass(type(returned), torch.Tensor) and kind is not LT:
        if function not in _MAKE_FROM_DATA:
            raise t.stop("LB0007", f"{name} gave a tensor that is not traced")
        returned = make_lt(meta_of(returned))
    if torch.is_inference_mode_enabled():
        t.graph.note_write(t.loc)
    t.graph.record(name, raw, raw_kwargs, returned, t.loc)
    return _boxed(t, returned)


def _boxed(t: Tracer, returned: Any) -> Box:
    """The box of the tensors that a recorded call returned."""
    kind = type(returned)
    if kind is LT:
        return t.seen.get(id(returned)) or (returned, None)
    if kind is list:
        return t.made(returned)
    t.keep.append(returned)
    return (returned, None)


def _writes(function: Any, short: str, raw: list[Any], raw_kwargs: dict[str, Any]) -> bool:
    """True for a call that may write to what it is given, whether or not torch counts that."""
    mutable = type(function) is OpOverload and function._schema.is_mutable
    return mutable or _is_in_place(function, short) or _writes_statistics(short, raw, raw_kwargs)


def _writes_statistics(short: str, raw: list[Any], raw_kwargs: dict[str, Any]) -> bool:
    """True for a normalisation that may update running statistics, which torch does without counting it as a write."""
    training = short in policy.STATISTICS and (raw[5] if len(raw) > 5 else raw_kwargs.get("training", raw_kwargs.get("use_input_stats", short != "batch_norm")))
    return bool(training)


def lower_box(t: Tracer, box: Box) -> Any:
    """The argument as torch gets it: scalars guarded, tensors inside containers replaced by their stand-ins."""
    value, source = box
    kind = type(value)
    if kind in SCALAR_TYPES:
        if source is not None:
            t.guards.equals(source, value)
        return value
    if kind is LT or kind is RunTimeNumber:
        return value
    if issubclass(type(value), _CONTAINERS):
        t.register(box)
    elif source is not None and _plain_member(value) is not None:
        t.guards.is_object(source, value)
    return lower(t, value)


def lower(t: Tracer, value: Any) -> Any:
    """`lower_box` for what stands inside a container."""
    kind = type(value)
    if kind in SCALAR_TYPES or kind is LT or kind is RunTimeNumber:
        return value
    if issubclass(type(value), torch.Tensor):
        return t.wrap(value)[0]
    if kind is tuple or kind is list:
        value = t.shadows.get(id(value), value) if t.shadows.some else value
        return kind([lower(t, item) for item in value])
    if kind is torch.Size:
        return value
    if kind is dict:
        value = t.shadows.get(id(value), value) if t.shadows.some else value
        return {key: lower(t, item) for key, item in value.items()}
    if kind is slice:
        return slice(lower(t, value.start), lower(t, value.stop), lower(t, value.step))
    if issubclass(type(value), tuple) and not hasattr(value, "_fields"):
        return tuple([lower(t, item) for item in value])
    member = _plain_member(value)
    if member is not None:
        return member
    raise t.stop("LB0006", describe(value))


def _plain_member(value: Any) -> int | float | str | None:
    """The number or text that a member of an enum is."""
    if issubclass(type(value), enum.Enum):
        for base, plain in ((int, int.__int__), (float, float.__float__), (str, str.__str__)):
            if issubclass(type(value), base):
                return plain(value)  # type: ignore[operator, no-any-return]
    return None
