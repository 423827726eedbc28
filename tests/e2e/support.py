"""Comparing what a compiled function gives with what eager gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import torch

import lect


def same(want: Any, got: Any, exact: bool = False, scaled: bool = False) -> None:
    """Equal type, structure, values, dtype, strides and device; floats up to rounding unless `exact`, with `scaled` up to that of the largest of them."""
    assert type(want) is type(got), (type(want), type(got))
    if isinstance(want, torch.Tensor):
        assert (want.dtype, want.device, want.stride(), want.requires_grad) == (got.dtype, got.device, got.stride(), got.requires_grad)
        tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 2e-5, "atol": 2e-5} if want.dtype in (torch.float32, torch.float64) else {}
        if scaled and tolerance and want.numel():
            tolerance["atol"] *= max(1.0, want.abs().nan_to_num(0.0, 0.0).max().item())
        torch.testing.assert_close(got, want, equal_nan=True, **tolerance)
    elif isinstance(want, list | tuple | deque):
        assert len(want) == len(got)
        for a, b in zip(want, got):
            same(a, b, exact, scaled)
    elif isinstance(want, dict):
        assert list(want) == list(got)
        for key in want:
            same(want[key], got[key], exact, scaled)
    elif hasattr(want, "__dict__") and not isinstance(want, type):
        same(vars(want), vars(got), exact, scaled)
    else:
        assert want == got


def fallbacks() -> list[str]:
    """Numbers of the reasons for which frames ran eagerly since the last reset."""
    return [event.number for event in lect.events("fallback")]


def stops() -> list[str]:
    """Numbers of the reasons for which frames were cut or ran eagerly since the last reset, but for frames that do not compute."""
    return [event.number for event in lect.events("graph break", "fallback") if event.number not in ("LB0012", "LB0022")]


def versions() -> int:
    """How many versions were compiled since the last reset."""
    return len(lect.events("compile"))


def check(fn: Callable[..., Any], *args: Any, compiled: Any = None, **kwargs: Any) -> None:
    """One call of the compiled function gives eager's value."""
    want = fn(*args, **kwargs)
    same(want, (compiled or lect.compile(fn))(*args, **kwargs))
