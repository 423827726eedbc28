"""What gathers, products, windows, normalisations and losses mean in terms of torch; see `functional_table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch
import torch.nn.functional as F

Reference = Callable[[Any, Callable[[Any], Any]], Any]
aten = torch.ops.aten


def gathered(op: Any, t: Any) -> Any:
    """Advanced indexing with full slices in the other dims."""
    x = t(op.x)
    places: list[Any] = [None] * x.dim()
    for dim, index in zip(op.dims, op.indices):
        places[dim] = _checked_index(op, t(index), x.shape[dim])
    return aten.index.Tensor(x, places)


def _checked_index(op: Any, index: torch.Tensor, size: int) -> torch.Tensor:
    if not op.negative and index.numel() and (index.min() < 0 or index.max() >= size):
        raise IndexError("index out of range in self")
    return index


def put(op: Any, t: Any) -> Any:
    """Advanced indexing on the left."""
    x = t(op.x)
    places: list[Any] = [None] * x.dim()
    for dim, index in zip(op.dims, op.indices):
        places[dim] = _checked_index(op, t(index), x.shape[dim])
    return aten.index_put.default(x, places, t(op.values), op.accumulate)


def scattered(op: Any, t: Any) -> Any:
    """scatter in all its modes."""
    x, index, src = t(op.x), t(op.index), t(op.src)
    if op.stepwise:
        return _scattered_stepwise(op, x, index, src)
    if op.mode == "set":
        return aten.scatter.value(x, op.dim, index, op.value) if src is None else aten.scatter.src(x, op.dim, index, src)
    if src is None:
        return aten.scatter.value_reduce(x, op.dim, index, op.value, reduce=op.mode)
    if op.mode == "add":
        return aten.scatter_add.default(x, op.dim, index, src)
    if op.mode == "multiply":
        return aten.scatter.reduce(x, op.dim, index, src, reduce="multiply")
    return aten.scatter_reduce.two(x, op.dim, index, src, op.mode, include_self=op.include_self)


def within(op: Any, t: Any) -> Any:
    """The elements, checked."""
    x = t(op.x)
    if x.numel() and not bool(((x >= (-torch.inf if op.min is None else op.min)) & (x <= (torch.inf if op.max is None else op.max))).all()):
        raise RuntimeError(op.message)
    return x


def _scattered_stepwise(op: Any, x: Any, index: Any, src: Any) -> Any:
    """sum, prod and mean of scatter_reduce, one slice after the other: nothing meets in a slice, so each step is stored, and rounded."""
    counts = torch.ones_like(x) if op.include_self else torch.zeros_like(x)
    if not op.include_self:
        x = x.scatter(op.dim, index, 1.0 if op.mode == "prod" else 0.0)
    for place in range(index.shape[op.dim]):
        where, part = index.narrow(op.dim, place, 1), src.narrow(op.dim, place, 1)
        x = torch.scatter_reduce(x, op.dim, where, part, "prod" if op.mode == "prod" else "sum")
        counts = torch.scatter_reduce(counts, op.dim, where, torch.ones_like(part), "sum")
    return x / counts.clamp(min=1) if op.mode == "mean" else x


def attention(op: Any, t: Any) -> Any:
    """The fused kernel of the CPU."""
    query, key, value = t(op.query), t(op.key), t(op.value)
    options = {"attn_mask": t(op.mask), "scale": op.scale}
    return aten._scaled_dot_product_flash_attention_for_cpu.default(query, key, value, 0.0, op.is_causal, **options)


def attention_backward(op: Any, t: Any) -> Any:
    """Its gradient."""
    saved = [t(value) for value in (op.gradient, op.query, op.key, op.value, op.output, op.logsumexp)]
    return aten._scaled_dot_product_flash_attention_for_cpu_backward.default(*saved, 0.0, op.is_causal, attn_mask=t(op.mask), scale=op.scale)


def convolution(op: Any, t: Any) -> Any:
    """Convolution and its transpose."""
    extra = op.output_padding or (0,) * len(op.stride)
    return aten.convolution.default(t(op.x), t(op.weight), t(op.bias), op.stride, op.padding, op.dilation, op.transposed, extra, op.groups)


def convolution_backward(op: Any, t: Any) -> Any:
    """The three gradients of a convolution."""
    gradient, x, weight = t(op.gradient), t(op.x), t(op.weight)
    extra = op.output_padding or (0,) * len(op.stride)
    lists = (op.stride, op.padding, op.dilation, op.transposed, extra, op.groups)
    return aten.convolution_backward.default(gradient, x, weight, [gradient.shape[1]], *lists, [True, True, True])


def window_sum(op: Any, t: Any) -> Any:
    """Average pools, times the divisor for plain sums."""
    x = t(op.x)
    if op.output_size is not None:
        adaptive = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[len(op.output_size) - 1]
        return adaptive(x, list(op.output_size))
    lists = (list(op.kernel), list(op.stride), list(op.padding), op.ceil_mode)
    if len(op.kernel) == 1:
        return F.avg_pool1d(x, *lists, op.divisor != "valid")
    pool = F.avg_pool2d if len(op.kernel) == 2 else F.avg_pool3d
    override = 1 if op.divisor == "none" else op.divisor if isinstance(op.divisor, int) else None
    return pool(x, *lists, op.divisor != "valid", override)


def window_max(op: Any, t: Any) -> Any:
    """Max pools with indices."""
    x = t(op.x)
    if op.output_size is not None:
        adaptive = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[len(op.output_size) - 1]
        return adaptive(x, list(op.output_size), True)
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(op.kernel) - 1]
    return pool(x, op.kernel, op.stride, op.padding, op.dilation, op.ceil_mode, True)


def upsample_name(kind: str, spatial: int) -> str:
    """ATen's name of an upsampling."""
    if kind == "linear":
        return ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[spatial - 1]
    return {"nearest": "upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d", "cubic": "upsample_bicubic{}d"}[kind].format(spatial)


