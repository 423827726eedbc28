"""Starting kernels with sizes as arguments, with a function in the place of CUDA's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lect.backends.triton.launcher import make_sized_launcher
from lect.ir import UNKNOWN
from lect.ir.symbolic import symbol
from tests.unit.triton.test_launcher import Compiled, Driver, loading


class Version:
    """Stands for a version of a kernel, for sizes of one kind."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.programs = symbol(0) * symbol(1)
        self.asked: list[Any] = []

    def version(self, aligned: tuple[bool, ...] | None = None) -> Compiled:
        self.asked.append(aligned)
        return Compiled(aligned or (True, True))


class Sized:
    """Stands for a kernel of two pointers and two sizes, whose versions are for even and for odd first sizes."""

    def __init__(self) -> None:
        facts = {"s0": {"hint": 4}, "s1": {"hint": 6}}
        self.func = SimpleNamespace(pointers=[1, 2], symbols=facts)
        self.title, self.loc = "n0", UNKNOWN
        self.versions = [Version(0), Version(1)]
        self.asked: list[tuple[int, ...]] = []

    def for_sizes(self, values: tuple[int, ...]) -> Version:
        self.asked.append(tuple(values))
        return self.versions[values[0] % 2]


def test_sizes_stand_behind_the_addresses_and_choose_the_version_and_the_grid() -> None:
    driver, kernel = Driver(6), Sized()
    with loading(driver):
        launch = make_sized_launcher(kernel)  # type: ignore[arg-type]
        for values in ((16, 32, 4, 6), (16, 32, 6, 10), (16, 32, 3, 5), (16, 32, 4, 6), (16, 40, 4, 6), (16, 40, 8, 6)):
            launch(3, *values)
    assert [start[0] for start in driver.starts] == [1, 1, 2, 1, 3, 3]
    assert [start[1][0] for start in driver.starts] == [24, 60, 15, 24, 24, 48]
    assert [start[3][:4] for start in driver.starts][:3] == [(16, 32, 4, 6), (16, 32, 6, 10), (16, 32, 3, 5)]
    assert kernel.versions[0].asked == [None, (True, False)]
    assert kernel.versions[1].asked == [None]


def test_what_was_found_out_for_sizes_is_kept() -> None:
    driver, kernel = Driver(6), Sized()
    with loading(driver):
        launch = make_sized_launcher(kernel)  # type: ignore[arg-type]
        for _ in range(3):
            launch(3, 16, 32, 5, 7)
    assert kernel.asked == [(4, 6), (5, 7)]


def test_odd_sizes_are_no_addresses_that_are_not_aligned() -> None:
    driver, kernel = Driver(6), Sized()
    with loading(driver):
        make_sized_launcher(kernel)(3, 16, 32, 7, 9)  # type: ignore[arg-type]
    assert kernel.versions[1].asked == [None]
