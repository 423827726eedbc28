"""Machine code for a GPU that was kept: Triton is not asked again, and what is handed to the driver is the same."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch

import lect
from lect.backends.triton import compile as compile_module
from lect.backends.triton.compile import CompiledKernels, KeptKernel, KernelTable, compile_kernels
from lect.backends.triton.source import ENTRY, renamed, triton_source
from lect.runtime import entry
from lect.runtime.graph_cache import GraphCache
from lect.runtime.store import Store
from tests.triton.interpreter import on_gpu_in_name_only

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


class Codes(dict):
    """A store of code in memory."""

    find = dict.get
    keep = dict.__setitem__


def add_and_scale(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x + y) * 2


def kernels_of(store: Any, monkeypatch: Any) -> CompiledKernels:
    """What a compile in a process that knows nothing gives."""
    found: list[CompiledKernels] = []

    def compile_only(funcs: Any, ctx: Any) -> CompiledKernels:
        ctx.resources["code_store"] = store
        found.append(compile_kernels(funcs, ctx))
        return type("Nowhere", (CompiledKernels,), {"launchers": lambda self: dict.fromkeys(self.kernels, lambda *given: None)})(found[-1].kernels)

    monkeypatch.setattr(compile_module, "kernel_table", lambda: table)
    table = KernelTable()
    lect.reset()
    with on_gpu_in_name_only(compile_only):
        lect.compile(add_and_scale, fullgraph=True)(torch.ones(300), torch.ones(300))
    return found[-1]


def refuse(*given: Any) -> Any:
    raise AssertionError("Triton was asked")


def test_kept_code_is_what_triton_made(monkeypatch: Any) -> None:
    store = Codes()
    (first,) = kernels_of(store, monkeypatch).kernels.values()
    assert len(store) == 1
    monkeypatch.setattr(compile_module, "compile_source", refuse)
    (second,) = kernels_of(store, monkeypatch).kernels.values()
    made, kept = first.version(), second.version()
    assert kept.asm["cubin"] == made.asm["cubin"]
    for name in ("name", "num_warps", "shared"):
        assert getattr(kept.metadata, name) == getattr(made.metadata, name)


def test_a_source_under_another_name_is_what_is_written_under_it(monkeypatch: Any) -> None:
    (kernel,) = kernels_of(Codes(), monkeypatch).kernels.values()
    source = triton_source(kernel.func, ENTRY)
    assert renamed(source, "n7") == triton_source(kernel.func, "n7") == renamed(triton_source(kernel.func, "n12"), "n7")
    assert kernel.source == triton_source(kernel.func)
    variable = next(iter(source.signature))
    assert renamed(source, variable) is None and variable not in triton_source(kernel.func, variable).signature


def test_other_alignments_are_kept_apart(monkeypatch: Any) -> None:
    store = Codes()
    (kernel,) = kernels_of(store, monkeypatch).kernels.values()
    kernel.version((False,) * kernel.pointers)
    assert len(store) == 2


@pytest.mark.parametrize("kept", [b"", b"no json\ncode", b'{"name": "k"}\ncode', b'[1]\ncode'])
def test_what_is_no_kept_code_is_made_again(kept: bytes, monkeypatch: Any) -> None:
    assert KeptKernel.unpack(kept) is None
    store = Codes()
    (first,) = kernels_of(store, monkeypatch).kernels.values()
    (key,) = store
    store[key] = kept
    (second,) = kernels_of(store, monkeypatch).kernels.values()
    assert second.version().asm["cubin"] == first.version().asm["cubin"]
    assert KeptKernel.unpack(store[key]) is not None


def test_a_graph_for_a_gpu_comes_from_the_cache(tmp_path: Any, monkeypatch: Any) -> None:
    """The kernels are in its text, and their code is in the store; another machine that has taken over the store as one file finds both."""
    here, there = Store(tmp_path / "here", report=print), Store(tmp_path / "there", report=print)
    stores = []

    def compile_only(funcs: Any, ctx: Any) -> CompiledKernels:
        stores.append(ctx.resources["code_store"])
        made = compile_kernels(funcs, ctx)
        return type("Nowhere", (CompiledKernels,), {"launchers": lambda self: dict.fromkeys(self.kernels, lambda *given: None)})(made.kernels)

    for life, store in enumerate((here, here, there)):
        if store is there:
            assert here.export(tmp_path / "warm.zip") == there.load(tmp_path / "warm.zip") >= 2
        monkeypatch.setattr(entry.RUNTIME, "graphs", GraphCache(store, entry.RUNTIME.log))
        table = KernelTable()
        monkeypatch.setattr(compile_module, "kernel_table", lambda table=table: table)
        lect.reset()
        with on_gpu_in_name_only(compile_only):
            lect.compile(add_and_scale, fullgraph=True)(torch.ones(300), torch.ones(300))
        assert [event.found for event in lect.events("cache")] == [life > 0], [str(event) for event in lect.events()]
        monkeypatch.setattr(compile_module, "compile_source", refuse)
    assert len(stores) == 3 and None not in stores
