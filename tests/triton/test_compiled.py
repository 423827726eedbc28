"""Every kernel of the zoo, compiled for an H200 without one, and facts about the machine code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any
from unittest import mock

import pytest
import torch

import lect
from lect.backends.triton import compile as compile_module
from lect.backends.triton.compile import CompiledKernels, SizedKernel, compile_kernels
from lect.backends.triton.edited import ptx_waits_first
from tests.triton.interpreter import on_gpu_in_name_only
from tests.triton.zoo import ZOO, maker

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
QUICK = frozenset("broadcast_add transpose_add softmax_rows column_sums".split())

LONG_ARGUMENTS = frozenset("trigonometry doubles_mathematics random_numbers gamma_functions bessel_functions airy_function polynomials".split())  # sine and cosine of great numbers keep digits of pi in an array


class Nowhere(CompiledKernels):
    """Machine code that is not started."""

    def launchers(self) -> dict[str, Callable[..., None]]:
        return dict.fromkeys(self.kernels, lambda *arguments: None)


def machine_code(run: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> list[Any]:
    """Triton's compiled kernels of a function for these inputs, each once."""
    found: list[CompiledKernels] = []

    def compile_only(funcs: Sequence[Any], ctx: Any) -> CompiledKernels:
        found.append(compile_kernels(funcs, ctx))
        return Nowhere(found[-1].kernels)

    lect.reset()
    with on_gpu_in_name_only(compile_only):
        lect.compile(run, fullgraph=True)(*inputs)
    assert not [event for event in lect.events("note", "fallback") if event.stage != "run"]  # nothing was computed, so a check of values may fail
    return [kernel.version() for kernels in found for kernel in dict.fromkeys(kernels.kernels.values())]


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else (pytest.mark.slow,)) for name in ZOO])
def test_program(name: str) -> None:
    for compiled in machine_code(ZOO[name].run, ZOO[name].make(maker())):
        assert compiled.asm["cubin"]
        if name not in LONG_ARGUMENTS:
            assert ".local" not in compiled.asm["ptx"], "a kernel spills or has arrays in local memory"


def test_small_kernels_behind_others_wait_for_them_before_they_touch_memory() -> None:
    def steps(x: torch.Tensor) -> torch.Tensor:
        x = torch.softmax(x - x.sum(0), 1)
        return torch.softmax(x - x.amax(0), 1)

    early = {}
    for compiled in machine_code(steps, [torch.randn(64, 64)]):
        ptx = compiled.asm["ptx"]
        early[compiled.metadata.name] = bool(compiled.metadata.launch_pdl)
        assert ptx_waits_first(ptx) is early[compiled.metadata.name]
        assert ptx.count("griddepcontrol.launch_dependents") == 1
    assert sorted(early.values()) == [False, True, True], early  # nothing is in front of the first