def upsample(op: Any, t: Any) -> Any:
    """The upsample ops by kind and number of dims."""
    spatial = len(op.size)
    name = upsample_name(op.kind, spatial)
    scales = op.scales or (None,) * spatial
    align = () if op.kind.startswith("nearest") else (op.align_corners,)
    return getattr(aten, name).default(t(op.x), list(op.size), *align, *scales)


def layer_norm_backward(op: Any, t: Any) -> Any:
    """All three gradients; a missing weight is one of ones."""
    x, weight = t(op.x), t(op.weight)
    weight = torch.ones(op.normalized, dtype=x.dtype, device=x.device) if weight is None else weight
    saved = (t(op.gradient), x, list(op.normalized), t(op.mean), t(op.rstd), weight, weight)
    return aten.native_layer_norm_backward.default(*saved, [True, True, True])


def group_norm(op: Any, t: Any) -> Any:
    """native_group_norm."""
    x = t(op.x)
    batch, channels = x.shape[:2]
    return aten.native_group_norm.default(x, t(op.weight), t(op.bias), batch, channels, x[0, 0].numel(), op.groups, op.eps)


def batch_norm(op: Any, t: Any) -> Any:
    """Statistics of the batch or of the past; the running ones are copied first."""
    mean, var = t(op.running_mean).clone(), t(op.running_var).clone()
    found = aten.native_batch_norm.default(t(op.x), t(op.weight), t(op.bias), mean, var, op.training, op.momentum, op.eps)
    return *found, mean, var


REDUCTIONS: Final[Mapping[str, int]] = MappingProxyType({"none": 0, "mean": 1, "sum": 2})


def loss(function: Callable[..., Any], *tensors: str) -> Reference:
    """A loss with a reduction."""
    return lambda op, t: function(t(op.x), t(op.target), *[t(getattr(op, name)) for name in tensors], REDUCTIONS[op.reduction])


def huber(op: Any, t: Any) -> Any:
    """huber_loss and smooth_l1_loss."""
    function = aten.smooth_l1_loss.default if op.smooth else aten.huber_loss.default
    return function(t(op.x), t(op.target), REDUCTIONS[op.reduction], op.delta)


