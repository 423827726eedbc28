"""Starting a compiled kernel: one native call with the addresses that the host program gives.

A launcher is made for each kernel of a graph, which runs on one device.  The machine code goes there when the launcher is made, so that a driver which
does not take it is known before anything has run; what is left of that is done when the first launch comes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch

from lect.backends.triton.compile import ALIGNMENT, Kernel, SizedKernel
from lect.backends.triton.driver import NO_CONTEXT, DriverError, check, enter_context, has_context, launch_address, load_function
from lect.backends.triton.named import NamedKernel
from lect.backends.triton.sizes import hinted
from lect.backends.triton.tables import Tables
from lect.backends.triton.trampoline import NOT_ALIGNED, NOT_LOADED, LaunchInfo, room_for, trampoline
from lect.ir import LectError
from lect.ir.facts import value_of

WARP = 32
MOST_SIZES = 1024  # sizes of launches of one kernel for which is kept how it is started


def load(info: LaunchInfo, compiled: Any, programs: int, mask: int) -> None:
    """Load a compiled kernel on the current device, and write down how it is started.  Raises `RuntimeError` when it needs what launches do not give."""
    metadata = compiled.metadata
    if getattr(metadata, "global_scratch_size", 0) or getattr(metadata, "profile_scratch_size", 0):
        raise RuntimeError(f"the kernel {metadata.name} asks for scratch memory, which launches of lect do not give")
    info.launch, info.grid, info.mask = launch_address(bool(getattr(metadata, "launch_pdl", False))), programs, mask
    info.threads, info.shared = metadata.num_warps * WARP, metadata.shared
    info.function = load_function(compiled.asm["cubin"], metadata.name, metadata.shared)  # last: from here on it is ready


def load_now(kernel: Kernel | NamedKernel | SizedKernel, work: Callable[[], Any]) -> None:
    """Load a version of a kernel on the current device by `work`.

    Raises `LectError` when the driver does not take it, while the graph can still run some other way; short memory is left to the launch.
    """
    try:
        if not has_context():
            enter_context(torch._C._cuda_getDevice())
        work()
    except torch.OutOfMemoryError:
        return
    except (DriverError, OSError) as error:
        reason = f"the driver does not take the kernel: {error}; it must be as new as CUDA {torch.version.cuda}, for which torch was built"
        raise LectError(reason, kernel.loc) from None


class Launcher:
    """The versions of one kernel: for aligned addresses, and for each combination of others that occurred."""

    def __init__(self, kernel: Kernel | NamedKernel) -> None:
        self.kernel = kernel
        self.what = f"starting the kernel {kernel.title}"
        self.programs = value_of(kernel.programs, {})
        self.room = room_for(kernel.pointers)
        self.rest = (0,) * (self.room - kernel.pointers)
        self.infos: dict[tuple[bool, ...] | None, LaunchInfo] = {None: LaunchInfo()}

    @cached_property
    def native(self) -> Callable[..., int]:
        """What starts the kernel, made when Python first starts it: a native host program does without."""
        return trampoline(self.room)

    def load(self) -> None:
        """Load the version for aligned addresses on the current device."""
        load(self.infos[None], self.kernel.version(), self.programs, ALIGNMENT - 1)

    def plain(self) -> Callable[..., None]:
        """`launch(stream, *addresses)`."""
        slowly, rest = self.slowly, self.rest
        info = ctypes.addressof(self.infos[None])

        def launch(stream: int, *pointers: int) -> None:
            status = self.native(info, stream, *pointers, *rest)
            if status:
                slowly(status, stream, pointers)

        launch.info = info  # type: ignore[attr-defined]  # for a native host program, which starts the kernel by itself once it is loaded
        return launch

    def start(self, info: LaunchInfo, stream: int, pointers: tuple[int, ...]) -> int:
        """Start a version; the status."""
        return self.native(ctypes.addressof(info), stream, *pointers, *self.rest)

    def slowly(self, status: int, stream: int, pointers: tuple[int, ...]) -> None:
        """What the quick way did not start.  Raises what CUDA reports."""
        if (status == NO_CONTEXT or status == NOT_LOADED) and not has_context():
            enter_context(torch._C._cuda_getDevice())
            status = self.start(self.infos[None], stream, pointers)
        if status == NOT_LOADED:
            self.load()
            status = self.start(self.infos[None], stream, pointers)
        if status == NOT_ALIGNED:
            status = self.with_alignment(tuple([not pointer % ALIGNMENT for pointer in pointers]), stream, pointers)
        check(self.what, status)

    def with_alignment(self, aligned: tuple[bool, ...], stream: int, pointers: tuple[int, ...]) -> int:
        """Start the version for pointers aligned like this; the status."""
        info = self.infos.get(aligned)
        if info is None:
            info = LaunchInfo()
            load(info, self.kernel.version(aligned), self.programs, 0)
            self.infos[aligned] = info
        return self.start(info, stream, pointers)


class SizedLauncher:
    """Starts a kernel with sizes as parameters: what was found out for the sizes of a launch is kept for the next with the same."""

    def __init__(self, kernel: SizedKernel) -> None:
        self.kernel = kernel
        self.what = f"starting the kernel {kernel.title}"
        self.pointers = len(kernel.func.pointers)
        count = self.pointers + len(kernel.func.symbols)
        self.native = trampoline(room_for(count), self.pointers)
        self.rest = (0,) * (room_for(count) - count)
        self.loaded: dict[tuple[Kernel, tuple[bool, ...] | None], LaunchInfo] = {}
        self.infos: dict[tuple[tuple[int, ...], tuple[bool, ...] | None], LaunchInfo] = {}

    def launch(self, stream: int, *values: int) -> None:
        """Start the version for the sizes, which stand behind the addresses.  Raises what CUDA reports."""
        sizes = values[self.pointers :]
        info = self.infos.get((sizes, None)) or self.prepare(sizes, None)
        status = self.native(ctypes.addressof(info), stream, *values, *self.rest)
        if status:
            self.slowly(status, info, stream, values)

    def prepare(self, sizes: tuple[int, ...], aligned: tuple[bool, ...] | None) -> LaunchInfo:
        """How the kernel is started for these sizes and addresses aligned like this (None: all of them)."""
        if not has_context():
            enter_context(torch._C._cuda_getDevice())
        version = self.kernel.for_sizes(sizes)
        loaded = self.loaded.get((version, aligned))
        if loaded is None:
            loaded = LaunchInfo()
            load(loaded, version.version(aligned), 0, 0 if aligned is not None else ALIGNMENT - 1)
            self.loaded[version, aligned] = loaded
        info = LaunchInfo(loaded.function, loaded.mask, loaded.launch, value_of(version.programs, dict(enumerate(sizes))), loaded.threads, loaded.shared)
        while len(self.infos) >= MOST_SIZES:
            self.infos.pop(next(iter(self.infos)), None)
        self.infos[sizes, aligned] = info
        return info

    def slowly(self, status: int, info: LaunchInfo, stream: int, values: tuple[int, ...]) -> None:
        """What the quick way did not start.  Raises what CUDA reports."""
        if status == NO_CONTEXT and not has_context():
            enter_context(torch._C._cuda_getDevice())
            status = self.native(ctypes.addressof(info), stream, *values, *self.rest)
        if status == NOT_ALIGNED:
            aligned, sizes = tuple([not pointer % ALIGNMENT for pointer in values[: self.pointers]]), values[self.pointers :]
            info = self.infos.get((sizes, aligned)) or self.prepare(sizes, aligned)
            status = self.native(ctypes.addressof(info), stream, *values, *self.rest)
        check(self.what, status)


def make_sized_launcher(kernel: SizedKernel) -> Callable[..., None]:
    """`launch(stream, *addresses, *sizes)` for a kernel, on the device that is current.  Raises `LectError` when its driver does not take the kernel."""
    launcher = SizedLauncher(kernel)
    load_now(kernel, lambda: launcher.prepare(hinted(kernel.func), None))
    return launcher.launch


def make_launcher(kernel: Kernel | NamedKernel) -> Callable[..., None]:
    """`launch(stream, *addresses)` for a kernel, on the device that is current.  Raises `LectError` when its driver does not take the kernel."""
    launcher = Launcher(kernel)
    load_now(kernel, launcher.load)
    single = launcher.plain()
    if not kernel.grouped:
        return single
    tables = Tables(kernel.addresses, ctypes.addressof(launcher.infos[None]))

    def launch(stream: int, *pointers: int) -> None:
        table, aligned = tables.find(stream, pointers)
        if aligned:
            single(stream, table)
        else:
            check(launcher.what, launcher.with_alignment((False,), stream, (table,)))

    launch.last = tables.last.address  # type: ignore[attr-defined]  # for a native host program, which starts the kernel by itself while nothing moves
    return launch
