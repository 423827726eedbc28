"""Shape functions of losses and of gradients where sizes are symbols: torch's own meta kernels of them compute with the sizes as numbers.

Each but that of huber_loss gives None where all sizes are integers, and for whatever it does not cover; torch's meta kernel is asked then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import preserved_strides
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.shape_pointwise import Result, ShapeFunction, category, pointwise_meta
from lect.frontends.tensors.sizes import has_sizes

aten = torch.ops.aten


def _sizes(values: Sequence[Any]) -> Iterator[Any]:
    """The sizes of tensors, and those in lists."""
    for value in values:
        if type(value) is TensorMeta:
            yield from value.shape
        elif type(value) in (list, tuple):
            yield from value


def with_symbols(function: Callable[..., Any]) -> ShapeFunction:
    """A shape function that is asked where a size is a symbol."""

    def shape(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if has_sizes(_sizes((*args, *kwargs.values()))) else None

    return shape


def _plain(*tensors: TensorMeta | None) -> bool:
    """True for row-major floats of one dtype on one device."""
    given = [tensor for tensor in tensors if tensor is not None]
    first = given[0]
    alike = all(tensor.dtype is first.dtype and tensor.device == first.device for tensor in given)
    return alike and category(first.dtype) == 2 and all(tensor.is_contiguous for tensor in given)


def _loss(x: TensorMeta, target: TensorMeta, weights: Sequence[TensorMeta | None], reduction: int) -> Result:
    """One number, or one for each element; weights are for the last dims."""
    fits = all(weight is None or weight.shape == x.shape[len(x.shape) - len(weight.shape) :] for weight in weights)
    if not fits or x.shape != target.shape or not _plain(x, target, *weights):
        return None
    return x.like(x.shape if reduction == 0 else ())


def loss(x: TensorMeta, target: TensorMeta, reduction: int = 1, bound: float = 1.0) -> Result:
    """mse_loss, soft_margin_loss and smooth_l1_loss."""
    return _loss(x, target, (), reduction)


def huber_loss(x: TensorMeta, target: TensorMeta, reduction: int = 1, delta: float = 1.0) -> Result:
    """huber_loss; that of each element is written to a copy of the first operand's layout, unless that is smaller, which torch's meta kernel says otherwise."""
    if reduction != 0 or x.dtype is not target.dtype or category(x.dtype) != 2:
        return _loss(x, target, (), reduction)
    found = pointwise_meta((x, target), x.dtype)
    return x.like(x.shape, strides=preserved_strides(x.layout)) if found is not None and found.shape == x.shape else found


def cross_entropy(x: TensorMeta, target: TensorMeta, weight: Any = None, reduction: int = 1) -> Result:
    """binary_cross_entropy."""
    return _loss(x, target, (weight,), reduction)


def cross_entropy_with_logits(x: TensorMeta, target: TensorMeta, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Result:
    """binary_cross_entropy_with_logits."""
    return _loss(x, target, (weight, pos_weight), reduction)


def loss_backward(gradient: TensorMeta, x: TensorMeta, target: TensorMeta, reduction: int, bound: float = 1.0) -> Result:
    """The gradients of the losses without weights."""
    fits = x.shape == target.shape and gradient.shape in ((), x.shape)
    return x.like(x.shape) if fits and _plain(x, target) and gradient.dtype is x.dtype else None


def cross_entropy_backward(gradient: TensorMeta, x: TensorMeta, target: TensorMeta, weight: Any = None, reduction: int = 1) -> Result:
    """binary_cross_entropy_backward."""
    return loss_backward(gradient, x, target, reduction) if weight is None or (weight.shape == x.shape and _plain(x, weight)) else None


def _names_classes(x: TensorMeta, target: TensorMeta, weight: Any) -> bool:
    """True when targets are classes of dim 1, the whole number of which is known, of rows or of images."""
    if len(x.shape) not in (2, 4) or type(x.shape[1]) is not int or target.dtype is not torch.int64 or target.device != x.device:
        return False
    fits = target.shape == (x.shape[0], *x.shape[2:]) and target.is_contiguous and (weight is None or weight.shape == (x.shape[1],))
    return fits and _plain(x, weight)


def likelihood(x: TensorMeta, target: TensorMeta, weight: Any, reduction: int, ignore_index: int) -> Any:
    """nll_loss_forward and nll_loss2d_forward: the loss, and the sum of the weights."""
    if not _names_classes(x, target, weight):
        return None
    return x.like(target.shape if reduction == 0 else ()), x.like(())


def likelihood_backward(gradient: TensorMeta, x: TensorMeta, target: TensorMeta, weight: Any, reduction: int, ignore_index: int, total: TensorMeta) -> Result:
    """nll_loss_backward and nll_loss2d_backward."""
    fits = _names_classes(x, target, weight) and gradient.shape == (target.shape if reduction == 0 else ()) and total.shape == ()
    return x.like(x.shape) if fits and gradient.dtype is total.dtype is x.dtype else None


def around(gradient: TensorMeta, sizes: Sequence[Any], *place: int) -> Result:
    """select_backward, slice_backward and diagonal_backward: the gradient among zeros, row-major."""
    return gradient.like(tuple(sizes))


def batch_norm_backward(
    gradient: TensorMeta, x: TensorMeta, weight: Any, running_mean: Any, running_var: Any, mean: Any, rstd: Any, train: bool, eps: float, mask: Sequence[bool]
) -> Any:
    """native_batch_norm_backward."""
    channels = x.shape[1] if len(x.shape) > 1 else None
    if type(channels) is not int or gradient.shape != x.shape or not _plain(gradient, x, weight, running_mean, running_var):
        return None
    parameter = x.like((channels,))
    return tuple([found if asked else None for found, asked in zip((x.like(x.shape), parameter, parameter), mask)])


TABLE: Final[Mapping[Any, ShapeFunction]] = MappingProxyType(
    {
        func: with_symbols(function)
        for func, function in (
            (aten.mse_loss.default, loss),
            (aten.soft_margin_loss.default, loss),
            (aten.smooth_l1_loss.default, loss),
            (aten.soft_margin_loss_backward.default, loss_backward),
            (aten.huber_loss_backward.default, loss_backward),
            (aten.smooth_l1_loss_backward.default, loss_backward),
            (aten.binary_cross_entropy.default, cross_entropy),
            (aten.binary_cross_entropy_with_logits.default, cross_entropy_with_logits),
            (aten.binary_cross_entropy_backward.default, cross_entropy_backward),
            (aten.nll_loss_forward.default, likelihood),
            (aten.nll_loss2d_forward.default, likelihood),
            (aten.nll_loss2d_backward.default, likelihood_backward),
            (aten.select_backward.default, around),
            (aten.slice_backward.default, around),
            (aten.diagonal_backward.default, around),
            (aten.native_batch_norm_backward.default, batch_norm_backward),
        )
    }
    | {aten.huber_loss.default: huber_loss}
)
