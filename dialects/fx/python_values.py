"""From the text of an `fx.call` back to Python: callables by their public names, and arguments from attributes.

Names are looked up by attribute reads alone, from a closed list of modules, so that a module read from a file can call nothing but functions of
torch and of `operator`.  Modules are imported when a name in them is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from lect.dialects.fx.modes import MODE_CALLS, RANDOM_STATE_CALLS
from lect.dialects.fx.types import ConstantAttr, DeviceAttr, EllipsisAttr, OperandRef, ResultRef
from lect.ir import LectError, ScalarType, SymbolRef
from lect.ir.symbolic import Expr

# A target is an attribute of one of these, the longest that fits, or of a class in it (`torch.Tensor.view`).
MODULES = (
    "torch.nn.functional",
    "torch.nn.init",
    "torch._C._nn",
    "torch._C._linalg",
    "torch._C._fft",
    "torch._C._special",
    "torch._C._sparse",
    "torch._C._VariableFunctions",
    "torch._VF",
    "torch.special",
    "torch.linalg",
    "torch.fft",
    "torch.sparse",
    "torch.functional",
    "torch.nn.modules._functions",
    "torch",
    "operator",
    "builtins",
)
BUILTINS = frozenset({"getattr", "setattr", "max", "min", "sum", "abs", "pow", "divmod", "round", "len"})

OPERATORS = "torch.ops."  # registered operators: torch.ops.NAMESPACE.NAME, or .OVERLOAD of it
REFUSED = frozenset({"from_file"})  # reads, and may write, the file of its argument
# Of torch, beside its tensor functions.
ALLOWED = frozenset({"_C._set_grad_enabled", "nn.Parameter", "autograd.grad"} | {name.removeprefix("torch.") for name in MODE_CALLS | RANDOM_STATE_CALLS})

DTYPE_NAMES = MappingProxyType(
    {
        "f16": "float16",
        "bf16": "bfloat16",
        "f32": "float32",
        "f64": "float64",
        "i1": "bool",
        "i8": "int8",
        "i16": "int16",
        "i32": "int32",
        "i64": "int64",
        "ui8": "uint8",
        "ui16": "uint16",
        "ui32": "uint32",
        "ui64": "uint64",
        "complex<f32>": "complex64",
        "complex<f64>": "complex128",
    }
)


def resolve(name: str) -> Callable[..., Any]:
    """The callable with this public name.  Raises `LectError` for a name outside of the list."""
    # Not remembered: a program may define an operator of its own anew, and a call of the one that torch has freed crashes the process.
    return _operator(name) if name.startswith(OPERATORS) else _function(name)


def resolve_anew() -> None:
    """Look for functions again where the names lead now."""
    _function.cache_clear()


@cache
def _function(name: str) -> Callable[..., Any]:
    for module in MODULES:
        if name.startswith(module + "."):
            rest = name[len(module) + 1 :].split(".")
            if len(rest) > 2 or any(part.startswith("__") and not part.endswith("__") for part in rest):
                break
            if module == "builtins" and rest[0] not in BUILTINS:
                break
            if not is_callable_name(module, rest):
                break
            found = _walk(namespace(module), rest)
            if callable(found):
                return found
    raise LectError(f"'{name}' is no function of torch that a graph may call", hint="targets are torch.*, torch.nn.functional.*, torch.Tensor.* and operator.*")


def _operator(name: str) -> Callable[..., Any]:
    """An operator in torch's registry, all its overloads or one.  Raises `LectError` when there is none."""
    parts = name[len(OPERATORS) :].split(".")
    found = importlib.import_module("torch").ops
    if parts[0] == "lect":
        importlib.import_module("lect.dialects.fx.generators").define()
    if len(parts) in (2, 3) and parts[1] not in REFUSED and not any(part.startswith("__") and part.endswith("__") for part in parts):
        found = _walk(found, parts)
    wanted = "OpOverloadPacket" if len(parts) == 2 else "OpOverload"
    if type(found).__name__ != wanted:
        raise LectError(f"'{name}' is no operator of torch", hint="an operator of a library is known once the library is imported")
    return found  # type: ignore[no-any-return]


