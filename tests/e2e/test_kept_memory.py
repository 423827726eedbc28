"""How many bytes a compiled forward keeps for its backward: memory budgets and checkpointed regions, with eager's gradients whatever is kept."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import lect
from lect.ir import LectError
from tests.e2e.support import same
from tests.e2e.test_compiled_training import in_native_code, leaf

BATCH, WIDTH = 64, 16
LAYER = 4 * BATCH * WIDTH  # bytes of what a layer gives


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def kept(run, *arguments):
    """The result, and the bytes in the memory that autograd keeps for it beside parameters and arguments."""
    found = {}

    def pack(tensor):
        if not isinstance(tensor, nn.Parameter):
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = run(*arguments)
    for argument in arguments:
        found.pop(argument.untyped_storage().data_ptr(), None)
    return out, sum(found.values())


class Deep(nn.Module):
    """Six linear layers, each in a checkpointed region where asked for."""

    def __init__(self, checkpoints: bool = False, reentrant: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Sigmoid()) for _ in range(3)])
        self.checkpoints, self.reentrant = checkpoints, reentrant

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant) if self.checkpoints else layer(x)
        return x.sum()


def trained(run, model, x):
    out, size = kept(run, x)
    out.backward()
    gradients = [out.detach(), x.grad, *[parameter.grad for parameter in model.parameters()]]
    model.zero_grad()
    return gradients, size


def test_a_smaller_budget_keeps_less_and_gives_the_same():
    model = Deep()
    want, eager = trained(model, model, leaf(BATCH, WIDTH))
    sizes = {}
    for budget in (0, 0.25, 0.5, 0.75, 1):
        found, sizes[budget] = trained(lect.compile(model, options={"memory_budget": budget}), model, leaf(BATCH, WIDTH))
        same(want, found, scaled=True)
    in_native_code()
    _, usual = trained(lect.compile(model), model, leaf(BATCH, WIDTH))
    assert eager >= 6 * LAYER
    assert sizes[1] == usual <= eager
    assert sizes[0] <= 6 * 4 * WIDTH  # copies of what autograd itself does not keep: a program may write to it
    assert list(sizes.values()) == sorted(sizes.values())
    assert all(size <= sizes[0] + budget * (usual - sizes[0]) for budget, size in sizes.items())
    assert sizes[0.25] < sizes[0.5] < sizes[1]


@pytest.mark.parametrize("budget", [0, 0.5, 1])
def test_random_numbers_are_kept_whatever_the_budget(budget):
    outer = lect.compile(lambda x: F.dropout(torch.tanh(x @ x.t() * 0.1), 0.5), options={"memory_budget": budget})
    x = leaf(WIDTH, WIDTH)
    out = outer(x)
    out.sum().backward()
    y = leaf(WIDTH, WIDTH)
    (torch.tanh(y @ y.t() * 0.1) * (out != 0) * 2).sum().backward()
    same(y.grad, x.grad, scaled=True)
    in_native_code()


@pytest.mark.parametrize("options", [{}, {"memory_budget": 0.5}])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_regions_keep_their_operands_alone(reentrant, options):
    model = Deep(checkpoints=True, reentrant=reentrant)
    plain = Deep()
    want, eager = trained(plain, plain, leaf(BATCH, WIDTH))
    found, size = trained(lect.compile(model, options=options), model, leaf(BATCH, WIDTH))
    same(want, found, scaled=True)
    in_native_code()
    _, without = trained(lect.compile(plain), plain, leaf(BATCH, WIDTH))
    assert size <= 2 * LAYER < without <= eager  # what goes from one region to the next


def test_backwards_of_several_results_honour_the_budget():
    def program(x, w, v):
        h = torch.tanh(x @ w) @ v
        return h.sin(), h.exp().sum(), x.sum()

    def use(run, chosen, x, w, v):
        out = run(x, w, v)
        sum(out[number].square().sum() for number in chosen).backward()
        return x.grad, w.grad, v.grad

    compiled = lect.compile(program, options={"memory_budget": 0.0})
    for chosen in ((0,), (1,), (0, 1), (2,)):
        arguments = [leaf(8, 4), leaf(4, 6, seed=1), leaf(6, 3, seed=2)]
        same(use(program, chosen, *arguments), use(compiled, chosen, *[each.detach().clone().requires_grad_() for each in arguments]), scaled=True)
    in_native_code()


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "half", True, None])
def test_a_budget_that_is_none_is_refused(wrong):
    with pytest.raises(LectError, match="memory_budget"):
        lect.compile(lambda x: x, options={"memory_budget": wrong})
