"""Python numbers that eager refuses: the compiled function raises the same, at the same point in the order of effects."""

import pytest
import torch

import lect

DIFFERENCES = {
    "x - True": lambda x: x - True,
    "True - x": lambda x: True - x,
    "torch.sub": lambda x: torch.sub(x, True),
    "torch.sub with alpha": lambda x: torch.sub(x, True, alpha=2),
    "torch.rsub": lambda x: torch.rsub(x, True),
    "in place": lambda x: x.clone().sub_(True),
    "alpha of add": lambda x: torch.add(x, x, alpha=True),
    "alpha of a number": lambda x: torch.add(x, 1, alpha=True),
    "alpha of sub": lambda x: torch.sub(x, x, alpha=True),
    "alpha in place": lambda x: x.clone().add_(x, alpha=True),
}
POWERS = {
    "x ** -1": lambda x: x**-1,
    "torch.pow": lambda x: torch.pow(x, -2),
    "in place": lambda x: x.clone().pow_(-1),
}


def outcome(function, x):
    """Type and message of what `function` raises, and what the write in front of it left in the counter."""
    counter = torch.zeros(2)

    def with_effects(x, counter):
        counter.add_(1)
        result = function(x)
        counter.add_(1)
        return result

    with pytest.raises(Exception) as caught:  # noqa: PT011 - the type is compared
        (lect.compile(with_effects) if x[1] else with_effects)(x[0], counter)
    return type(caught.value), str(caught.value), counter.tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32], ids=str)
@pytest.mark.parametrize("name", DIFFERENCES)
def test_bools_in_sums(name, dtype):
    lect.reset()
    x = torch.ones(3, dtype=dtype)
    found = outcome(DIFFERENCES[name], (x, True))
    assert found == outcome(DIFFERENCES[name], (x, False))
    assert found[2] == [1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64], ids=str)
@pytest.mark.parametrize("name", POWERS)
def test_integers_to_negative_powers(name, dtype):
    lect.reset()
    x = torch.tensor([1, 2, 0]).to(dtype)
    found = outcome(POWERS[name], (x, True))
    assert found == outcome(POWERS[name], (x, False))
    assert found[2] == [1.0, 1.0]
