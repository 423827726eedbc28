"""All kernels of one graph as one LLVM module: text, object code, addresses.

    code = compile_kernels(funcs, ctx)
    code.entry("n0")    -> the address of void n0(ptr args, i64 lo, i64 hi)

`args` points to the addresses of the kernel's memory in order.  An entry runs the programs lo to hi - 1 of its grid and may run at the same time
as any other call.  `ctx.target` may describe another CPU than this one by "cpu_features", a feature string of LLVM; text is then made for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lect.backends.llvm.caches import cache_sizes
from lect.backends.llvm.emit import FunctionEmitter
from lect.backends.llvm.jit import compile_object, host_target, load_object
from lect.backends.llvm.masked import Masked, masked_functions
from lect.backends.llvm.vecmath import CpuFeatures, functions
from lect.dialects.kernel.ops import FuncOp
from lect.ir import Context, Operation

OPT_LEVEL = 2
PRELUDE = "@lect.zero = private constant i64 0, align 8\n"


class CompiledKernels:
    """Native code of several kernels; addresses are valid as long as this object is alive."""

    def __init__(self, funcs: Sequence[FuncOp], object_code: bytes) -> None:
        self.object_code = object_code
        self._grids = {str(func.symbol): func.programs for func in funcs}
        self._code = load_object(object_code)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self._grids)

    def entry(self, symbol: str) -> int:
        """The address of a kernel's entry point.  Raises KeyError for an unknown name."""
        if symbol not in self._grids:
            raise KeyError(symbol)
        return self._code.address(symbol)

    def grid(self, symbol: str) -> int:
        """Number of programs of a kernel."""
        return self._grids[symbol]


def features_of(ctx: Context) -> str:
    """The feature string that text is made for: the context's target, else this machine's."""
    return str(ctx.target.get("cpu_features") or host_target().features)


def cpu_target() -> dict[str, object]:
    """This machine as `ctx.target` describes one: how wide its vector registers are, in bytes, how many there are, whether it multiplies and adds in one
    operation, and how large its caches are."""
    features = host_target().features
    enabled = {item[1:] for item in features.split(",") if item.startswith("+")}
    wide = "avx512f" in enabled
    arm = host_target().triple.startswith(("aarch64", "arm64"))
    return {
        "vector_bytes": 64 if wide else 32 if "avx" in enabled else 16,
        "registers": 32 if wide or arm else 16,
        "fma": int("fma" in enabled or arm),
        **cache_sizes(),
    }


def print_llvm(func: Operation, ctx: Context) -> str:
    """The LLVM module of one kernel, as text."""
    return module_text([func], ctx)


def module_text(funcs: Sequence[Operation], ctx: Context) -> str:
    """The LLVM module of several kernels.  Raises `LectError` for what has no CPU code."""
    mathematics: set[tuple[str, str, int]] = set()
    masked: set[Masked] = set()
    parts = []
    for func in funcs:
        assert isinstance(func, FuncOp)
        emitter = FunctionEmitter(func, str(func.symbol))
        parts.append(emitter.text())
        mathematics |= emitter.writer.mathematics
        masked |= emitter.writer.masked_functions
    features = features_of(ctx)
    vectors = 512 if CpuFeatures.parse(features).vector_ldexp else 256
    attributes = f'attributes #0 = {{ nounwind "prefer-vector-width"="{vectors}" }}\n'
    return "\n".join([PRELUDE, *parts, attributes, masked_functions(masked), library_text(mathematics, features)])


def library_text(mathematics: set[tuple[str, str, int]], features: str) -> str:
    """The mathematics functions that are called, each width apart, with every declaration once."""
    parsed = CpuFeatures.parse(features)
    declarations: dict[str, None] = {}
    definitions = []
    for width in sorted({lanes for _, _, lanes in mathematics}):
        names = {(operation, element) for operation, element, lanes in mathematics if lanes == width}
        for line in functions(names, {width}, parsed).split("\n"):
            if line.startswith("declare "):
                declarations[line] = None
            else:
                definitions.append(line)
    return "\n".join([*declarations, *definitions]) + "\n"


def compile_kernels(funcs: Sequence[Operation], ctx: Context) -> CompiledKernels:
    """Native code for this machine of all kernels of a graph, as one object.  Raises `LectError` for what has no CPU code."""
    kernels = [func for func in funcs if isinstance(func, FuncOp)]
    return CompiledKernels(kernels, compile_object(module_text(kernels, ctx), OPT_LEVEL, vectorise=False))
