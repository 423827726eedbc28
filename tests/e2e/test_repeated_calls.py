"""Torch calls that a frame makes several times with arguments of the same metadata, which are followed once: what must not be taken for the same."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def agree(program, *args, exact=True):
    """Two calls of the compiled program without autograd give eager's values, or its exception."""
    compiled = lect.compile(program)
    for _ in range(2):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with torch.no_grad():
            try:
                want = program(*theirs)
            except Exception as error:
                with pytest.raises(type(error)):
                    compiled(*mine)
            else:
                same(want, compiled(*mine), exact)
            same(theirs, mine, exact)


def test_numbers_that_are_equal_but_not_the_same():
    def program(x):
        return x * 1, x * 1.0, x * True, x + 0.0, x + -0.0, x - 0, x.clamp(min=0), x.clamp(min=0.0), x.clamp(min=-0.0)

    agree(program, torch.tensor([-0.0, 0.0, -1.0, float("nan")]))
    agree(program, torch.tensor([1, -2]))


def test_one_tensor_twice_and_two_tensors():
    def program(x, y):
        return x + y, x + x, y + y, y + x, torch.stack([x, y]), torch.stack([x, x]), torch.stack([y, x])

    agree(program, torch.randn(3), torch.randn(3))


def test_results_that_are_arguments():
    def program(x, y):
        a, b = x.contiguous(), y.contiguous()
        c, d = (x * 2).t().contiguous(), (y * 2).t().contiguous()
        return a is x, b is y, a is b, c is d, x.to(torch.float32) is x, y.to(torch.float32) is y, y.to(torch.float64) is y, a + c.t(), b + d.t()

    agree(program, torch.randn(3, 4), torch.randn(3, 4))


def test_views_that_are_written_to():
    def program(x, y):
        a, b = x.view(-1), y.view(-1)
        b.add_(1)
        a[0] = 7
        c, d = (x * 2).view(-1), (y * 2).view(-1)
        d.mul_(3)
        e = (x * 2).view(-1)
        return c, d, e, a, b, a.view(2, -1), b.view(2, -1)

    agree(program, torch.randn(4, 3), torch.randn(4, 3))


def test_views_of_views_of_what_the_frame_made():
    def program(x):
        bases = [x * 2, x * 2]
        views = [base.transpose(0, 1)[1:] for base in bases]
        views[1].zero_()
        bases[0].sub_(1)
        return bases, views, [base.sum() for base in bases]

    agree(program, torch.randn(4, 3), exact=False)


def test_written_results_are_not_taken_for_those_before():
    def program(x):
        a, b = x.relu(), x.relu()
        a.add_(1)
        c = x.relu()
        return a, b, c, a is b, F.relu(b, inplace=True) is b, F.relu(a, inplace=True) is a

    agree(program, torch.randn(5))


def test_random_numbers_are_drawn_each_time():
    def program(x):
        return F.dropout(x, 0.5), F.dropout(x, 0.5), F.dropout(x, 0.5, training=False), F.dropout(x, 0.5, training=False)

    compiled = lect.compile(program, options={"rng": "eager"})
    with torch.no_grad():
        x = torch.ones(1000)
        first, second, third, fourth = compiled(x)
    assert not torch.equal(first, second)
    assert torch.equal(third, x) and torch.equal(fourth, x)


def test_modes_between_equal_calls():
    def program(x, w):
        results = [F.linear(x, w)]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results.append(F.linear(x, w))
        results.append(F.linear(x, w))
        with torch.inference_mode():
            results.append(F.linear(x, w).clone())
        return [result.dtype for result in results], results[0] + results[2]

    agree(program, torch.randn(2, 4), torch.randn(3, 4), exact=False)


def test_autograd_switched_on_behind_views():
    def program(x, w):
        first, second = x.view(-1), (x * 1).view(-1)
        third = (x * 1).view(-1)
        with torch.enable_grad():
            product = (w.view(-1) * 2).sum()
            total = product * w.sum()
        return first, second + third, product, total, total.requires_grad, first.requires_grad

    agree(program, torch.randn(2, 3), torch.randn(2, 3).requires_grad_(), exact=False)


def test_training_frame_with_a_block_without_autograd():
    def program(x, w):
        with torch.no_grad():
            scale = x.abs().mean()
            other = x.abs().mean()
        return ((x * w) * scale + other).sum()

    compiled = lect.compile(program)
    for _ in range(2):
        x, w = torch.randn(3, 3), torch.randn(3, 3, requires_grad=True)
        twin = w.detach().clone().requires_grad_()
        want, got = program(x, w), compiled(x, twin)
        want.backward()
        got.backward()
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(twin.grad, w.grad)


def test_regions_do_not_take_calls_of_the_frame():
    def program(x):
        before = x.view(-1) + 1
        mapped = torch.func.vmap(lambda row: row.view(-1) + 1)(x)
        inner = torch.func.grad(lambda y: (y.view(-1) + 1).sum())(x)
        after = x.view(-1) + 1
        return before, mapped, inner, after

    agree(program, torch.randn(2, 3), exact=False)


def test_conjugated_tensors():
    def program(x):
        a, b = x * 2, x * 2
        c, d = a.conj(), b.conj()
        return c + 1, d + 1, c.resolve_conj(), d.resolve_conj(), a.imag * 1, b.imag * 1, x.real * 1

    agree(program, torch.randn(4, dtype=torch.complex64))


def test_deep_copy_of_a_view():
    def program(x):
        views = [(x + 1).view(-1) for _ in range(2)]
        copied = copy.deepcopy(views[1])
        views[1].add_(1)
        return views, copied

    agree(program, torch.randn(2, 3))


def test_strides_and_offsets_of_repeated_views():
    def program(x):
        rows = [x[number : number + 2].t() for number in range(3)]
        same_rows = [x[1:3].t() for _ in range(2)]
        return rows, same_rows, [row.storage_offset() for row in rows], [row.stride() for row in rows], x.split(2), x.split(2), x.chunk(3)[1]

    agree(program, torch.randn(6, 4))


def test_layers_are_followed_once():
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))

        def forward(self, x):
            for layer in self.layers:
                x = F.gelu(layer(x)).view(-1, 2, 2).transpose(1, 2).reshape(-1, 4)
            return x

    model = Stack().eval()
    agree(model, torch.randn(3, 4), exact=False)
    assert stops() == []
