"""`x.data`: memory without gradients that counts its writes by itself; written, assigned and returned as in eager."""

import pytest
import torch
from torch import nn
from torch.autograd import Variable
from torch.utils.checkpoint import checkpoint

import lect
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def breaks() -> list[str]:
    return [event.number for event in lect.events("graph break")]


def read(x):
    return x.data * 2


def returned(x):
    return x.data


def added(x):
    x.data.add_(1)
    return x * 1


def subtracted(x):
    x.data -= 0.5
    return x + 1


def items(x):
    x.data[0] = 5
    x.data[:, 1] *= 2
    return x.sum()


def written_and_returned(x):
    shown = x.data
    shown.mul_(2)
    shown.add_(1)
    return shown


def of_a_result(x):
    y = x * 2
    y.data.add_(1)
    return y + x, y.data


def of_data(x):
    return x.data.data.detach().data * 2


def behind_a_write(x):
    shown = x.data
    with torch.no_grad():
        x.mul_(2)
    return shown, shown + x


def a_view_leaves(x):
    flat = x.data.view(-1)
    flat.add_(1)
    return flat, x * 2


def a_view_of_a_result_leaves(x):
    y = x * 2
    return y, y.data[0]


def variable(x):
    return Variable(x.data), Variable(x) * 2


def own_leaf(x):
    leaf = Variable(x.data, requires_grad=True)
    return torch.autograd.grad((leaf * leaf).sum(), leaf)[0]


ALIASES = [read, returned, added, subtracted, items, written_and_returned, of_a_result, of_data, behind_a_write, a_view_leaves, a_view_of_a_result_leaves]


def observed(run, x, leaf):
    """Results, the argument behind the call, all counts of writes, which results are views, and which tensors see a write to another."""
    result = run(x)
    tensors = [x, *[each for each in (result if isinstance(result, tuple) else (result,)) if each.is_leaf and not each.requires_grad]]
    counts = [each._version for each in tensors]
    kinds = [(each._is_view(), each._base is not None, each.requires_grad, each.is_leaf) for each in tensors]
    values = [each.detach().clone() for each in tensors]
    shared = []
    for each in tensors:
        with torch.no_grad():
            each.add_(1)
        shared.append(([other._version for other in tensors], [other.detach().clone() for other in tensors]))
    return result, values, counts, kinds, shared


@pytest.mark.parametrize("leaf", [False, True], ids=["plain", "leaf"])
@pytest.mark.parametrize("program", [*ALIASES, variable], ids=lambda program: program.__name__)
def test_aliases_memory_and_counts_are_eagers(program, leaf):
    compiled = lect.compile(program)
    for call in range(3):
        x = torch.randn(3, 4)
        x.view(-1)[call] = (float("nan"), -0.0, float("inf"))[call]
        given = [x.clone().requires_grad_(leaf) for _ in range(2)]
        same(observed(program, given[0], leaf), observed(compiled, given[1], leaf))
    assert fallbacks() == [] and breaks() == []
    assert len(lect.events("compile")) == 1


def test_a_variable_made_to_require_gradients_is_a_leaf():
    x = torch.randn(4)
    same(own_leaf(x), lect.compile(own_leaf)(x))
    assert breaks() == []


def test_what_is_written_by_way_of_data_is_what_the_backward_reads():
    def program(x, y):
        z = x * y
        y.data.mul_(3)
        return z * z

    for run in (program, lect.compile(program)):
        x, y = torch.tensor([2.0, 5.0], requires_grad=True), torch.tensor([3.0, 1.0], requires_grad=True)
        run(x, y).sum().backward()
        # dz = 2 z with z from before the write; dx = dz * y with y from behind it
        assert x.grad.tolist() == [2 * 6 * 9, 2 * 5 * 3] and y.grad.tolist() == [2 * 6 * 2, 2 * 5 * 5]
    assert breaks() == []


def test_an_assignment_gives_the_tensor_other_memory():
    def program(x, y):
        x.data = y * 2
        return y + 1

    for run in (program, lect.compile(program)):
        x, y = torch.zeros(3), torch.ones(3)
        before = x.data
        run(x, y)
        assert x.tolist() == [2, 2, 2] and before.tolist() == [0, 0, 0] and x._version == 0
    assert breaks() == []


@pytest.mark.parametrize("other", [torch.ones(3), torch.ones(2, 2), torch.ones(3, dtype=torch.float64)], ids=["same", "shape", "dtype"])
def test_two_tensors_share_memory_behind_an_assignment(other):
    def program(x, y):
        x.data = y
        x.data.add_(1)
        return y * 2

    seen = []
    for run in (program, lect.compile(program)):
        x, y = torch.zeros(3), other.clone()
        result = run(x, y)
        y.add_(5)
        seen.append((result, x, y, x._version, y._version, x.shape, x.dtype))
    same(*seen)
    assert breaks() == []


