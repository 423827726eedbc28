"""Integers of the program that are sizes, bounds or positions of torch: after the second value one version stands for all others that go the same way."""

import pytest
import torch
from torch import nn

import lect
from lect.runtime.events import Break, Recompile
from tests.e2e.support import fallbacks, same, versions

X = torch.randn(3, 20, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def check(fn, calls, most, **options):
    """Eager's results and writes for each call, by at most so many versions, and without fallbacks."""
    compiled = lect.compile(fn, **options)
    for call in calls:
        mine, other = [[part.clone() if isinstance(part, torch.Tensor) else part for part in call] for _ in range(2)]
        same(fn(*mine), compiled(*other))
        same(mine, other)
    assert fallbacks() == []
    assert versions() <= most, versions()


def decode(x, cache, pos):
    cache[:, pos : pos + 1] = x
    return cache[:, : pos + 1].sum((0, 1)), torch.arange(pos, pos + 3)


PROGRAMS = {
    "slice to": (lambda x, n: x[:, :n] * 2, range(5, 20), 2),
    "slice from": (lambda x, n: x[:, n:] * 2, range(2, 19), 2),
    "slice between": (lambda x, n: x[:, n : n + 3] * n, range(17), 3),
    "negative bounds": (lambda x, n: x[:, n:] + x[:, -20 - n :].sum(), range(-18, -2), 2),
    "beyond the end": (lambda x, n: x[:, :n].cos(), [21, 22, 25, 100, 2**40, 2**62], 3),
    "0, 1 and others": (lambda x, n: x[:, :n] * 2, [3, 4, 5, 0, 1, 6, 7, 0, 1], 4),
    "position": (lambda x, n: (x[:, n] * 2, x[1, n, 2:], x[..., n, :].exp()), range(2, 20), 2),
    "position from the end": (lambda x, n: x[:, n] * 2, range(-19, -1), 2),
    "position beside tensors": (lambda x, n: x[torch.tensor([0, 2]), n] * 2, range(2, 20), 2),
    "new tensors": (lambda x, n: (torch.zeros(n) + 1, torch.ones(n, n + 1, dtype=torch.int64), torch.full((n,), n) * x.sum()), range(2, 9), 2),
    "arange": (lambda x, n: (x[0, :3] * torch.arange(n, n + 3)[:, None], torch.arange(n), torch.arange(1, n, 2)), range(4, 12), 2),
    "eye, tril, roll": (lambda x, n: (torch.eye(n) * 2, x[0].triu(n), torch.roll(x, n, 1)), [2, 3], 2),
    "repeat and expand": (lambda x, n: (x.repeat(n, 1, 1) * 2, x[0, 0].expand(n, 4).sin()), range(2, 9), 2),
    "narrow and select": (lambda x, n: (x.narrow(1, n, 2) * 2, x.select(1, n) + 1), range(2, 18), 2),
    "views": (lambda x, n: x[:, : 4 * n].reshape(3, n, -1) * 2, range(2, 5), 2),
    "computed": (lambda x, n: x[:, : n // 2 + 1] * n, range(4, 20), 2),
    "largest": (lambda x, n: x.topk(n, 1)[0] * 2, range(2, 12), 2),
    "padding": (lambda x, n: torch.nn.functional.pad(x, (0, 0, n, 0)) * 2, range(2, 9), 2),
    "two that are not equal": (lambda x, n: x[:, n : n + 5] @ torch.ones(4, n), range(6, 12), 2),
    "a branch": (lambda x, n: x[:, :n] * 2 if n > 9 else x[:, :n] + n, range(2, 20), 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_versions(name):
    fn, values, most = PROGRAMS[name]
    check(fn, [(X, n) for n in values], most)


def test_a_decode_loop():
    """The last position fills the cache, whose rows then lie without gaps."""
    check(decode, [(X[:, :1], X, pos) for pos in range(20)], 4)
    assert [event for event in lect.events() if isinstance(event, Recompile) and "L[\"pos\"]" in event.numbers]


def test_bools_and_floats_are_none():
    def f(x, n):
        return x[:, :n] * 2 if type(n) is int else x * n

    check(f, [(X, n) for n in (3, 4, 5, True, 2.5, 3.5, False, 6, 7)], 5)


def test_writes():
    def f(x, y, n):
        y[:, n] = x
        y[n - 2 : n, 1:3].mul_(2)
        y[0, n, ...] += 1
        return y[n:].sum()

    check(f, [(torch.randn(6, 3), torch.zeros(6, 6, 3), n) for n in range(2, 5)], 2)


class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(12, 4))
        self.pointer = 0

    def forward(self, keys):
        self.rows[self.pointer : self.pointer + len(keys)] = keys
        self.pointer = (self.pointer + len(keys)) % 12
        return self.rows * 2, self.pointer


def test_an_attribute_that_counts():
    mine, other = Queue(), Queue()
    compiled = lect.compile(other)
    for _ in range(14):
        keys = torch.randn(2, 4)
        same(mine(keys), compiled(keys))
        same(mine.rows, other.rows)
    assert fallbacks() == [] and versions() == 2


def test_a_counter_across_a_break():
    def f(x, turns):
        found = []
        for i in range(turns):
            part = x[:, : i + 1].sum((1, 2))
            print(end="")
            found.append(part * i)
        return found

    compiled = lect.compile(f)
    for turns in (5, 17):
        same(f(X, turns), compiled(X, turns))
    assert versions() <= 6


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, w, n: torch.tanh(x[:, :n] @ w) * 2,
        lambda x, w, n: torch.tanh(x[:, n] @ w) * n,
        lambda x, w, n: torch.cat([x[:, :n].sin(), torch.zeros(3, 20 - n, 4)], 1) @ w,
        lambda x, w, n: (x[:, n:] @ w).mean(1),
    ],
)
def test_gradients(fn):
    compiled = lect.compile(fn)
    for n in range(2, 8):
        results = []
        for call in (fn, compiled):
            x, w = X.clone().requires_grad_(), torch.eye(4).requires_grad_()
            y = call(x, w, n)
            y.square().sum().backward()
            results.append((y.detach(), x.grad, w.grad))
        same(*results, scaled=True)
    assert fallbacks() == [] and versions() == 2


@pytest.mark.parametrize("guards", ["native", "python", "both"])
def test_guards(guards):
    """Values for which a version does not hold are refused by each kind of guards."""
    check(lambda x, n: x[:, :n] * 2, [(X, n) for n in [5, 6, *range(2, 20), 25, 30, 4, 1, 5, -3, -4, -5, 7, 20, 21] * 2], 8, options={"guards": guards})


def test_what_a_call_looks_at_is_left_to_a_step():
    """A text, a range and a key want the number itself: after some versions the frame is cut there."""

    def f(x, n):
        text = f"step {n}"
        return x * 2, text, {n: text}

    compiled = lect.compile(f)
    for n in range(30):
        same(f(X, n), compiled(X, n))
    assert any(isinstance(event, Break) and event.number == "LB0032" for event in lect.events())
    assert "LB0027" not in fallbacks()


def test_containers_times_a_number():
    """How often a container is repeated is asked for."""

    def f(x, n):
        return torch.cat([x] * n), n * (1, 2), [n] * 2

    compiled = lect.compile(f)
    for n in (1, 2, 3, 2):
        same(f(X, n), compiled(X, n))


def test_slices_of_lists_ask_for_their_numbers():
    """A number that torch may take as a size is a plain one for a list, a tuple, a text and a range."""
    held = [torch.full((2,), float(n)) for n in range(6)]

    def f(x, n):
        mine = list(held)
        mine[:n] = [x]
        del mine[n:]
        return x + sum(held[:n]) + sum(tuple(held)[1:n]), len("abcdef"[:n]), len(range(9)[n:]), mine, x[:n]

    compiled = lect.compile(f)
    for n in (1, 2, 3, 5, 3):
        same(f(torch.ones(2), n), compiled(torch.ones(2), n))
    assert lect.events("graph break", "fallback") == []
