"""All kernels of one graph as one LLVM module: text, object code, addresses.

    code = compile_kernels(funcs, ctx)
    code.entry("n0")    -> the address of void n0(ptr args, i64 lo, i64 hi)

`args` points to the addresses of the kernel's memory in order.  An entry runs the programs lo to hi - 1 of its grid and may run at the same time
as any other call.  `ctx.target` may describe another CPU than this one by "cpu_features", a feature string of LLVM; text is then made for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lect.backends.llvm.emit import FunctionEmitter
from lect.backends.llvm.jit import host_target
from lect.backends.llvm.loaded import CompiledKernels, stored_object
from lect.backends.llvm.masked import Masked, masked_functions
from lect.backends.llvm.vecmath import CpuFeatures, functions
from lect.dialects.kernel.ops import FuncOp
from lect.ir import Context, Operation

OPT_LEVEL = 2
HEAP = "declare ptr @malloc(i64)\ndeclare void @free(ptr)\n"
PRELUDE = "@lect.zero = private constant i64 0, align 8\n"


def features_of(ctx: Context) -> str:
    """The feature string that text is made for: the context's target, else this machine's."""
    return str(ctx.target.get("cpu_features") or host_target().features)


def print_llvm(func: Operation, ctx: Context) -> str:
    """The LLVM module of one kernel, as text."""
    return module_text([func], ctx)


def module_text(funcs: Sequence[Operation], ctx: Context) -> str:
    """The LLVM module of several kernels.  Raises `LectError` for what has no CPU code."""
    mathematics: set[tuple[str, str, int]] = set()
    masked: set[Masked] = set()
    parts: list[str] = []
    heap = False
    for func in funcs:
        assert isinstance(func, FuncOp)
        emitter = FunctionEmitter(func, str(func.symbol))
        emitter.writer.mask_bytes = mask_bytes(features_of(ctx))
        parts.append(emitter.text())
        mathematics |= emitter.writer.mathematics
        masked |= emitter.writer.masked_functions
        heap = heap or bool(emitter.heap)
    features = features_of(ctx)
    vectors = 512 if CpuFeatures.parse(features).vector_ldexp else 256
    attributes = f'attributes #0 = {{ nounwind "prefer-vector-width"="{vectors}" }}\n'
    return "\n".join([PRELUDE, *([HEAP] if heap else []), *parts, attributes, masked_functions(masked), library_text(mathematics, features)])


def shown_text(funcs: Sequence[Operation], ctx: Context) -> str:
    """The same, for somebody who shows it before the kernels are compiled with this context, which is then done of this text."""
    text = module_text(funcs, ctx)
    ctx.resources["llvm_text"] = (funcs, text)
    return text


def mask_bytes(features: str) -> frozenset[int]:
    """The sizes of elements for which a processor has loads and stores under masks."""
    enabled = {item[1:] for item in features.split(",") if item.startswith("+")}
    if {"avx512bw", "avx512vl"} <= enabled:
        return frozenset({1, 2, 4, 8})
    return frozenset({4, 8}) if "avx2" in enabled else frozenset()


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
    """Native code for this machine of all kernels of a graph, as one object.  Raises `LectError` for what has no CPU code.

    The resource `code_store` of the context is a `CodeStore`, where code is looked for and kept.  `llvm_text` is what `shown_text` made just before.
    """
    kernels = [func for func in funcs if isinstance(func, FuncOp)]
    shown, text = ctx.resources.pop("llvm_text", ((), ""))
    if list(shown) != kernels:
        text = module_text(kernels, ctx)
    code = stored_object(text, OPT_LEVEL, ctx.resources.get("code_store"))
    return CompiledKernels({str(func.symbol): func.programs for func in kernels}, code)
