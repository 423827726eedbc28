"""Calls that switch a mode of torch for the calls behind them, and keeping a thread's modes around a program that makes such calls.

The modes are autograd (`torch.set_grad_enabled`) and autocast (`torch.set_autocast_enabled` and its kin).  A graph that is run whole ends in the
modes it says; one that fails half-way must not leave its modes behind.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AUTOCAST_CALLS = frozenset(
    "torch." + name
    for name in (
        "set_autocast_enabled set_autocast_dtype set_autocast_cache_enabled autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache "
        "set_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_gpu_dtype"
    ).split()
)
MODE_CALLS = AUTOCAST_CALLS | {"torch.set_grad_enabled"}
# They read or set the state of the random generator of the CPU.
RANDOM_STATE_CALLS = frozenset({"torch.manual_seed", "torch.get_rng_state", "torch.set_rng_state"})
AUTOCAST_DEVICES = ("cpu", "cuda")


def autocast_state() -> tuple[Any, ...]:
    """For each device of `AUTOCAST_DEVICES` whether autocast is on and its dtype; then whether casts are cached."""
    torch = importlib.import_module("torch")
    switches = [(device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in AUTOCAST_DEVICES]
    return (*switches, torch.is_autocast_cache_enabled())


def autocast_words(state: tuple[Any, ...]) -> tuple[str, ...]:
    """The devices for which autocast is on, each with its dtype behind it: `("cpu", "bfloat16")`."""
    return tuple([word for device, enabled, dtype in state[:-1] if enabled for word in (device, str(dtype).removeprefix("torch."))])


def autocast_of_words(words: tuple[str, ...]) -> tuple[Any, ...]:
    """What `autocast_state()` is where autocast is on as these words say, for nothing else."""
    torch = importlib.import_module("torch")
    state = autocast_state()
    dtypes = dict(zip(words[::2], words[1::2], strict=True))
    return (*[(device, device in dtypes, getattr(torch, dtypes[device]) if device in dtypes else dtype) for device, _, dtype in state[:-1]], state[-1])


def autocast_nesting() -> int:
    """How many autocast blocks are open in this thread."""
    torch = importlib.import_module("torch")
    torch.autocast_increment_nesting()
    depth: int = torch.autocast_decrement_nesting()
    return depth


def set_autocast_state(state: tuple[Any, ...]) -> None:
    """Make `autocast_state()` this."""
    torch = importlib.import_module("torch")
    for device, enabled, dtype in state[:-1]:
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)
    torch.set_autocast_cache_enabled(state[-1])


@contextmanager
def autocast_as(wanted: tuple[Any, ...]) -> Iterator[None]:
    """A block in which `autocast_state()` is this, unless it switches itself."""
    state = autocast_state()
    set_autocast_state(wanted)
    try:
        yield
    finally:
        set_autocast_state(state)


@contextmanager
def autocast_off() -> Iterator[None]:
    """A block without autocast, as long as it switches none on itself."""
    state = autocast_state()
    with autocast_as((*[(device, False, dtype) for device, _, dtype in state[:-1]], state[-1])):
        yield


@contextmanager
def kept_modes(on_success: bool = True) -> Iterator[None]:
    """Behind the block all modes are what they were before it; with `on_success = False` only when an exception leaves it."""
    torch = importlib.import_module("torch")
    grad, state, depth = torch.is_grad_enabled(), autocast_state(), autocast_nesting()
    failed = True
    try:
        yield
        failed = False
    finally:
        if failed or on_success:
            torch._C._set_grad_enabled(grad)
            if autocast_state() != state:
                set_autocast_state(state)
            _restore_nesting(torch, depth)


def _restore_nesting(torch: Any, depth: int) -> None:
    now = autocast_nesting()
    for _ in range(now - depth):
        torch.autocast_decrement_nesting()
    for _ in range(depth - now):
        torch.autocast_increment_nesting()
    if now != depth and not depth:
        torch.clear_autocast_cache()


@contextmanager
def without_saved_tensor_hooks() -> Iterator[None]:
    """Hooks on saved tensors that are set around the block see nothing of it: they are for real tensors."""
    autograd = importlib.import_module("torch")._C._autograd
    if autograd._top_saved_tensors_default_hooks(True) is None:
        yield
        return
    autograd._push_saved_tensors_default_hooks(lambda tensor: tensor, lambda tensor: tensor)
    try:
        yield
    finally:
        autograd._pop_saved_tensors_default_hooks()
