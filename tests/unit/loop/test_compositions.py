"""ATen overloads that become compositions of operations: no library call is left, and the values are eager's."""

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.passes.convert.functional_to_loop_gather import CHECK
from lect.runtime import entry
from tests.e2e.support import same

aten = torch.ops.aten


def run(fn, *args):
    """What a compiled function gives, and the library functions and opaque operators that it calls."""
    called = []

    def observe(stage, module):
        if stage == "aot":
            called.extend(op.target.leaf for op in module.walk() if op.name == "functional.opaque")
        if stage == "kernel":
            called.extend(op.callee.leaf for op in module.walk() if op.name == "host.extern")

    entry.RUNTIME.observe = observe
    try:
        return lect.compile(fn, fullgraph=True)(*args), [name for name in called if name != CHECK]
    finally:
        del entry.RUNTIME.observe


def floats(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


I = torch.tensor([3, 0, 3, 1])  # noqa: E741
def labels_backward(g, x, t):
    return aten.multilabel_margin_loss_backward(g, x, t, 0, aten.multilabel_margin_loss_forward(x, t, 0)[1])


NORMS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))
LABELS = torch.tensor([[3, 0, -1, 1, 4], [-1, 0, 0, 0, 0], [2, 2, 1, -1, 0], [0, 1, 2, 3, 4]])
CASES = {
    "index_add": (lambda x, i, s: x.index_add(0, i, s, alpha=2), floats(5, 6), I, floats(4, 6, seed=1)),
    "index_add of halves": (lambda x, i, s: x.index_add(0, i, s), floats(5, 6).bfloat16(), I, floats(4, 6, seed=1).bfloat16()),
    "index_add in the middle": (lambda x, i, s: x.index_add(1, i, s), floats(2, 5, 6).bfloat16(), I, floats(2, 4, 6, seed=1).bfloat16()),
    "index_add to 0-d": (lambda x, i, s: x.index_add(0, i, s), floats(), I[1:2], floats()),
    "index_copy": (lambda x, i, s: x.index_copy(1, i, s), floats(5, 6), I[1:], floats(5, 3, seed=1)),
    "index_fill": (lambda x, i: x.index_fill(0, i - 5, 2.5), floats(5, 6), I),
    "index_reduce": (lambda x, i, s: x.index_reduce(0, i, s, "mean", include_self=False), floats(5, 6), I, floats(4, 6, seed=1)),
    "put": (lambda x, i, s: x.put(i, s, accumulate=True), floats(5, 6).t(), I, floats(4, seed=1)),
    "scatter multiply": (lambda x, i: x.scatter(0, i, 2.0, reduce="multiply"), floats(5), I),
    "gather of 0-d": (lambda x, i: x.gather(0, i), floats(), I[1:2]),
    "index_select of 0-d": (lambda x, i: x.index_select(0, i), floats(), I[1:2]),
    "masked index": (lambda x, m, i: aten._unsafe_masked_index(x, m, [i * 9], 7.0), floats(5, 6), torch.tensor([True, False, True, True])[:, None], I),
    "masked_scatter": (lambda x, m, s: x.masked_scatter(m > 0, s), floats(5, 6), floats(5, 6, seed=1), floats(40)),
    "addbmm": (lambda a, x, y: torch.addbmm(a, x, y, beta=0.5, alpha=2), floats(3, 5), floats(4, 3, 2), floats(4, 2, 5)),
    "addr": (lambda a, x, y: torch.addr(a, x, y, beta=0.5, alpha=2), floats(3, 5), floats(3), floats(5)),
    "addr without the addend": (lambda a, x, y: torch.addr(a, x, y, beta=0), torch.full((3, 5), float("nan")), floats(3), floats(5)),
    "bilinear": (lambda x, y, w, b: F.bilinear(x, y, w, b), floats(4, 3), floats(4, 5), floats(2, 3, 5), floats(2)),
    "cdist": (lambda x, y: torch.cdist(x, y, p=3.0), floats(2, 4, 3), floats(2, 5, 3)),
    "cdist backward": (lambda g, x, y: [aten._cdist_backward(g, x, y, p, torch.cdist(x, y, p)) for p in NORMS], floats(4, 5), floats(4, 3), floats(5, 3, seed=1)),
    "cdist of a batch": (lambda x, y: torch.cdist(x, y, p=1.0), floats(1, 4, 3), floats(2, 1, 5, 3)),
    "pdist": (lambda x: [F.pdist(x, p) for p in NORMS], floats(9, 3)),
    "pdist backward": (lambda g, x: [aten._pdist_backward(g, x, p, F.pdist(x, p)) for p in NORMS], floats(36), floats(9, 3)),
    "multi_margin": (lambda x, t, w: F.multi_margin_loss(x, t, p=2, margin=0.5, weight=w), floats(4, 5), I, floats(5)),
    "multi_margin backward": (lambda g, x, t: aten.multi_margin_loss_backward(g, x, t, 1, 0.5), floats(), floats(4, 5), I),
    "multilabel_margin": (lambda x, t: F.multilabel_margin_loss(x, t, reduction="none"), floats(4, 5), LABELS),
    "multilabel_margin backward": (lambda g, x, t: labels_backward(g, x, t), floats(4), floats(4, 5), LABELS),
    "replicate what is cut off": (lambda x: F.pad(x, (-4, 5, 2, -4), mode="replicate"), floats(2, 3, 4, 4)),
    "linspace of no steps": (lambda x: (torch.linspace(x, 3, 0), torch.logspace(1, x, 0)), floats()),
    "scatter of nothing": (lambda x, i: x.scatter_add(0, i, x.new_zeros(2, 0)), floats(5), torch.zeros(2, 0, dtype=torch.int64)),
    "renorm": (lambda x: torch.renorm(x, 2, 1, 1.5), floats(5, 6)),
    "block_diag": (lambda x, y, z: torch.block_diag(x, y, z), floats(2, 3), floats(4), floats()),
    "unfold": (lambda x: F.unfold(x, (2, 3), dilation=2, padding=1, stride=2), floats(2, 3, 7, 8)),
    "unfold_copy": (lambda x: torch.unfold_copy(x, 1, 3, 2), floats(4, 9)),
    "unfold_backward": (lambda g: aten.unfold_backward(g, [4, 9, 2], 1, 3, 2), floats(4, 4, 2, 3)),
    "col2im": (lambda x: F.fold(x, (7, 8), (2, 3), dilation=2, padding=1, stride=2), floats(2, 18, 12)),
    "max_unpool": (lambda x, i: aten.max_unpool2d(x, i, [4, 4]), floats(1, 2, 2), torch.tensor([[[0, 7], [9, 14]]])),
    "linspace": (lambda x: x + torch.linspace(-1.5, 7, 13), floats(13)),
    "linspace of integers": (lambda x: torch.linspace(0, 10, 4, dtype=torch.int64) + x, I),
    "logspace": (lambda x: x + torch.logspace(-1, 1, 5, base=2), floats(5)),
    "angle": (torch.angle, torch.tensor([-1.0, 0.0, -0.0, 2.0, float("nan"), -float("inf")])),
    "huber backward": (lambda g, x, t: aten.huber_loss_backward(g, x, t, 1, 0.7), floats(), floats(5, 6), floats(5, 6, seed=1)),
    "smooth_l1 backward": (lambda g, x, t: aten.smooth_l1_loss_backward(g, x, t, 0, 0.7), floats(5, 6, seed=2), floats(5, 6), floats(5, 6, seed=1)),
    "bce backward": (lambda g, x, t: aten.binary_cross_entropy_backward(g, x, t, t, 1), floats(), floats(5, 6).sigmoid(), floats(5, 6, seed=1).sigmoid()),
    "soft_margin backward": (lambda g, x, t: aten.soft_margin_loss_backward(g, x, t, 2), floats(), floats(5, 6), floats(5, 6, seed=1)),
    "logit backward": (lambda g, x: (aten.logit_backward(g, x), aten.logit_backward(g, x, 0.3)), floats(5, 6), floats(5, 6, seed=1).sigmoid() * 1.5),
    "prelu backward": (lambda g, x, w: aten._prelu_kernel_backward(g, x, w), floats(5, 6), floats(5, 6, seed=1), floats(6)),
    "searchsorted of a number": (lambda x: torch.searchsorted(x.sort().values * 2, 0.25, side="right"), floats(9)),
    "std of halves": (lambda x: torch.std_mean(x, 1), floats(5, 60).bfloat16()),
    "round to decimals": (lambda x: torch.round(x, decimals=2), floats(5, 60).bfloat16()),
    "cross of halves": (lambda x, y: torch.linalg.cross(x, y), floats(5, 3).bfloat16(), floats(5, 3, seed=1).bfloat16()),
    "hardtanh of integers": (lambda x: F.hardtanh(x, -1, 2), I - 2),
    "threshold of integers": (lambda x: F.threshold(x, 1, 7), I),
    "nothing": (lambda x: torch.renorm(x.bfloat16(), 2, 1, 1.5), floats(0, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_composition(name):
    fn, *args = CASES[name]
    found, called = run(fn, *args)
    assert not [call for call in called if "mm" not in call and "sort" not in call], called
    same(fn(*args), found)


def test_gradient_of_masked_scatter():
    def step(x, m, s):
        x, s = x.detach().requires_grad_(), s.detach().requires_grad_()
        (x.masked_scatter(m > 0, s) * 3).sum().backward()
        return x.grad, s.grad

    args = floats(5, 6), floats(5, 6, seed=1), floats(40)
    same(step(*args), lect.compile(step)(*args))


@pytest.mark.parametrize("broken", ["short source", "index", "class", "divisor", "label", "margin"])
def test_what_raises_in_eager_raises_here(broken):
    fn, *args = {
        "short source": (lambda x, m, s: x.masked_scatter(m, s), floats(4), torch.tensor([True] * 4), floats(3)),
        "index": (lambda x, i, s: x.index_add(0, i, s), floats(3, 2), I, floats(4, 2)),
        "class": (lambda x, t: F.cross_entropy(x, t), floats(4, 3), I),
        "divisor": (lambda x, y: x // y, I, I),
        "label": (lambda x, t: F.multilabel_margin_loss(x, t), floats(2, 5), LABELS[:2] * 2 - 1),
        "margin": (lambda x, t: F.multi_margin_loss(x, t), floats(4, 3), I),
    }[broken]
    with pytest.raises(Exception) as wanted:  # noqa: PT011
        fn(*args)
    with pytest.raises(type(wanted.value)) as found:
        lect.compile(fn)(*args)
    assert str(found.value) == str(wanted.value)