def negative_log_likelihood(op: Any, t: Any) -> Any:
    """nll_loss of classes, or of maps of classes."""
    function = aten.nll_loss2d_forward.default if t(op.target).dim() == 3 else aten.nll_loss_forward.default
    return function(t(op.x), t(op.target), t(op.weight), REDUCTIONS[op.reduction], op.ignore_index)


def negative_log_likelihood_backward(op: Any, t: Any) -> Any:
    """Its gradient."""
    function = aten.nll_loss2d_backward.default if t(op.target).dim() == 3 else aten.nll_loss_backward.default
    return function(t(op.gradient), t(op.x), t(op.target), t(op.weight), REDUCTIONS[op.reduction], op.ignore_index, t(op.total_weight))


def max_pool_backward(op: Any, t: Any) -> Any:
    """The gradient scattered to the indices of the flattened spatial dims."""
    gradient, x, indices = t(op.gradient), t(op.x), t(op.indices)
    kept = x.dim() - op.spatial
    flat = torch.zeros((*x.shape[:kept], x[(0,) * kept].numel()), dtype=x.dtype, device=x.device)
    return flat.scatter_add(-1, indices.flatten(kept), gradient.flatten(kept)).reshape(x.shape)


def embedding_bag(op: Any, t: Any) -> Any:
    """_embedding_bag."""
    mode = ("sum", "mean", "max").index(op.mode)
    tensors = (t(op.weight), t(op.indices), t(op.offsets))
    return aten._embedding_bag.default(*tensors, False, mode, False, t(op.per_sample_weights), op.include_last_offset, op.padding)


def avg_pool_backward(op: Any, t: Any) -> Any:
    """The gradient of the pool by autograd, as torch has one backward op for each kind."""
    x = t(op.x).detach().requires_grad_()
    with torch.enable_grad():
        pooled = window_sum(op, lambda value: x)
    return torch.autograd.grad(pooled, x, t(op.gradient))[0]


def upsample_backward(op: Any, t: Any) -> Any:
    """The gradient of upsample."""
    spatial = len(op.input_size) - 2
    name = upsample_name(op.kind, spatial) + "_backward"
    gradient = t(op.gradient)
    align = () if op.kind.startswith("nearest") else (op.align_corners,)
    scales = op.scales or (None,) * spatial
    return getattr(aten, name).default(gradient, list(gradient.shape[2:]), list(op.input_size), *align, *scales)


def grid_options(op: Any) -> tuple[int, int, bool]:
    """mode, padding mode and align_corners as ATen counts them."""
    return ("bilinear", "nearest", "bicubic").index(op.mode), ("zeros", "border", "reflection").index(op.padding_mode), op.align_corners


def grid_sample(op: Any, t: Any) -> Any:
    """grid_sampler of two or three spatial dims."""
    return torch.grid_sampler(t(op.x), t(op.grid), *grid_options(op))


def grid_sample_backward(op: Any, t: Any) -> Any:
    """Both gradients of it."""
    function = aten.grid_sampler_2d_backward.default if t(op.x).dim() == 4 else aten.grid_sampler_3d_backward.default
    return function(t(op.gradient), t(op.x), t(op.grid), *grid_options(op), [True, True])


def group_norm_backward(op: Any, t: Any) -> Any:
    """The three gradients of group_norm."""
    x, weight = t(op.x), t(op.weight)
    batch, channels = x.shape[:2]
    weight = torch.ones(channels, dtype=x.dtype, device=x.device) if weight is None else weight
    saved = (t(op.gradient), x, t(op.mean), t(op.rstd), weight, batch, channels, x[0, 0].numel(), op.groups)
    return aten.native_group_norm_backward.default(*saved, [True, True, True])


def batch_norm_backward(op: Any, t: Any) -> Any:
    """The three gradients of batch_norm; the statistics are those its forward gave."""
    x, weight = t(op.x), t(op.weight)
    weight = torch.ones(x.shape[1], dtype=x.dtype, device=x.device) if weight is None else weight
    saved = (t(op.gradient), x, weight, None, None, t(op.mean), t(op.rstd), op.training, op.eps)
    return aten.native_batch_norm_backward.default(*saved, [True, True, True])


