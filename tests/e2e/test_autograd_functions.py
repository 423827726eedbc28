"""Functions of the program's own with a backward: values and gradients are eager's, in one graph."""

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable

import lect
from tests.e2e.support import check, fallbacks, same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        (result,) = ctx.saved_tensors
        return gradient * result * 3  # no gradient that autograd itself would find


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, factor, name=None):
        ctx.save_for_backward(x, weight)
        ctx.factor = factor
        ctx.middle = x @ weight
        return ctx.middle * factor, x.sum()

    @staticmethod
    def backward(ctx, first, second):
        x, weight = ctx.saved_tensors
        by_x = first @ weight.T * ctx.factor + second if ctx.needs_input_grad[0] else None
        by_weight = x.T @ first * ctx.factor + ctx.middle.sum() if ctx.needs_input_grad[1] else None
        return by_x, by_weight, None, None


class Separate(torch.autograd.Function):
    @staticmethod
    def forward(x, power):
        return x**power, (x > 0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, power = inputs
        ctx.power = power
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, gradient, _):
        (x,) = ctx.saved_tensors
        return gradient * ctx.power * x ** (ctx.power - 1), None


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return gradient


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        ctx.rate = rate
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg() * ctx.rate, None


def exp(x, weight):
    return Exp.apply(x) + Exp.apply(x @ weight)


def scaled(x, weight):
    product, total = Scaled.apply(x, weight, 0.5)
    return product * total


def separate(x, weight):
    power, positive = Separate.apply(x @ weight, 3)
    return torch.where(positive, power, -power)


def rounded(x, weight):
    return Rounded.apply(x * 3) @ weight


def reversed_(x, weight):
    return Reversed.apply(x @ weight, 0.25) * 2


def in_a_loop(x, weight):
    for _ in range(3):
        x = Rounded.apply(Exp.apply(x * 0.1)) @ weight
    return x


@pytest.mark.parametrize("program", [exp, scaled, separate, rounded, reversed_, in_a_loop], ids=lambda program: program.__name__)
@pytest.mark.parametrize("only", ["both", "x", "weight"])
def test_gradients(program, only):
    compiled = lect.compile(program)
    for seed in range(2):
        results = []
        for run in (program, compiled):
            torch.manual_seed(seed)
            x, weight = torch.randn(3, 4, requires_grad=only != "weight"), torch.randn(4, 4, requires_grad=only != "x")
            out = run(x, weight)
            if out.requires_grad:
                (out * torch.randn(out.shape)).sum().backward()
            results.append((out, x.grad, weight.grad))
        same(results[0], results[1])
    assert fallbacks() == []
    assert len(lect.events("compile")) == 1


@pytest.mark.parametrize("program", [exp, scaled, separate, rounded, in_a_loop], ids=lambda program: program.__name__)
def test_without_gradients_it_is_native_code(program):
    check(program, torch.randn(3, 4), torch.randn(4, 4))
    with torch.no_grad():
        check(program, torch.randn(3, 4, requires_grad=True), torch.randn(4, 4))
    assert (fallbacks(), lect.events("note")) == ([], [])


def test_parameter_of_a_module_inside_of_the_forward_gets_no_gradient():
    net = nn.Linear(4, 4)

    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return net(x)

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    def program(x):
        return Through.apply(x) * 2

    check(program, torch.randn(3, 4))
    check(program, torch.randn(3, 4, requires_grad=True))
    assert fallbacks() == []


def test_gradient_of_a_gradient():
    def program(x):
        return Exp.apply(x)

    results = []
    for run in (program, lect.compile(program)):
        x = torch.ones(3, requires_grad=True)
        (first,) = torch.autograd.grad(run(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        results.append((first, second))
    same(results[0], results[1])


def test_backward_with_an_effect_runs_eagerly():
    seen = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            seen.append(1)
            return gradient

    compiled = lect.compile(lambda x: Counted.apply(x) + 1)
    compiled(torch.ones(2, requires_grad=True)).sum().backward()
    assert seen == [1]
    assert "LB0004" in stops()


def test_forward_that_writes_to_its_argument_runs_eagerly():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    def program(x):
        return Doubled.apply(x * 1) + 1

    check(program, torch.randn(3, requires_grad=True))
    assert stops() != []


# ---- torch.autograd.grad ---------------------------------------------------------------------------------------------


def test_gradient_inside_of_the_function():
    weight = torch.randn(4, 4, requires_grad=True)

    def program(x):
        y = (x @ weight).tanh().sum()
        by_x, by_weight = torch.autograd.grad(y, [x, weight])
        return by_x * 2, by_weight

    compiled = lect.compile(program)
    for _ in range(2):
        check(program, torch.randn(3, 4, requires_grad=True), compiled=compiled)
    assert (fallbacks(), lect.events("note"), len(lect.events("graph break"))) == ([], [], 0)


def test_gradient_that_is_not_there():
    weight = torch.randn(4, requires_grad=True)

    def program(x):
        return torch.autograd.grad(x.sum(), [x, weight], allow_unused=True)

    check(program, torch.randn(4, requires_grad=True))
    assert stops() == []


def test_penalty_on_a_gradient():
    weight = torch.randn(4, 4, requires_grad=True)

    def program(x):
        score = (x @ weight).tanh().sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        return score + (slope.norm(2, dim=1) - 1).square().mean()

    compiled = lect.compile(program)
    results = []
    for run in (program, compiled):
        torch.manual_seed(0)
        weight.grad = None
        x = torch.randn(3, 4, requires_grad=True)
        run(x).backward()
        results.append((x.grad, weight.grad))
    same(results[0], results[1])
    assert stops() == []


def test_second_gradient_without_a_graph_is_eagers_error():
    def program(x):
        y = (x * x).sum()
        torch.autograd.grad(y, x)
        return torch.autograd.grad(y, x)

    for call in (program, lect.compile(program)):
        with pytest.raises(RuntimeError, match="second time"):
            call(torch.ones(3, requires_grad=True))


def test_gradient_through_what_was_computed_before_the_call():
    before = torch.ones(3, requires_grad=True)
    middle = before * 2

    def program(x):
        return torch.autograd.grad((middle * x).sum(), before, retain_graph=True)[0] + 1

    check(program, torch.randn(3))


def test_backward_is_a_break():
    weight = torch.ones(3, requires_grad=True)

    def program(x):
        loss = (x * weight).sum()
        loss.backward()
        return loss.detach() + 1

    for call in (program, lect.compile(program)):
        weight.grad = None
        same(call(torch.ones(3)), torch.tensor(4.0))
        same(weight.grad, torch.ones(3))
    assert set(stops()) == {"LB0004"}
