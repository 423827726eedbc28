"""Kernels for processors that are not at hand: LLVM compiles the text to their assembly."""

import pytest

from lect.backends.llvm import cpu_target
from lect.backends.llvm.jit import Target, emit_assembly
from lect.backends.llvm.kernels import module_text
from lect.dialects import make_context
from lect.passes.manager import PassManager
from tests.unit.kernel.nests import nest_text, parsed
from tests.unit.kernel.test_reductions import argument, reduction, softmax

TRANSPOSED = """
    %0 = loop.load(%x) MAP(d1 * 96 + d0) : f32
    loop.store(%0) MAP(d0 * 80 + d1)"""
KERNELS = {
    "softmax": softmax(64, 1000),
    "softmax of bf16": softmax(64, 1000, "bf16"),
    "softmax of f16": softmax(64, 1000, "f16"),
    "columns": reduction([1000, 1000], [0], "sum"),
    "position": argument([64, 1000], 1, "max"),
    "transposed": nest_text([96, 80], [("x", "80x96xf32")], [("z", "96x80xf32")], TRANSPOSED),
}
TARGETS = {
    "x86-64": (Target("x86_64-unknown-linux-gnu", "x86-64", ""), 16, "%xmm"),
    "AVX2": (Target("x86_64-unknown-linux-gnu", "x86-64-v3", ""), 32, "%ymm"),
    "AVX-512": (Target("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f"), 64, "%zmm"),
    "aarch64": (Target("aarch64-unknown-linux-gnu", "neoverse-n1", ""), 16, "v0."),
}


@pytest.mark.parametrize("machine", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_assembly(kernel, machine):
    target, width, register = TARGETS[machine]
    ctx = make_context(target={"vector_bytes": width, "cpu_features": target.features})
    module = parsed(KERNELS[kernel], ctx)
    PassManager.parse("kernel").run(module, ctx)
    text = module_text([op for op in module.body if op.name == "kernel.func"], ctx)
    assert register in emit_assembly(text, target, opt_level=2)


def test_this_machine_has_vectors():
    assert cpu_target()["vector_bytes"] in (16, 32, 64)
