"""Why a version does not hold: the first guard that fails, with the value it wants and the value there is."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from lect.backends.python_sizes import size_source
from lect.dialects.fx.types import ObjectRef, OperandRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.arithmetic import FUNCTIONS, SYMBOLS
from lect.dialects.guard.builtin_names import OWN
from lect.dialects.pyframe.attributes import LONG_INT_BITS
from lect.frontends.capture.size_policy import LEAST
from lect.ir import Operation, Value, attribute_text
from lect.ir.facts import value_of
from lect.runtime.events import GuardMiss
from lect.runtime.guard_checks import read_path
from lect.runtime.kept_objects import Gone, KeptObjects
from lect.runtime.sizes import sizes_of_symbols

SHOWN = 120
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def explain_miss(
    function: Any, version: int, conditions: Sequence[Operation], failed: int, bound: Mapping[str, Any] | None, objects: KeptObjects
) -> GuardMiss:
    """The event for the guard number `failed` of a predicate (negative: reading a source failed)."""
    name = function.__qualname__
    if failed < 0 or bound is None:
        op, error = _unreadable(conditions, function, bound or {}, objects)
        if isinstance(op, guard.BuiltinsOp):
            return GuardMiss(name, version, "builtins", _path(op), _expected(op), _found(op, function, bound or {}, objects), _place(op))
        if op is None:
            return GuardMiss(name, version, "defaults", "", "the defaults of the function", "other ones")
        expected, found = ("an object at this path", "none") if not isinstance(error, Gone) else (str(error), "nothing, as it was deleted")
        return GuardMiss(name, version, "present", _path(op), expected, found, _place(op))
    op = conditions[failed]
    if isinstance(op, guard.SymbolicOp):
        return _size_miss(name, version, op, conditions, function, bound)
    found = _found(op, function, bound, objects)[:SHOWN]
    return GuardMiss(name, version, op.name.partition(".")[2], _path(op), _expected(op), found, _place(op))


def _size_miss(
    name: str, version: int, op: guard.SymbolicOp, conditions: Sequence[Operation], function: Any, bound: Mapping[str, Any]
) -> GuardMiss:
    """The event for a condition on a size: the expression with the program's names for its sizes, what has to hold, and the value in this call."""
    values, names = sizes_of_symbols(conditions, function, bound)
    size = size_source(op.size, names)
    if op.differs:
        expected = "another value than 0"
    elif op.low == LEAST and op.high is None:
        expected = f"at least {LEAST}, as sizes 0 and 1 have versions of their own"
    else:
        expected = " and ".join([*([f"at least {op.low}"] if op.low is not None else []), *([f"at most {op.high}"] if op.high is not None else [])])
    marked = [f", as marked by {op.why}"] if op.why else []
    try:
        found = str(value_of(op.size, values))
    except KeyError:
        found = "a tensor without this size"
    return GuardMiss(name, version, "symbolic", size, "".join([expected, *marked]), found, _place(op))


def _expected(op: Operation) -> str:
    return (", ".join(f"{key} = {attribute_text(value)}" for key, value in op.attrs.items()) or "see the guard")[:SHOWN]


def _path(op: Operation) -> str:
    if isinstance(op, guard.BuiltinsOp):
        return 'M["builtins"]'
    return ", ".join(_text(value) for value in op.operands[:2])


def _text(value: Value) -> str:
    """An operand of a guard close to how the program writes it."""
    op = value.owner
    if isinstance(op, guard.SourceOp):
        return op.path.print_body()
    if not isinstance(op, guard.ApplyOp):
        return ""
    args = [_text(op.operands[arg.number]) if isinstance(arg, OperandRef) else repr(arg) for arg in op.args]
    symbol = SYMBOLS.get(op.function)
    return f"({args[0]} {symbol} {args[1]})" if symbol is not None and len(args) == 2 else f"{op.function}({', '.join(args)})"


def _read(value: Value, function: Any, bound: Mapping[str, Any], objects: KeptObjects) -> Any:
    """What an operand of a guard is now; raises what reading or computing raises."""
    op = value.owner
    if isinstance(op, guard.ApplyOp):
        args = [_read(op.operands[arg.number], function, bound, objects) if isinstance(arg, OperandRef) else arg for arg in op.args]
        return FUNCTIONS[op.function](*args)
    return read_path(op.path, function, bound, objects)  # type: ignore[union-attr]


def _place(op: Operation) -> str:
    return str(op.loc) if op.loc.known else ""


def _unreadable(conditions: Sequence[Operation], function: Any, bound: Mapping[str, Any], objects: KeptObjects) -> tuple[Operation | None, Exception | None]:
    """The first guard with an operand that cannot be read, and what reading it raises."""
    for op in conditions:
        if isinstance(op, guard.BuiltinsOp) and not vars(builtins).keys() >= set(op.names):
            return op, None
        for value in op.operands:
            try:
                _read(value, function, bound, objects)
            except Exception as error:
                return op, error
    return None, None


def _found(op: Operation, function: Any, bound: Mapping[str, Any], objects: KeptObjects) -> str:
    if isinstance(op, guard.GlobalStateOp):
        if op.no_exception and sys.exc_info()[1] is not None:
            return f"{type(sys.exc_info()[1]).__name__} being handled"
        return f"grad = {torch.is_grad_enabled()}, inference = {torch.is_inference_mode_enabled()}, default_dtype = {torch.get_default_dtype()}"
    if isinstance(op, guard.BuiltinsOp):
        now = vars(builtins)
        return ", ".join(f"{name} is {describe_value(now[name]) if name in now else 'deleted'}" for name in op.names if now.get(name, now) is not OWN[name])
    try:
        value = _read(op.operands[0], function, bound, objects)
    except Gone as error:
        return f"nothing, as {error} was deleted"
    except Exception as error:
        return f"{type(error).__name__} while reading it"
    return describe_value(value) + _wanted_is_gone(op, objects)


def _wanted_is_gone(op: Operation, objects: KeptObjects) -> str:
    """What to add for a guard on an object that was deleted; another one may look the same."""
    for ref in op.attrs.values():
        try:
            objects[ref.number] if isinstance(ref, ObjectRef) else None
        except Gone:
            return ", and the expected one was deleted"
        except KeyError:  # compared by value
            continue
    return ""


def describe_value(value: Any) -> str:
    """A value in one line that never runs user code."""
    if issubclass(type(value), torch.Tensor):
        return _describe_tensor(value)
    if type(value) is int and value.bit_length() >= LONG_INT_BITS:
        return f"an int of {value.bit_length()} bits"
    if type(value) in (int, float, bool, str, bytes, complex, type(None), torch.dtype, torch.device):
        return repr(value)
    if type(value) in (list, tuple, dict, set):
        return f"{type(value).__name__} of {len(value)}"
    name = getattr(value, "__qualname__", None) if issubclass(type(value), _NAMED) else None
    return f"{type(value).__module__}.{type(value).__qualname__}" + (f" {name}" if isinstance(name, str) else "")


def _describe_tensor(value: torch.Tensor) -> str:
    with torch._C.DisableTorchFunctionSubclass():  # a subclass may count or log what is asked of it
        grad = ", requires_grad" if value.requires_grad else ""
        strides = f" strides {value.stride()}" if value.layout is torch.strided else f" {value.layout}"
        return f"{type(value).__name__} {tuple(value.shape)} {value.dtype}{strides} {value.device}{grad}"
