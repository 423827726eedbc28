"""Several losses of one compiled call, differentiated one after the other: what eager lets go alone goes alone, and what it refuses is refused.

Each test runs one list of steps on what eager gives and on what the compiled function gives; values, gradients, the order of hooks and the kinds of errors
have to be the same.
"""

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.conftest import use_trigger
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def trigger(monkeypatch):
    """How a call comes to its graph makes no difference here."""
    use_trigger("function", monkeypatch)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


def attempt(work):
    """What `work` gives, or the type and the first words of what it raises."""
    try:
        return work()
    except RuntimeError as error:
        return type(error), str(error)[:48]


def alike(program, make, *steps):
    """Each of `steps`, a function of results and arguments that is told what happened, does the same for eager and compiled results."""
    compiled = lect.compile(program, options={"rng": "eager"})
    for seed, step in enumerate(steps):
        journals = []
        for run in (program, compiled):
            torch.manual_seed(seed)
            args = make()
            results = run(*args)
            told = [attempt(lambda: step(results, args))]  # noqa: B023 - called here
            journals.append([told, results, [arg.grad for arg in args if isinstance(arg, torch.Tensor) and arg.is_leaf]])
        same(*journals)
    assert fallbacks() == [] and not lect.events("note"), [str(event) for event in lect.events()]


def each(*order, retain=False):
    """A step: the backward of these results, each alone; of an error is told."""
    return lambda results, args: [attempt(lambda: results[number].backward(retain_graph=retain)) for number in order]


def two_losses():
    return lambda: (leaf(3, 4), leaf(4, 2), leaf(3, 4))


def apart(x, w, y):
    return torch.tanh(x @ w).sum(), (y.exp() * 2).sum()


def test_losses_that_share_nothing_go_alone():
    alike(apart, two_losses(), each(0, 1), each(1, 0), each(0, 0, 1, 1), each(1), each(0, 1, 0, 1, retain=True))
    assert [event.results for event in lect.events("backward")] == [(0,), (1,)]


def test_losses_that_share_nothing_go_together():
    alike(apart, two_losses(), lambda found, _: (found[0] * 3 + found[1]).backward(), lambda found, _: torch.autograd.backward(found))


def test_parameters_in_common_are_accumulated():
    def program(x, y, w, b):
        return F.softplus(x @ w + b).mean(), F.softplus(-(y @ w + b)).mean(), (w * w).sum()

    def together(found, args):
        return torch.autograd.grad(found[0] + found[1] + found[2], args[2:])

    alike(program, lambda: (torch.randn(5, 4), torch.randn(6, 4), leaf(4, 3), leaf(3)), each(0, 1, 2), each(2, 0, 0, 1), together)


def test_losses_behind_one_trunk():
    def program(x, w, v, u):
        h = torch.tanh(x @ w)
        return (h * v).sum(), h.exp().mean(), (u * u).sum()

    make = lambda: (torch.randn(3, 4), leaf(4, 4), torch.randn(4), leaf(5))  # noqa: E731
    alike(program, make, each(0, 1), each(1, 2, 0), each(0, 1, 2, retain=True), each(2, 2), lambda found, _: (found[0] + found[1] + found[2]).backward())


@pytest.mark.parametrize("share", ["turned", "cast", "summed", "flat", "scaled", "sliced"])
def test_what_is_shared_keeps_nothing(share):
    """Views, casts and sums of gradients keep no tensor in eager, so that losses behind one of them go alone; a factor is kept."""

    def program(x, y, w):
        shown = {
            "turned": lambda: w.t(),
            "cast": lambda: w.to(torch.bfloat16).float(),
            "summed": lambda: w + y.new_ones(2, 4, 4),
            "flat": lambda: w.flatten().view(4, 4) + 2,
            "scaled": lambda: w * 2,
            "sliced": lambda: w[:, 1:],
        }[share]()
        return (x @ shown).sum(), (y @ shown).exp().sum()

    alike(program, lambda: (torch.randn(3, 4), torch.randn(2, 4), leaf(4, 4)), each(0, 1), each(1, 0, 0))


