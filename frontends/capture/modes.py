"""Modes of torch: what the frame found when it was called, how it switches them, and questions about them.

A switch happens for real while the frame is followed, so that the torch calls behind it do what they do in that mode, and is recorded as a call
in the graph.  Behind the trace the thread is in the modes it was in before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.fx import modes
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.scalars import ELEMENT_OF
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.ir import UNKNOWN

Kwargs = dict[str, Box]
_QUERIES = (
    torch.is_autocast_enabled,
    torch.is_autocast_cpu_enabled,
    torch.get_autocast_dtype,
    torch.get_autocast_cpu_dtype,
    torch.get_autocast_gpu_dtype,
    torch.is_autocast_cache_enabled,
    torch._C._is_autocast_available,
    torch._C._get_privateuse1_backend_name,
)


def set_grad_enabled(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch._C._set_grad_enabled(mode)`."""
    mode = t.leak(args[0])
    torch._C._set_grad_enabled(mode)
    if torch.is_grad_enabled():
        t.repeats.autograd_comes_on()
    t.graph.record_mode("torch.set_grad_enabled", [mode], t.loc)
    return NONE


def _autocast_query(function: Callable[..., Any]) -> Any:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        t.autocast_read = True
        return (run_real(function, *t.leak_all(args), **{name: t.leak(box) for name, box in kwargs.items()}), None)

    return rule


def _autocast_switch(function: Callable[..., Any], name: str) -> Any:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if kwargs:
            raise t.stop("LB0014", f"{name} with keywords")
        t.autocast_read = True
        raw = t.leak_all(args)
        returned = run_real(function, *raw)
        t.graph.record_mode(name, raw, t.loc)
        return (returned, None)

    return rule


def _switches() -> dict[Any, Any]:
    return {getattr(torch, name.removeprefix("torch.")): _autocast_switch(getattr(torch, name.removeprefix("torch.")), name) for name in modes.AUTOCAST_CALLS}


MODES: Mapping[Any, Any] = MappingProxyType(
    {
        torch._C._set_grad_enabled: set_grad_enabled,
        **{query: _autocast_query(query) for query in _QUERIES},
        **_switches(),
    }
)


def global_state(t: Tracer | None = None) -> dict[str, Any]:
    """The attributes of `guard.global_state` that hold in this thread.  Breaks in modes that change what functions do.

    Autocast is part of it where it is on, or when the frame of `t` asked for it.
    """
    if torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack():
        raise GraphBreak("LB0025", "a torch function mode or dispatch mode is active")
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise GraphBreak("LB0025", "a transform of torch.func is running the function")
    if torch._C._get_tracing_state() is not None:
        raise GraphBreak("LB0025", "torch.jit.trace is recording what the function does")
    if torch.get_default_dtype() not in ELEMENT_OF:
        raise GraphBreak("LB0025", f"the default dtype is {torch.get_default_dtype()}")
    state: dict[str, Any] = {"grad": torch.is_grad_enabled(), "default_dtype": ELEMENT_OF[torch.get_default_dtype()]}
    if torch.is_inference_mode_enabled():
        state["inference"] = True
    if torch.are_deterministic_algorithms_enabled():
        state["deterministic"] = True
    if _global_hooks():
        state["module_hooks"] = True
    if t is not None and t.asked_handled:
        state["no_exception"] = True
    autocast = _autocast_attribute()
    if any(switch[1] for switch in autocast[:-1]) or (t is not None and t.autocast_read):
        state["autocast"] = autocast
    elif torch._C._is_any_autocast_enabled():
        raise GraphBreak("LB0025", "autocast is on for a device that is not captured")
    return state


def _global_hooks() -> bool:
    from lect.frontends.capture.module_calls import global_hooks

    return global_hooks()


def _autocast_attribute() -> tuple[Any, ...]:
    state = modes.autocast_state()
    return (*[(device, enabled, ELEMENT_OF[dtype]) for device, enabled, dtype in state[:-1]], state[-1])


def enter_found_modes(t: Tracer) -> None:
    """Write down the autocast that is on around the call, so that the graph says what its calls do wherever it is run."""
    for device, enabled, dtype in modes.autocast_state()[:-1]:
        if enabled:
            t.graph.record_mode("torch.set_autocast_dtype", [device, dtype], UNKNOWN)
            t.graph.record_mode("torch.set_autocast_enabled", [device, True], UNKNOWN)


def current_modes() -> tuple[bool, tuple[Any, ...]]:
    """Autograd's switch and the state of autocast in this thread."""
    return torch.is_grad_enabled(), modes.autocast_state()


def changed_modes(before: tuple[Any, Any], after: tuple[Any, Any]) -> tuple[Any, Any]:
    """Of the modes `after`, those that differ from `before`; None for the others."""
    return after[0] if after[0] != before[0] else None, after[1] if after[1] != before[1] else None
