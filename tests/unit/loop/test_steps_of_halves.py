"""16-bit floats are rounded where eager rounds them: values are eager's to the bit, and no library call is left."""

import pytest
import torch
import torch.nn.functional as F

from tests.unit.loop.test_compositions import run

aten = torch.ops.aten
LEFT = ("mm", "addmv")  # products are the library's


def floats(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def near_one(*shape):
    return 1 + floats(*shape) / 8


X, T, G = (floats(50, 64, seed=seed) for seed in range(3))
I = torch.randint(0, 5, (40,), generator=torch.Generator().manual_seed(7))  # noqa: E741
MEAN, NONE = 1, 0


def bilinear_gradients(a, b, w):
    a, b, w = (value.detach().requires_grad_() for value in (a, b, w))
    found = F.bilinear(a, b, w)
    return torch.autograd.grad(found, (a, b, w), torch.linspace(0.5, 1.5, found.numel()).reshape(found.shape).bfloat16())


CASES = {
    "mse backward": (lambda g, x, t: (aten.mse_loss_backward(g, x, t, MEAN), aten.mse_loss_backward(g, x, t, NONE)), G, X, T),
    "huber backward": (lambda g, x, t: (aten.huber_loss_backward(g, x, t, MEAN, 0.5), aten.huber_loss_backward(g, x, t, NONE, 0.5)), G, X, T),
    "smooth_l1 backward": (lambda g, x, t: aten.smooth_l1_loss_backward(g, x, t, NONE, 0.5), G, X, T),
    "soft_margin backward": (lambda g, x, t: aten.soft_margin_loss_backward(g, x, t, MEAN), G, X, T),
    "bce backward": (lambda g, x, t: aten.binary_cross_entropy_backward(g, x, t, t, MEAN), G, X.sigmoid(), T.sigmoid()),
    "addr": (lambda a, x, y: torch.addr(a, x, y, beta=0.3, alpha=0.7), X, floats(50), floats(64)),
    "addmv": (lambda a, x, y: torch.addmv(a, x, y, beta=0.3, alpha=0.7), floats(50), X, floats(64)),
    "addbmm": (lambda a, x, y: torch.addbmm(a, x, y, beta=0.3, alpha=0.7), floats(9, 7), floats(5, 9, 6), floats(5, 6, 7)),
    "bilinear": (lambda a, b, w: F.bilinear(a, b, w), floats(9, 5), floats(9, 6), floats(4, 5, 6)),
    "bilinear backward": (bilinear_gradients, floats(9, 5), floats(9, 6), floats(4, 5, 6)),
    "dist": (lambda x, y: torch.dist(x, y, 3), X, T),
    "renorm": (lambda x: torch.renorm(x, 2, 1, 1.5), X),
    "embedding with a largest norm": (lambda w, i: F.embedding(i, w.clone(), max_norm=1.0), floats(5, 64), I),
    "index_add": (lambda x, i, s: x.index_add(1, i, s, alpha=-2), floats(4, 5, 3), I, floats(4, 40, 3)),
    "index_add of one dim": (lambda x, i, s: x.index_add(0, i, s, alpha=0.7), floats(5), I, floats(40)),
    "index_reduce mean": (lambda x, i, s: x.index_reduce(1, i, s, "mean"), floats(4, 5, 3), I, floats(4, 40, 3)),
    "index_reduce prod": (lambda x, i, s: x.index_reduce(0, i, s, "prod", include_self=False), floats(5), I, near_one(40)),
    "prod of rows": (lambda x: x.prod(2), near_one(5, 6, 7)),
    "prod of columns": (lambda x: x.prod(0), near_one(30, 40)),
    "prod in turned memory": (lambda x: x.transpose(0, 2).prod(1), near_one(20, 30, 40)),
    "prod of all": (lambda x: x.prod(), near_one(3, 4, 5)),
    "prod of a sum type": (lambda x: x.prod(0, dtype=torch.bfloat16), near_one(30, 40).float() + 1e-3),
    "unfold backward": (lambda g: aten.unfold_backward(g, [4, 30, 2], 1, 7, 2), floats(4, 12, 2, 7)),
    "fold": (lambda x: F.fold(x, (17, 18), (4, 3), dilation=2, padding=1), floats(2, 24, 208)),
    "reflection_pad1d backward": (lambda g, x: aten.reflection_pad1d_backward(g, x, [4, 7]), floats(3, 20), floats(3, 9)),
    "reflection_pad2d backward": (lambda g, x: aten.reflection_pad2d_backward(g, x, [-2, 3, 1, -1]), floats(2, 9, 12), floats(2, 9, 11)),
    "replication_pad3d backward": (lambda g, x: aten.replication_pad3d_backward(g, x, [4, 3, 2, -3, 1, 2]), floats(2, 7, 4, 13), floats(2, 4, 5, 6)),
    "nll": (lambda x, t: F.nll_loss(x, t, ignore_index=2), floats(16, 5), I[:16]),
    "nll with weights": (lambda x, t, w: F.nll_loss(x, t, w, reduction="sum"), floats(16, 5), I[:16], near_one(5)),
    "nll of maps": (lambda x, t, w: F.nll_loss(x, t, w), floats(2, 5, 4), I[:8].reshape(2, 4), near_one(5)),
    "nll of one": (lambda x, t: F.nll_loss(x, t), floats(5), I[0]),
    "cross entropy": (lambda x, t: F.cross_entropy(x, t), floats(9, 5), I[:9]),
    "chunk_cat": (lambda x, y: torch._chunk_cat([x, y], 1, 3), floats(4, 5, 6), floats(4, 7)),
}


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_eager(name):
    fn, *args = CASES[name]
    found, called = run(fn, *args)
    assert not [call for call in called if not any(part in call for part in LEFT)], called
    want = fn(*args)
    for a, b in zip(want if isinstance(want, tuple) else (want,), found if isinstance(found, tuple) else (found,)):
        assert (a.dtype, a.stride()) == (b.dtype, b.stride())
        torch.testing.assert_close(b, a, rtol=0, atol=0, equal_nan=True)


def test_a_long_row_of_factors_is_within_one_rounding():
    x = near_one(3, 500)
    found, called = run(lambda x: x.prod(1), x)
    assert not called
    torch.testing.assert_close(found, x.double().prod(1).bfloat16(), rtol=2.0**-7, atol=0)
