"""Eleven kernels as they stand in models and optimizers, each with its own shape."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch.nn import functional as F

from benchmarks.workloads import Builder, Workload


def pick(device: str, gpu: int, cpu: int) -> int:
    """A size for the device."""
    return gpu if device == "cuda" else cpu


def kind(device: str) -> torch.dtype:
    """The dtype that models have there."""
    return torch.bfloat16 if device == "cuda" else torch.float32


def bias_gelu(device: str) -> Workload:
    """A bias and an activation."""
    n = pick(device, 8192, 1024)
    x, b = torch.randn(n, n, device=device, dtype=kind(device)), torch.randn(n, device=device, dtype=kind(device))
    return Workload(lambda x, b: F.gelu(x + b, approximate="tanh") * 1.5, (x, b))


def softmax_rows(device: str) -> Workload:
    """Softmax in f32."""
    n = pick(device, 8192, 1024)
    return Workload(lambda x: torch.softmax(x.float(), -1).to(x.dtype), (torch.randn(n, n, device=device, dtype=kind(device)),))


def residual_layernorm(device: str) -> Workload:
    """A sum and a layer norm."""
    rows, width = pick(device, 65536, 4096), 1024
    x, y = [torch.randn(rows, width, device=device, dtype=kind(device)) for _ in range(2)]
    w, b = [torch.randn(width, device=device, dtype=kind(device)) for _ in range(2)]
    return Workload(lambda x, y, w, b: F.layer_norm(x + y, (width,), w, b), (x, y, w, b))


def rmsnorm_backward(device: str) -> Workload:
    """An RMS norm with its backward."""
    rows, width = pick(device, 32768, 2048), 2048
    x = torch.randn(rows, width, device=device, dtype=kind(device), requires_grad=True)
    w = torch.randn(width, device=device, dtype=kind(device), requires_grad=True)

    def fn(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (h.to(x.dtype) * w).float().square().mean()

    return Workload(fn, (x, w), train=True)


def cross_entropy_backward(device: str) -> Workload:
    """A loss over a vocabulary with its backward."""
    rows, words = pick(device, 8192, 1024), pick(device, 50304, 8192)
    x = torch.randn(rows, words, device=device, dtype=kind(device), requires_grad=True)
    t = torch.randint(0, words, (rows,), device=device)
    return Workload(lambda x, t: F.cross_entropy(x.float(), t), (x, t), train=True)


def column_sum(device: str) -> Workload:
    """Squares summed over rows."""
    n = pick(device, 16384, 4096)
    return Workload(lambda x: (x * x).sum(0), (torch.randn(n, n // 2, device=device),))


def transpose_add(device: str) -> Workload:
    """A transposed matrix and another."""
    n = pick(device, 8192, 2048)
    x, y = [torch.randn(n, n, device=device) for _ in range(2)]
    return Workload(lambda x, y: (x.t() + y).contiguous(), (x, y))


def adam_foreach(device: str) -> Workload:
    """A step of Adam over many tensors."""
    n = pick(device, 100, 20)
    p, g, m, v = [[torch.rand(512, 512, device=device) for _ in range(n)] for _ in range(4)]

    def fn(p: list[torch.Tensor], g: list[torch.Tensor], m: list[torch.Tensor], v: list[torch.Tensor]) -> None:
        torch._foreach_lerp_(m, g, 0.1)
        torch._foreach_mul_(v, 0.999)
        torch._foreach_addcmul_(v, g, g, 0.001)
        d = torch._foreach_sqrt(v)
        torch._foreach_add_(d, 1e-8)
        torch._foreach_addcdiv_(p, m, d, -1e-3)

    return Workload(fn, (p, g, m, v), mutates=True)


def mlp_epilogue(device: str) -> Workload:
    """A product with a bias, an activation and a square."""
    n = pick(device, 4096, 512)
    x, w = [torch.randn(n, n, device=device, dtype=kind(device)) * 0.02 for _ in range(2)]
    b = torch.randn(n, device=device, dtype=kind(device))
    return Workload(lambda x, w, b: F.relu(torch.addmm(b, x, w)) ** 2, (x, w, b))


def tiny_chain(device: str) -> Workload:
    """Sixty dependent operations on 64 numbers: only overhead."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = torch.sin(x) * 1.1 + 0.1
        return x

    return Workload(fn, (torch.randn(64, device=device),))


def many_small_mm(device: str) -> Workload:
    """Forty small products with pointwise work between them."""
    weights = [torch.randn(64, 64, device=device) * 0.1 for _ in range(40)]

    def fn(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
        for w in weights:
            x = torch.tanh(x @ w) + x
        return x

    return Workload(fn, (torch.randn(64, 64, device=device), weights))


KERNELS: Mapping[str, Builder] = MappingProxyType(
    {
        builder.__name__: builder
        for builder in (
            bias_gelu, softmax_rows, residual_layernorm, rmsnorm_backward, cross_entropy_backward, column_sum, transpose_add, adam_foreach, mlp_epilogue,
            tiny_chain, many_small_mm,
        )
    }
)  # fmt: skip
