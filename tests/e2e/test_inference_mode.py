"""Blocks of inference mode in compiled functions."""

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import check, fallbacks, same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


NET = nn.Linear(4, 4)


def agree(program, *args, exact=False):
    compiled = lect.compile(program)
    for _ in range(2):
        want, got = program(*args), compiled(*args)
        same(want, got, exact)
        assert [tensor.is_inference() for tensor in want] == [tensor.is_inference() for tensor in got]
        assert not torch.is_inference_mode_enabled()


def test_outputs_of_a_block():
    def program(x):
        with torch.inference_mode():
            y = NET(x).relu()
        return y, x * 2

    agree(program, torch.randn(3, 4))
    assert stops() == []


def test_block_whose_results_stay_inside_is_native_code():
    def program(x):
        with torch.inference_mode():
            scale = NET(x).abs().sum(-1, keepdim=True)
        return (x * scale,)

    agree(program, torch.randn(3, 4))
    assert (stops(), lect.events("note")) == ([], [])


def test_blocks_inside_of_each_other():
    def program(x):
        with torch.inference_mode():
            first = x + 1
            with torch.inference_mode(False):
                second = x * 2
            third = first * 3
        return first, second, third, torch.tensor(torch.is_inference_mode_enabled())

    agree(program, torch.randn(3))
    assert stops() == []


def test_decorated_function():
    @torch.inference_mode()
    def features(x):
        return NET(x)

    def program(x):
        return (features(x),)

    agree(program, torch.randn(3, 4))
    assert stops() == []


def test_break_inside_of_a_block():
    def program(x):
        with torch.inference_mode():
            y = NET(x)
            scale = float(y.abs().max())
            z = y * scale
        return y, z, x + scale

    agree(program, torch.randn(3, 4))
    assert stops() != []


def test_exception_inside_of_a_block():
    def program(x, i):
        with torch.inference_mode():
            return x.index_select(0, i)

    compiled = lect.compile(program)
    for _ in range(2):
        with pytest.raises(IndexError):
            compiled(torch.randn(3), torch.tensor([7]))
        assert not torch.is_inference_mode_enabled()


def test_exception_that_the_program_handles():
    def program(x):
        try:
            with torch.inference_mode():
                y = x * 2
                raise ValueError
        except ValueError:
            return (y, x + 1)

    agree(program, torch.randn(3))


def test_around_the_call():
    def program(x):
        return NET(x)

    compiled = lect.compile(program)
    x = torch.randn(3, 4)
    with torch.no_grad():
        check(program, x, compiled=compiled)
    with torch.inference_mode():
        check(program, x, compiled=compiled)
        assert compiled(x).is_inference()
    assert fallbacks() == []


def test_a_tensor_of_the_block_that_lives_across_a_cut_of_a_training_step(capsys):
    def program(x):
        with torch.inference_mode():
            y = NET(x)
        print("cut")
        return y + 1, x * 3

    x = torch.randn(3, 4, requires_grad=True)
    compiled = lect.compile(program)
    for _ in range(2):
        (want, slope), (got, found) = program(x), compiled(x)
        same(want, got)
        same(torch.autograd.grad(slope.sum(), x), torch.autograd.grad(found.sum(), x))
    assert fallbacks() == []


def test_a_tensor_of_the_block_that_the_backward_would_need():
    def program(x):
        with torch.inference_mode():
            y = x * 2
        print("cut")
        return x * y

    compiled = lect.compile(program)
    for function in (program, compiled, compiled):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            function(torch.ones(2, requires_grad=True))
