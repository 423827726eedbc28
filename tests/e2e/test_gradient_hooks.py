"""Hooks that run in the backward, registered in compiled functions or found around modules."""

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def on_an_argument(log):
    def program(x):
        x.register_hook(lambda g: g * 2)
        return x * 3

    return program


def sees_uses_in_front_of_it(log):
    def program(x):
        h = x * 2
        y = h * 3
        h.register_hook(lambda g: (log.append(g.tolist()), g * 10)[1])
        return h + y

    return program


def keeps_the_gradient(log):
    def program(x):
        h = x.exp()

        def keep(gradient):
            log.append(gradient.clone())

        h.register_hook(keep)
        return h.sin()

    return program


def reads_a_tensor_of_the_graph(log):
    def program(x):
        mask = (x > 2).float()
        h = x * 2
        h.register_hook(lambda g: g * mask)
        return h * h

    return program


def one_is_removed(log):
    def program(x):
        h = x * 2
        first = h.register_hook(lambda g: log.append("first"))
        h.register_hook(lambda g: (log.append("second"), g * 7)[1])
        h.register_hook(lambda g: (log.append("third"), g + 1)[1])
        first.remove()
        with h.register_hook(lambda g: g * 5):
            return h * h

    return program


def handle_is_returned(log):
    def program(x):
        h = x * 2
        log.append(h.register_hook(lambda g: g * 5))
        return h * h

    def removed(x):
        y = program(x)
        log.pop().remove()
        return y

    return removed


def behind_the_accumulation(log):
    weight = torch.ones(3, requires_grad=True)

    def program(x):
        weight.register_post_accumulate_grad_hook(lambda leaf: log.append(leaf.grad.tolist()))
        return x * weight

    return program


def refused(log):
    def program(x):
        for tensor, method in ((x.detach(), "register_hook"), (x * 2, "register_post_accumulate_grad_hook")):
            try:
                getattr(tensor, method)(log.append)
            except RuntimeError as error:
                log.append(str(error))
        return x * 2

    return program


PROGRAMS = [
    on_an_argument,
    sees_uses_in_front_of_it,
    keeps_the_gradient,
    reads_a_tensor_of_the_graph,
    one_is_removed,
    handle_is_returned,
    behind_the_accumulation,
    refused,
]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def of_children(log):
    net = Net()
    net.first.register_full_backward_hook(lambda module, inward, outward: log.append((inward[0].tolist(), outward[0].tolist())))
    net.second.register_full_backward_hook(lambda module, inward, outward: (inward[0] * 2,))
    return net


def of_the_whole(log):
    net = Net()
    net.register_full_backward_hook(lambda module, inward, outward: log.append((inward[0].tolist(), outward[0].tolist())))
    net.register_full_backward_pre_hook(lambda module, outward: (outward[0] * 3,))
    return net


def with_forward_hooks(log):
    net = Net()
    net.first.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.first.register_full_backward_hook(lambda module, inward, outward: log.append(outward[0].tolist()))
    net.first.register_forward_hook(lambda module, args, output: output + 1, always_call=True)
    return net


def behind_an_exception(log):
    net = Net()

    def fail(x):
        raise ValueError("no")

    net.first.forward = fail
    net.first.register_forward_hook(lambda module, args, output: log.append(("called", output)), always_call=True)

    def program(x):
        try:
            return net(x)
        except ValueError as error:
            log.append(str(error))
        return x * 2

    return program


def train(make, compiled):
    torch.manual_seed(0)
    log = []
    program = make(log)
    called = lect.compile(program, fullgraph=True) if compiled else program
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for _ in range(2):
        called(x).sum().backward()
    parameters = [parameter.grad for parameter in program.parameters()] if isinstance(program, nn.Module) else []
    return x.grad, log, parameters


@pytest.mark.parametrize("make", [*PROGRAMS, of_children, of_the_whole, with_forward_hooks, behind_an_exception], ids=lambda make: make.__name__)
def test_hooks_behave_as_in_eager(make):
    same(train(make, False), train(make, True))
    assert stops() == []


def test_hook_of_all_modules():
    def make(log):
        log.append(nn.modules.module.register_module_full_backward_hook(lambda module, inward, outward: log.append(type(module).__name__)))
        return Net()

    found = []
    for compiled in (False, True):
        gradient, log, _ = train(make, compiled)
        log.pop(0).remove()
        found.append((gradient, log))
    same(*found)
    assert stops() == []


def test_a_tensor_with_a_hook_is_written_to():
    """The hook belongs to what the tensor was: the frame runs eagerly."""

    def program(x):
        h = x * 2
        h.register_hook(lambda g: g * 5)
        h.mul_(3)
        return h

    found = []
    for called in (program, lect.compile(program)):
        x = torch.ones(3, requires_grad=True)
        called(x).sum().backward()
        found.append(x.grad)
    same(*found)
    assert stops()[:1] == ["LB0021"]


class Tied(nn.Module):
    """An embedding that is the last layer too, and layers that are used twice."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scale = nn.Parameter(torch.ones(4))
        self.last = nn.Linear(4, 5, bias=False)
        self.last.weight = self.embedding.weight

    def forward(self, x):
        x = self.embedding(x.abs().long().clamp(max=4)[0])
        for layer in self.layers:
            x = x + torch.tanh(layer(x * self.scale)) + layer(x)
        return self.last(x)


class Sums(nn.Module):
    """Parameters that several operations use."""

    def __init__(self):
        super().__init__()
        for name in "abcd":
            self.register_parameter(name, nn.Parameter(torch.randn(4)))

    def forward(self, x):
        return (self.a + self.b) * (self.c * x).sin() + self.d * self.a + torch.stack([self.b, self.d]).sum(0)


MODELS = {
    "few layers": lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2)),
    "layers that repeat": lambda: nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU())]),
    "tied": Tied,
    "sums": Sums,
}


@pytest.mark.parametrize("name", list(MODELS))
def test_hooks_on_parameters_run_in_the_order_of_eager(name):
    lect.reset()
    model, log = MODELS[name](), []
    for of, parameter in model.named_parameters():
        parameter.register_hook(lambda gradient, of=of: log.append(("gradient", of)))
        parameter.register_post_accumulate_grad_hook(lambda parameter, of=of: log.append(("gathered", of)))
    x = torch.randn(2, 4)
    model(x).sum().backward()
    want = log.copy()
    compiled = lect.compile(model)
    for _ in range(2):
        log.clear()
        compiled(x).sum().backward()
        assert log == want
    assert stops() == []
