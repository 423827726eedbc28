"""Modules whose call is more than their forward: one with hooks, with a forward or `_call_impl` of its own beside its class's, or with another `__call__`.

Such a call is compiled as that of a function that calls the module, with the hooks inlined.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from lect.frontends.capture.module_calls import MODULE_CALL, MODULE_CALL_IMPL, MODULE_HOOKS, OWN_CALLS, global_hooks


def does_more(module: torch.nn.Module) -> bool:
    """True when a call runs more than the forward of the module's class: another `__call__`, hooks of its own or of all modules, or a forward of its own."""
    names, kind = module.__dict__, type(module)
    other = kind.__call__ is not MODULE_CALL or kind._call_impl is not MODULE_CALL_IMPL
    own = other or any(name in names for name in ("forward", *OWN_CALLS))
    return own or any(names.get(hook) for hook in MODULE_HOOKS) or global_hooks()


def _call(module: Any, /, *args: Any, **kwargs: Any) -> Any:
    return module(*args, **kwargs)


def call_of(module: torch.nn.Module) -> FunctionType:
    """A function that calls the module that it is given first; its name is that of the class."""
    kind = type(module)
    function = FunctionType(_call.__code__, globals(), kind.__name__)
    function.__qualname__ = kind.__qualname__
    return function
