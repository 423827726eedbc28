"""Shape functions of reductions, contractions, normalisations, attention and creation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import (
    broadcast,
    element_count,
    expanded_strides,
    normalize_dim,
    normalize_dims,
    pointwise_strides,
    preserved_strides,
    reduced_shape,
)
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.shape_pointwise import Result, ShapeFunction, category, common_device, pointwise_meta
from lect.frontends.tensors.sizes import Dim

aten = torch.ops.aten
MAX_REDUCED_RANK: Final = 64  # eager keeps the dims to reduce in a set of bits; meta kernels do not mind


def accumulate_dims(x: TensorMeta, dims: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Result:
    """sum over dims: integers give i64."""
    return _reduced(x, dims, keepdim, dtype or (x.dtype if (category(x.dtype) or 0) >= 2 else torch.int64))


def mean_dims(x: TensorMeta, dims: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Result:
    """mean over dims: floats only."""
    result = dtype or x.dtype
    return _reduced(x, dims, keepdim, result) if category(result) == 2 else None


def accumulate_all(x: TensorMeta, *, dtype: torch.dtype | None = None) -> Result:
    """sum of all elements."""
    return accumulate_dims(x, dtype=dtype)


def mean_all(x: TensorMeta, *, dtype: torch.dtype | None = None) -> Result:
    """mean of all elements."""
    return mean_dims(x, dtype=dtype)


def extremum_dims(x: TensorMeta, dims: Any = (), keepdim: bool = False) -> Result:
    """amax and amin; empty operands are an error that torch words itself."""
    return _reduced(x, dims, keepdim, x.dtype) if element_count(x.shape) else None


def truth_dims(x: TensorMeta, dims: Any = None, keepdim: bool = False) -> Result:
    """any and all: bool, and u8 for u8.  An empty list of dims, which reduces nothing, is left to torch."""
    if dims is not None and type(dims) is not int and not len(dims):
        return None
    return _reduced(x, (dims,) if type(dims) is int else dims, keepdim, torch.uint8 if x.dtype is torch.uint8 else torch.bool)


def extremum_all(name: str) -> ShapeFunction:
    """max and min of all elements; the meta kernel lets there be none."""

    def shape(x: TensorMeta) -> Result:
        if not element_count(x.shape):
            wanted = "Specify the reduction dim with the 'dim' argument."
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. {wanted}")
        return x.like(()) if category(x.dtype) is not None else None

    return shape


def extremum_with_index(x: TensorMeta, dim: int, keepdim: bool = False) -> Result:
    """max.dim and min.dim."""
    if not element_count(x.shape):
        return None
    values = _reduced(x, (dim,), keepdim, x.dtype)
    return (values, values._replace(dtype=torch.int64)) if values is not None else None


def index_of_extremum(x: TensorMeta, dim: int | None = None, keepdim: bool = False) -> Result:
    """argmax and argmin."""
    return _reduced(x, None if dim is None else (dim,), keepdim, torch.int64) if element_count(x.shape) else None


def _reduced(x: TensorMeta, dims: Any, keepdim: bool, dtype: torch.dtype) -> TensorMeta | None:
    if category(x.dtype) is None:
        return None
    shape = reduced_shape(x.shape, normalize_dims(dims, len(x.shape)), keepdim)
    # Eager orders the result's dims by the operand's strides; only the plain order is taken here, and what has no order.
    if not (len(shape) <= 1 and len(x.shape) <= MAX_REDUCED_RANK) and not x.is_contiguous:
        return None
    if len(x.shape) > MAX_REDUCED_RANK:
        raise RuntimeError(f"only tensors with up to {MAX_REDUCED_RANK} dims are supported")
    return x.like(shape, dtype)


def softmax(x: TensorMeta, dim: int, half_to_float: bool) -> Result:
    """_softmax and _log_softmax: the operand's layout when dense."""
    normalize_dim(dim, len(x.shape))
    return x.like(x.shape) if not half_to_float and category(x.dtype) == 2 and x.is_contiguous else None


