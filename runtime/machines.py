"""The machine that a graph is compiled for: the GPU on which its tensors lie, else this machine's CPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from lect.ir import LectError, Operation

PER_PROCESSOR = 233472  # bytes of shared memory of a multiprocessor where torch does not say how many a program may have
RESERVED = 1024


def devices_of(graph: Operation) -> tuple[str, ...]:
    """The devices of the tensors that a graph takes and gives, each once."""
    last = graph.body.last
    values = [*graph.body.args, *(last.operands if last is not None else ())]
    values += [value for op in graph.body for value in op.results]
    found = [getattr(value.type, "device", None) for value in values]
    return tuple(dict.fromkeys(device for device in found if device is not None))


def machine_of(graph: Operation) -> dict[str, Any]:
    """The description of the machine for `ctx.target`.  Raises `LectError` where there is no way to run kernels on the graph's device."""
    device = next((each for each in devices_of(graph) if each != "cpu"), "cpu")
    if device == "cpu":
        from lect.backends import llvm

        return {**llvm.cpu_target(), "threads": torch.get_num_threads()}
    if not device.startswith("cuda"):
        raise LectError(f"there are no kernels for the device {device}")
    return gpu_of(device)


def gpu_of(device: str) -> dict[str, Any]:
    """The description of an NVIDIA GPU.  Raises `LectError` when it is none, is too old, or Triton is missing."""
    from lect.backends import triton
    from lect.passes.targets import cuda_target

    reason = triton.available()
    if reason is not None:
        raise LectError(f"no kernels for {device}: {reason}", hint="pip install 'lect[gpu]'")
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise LectError(f"no kernels for {device}: this torch has no CUDA device")
    facts: Any = torch.cuda.get_device_properties(device)
    if facts.major < 8:
        raise LectError(f"no kernels for {device}: its compute capability is {facts.major}.{facts.minor}, and 8.0 is the least")
    shared = getattr(facts, "shared_memory_per_block_optin", PER_PROCESSOR - RESERVED)
    return cuda_target(facts.name, facts.major * 10 + facts.minor, facts.multi_processor_count, shared, facts.L2_cache_size, torch.backends.cudnn.enabled)


def current_device_of(graph: Operation) -> AbstractContextManager[Any]:
    """A context in which the GPU of a graph's tensors is the current device; one that does nothing for other graphs."""
    device = next((each for each in devices_of(graph) if each.startswith("cuda")), None)
    return nullcontext() if device is None else torch.cuda.device(torch.device(device).index or 0)


def on_device(run: Callable[..., list[Any]], graph: Operation) -> Callable[..., list[Any]]:
    """`run` with the device of the graph's tensors as the current one: kernels start on that."""
    device = next((each for each in devices_of(graph) if each.startswith("cuda")), None)
    if device is None or torch.cuda.device_count() == 1:
        return run
    current, number = torch._C._cuda_getDevice, torch.device(device).index or 0

    def call(*tensors: Any) -> list[Any]:
        if current() == number:
            return run(*tensors)
        with torch.cuda.device(number):
            return run(*tensors)

    return call
