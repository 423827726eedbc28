"""Kernels to machine code, by `triton.compile` on a source of its own for each different kernel.

No device is needed: the target says for which GPU.  Float operations are not contracted (`enable_fp_fusion = False`), so they round as they are written.
Pointers are taken to be multiples of 16 bytes, as torch allocates; for memory that begins elsewhere another version is made when it first comes.
"""

from __future__ import annotations

import builtins
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from importlib.util import find_spec
from threading import Lock
from types import MappingProxyType
from typing import Any, Union

from lect.backends.code_store import CodeStore, NamedCode
from lect.backends.compile_pool import compile_pool
from lect.backends.kernel_texts import GivenText, KernelTexts
from lect.backends.python_source import load_source
from lect.backends.triton.edited import assembled, check_source, ptx_waits_first, refused_by
from lect.backends.triton.prelude import WAIT
from lect.backends.triton.sizes import Fit, fit_of, hinted
from lect.backends.triton.source import ENTRY, Source, renamed, triton_source
from lect.dialects.kernel.fitting import is_longer, with_blocks
from lect.ir import Context, LectError, Location, Operation
from lect.ir.symbolic import Size

ALIGNMENT = 16
DEFAULT_ARCH = 90
# Bytes of shared memory that a program may have, by compute capability; what is not known has as much as the least.
SHARED: Mapping[int, int] = MappingProxyType({80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448, 103: 232448, 120: 101376})
MOST_KERNELS = 4096
PACKAGES, OLDEST = ("triton", "pytorch-triton"), (3, 6)  # who brings Triton, and the least version
AnyKernel = Union["Kernel", "SizedKernel"]
Progress = Callable[[AnyKernel, float], None]


class KernelError(LectError):
    """Triton refused a kernel that lect made, which is a fault of lect: `source` is the text that it refused."""

    def __init__(self, message: str, op: Operation, source: str) -> None:
        super().__init__(message, op=op)
        self.source = source


def available() -> str | None:
    """Why kernels cannot be compiled here; None when they can."""
    if find_spec("triton") is None:
        return "the package triton is not installed"
    found = triton_version()
    numbers = tuple([int(number) for number in re.findall(r"\d+", found)[:2]])
    if numbers and numbers < OLDEST:
        return f"Triton {found} is installed, and {'.'.join(map(str, OLDEST))} is the oldest whose language the kernels are written in"
    return None


def load_kernel(source: Source) -> Any:
    """The kernel of a source as Triton's function object; its text stays known to tracebacks, and Triton reads it from there."""
    namespace: dict[str, Any] = {"__builtins__": dict(vars(builtins)), "__name__": f"lect_{source.name}"}
    return load_source("kernel", source.name, source.text, namespace).run


@dataclass(frozen=True)
class Metadata:
    """What a launch has to know of machine code; Triton's own metadata has these and more."""

    name: str
    num_warps: int
    shared: int
    global_scratch_size: int = 0
    profile_scratch_size: int = 0
    launch_pdl: int = 0  # whether programs wait for what was started before, so that they may be there before it has ended


@dataclass(frozen=True)
class KeptKernel:
    """Machine code out of a store, in the form of Triton's compiled kernels."""

    metadata: Metadata
    asm: Mapping[str, bytes]

    def pack(self) -> bytes:
        """One line of JSON, and the machine code behind it."""
        return json.dumps(asdict(self.metadata)).encode() + b"\n" + self.asm["cubin"]

    @classmethod
    def unpack(cls, data: bytes) -> KeptKernel | None:
        """The kernel that `pack` gave; None for anything else."""
        head, _, code = data.partition(b"\n")
        try:
            told = json.loads(head)
            numbers = {name: int(told[name]) for name in ("num_warps", "shared", "global_scratch_size", "profile_scratch_size", "launch_pdl")}
            return cls(Metadata(str(told["name"]), **numbers), MappingProxyType({"cubin": code}))
        except (ValueError, KeyError, TypeError):
            return None


@cache
def triton_version() -> str:
    """Triton's version, for which folders are searched; none where it was built from source and says none."""
    for package in PACKAGES:
        try:
            return version_of(package)
        except PackageNotFoundError:
            continue
    return "none"


def code_key(source: Source, arch: int, aligned: Sequence[int]) -> str:
    """All that the machine code of a source depends on."""
    depends = {"triton": triton_version(), "arch": arch, "aligned": list(map(int, aligned)), "warps": source.warps, "stages": source.stages}
    depends["signature"] = source.signature
    return "\n".join(["lect cubin 2", *[f"{name} {value}" for name, value in depends.items()], _without_comments(source.text)])


