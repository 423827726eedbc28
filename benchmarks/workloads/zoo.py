"""The kernel zoo: one small function for each way in which memory is walked, forward and, where a gradient is a kernel of its own, with the backward.

Large inputs have 1 to 4 million elements: beyond the second cache, in two cores' reach.  Names that end in `_backward` run both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.workloads import Builder, Workload

Inputs = Callable[..., Sequence[Any]]


def randn(*sizes: int, dtype: torch.dtype = torch.float32) -> Callable[[str], torch.Tensor]:
    """Makes a normal tensor on a device."""
    return lambda device: torch.randn(*sizes, device=device).to(dtype)


def randint(high: int, *sizes: int) -> Callable[[str], torch.Tensor]:
    """Makes positions below `high`."""
    return lambda device: torch.randint(0, high, sizes, device=device)


def _forward(fn: Callable[..., Any], *makers: Callable[[str], torch.Tensor]) -> Builder:
    return lambda device: Workload(fn, tuple([make(device) for make in makers]))


def _backward(fn: Callable[..., Any], *makers: Callable[[str], torch.Tensor]) -> Builder:
    """The function with the backward of a weighted sum of its result, for all float inputs; the weights are one more input."""

    def build(device: str) -> Workload:
        args = [make(device) for make in makers]
        args = [value.requires_grad_() if value.is_floating_point() else value for value in args]
        with torch.no_grad():
            weights = torch.randn_like(fn(*args))
        return Workload(lambda *given: (fn(*given[:-1]) * given[-1]).sum(), (*args, weights), train=True)

    return build


def _rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def _rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def _batch_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, None, None, w, b, training=True)


def _focal(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    p = torch.sigmoid(x)
    return (F.binary_cross_entropy_with_logits(x, y, reduction="none") * (1 - p) ** 2).mean()


def _standardize(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)


HALF = torch.bfloat16
POINTWISE: Mapping[str, Builder] = MappingProxyType(
    {
        "gelu_tanh": _forward(lambda x: F.gelu(x, approximate="tanh"), randn(1 << 21)),
        "gelu_erf": _forward(lambda x: F.gelu(x) + 0, randn(1 << 21)),
        "silu_mul": _forward(lambda x, y: F.silu(x) * y, randn(1 << 21), randn(1 << 21)),
        "silu_mul_bf16": _forward(lambda x, y: F.silu(x) * y, randn(1 << 21, dtype=HALF), randn(1 << 21, dtype=HALF)),
        "bias_residual": _forward(lambda x, b, r: x + b + r, randn(2048, 1024), randn(1024), randn(2048, 1024)),
        "sin_cos_exp": _forward(lambda x: torch.sin(x) * torch.cos(x) + torch.exp(-x * x), randn(1 << 20)),
        "log1p_pow": _forward(lambda x: torch.log1p(x.abs()).pow(1.5), randn(1 << 20)),
        "clamp_where": _forward(lambda x, y: torch.where(x > y, x.clamp(-1, 1), y), randn(1 << 21), randn(1 << 21)),
        "int_arithmetic": _forward(lambda x: (x * 3 + 7) % 11, randint(1000, 1 << 20)),
        "compare_to_bool": _forward(lambda x, y: (x > 0) & (y < 0), randn(1 << 21), randn(1 << 21)),
        "gelu_backward": _backward(F.gelu, randn(1 << 20)),
        "silu_mul_backward": _backward(lambda x, y: F.silu(x) * y, randn(1 << 20), randn(1 << 20)),
        "small_64": _forward(lambda x, y: torch.tanh(x + y), randn(64), randn(64)),
    }
)
REDUCTIONS: Mapping[str, Builder] = MappingProxyType(
    {
        "sum_all": _forward(lambda x: x.sum(), randn(1 << 22)),
        "mean_square_all": _forward(lambda x, y: ((x - y) ** 2).mean(), randn(1 << 21), randn(1 << 21)),
        "norm_all": _forward(lambda x: torch.linalg.vector_norm(x), randn(1 << 22)),
        "max_all": _forward(lambda x: x.amax(), randn(1 << 22)),
        "sum_rows": _forward(lambda x: x.sum(1), randn(2048, 2048)),
        "sum_rows_short": _forward(lambda x: x.sum(1), randn(65536, 32)),
        "sum_rows_long": _forward(lambda x: x.sum(1), randn(8, 1 << 19)),
        "sum_columns": _forward(lambda x: x.sum(0), randn(2048, 2048)),
        "sum_columns_few": _forward(lambda x: x.sum(0), randn(65536, 32)),
        "sum_middle": _forward(lambda x: x.sum(1), randn(64, 256, 128)),
        "mean_outer_inner": _forward(lambda x: x.mean((0, 2, 3)), randn(16, 64, 56, 56)),
        "sum_rows_bf16": _forward(lambda x: x.sum(1), randn(2048, 2048, dtype=HALF)),
        "var_rows": _forward(lambda x: x.var(1), randn(2048, 1024)),
        "std_mean_columns": _forward(lambda x: torch.std_mean(x, 0), randn(2048, 1024)),
        "argmax_rows": _forward(lambda x: x.argmax(1), randn(2048, 1024)),
        "argmax_columns": _forward(lambda x: x.argmax(0), randn(2048, 1024)),
        "max_min_rows": _forward(lambda x: (x.amax(1), x.amin(1), x.mean(1)), randn(2048, 2048)),
        "logsumexp_rows": _forward(lambda x: torch.logsumexp(x, 1), randn(2048, 1024)),
        "cumsum_rows": _forward(lambda x: x.cumsum(1), randn(2048, 1024)),
        "any_rows": _forward(lambda x: (x > 3).any(1), randn(2048, 2048)),
        "mse_backward": _backward(lambda x, y: F.mse_loss(x, y), randn(1 << 20), randn(1 << 20)),
        "focal_backward": _backward(_focal, randn(1 << 20), lambda device: torch.randint(0, 2, (1 << 20,), device=device).float()),
    }
)
NORMS: Mapping[str, Builder] = MappingProxyType(
    {
        "softmax_1024": _forward(lambda x: torch.softmax(x, 1), randn(2048, 1024)),
        "softmax_63": _forward(lambda x: torch.softmax(x, 1), randn(16384, 63)),
        "softmax_vocabulary": _forward(lambda x: torch.softmax(x, 1), randn(64, 50304)),
        "softmax_columns": _forward(lambda x: torch.softmax(x, 0), randn(1024, 1024)),
        "softmax_bf16": _forward(lambda x: torch.softmax(x, 1), randn(2048, 1024, dtype=HALF)),
        "softmax_masked": _forward(lambda x, m: torch.softmax(x.masked_fill(m > 0, -1e9), 1), randn(2048, 1024), randn(2048, 1024)),
        "softmax_backward": _backward(lambda x: torch.softmax(x, 1), randn(1024, 1024)),
        "layernorm_1024": _forward(lambda x, w, b: F.layer_norm(x, (1024,), w, b), randn(2048, 1024), randn(1024), randn(1024)),
        "layernorm_64": _forward(lambda x, w, b: F.layer_norm(x, (64,), w, b), randn(32768, 64), randn(64), randn(64)),
        "layernorm_bf16": _forward(lambda x, w, b: F.layer_norm(x, (1024,), w, b), *[randn(*s, dtype=HALF) for s in ((2048, 1024), (1024,), (1024,))]),
        "layernorm_gelu": _forward(lambda x, w, b: F.gelu(F.layer_norm(x, (1024,), w, b)), randn(1024, 1024), randn(1024), randn(1024)),
        "layernorm_backward": _backward(lambda x, w, b: F.layer_norm(x, (1024,), w, b), randn(1024, 1024), randn(1024), randn(1024)),
        "rmsnorm_1024": _forward(_rms_norm, randn(2048, 1024), randn(1024)),
        "groupnorm": _forward(lambda x, w, b: F.group_norm(x, 8, w, b), randn(16, 64, 32, 32), randn(64), randn(64)),
        "groupnorm_backward": _backward(lambda x, w, b: F.group_norm(x, 8, w, b), randn(16, 64, 32, 32), randn(64), randn(64)),
        "batchnorm_train": _forward(_batch_norm, randn(16, 64, 32, 32), randn(64), randn(64)),
        "batchnorm_backward": _backward(_batch_norm, randn(16, 64, 32, 32), randn(64), randn(64)),
        "batchnorm_eval_relu": _forward(
            lambda x, m, v, w, b: F.relu(F.batch_norm(x, m, v.abs() + 1, w, b)), randn(16, 64, 32, 32), *[randn(64) for _ in range(4)]
        ),
        "standardize_rows": _forward(_standardize, randn(2048, 1024)),
        "cross_entropy_1000": _forward(F.cross_entropy, randn(2048, 1000), randint(1000, 2048)),
        "cross_entropy_1000_backward": _backward(F.cross_entropy, randn(1024, 1000), randint(1000, 1024)),
        "log_softmax_nll_short": _forward(lambda x, t: F.nll_loss(F.log_softmax(x, 1), t), randn(16384, 10), randint(10, 16384)),
    }
)
LAYOUTS: Mapping[str, Builder] = MappingProxyType(
    {
        "transpose_copy": _forward(lambda x: x.t().contiguous(), randn(2048, 1024)),
        "transpose_scale_add": _forward(lambda x, y: x.t() * 2 + y, randn(1024, 2048), randn(2048, 1024)),
        "permute_0213": _forward(lambda x: x.permute(0, 2, 1, 3).contiguous() + 1, randn(8, 128, 12, 64)),
        "nchw_to_nhwc": _forward(lambda x: x.permute(0, 2, 3, 1).contiguous() * 2, randn(8, 64, 56, 56)),
        "transpose_bf16": _forward(lambda x: x.t().contiguous() + 1, randn(2048, 1024, dtype=HALF)),
        "concatenate": _forward(lambda x, y: torch.cat([x, y], 1) * 2, randn(2048, 512), randn(2048, 256)),
        "rotary": _forward(_rotary, randn(8, 12, 128, 64), randn(128, 64), randn(128, 64)),
        "pad_constant": _forward(lambda x: F.pad(x, (1, 1, 1, 1)) * 2, randn(64, 3, 112, 112)),
        "flip_roll": _forward(lambda x: x.flip(1) + x.roll(3, 1), randn(2048, 1024)),
        "strided_slice": _forward(lambda x: x[:, ::2] + x[:, 1::2], randn(2048, 2048)),
        "expand_add": _forward(lambda x, y: x[:, None] + y[None], randn(1024), randn(1024)),
    }
)
GATHERS: Mapping[str, Builder] = MappingProxyType(
    {
        "embedding": _forward(F.embedding, randint(10000, 4096), randn(10000, 256)),
        "embedding_add_norm": _forward(lambda i, w, p: F.layer_norm(F.embedding(i, w) + p, (256,)), randint(10000, 4096), randn(10000, 256), randn(256)),
        "embedding_backward": _backward(F.embedding, randint(10000, 4096), randn(10000, 256)),
        "gather_columns": _forward(lambda x, i: x.gather(1, i) * 2, randn(2048, 1024), randint(1024, 2048, 512)),
        "index_rows": _forward(lambda x, i: x[i] + 1, randn(8192, 256), randint(8192, 4096)),
        "index_add_rows": _forward(lambda x, i, s: x.index_add(0, i, s), randn(8192, 256), randint(8192, 4096), randn(4096, 256)),
        "one_hot": _forward(lambda i: F.one_hot(i, 256).float(), randint(256, 4096)),
    }
)
PLANES: Mapping[str, Builder] = MappingProxyType(
    {
        "max_pool": _forward(lambda x: F.max_pool2d(x, 2) + 1, randn(8, 64, 56, 56)),
        "avg_pool_relu": _forward(lambda x: F.avg_pool2d(F.relu(x), 3, 2, 1), randn(8, 64, 56, 56)),
        "upsample_nearest": _forward(lambda x: F.interpolate(x, scale_factor=2) * 2, randn(8, 32, 56, 56)),
        "global_avg_pool": _forward(lambda x: F.adaptive_avg_pool2d(x, 1), randn(16, 256, 28, 28)),
    }
)
ZOO: Mapping[str, Builder] = MappingProxyType({**POINTWISE, **REDUCTIONS, **NORMS, **LAYOUTS, **GATHERS, **PLANES})