def safe_softmax(x: TensorMeta, dim: int, dtype: torch.dtype | None = None) -> Result:
    """_safe_softmax, of attention: zeros in rows without a finite element."""
    return softmax(x, dim, False) if dtype is None or dtype is x.dtype else None


def softmax_backward(gradient: TensorMeta, output: TensorMeta, dim: int, dtype: torch.dtype) -> Result:
    """The gradient of either softmax."""
    same = gradient.dtype is dtype and gradient.dtype is output.dtype and gradient.shape == output.shape
    return gradient.like(gradient.shape) if same else None


def matrix_product(x: TensorMeta, y: TensorMeta) -> Result:
    """mm."""
    fits = len(x.shape) == len(y.shape) == 2 and x.shape[1] == y.shape[0]
    return x.like((x.shape[0], y.shape[1])) if fits and _same_kind(x, y) else None


def batched_product(x: TensorMeta, y: TensorMeta) -> Result:
    """bmm."""
    fits = len(x.shape) == len(y.shape) == 3 and x.shape[0] == y.shape[0] and x.shape[2] == y.shape[1]
    return x.like((x.shape[0], x.shape[1], y.shape[2])) if fits and _same_kind(x, y) else None


def add_matrix_product(added: TensorMeta, x: TensorMeta, y: TensorMeta, *, beta: Any = 1, alpha: Any = 1) -> Result:
    """addmm."""
    product = matrix_product(x, y)
    return product if isinstance(product, TensorMeta) and _same_kind(added, x) and _broadcasts_to(added.shape, product.shape) else None


def _same_kind(x: TensorMeta, y: TensorMeta) -> bool:
    return x.dtype is y.dtype and x.device == y.device and x.dtype is not torch.bool


def _broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    missing = len(target) - len(shape)
    return missing >= 0 and all(own in (1, size) for own, size in zip(shape, target[missing:]))


def layer_norm(x: TensorMeta, normalized: Any, weight: Any, bias: Any, eps: float) -> Result:
    """native_layer_norm: result, mean, reciprocal deviation."""
    parameters = [value for value in (weight, bias) if value is not None]
    kept = len(x.shape) - len(normalized)
    if not x.is_contiguous or category(x.dtype) != 2 or kept < 0 or not normalized or x.shape[kept:] != tuple(normalized):
        return None
    if any(value.dtype is not x.dtype or value.shape != tuple(normalized) or value.device != x.device for value in parameters):
        return None
    wide = torch.float32 if x.device.type == "cuda" and x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    statistics = x.like(x.shape[:kept] + (1,) * len(normalized), wide)
    return x.like(x.shape), statistics, statistics


def layer_norm_backward(gradient: TensorMeta, x: TensorMeta, normalized: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Any) -> Result:
    """Gradients of the operand, the weight and the bias, as far as `mask` asks for them; the last two have the weight's type."""
    if not x.is_contiguous or not gradient.is_contiguous or gradient.dtype is not x.dtype:
        return None
    parameter = x.like(normalized, x.dtype if weight is None else weight.dtype)
    wanted = [x.like(x.shape), parameter, parameter]
    return tuple([meta if asked else None for meta, asked in zip(wanted, mask)])


def flash_attention(
    query: TensorMeta, key: TensorMeta, value: TensorMeta, dropout: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None, scale: Any = None
) -> Result:
    """The CPU's fused attention: the result laid out as the query, and the log-sum of weights with heads behind the rows in memory."""
    if len(query.shape) != 4 or query.shape[3] != value.shape[3]:
        return None
    batch, heads, length, _ = query.shape
    rows = query.like((batch, length, heads), torch.float64 if query.dtype is torch.float64 else torch.float32)
    result = query.like(query.shape, strides=preserved_strides(query.layout))
    return result, rows.view((batch, heads, length), (rows.strides[0], rows.strides[2], rows.strides[1]))


