"""From a fully lowered module to something that runs: kernels to native code, the host function to Python, both bound together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from lect.ir import Context, LectError, Operation
from lect.runtime.launches import check_launches
from lect.runtime.openmp import openmp_libraries


class Executable:
    """A compiled graph: call it with the input tensors, get the list of output tensors.

    `host_text` is the Python source of the host program, `kernels` the loaded native code (kept alive here).
    """

    def __init__(self, name: str, run: Callable[..., list[Any]], host_text: str, kernels: Any) -> None:
        self.name = name
        self.run = run
        self.host_text = host_text
        self.kernels = kernels

    def __call__(self, *tensors: Any) -> list[Any]:
        return self.run(*tensors)


def build(module: Operation, ctx: Context, name: str | None = None, code: Any = None) -> Executable:
    """Make the `host.func` called `name` (the only one when None) of `module` executable.  Raises `LectError` when it cannot be.

    `code` are its kernels as a backend compiled and checked them before; then the module need not have them.
    """
    from lect.backends import python_host

    func = find_host_function(module, name)
    if code is not None:
        program = python_host.load(func, {symbol: code.entry(symbol) for symbol in code.symbols}, shared_launcher())
        return Executable(func.attrs["sym_name"], program.run, program.text, code)
    kernels = [op for op in module.body if op.name == "kernel.func"]
    check_launches(func, kernels)
    compiled: Any = None
    entries: dict[str, Any] = {}
    on_gpu = any(op.attrs.get("target") == "cuda" for op in kernels)
    if on_gpu:
        from lect.backends import triton

        compiled = triton.compile_kernels(kernels, ctx)
        entries = compiled.launchers()
    elif kernels:
        from lect.backends import llvm

        compiled = llvm.compile_kernels(kernels, ctx)
        entries = {op.attrs["sym_name"]: compiled.entry(op.attrs["sym_name"]) for op in kernels}
    program = python_host.load(func, entries, shared_launcher() if kernels and not on_gpu else None)
    return Executable(func.attrs["sym_name"], program.run, program.text, compiled)


def find_host_function(module: Operation, name: str | None) -> Operation:
    """The host function to run.  Raises `LectError` when there is none, or several and no name."""
    found = [op for op in module.body if op.name == "host.func" and name in (None, op.attrs["sym_name"])]
    if len(found) != 1:
        names = ", ".join("@" + op.attrs["sym_name"] for op in module.body if op.name == "host.func")
        wanted = f"@{name}" if name else "exactly one host function"
        raise LectError(f"expected {wanted}, the module has {names or 'none'}", op=module)
    return found[0]


@cache
def shared_launcher() -> Callable[[int, Any, int, int], None]:
    """The launcher of this process."""
    from lect.backends.llvm.launcher import make_launcher

    return make_launcher(openmp_libraries())


Tensors = Sequence[Any]
