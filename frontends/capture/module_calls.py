"""Calls of `torch.nn.Module`s, and the hooks around them."""

from __future__ import annotations

from types import FunctionType

import torch

from lect.frontends.capture import calls
from lect.frontends.capture.attributes import find_in_type, guard_class_entry, instance_dict, load_attr, lookup
from lect.frontends.capture.objects import describe
from lect.frontends.capture.tracer import Box, Tracer

MODULE_CALL = torch.nn.Module.__call__
MODULE_CALL_IMPL = torch.nn.Module._call_impl
MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
OWN_CALLS = ("_compiled_call_impl", "_call_impl")  # what `__call__` asks a module for
_GLOBAL_HOOKS = ("_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_hooks", "_global_forward_pre_hooks")
Kwargs = dict[str, Box]


def call_module(t: Tracer, module: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """`nn.Module.__call__`: without hooks it is a call of forward, else torch's own code runs the hooks around it."""
    if has_own_call(t, module) or hooks_of(t, module):
        _check_plain_hooks(t, module)
        return calls.call(t, load_attr(t, module, "_call_impl"), args, kwargs)
    forward = _guard_forward(t, module)
    if forward is not None:
        return calls.call_function(t, t.static(forward) if not t.is_fresh(forward) else (forward, None), [module, *args], kwargs)
    return calls.call(t, load_attr(t, module, "forward"), args, kwargs)


def has_own_call(t: Tracer, module: Box) -> bool:
    """True when `__call__` runs another `_call_impl` than torch's: of the class, or of the module itself."""
    kind = t.guard_type(module)
    compiled = find_in_type(kind, OWN_CALLS[0])
    if compiled is not None:
        raise t.stop("LB0017", f"{describe(module[0])}, which torch compiles")
    guard_class_entry(t, kind, OWN_CALLS[0], compiled)
    return lookup(t, kind, "_call_impl").value is not MODULE_CALL_IMPL or "_call_impl" in (instance_dict(t, module[0]) or {})


def hooks_of(t: Tracer, module: Box) -> bool:
    """True when hooks run around the forward of the module: its own, or those of all modules."""
    names = instance_dict(t, module[0]) or {}
    for hook in MODULE_HOOKS:
        if t.now((names.get(hook), None)):
            return True
    return global_hooks()


def global_hooks() -> bool:
    """True when hooks are registered on all modules."""
    held = torch.nn.modules.module.__dict__
    for name in _GLOBAL_HOOKS:
        if held[name]:
            return True
    return False


def _check_plain_hooks(t: Tracer, module: Box) -> None:
    """Break for hooks on the backward of the kind that sees one node of autograd alone."""
    names = instance_dict(t, module[0]) or {}
    hooks = torch.nn.modules.module
    if names.get("_compiled_call_impl") is not None:
        raise t.stop("LB0017", f"{describe(module[0])}, which torch compiles")
    backward = names.get("_backward_hooks") or hooks._global_backward_hooks
    full = names.get("_is_full_backward_hook") is not False and hooks._global_is_full_backward_hook is not False
    if backward and not full and torch.is_grad_enabled():
        raise t.stop("LB0017", f"{describe(module[0])} has hooks on a node of its backward")


def check_hooks(t: Tracer, module: Box) -> None:
    """Break when calling the module does more than calling its forward, and guard that it stays so."""
    if lookup(t, t.guard_type(module), "__call__").value is not MODULE_CALL or has_own_call(t, module) or hooks_of(t, module):
        raise t.stop("LB0017", describe(module[0]))
    _guard_forward(t, module)


def _guard_forward(t: Tracer, module: Box) -> FunctionType | None:
    """Guard that a module without hooks stays so; its forward when that is a function of its class."""
    value, source = module
    names = instance_dict(t, value) or {}
    if names.get("_compiled_call_impl") is not None:
        raise t.stop("LB0017", describe(value))
    own = "forward" in names
    if source is not None:
        before = object.__getattribute__(value, "__dict__")
        if not any(before.get(hook) for hook in MODULE_HOOKS):  # else the frame has removed them: which there were is guarded
            t.guards.no_hooks(source)
        if not own:
            t.guards.no_attr(source, "forward")
    forward = lookup(t, type(value), "forward")
    if forward.kind != "function":
        return None
    guard_class_entry(t, type(value), "forward", forward.value)
    return None if own else forward.value  # type: ignore[no-any-return]