def flash_attention_backward(gradient: TensorMeta, query: TensorMeta, key: TensorMeta, value: TensorMeta, *rest: Any, **options: Any) -> Result:
    """Gradients of query, key and value."""
    if any(len(meta.shape) != 4 for meta in (query, key, value)):
        return None
    return tuple([_heads_inside(meta, meta.shape, meta.dtype) for meta in (query, key, value)])


def _heads_inside(source: TensorMeta, shape: tuple[int, ...], dtype: torch.dtype) -> TensorMeta:
    batch, heads, length, width = shape
    dense = source.like((batch, length, heads, width), dtype)
    return dense.view(shape, (dense.strides[0], dense.strides[2], dense.strides[1], dense.strides[3]))


def embedding_backward(gradient: TensorMeta, indices: TensorMeta, count: int, padding: int, scale: bool) -> Result:
    """The gradient of a table of rows."""
    return gradient.like((count, gradient.shape[-1]))


def embedding_bag(
    weight: TensorMeta,
    indices: TensorMeta,
    offsets: TensorMeta,
    scale: bool = False,
    mode: int = 0,
    sparse: bool = False,
    factors: Any = None,
    with_end: bool = False,
    padding: int = -1,
    differentiable: bool = True,
) -> Result:
    """_embedding_bag on the CPU: rows in bags, then the bag of each index, the sizes of the bags, and the index that a maximum took.

    The bags are not listed where rows are added by a library routine; torch's meta kernel does not know where that is.
    """
    tensors = [weight, indices, offsets, *([] if factors is None else [factors])]
    device = common_device(tensors)
    flat = len(weight.shape) == 2 and len(indices.shape) == len(offsets.shape) == 1 and offsets.shape[0] >= with_end
    known = {indices.dtype, offsets.dtype} <= {torch.int64, torch.int32} and category(weight.dtype) == 2
    if device is None or device.type != "cpu" or not flat or not known or mode not in (0, 1, 2):
        return None
    if factors is not None and (mode != 0 or factors.shape != indices.shape or factors.dtype is not weight.dtype):
        return None
    bags = (offsets.shape[0] - with_end,)
    number = indices.like((), torch.int64 if torch.int64 in (indices.dtype, offsets.dtype) else torch.int32)
    quick = weight.dtype is not torch.float64 and weight.strides[1] == 1 and padding < 0 and (factors is None or factors.strides[0] == 1)
    sizes = number.like(bags if differentiable or mode != 0 else offsets.shape)
    chosen = number.like((*bags, weight.shape[1])) if mode == 2 else sizes
    return weight.like((*bags, weight.shape[1])), number.like((0,) if quick and mode == 0 else indices.shape), sizes, chosen


def embedding_bag_only(*args: Any) -> Result:
    """_embedding_bag_forward_only, whose bookkeeping has other sizes."""
    defaults = (False, 0, False, None, False, -1)
    full: tuple[Any, ...] = (*args, *defaults[len(args) - 3 :], False)
    return embedding_bag(*full)


def places_of_nonzero(x: TensorMeta, *, size: int, fill_value: int = -1) -> Result:
    """nonzero_static: a row for each of `size` places, with a coordinate for each dim."""
    return _created((size, len(x.shape)), torch.int64, x.device) if type(size) is int and size >= 0 else None