def weight_norm_backward(op: Any, t: Any) -> Any:
    """Both gradients of weight_norm."""
    return aten._weight_norm_interface_backward.default(t(op.gradient), t(op.v), t(op.g), t(op.norm), op.dim)


def embedding_bag_backward(op: Any, t: Any) -> Any:
    """The gradient of the table, dense."""
    mode = ("sum", "mean", "max").index(op.mode)
    saved = [t(value) for value in (op.gradient, op.indices, op.offset_to_bag, op.bag_size, op.max_indices)]
    weights = t(op.per_sample_weights)
    return aten._embedding_bag_dense_backward.default(*saved, op.count, False, mode, weights, op.padding)


GATHER: Final[dict[str, Reference]] = {
    "index": gathered,
    "index_put": put,
    "gather": lambda op, t: torch.gather(t(op.x), op.dim, t(op.index)),
    "scatter": scattered,
    "slice_scatter": lambda op, t: torch.slice_scatter(t(op.x), t(op.src), op.dim, op.start, op.end, op.step),
    "diagonal_scatter": lambda op, t: torch.diagonal_scatter(t(op.x), t(op.src), op.offset, op.dim1, op.dim2),
    "as_strided_scatter": lambda op, t: torch.as_strided_scatter(t(op.x), t(op.src), op.size, op.stride, t(op.x).storage_offset() + op.offset),
    "searchsorted": lambda op, t: torch.searchsorted(t(op.boundaries), t(op.values), right=op.right, sorter=t(op.sorter), out_int32=op.element.bits == 32),
    "embedding_backward": lambda op, t: aten.embedding_dense_backward.default(t(op.gradient), t(op.indices), op.count, op.padding, op.scale_by_frequency),
    "embedding_bag": embedding_bag,
    "embedding_bag_backward": embedding_bag_backward,
    "within": within,
    "segment_reduce": lambda op, t: torch.segment_reduce(t(op.x), op.reduce, lengths=t(op.lengths), axis=op.axis, initial=op.initial),
}

BLOCKS: Final[dict[str, Reference]] = {
    "mm": lambda op, t: torch.mm(t(op.x), t(op.y)),
    "bmm": lambda op, t: torch.bmm(t(op.x), t(op.y)),
    "addmm": lambda op, t: torch.addmm(t(op.added), t(op.x), t(op.y), beta=op.beta, alpha=op.alpha),
    "baddbmm": lambda op, t: torch.baddbmm(t(op.added), t(op.x), t(op.y), beta=op.beta, alpha=op.alpha),
    "addmv": lambda op, t: torch.addmv(t(op.added), t(op.x), t(op.y), beta=op.beta, alpha=op.alpha),
    "addbmm": lambda op, t: torch.addbmm(t(op.added), t(op.x), t(op.y), beta=op.beta, alpha=op.alpha),
    "attention": attention,
    "attention_backward": attention_backward,
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "layer_norm": lambda op, t: aten.native_layer_norm.default(t(op.x), list(op.normalized), t(op.weight), t(op.bias), op.eps),
    "layer_norm_backward": layer_norm_backward,
    "group_norm": group_norm,
    "group_norm_backward": group_norm_backward,
    "batch_norm": batch_norm,
    "batch_norm_backward": batch_norm_backward,
    "weight_norm": lambda op, t: aten._weight_norm_interface.default(t(op.v), t(op.g), op.dim),
    "weight_norm_backward": weight_norm_backward,
    "mse": loss(aten.mse_loss.default),
    "huber": huber,
    "bce": loss(aten.binary_cross_entropy.default, "weight"),
    "bce_with_logits": loss(aten.binary_cross_entropy_with_logits.default, "weight", "pos_weight"),
    "soft_margin": loss(aten.soft_margin_loss.default),
    "nll": negative_log_likelihood,
    "nll_backward": negative_log_likelihood_backward,
}

WINDOWS: Final[dict[str, Reference]] = {
    "window_sum": window_sum,
    "window_max_with_index": window_max,
    "max_pool_backward": max_pool_backward,
    "upsample": upsample,
    "avg_pool_backward": avg_pool_backward,
    "upsample_backward": upsample_backward,
    "grid_sample": grid_sample,
    "grid_sample_backward": grid_sample_backward,
}
