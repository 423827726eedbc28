"""Operators that only CUDA's libraries have, in terms of those that every device has: what is recorded is the same on a CPU and on a GPU.

cuDNN's batch normalisation keeps the mean and the reciprocal of the deviation as torch's own does, and a piece of memory for its backward, which nothing needs
here.  It writes to the running statistics although its schema does not say so, as torch's own does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

aten = torch.ops.aten
EVERY: Final = [True, True, True]


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> tuple[Any, ...]:
    found = aten.native_batch_norm.default(x, weight, bias, mean, var, training, momentum, eps)
    return (*found, x.new_empty((0,), dtype=torch.uint8))


def _batch_norm_backward(x: Any, gradient: Any, weight: Any, mean: Any, var: Any, saved_mean: Any, saved_rstd: Any, eps: float, memory: Any) -> Any:
    return aten.native_batch_norm_backward.default(gradient, x, weight, mean, var, saved_mean, saved_rstd, True, eps, EVERY)


STAND_INS: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {aten.cudnn_batch_norm.default: _batch_norm, aten.cudnn_batch_norm_backward.default: _batch_norm_backward}
)
