"""The special functions of the scalar table, by torch's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from lect.dialects.scalars import SPECIAL


def nextafter_bf16(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """In bf16, of operands that it holds."""
    return torch.nextafter(x.bfloat16(), y.bfloat16()).float()


OWN: Mapping[str, Callable[..., torch.Tensor]] = MappingProxyType(
    {
        "trigamma": lambda x: torch.polygamma(1, x),
        "frexp_mantissa": lambda x: torch.frexp(x).mantissa,
        "frexp_exponent": lambda x: torch.frexp(x).exponent.to(x.dtype),
        "nextafter_bf16": nextafter_bf16,
    }
)
FUNCTIONS: Mapping[str, Callable[..., torch.Tensor]] = MappingProxyType(
    {name: OWN.get(name) or getattr(torch, name, None) or getattr(torch.special, name) for name in sorted(SPECIAL)}
)
