"""`optimizer.step` in a compiled function: one graph, and the parameters and states of an eager step."""

import copy
import functools

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import fallbacks, same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


OPTIMIZERS = {
    "sgd": functools.partial(torch.optim.SGD, lr=0.1),
    "sgd-momentum": functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "sgd-foreach": functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9, foreach=True),
    "adam": functools.partial(torch.optim.Adam, lr=0.1),
    "adam-amsgrad": functools.partial(torch.optim.Adam, lr=0.1, amsgrad=True, weight_decay=0.1, maximize=True),
    "adam-foreach": functools.partial(torch.optim.Adam, lr=0.1, foreach=True),
    "adamw": functools.partial(torch.optim.AdamW, lr=0.1, betas=(0.8, 0.95)),
    "adamw-foreach": functools.partial(torch.optim.AdamW, lr=0.1, foreach=True),
    "rmsprop": functools.partial(torch.optim.RMSprop, lr=0.1, centered=True, momentum=0.5),
    "adagrad": functools.partial(torch.optim.Adagrad, lr=0.1),
    "adamax": functools.partial(torch.optim.Adamax, lr=0.1),
}


def trained(make, step_of, steps=5):
    """Parameters and optimizer states behind some steps."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = make(net.parameters())
    step = step_of(optimizer)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).square().sum().backward()
        step()
    return [parameter.detach() for parameter in net.parameters()], optimizer.state_dict()["state"]


def compiled_step(level):
    return lambda optimizer: lect.compile(lambda: optimizer.step(), options={"level": level})


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_calls_of_torch_are_eagers(name):
    want = trained(OPTIMIZERS[name], lambda optimizer: optimizer.step)
    same(want, trained(OPTIMIZERS[name], compiled_step("fx")), exact=True)
    assert stops() == []


@pytest.mark.parametrize("name", ["sgd", "sgd-momentum", "adam", "adamw", "adagrad"])
def test_native_code(name):
    want = trained(OPTIMIZERS[name], lambda optimizer: optimizer.step)
    same(want, trained(OPTIMIZERS[name], compiled_step("native")))
    assert stops() == []
    assert lect.events("note") == []


def test_number_that_no_addition_gives_is_a_break():
    make = functools.partial(torch.optim.NAdam, lr=0.1)
    same(trained(make, lambda optimizer: optimizer.step), trained(make, compiled_step("fx")), exact=True)
    assert set(stops()) == {"LB0002"}


def test_step_of_the_optimizer_itself():
    want = trained(OPTIMIZERS["adam"], lambda optimizer: optimizer.step)
    same(want, trained(OPTIMIZERS["adam"], lambda optimizer: lect.compile(optimizer.step)))
    assert stops() == []


def test_learning_rate_is_changed():
    def run(step_of):
        net = nn.Linear(2, 2)
        with torch.no_grad():
            net.weight.fill_(1.0)
            net.bias.zero_()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        step = step_of(optimizer)
        for rate in (0.1, 0.2, 0.3):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            step()
        return net.weight.detach()

    same(run(lambda optimizer: optimizer.step), run(compiled_step("fx")), exact=True)
    assert stops() == []


def test_parameter_without_a_gradient_is_skipped():
    weights = [torch.ones(2, requires_grad=True) for _ in range(2)]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    step = lect.compile(lambda: optimizer.step())
    weights[0].grad = torch.ones(2)
    step()
    same(weights[1].detach(), torch.ones(2))
    weights[1].grad = torch.ones(2)
    step()
    same([weight.detach() for weight in weights], [torch.full((2,), -1.0), torch.zeros(2)])
    assert fallbacks() == []


def test_step_hooks():
    seen = []
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda optimizer, args, kwargs: seen.append("behind"))
    weight.grad = torch.ones(2)
    lect.compile(lambda: optimizer.step())()
    assert seen == ["before", "behind"]
    same(weight.detach(), torch.zeros(2))
    assert stops() == []


def test_gradients_are_clipped_and_cleared():
    def run(compiled):
        torch.manual_seed(0)
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def finish():
            for parameter in net.parameters():
                parameter.grad = parameter.grad.clamp(-0.01, 0.01)
            optimizer.step()
            optimizer.zero_grad()
            return net.weight.grad

        call = lect.compile(finish) if compiled else finish
        for _ in range(3):
            net(torch.randn(2, 4)).sum().backward()
            assert call() is None
        return [parameter.detach() for parameter in net.parameters()], [parameter.grad for parameter in net.parameters()]

    same(run(False), run(True))
    assert stops() == []


def test_element_of_a_tensor_that_changes():
    scale = torch.tensor(3.0)

    def program(x):
        scale.add_(1)
        return x * 0.5 ** scale.item(), scale.item() + 1

    compiled = lect.compile(program, options={"level": "fx"})
    for _ in range(4):
        before = scale.clone()
        want = program(torch.ones(2))
        scale.copy_(before)
        same(want, compiled(torch.ones(2)))
        same(scale, before + 1)
    assert stops() == []


@pytest.mark.parametrize("start", [0.1, 2.0**24, float("nan"), -0.0])
def test_element_whose_sum_is_rounded(start):
    scale = torch.tensor(start)

    def program(x):
        scale.add_(1)
        return x * scale.item()

    compiled = lect.compile(program)
    for _ in range(2):
        before = scale.clone()
        want = program(torch.ones(2))
        scale.copy_(before)
        same(want, compiled(torch.ones(2)), exact=True)


def test_element_of_a_tensor_written_through_a_view():
    def program(x, scale):
        scale.view(1).mul_(2)
        return x * scale.item()

    compiled = lect.compile(program)
    for value in (3.0, 4.0):
        same(torch.full((2,), value * 2), compiled(torch.ones(2), torch.tensor(value)))


def test_element_of_a_tensor_that_shares_memory():
    def program(x, scale, other):
        other.mul_(2)
        scale.add_(1)
        return x * scale.item()

    compiled = lect.compile(program)
    for shared in (False, True, False):
        results = []
        for run in (program, compiled):
            scale = torch.tensor(3.0)
            results.append(run(torch.ones(2), scale, scale.view(()) if shared else torch.tensor(1.0)))
        same(results[0], results[1])


def test_state_of_a_copied_optimizer_is_its_own():
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    step = lect.compile(lambda: optimizer.step())
    net(torch.ones(1, 2)).sum().backward()
    step()
    saved = copy.deepcopy(optimizer.state_dict())
    step()
    optimizer.load_state_dict(saved)
    other = copy.deepcopy(net), optimizer.state_dict()
    mirror = torch.optim.SGD(other[0].parameters(), lr=0.1, momentum=0.9)
    mirror.load_state_dict(copy.deepcopy(other[1]))
    for mine, its in zip(net.parameters(), other[0].parameters()):
        its.grad = mine.grad.clone()
    step()
    mirror.step()
    same([parameter.detach() for parameter in other[0].parameters()], [parameter.detach() for parameter in net.parameters()])
