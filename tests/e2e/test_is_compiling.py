"""What a program is told that asks whether it is compiled: yes, but never so that it raises where uncompiled it does not."""

import pytest
import torch

import lect
from tests.e2e.support import same, stops


def shapes(x):
    if torch.compiler.is_compiling():
        return x + torch.ones(7)
    return x * 2


def refuses(x):
    if torch.compiler.is_compiling():
        raise ValueError("not compiled, please")
    return x * 2


def catches(x):
    try:
        return refuses(x)
    except ValueError:
        return x * 3


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize("program", [shapes, refuses])
def test_way_of_compiled_programs_that_raises_is_left(program):
    compiled = lect.compile(program, options={"level": "fx"})
    for _ in range(2):
        x = torch.randn(3)
        same(program(x), compiled(x))
    assert stops() == []


def test_way_of_compiled_programs_is_taken():
    x = torch.randn(3)
    same(x * 3, lect.compile(catches, options={"level": "fx"})(x))
    assert stops() == []


def test_what_raises_both_ways_raises():
    def program(x):
        return x + torch.ones(7 if torch.compiler.is_compiling() else 8)

    with pytest.raises(RuntimeError, match=r"tensor b \(8\)"):
        lect.compile(program, options={"level": "fx"})(torch.randn(3))


@pytest.mark.parametrize("grad", [True, False])
def test_encoders_zero_the_padding_as_in_eager(grad):
    """Told that it is compiled, torch's encoder leaves numbers where in evaluation it otherwise puts zeros."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.set_grad_enabled(grad):
        expected = encoder(x, src_key_padding_mask=padding)
        found = lect.compile(encoder)(x, src_key_padding_mask=padding)
    torch.testing.assert_close(found, expected)
    assert (expected[1, 3:] == 0).all().item() is not grad
