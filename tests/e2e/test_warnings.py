"""`warnings.warn` in a compiled function: no cut, and each call warns as eager does, for the same line."""

import warnings

import pytest
import torch

import lect
from tests.e2e.support import stops, versions


def helper(x):
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    return x + 1


def for_its_line(x):
    y = x * 2
    warnings.warn(f"shape {x.shape[0]}", category=RuntimeWarning)  # noqa: B028
    return y + 1


def for_callers_in_the_frame(x):
    y = helper(x)
    return y + helper(
        y,
    )


def for_the_caller(x):
    warnings.warn("above", stacklevel=2)
    return x + 1


def handled(x):
    try:
        warnings.warn("an error")  # noqa: B028
    except UserWarning:
        return x - 1
    return x + 1


def outcomes(program, mode):
    """What three calls give or raise, and the warnings that are shown."""
    globals().pop("__warningregistry__", None)
    given = []
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter(mode)
        for _ in range(3):
            try:
                given.append(program(torch.ones(2)).tolist())
            except Warning as error:
                given.append(repr(error))
    return given, [(str(each.message), each.category, each.filename, each.lineno) for each in shown]


@pytest.mark.parametrize("mode", ["always", "default", "error"])
@pytest.mark.parametrize("program", [for_its_line, for_callers_in_the_frame, for_the_caller, handled], ids=lambda program: program.__name__)
def test_warnings_are_those_of_eager(program, mode):
    lect.reset()
    assert outcomes(program, mode) == outcomes(lect.compile(program, options={"level": "fx"}), mode)
    assert mode == "error" or (versions() == 1 and not stops())


def test_a_filter_that_makes_errors_comes_later():
    compiled = lect.compile(for_its_line, options={"level": "fx"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(torch.ones(2))
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="shape 2"):
            compiled(torch.ones(2))
