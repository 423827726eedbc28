"""Training steps with sizes that change from call to call: one version for many sizes, and eager's values and gradients for each of them."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same

SIZES = (7, 9, 12, 2, 33)
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


def gradients(module, fn, given):
    """The value of a loss and the gradients of the parameters."""
    module.zero_grad()
    loss = fn(*given)
    loss.backward()
    return loss.detach(), [parameter.grad for parameter in module.parameters()]


def check(module, fn, make):
    """Compare a training step with eager's for each size, on fresh inputs; the first dim of each input is a symbol from the start."""
    compiled = lect.compile(fn)
    for size in SIZES:
        given = make(size)
        if size == SIZES[0]:
            for tensor in given:
                lect.mark_dynamic(tensor, 0)
        same(gradients(module, fn, given), gradients(module, compiled, given), scaled=True)
    assert sum(event.kind == "compile" for event in lect.events()) == 1
    assert not lect.events("static sizes") and not lect.events("fallback")


def head(features=4):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(8, features), nn.Tanh())


def rows(size):
    return torch.randn(size, 8), torch.rand(size, 4)


def classes(size):
    target = torch.randint(0, 4, (size,))
    target[0] = 2  # one that counts
    return torch.randn(size, 8), target


QUICK = ("mse", "mean", "weights", "smoothed")
REGRESSIONS = {
    "mse": F.mse_loss,
    "mse of sums": lambda x, y: F.mse_loss(x, y, reduction="sum"),
    "l1": F.l1_loss,
    "smooth l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.3),
    "huber": lambda x, y: F.huber_loss(x, y, delta=0.3),
    "soft margin": F.soft_margin_loss,
    "bce": lambda x, y: F.binary_cross_entropy(x * 0.4 + 0.5, y),
    "bce with logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor([1.0, 2.0, 0.5, 3.0])),
    "kl": lambda x, y: F.kl_div(x.log_softmax(-1), y, reduction="batchmean"),
    "mean": lambda x, y: (x * y).mean(),
    "mean of rows": lambda x, y: (x * y).mean(0).square().sum(),
    "divided by a size": lambda x, y: (x * y).sum() / x.shape[0],
}


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=SLOW) for name in REGRESSIONS])
def test_loss_of_numbers(name):
    model, loss = head(), REGRESSIONS[name]
    check(model, lambda x, y: loss(model(x), y), rows)


ENTROPIES = {
    "mean": {},
    "sum": {"reduction": "sum"},
    "smoothed": {"label_smoothing": 0.1},
    "ignored class": {"ignore_index": 1},
    "weights": {"weight": torch.tensor([0.5, 1.0, 2.0, 0.25])},
}


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=SLOW) for name in ENTROPIES])
def test_cross_entropy(name):
    model = head()
    check(model, lambda x, y: F.cross_entropy(model(x), y, **ENTROPIES[name]), classes)


@SLOW
def test_cross_entropy_of_each_row():
    model = head()
    check(model, lambda x, y: (F.cross_entropy(model(x), y, reduction="none") * x[:, 0]).sum(), classes)


def test_cross_entropy_of_images():
    model = nn.Conv2d(3, 4, 1)
    check(model, lambda x, y: F.cross_entropy(model(x), y), lambda size: (torch.randn(size, 3, 3, 3), torch.randint(0, 4, (size, 3, 3))))


def test_target_out_of_range_is_an_error_for_every_size():
    model = head()
    compiled = lect.compile(lambda x, y: F.cross_entropy(model(x), y))
    for size in (5, 6, 7):
        compiled(torch.randn(size, 8), torch.zeros(size, dtype=torch.int64))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(torch.randn(8, 8), torch.full((8,), 4))


def test_other_number_of_targets_is_an_error():
    model = head()
    compiled = lect.compile(lambda x, y: F.cross_entropy(model(x), y))
    for size in (5, 6):
        compiled(torch.randn(size, 8), torch.zeros(size, dtype=torch.int64))
    with pytest.raises((ValueError, RuntimeError), match="batch_size"):
        compiled(torch.randn(7, 8), torch.zeros(8, dtype=torch.int64))


@pytest.mark.parametrize("training", [pytest.param(False, marks=SLOW), True])
def test_convolution_normalisation_and_pooling(training):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    model.train(training)
    check(model, lambda x, y: F.cross_entropy(model(x), y), lambda size: (torch.randn(size, 3, 8, 8), torch.randint(0, 4, (size,))))


@SLOW
def test_encoder_layer():
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    check(layer, lambda x: layer(x).square().mean(), lambda size: (torch.randn(size, 5, 16),))


def test_gradient_of_a_selection_along_the_dim():
    model = head()
    check(model, lambda x: model(x)[-1].sum() + model(x)[1:].square().mean(), lambda size: (torch.randn(size + 1, 8),))


def test_second_size_makes_the_dim_a_symbol():
    """The gradient of the input has it too; the first version is for the sizes at hand."""
    compiled = lect.compile(lambda x, y: F.mse_loss(x.sin(), y))
    for size in SIZES:
        x, y = torch.randn(size, 4, requires_grad=True), torch.randn(size, 4)
        (want,) = torch.autograd.grad(F.mse_loss(x.sin(), y), x)
        same(want, torch.autograd.grad(compiled(x, y), x)[0])
    assert sum(event.kind == "compile" for event in lect.events()) == 2