def find_or_compile(source: Source, arch: int, aligned: Sequence[int], store: CodeStore | None) -> Any:
    """The compiled kernel of a source, out of the store where it is there; Triton is imported only where it is not."""
    if store is None:
        return compile_source(source, arch, aligned)
    key = code_key(source, arch, aligned)
    kept = store.find(key)
    found = KeptKernel.unpack(kept) if kept is not None else None
    if found is not None:
        return found
    compiled = compile_source(source, arch, aligned)
    store.keep(key, KeptKernel(metadata_of(compiled), compiled.asm).pack())
    return compiled


def metadata_of(compiled: Any) -> Metadata:
    """What a launch has to know of Triton's compiled kernel."""
    facts: dict[str, Any] = {field.name: getattr(compiled.metadata, field.name, 0) for field in fields(Metadata)}
    return Metadata(**facts)


def compile_source(source: Source, arch: int, aligned: Sequence[int]) -> Any:
    """Triton's compiled kernel for a GPU of compute capability `arch`; `aligned` says which pointers are multiples of 16, and what sizes behind them are
    multiples of.

    A product that would need more shared memory than a program may have reads fewer steps ahead.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    known = {number: ALIGNMENT if each is True else each for number, each in enumerate(aligned)}
    attributes = {(number,): [["tt.divisibility", multiple]] for number, multiple in known.items() if multiple > 1}
    unit = ASTSource(load_kernel(source), dict(source.signature), {}, attributes)
    room = SHARED.get(arch, min(SHARED.values()))
    options = {"num_warps": source.warps, "enable_fp_fusion": False, "launch_pdl": waits_first(source)}
    if source.stages is None:
        return within(triton.compile(unit, target=GPUTarget("cuda", arch, 32), options=options), room)
    for stages in range(source.stages, 0, -1):
        compiled = triton.compile(unit, target=GPUTarget("cuda", arch, 32), options={**options, "num_stages": stages})
        if compiled.metadata.shared <= room or stages == 1:
            break
    return within(compiled, room)


def waits_first(source: Source) -> bool:
    """Whether a kernel waits for what was started before it does anything else, also in a text that somebody has edited."""
    _, _, body = _without_comments(source.text).partition(f"\ndef {source.name}(")
    return body.partition("\n")[2].startswith(f"    {WAIT}\n")


def within(compiled: Any, room: int) -> Any:
    """A compiled kernel.  Raises `RuntimeError` where it needs more shared memory than a program may have, which the driver would refuse."""
    if compiled.metadata.shared > room:
        raise RuntimeError(f"the kernel needs {compiled.metadata.shared} bytes of shared memory, a program has {room}")
    return compiled


class Kernel:
    """One kernel: its source, the number of programs, and a compiled version for each combination of aligned pointers that occurred.

    `texts` is asked for other texts than the backend's own, by the kernel's name and `suffix`; `given` is the one that stands for the source.  `multiples`
    are numbers that sizes are multiples of.
    """

    def __init__(
        self,
        func: Any,
        source: Source,
        arch: int,
        store: CodeStore | None = None,
        texts: KernelTexts | None = None,
        multiples: tuple[int, ...] = (),
        suffix: str = "",
    ) -> None:
        self.func = func
        self.multiples = multiples
        self.suffix = suffix
        self.store = store
        self.texts = texts
        self.arch = arch
        self.programs: Size = func.programs
        self.grouped = func.groups is not None
        self.addresses = len(func.body.args) * func.groups if self.grouped else 0  # in a table
        self.pointers = len(source.signature) - len(multiples)
        self.source, self.given = self._in_use(source, suffix)
        self._versions: dict[tuple[bool, ...], Any] = {}

    @property
    def is_compiled(self) -> bool:
        """Whether the version for aligned memory is there."""
        return bool(self._versions)

    @property
    def title(self) -> str:
        """The name and the place of the kernel, for people."""
        return title_of(self.func)

    @property
    def loc(self) -> Location:
        """The place in the program that the kernel computes."""
        return self.func.loc  # type: ignore[no-any-return]

    def kept_in(self, store: NamedCode) -> str | None:
        """The name in a store of the version for aligned memory, which is put there if it is not there yet; None when that is not possible."""
        key = code_key(self.source, self.arch, (True,) * self.pointers)
        name = store.name_of(key)
        if store.named(name) is None:
            compiled = self.version()
            store.keep(key, KeptKernel(metadata_of(compiled), compiled.asm).pack())
        return name if store.named(name) is not None else None

    def version(self, aligned: tuple[bool, ...] | None = None) -> Any:
        """The compiled kernel for pointers aligned as given, all if left out.

        Raises `KernelError` when Triton refuses it, and the error of a text that was given and cannot be used.
        """
        aligned = (True,) * self.pointers if aligned is None else aligned
        found = self._versions.get(aligned)
        if found is None:
            found = self._versions[aligned] = self._compiled(aligned)
        return found

    def _in_use(self, source: Source, suffix: str) -> tuple[Source, GivenText | None]:
        """The source to compile, and the text that was given for it."""
        given = self.texts.source(f"{self.func.symbol}{suffix}", source.text) if self.texts is not None else None
        if given is None:
            return source, None
        check_source(given, source.name, source.signature)
        return source._replace(text=given.text), given

    def _compiled(self, aligned: tuple[bool, ...]) -> Any:
        source, given = self.source, self.given
        suffix = self.suffix + ("" if all(aligned) else "." + "".join(str(int(each)) for each in aligned))
        if self.grouped and not all(aligned):  # of the addresses in the table; the table itself is torch's
            (source, given), aligned = self._in_use(triton_source(self.func, None, False), suffix), (True,)
        try:
            compiled = find_or_compile(source, self.arch, aligned + self.multiples, self.store)
        except Exception as error:
            if given is not None:
                raise refused_by(given, error) from error
            text = " ".join(str(error).split())
            raise KernelError(f"Triton refuses the kernel: {type(error).__name__}: {text[:400]}", self.func, self.source.text) from error
        return compiled if self.texts is None else self._assembled(compiled, self.texts, f"{self.func.symbol}{suffix}", source)

    def _assembled(self, compiled: Any, texts: KernelTexts, name: str, source: Source) -> Any:
        """A compiled kernel, or what was given instead of its PTX."""
        ptx = str(compiled.asm["ptx"])
        given = texts.ptx(name, ptx, source.text)
        if given is None:
            return compiled
        facts = replace(metadata_of(compiled), launch_pdl=int(ptx_waits_first(given.text)))
        code = assembled(given, facts.name, {"num_warps": facts.num_warps, "enable_fp_fusion": False}, self.arch)
        return KeptKernel(facts, MappingProxyType({"ptx": given.text.encode(), "cubin": code}))


class SizedKernel:
    """A kernel with sizes as parameters: a `Kernel` for each version that launches took.  `longer` is the one for rows that no tile takes whole."""

    grouped = False

    def __init__(self, func: Any, arch: int, store: CodeStore | None = None, texts: KernelTexts | None = None, longer: SizedKernel | None = None) -> None:
        self.func = func
        self.arch = arch
        self.store = store
        self.texts = texts
        self.longer = longer
        self.versions: dict[Fit, Kernel] = {}
        self.lock = Lock()
        self.first = self.for_sizes(hinted(func))
        self.source = self.first.source

    @property
    def is_compiled(self) -> bool:
        """Whether the version for the sizes of the captured call is there."""
        return self.first.is_compiled

    @property
    def title(self) -> str:
        """The name and the place of the kernel, for people."""
        return title_of(self.func)

    @property
    def loc(self) -> Location:
        """The place in the program that the kernel computes."""
        return self.func.loc  # type: ignore[no-any-return]

    def version(self) -> Any:
        """The compiled version for the sizes of the captured call.  Raises what `Kernel.version` does."""
        return self.first.version()

    def for_sizes(self, values: Sequence[int]) -> Kernel:
        """The version for values of the sizes s0, s1, ...; not compiled yet if it is new."""
        if self.longer is not None and is_longer(self.func, values):
            return self.longer.for_sizes(values)
        fit = fit_of(self.func, values)
        with self.lock:
            found = self.versions.get(fit)
            if found is None:
                func = with_blocks(self.func, dict(zip(self.func.axes.names, fit.blocks)))
                source, suffix = triton_source(func, None, True, fit.narrow, fit.limits), f".v{len(self.versions)}" if self.versions else ""
                found = self.versions[fit] = Kernel(func, source, self.arch, self.store, self.texts, fit.multiples, suffix)
        return found


class CompiledKernels:
    """The kernels of a graph by symbol; equal sources are one kernel."""

    on_gpu = True

    def __init__(self, kernels: Mapping[str, AnyKernel]) -> None:
        self.kernels = kernels

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self.kernels)

    @property
    def alone(self) -> frozenset[str]:
        """Those that take their addresses one by one, and not a table of them."""
        return frozenset([symbol for symbol, kernel in self.kernels.items() if not kernel.grouped])

    def launchers(self) -> dict[str, Callable[..., None]]:
        """For each symbol `launch(stream, *addresses)`, on the current device.  Raises `LectError` when its driver does not take a kernel."""
        from lect.backends.triton.launcher import make_launcher, make_sized_launcher

        made = {id(kernel): make_sized_launcher(kernel) if isinstance(kernel, SizedKernel) else make_launcher(kernel) for kernel in self.kernels.values()}
        return {symbol: made[id(kernel)] for symbol, kernel in self.kernels.items()}


def title_of(func: Any) -> str:
    """The name and the place of a kernel, for people."""
    return f"{func.symbol} of {func.loc}" if func.loc.known else str(func.symbol)


class KernelTable:
    """The kernels that this process has compiled, by what they compute: another graph that needs an equal one takes it.  The oldest are forgotten."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], AnyKernel] = {}
        self.lock = Lock()

    def kernel(self, func: Any, arch: int, store: CodeStore | None = None, longer: Any = None) -> AnyKernel:
        """The kernel of a function, which bears the name of the first function that computes the same; `longer` is the function for longer rows."""
        anonymous = triton_source(func, ENTRY)
        types = tuple(anonymous.signature.values())  # which the text does not say
        key: tuple[Any, ...] = (_without_comments(anonymous.text), types, func.programs, anonymous.warps, anonymous.stages, arch)
        key += (func.blocks, func.axes, triton_source(longer, ENTRY).text if longer is not None else "") if func.symbols else ()
        with self.lock:
            found = self.known.get(key)
            if found is None:
                found = self.known[key] = new_kernel(func, arch, store, None, longer, None if func.symbols else renamed(anonymous, str(func.symbol)))
                while len(self.known) > MOST_KERNELS:
                    self.known.pop(next(iter(self.known)))
        return found

    def forget(self, kernels: Sequence[AnyKernel]) -> None:
        """Do not give these to anybody else."""
        with self.lock:
            for key in [key for key, kernel in self.known.items() if kernel in kernels]:
                del self.known[key]