def short_name(name: str) -> str:
    """The function's own name in a target: `add_` of `torch.Tensor.add_` and of `torch.ops.aten.add_.Tensor`."""
    return name.split(".")[3] if name.startswith(OPERATORS) else name.rpartition(".")[2]


def is_callable_name(module: str, rest: Sequence[str]) -> bool:
    """True when a graph may call this name of a module of `MODULES`: of torch itself only what computes with tensors, not `load`, `hub.load` and
    whatever else acts on the outside world."""
    if rest[-1] in REFUSED:
        return False
    if module == "torch.nn.modules._functions":
        return list(rest) == ["BackwardHookFunction", "apply"]  # a node of autograd that hands gradients on
    if module != "torch" or rest[0] == "Tensor" or ".".join(rest) in ALLOWED:
        return True
    return len(rest) == 1 and (hasattr(namespace("torch._C._VariableFunctions"), rest[0]) or rest[0] in namespace("torch.functional").__all__)


def namespace(name: str) -> Any:
    """The module, or the object inside of a module, that holds functions under a name of `MODULES`."""
    outer, _, last = name.rpartition(".")
    if outer == "torch._C":
        return getattr(importlib.import_module(outer), last)
    return importlib.import_module(name)


def _walk(owner: Any, names: Sequence[str]) -> Any:
    for name in names:
        owner = getattr(owner, name, None) if owner is not None else None
    return owner


def target_of(symbol: SymbolRef) -> Callable[..., Any]:
    """The callable of an `fx.call`'s `target`."""
    return resolve(symbol.leaf)


def dtype_of(scalar: ScalarType) -> Any:
    """The torch dtype of a builtin scalar type."""
    return getattr(importlib.import_module("torch"), DTYPE_NAMES[scalar.spelling])


def decode(value: Any, operands: Sequence[Any]) -> Any:
    """The Python value of an argument attribute, with `operands[n]` in place of `#fx.operand<n>`."""
    kind = type(value)
    if kind is OperandRef:
        return operands[value.number]
    if kind is tuple:
        return tuple([decode(item, operands) for item in value])
    if kind is dict:
        return _construct(value, operands)
    if kind is ScalarType:
        return dtype_of(value)
    if kind is EllipsisAttr:
        return ...
    if kind is DeviceAttr:
        return importlib.import_module("torch").device(value.text)
    if kind is ConstantAttr:
        return _constant(value.text)
    return value


def decode_kwargs(value: dict[str, Any], operands: Sequence[Any]) -> dict[str, Any]:
    """Keyword arguments: the names are plain, the values are decoded."""
    return {name: decode(item, operands) for name, item in value.items()}


@cache
def _constant(name: str) -> Any:
    module, _, rest = name.partition(".")
    if module != "torch" or not rest or "." in rest:
        raise LectError(f"'{name}' is no constant of torch")
    found = getattr(importlib.import_module("torch"), rest, None)
    if type(found).__name__ not in ("dtype", "layout", "memory_format"):
        raise LectError(f"'{name}' is no constant of torch")
    return found


def _construct(value: dict[str, Any], operands: Sequence[Any]) -> Any:
    ((kind, items),) = value.items()
    if kind == "dict":
        return {decode(key, operands): decode(item, operands) for key, item in items}
    decoded = [decode(item, operands) for item in items]
    if kind == "list":
        return decoded
    if kind == "slice":
        return slice(*decoded)
    if kind == "complex":
        return complex(*decoded)
    if any(type(item) is Expr for item in decoded):
        return tuple(decoded)  # of symbols, for which torch's class has no place
    return importlib.import_module("torch").Size(decoded)


def flatten_results(returned: Any, structure: Any, count: int) -> list[Any]:
    """The tensors of what a call returned, in the order of the operation's results."""
    if not count:
        return []
    if structure is None:
        return [returned] if count == 1 else list(returned)
    out: list[Any] = [None] * count
    _collect(returned, structure, out)
    return out


def _collect(value: Any, structure: Any, out: list[Any]) -> None:
    if type(structure) is ResultRef:
        out[structure.number] = value
    elif type(structure) is tuple:
        for item, inner in zip(value, structure):
            _collect(item, inner, out)