def widths(compiled: Any) -> set[int]:
    """Bytes of the loads and stores of global memory."""
    found = re.findall(r"(?:ld|st)\.global[\w.:]*?(?:\.v(\d))?\.b(\d+)", compiled.asm["ptx"])
    return {int(count or 1) * int(bits) // 8 for count, bits in found}


def test_streaming_kernel_moves_16_bytes_at_a_time() -> None:
    x, b = torch.randn(256, 8192, dtype=torch.bfloat16), torch.randn(8192, dtype=torch.bfloat16)
    (compiled,) = machine_code(lambda x, b: torch.nn.functional.gelu(x + b, approximate="tanh") * 1.5, [x, b])
    assert widths(compiled) == {16}
    assert compiled.metadata.num_warps == 4


def test_softmax_of_long_rows_is_one_kernel_that_reads_once() -> None:
    (compiled,) = machine_code(lambda x: torch.softmax(x.float(), -1).to(x.dtype), [torch.randn(16, 8192, dtype=torch.bfloat16)])
    assert widths(compiled) == {16}
    assert compiled.metadata.num_warps == 16
    assert "bar.sync" in compiled.asm["ptx"]


def test_transposition_reads_and_writes_16_bytes_along_both_dims() -> None:
    (compiled,) = machine_code(lambda x, y: (x.t() + y).contiguous(), [torch.randn(512, 512), torch.randn(512, 512)])
    assert widths(compiled) == {16}
    assert compiled.metadata.shared > 0


def test_operations_are_not_contracted() -> None:
    (compiled,) = machine_code(lambda x, y: x * y + x, [torch.randn(4096), torch.randn(4096)])
    assert "fma" not in compiled.asm["ptx"]


def test_product_with_what_stands_behind_it_is_one_kernel_of_tile_instructions() -> None:
    x, w, b = torch.randn(4096, 128, dtype=torch.bfloat16), torch.randn(128, 256, dtype=torch.bfloat16), torch.randn(256, dtype=torch.bfloat16)
    (compiled,) = machine_code(lambda x, w, b: torch.relu(torch.addmm(b, x, w)) ** 2, [x, w, b])
    assert "wgmma.mma_async" in compiled.asm["ptx"]
    assert "cp.async" in compiled.asm["ptx"]  # steps are read ahead
    assert compiled.metadata.num_stages == 3


def test_small_product_of_floats_is_one_kernel_that_keeps_their_digits() -> None:
    (compiled,) = machine_code(lambda x, w: torch.tanh(x @ w) + x, [torch.randn(64, 64)] * 2)
    assert "fma.rn.f32" in compiled.asm["ptx"]
    assert "mma.sync" not in compiled.asm["ptx"]


def test_product_of_few_rows_has_a_program_for_most_processors() -> None:
    x, w, b = torch.randn(64, 768, dtype=torch.bfloat16), torch.randn(3072, 768, dtype=torch.bfloat16), torch.randn(3072, dtype=torch.bfloat16)
    (compiled,) = machine_code(lambda x, w, b: torch.relu(torch.nn.functional.linear(x, w, b)), [x, w, b])
    assert "wgmma.mma_async" in compiled.asm["ptx"]
    assert compiled.metadata.num_stages == 6


def test_columns_are_read_ahead_by_16_bytes_at_a_time() -> None:
    first, second = machine_code(lambda x: (x * x).sum(0), [torch.randn(32768, 128)])
    assert re.search(r"cp\.async\S* \[[^]]*\], \[[^]]*\], 0x10", first.asm["ptx"])
    assert "cp.async" not in second.asm["ptx"]
    assert first.metadata.num_stages == 3


def test_product_reads_fewer_steps_ahead_where_shared_memory_is_short() -> None:
    x, w = torch.randn(4096, 256, dtype=torch.bfloat16), torch.randn(256, 256, dtype=torch.bfloat16)
    with mock.patch.object(compile_module, "SHARED", {90: 70000}):
        (compiled,) = machine_code(lambda x, w: torch.relu(x @ w), [x, w])
    assert compiled.metadata.shared <= 70000
    assert compiled.metadata.num_stages < 3


def test_equal_kernels_are_compiled_once() -> None:
    found = machine_code(lambda x, y, z: ((x @ y).relu() @ z).relu(), [torch.randn(64, 64) for _ in range(3)])
    assert len(found) == 1


def test_kernels_whose_texts_are_equal_but_not_their_types_are_two() -> None:
    found = machine_code(lambda x, y: (x.flip(0), y.flip(0)), [torch.randn(64, 64), torch.zeros(64, 64, dtype=torch.int16)])
    assert len(found) == 2
    assert widths(found[0]) != widths(found[1])


def test_a_refused_kernel_has_a_file() -> None:
    plain = compile_module.compile_source

    def refuse_products(source: Any, arch: int, aligned: Sequence[bool]) -> Any:
        if " * 3.0" in source.text:
            raise RuntimeError("injected")
        return plain(source, arch, aligned)

    def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 3, x.sum(0)

    with on_gpu_in_name_only(lambda funcs, ctx: Nowhere(compile_kernels(funcs, ctx).kernels)), mock.patch.object(compile_module, "compile_source", refuse_products):
        lect.reset()
        found = lect.compile(run)(torch.ones(8, 8))
    assert torch.equal(found[0], torch.full((8, 8), 3.0))  # by torch
    (note,) = lect.events("note")
    assert (note.number, note.stage) == ("LB0020", "emit")
    assert "injected" in note.detail
    assert note.file.endswith(".mlir")


def versions(run: Callable[..., Any], *calls: Sequence[torch.Tensor]) -> list[SizedKernel]:
    """The kernels of a function that is compiled with sizes as arguments, and called for the second and later inputs too."""
    found: list[CompiledKernels] = []

    def compile_only(funcs: Sequence[Any], ctx: Any) -> CompiledKernels:
        found.append(compile_kernels(funcs, ctx))
        return Nowhere(found[-1].kernels)

    lect.reset()
    with on_gpu_in_name_only(compile_only):
        made = lect.compile(run, fullgraph=True, dynamic=True)
        for inputs in calls:
            made(*inputs)
    assert len(lect.events("compile")) == 1
    assert not [event for event in lect.events("note", "fallback", "static sizes") if event.stage != "run"]
    return [kernel for kernels in found for kernel in kernels.kernels.values() if isinstance(kernel, SizedKernel)]


def test_sizes_that_are_multiples_of_8_are_read_16_bytes_at_a_time() -> None:
    (kernel,) = versions(lambda x: x.softmax(-1), [torch.randn(96, 1024)])
    assert widths(kernel.version()) == widths(kernel.for_sizes((95, 1000)).version()) == {16}
    assert widths(kernel.for_sizes((96, 1001)).version()) == {4}


def test_a_version_is_for_all_sizes_that_are_alike() -> None:
    (kernel,) = versions(lambda x: x.softmax(-1), [torch.randn(96, 1000)])
    assert kernel.for_sizes((64, 1016)) is kernel.first
    assert "mask=" in kernel.first.source.text
    assert "mask=" not in kernel.for_sizes((64, 1024)).source.text  # the row fills the block
    assert kernel.for_sizes((64, 512 + 16)) is kernel.for_sizes((100, 640))
    assert "(at_r < 640)" in kernel.for_sizes((64, 640)).source.text  # what is behind five eighths of the block is not computed
    assert kernel.for_sizes((64, 512)).func.blocks.size("R") == 512
    assert kernel.for_sizes((64, 1 << 20)).func.blocks.size("R") == 4096  # walked, not taken whole
    assert kernel.for_sizes((64, 1 << 20)).programs is kernel.func.programs


def test_offsets_beyond_i32_have_a_version_of_their_own() -> None:
    (kernel,) = versions(lambda x: x * 2, [torch.randn(96, 64)])
    assert list(kernel.first.source.signature.values())[-1] == "i32"
    wide = kernel.for_sizes((1 << 20, 1 << 13))
    assert list(wide.source.signature.values())[-1] == "i64"
    assert "to(tl.int64)" in wide.source.text
    assert wide.version().asm["cubin"]


def test_a_norm_in_front_of_a_product_with_something_behind_it_is_a_kernel_of_its_own() -> None:
    def run(x: torch.Tensor, scale: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(torch.nn.functional.linear(torch.nn.functional.layer_norm(x, (128,), scale), w, b))

    x, scale, w, b = [torch.randn(*shape, dtype=torch.bfloat16) for shape in ((64, 128), (128,), (512, 128), (512,))]
    norm, product = machine_code(run, [x, scale, w, b])
    assert "mma" not in norm.asm["ptx"]
    assert "mma.sync" in product.asm["ptx"]