@cache
def kernel_table() -> KernelTable:
    """The table of this process."""
    return KernelTable()


def compile_kernels(funcs: Sequence[Operation], ctx: Context) -> CompiledKernels:
    """Machine code of all kernels of a graph.  Raises `LectError` for what has no GPU code, and where Triton is missing.

    The resource `code_store` of the context is a `CodeStore`, where machine code is looked for and kept.  With a resource `kernel_texts`, which is
    a `KernelTexts`, nothing is shared with other graphs.
    `ctx.resources["kernel_progress"]`, if there is one, is called with each kernel that has been compiled, and the seconds that it took.
    """
    reason = available()
    if reason is not None:
        raise LectError(reason, hint="pip install 'lect[gpu]'")
    table = kernel_table()
    kernels = find_kernels(funcs, ctx, table)
    new = [kernel for kernel in dict.fromkeys(kernels.values()) if not kernel.is_compiled]
    try:
        compile_all(new, ctx.resources.get("kernel_progress"))
    except Exception:
        table.forget(new)
        raise
    return CompiledKernels(kernels)


def find_kernels(funcs: Sequence[Operation], ctx: Context, table: KernelTable) -> dict[str, AnyKernel]:
    """The kernels of functions by symbol, out of the table unless somebody asks for their texts; not compiled yet if they are new.

    Functions for rows that are longer than another one's are part of that one's kernel.
    """
    arch, store, texts = int(ctx.target.get("arch", DEFAULT_ARCH)), ctx.resources.get("code_store"), ctx.resources.get("kernel_texts")
    named = {str(func.symbol): func for func in funcs}  # type: ignore[attr-defined]
    behind = {func.attrs["longer"] for func in funcs if func.attrs.get("longer") in named}
    found: dict[str, AnyKernel] = {}
    for name, func in named.items():
        if name not in behind:
            longer = named.get(func.attrs.get("longer", ""))
            found[name] = table.kernel(func, arch, store, longer) if texts is None else new_kernel(func, arch, None, texts, longer)
    return found


def new_kernel(func: Any, arch: int, store: CodeStore | None, texts: KernelTexts | None, longer: Any = None, source: Source | None = None) -> AnyKernel:
    """The kernel of a function, and of the one for longer rows that belongs to it; `source` is its text where that has been written already."""
    if not func.symbols:
        return Kernel(func, source or triton_source(func), arch, store, texts)
    return SizedKernel(func, arch, store, texts, SizedKernel(longer, arch, store, texts) if longer is not None else None)


def compile_all(kernels: Sequence[AnyKernel], progress: Progress | None = None) -> None:
    """Compile kernels side by side: most of the time is spent in MLIR, LLVM and ptxas, where the interpreter's lock is free.

    Raises the `KernelError` of the first that Triton refuses.
    """

    def one(kernel: AnyKernel) -> tuple[AnyKernel, float]:
        start = time.perf_counter()
        kernel.version()
        return kernel, time.perf_counter() - start

    for kernel, seconds in compile_pool().each(one, kernels):
        if progress is not None:
            progress(kernel, seconds)


def _without_comments(text: str) -> str:
    return "\n".join([line for line in text.splitlines() if not line.lstrip().startswith("#")])
