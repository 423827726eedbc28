"""Kernels to machine code, by `triton.compile` on a source of its own for each different kernel.

No device is needed: the target says for which GPU.  Float operations are not contracted (`enable_fp_fusion = False`), so they round as they are written.
Pointers are taken to be multiples of 16 bytes, as torch allocates; for memory that begins elsewhere another version is made when it first comes.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

from lect.backends.python_source import load_source
from lect.backends.triton.source import ENTRY, Source, triton_source
from lect.ir import Context, LectError, Operation

ALIGNMENT = 16
DEFAULT_ARCH = 90
MOST_THREADS = 16


class KernelError(LectError):
    """Triton refused a kernel that lect made, which is a fault of lect: `source` is the text that it refused."""

    def __init__(self, message: str, op: Operation, source: str) -> None:
        super().__init__(message, op=op)
        self.source = source


def available() -> str | None:
    """Why kernels cannot be compiled here; None when they can."""
    if find_spec("triton") is None:
        return "the package triton is not installed"
    return None


def load_kernel(source: Source) -> Any:
    """The kernel of a source as Triton's function object; its text stays known to tracebacks, and Triton reads it from there."""
    namespace: dict[str, Any] = {"__builtins__": dict(vars(builtins)), "__name__": f"lect_{source.name}"}
    return load_source("kernel", source.name, source.text, namespace).run


def compile_source(source: Source, arch: int, aligned: Sequence[bool]) -> Any:
    """Triton's compiled kernel for a GPU of compute capability `arch`; `aligned` says which pointers are multiples of 16 bytes."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    attributes = {(number,): [["tt.divisibility", ALIGNMENT]] for number, good in enumerate(aligned) if good}
    unit = ASTSource(load_kernel(source), dict(source.signature), {}, attributes)
    options = {"num_warps": source.warps, "enable_fp_fusion": False}
    return triton.compile(unit, target=GPUTarget("cuda", arch, 32), options=options)


class Kernel:
    """One kernel: its source, the number of programs, and a compiled version for each combination of aligned pointers that occurred."""

    def __init__(self, func: Any, source: Source, arch: int) -> None:
        self.func = func
        self.source = source
        self.arch = arch
        self.programs: int = func.programs
        self.grouped = func.groups is not None
        self.pointers = len(source.signature)
        self._versions: dict[tuple[bool, ...], Any] = {}

    def version(self, aligned: tuple[bool, ...] | None = None) -> Any:
        """The compiled kernel for pointers aligned as given, all if left out.  Raises `KernelError` when Triton refuses it."""
        aligned = (True,) * self.pointers if aligned is None else aligned
        found = self._versions.get(aligned)
        if found is None:
            try:
                found = self._versions[aligned] = self._compiled(aligned)
            except Exception as error:
                text = " ".join(str(error).split())
                raise KernelError(f"Triton refuses the kernel: {type(error).__name__}: {text[:400]}", self.func, self.source.text) from error
        return found

    def _compiled(self, aligned: tuple[bool, ...]) -> Any:
        if self.grouped and not all(aligned):  # of the addresses in the table; the table itself is torch's
            return compile_source(triton_source(self.func, ENTRY, False), self.arch, (True,))
        return compile_source(self.source, self.arch, aligned)


class CompiledKernels:
    """The kernels of a graph by symbol; equal sources are one kernel."""

    def __init__(self, kernels: Mapping[str, Kernel]) -> None:
        self.kernels = kernels

    def launchers(self) -> dict[str, Callable[..., None]]:
        """For each symbol `launch(stream, *addresses)`, on the current device."""
        from lect.backends.triton.launcher import make_launcher

        made = {id(kernel): make_launcher(kernel) for kernel in self.kernels.values()}
        return {symbol: made[id(kernel)] for symbol, kernel in self.kernels.items()}


def compile_kernels(funcs: Sequence[Operation], ctx: Context) -> CompiledKernels:
    """Machine code of all kernels of a graph.  Raises `LectError` for what has no GPU code, and where Triton is missing."""
    reason = available()
    if reason is not None:
        raise LectError(reason, hint="pip install 'lect[gpu]'")
    arch = int(ctx.target.get("arch", DEFAULT_ARCH))
    by_text: dict[tuple[str, int], Kernel] = {}
    kernels: dict[str, Kernel] = {}
    for func in funcs:
        source = triton_source(func, ENTRY)
        key = (_without_comments(source.text), func.programs)  # type: ignore[attr-defined]
        if key not in by_text:
            by_text[key] = Kernel(func, source, arch)
        kernels[str(func.symbol)] = by_text[key]
    compile_all(list(by_text.values()))
    return CompiledKernels(kernels)


def compile_all(kernels: Sequence[Kernel]) -> None:
    """Compile kernels side by side: most of the time is spent in MLIR, LLVM and ptxas, where the interpreter's lock is free.

    Raises the `KernelError` of the first that Triton refuses.
    """
    threads = min(len(kernels), os.cpu_count() or 1, MOST_THREADS)
    if threads < 2:
        for kernel in kernels:
            kernel.version()
        return
    with ThreadPoolExecutor(threads, "lect-triton") as pool:
        for done in [pool.submit(kernel.version) for kernel in kernels]:
            done.result()


def _without_comments(text: str) -> str:
    return "\n".join([line for line in text.splitlines() if not line.lstrip().startswith("#")])
