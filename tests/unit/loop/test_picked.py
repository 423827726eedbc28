"""Elements that are picked out of a computed tensor: computed where they are read, with eager's values."""

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.runtime import entry


def largest_result(fn, *args):
    """What a compiled function gives, and the elements of the largest buffer that its nests make."""
    sizes = []

    def observe(stage, module):
        if stage == "loop":
            sizes.extend(value.type.numel for op in module.walk() if op.name == "loop.nest" for value in op.results)

    entry.RUNTIME.observe = observe
    try:
        with torch.no_grad():
            return lect.compile(fn, fullgraph=True)(*args), max(sizes)
    finally:
        del entry.RUNTIME.observe


def logits(*shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    x[0, 1], x[0, 2] = float("nan"), -float("inf")
    x[1] = x[1] * 0 - 0.0
    x[2, 0] = float("inf")
    return x


def targets(classes, *shape):
    t = torch.randint(0, classes, shape, generator=torch.Generator().manual_seed(2))
    t.view(-1)[-1] = 3
    return t


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(16, 40), (6, 9, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_cross_entropy_stores_no_logarithms(reduction, shape, dtype):
    x, t = logits(*shape).to(dtype), targets(shape[1], shape[0], *shape[2:])
    weight = torch.rand(shape[1], dtype=dtype)

    def loss(x, t, w):
        return F.cross_entropy(x, t, w, reduction=reduction, ignore_index=3)

    for start in (0, 3):  # with NaN and infinities, and without
        got, largest = largest_result(loss, x[start:].contiguous(), t[start:].contiguous(), weight)
        torch.testing.assert_close(got, loss(x[start:], t[start:], weight), rtol=1e-5 if dtype is torch.float32 else 1e-12, atol=1e-6, equal_nan=True)
        assert largest < x[start:].numel()


def test_a_target_out_of_range_is_still_an_error():
    x, t = torch.randn(4, 5), torch.tensor([1, 2, 5, 0])
    with pytest.raises((IndexError, RuntimeError)):
        largest_result(F.cross_entropy, x, t)


def test_logarithms_that_are_a_result_too_are_stored_once():
    def both(x, t):
        y = F.log_softmax(x, 1)
        return y, F.nll_loss(y, t)

    x, t = torch.randn(8, 30), targets(30, 8)
    (y, loss), largest = largest_result(both, x, t)
    torch.testing.assert_close((y, loss), both(x, t))
    assert largest == x.numel()


def test_rows_picked_from_a_computed_table():
    def pick(table, i):
        return (table * 2 + 1)[i.clamp(0, 99)]

    table, i = torch.randn(100, 4), torch.tensor([3, 99, 0, -7, 200])
    got, _ = largest_result(pick, table, i)
    assert torch.equal(got, pick(table, i))


def test_gradients_of_a_cross_entropy_are_eager_s():
    x = torch.randn(12, 33, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    t = targets(33, 12)
    lect.compile(F.cross_entropy)(x, t).backward()
    F.cross_entropy(y, t).backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_picked_from_what_depends_on_positions():
    """The positions are computed by a nest of their own, which its reader takes in before the elements are picked."""

    def pick(x, i):
        return (torch.arange(100, dtype=torch.float32)[:, None] * 3 + x)[i.clamp(0, 99)]

    x, i = torch.randn(100, 4), torch.tensor([3, 99, 0, -7, 200])
    got, _ = largest_result(pick, x, i)
    assert torch.equal(got, pick(x, i))


def test_classes_written_out_are_comparisons():
    t = torch.tensor([[2, 0], [1, 2]])
    fn = lambda t: F.one_hot(t, 3).float() * 2  # noqa: E731
    found, largest = largest_result(fn, t)
    assert torch.equal(found, fn(t)) and largest == 12
    for classes, shape in ((1, (5,)), (4, ()), (7, (3, 0))):
        t = torch.zeros(shape, dtype=torch.int64)
        got, want = lect.compile(lambda t, n=classes: F.one_hot(t, n))(t), F.one_hot(t, classes)
        assert torch.equal(got, want) and got.dtype is want.dtype and got.stride() == want.stride()
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        lect.compile(lambda t: F.one_hot(t, 3))(torch.tensor([0, 3]))


def test_a_sum_behind_a_group_norm_stores_no_normalised_elements():
    x, y = torch.randn(2, 12, 8, 8), torch.randn(2, 12, 8, 8)
    fn = lambda x, y: (F.group_norm(x, 4) * y).sum()  # noqa: E731
    found, largest = largest_result(fn, x, y)
    torch.testing.assert_close(found, fn(x, y))
    assert largest == 8
