"""Starting a compiled kernel: one call of `cuLaunchKernel` with addresses that the host program gives.

A launcher is made for each kernel; the machine code goes to a device when the first launch there comes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from lect.backends.triton.compile import ALIGNMENT, Kernel
from lect.backends.triton.driver import check, library, load_function

WARP = 32
MOST_TABLES = 16


class Loaded:
    """One version of a kernel on one device, ready to start."""

    def __init__(self, compiled: Any, pointers: int) -> None:
        metadata = compiled.metadata
        if getattr(metadata, "global_scratch_size", 0) or getattr(metadata, "profile_scratch_size", 0):
            raise RuntimeError(f"the kernel {metadata.name} asks for scratch memory, which launches of lect do not give")
        self.function = load_function(compiled.asm["cubin"], metadata.name, metadata.shared)
        self.shared: int = metadata.shared
        self.threads: int = metadata.num_warps * WARP
        self.count = pointers


class Tables:
    """Tables of addresses in the memory of a device, the last few of one kernel; each belongs to the stream on which it was filled."""

    def __init__(self) -> None:
        self.tables: dict[tuple[int, int, tuple[int, ...]], torch.Tensor] = {}
        self.captured: list[tuple[torch.Tensor, torch.Tensor]] = []

    def address(self, device: int, stream: int, pointers: tuple[int, ...]) -> int:
        """The address of a table of these addresses, filled on the current stream if there is none."""
        key = (device, stream, pointers)
        found = self.tables.get(key)
        if found is None:
            filled = torch.tensor(pointers, dtype=torch.int64).pin_memory()
            found = torch.empty(len(pointers), dtype=torch.int64, device=f"cuda:{device}")
            found.copy_(filled, non_blocking=True)
            if torch.cuda.is_current_stream_capturing():  # the graph fills the table whenever it runs, from memory that must stay
                self.captured.append((filled, found))
                return found.data_ptr()
            while len(self.tables) >= MOST_TABLES:
                self.tables.pop(next(iter(self.tables)))
            self.tables[key] = found
        return found.data_ptr()


def make_launcher(kernel: Kernel) -> Callable[..., None]:
    """`launch(stream, *addresses)` for a kernel, on the device that is current."""
    single = _make_single(kernel)
    if not kernel.grouped:
        return single
    tables, current_device = Tables(), torch._C._cuda_getDevice

    def launch(stream: int, *pointers: int) -> None:
        aligned = not any(pointer % ALIGNMENT for pointer in pointers)
        single(stream, tables.address(current_device(), stream, pointers), aligned=aligned)

    return launch


def _make_single(kernel: Kernel) -> Callable[..., None]:
    launch_kernel, current_device = library().cuLaunchKernel, torch._C._cuda_getDevice
    grid, count = kernel.programs, kernel.pointers
    slots = count + 2  # behind the parameters Triton's kernels take two addresses of scratch memory, which are null here
    values, addresses = ctypes.c_uint64 * slots, ctypes.c_void_p * slots
    size = ctypes.sizeof(ctypes.c_uint64)
    loaded: dict[tuple[int, tuple[bool, ...] | None], Loaded] = {}

    def load(key: tuple[int, tuple[bool, ...] | None]) -> Loaded:
        found = loaded[key] = Loaded(kernel.version(key[1]), count)
        return found

    def launch(stream: int, *pointers: int, aligned: bool = True) -> None:
        joined = 0 if aligned else 1
        for pointer in pointers:
            joined |= pointer
        whole = None if not joined % ALIGNMENT else tuple([aligned and not pointer % ALIGNMENT for pointer in pointers])
        key = (current_device(), whole)
        version = loaded.get(key) or load(key)
        block = values(*pointers)
        base = ctypes.addressof(block)
        parameters = addresses(*range(base, base + slots * size, size))
        status = launch_kernel(version.function, grid, 1, 1, version.threads, 1, 1, version.shared, stream, parameters, None)
        if status:
            check("starting a kernel", status)

    return launch
