"""Hooks of modules, called by torch's own rules: they are part of what is compiled, and of what is guarded."""

import pytest
import torch
from torch import nn
from torch.nn.modules import module as module_hooks

import lect
from tests.e2e.support import check, fallbacks, same, stops, versions


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.seen = []

    def forward(self, x, scale=1.0):
        return torch.relu(self.fc(x)) * scale


@pytest.fixture
def net():
    return Net().eval().requires_grad_(False)


def call(net):
    return lambda x, *args, **kwargs: net(x, *args, **kwargs)


def test_hooks_in_order(net):
    net.fc.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    net.fc.register_forward_pre_hook(lambda module, args: args[0] * 2)
    net.fc.register_forward_hook(lambda module, args, output: output - args[0])
    net.fc.register_forward_hook(lambda module, args, output: None)
    net.fc.register_forward_hook(lambda module, args, output: output * 3, prepend=True)
    check(call(net), torch.randn(2, 4))
    assert fallbacks() == []


def test_hooks_with_keywords(net):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x, scale=2.0)

    net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda module, args, kwargs, output: output + kwargs["scale"], with_kwargs=True)
    outer = Outer()
    check(outer, torch.randn(2, 4))
    assert fallbacks() == []


def test_hook_that_collects_features(net):
    features = {}
    net.fc.register_forward_hook(lambda module, args, output: features.__setitem__("fc", output))
    compiled = lect.compile(net)
    for _ in range(2):
        x = torch.randn(2, 4)
        want = net(x)
        expected = features.pop("fc")
        same(want, compiled(x))
        same(expected, features.pop("fc"))
    assert fallbacks() == []


def test_hook_is_added_and_removed(net):
    compiled = lect.compile(call(net))
    x = torch.randn(2, 4)
    same(net(x), compiled(x))
    handle = net.fc.register_forward_hook(lambda module, args, output: output * 5)
    same(net(x), compiled(x))
    other = net.fc.register_forward_hook(lambda module, args, output: output + 7)
    same(net(x), compiled(x))
    handle.remove()
    other.remove()
    same(net(x), compiled(x))
    assert (fallbacks(), versions()) == ([], 3)


def test_hook_of_all_modules(net):
    compiled = lect.compile(call(net))
    x = torch.randn(2, 4)
    same(net(x), compiled(x))
    handle = module_hooks.register_module_forward_hook(lambda module, args, output: output + 1 if isinstance(module, nn.Linear) else None)
    try:
        same(net(x), compiled(x))
    finally:
        handle.remove()
    same(net(x), compiled(x))
    assert (fallbacks(), versions()) == ([], 2)


def test_backward_hooks_matter_only_where_gradients_are_recorded(net):
    net.requires_grad_(True)
    net.fc.register_full_backward_hook(lambda module, grad_input, grad_output: None)

    def program(x):
        with torch.no_grad():
            return net(x)

    check(program, torch.randn(2, 4))
    assert fallbacks() == []
    check(call(net), torch.randn(2, 4))
    assert stops() == []


def test_hooks_on_a_node_of_the_backward_break(net):
    net.requires_grad_(True)
    with pytest.warns(FutureWarning, match="non-full backward hook"):
        net.fc.register_backward_hook(lambda module, grad_input, grad_output: None)
        check(call(net), torch.randn(2, 4))
    assert "LB0017" in stops()


def with_keywords(net):
    net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"x": kwargs["x"] + len(sorted(kwargs))}), with_kwargs=True)
    net.register_forward_hook(lambda module, args, kwargs, output: output * kwargs["x"].sum(), with_kwargs=True)


@pytest.mark.parametrize("trained", [False, True])
def test_hooks_of_the_compiled_module(net, trained):
    """They run around its forward in the same graph, those added or removed after the compile too."""
    log = []
    net.requires_grad_(trained)
    handles = [net.register_forward_pre_hook(lambda module, args: (log.append("pre"), (args[0] + 1,))[1])]
    compiled = lect.compile(net)

    def compare():
        x = torch.randn(2, 4)
        want = net(x)
        told, log[:] = list(log), []
        same(want, compiled(x))
        assert log == told
        log.clear()

    compare()
    handles.append(net.register_forward_hook(lambda module, args, output: (log.append("post"), output * 2)[1]))
    compare()
    handles.append(net.fc.register_forward_hook(lambda module, args, output: (log.append("inner"), None)[1]))
    compare()
    explained = lect.explain(net)(torch.randn(2, 4))
    log.clear()
    assert ([part.fallback for part in explained.parts], [part.effects for part in explained.parts]) == ([None], [3])
    for handle in handles:
        handle.remove()
        compare()
    assert fallbacks() == []
    assert lect.events("graph break") == []


