"""From a fully lowered module to something that runs: kernels to native code, the host function to Python, both bound together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, cached_property
from types import CodeType
from typing import Any

from lect.backends.code_store import CodeStore
from lect.ir import Context, LectError, Operation
from lect.runtime.launches import check_launches
from lect.runtime.machines import current_device_of
from lect.runtime.openmp import openmp_libraries


class Executable:
    """A compiled graph: call it with the input tensors, get the list of output tensors.

    `host_text` is the Python source of the host program, `kernels` the loaded native code (kept alive here).  `native` is the host program as native code,
    or None; then `refused` may say why.
    """

    def __init__(self, func: Operation, python: Callable[[Operation], Any], kernels: Any) -> None:
        self.func = func
        self.name = func.attrs["sym_name"]
        self.consumes = bool(func.attrs.get("consumed"))
        self.kernels = kernels
        self.native: Any = None
        self.refused = ""
        self.further_codes: frozenset[CodeType] = frozenset()  # of other forms of the program
        self._python = python

    @cached_property
    def program(self) -> Any:
        """The host program in Python, with its source."""
        return self._python(self.func)

    def part(self, func: Operation) -> Any:
        """Another host program with the same kernels, in Python."""
        return self._python(func)

    @property
    def run(self) -> Callable[..., list[Any]]:
        """The host program in Python."""
        return _with_list(self.program.run) if self.consumes else self.program.run  # type: ignore[no-any-return]

    @property
    def host_text(self) -> str:
        """The source of the host program."""
        return self.program.text  # type: ignore[no-any-return]

    @property
    def fastest(self) -> Callable[..., list[Any]]:
        """The host program as native code where there is one, else in Python."""
        return self.run if self.native is None else self.native.run  # type: ignore[no-any-return]

    @property
    def consuming(self) -> Callable[[list[Any]], list[Any]]:
        """The fastest form, called with a list of the tensors, which it empties: those that the program consumes are freed when they were used last."""
        if self.native is not None:
            return self.native.run  # type: ignore[no-any-return]
        return self.consuming_python

    @property
    def consuming_python(self) -> Callable[[list[Any]], list[Any]]:
        """The host program in Python, called with a list of the tensors as `consuming` is."""
        program = self.program.run
        return program if self.consumes else lambda tensors: program(*tensors)  # type: ignore[no-any-return]

    @property
    def codes(self) -> frozenset[CodeType]:
        """What an exception of the program comes out of, one of which is in its traceback."""
        python = frozenset([self.program.run.__code__]) if self.native is None or "program" in vars(self) else frozenset()
        return python | self.further_codes | (frozenset() if self.native is None else self.native.codes)

    def __call__(self, *tensors: Any) -> list[Any]:
        return self.run(*tensors)


def _with_list(run: Callable[[list[Any]], list[Any]]) -> Callable[..., list[Any]]:
    """A program that takes one list, called with the tensors."""
    return lambda *tensors: run(list(tensors))


def build(module: Operation, ctx: Context, name: str | None = None, code: Any = None) -> Executable:
    """Make the `host.func` called `name` (the only one when None) of `module` executable.  Raises `LectError` when it cannot be.

    `code` are its kernels as a backend compiled and checked them before; then the module need not have them.
    """
    func = find_host_function(module, name)
    if code is not None and not code.on_gpu:
        return _executable(func, {symbol: code.entry(symbol) for symbol in code.symbols}, code, ctx)
    if code is not None:
        with current_device_of(func):
            return _executable(func, code.launchers(), code, ctx, on_gpu=True)
    kernels = [op for op in module.body if op.name == "kernel.func"]
    check_launches(func, kernels)
    compiled: Any = None
    entries: dict[str, Any] = {}
    on_gpu = any(op.attrs.get("target") == "cuda" for op in kernels)
    if on_gpu:
        from lect.backends import triton

        compiled = triton.compile_kernels(kernels, ctx)
        with current_device_of(func):
            entries = compiled.launchers()
    elif kernels:
        from lect.backends import llvm

        compiled = llvm.compile_kernels(kernels, ctx)
        entries = {op.attrs["sym_name"]: compiled.entry(op.attrs["sym_name"]) for op in kernels}
    return _executable(func, entries, compiled, ctx, on_gpu)


def _executable(func: Operation, entries: dict[str, Any], compiled: Any, ctx: Context, on_gpu: bool = False) -> Executable:
    """A graph with its kernels: its host program is native code, unless the option `host` says otherwise or it cannot be."""
    from lect.backends import native_host, python_host

    store = copy(ctx.resources.get("code_store"))  # one of its own, as the store notes what the kernels of a graph are
    launcher = shared_launcher(store) if entries and not on_gpu else None
    made = Executable(func, lambda each: python_host.load(each, entries, launcher), compiled)
    if ctx.options.get("host", "native") == "native":
        try:
            made.native = native_host.load(func, entries, launcher, compiled, store)
        except LectError as error:
            made.refused = error.message
    if made.native is None:
        made.run  # noqa: B018  # what is wrong with the program is told now
    return made


def find_host_function(module: Operation, name: str | None) -> Operation:
    """The host function to run.  Raises `LectError` when there is none, or several and no name."""
    found = [op for op in module.body if op.name == "host.func" and name in (None, op.attrs["sym_name"])]
    if len(found) != 1:
        names = ", ".join("@" + op.attrs["sym_name"] for op in module.body if op.name == "host.func")
        wanted = f"@{name}" if name else "exactly one host function"
        raise LectError(f"expected {wanted}, the module has {names or 'none'}", op=module)
    return found[0]


class _Launcher:
    """The launcher of this process, once it is made."""

    def __init__(self) -> None:
        self.made: Callable[[int, Any, int, int], None] | None = None


@cache
def _launcher() -> _Launcher:
    return _Launcher()


def shared_launcher(store: CodeStore | None = None) -> Callable[[int, Any, int, int], None]:
    """The launcher of this process, made when first asked for; `store` may have its code."""
    from lect.backends.llvm.launcher import make_launcher

    here = _launcher()
    if here.made is None:
        here.made = make_launcher(openmp_libraries(), store)
    return here.made


Tensors = Sequence[Any]
