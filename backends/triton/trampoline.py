"""The step from Python to `cuLaunchKernel`: small native functions for 4, 8, 16, ... pointers, the same for all kernels.

    status = launch(info, stream, address 0, address 1, ...)

`info` points to a `LaunchInfo`: the kernel and how it is started.  The function puts the parameters in order on its stack, so it may run in several threads
at once.  A kernel does not look at parameters that it has not, so one with fewer pointers is started with zeros behind them.  It starts nothing and gives
`NOT_LOADED` where the kernel has no handle, and `NOT_ALIGNED` where an address has bits that it must not have.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from lect.backends.llvm.jit import LoadedCode, compile_object, load_object

NOT_LOADED = -2
NOT_ALIGNED = -1
SYMBOL = "lect_start"
DEPENDENT = "lect_start_dependent"
SCRATCH = 2  # behind the parameters Triton's kernels take two addresses of scratch memory, which are null here


class LaunchInfo(ctypes.Structure):
    """How a kernel is started: its handle, numbers of programs and threads, bytes of shared memory, forbidden bits of addresses, `cuLaunchKernel`."""

    _fields_ = [
        ("function", ctypes.c_uint64),
        ("mask", ctypes.c_uint64),
        ("launch", ctypes.c_uint64),
        ("grid", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("shared", ctypes.c_uint32),
    ]


def trampoline_text(count: int, pointers: int) -> str:
    """The LLVM module for kernels of `count` parameters, of which the first `pointers` are addresses."""
    slots = count + SCRATCH
    parameters = "".join([f", i64 %p{number}" for number in range(count)])
    lines = [
        "%info = type { i64, i64, i64, i32, i32, i32 }",
        f"define i32 @{SYMBOL}(ptr %info, i64 %stream{parameters}) {{",
        "  %function = load i64, ptr %info",
        "  %missing = icmp eq i64 %function, 0",
        "  br i1 %missing, label %unloaded, label %loaded",
        "unloaded:",
        f"  ret i32 {NOT_LOADED}",
        "loaded:",
        "  %bits.0 = add i64 0, 0",
    ]
    lines += [f"  %bits.{number + 1} = or i64 %bits.{number}, %p{number}" for number in range(pointers)]
    for number, (name, type) in enumerate((("mask", "i64"), ("launch", "i64"), ("grid", "i32"), ("threads", "i32"), ("shared", "i32")), 1):
        lines += [f"  %{name}.at = getelementptr %info, ptr %info, i32 0, i32 {number}", f"  %{name} = load {type}, ptr %{name}.at"]
    lines += [
        f"  %wrong = and i64 %bits.{pointers}, %mask",
        "  %good = icmp eq i64 %wrong, 0",
        "  br i1 %good, label %start, label %unaligned",
        "unaligned:",
        f"  ret i32 {NOT_ALIGNED}",
        "start:",
        f"  %values = alloca [{slots} x i64], align 8",
        f"  %places = alloca [{slots} x ptr], align 8",
    ]
    for number in range(slots):
        value = f"%p{number}" if number < count else "0"
        lines += [
            f"  %value.{number} = getelementptr [{slots} x i64], ptr %values, i32 0, i32 {number}",
            f"  store i64 {value}, ptr %value.{number}",
            f"  %place.{number} = getelementptr [{slots} x ptr], ptr %places, i32 0, i32 {number}",
            f"  store ptr %value.{number}, ptr %place.{number}",
        ]
    lines += [
        "  %call = inttoptr i64 %launch to ptr",
        "  %handle = inttoptr i64 %function to ptr",
        "  %queue = inttoptr i64 %stream to ptr",
        "  %status = call i32 %call(ptr %handle, i32 %grid, i32 1, i32 1, i32 %threads, i32 1, i32 1, i32 %shared, ptr %queue, ptr %places, ptr null)",
        "  ret i32 %status",
        "}",
    ]
    return "\n".join(lines) + "\n"


# CUlaunchConfig and CUlaunchAttribute: numbers of programs and threads, bytes of shared memory, stream, attributes; the one that is given lets the programs
# be there before what is in front of them in the stream has ended (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).
DEPENDENT_TEXT = f"""
%config = type {{ i32, i32, i32, i32, i32, i32, i32, ptr, ptr, i32 }}
%attribute = type {{ i32, [4 x i8], i32, [60 x i8] }}
define i32 @{DEPENDENT}(ptr %function, i32 %x, i32 %y, i32 %z, i32 %a, i32 %b, i32 %c, i32 %shared, ptr %stream, ptr %values, ptr %extra) {{
  %config = alloca %config, align 8
  %attribute = alloca %attribute, align 8
  store %attribute zeroinitializer, ptr %attribute
  store i32 6, ptr %attribute
  %allowed = getelementptr %attribute, ptr %attribute, i32 0, i32 2
  store i32 1, ptr %allowed
""" + "".join(
    [
        f"  %to.{number} = getelementptr %config, ptr %config, i32 0, i32 {number}\n  store {value}, ptr %to.{number}\n"
        for number, value in enumerate("i32 %x,i32 %y,i32 %z,i32 %a,i32 %b,i32 %c,i32 %shared,ptr %stream,ptr %attribute,i32 1".split(","))
    ]
)  # fmt: skip


@cache
def dependent_launch(extended: int) -> LoadedCode:
    """Code with a function `DEPENDENT` that takes what `cuLaunchKernel` takes and starts a dependent kernel by `cuLaunchKernelEx`, which lies at `extended`."""
    call = f"  %status = call i32 inttoptr (i64 {extended} to ptr)(ptr %config, ptr %function, ptr %values, ptr %extra)\n  ret i32 %status\n}}\n"
    return load_object(compile_object(DEPENDENT_TEXT + call, 1))


def room_for(count: int) -> int:
    """The number of pointers of the function that starts a kernel of so many."""
    return 4 if count <= 4 else 1 << (count - 1).bit_length()


@cache
def trampoline(count: int, pointers: int | None = None) -> Callable[..., int]:
    """The native function for kernels of `count` parameters, all of which are addresses, or the first `pointers` alone: the others are sizes.

    The interpreter's lock is free while it runs.
    """
    code = load_object(compile_object(trampoline_text(count, count if pointers is None else pointers), 1))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * (count + 1))
    found = prototype(code.address(SYMBOL))
    found.code = code  # type: ignore[attr-defined]  # the address is valid as long as the code is alive
    return found
