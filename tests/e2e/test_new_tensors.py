"""`x.new_tensor(data)`: a tensor of Python numbers with the dtype and device of another."""

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same

PROGRAMS = {
    "of a float": lambda x: x + x.new_tensor(3.5),
    "of a list": lambda x: x * x.new_tensor([1.0, 2.5, -0.0]),
    "of lists": lambda x: x + x.new_tensor([[1, 2, 3], [4, 5, 6]]),
    "of a size": lambda x: x + x.new_tensor(x.shape[0]),
    "of another dtype": lambda x: (x + 1, x.new_tensor([x.shape[0], 2], dtype=torch.int64)),
    "of a bool": lambda x: x + x.new_tensor(True),
    "of nothing": lambda x: (x + 1, x.new_tensor([])),
    "of None for a dtype": lambda x: x + x.new_tensor(1, dtype=None, device=None),
    "of a tensor": lambda x: x + x.new_tensor(x[0]),
    "with a gradient": lambda x: x + x.new_tensor([1.0, 2.0, 3.0], requires_grad=False),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_one_graph(name, dtype):
    fn = PROGRAMS[name]
    compiled = lect.compile(fn)
    for seed in (1, 2):
        x = (torch.randn(3, generator=torch.Generator().manual_seed(seed)) * 4).to(dtype)
        same(fn(x), compiled(x))
    assert fallbacks() == []
    assert lect.events("graph break") == []


def test_a_number_of_run_time():
    def scaled(x, factor):
        return x * x.new_tensor(factor)

    compiled = lect.compile(scaled)
    x = torch.randn(3)
    for factor in (2.0, 3.0, 4.5, float("inf"), -0.0):
        same(scaled(x, factor), compiled(x, factor), exact=True)


@pytest.mark.parametrize("data", ["text", [1, [2]], object()], ids=["text", "ragged", "object"])
def test_what_torch_refuses(data):
    def refused(x):
        return x.new_tensor(data)

    with pytest.raises(Exception) as wanted:
        refused(torch.ones(2))
    with pytest.raises(type(wanted.value)) as found:
        lect.compile(refused)(torch.ones(2))
    assert str(found.value) == str(wanted.value)


def test_tensors_without_elements():
    """Made of numbers alone, each of which ends before it begins."""

    def program():
        return torch.arange(1.1, 1.1, 1.0, dtype=torch.float64), torch.arange(3, 3), torch.full((0, 2), 3.0), torch.linspace(0, 1, 0), torch.eye(0)

    for got, want in zip(lect.compile(program)(), program()):
        assert (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
    assert not lect.events("note", "fallback")
