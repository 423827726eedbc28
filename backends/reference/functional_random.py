"""Random tensors by the definition: words of the generator for each element in row-major order, made numbers by Python's and torch's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.backends.reference import philox
from lect.dialects.functional.python_values import dtype_of


def _words(op: Any, t: Any, word: Callable[..., torch.Tensor], each: int = 1) -> torch.Tensor:
    """The first `each` words for each element, along a last dim."""
    stream = torch.tensor(op.offset)
    return word(t(op.seed), stream, torch.arange(math.prod(op.shape) * each)).reshape(*op.shape, each)


def _uniform(op: Any, word: torch.Tensor, digits: int) -> torch.Tensor:
    return (word & ((1 << digits) - 1)).to(torch.float64) * 2.0**-digits


def rand(op: Any, t: Any) -> torch.Tensor:
    digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[op.element.spelling]
    if digits == 53:
        return _uniform(op, _words(op, t, philox.philox64)[..., 0] >> 11, digits)
    return _uniform(op, _words(op, t, philox.philox32)[..., 0] >> 32 - digits, digits).to(dtype_of(op.element))


def randn(op: Any, t: Any) -> torch.Tensor:
    """Box and Muller's transform, in f32 for all but f64."""
    if op.element.spelling == "f64":
        radius, angle = [_uniform(op, word >> 11, 53) for word in _words(op, t, philox.philox64, 2).unbind(-1)]
        radius = radius + 2.0**-54
    else:
        pair = _words(op, t, philox.philox64)[..., 0]
        radius = ((pair & philox.LOW).float().double() * 2.0**-32 + 2.0**-33).float()
        angle = _uniform(op, pair >> 40, 24).float()
    return (torch.sqrt(torch.log(radius) * -2.0) * torch.cos(angle * (2 * math.pi))).to(dtype_of(op.element))


def randint(op: Any, t: Any) -> torch.Tensor:
    """The upper half of the product of a word and the size of the range, by Python's integers."""
    word = _words(op, t, philox.philox64)[..., 0]
    numbers = [op.low + ((value & (1 << 64) - 1) * (op.high - op.low) >> 64) for value in word.flatten().tolist()]
    return torch.tensor(numbers, dtype=torch.int64).reshape(op.shape).to(dtype_of(op.element))


RANDOM: Final[Mapping[str, Callable[[Any, Any], torch.Tensor]]] = MappingProxyType({"rand": rand, "randn": randn, "randint": randint})
