"""Machines without what kernels for a GPU need: each reason is told, and nothing is asked of a GPU that is not there."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lect.backends.triton import compile as compile_module
from lect.ir import LectError
from lect.runtime.machines import gpu_of


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an H200, a driver and Triton."""
    facts = SimpleNamespace(name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, shared_memory_per_block_optin=232448, L2_cache_size=1 << 25)
    monkeypatch.setattr(compile_module, "find_spec", lambda name: SimpleNamespace(name=name))
    monkeypatch.setattr(compile_module, "triton_version", lambda: "3.6.0")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: facts)


def test_a_gpu_at_hand() -> None:
    found = gpu_of("cuda:0")
    assert (found["kind"], found["arch"], found["processors"], found["shared_bytes"]) == ("cuda", 90, 132, 232448)


def older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(name="V100", major=7, minor=0))


REASONS: list[tuple[str, Any, str]] = [
    ("no Triton", lambda patch: patch.setattr(compile_module, "find_spec", lambda name: None), "the package triton is not installed"),
    ("old Triton", lambda patch: patch.setattr(compile_module, "triton_version", lambda: "3.5.1"), "Triton 3.5.1 is installed, and 3.6 is the oldest"),
    ("torch without CUDA", lambda patch: patch.setattr(torch.version, "cuda", None), "this torch has no CUDA device"),
    ("no driver or device", lambda patch: patch.setattr(torch.cuda, "is_available", lambda: False), "this torch has no CUDA device"),
    ("old GPU", older, "its compute capability is 7.0, and 8.0 is the least"),
]


@pytest.mark.parametrize(("lack", "reason"), [pytest.param(*rest, id=name) for name, *rest in REASONS])
def test_what_is_missing_is_told(lack: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch)
    with pytest.raises(LectError, match=reason):
        gpu_of("cuda:0")


@pytest.mark.parametrize(("installed", "found"), [("triton", "3.6.0"), ("pytorch-triton", "3.6.0"), ("nothing", "none")])
def test_triton_has_its_version_from_the_package_that_brings_it(installed: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version_of(name: str) -> str:
        if name != installed:
            raise PackageNotFoundError(name)
        return "3.6.0"

    monkeypatch.undo()
    monkeypatch.setattr(compile_module, "version_of", version_of)
    assert compile_module.triton_version.__wrapped__() == found
