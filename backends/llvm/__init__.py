"""CPU code: kernel functions to LLVM IR text, and LLVM IR text to native code through llvmlite.

    print_llvm(func, ctx)             -> the LLVM module of one kernel
    compile_kernels(funcs, ctx)       -> native code of all kernels of a graph, `.entry(symbol)` and `.grid(symbol)`
    cpu_target()                      -> this machine, for `ctx.target`

They are loaded on first use, so that the mathematics library alone can be had without LLVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lect.backends.llvm.kernels import CompiledKernels, compile_kernels, cpu_target, print_llvm

__all__ = ["CompiledKernels", "compile_kernels", "cpu_target", "print_llvm"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lect.backends.llvm' has no attribute '{name}'")
    from lect.backends.llvm import kernels

    return getattr(kernels, name)
