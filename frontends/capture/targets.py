"""Public names of torch's functions: the inverse of `dialects.fx.python_values.resolve`."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.nn.modules._functions import BackwardHookFunction

from lect.dialects.fx.python_values import BUILTINS, MODULES, OPERATORS, is_callable_name, namespace, resolve, resolve_anew

_CALLABLE: tuple[Any, ...] = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)


@cache
def _names() -> dict[int, tuple[Any, str]]:
    """Callables by identity; of several names of one object a public one wins, and among those the first in the list."""
    found: dict[int, tuple[Any, str]] = {}
    for module_name in sorted(MODULES[:-1], key=lambda name: "._" in name):
        module = namespace(module_name)
        for name in dir(module):
            value = getattr(module, name, None)
            if not name.startswith("__") and isinstance(value, _CALLABLE) and is_callable_name(module_name, [name]):
                found.setdefault(id(value), (value, f"{module_name}.{name}"))
    for name in BUILTINS:
        value = getattr(builtins, name)
        found.setdefault(id(value), (value, f"builtins.{name}"))
    for cls in torch.Tensor.__mro__[:-1]:
        for name, value in vars(cls).items():
            if isinstance(value, _CALLABLE) and getattr(torch.Tensor, name, None) is value:
                found.setdefault(id(value), (value, f"torch.Tensor.{name}"))
    found[id(torch.autograd.grad)] = (torch.autograd.grad, "torch.autograd.grad")
    found[id(torch.nn.Parameter)] = (torch.nn.Parameter, "torch.nn.Parameter")
    return found


_OWNERS: tuple[Any, ...] = (*torch.Tensor.__mro__[:-1], object)
_MODULE_ROOTS = frozenset({"torch", "_operator", "builtins"})
_RENAMED = frozenset({"abs", "neg", "positive", "__idiv__"})  # methods and a builtin whose name in the table is not their own


def name_of(function: Callable[..., Any]) -> str | None:
    """The public name of a torch function, method of Tensor or operator; None when it has none."""
    kind = type(function)
    if kind is types.FunctionType:
        name = _function_name(function) if _is_of_torch(function) else None
        if name is None or resolve(name) is function:
            return name
        if function.__code__ is _wrapper_of_torch() and getattr(function, "__wrapped__", None) is resolve(name):
            resolve_anew()
            _names.cache_clear()
            return name
        return None  # it has taken the place of another
    if kind is types.BuiltinFunctionType:
        return _lasting_name(function) if _is_of_torch(function) else None
    if kind in _CALLABLE:
        return _lasting_name(function) if function.__objclass__ in _OWNERS else None  # type: ignore[attr-defined]
    if kind is OpOverload or kind is OpOverloadPacket:
        return operator_name(function)  # type: ignore[arg-type]
    if kind is types.MethodType and function.__self__ is BackwardHookFunction and function.__name__ == "apply":  # type: ignore[attr-defined]
        return "torch.nn.modules._functions.BackwardHookFunction.apply"
    return _table_name(function) if function is torch.nn.Parameter else None


@cache
def _wrapper_of_torch() -> types.CodeType | None:
    """The code of the functions that torch's compiler, when it is imported, puts in the place of some, and which call those."""
    return getattr(torch._disable_dynamo(name_of), "__code__", None)


def _is_of_torch(function: Any) -> bool:
    """False for most functions that are not torch's, and for the methods of an object."""
    module = function.__module__
    if module is None:
        owner = getattr(function, "__self__", None)
        return owner is None or any(owner is each for each in _OWNERS)
    return type(module) is str and module.partition(".")[0] in _MODULE_ROOTS


@cache
def _lasting() -> dict[int, tuple[Any, str | None]]:
    """What `_lasting_name` found, by identity: builtin functions may be equal that are not the same."""
    return {}


def _lasting_name(function: Any) -> str | None:
    """`_function_name` of what lives as long as a module or a class of C code does."""
    entry = _lasting().get(id(function))
    if entry is None:
        entry = _lasting()[id(function)] = (function, _function_name(function))
    return entry[1]


@cache
def _public() -> tuple[tuple[str, dict[str, Any]], ...]:
    """The public modules in the list and what they hold."""
    return tuple([(name, vars(namespace(name))) for name in MODULES[:-1] if "._" not in name])


def _function_name(function: Any) -> str | None:
    """The name of a function: its own name where that leads to it, else what the table says, which takes milliseconds to make."""
    name = function.__name__
    if not name.startswith("__"):
        for module, members in _public():
            if members.get(name) is function and is_callable_name(module, [name]):
                return f"{module}.{name}"
    if name not in _RENAMED:
        for cls in _OWNERS[:-1]:
            if cls.__dict__.get(name) is function and getattr(torch.Tensor, name, None) is function:
                return f"torch.Tensor.{name}"
        if builtins.__dict__.get(name) is function:
            return f"builtins.{name}" if name in BUILTINS else None
    return _table_name(function)


def _table_name(function: Any) -> str | None:
    entry = _names().get(id(function))
    return entry[1] if entry is not None and entry[0] is function else None


def operator_name(function: OpOverload | OpOverloadPacket) -> str | None:
    """The name of an operator in torch's registry; None for one that takes objects of TorchScript."""
    if type(function) is OpOverload:
        return f"{OPERATORS}{function.namespace}.{function._opname}.{function._overloadname}"
    if type(function) is OpOverloadPacket and not function._has_torchbind_op_overload:
        return OPERATORS + function._qualified_op_name.replace("::", ".")
    return None


@cache
def check_name(name: str) -> bool:
    """True when the name leads back to the callable it was made for."""
    return name_of(resolve(name)) is not None