def test_hooks_of_the_compiled_module_with_keywords(net):
    with_keywords(net)
    compiled = lect.compile(net)
    for _ in range(2):
        x = torch.randn(2, 4)
        same(net(x=x), compiled(x=x))
    assert (fallbacks(), lect.events("graph break")) == ([], [])


def test_backward_hooks_of_the_compiled_module(net):
    """The hooks see the gradients of the call."""
    log = []
    net.requires_grad_(True)
    net.register_full_backward_hook(lambda module, grad_input, grad_output: (log.append("post"), None)[1])
    net.register_full_backward_pre_hook(lambda module, grad_output: (log.append("pre"), (grad_output[0] * 2,))[1])
    found = []
    for module in (net, lect.compile(net)):
        x = torch.ones(2, 4, requires_grad=True)
        module(x).sum().backward()
        found.append((x.grad, [parameter.grad.clone() for parameter in net.parameters()], log[:]))
        net.zero_grad()
        log.clear()
    same(*found)


def test_forward_that_a_module_was_given_before(net):
    net.forward = lambda x: net.fc(x) * 3
    compiled = lect.compile(net)
    x = torch.randn(2, 4)
    same(net(x), compiled(x))
    assert (fallbacks(), lect.events("graph break")) == ([], [])


def test_hook_that_is_called_also_after_an_exception(net):
    net.fc.register_forward_hook(lambda module, args, output: output * 2, always_call=True)
    check(call(net), torch.randn(2, 4))
    assert stops() == []


def test_old_weight_norm_is_a_pre_hook():
    with pytest.warns(FutureWarning):
        linear = nn.utils.weight_norm(nn.Linear(4, 4))
    linear.requires_grad_(False)
    check(lambda x: linear(x), torch.randn(2, 4))
    assert fallbacks() == []


def test_error_of_a_written_result_names_no_part_of_the_compiler():
    x = torch.ones(3, requires_grad=True)
    exponential, double = lect.compile(lambda x: (x.exp(), x.exp() * 2))(x)
    exponential.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation: ") as caught:
        (exponential.sum() + double.sum()).backward()
    assert "[torch.FloatTensor [3]] is at version 1; expected version 0 instead" in str(caught.value)
    assert "CompiledStep" not in str(caught.value)


def kept_in_the_frame(net):
    def program(x):
        found = []
        handles = [module.register_forward_hook(lambda module, args, output: found.append(output)) for module in (net, net.fc)]
        try:
            y = net(x)
        finally:
            for handle in handles:
                handle.remove()
        return y, found, net(x)

    return program


def changed_in_the_frame(net):
    def program(x):
        with net.fc.register_forward_pre_hook(lambda module, args: (args[0] + 1,)):
            first = net(x)
        one = net.fc.register_forward_hook(lambda module, args, output: output * 2)
        other = net.fc.register_forward_hook(lambda module, args, kwargs, output: output + 1, prepend=True, with_kwargs=True)
        second = net(x)
        one.remove()
        third = net(x)
        other.remove()
        return first, second, third, len(net.fc._forward_hooks)

    return program


@pytest.mark.parametrize("make", [kept_in_the_frame, changed_in_the_frame], ids=lambda make: make.__name__)
def test_hooks_that_the_frame_registers_and_removes(net, make):
    program = make(net)
    compiled = lect.compile(program, fullgraph=True)
    for _ in range(3):
        check(program, torch.randn(2, 4), compiled=compiled)
    assert (stops(), versions(), len(net.fc._forward_hooks)) == ([], 1, 0)


def test_hook_that_the_frame_registers_for_good(net):
    def program(x):
        return net(x), net.fc.register_forward_hook(lambda module, args, output: output + 1)

    compiled = lect.compile(program, fullgraph=True)
    x = torch.randn(2, 4)
    want, first = program(x)
    first.remove()
    got, handle = compiled(x)
    same(want, got)
    assert handle.id in net.fc._forward_hooks and handle.id > first.id
    same(torch.relu(net.fc(x)), net(x))
    handle.remove()
    same(want, net(x))
    assert (stops(), len(net.fc._forward_hooks)) == ([], 0)


def test_hook_that_a_part_behind_a_break_removes(net):
    def program(x):
        handle = net.fc.register_forward_hook(lambda module, args, output: output * 2)
        y = net(x)
        print(end="")
        z = net(y)
        handle.remove()
        return y, z, net(z)

    compiled = lect.compile(program)
    for _ in range(2):
        check(program, torch.randn(2, 4), compiled=compiled)
    assert "LB0020" not in stops()
    assert len(net.fc._forward_hooks) == 0
