"""Gradients lie in memory as eager's do, however the gradients lie that they are computed from."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same
from tests.e2e.test_compiled_training import in_native_code, operators

WEIGHT = torch.randn(4, 4, 3, 3)
PROGRAMS = {
    "sum with a number": lambda x: x + 1,
    "product": lambda x: x * x,
    "turned": lambda x: (x * 2).mT,
    "activations": lambda x: F.hardswish(F.relu(x)) + F.leaky_relu(torch.tanh(x)),
    "reshaped": lambda x: (x * 2).reshape(x.shape[0], -1),
    "softmax": lambda x: torch.log_softmax(x, -1),
    "product of matrices": lambda x: x @ x.mT,
    "convolution": lambda x: F.conv2d(x, WEIGHT),
    "pools": lambda x: F.max_pool2d(F.avg_pool2d(x, 1), 2),
    "norms": lambda x: F.layer_norm(F.group_norm(x, 2), x.shape[-1:]),
    "joined": lambda x: torch.cat([x, x * 2]),
    "folded": lambda x: x.sum(0) * 2,
    "padded": lambda x: F.pad(x, (1, 1)),
    "several": lambda x: (x.exp(), x[0] * 2),
}
OF_IMAGES = ("activations", "convolution", "pools", "norms")


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def layouts(shape):
    """Random numbers of one shape in every kind of layout."""
    yield torch.randn(shape)
    yield torch.randn(()).expand(shape)
    if len(shape) >= 2:
        yield torch.randn(shape).mT.contiguous().mT
        yield torch.randn(shape[:1] + (1,) * (len(shape) - 1)).expand(shape)
        yield torch.randn(*shape[:-1], shape[-1] * 2)[..., ::2]
    if len(shape) == 4:
        yield torch.randn(shape).contiguous(memory_format=torch.channels_last)


def slopes(run, x, gradients):
    x = x.detach().requires_grad_()
    out = run(x)
    found = torch.autograd.grad(out if isinstance(out, tuple) else (out,), x, gradients)
    return found, [slope.stride() for slope in found]


@pytest.mark.parametrize(("name", "channels_last"), [*((name, False) for name in PROGRAMS), *((name, True) for name in OF_IMAGES)])
def test_gradients_lie_as_eagers(name, channels_last):
    if name == "convolution" and torch.__version__ < "2.12":
        pytest.skip("torch's meta kernel and its kernel for the CPU disagree about layouts before 2.12")
    program = PROGRAMS[name]
    compiled = lect.compile(program)
    x = torch.randn(2, 4, 6, 6).contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    with torch.no_grad():
        out = program(x)
    for given in zip(*[layouts(tuple(each.shape)) for each in (out if isinstance(out, tuple) else (out,))]):
        same(slopes(program, x, given), slopes(compiled, x, given), scaled=True)
    in_native_code()


def test_a_gradient_that_is_the_given_one():
    """Where nothing is computed, eager hands on the very memory that it was given."""
    compiled = lect.compile(lambda x: x + 1)
    x = torch.randn(3, 4).requires_grad_()
    given = torch.randn(4, 3).t()
    (slope,) = torch.autograd.grad(compiled(x), x, given)
    assert slope.stride() == (1, 3)
    assert slope.data_ptr() == given.data_ptr()


def test_parameters_in_channels_last_have_gradients_in_it():
    def use(run):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).to(memory_format=torch.channels_last)
        x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1)).contiguous(memory_format=torch.channels_last).requires_grad_()
        (model if run is None else run(model))(x).sum().backward()
        gradients = [x.grad, *[parameter.grad for parameter in model.parameters()]]
        return gradients, [each.stride() for each in gradients]

    same(use(None), use(lect.compile), scaled=True)
    in_native_code()


def test_more_layouts_than_are_compiled_for():
    """Behind the limit gradients are copied, and have eager's values."""
    compiled = lect.compile(lambda x: x * x)
    x = torch.randn(2, 3).requires_grad_()
    for gap in range(1, 14):
        given = torch.randn(2, 3 * gap)[:, ::gap]
        (slope,) = torch.autograd.grad(compiled(x), x, given)
        torch.testing.assert_close(slope, 2 * given * x.detach())
    in_native_code()
    assert 2 < len(lect.events("backward")) < 13


def test_one_compile_for_each_layout():
    compiled = lect.compile(lambda x: torch.tanh(x))
    x = torch.randn(3, 4).requires_grad_()
    for _ in range(3):
        compiled(x).sum().backward()
        compiled(x).backward(torch.ones(3, 4))
    assert len(lect.events("backward")) == 2


def test_another_layout_reads_what_the_forward_kept():
    """A backward for another layout computes no product again, and draws nothing."""

    def program(x, w):
        h = x
        for _ in range(6):
            h = F.dropout(torch.tanh(h @ w), 0.5)
        return h

    compiled = lect.compile(program, options={"host": "python"})  # whose calls of the library the profiler sees
    x, w = torch.randn(6, 4).requires_grad_(), torch.randn(4, 4).requires_grad_()
    given = torch.randn(4, 6).t()
    out = compiled(x, w)
    found = torch.autograd.grad(out, (x, w), given, retain_graph=True)
    same(torch.autograd.grad(out, (x, w), given.contiguous()), found, scaled=True)
    in_native_code()
    names = operators(lambda: compiled(x, w).backward(given))
    assert names.count("aten::mm") == 6 + 12
    assert "aten::tanh" not in names
    assert "aten::bernoulli_" not in names
