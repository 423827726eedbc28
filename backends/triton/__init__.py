"""Kernels for NVIDIA GPUs: the kernel dialect as Triton source, compiled by Triton, launched through CUDA's driver.

    print_triton(func, ctx)     -> the source of one kernel
    compile_kernels(funcs, ctx) -> their machine code; `launchers()` of it gives what the host program calls
    available()                 -> why Triton cannot be used here, or None

Importing this package imports neither Triton nor torch.
"""

from lect.backends.triton.compile import CompiledKernels, available, compile_kernels
from lect.backends.triton.source import print_triton, triton_source

__all__ = ["CompiledKernels", "available", "compile_kernels", "print_triton", "triton_source"]
