"""Machine code for a GPU that was kept: Triton is not asked again, and what is handed to the driver is the same."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from unittest import mock

import pytest
import torch

import lect
from lect.backends.triton import compile as compile_module
from lect.backends.triton import launcher
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


@contextmanager
def driver_in_name_only() -> Iterator[list[bytes]]:
    """A driver that notes the machine code which it is given, and whose kernels do nothing."""
    loaded: list[bytes] = []
    nothing = ctypes.cast(ctypes.CDLL(None).ffs, ctypes.c_void_p).value  # of a handle whose low half is zero

    def load(binary: bytes, name: str, shared: int) -> int:
        loaded.append(binary)
        return 1 << 40

    with mock.patch.multiple(launcher, has_context=lambda: True, launch_address=lambda dependent: nothing, load_function=load):
        yield loaded


def begin(store: Store, monkeypatch: Any) -> None:
    """A process that knows nothing but a store."""
    monkeypatch.setattr(entry.RUNTIME, "graphs", GraphCache(store, entry.RUNTIME.log))
    table = KernelTable()
    monkeypatch.setattr(compile_module, "kernel_table", lambda: table)
    lect.reset()


def trained(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * w, 1).sum()


def step(program: Any, x: torch.Tensor) -> None:
    program(x, torch.ones(32, requires_grad=True)).backward()


def test_a_graph_for_a_gpu_comes_from_the_cache(tmp_path: Any, monkeypatch: Any) -> None:
    """Forward and backward start without Triton, a pass, or the text of a kernel, in another process and on another machine that took over the store."""
    here, there = Store(tmp_path / "here", report=print), Store(tmp_path / "there", report=print)
    codes = []
    for life, store in enumerate((here, here, there)):
        if store is there:
            assert here.export(tmp_path / "warm.zip") == there.load(tmp_path / "warm.zip") >= 4
        begin(store, monkeypatch)
        with on_gpu_in_name_only(compile_kernels if life == 0 else refuse), driver_in_name_only() as loaded:
            step(lect.compile(trained, fullgraph=True), torch.ones(8, 32))
        assert [event.found for event in lect.events("cache")] == [life > 0] * 2, [str(event) for event in lect.events()]
        assert not lect.events("note", "fallback", "backward fallback", "cache problem")
        codes.append(loaded)
        monkeypatch.setattr(compile_module, "compile_source", refuse)
        monkeypatch.setattr(compile_module, "triton_source", refuse)
    assert codes[0] == codes[1] == codes[2] and len(codes[0]) > 1


def test_memory_that_lies_otherwise_gets_code_of_its_own_behind_the_cache(tmp_path: Any, monkeypatch: Any) -> None:
    store, memory = Store(tmp_path, report=print), torch.ones(301)
    for life in range(2):
        begin(store, monkeypatch)
        with on_gpu_in_name_only(), driver_in_name_only() as loaded:
            with mock.patch("lect.backends.triton.compile_kernels", compile_kernels if life == 0 else refuse):
                compiled = lect.compile(add_and_scale, fullgraph=True)
                compiled(memory[:300], memory[:300])
                assert len(loaded) == 1
                compiled(memory[1:], memory[:300])
        assert len(loaded) == 2 and loaded[0] != loaded[1]
        assert len(lect.events("compile")) == 1 and not lect.events("note", "fallback")
    assert {each.level: each for each in store.entries("kernel")} and len(list(store.entries("kernel"))) == 2


def test_a_graph_without_the_code_of_a_kernel_is_made_again(tmp_path: Any, monkeypatch: Any) -> None:
    store = Store(tmp_path, report=print)
    for life, found in enumerate((False, False, True)):
        begin(store, monkeypatch)
        with on_gpu_in_name_only(compile_kernels), driver_in_name_only() as loaded:
            lect.compile(add_and_scale, fullgraph=True)(torch.ones(300), torch.ones(300))
        assert [event.found for event in lect.events("cache")] == [found] and len(loaded) == 1
        (code,) = store.entries("kernel")
        if life == 0:
            store.remove("kernel", code.digest)
