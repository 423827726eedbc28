"""Control flow that depends on tensors: one graph, whose branches and loops run as the values say."""

import pytest
import torch
from torch import nn
from torch._higher_order_ops import map as map_over
from torch._higher_order_ops import scan, while_loop

import lect
from lect.frontends.capture.breaks import Refused
from tests.e2e.support import fallbacks, same
from tests.unit.capture.test_invariants import capture


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


NET = nn.Linear(4, 4)


def branches(x):
    return torch.cond(x.sum() > 0, lambda a: {"a": a.sin(), "b": [a.sum()]}, lambda a: {"a": a * 2, "b": [a.mean()]}, (x,))


def branches_by_hand(x):
    return {"a": x.sin(), "b": [x.sum()]} if x.sum() > 0 else {"a": x * 2, "b": [x.mean()]}


@pytest.mark.parametrize("level", ["fx", "native"])
def test_branches(level):
    compiled = lect.compile(branches, options={"level": level})
    for sign in (1.0, -1.0, 1.0):
        x = torch.rand(3, 4) * sign
        same(branches_by_hand(x), compiled(x))
    assert (fallbacks(), len(lect.events("compile"))) == ([], 1)


def test_branch_that_returns_its_argument_leaves_it_alone():
    def program(x):
        y = torch.cond(x.sum() > 0, lambda: x, lambda: -x)
        return y + 1, x * 2

    compiled = lect.compile(program)
    for sign in (1.0, -1.0):
        x = torch.ones(3) * sign
        same((x.abs() + 1, x * 2), compiled(x))
    assert fallbacks() == []


def test_gradients_of_a_branch():
    def program(x):
        return torch.cond(x.sum() > 0, lambda a: NET(a), lambda a: a * 3, (x,)).sum()

    compiled = lect.compile(program)
    for sign in (1.0, -1.0):
        results = []
        for run in (lambda x: (NET(x) if x.sum() > 0 else x * 3).sum(), compiled):
            NET.zero_grad()
            x = (torch.ones(2, 4) * sign).requires_grad_()
            run(x).backward()
            results.append((x.grad, NET.weight.grad))
        same(results[0], results[1], exact=True)
    assert fallbacks() == []


def test_known_predicate():
    def program(x, flag):
        return torch.cond(flag, lambda a: a + 1, lambda a: a - 1, (x,))

    compiled = lect.compile(program)
    for flag in (True, False):
        same(torch.ones(3) + (1 if flag else -1), compiled(torch.ones(3), flag))
    assert fallbacks() == []


def refused(program, *args):
    """The number for which a call is not captured; torch's own cond, which brings another compiler in, is not run."""
    with pytest.raises(Refused) as caught:
        capture(program, *args)
    return caught.value.number


def test_branches_with_different_shapes_are_refused():
    def program(x):
        return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a[:1], (x,))

    assert refused(program, torch.ones(3)) == "LB0012"


def test_branch_with_an_effect_is_refused():
    seen = []

    def program(x):
        return torch.cond(x.sum() > 0, lambda a: (seen.append(1), a + 1)[1], lambda a: a, (x,))

    assert refused(program, torch.ones(3)) == "LB0004"
    assert seen == []


@pytest.mark.parametrize("level", ["fx", "native"])
def test_loop(level):
    def program(x, limit):
        return while_loop(lambda i, a: (i < limit) & (a.sum() < 100), lambda i, a: (i + 1, a * 2 + x), (torch.tensor(0), x))

    def by_hand(x, limit):
        i, a = torch.tensor(0), x
        while (i < limit) & (a.sum() < 100):
            i, a = i + 1, a * 2 + x
        return i, a

    compiled = lect.compile(program, options={"level": level})
    for limit in (0, 3, 9):
        x = torch.rand(3) + 0.5
        same(by_hand(x, torch.tensor(limit)), compiled(x, torch.tensor(limit)))
    assert (fallbacks(), len(lect.events("compile"))) == ([], 1)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    def program(x):
        return scan(lambda carry, item: (carry * 0.5 + item["a"], {"out": carry + item["b"]}), torch.zeros(4), {"a": x, "b": x * 2}, reverse=reverse)

    def by_hand(x):
        carry, kept = torch.zeros(4), []
        for number in reversed(range(len(x))) if reverse else range(len(x)):
            kept.append(carry + x[number] * 2)
            carry = carry * 0.5 + x[number]
        return carry, {"out": torch.stack(kept[::-1] if reverse else kept)}

    compiled = lect.compile(program)
    for _ in range(2):
        x = torch.randn(5, 4)
        same(by_hand(x), compiled(x))
    assert fallbacks() == []


def test_map():
    def program(x, y):
        return map_over(lambda row, other: (row @ other, row.sum()), x, y)

    x, y = torch.randn(5, 4), torch.randn(4, 2)
    same((torch.stack([row @ y for row in x]), torch.stack([row.sum() for row in x])), lect.compile(program)(x, y))
    assert fallbacks() == []


def test_numbers_that_change():
    def program(x, scale):
        return torch.cond(x.sum() > 0, lambda: x * scale, lambda: x - scale)

    compiled = lect.compile(program)
    for scale in (2.0, 3.0, 4.5):
        for sign in (1.0, -1.0):
            x = torch.ones(3) * sign
            same(x * scale if sign > 0 else x - scale, compiled(x, scale))
    assert fallbacks() == []
    assert len(lect.events("compile")) == 2