def test_a_shared_function_that_is_not_linear_sees_the_sum():
    class Clamp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient.clamp(-1, 1)

    def program(x, v):
        shown = Clamp.apply(x)
        return (shown * 0.7).sum(), (shown * v).sum()

    alike(program, lambda: (leaf(3), torch.randn(3)), lambda found, _: (found[0] + found[1]).backward(), each(0), each(1))


def test_what_keeps_nothing_goes_twice():
    alike(lambda x, y: (x.sum() - 2, (y * 2).sum()), lambda: (leaf(3), leaf(4)), each(0, 0, 0, 1, 1))
    alike(lambda x: x.reshape(2, 2).mean(0), lambda: (leaf(4),), lambda found, _: [found.backward(torch.ones(2)) for _ in range(3)])


@pytest.mark.parametrize("program", [lambda x, n: (x + n).sum(), lambda x, n: (x * n).sum()], ids=["added", "multiplied"])
def test_a_number_that_is_multiplied_is_kept(program):
    alike(program, lambda: (leaf(3), torch.rand(()).item()), *[lambda found, _: [attempt(found.backward) for _ in range(2)]] * 3)


def test_what_was_computed_before_is_left_alone():
    """The backward of one loss does not run through, and free, what only the argument of another one was computed from."""

    def steps(found, args):
        found[0].backward()
        seen = args[1].grad_fn._saved_result.sum()
        found[1].backward()
        return seen

    def make():
        x = leaf(3)
        return x * 3, x.exp()

    alike(lambda y, x: ((y * y).sum(), (x * x).sum()), make, steps, each(1, 0))


def test_hooks_run_as_often_and_in_the_same_order():
    def program(x, y, w):
        return (x @ w).tanh().sum(), (y @ w).exp().sum()

    def steps(found, args):
        told = []
        for number, arg in enumerate(args):
            arg.register_hook(lambda gradient, number=number: told.append((number, gradient.sum().item() > 0)))
            arg.register_post_accumulate_grad_hook(lambda arg, number=number: told.append(number))
        for number, loss in enumerate(found):
            loss.register_hook(lambda gradient, number=number: gradient * (number + 2))
        found[1].backward()
        told.append("then")
        found[0].backward()
        return told

    alike(program, lambda: (leaf(2, 3), leaf(2, 3), leaf(3, 2)), steps, lambda found, args: (found[0] + found[1]).backward())


def test_one_gradient_is_asked_for():
    def steps(found, args):
        x, w, y = args
        first = torch.autograd.grad(found[0], w)
        unused = torch.autograd.grad(found[1], [x, y], allow_unused=True, retain_graph=True)
        return first, unused, attempt(lambda: torch.autograd.grad(found[1], x, retain_graph=True)), torch.autograd.grad(found[1], y), found[1].requires_grad

    alike(apart, two_losses(), steps)


def test_a_gradient_of_a_gradient():
    def penalty(found, args):
        (slope,) = torch.autograd.grad(found[1], args[2], create_graph=True)
        ((slope.norm() - 1) ** 2 + found[0]).backward()
        return slope

    def first_freed(found, args):
        found[0].backward()
        (slope,) = torch.autograd.grad(found[1], args[2], create_graph=True)
        (slope * slope).sum().backward()

    alike(apart, two_losses(), penalty, first_freed)


def test_writes_between_concern_one_loss():
    def steps(found, args):
        with torch.no_grad():
            args[1].mul_(2)
        return each(1, 0)(found, args)

    alike(apart, two_losses(), steps)


def test_a_result_is_kept_for_another_one():
    def program(x, w):
        y = x.exp()
        return y, (y.detach() * w).sin().sum()

    alike(program, lambda: (leaf(3), leaf(3)), lambda found, _: [found[0].sum().backward(), found[1].backward()], each(1))


