"""Gradients of layer_norm and group_norm are own kernels, of long layer_norms of f32 the library's; both are eager's."""

from __future__ import annotations

import pytest
import torch

import lect
from lect.runtime import entry

F = torch.nn.functional


def gradients(function, tensors, called=None):
    """The gradients of a function's results, weighted; compiled if `called` is given, to which library calls of the backward are added."""

    def observe(stage, module):
        if stage == "backward-kernel":
            called.extend(op.callee.leaf for op in module.walk() if op.name == "host.extern")

    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    if called is not None:
        entry.RUNTIME.observe = observe
    try:
        output = (function if called is None else lect.compile(function))(*leaves)
        return torch.autograd.grad(output, leaves, torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape))
    finally:
        if called is not None:
            del entry.RUNTIME.observe


def check(function, *tensors, library=(), exact=True):
    called = []
    found = gradients(function, tensors, called)
    assert called == list(library)
    wanted = gradients(function, tensors if exact else [tensor.double() for tensor in tensors])
    for want, got in zip(wanted, found):
        assert want.stride() == got.stride() and want.shape == got.shape
        loose = {"rtol": 2e-2, "atol": 2e-2} if not exact else {"rtol": 2e-5, "atol": 2e-5} if got.dtype is torch.float32 else {}
        torch.testing.assert_close(got.to(want.dtype), want, equal_nan=True, **loose)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_layer_norm(dtype):
    x, weight, bias = torch.randn(3, 5, 8).to(dtype), torch.randn(8).to(dtype), torch.randn(8).to(dtype)
    exact = dtype is not torch.bfloat16
    check(lambda x, w, b: F.layer_norm(x, (8,), w, b), x, weight, bias, exact=exact)
    if exact:
        check(lambda x: F.layer_norm(x, (5, 8)), x)
        check(lambda x, w, b: F.layer_norm(x, (8,), w, b), x[:0], weight, bias)
        check(lambda x, w: F.layer_norm(x, (8,), w), x.transpose(0, 1), weight)
        x[0, 0, 0], x[1, 1, 1] = float("nan"), float("inf")
        check(lambda x, w, b: F.layer_norm(x, (8,), w, b), x, weight, bias)


def test_own_kernels_for_a_long_layer_norm_whose_gradient_is_elementwise():
    x, weight, bias = torch.randn(300, 256), torch.randn(256), torch.randn(256)
    check(lambda x, w, b: F.layer_norm(x, (256,), w, b).sin(), x, weight, bias)


def test_no_own_kernel_for_a_long_layer_norm():
    x, weight, bias = torch.randn(300, 256), torch.randn(256), torch.randn(256)
    check(lambda x, w, b: F.layer_norm(x, (256,), w, b), x, weight, bias, library=["aten.native_layer_norm_backward.default"])


def test_group_norm():
    x, weight, bias = torch.randn(2, 6, 3, 4), torch.randn(6), torch.randn(6)
    for groups in (1, 3, 6):
        check(lambda x, w, b: F.group_norm(x, groups, w, b), x, weight, bias)
    check(lambda x: F.group_norm(x, 2), x)
    check(lambda x, w, b: F.group_norm(x, 2, w, b), x[:, :, 0, 0].contiguous(), weight, bias)
