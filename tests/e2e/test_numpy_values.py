"""numpy's numbers and functions among plain values; arrays run eagerly."""

import types
import warnings

import numpy as np
import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions

SETTINGS = types.SimpleNamespace()


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    vars(SETTINGS).update(scale=np.float32(1.5), count=np.int64(2), zero=np.float64(0.0), nothing=np.float64("nan"), sizes=[2, 3, 4], flag=np.bool_(True))
    yield
    lect.reset()


def functions(x):
    return x * np.sqrt(16) + np.log(x.shape[0]) + np.prod(SETTINGS.sizes)


def operands(x):
    return x * SETTINGS.scale + SETTINGS.count


def from_the_left(x):
    return np.float64(2.0) * x, x / np.float32(3), SETTINGS.scale * 2


def indices(x):
    return x[: SETTINGS.count] + SETTINGS.sizes[SETTINGS.count]


def branches(x):
    return x + 1 if SETTINGS.flag and SETTINGS.scale > 1 else x - 1


def conversions(x):
    return x * float(SETTINGS.scale) + int(SETTINGS.count) + SETTINGS.scale.item() + round(SETTINGS.scale) + max(SETTINGS.count, 3)


def special_values(x):
    return x.abs() * SETTINGS.zero + 0.0, x + SETTINGS.nothing, 1 / (x.abs() * SETTINGS.zero)


def in_place(x):
    y = x + 1
    y *= np.sqrt(SETTINGS.count)
    return y


CHANGES = {
    functions: ("sizes", [2, 3]),
    operands: ("scale", np.float32(2.5)),
    from_the_left: ("scale", np.float64(1.5)),
    indices: ("count", np.int64(1)),
    branches: ("flag", np.bool_(False)),
    conversions: ("count", np.int32(2)),
    special_values: ("zero", np.float64(-0.0)),
    in_place: ("count", 3),
}


@pytest.mark.parametrize("program", CHANGES, ids=lambda program: program.__name__)
def test_numbers_are_constants_that_are_guarded(program):
    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.randn(5, 3)
    for _ in range(2):
        same(program(x), compiled(x))
    setattr(SETTINGS, *CHANGES[program])
    for _ in range(2):
        same(program(x), compiled(x))
    assert stops() == []
    assert versions() == 2


def dtype_of_a_number(x):
    return torch.tensor(np.float64(2.0)) + x


def warning(x):
    return x + np.log(0)


def arrays(x):
    return x + torch.from_numpy(np.ones(3, dtype=np.float32)) * np.arange(3).sum()


@pytest.mark.parametrize(("program", "reason"), [(dtype_of_a_number, "LB0006"), (warning, "LB0013"), (arrays, "LB0003")])
def test_what_is_more_than_a_number_runs_eagerly(program, reason):
    x = torch.randn(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(program(x), lect.compile(program, options={"level": "fx"})(x))
    assert stops()[0] == reason