def test_random_numbers_of_two_losses():
    def program(x, y):
        return F.dropout(x, 0.5).exp().sum(), F.dropout(y, 0.5).sin().sum(), torch.rand(2)

    alike(program, lambda: (leaf(8), leaf(8)), each(1, 0), each(0))


def test_views_stay_with_the_tensor_that_they_show():
    def program(x, y):
        h = x.exp()
        return h, h[1:], (y * y).sum(), y.view(2, 2)

    def steps(found, args):
        found[2].backward()
        (found[1].sum() + found[0].sum()).backward()
        found[3].sum().backward()

    alike(program, lambda: (leaf(3), leaf(4)), steps)


def test_what_is_kept_dies_with_its_loss():
    held = []

    class Held:
        def __init__(self, tensor):
            self.tensor = tensor
            held.append(weakref.ref(self))

    def alive():
        gc.collect()
        return sum(each() is not None for each in held)

    def program(x, y):
        return x.exp().tanh().sum(), y.sin().exp().sum()

    compiled = lect.compile(program)
    for _ in range(2):
        held.clear()
        with torch.autograd.graph.saved_tensors_hooks(Held, lambda kept: kept.tensor):
            first, second = compiled(leaf(3), leaf(4))
        kept = alive()
        first.backward()
        left = alive()
        assert 0 < left < kept
        second.backward()
        assert alive() == 0
    del first
    assert fallbacks() == []


def test_no_node_keeps_a_call_alive():
    x, y = leaf(3) * 1, leaf(3) * 1
    found = lect.compile(lambda x, y: (x.exp().sum(), y.exp().sum()))(x, y)
    seen = [weakref.ref(x), weakref.ref(y)]
    del x, y
    found[0].backward()
    found = found[1:]
    gc.collect()
    assert seen[0]() is None
    del found
    gc.collect()
    assert seen[1]() is None


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        self.judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))

    def forward(self, noise, real):
        fake = self.generator(noise)
        wrong = F.softplus(-self.judge(real)).mean() + F.softplus(self.judge(fake.detach())).mean()
        return wrong, F.softplus(-self.judge(fake)).mean()


def steps_of_a_gan(gan, run, autocast):
    """Three steps of both optimizers: the losses, and the parameters behind them."""
    ours = torch.optim.Adam(gan.generator.parameters(), 1e-2)
    theirs = torch.optim.SGD(gan.judge.parameters(), 1e-1, momentum=0.5)
    told = []
    for _ in range(3):
        with torch.autocast("cpu", enabled=autocast):
            wrong, right = run(torch.randn(6, 3), torch.randn(6, 4))
        theirs.zero_grad()
        wrong.backward(inputs=list(gan.judge.parameters()))
        ours.zero_grad()
        right.backward(inputs=list(gan.generator.parameters()))
        theirs.step()
        ours.step()
        told.append((wrong.detach(), right.detach()))
    return told, [value.detach() for value in gan.state_dict().values()]


@pytest.mark.parametrize("autocast", [False, True])
def test_a_gan_with_two_optimizers(autocast):
    found = []
    for compiled in (False, True):
        torch.manual_seed(1)
        gan = Gan()
        run = lect.compile(gan) if compiled else gan
        found.append(steps_of_a_gan(gan, run, autocast))
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if autocast else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(found[1], found[0], **tolerance)
    assert fallbacks() == []


def test_one_call_of_a_repeated_layer_for_each_loss():
    layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])

    def program(x, y):
        for layer in layers[:2]:
            x = torch.tanh(layer(x))
        for layer in layers[2:]:
            y = torch.tanh(layer(y))
        return x.sum(), y.sum()

    alike(program, lambda: (leaf(2, 4), leaf(2, 4)), each(0, 1), each(1, 0, 0))


def test_a_loss_without_gradient_is_none_of_autograds():
    alike(lambda x, y: ((x * x).sum(), y.detach().exp().sum(), (y > 0).sum()), lambda: (leaf(3), leaf(3)), each(0, 1), each(1))
