"""What is known of some of torch's own functions: those that look at elements to raise, and forms of others whose gradients look at no element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

Answers = Callable[..., tuple[bool, ...]]


def _cov_reads(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> tuple[bool, ...]:
    """Weights are not negative, they do not add up to zero, and there is more than one degree of freedom."""
    given = [weights for weights in (fweights, aweights) if weights is not None]
    return (*[True] * len(given), *[True] * bool(given), False)


def _istft_reads(*args: Any, **kwargs: Any) -> tuple[bool, ...]:
    """The sum of the windows is zero nowhere."""
    return (False,)


# They read numbers to raise or to warn; these are the numbers, in order, that they read where they do neither.  They are checked when the graph runs.
READ_TO_RAISE: Final[Mapping[str, Answers]] = MappingProxyType(
    {
        "torch.nn.functional.gaussian_nll_loss": lambda *args, **kwargs: (False,),
        **dict.fromkeys(("torch.cov", "torch.Tensor.cov"), _cov_reads),
        "torch.functional.istft": _istft_reads,
        **dict.fromkeys(("torch.corrcoef", "torch.Tensor.corrcoef"), lambda x: (False,)),
        # Up to torch 2.11 they read whether all quantiles lie in 0..1.
        **{f"{owner}.{name}": lambda *args, **kwargs: (True,) for owner in ("torch", "torch.Tensor") for name in ("quantile", "nanquantile")},
    }
)


def expected_reads(name: str, args: Any, kwargs: dict[str, Any]) -> list[bool]:
    """The answers to what a call of the function `name` reads, the last one first; empty when what it reads is not foreseen."""
    answers = READ_TO_RAISE.get(name)
    try:
        return list(reversed(answers(*args, **kwargs))) if answers is not None else []
    except TypeError:  # torch itself refuses such a call
        return []


def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    """index_fill with a tensor: its gradient is a sum over the places, and torch's looks for those that are named twice."""
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return torch.index_fill(x, dim, index, value)
    mask = torch.zeros(x.shape, dtype=torch.bool, device=x.device).index_fill(dim, index, True)
    return torch.where(mask, value.to(x.dtype), x)


def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """index_put with a mask and values that are the same at all its places: a choice for each element, of which the gradients are choices too."""
    mask = indices[0] if len(indices) == 1 else None
    if not isinstance(mask, torch.Tensor) or mask.dtype is not torch.bool or x.shape[: mask.dim()] != mask.shape:
        return torch.index_put(x, indices, values, accumulate)
    rest = x.dim() - mask.dim()
    same = values.dim() <= rest or (values.dim() == rest + 1 and values.shape[0] == 1)
    if not same or values.dtype is not x.dtype or not mask.dim():
        return torch.index_put(x, indices, values, accumulate)
    values = values[0] if values.dim() > rest else values
    chosen = mask.reshape(*mask.shape, *(1,) * rest)
    return torch.where(chosen, x + values if accumulate else values, x)


# By the name that the graph has for them.
WITHOUT_ELEMENTS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "torch.index_fill": index_fill,
        "torch.Tensor.index_fill": index_fill,
        "torch.index_put": index_put,
        "torch.Tensor.index_put": index_put,
    }
)