def arange(end: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Result:
    """arange(n) of integers."""
    if type(end) not in (int, Dim) or end < 0 or dtype not in (None, torch.int64) or layout not in (None, torch.strided):
        return None
    return _created((end,), torch.int64, device)


def filled(shape: Any, value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Result:
    """full of a given dtype."""
    return _created(tuple(shape), dtype, device) if dtype is not None and layout in (None, torch.strided) and not pin_memory else None


def created(shape: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None, memory_format: Any = None) -> Result:
    """zeros, ones, empty."""
    if layout not in (None, torch.strided) or pin_memory or memory_format not in (None, torch.contiguous_format):
        return None
    return _created(tuple(shape), dtype or torch.get_default_dtype(), device)


def created_like(x: TensorMeta, shape: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Result:
    """new_zeros, new_ones and new_empty."""
    return created(shape, dtype=dtype or x.dtype, layout=layout, device=x.device if device is None else device, pin_memory=pin_memory)


def one_number(value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Result:
    """scalar_tensor."""
    return created((), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def concatenated(tensors: Any, dim: int = 0) -> Result:
    """cat of tensors of one dtype and rank, none of which is laid out with channels last, so that the result is row-major."""
    first = tensors[0]
    rank = len(first.shape)
    alike = all(x.dtype is first.dtype and len(x.shape) == rank and not (rank in (4, 5) and _has_channels_last(x)) for x in tensors)
    if not rank or not alike or common_device(tensors) is None:
        return None
    along = normalize_dim(dim, rank)
    rest = first.shape[:along], first.shape[along + 1 :]
    if any((x.shape[:along], x.shape[along + 1 :]) != rest for x in tensors):
        return None
    return first.like((*rest[0], sum(x.shape[along] for x in tensors), *rest[1]))


def _has_channels_last(x: TensorMeta) -> bool:
    """What torch takes for a layout with channels last: strides that grow from the channels over the last dims to the first."""
    least = 0
    for dim in (1, *range(len(x.shape) - 1, 1, -1), 0):
        size, stride = x.shape[dim], x.strides[dim]
        if not size or stride < least or (dim == 1 and not stride) or (dim == 0 and least == x.strides[1]):
            return False
        least = stride * max(size, 1)
    return True


def gathered(x: TensorMeta, indices: Any) -> Result:
    """index with one row-major tensor of i64 for each dim, where a pointwise operation of them would give a row-major result."""
    if len(indices) != len(x.shape):
        return None
    if any(type(index) is not TensorMeta or index.dtype is not torch.int64 or index.device != x.device or not index.is_contiguous for index in indices):
        return None
    shape = broadcast([index.shape for index in indices])
    operands = [(0,) * len(shape), *(expanded_strides(index.layout, shape) for index in indices)]
    result = x.like(shape)
    return result if result.strides == pointwise_strides([(shape, strides) for strides in operands], shape) else None


def accumulated(x: TensorMeta, dim: int, *, dtype: torch.dtype | None = None) -> Result:
    """cumsum and cumprod of a row-major tensor: integers give i64."""
    kind = category(x.dtype)
    if not x.shape or not x.is_contiguous or kind is None:
        return None
    normalize_dim(dim, len(x.shape))
    return x.like(x.shape, dtype or (x.dtype if kind >= 2 else torch.int64))


def _created(shape: tuple[int, ...], dtype: torch.dtype, device: Any) -> TensorMeta | None:
    if any(size < 0 for size in shape):
        return None
    meta = TensorMeta(shape, dtype, (), torch.device("cpu") if device is None else torch.device(device))
    return None if meta.device.type == "cuda" and meta.device.index is None else meta.like(shape)


def addcmul(x: TensorMeta, first: TensorMeta, second: TensorMeta, *, value: Any = 1) -> Result:
    """addcmul and addcdiv of floats of one dtype."""
    same = x.dtype is first.dtype is second.dtype and category(x.dtype) == 2 and common_device([x, first, second]) is not None
    return pointwise_meta((x, first, second), x.dtype) if same else None


def noisy_relu(x: TensorMeta, noise: TensorMeta, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None) -> Result:
    """rrelu_with_noise, whose result is contiguous whatever the operand is (torch's own meta kernel says otherwise)."""
    same = x.shape == noise.shape and x.dtype is noise.dtype and category(x.dtype) == 2
    return x.like(x.shape) if x.device.type == "cpu" and same else None


def noisy_relu_and_noise(x: TensorMeta, noise: TensorMeta, *args: Any, **kwargs: Any) -> Any:
    """rrelu_with_noise_functional: the same, and noise laid out as the noise it is given."""
    found = noisy_relu(x, noise)
    return None if found is None or not noise.is_contiguous else (found, noise._replace(storage_offset=0, requires_grad=False))


def squared_error_backward(gradient: TensorMeta, x: TensorMeta, target: TensorMeta, reduction: int) -> Result:
    """mse_loss_backward: contiguous, whatever the operands are."""
    same = x.shape == target.shape and x.dtype is target.dtype is gradient.dtype and x.device == target.device == gradient.device
    return x.like(x.shape) if same and category(x.dtype) == 2 and gradient.shape in ((), x.shape) else None


def likelihood_backward(gradient: TensorMeta, x: TensorMeta, target: TensorMeta, weight: Any, reduction: int, ignore_index: int, total: TensorMeta) -> Result:
    """nll_loss_backward: contiguous.  Its meta kernel is a decomposition, which takes longer than a hundred other calls."""
    batch = x.shape[:-1]
    same = x.device == target.device == gradient.device == total.device and x.dtype is gradient.dtype is total.dtype
    fits = len(x.shape) in (1, 2) and target.shape == batch and target.dtype is torch.int64 and total.shape == ()
    whole = gradient.shape == (batch if reduction == 0 else ())
    fitting = weight is None or (weight.shape == x.shape[-1:] and weight.dtype is x.dtype and weight.device == x.device)
    return x.like(x.shape) if same and fits and whole and fitting and category(x.dtype) == 2 else None


def membership(x: Any, few: Any, *, assume_unique: bool = False, invert: bool = False) -> Result:
    """isin: contiguous, whatever the operands are."""
    if not isinstance(x, TensorMeta) or not isinstance(few, TensorMeta) or x.device != few.device:
        return None
    return x.like(x.shape, torch.bool) if category(x.dtype) is not None and category(few.dtype) is not None else None


TABLE: Final[Mapping[Any, ShapeFunction]] = MappingProxyType(
    {
        aten.sum.dim_IntList: accumulate_dims,
        aten.sum.default: accumulate_all,
        aten.mean.dim: mean_dims,
        aten.mean.default: mean_all,
        **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims, aten.all.default, aten.all.dim, aten.all.dims), truth_dims),
        aten.amax.default: extremum_dims,
        aten.amin.default: extremum_dims,
        aten.max.default: extremum_all("max"),
        aten.min.default: extremum_all("min"),
        aten.max.dim: extremum_with_index,
        aten.min.dim: extremum_with_index,
        aten.argmax.default: index_of_extremum,
        aten.argmin.default: index_of_extremum,
        aten._softmax.default: softmax,
        aten._log_softmax.default: softmax,
        aten._safe_softmax.default: safe_softmax,
        aten._softmax_backward_data.default: softmax_backward,
        aten._log_softmax_backward_data.default: softmax_backward,
        aten.mm.default: matrix_product,
        aten.bmm.default: batched_product,
        aten.addmm.default: add_matrix_product,
        aten.native_layer_norm.default: layer_norm,
        aten.native_layer_norm_backward.default: layer_norm_backward,
        aten._scaled_dot_product_flash_attention_for_cpu.default: flash_attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: flash_attention_backward,
        aten.embedding_dense_backward.default: embedding_backward,
        aten._embedding_bag.default: embedding_bag,
        aten._embedding_bag_forward_only.default: embedding_bag_only,
        aten.arange.default: arange,
        aten.nonzero_static.default: places_of_nonzero,
        aten.full.default: filled,
        aten.zeros.default: created,
        aten.ones.default: created,
        aten.rand.default: created,
        aten.randn.default: created,
        aten.empty.memory_format: created,
        aten.new_zeros.default: created_like,
        aten.new_ones.default: created_like,
        aten.new_empty.default: created_like,
        aten.scalar_tensor.default: one_number,
        aten.cat.default: concatenated,
        aten.index.Tensor: gathered,
        aten.cumsum.default: accumulated,
        aten.cumprod.default: accumulated,
        aten.addcmul.default: addcmul,
        aten.addcdiv.default: addcmul,
        aten.rrelu_with_noise.default: noisy_relu,
        aten.mse_loss_backward.default: squared_error_backward,
        aten.nll_loss_backward.default: likelihood_backward,
        aten.isin.Tensor_Tensor: membership,
        aten.rrelu_with_noise_functional.default: noisy_relu_and_noise,
    }
)
