"""The way from Python to a kernel's start, with a function in the place of CUDA's."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from lect.backends.triton import launcher, tables
from lect.backends.triton.launcher import make_launcher
from lect.backends.triton.named import KernelFacts, NamedKernel
from lect.backends.triton.tables import HEAD, LastLaunch
from lect.backends.triton.trampoline import DEPENDENT, NOT_ALIGNED, NOT_LOADED, LaunchInfo, dependent_launch, trampoline
from lect.ir import UNKNOWN

PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint32] * 7, ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64)), ctypes.c_void_p
)


class Driver:
    """Notes each start: handle, grid and block, shared memory, stream, and the parameters; gives `status`."""

    def __init__(self, slots: int, status: int = 0) -> None:
        self.starts: list[tuple[Any, ...]] = []
        self.status = status

        def start(*given: Any) -> int:
            function, *shape = given[:8]
            self.starts.append((function, tuple(shape), given[8], tuple([given[9][slot][0] for slot in range(slots)]), given[10]))
            return self.status

        self.callback = PROTOTYPE(start)
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value or 0


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_parameters_arrive_in_order(count: int) -> None:
    driver = Driver(count + 2)
    info = LaunchInfo(function=77, mask=15, launch=driver.address, grid=1 << 31, threads=256, shared=70_000)
    pointers = [(1 << 45) + 16 * number for number in range(count)]
    assert trampoline(count)(ctypes.addressof(info), 5, *pointers) == 0
    assert driver.starts == [(77, (1 << 31, 1, 1, 256, 1, 1, 70_000), 5 or None, (*pointers, 0, 0), None)]


def test_what_cannot_be_started_is_not() -> None:
    driver = Driver(4)
    info = LaunchInfo(function=0, mask=15, launch=driver.address)
    assert trampoline(2)(ctypes.addressof(info), 0, 16, 32) == NOT_LOADED
    info.function = 1
    assert trampoline(2)(ctypes.addressof(info), 0, 16, 40) == NOT_ALIGNED
    assert driver.starts == []
    info.mask = 0
    assert trampoline(2)(ctypes.addressof(info), 0, 16, 40) == 0


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("shape", ctypes.c_uint32 * 6), ("shared", ctypes.c_uint32), ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(ctypes.c_uint32 * 18)),
        ("count", ctypes.c_uint32),
    ]  # fmt: skip


def test_a_dependent_kernel_is_started_with_the_attribute_that_says_so() -> None:
    started: list[tuple[Any, ...]] = []

    def start(config: Any, function: int, values: Any, extra: Any) -> int:
        given = config.contents
        attribute = list(given.attributes.contents)
        started.append((tuple(given.shape), given.shared, given.stream, given.count, attribute, function, [values[slot][0] for slot in range(4)], extra))
        return 719

    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(Config), ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64)), ctypes.c_void_p
    )
    callback = prototype(start)
    code = dependent_launch(ctypes.cast(callback, ctypes.c_void_p).value or 0)
    info = LaunchInfo(function=77, mask=15, launch=code.address(DEPENDENT), grid=1 << 31, threads=256, shared=70_000)
    assert trampoline(2)(ctypes.addressof(info), 5, 16, 32) == 719
    attribute = [6, 0, 1, *[0] * 15]  # its number, and that it is so
    assert started == [((1 << 31, 1, 1, 256, 1, 1), 70_000, 5, 1, attribute, 77, [16, 32, 0, 0], None)]


@contextmanager
def loading(driver: Driver) -> Iterator[None]:
    """What is loaded are numbers from 1 on, in the order in which they are asked for, and `driver` starts them."""
    numbers = itertools.count(1)

    with mock.patch.multiple(launcher, has_context=lambda: True, launch_address=lambda dependent: driver.address, load_function=lambda *given: next(numbers)):
        yield


class Compiled:
    """Stands for a kernel of Triton."""

    def __init__(self, aligned: tuple[bool, ...]) -> None:
        self.metadata = SimpleNamespace(name=str(aligned), shared=0, num_warps=4)
        self.asm = {"cubin": b""}


class Kernel:
    """Stands for a kernel: notes which versions were asked for."""

    pointers, programs, grouped = 2, 9, False
    title, loc = "n0", UNKNOWN

    def __init__(self) -> None:
        self.versions: list[tuple[bool, ...]] = []

    def version(self, aligned: tuple[bool, ...] = (True, True)) -> Compiled:
        self.versions.append(aligned)
        return Compiled(aligned)


def test_a_version_for_each_alignment_is_loaded_once() -> None:
    driver, kernel = Driver(4), Kernel()
    with loading(driver):
        launch = make_launcher(kernel)  # type: ignore[arg-type]
        for pointers in ((16, 32), (16, 40), (16, 32), (16, 48), (16, 40), (8, 40)):
            launch(3, *pointers)
    assert kernel.versions == [(True, True), (True, False), (False, False)]
    assert [start[0] for start in driver.starts] == [1, 2, 1, 1, 2, 3]
    assert [start[3][:2] for start in driver.starts] == [(16, 32), (16, 40), (16, 32), (16, 48), (16, 40), (8, 40)]
    assert {start[1] for start in driver.starts} == {(9, 1, 1, 128, 1, 1, 0)}


def test_an_error_of_the_driver_is_raised() -> None:
    driver = Driver(4, status=700)

    def check(what: str, status: int) -> None:
        if status:
            raise RuntimeError(f"{what}: {status}")

    with mock.patch.multiple(launcher, has_context=lambda: True, launch_address=lambda dependent: driver.address, load_function=lambda *given: 1, check=check):
        with pytest.raises(RuntimeError, match="starting the kernel n0: 700"):
            make_launcher(Kernel())(0, 16, 16)  # type: ignore[arg-type]


def test_a_group_of_a_warm_start_has_a_table_of_its_addresses() -> None:
    """Of the kernel itself only facts are there, which say how many addresses the table has."""
    kernel = NamedKernel("n0", KernelFacts("code", 1, 9, 6, "", 0), Compiled((True,)), dict)  # type: ignore[arg-type]
    driver = Driver(4)
    with loading(driver):
        launch = make_launcher(kernel)
    assert kernel.grouped
    assert len((ctypes.c_uint64 * (HEAD + kernel.addresses)).from_address(launch.last)) == HEAD + 6  # type: ignore[attr-defined]
    last = LastLaunch(6, 16)
    with mock.patch.object(tables, "capturing_address", lambda: 0):
        last.write(3, (16, 32, 48, 64, 80, 96), 128)
    assert list(last.words[HEAD:]) == [16, 32, 48, 64, 80, 96]
