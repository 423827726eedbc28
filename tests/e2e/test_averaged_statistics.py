"""Batch normalisations without a momentum average all batches alike: 1 / count is a number of run time, and one version serves all steps."""

import copy

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops, versions


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def state_of(model):
    return [(name, value.clone(), value._version) for name, value in model.state_dict().items()]


def two_of(model):
    """Copies, whose tensors were written to equally often."""
    return copy.deepcopy(model), copy.deepcopy(model)


LAYERS = {
    "rows": (lambda: nn.Sequential(nn.BatchNorm1d(4, momentum=None), nn.ReLU(), nn.BatchNorm1d(4, momentum=None)), (6, 4)),
    "images": (lambda: nn.Sequential(nn.BatchNorm2d(3, momentum=None), nn.Conv2d(3, 3, 2), nn.BatchNorm2d(3, momentum=None, affine=False)), (4, 3, 5, 5)),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_steps_of_one_version(layer):
    make, shape = LAYERS[layer]
    eager, model = two_of(make())
    compiled = lect.compile(model)
    for number in range(6):
        x = torch.randn(shape) * 3 + 1
        if number == 4:
            x.view(-1)[3] = float("inf")
        given = [x.clone().requires_grad_() for _ in range(2)]
        results = [call(each) for call, each in zip((eager, compiled), given)]
        for result in results:
            result.square().sum().backward()
        same(results[0].detach(), results[1].detach(), scaled=True)
        same(given[0].grad, given[1].grad, scaled=True)
        same(state_of(eager), state_of(model))
    assert (stops(), versions()) == ([], 1)


def test_two_calls_before_one_backward():
    make, shape = LAYERS["rows"]
    eager, model = two_of(make().double())  # these gradients are small differences of large numbers
    compiled = lect.compile(model)
    for _ in range(3):
        pair = torch.randn(2, *shape, dtype=torch.float64)
        for call, each in ((eager, eager), (compiled, model)):
            each.zero_grad()
            (call(pair[0]).sum() * call(pair[1]).square().sum()).backward()
        same([each.grad for each in eager.parameters()], [each.grad for each in model.parameters()], scaled=True)
        same(state_of(eager), state_of(model))


def test_statistics_are_made_again_for_averaged_weights():
    """`update_bn` resets the statistics and lets the model see all batches, in eager and compiled."""
    eager, model = two_of(torch.optim.swa_utils.AveragedModel(nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU())))
    batches = [torch.randn(6, 5) for _ in range(10)]
    torch.optim.swa_utils.update_bn(batches, eager)
    torch.optim.swa_utils.update_bn(batches, lect.compile(model))
    same(state_of(eager), state_of(model))
    assert (stops(), versions()) == ([], 1)


def test_no_gradient_no_node():
    """Optimizers ask gradients for their node before they set them to zero."""

    def program(gradient, parameter):
        if gradient.grad_fn is not None:
            gradient.detach_()
        return gradient.zero_(), (parameter * 2).detach().grad_fn

    given = torch.ones(3), torch.ones(3, requires_grad=True)
    result, node = lect.compile(program)(*given)
    assert result is given[0] and node is None and given[0].tolist() == [0.0] * 3
    assert stops() == []
