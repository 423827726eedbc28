"""CPU code: kernel functions to LLVM IR text, and LLVM IR text to native code through llvmlite.

    print_llvm(func, ctx)             -> the LLVM module of one kernel
    compile_kernels(funcs, ctx)       -> native code of all kernels of a graph, `.entry(symbol)` and `.grid(symbol)`
    cpu_target()                      -> this machine, for `ctx.target`

They are loaded on first use, so that the mathematics library alone can be had without LLVM.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lect.backends.llvm.kernels import compile_kernels, print_llvm
    from lect.backends.llvm.loaded import CompiledKernels, cpu_target

__all__ = ["CompiledKernels", "compile_kernels", "cpu_target", "print_llvm"]

# What is compiled already runs without the code generator.
_MODULES = MappingProxyType({"CompiledKernels": "loaded", "cpu_target": "loaded", "compile_kernels": "kernels", "print_llvm": "kernels"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lect.backends.llvm' has no attribute '{name}'")
    return getattr(import_module(f"lect.backends.llvm.{_MODULES[name]}"), name)
