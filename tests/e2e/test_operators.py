"""Operators of torch's registry called from Python: those of ATen, and those that a library registers."""

import types

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions


@torch.library.custom_op("lect_tests::scale_add", mutates_args=())
def scale_add(x: torch.Tensor, y: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * factor) + y


@scale_add.register_fake
def _(x, y, factor):
    return torch.empty_like(x)


@torch.library.custom_op("lect_tests::without_fake", mutates_args=())
def without_fake(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("lect_tests::bump", mutates_args={"x"})
def bump(x: torch.Tensor) -> None:
    x.numpy()[...] += 1


@torch.library.custom_op("lect_tests::two", mutates_args=())
def two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x + 1, x.sum()


@two.register_fake
def _(x):
    return torch.empty_like(x), x.new_empty(())


@torch.library.custom_op("lect_tests::many", mutates_args=())
def many(xs: list[torch.Tensor], times: int = 2) -> list[torch.Tensor]:
    return [x * times for x in xs]


@many.register_fake
def _(xs, times=2):
    return [torch.empty_like(x) for x in xs]


def decorated(x, y):
    return scale_add(x.relu(), y, 2.0) * 3


def by_name(x, y):
    return torch.ops.lect_tests.scale_add(x + 1, y, 2.0) * 3


def overload_by_keyword(x, y):
    return torch.ops.lect_tests.scale_add.default(x + 1, y, factor=2.0) * 3


def of_aten(x, y):
    return torch.ops.aten.add.Tensor(x, y, alpha=2) + torch.ops.aten.sigmoid(x)


def of_aten_in_place(x, y):
    z = x * 2
    torch.ops.aten.add_.Tensor(z, y)
    return z


def tuple_of_results(x, y):
    a, b = two(x)
    return a * b + y


def list_of_results(x, y):
    return torch.ops.lect_tests.many([x, y + 1])[1] * 2


PROGRAMS = [decorated, by_name, overload_by_keyword, of_aten, of_aten_in_place, tuple_of_results, list_of_results]
HOLDER = types.SimpleNamespace(operator=torch.ops.aten.sin)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize("level", ["fx", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_operator_is_part_of_the_graph(program, level):
    compiled = lect.compile(program, options={"level": level})
    with torch.no_grad():
        for _ in range(2):
            x, y = torch.randn(3, 4), torch.randn(3, 4)
            same(program(x, y), compiled(x, y))
    assert stops() == []
    assert versions() == 1


def test_operator_that_writes_is_seen_by_what_follows():
    def program(x, y):
        z = x + 1
        torch.ops.lect_tests.bump(z)
        return z * y

    compiled = lect.compile(program, options={"level": "fx"})
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    before = x.clone()
    same(program(x, y), compiled(x, y))
    same(before, x)
    assert stops() == []


def test_operator_that_cannot_run_without_elements_runs_eagerly():
    x = torch.randn(3)
    same(without_fake(x + 1), lect.compile(lambda x: torch.ops.lect_tests.without_fake(x + 1))(x))
    assert stops() == ["LB0003"]


def test_another_operator_is_another_version():
    def program(x):
        return HOLDER.operator(x) * 2

    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.randn(3)
    for operator in (torch.ops.aten.sin, torch.ops.aten.cos, torch.ops.aten.sin.default):
        HOLDER.operator = operator
        same(program(x), compiled(x))
    assert versions() == 3
    assert stops() == []


def test_name_that_no_library_has_registered_raises():
    def program(x):
        try:
            return torch.ops.lect_tests.absent(x)
        except AttributeError:
            return x + 1

    x = torch.randn(3)
    same(x + 1, lect.compile(program, options={"level": "fx"})(x))


def test_marks_for_the_profiler_are_left_out():
    def program(x):
        with torch.profiler.record_function("outer"):
            y = x + 1
            with torch.autograd.profiler.record_function("inner"):
                return y * 2

    x = torch.randn(3)
    same(program(x), lect.compile(program, options={"level": "fx"})(x))
    assert stops() == []
