"""An operator of a program that is defined anew in the same process: the new one is called, nothing holds the freed one."""

import pytest
import torch

from lect.dialects.fx.python_values import resolve


def define(factor):
    @torch.library.custom_op("lect_anew_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * factor

    return scaled


@pytest.mark.parametrize("name", ["torch.ops.lect_anew_test.scaled", "torch.ops.lect_anew_test.scaled.default"])
def test_a_name_means_the_operator_that_is_registered_now(name):
    define(2)
    before = resolve(name)
    define(3)
    assert resolve(name) is not before
    assert torch.equal(resolve(name)(torch.ones(2)), torch.full((2,), 3.0))
