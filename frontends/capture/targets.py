"""Public names of torch's functions: the inverse of `dialects.fx.python_values.resolve`."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from lect.dialects.fx.python_values import BUILTINS, MODULES, OPERATORS, is_callable_name, namespace, resolve

_CALLABLE = (
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


def name_of(function: Callable[..., Any]) -> str | None:
    """The public name of a torch function, method of Tensor or operator; None when it has none."""
    entry = _names().get(id(function))
    if entry is not None and entry[0] is function:
        return entry[1]
    return operator_name(function) if isinstance(function, OpOverload | OpOverloadPacket) else None


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
