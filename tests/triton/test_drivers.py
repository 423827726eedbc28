"""A driver that does not take a kernel, and none at all: the graph runs through torch, and an event says why, before anything has run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from unittest import mock

import pytest
import torch

import lect
from lect.backends.triton import driver, launcher
from lect.backends.triton.compile import compile_kernels
from tests.triton.interpreter import on_gpu_in_name_only

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


def add_and_write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y.add_(1)
    return x * 2 + y


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    lect.reset()
    yield
    lect.reset()


def run_with(**replaced: Any) -> Any:
    """The one note of a program that a driver of these functions is asked to run; its results are eager's, and its writes happen once."""
    x, y, z = torch.arange(300.0), torch.ones(300), torch.ones(300)
    expected = add_and_write(x, y)
    with on_gpu_in_name_only(compile_kernels), mock.patch.multiple(launcher, **replaced):
        assert torch.equal(lect.compile(add_and_write)(x, z), expected)
    assert torch.equal(z, y)
    (note,) = lect.events("note")
    assert not lect.events("fallback")
    assert note.stage == "emit"
    return note


def test_a_kernel_that_the_driver_does_not_take() -> None:
    def refuse(binary: bytes, name: str, shared: int) -> int:
        assert binary[1:4] == b"ELF"
        raise driver.DriverError("CUDA error: no kernel image is available for execution on the device (loading a kernel)")

    note = run_with(has_context=lambda: True, launch_address=lambda dependent: 1, load_function=refuse)
    assert note.number == "LB0024"
    assert "the driver does not take the kernel: CUDA error: no kernel image is available" in str(note)
    assert "test_drivers.py" in note.location


def test_no_driver() -> None:
    def missing() -> Any:
        raise OSError("libcuda.so.1: cannot open shared object file")

    note = run_with(has_context=missing)
    assert "libcuda.so.1: cannot open shared object file" in str(note)


def test_short_memory_while_loading_is_left_to_the_launch() -> None:
    asked: list[str] = []

    def short(binary: bytes, name: str, shared: int) -> int:
        asked.append(name)
        raise torch.OutOfMemoryError("CUDA error: out of memory (loading a kernel)")

    x = torch.ones(300)
    with on_gpu_in_name_only(compile_kernels), mock.patch.multiple(launcher, has_context=lambda: True, launch_address=lambda dependent: 1, load_function=short):
        assert torch.equal(lect.compile(lambda x: x * 2 + 1)(x), x * 2 + 1)
    assert len(asked) == 2  # when it was compiled, and when it was to run
    (event,) = lect.events("note", "fallback")
    assert event.stage == "run"
    assert "out of memory (loading a kernel)" in str(event)


def test_what_a_driver_reports_of_a_launch_names_the_kernel_and_the_line_of_the_program() -> None:
    def fail(what: str, status: int) -> None:
        assert status == 700
        raise driver.DriverError(f"CUDA error: an illegal memory access was encountered ({what})")

    replaced = {"has_context": lambda: True, "load": lambda *given: None, "check": fail}
    x = torch.ones(300)
    with on_gpu_in_name_only(compile_kernels), mock.patch.multiple(launcher, **replaced), mock.patch.object(launcher, "trampoline", lambda room: lambda *given: 700):
        assert torch.equal(lect.compile(lambda x: x * 2 + 1)(x), x * 2 + 1)
    (event,) = lect.events("note", "fallback")
    assert event.stage == "run"
    assert re.search(r"illegal memory access was encountered \(starting the kernel n\d of .*test_drivers.py:\d+", str(event))
