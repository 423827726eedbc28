"""Operators whose results have sizes that the elements of their operands decide, and what these results are for a size that is a symbol.

Each has one such size, here `n`: as many elements as are not zero, as differ, as are repeated, as values are counted.
Nothing is known of it before the operator runs; what is written for `n` of at least 2 is right for these, and whoever runs the graph checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import contiguous_strides
from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.metadata import TensorMeta

aten = torch.ops.aten


def _new(shape: tuple[Any, ...], dtype: torch.dtype, device: torch.device) -> TensorMeta:
    return TensorMeta(shape, dtype, contiguous_strides(shape), device)


def _nonzero(n: Any, x: torch.Tensor) -> Any:
    own = layout_of(x)
    return TensorMeta((n, len(own.shape)), torch.int64, (1, n), own.device)


def _repeat_interleave(n: Any, repeats: torch.Tensor, *, output_size: Any = None) -> Any:
    own = layout_of(repeats)
    return _new((n,), own.dtype, own.device) if output_size is None else None


def _unique(n: Any, x: torch.Tensor, inverse: bool, counts: bool) -> Any:
    own = layout_of(x)
    places = own.shape if inverse else (0,)
    return (_new((n,), own.dtype, own.device), _new(places, torch.int64, own.device), _new((n if counts else 0,), torch.int64, own.device))


def _unique2(n: Any, x: torch.Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:  # noqa: A002 - torch's name
    return _unique(n, x, return_inverse, return_counts)


def _unique_consecutive(n: Any, x: torch.Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    return _unique(n, x, return_inverse, return_counts) if dim is None else None


def _unique_dim(n: Any, x: torch.Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:  # noqa: A002
    own = layout_of(x)
    if not own.shape or not -len(own.shape) <= dim < len(own.shape):
        return None  # torch words the error
    dim %= len(own.shape)
    others = (*own.shape[:dim], *own.shape[dim + 1 :])
    steps = contiguous_strides((n, *others))  # torch moves the dim to the front, and the result's back
    shape, strides = (*others[:dim], n, *others[dim:]), (*steps[1 : dim + 1], steps[0], *steps[dim + 1 :])
    return (TensorMeta(shape, own.dtype, strides, own.device), _new((own.shape[dim],), torch.int64, own.device), _new((n,), torch.int64, own.device))


def _bincount(n: Any, x: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0) -> Any:
    own = layout_of(x)
    if len(own.shape) != 1 or own.dtype.is_floating_point or own.dtype.is_complex or own.dtype is torch.bool or type(minlength) is not int or minlength < 0:
        return None
    if weights is None:
        return _new((n,), torch.int64, own.device)
    return _new((n,), weights.dtype if weights.dtype is torch.float32 else torch.float64, own.device) if layout_of(weights).shape == own.shape else None


def _ctc_loss(n: Any, scores: torch.Tensor, targets: torch.Tensor, lengths: Any, target_lengths: Any, blank: int = 0, zero_infinity: bool = False) -> Any:
    own = layout_of(scores)
    if len(own.shape) != 3 or not own.dtype.is_floating_point or not all(layout_of(each).shape == own.shape[1:2] for each in (lengths, target_lengths)):
        return None
    steps, batch, _ = own.shape
    return (_new((batch,), own.dtype, own.device), _new((batch, steps, n), own.dtype, own.device))  # the second has a place for each label and each gap


RESULTS: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {
        aten.nonzero.default: _nonzero,
        aten.repeat_interleave.Tensor: _repeat_interleave,
        aten._unique2.default: _unique2,
        aten.unique_consecutive.default: _unique_consecutive,
        aten.unique_dim.default: _unique_dim,
        aten.bincount.default: _bincount,
        aten._ctc_loss.Tensor: _ctc_loss,
    }
)
"""What gives the metadata of the results of an operator, called with the size in front of its arguments; None where it is another operator for these."""



def extent(n: Any, number: torch.Tensor) -> Any:
    """lect::extent: a tensor with as many elements as a number says, which stands for the number where it is a size."""
    return TensorMeta((n,), torch.int8, (0,), layout_of(number).device)


def results_of(func: Any) -> Callable[..., Any]:
    """The function of `RESULTS` for an operator that finds a size."""
    return RESULTS[func] if func in RESULTS else extent


def finds_size(func: Any) -> bool:
    """True for an operator whose results have a size that elements decide, of which is known what they are."""
    return func in RESULTS or func.name() == "lect::extent"


__all__ = ["finds_size", "results_of"]