def test_a_tensor_whose_data_was_replaced_is_read_behind_a_cut():
    def program(x, y):
        x.data = y * 2
        return x + x.sum(), x.shape

    compiled = lect.compile(program)
    for _ in range(3):
        x, y = torch.randn(3), torch.randn(2, 2)
        same(program(x.clone(), y), compiled(x.clone(), y))
    assert breaks() == ["LB0016"]


def test_data_of_what_is_no_tensor_raises_as_in_eager():
    def program(x):
        x.data = 3
        return x + 1

    with pytest.raises(TypeError) as eager:
        program(torch.ones(2))
    with pytest.raises(TypeError) as raised:
        lect.compile(program)(torch.ones(2))
    assert str(raised.value) == str(eager.value)


def old_step(model, x, target):
    """A step of training as programs wrote it before `torch.no_grad`."""
    loss = (model(Variable(x)) - target).pow(2).mean()
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.data.zero_()
    loss.backward()
    for parameter in model.parameters():
        parameter.grad.data.clamp_(-0.5, 0.5)
        parameter.data -= 0.1 * parameter.grad.data
    return loss.data


def assigning_step(model, x, target):
    loss = (model(x) - target).pow(2).mean()
    loss.backward()
    for parameter in model.parameters():
        parameter.data = parameter.data - 0.1 * parameter.grad.data
        parameter.grad = None
    return loss.data


@pytest.mark.parametrize("step", [old_step, assigning_step], ids=lambda step: step.__name__)
def test_old_training_steps_break_at_the_backward_alone(step):
    def trained(run):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        losses = [run(model, torch.randn(5, 4), torch.randn(5, 2)) for _ in range(6)]
        return losses, [parameter.detach().clone() for parameter in model.parameters()], [parameter._version for parameter in model.parameters()]

    torch.testing.assert_close(trained(step), trained(lect.compile(step)))
    assert set(breaks()) == {"LB0004"}
    assert len(lect.events("compile")) <= 4  # the first call has no gradients yet


def test_whether_an_input_is_a_view_is_asked_in_each_version():
    def program(x):
        return x * 2, x._is_view()

    compiled = lect.compile(program)
    for x in (torch.ones(3), torch.ones(2, 3)[0], torch.ones(3), torch.ones(6)[::2]):
        same(program(x), compiled(x))
    assert breaks() == [] and len(lect.events("recompile")) <= 2


def test_whether_an_input_is_a_leaf_is_asked_in_each_version():
    def program(x):
        return x * (2 if x.is_leaf else 3)

    compiled = lect.compile(program)
    for make in (lambda leaf: leaf, lambda leaf: leaf * 2, lambda leaf: leaf, lambda leaf: leaf.detach()):
        seen = []
        for run in (program, compiled):
            leaf = torch.ones(3, requires_grad=True)
            seen.append(run(make(leaf)).tolist())
        assert seen[0] == seen[1]
    assert breaks() == []


class Clamped(torch.autograd.Function):
    """As old programs write it: a weight is changed behind autograd's back, and read by the backward."""

    @staticmethod
    def forward(ctx, x, weight):
        weight.data.clamp_(-0.5, 0.5)
        ctx.save_for_backward(x.data, weight)
        return x * weight

    @staticmethod
    def backward(ctx, slope):
        x, weight = ctx.saved_tensors
        return slope * weight, slope * x


def clamped(x, weight):
    return Clamped.apply(x, weight).sum() + (weight * 2).sum()


def counted_again(x, weight):
    """The region runs again in the backward, so the weight is written twice."""
    return checkpoint(lambda part: (part * weight.data.add_(1)).sin().sum(), x, use_reentrant=False) + (weight * 2).sum()


@pytest.mark.parametrize("program", [clamped, counted_again], ids=lambda program: program.__name__)
def test_data_written_in_a_region(program):
    compiled = lect.compile(program)
    for _ in range(2):
        outcomes = []
        base = torch.randn(2, 5)
        for run in (program, compiled):
            x, weight = base.clone().unbind()
            x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
            total = run(x, weight)
            total.backward()
            outcomes.append((total.detach(), x.grad, weight.grad, weight.detach(), weight._version))
        torch.testing.assert_close(outcomes[1], outcomes[0])
    assert set(breaks()) == {"LB0004"}
