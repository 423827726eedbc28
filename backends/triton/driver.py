"""What is needed of CUDA's driver, by its documented C interface: load a module, find a kernel, start it.

Contexts are torch's: a device is current because torch made it so.  A thread that has called nothing of CUDA so far has none, and enters it here.
No compiler is needed, unlike for Triton's own launchers.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from lect.backends.triton.trampoline import DEPENDENT, dependent_launch

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
STATIC_SHARED = 49152  # bytes that a kernel may have without being asked for
OUT_OF_MEMORY = 2
NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT: this thread has not used the device so far


class DriverError(RuntimeError):
    """A call of CUDA's driver failed: its name, and the error as CUDA words it."""


@cache
def library() -> Any:
    """libcuda.  Raises `OSError` when there is none."""
    lib = ctypes.CDLL("libcuda.so.1")
    pointer = ctypes.c_void_p
    lib.cuModuleLoadData.argtypes = [ctypes.POINTER(pointer), ctypes.c_char_p]
    lib.cuModuleGetFunction.argtypes = [ctypes.POINTER(pointer), pointer, ctypes.c_char_p]
    lib.cuFuncSetAttribute.argtypes = [pointer, ctypes.c_int, ctypes.c_int]
    lib.cuDevicePrimaryCtxRetain.argtypes = [ctypes.POINTER(pointer), ctypes.c_int]
    lib.cuCtxSetCurrent.argtypes = [pointer]
    lib.cuCtxGetCurrent.argtypes = [ctypes.POINTER(pointer)]
    lib.cuGetErrorString.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    return lib


def launch_address(dependent: bool = False) -> int:
    """The address of `cuLaunchKernel`, or of a function like it that starts a `dependent` kernel: its programs wait by themselves for what was started before,
    so they may be there before that has ended.  A driver that has no such launches starts it like others."""
    lib = library()
    extended = getattr(lib, "cuLaunchKernelEx", None) if dependent else None
    if extended is not None:
        return dependent_launch(address_of(extended)).address(DEPENDENT)
    return address_of(lib.cuLaunchKernel)


def address_of(function: Any) -> int:
    """The address of a function of a library."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def capturing_address() -> int:
    """The address of `cuStreamIsCapturing`."""
    address = ctypes.cast(library().cuStreamIsCapturing, ctypes.c_void_p).value
    assert address is not None
    return address


def check(what: str, status: int) -> None:
    """Raise for a status that is not success; what torch raises when memory is short, is raised here too."""
    if not status:
        return
    text = ctypes.c_char_p()
    library().cuGetErrorString(status, ctypes.byref(text))
    message = f"CUDA error: {text.value.decode() if text.value else status} ({what})"
    if status == OUT_OF_MEMORY:
        import torch

        raise torch.OutOfMemoryError(message)
    raise DriverError(message)


def enter_context(device: int) -> None:
    """Make the context that torch uses of a device the one of this thread, which has none until it calls CUDA's runtime."""
    lib = library()
    context = ctypes.c_void_p()
    check("asking for the context of a device", lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check("entering the context of a device", lib.cuCtxSetCurrent(context))


def has_context() -> bool:
    """Whether this thread has a context."""
    context = ctypes.c_void_p()
    return not library().cuCtxGetCurrent(ctypes.byref(context)) and bool(context.value)


def load_function(binary: bytes, name: str, shared: int) -> int:
    """The handle of a kernel on the current device, allowed `shared` bytes of shared memory."""
    lib = library()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check("loading a kernel", lib.cuModuleLoadData(ctypes.byref(module), binary))
    check(f"finding the kernel {name}", lib.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    if shared > STATIC_SHARED:
        check("asking for shared memory", lib.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, shared))
    assert function.value is not None
    return function.value
