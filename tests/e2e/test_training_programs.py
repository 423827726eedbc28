"""Code around models is one graph, with eager's values, state and gradients."""

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops
from tests.e2e.training_programs import PROGRAMS


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def copied(value):
    """The value with tensors of its own, detached."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return copied(vars(value)) if hasattr(value, "__dict__") else value


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_in(item)]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return tensors_in(vars(value)) if hasattr(value, "__dict__") else []


def run(make, compiled):
    torch.manual_seed(5)
    program, given, state = make()
    called = lect.compile(program, fullgraph=True, options={"rng": "eager", "level": "functional"}) if compiled else program
    torch.manual_seed(6)
    found = []
    for number in range(3):
        args = [each.clone().requires_grad_(number == 2) if each.is_floating_point() else each for each in given]
        returned = called(*args)
        tensors = tensors_in(returned)
        found.append((copied(returned), copied(state()) if state is not None else None, [tensor.requires_grad for tensor in tensors]))
    followed = [tensor for tensor in tensors if tensor.requires_grad]
    if followed:
        sum((tensor * torch.arange(1.0, tensor.numel() + 1).reshape(tensor.shape)).sum() for tensor in followed).backward()
    cells = [cell.cell_contents for cell in program.__closure__ or ()]
    parameters = [parameter.grad for cell in cells if isinstance(cell, nn.Module) for parameter in cell.parameters()]
    return found, [each.grad for each in args], parameters


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_program_is_one_graph(make):
    same(run(make, False), run(make, True))
    assert stops() == []
