"""Library calls: for every functional operation that has no nest, or not always, the ATen overload that computes it and its arguments.

A call gets its operands as strided views with eager's strides, so the library takes the path it takes in eager and gives eager's strides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import composite, contraction, creation, gather, normalization, ops, pointwise, reduction, view, window
from lect.dialects.functional.ops import OperandRef
from lect.dialects.functional.types import TensorType
from lect.ir import LectError, Operation, Pure, Value
from lect.passes.convert.functional_to_loop_base import Lowering, Rule, Seen
from lect.passes.convert.functional_to_loop_view import reshaped

Call = tuple[str, list[Any], dict[str, Any]]
Describe = Callable[[Any], "Call | None"]


def call(lowering: Lowering, op: Any) -> list[Seen]:
    """Lower an operation to its library call; results without elements need none.  Raises `LectError` when none computes it."""
    if Pure in op.traits and op.results and all(value.type.is_empty for value in op.results):
        return [constant_tensor(lowering, 0, value.type) for value in op.results]
    special = SPECIAL.get(type(op))
    if special is not None:
        return special(lowering, op)
    describe = CALLS.get(type(op))
    found = describe(op) if describe is not None else None
    if found is None:
        raise LectError(f"'{op.name}' has neither a loop form nor a library call for these operands", op=op)
    callee, args, kwargs = found
    return lowering.extern(op, callee, args, kwargs)


def number_or_tensor(lowering: Lowering, op: Any) -> tuple[Value | Seen, Value | Seen]:
    """Both operands of a binary operation as tensors, the number as a 0-d one, in the order in which they are combined."""
    second: Value | Seen = op.y if op.y is not None else constant_tensor(lowering, op.other, op.x.type.like((), strides=()))
    return (second, op.x) if op.reversed else (op.x, second)


def constant_tensor(lowering: Lowering, number: Any, type: TensorType) -> Seen:
    """A tensor full of one number."""
    body = lowering.body(type)
    body.store(body.const(number, type.element), type)
    return body.finish()[0]


def _plain(callee: str, *fields: str) -> Describe:
    """The call `callee(op.field, ...)`."""
    return lambda op: (callee, [getattr(op, name) for name in fields], {})


def _family(module: Any, names: str) -> dict[type[Operation], str]:
    return {getattr(module, "".join(part.capitalize() for part in name.split("_")) + "Op"): name for name in names.split()}


# ---- elementwise -----------------------------------------------------------------------------------------------------


def _binary(callee: str, **kwargs: Any) -> Rule:
    def lower(lowering: Lowering, op: Any) -> list[Seen]:
        x, y = number_or_tensor(lowering, op)
        named = {name: getattr(op, field) for name, field in kwargs.items()}
        return lowering.extern(op, callee, [x, y], named)

    return lower


def _pow(op: Any) -> Call:
    if op.y is not None:
        return "aten.pow.Tensor_Tensor", [op.x, op.y], {}
    return ("aten.pow.Scalar", [op.other, op.x], {}) if op.reversed else ("aten.pow.Tensor_Scalar", [op.x, op.other], {})


def _iota(op: Any) -> Call:
    if not op.size or (type(op.start) is int and type(op.step) is int):
        end = op.start + op.step * op.size
    else:
        end = op.start + op.step * (op.size - 0.5)  # half a step short of the next element, so that rounding cannot add one
    return "aten.arange.start_step", [op.start, end, op.step], {"dtype": op.element}


def _xlogy(lowering: Lowering, op: Any) -> list[Seen]:
    return lowering.extern(op, "aten.xlogy.Tensor" if op.logarithm == "log" else "aten.special_xlog1py.default", list(number_or_tensor(lowering, op)))


def _leaky_relu(op: Any) -> Call | None:
    return ("aten.leaky_relu.default", [op.x, op.negative_slope], {}) if op.weight is None else None


def _shrink_backward(op: Any) -> Call:
    return f"aten.{op.kind}shrink_backward.default", [op.gradient, op.x, op.lambd], {}


# ---- reductions, scans, sorts ----------------------------------------------------------------------------------------


def _prod(op: Any) -> Call | None:
    dtype = {"dtype": op.output.type.element}
    if len(op.dims) == 1:
        return "aten.prod.dim_int", [op.x, op.dims[0], op.keepdim], dtype
    return ("aten.prod.default", [op.x], dtype) if op.output.type.rank == 0 else None


def _cummax(op: Any) -> Call:
    return f"aten.cum{op.kind}.default", [op.x, op.dim], {}


def _with_dtype(callee: str, *fields: str) -> Describe:
    return lambda op: (callee, [getattr(op, name) for name in fields], {"dtype": op.output.type.element})


def _softmax(op: Any) -> Call:
    name = "_safe_softmax.default" if op.safe else "softmax.int"
    return f"aten.{name}", [op.x, op.dim], {"dtype": op.output.type.element}


def _sort(op: Any) -> Call:
    return "aten.sort.stable", [op.x], {"stable": op.stable, "dim": op.dim, "descending": op.descending}


# ---- gather and scatter ----------------------------------------------------------------------------------------------


def _index_list(op: Any) -> list[Any]:
    listed: list[Any] = [None] * (max(op.dims) + 1)
    for dim, index in zip(op.dims, op.indices):
        listed[dim] = index
    return listed


def _index(lowering: Lowering, op: Any) -> list[Seen]:
    if op.negative or len(op.dims) != 1:
        return lowering.extern(op, "aten.index.Tensor", [op.x, _index_list(op)])
    (dim,), (index,) = op.dims, op.indices
    if op.x.type.rank == 2 and dim == 0:
        return lowering.extern(op, "aten.embedding.default", [op.x, index])
    flat = reshaped(lowering, lowering.seen[index], index.type.like((index.type.count,)))
    x: TensorType = op.x.type
    type = x.like((*x.shape[:dim], index.type.count, *x.shape[dim + 1 :]))
    (selected,) = lowering.extern(op, "aten.index_select.default", [op.x, dim, flat], types=[type])
    return [reshaped(lowering, selected, op.output.type)]


def _scatter(op: Any) -> Call:
    if op.mode == "set":
        name, written = ("src", op.src) if op.src is not None else ("value", op.value)
        return f"aten.scatter.{name}", [op.x, op.dim, op.index, written], {}
    if op.mode in ("add", "multiply"):
        if op.src is None:
            return "aten.scatter.value_reduce", [op.x, op.dim, op.index, op.value], {"reduce": op.mode}
        if op.mode == "add":
            return "aten.scatter_add.default", [op.x, op.dim, op.index, op.src], {}
        return "aten.scatter.reduce", [op.x, op.dim, op.index, op.src], {"reduce": op.mode}
    return "aten.scatter_reduce.two", [op.x, op.dim, op.index, op.src, op.mode], {"include_self": op.include_self}


def _searchsorted(op: Any) -> Call:
    kwargs = {"out_int32": op.element.bits == 32, "right": op.right}
    if op.sorter is not None:
        kwargs["sorter"] = op.sorter
    return "aten.searchsorted.Tensor", [op.boundaries, op.values], kwargs


BAG_MODES = ("sum", "mean", "max")


def _embedding_bag(op: Any) -> Call:
    mode = BAG_MODES.index(op.mode)
    args = [op.weight, op.indices, op.offsets, False, mode, False, op.per_sample_weights, op.include_last_offset, op.padding]
    return "aten._embedding_bag.default", args, {}


def _embedding_bag_backward(op: Any) -> Call:
    mode = BAG_MODES.index(op.mode)
    args = [op.gradient, op.indices, op.offset_to_bag, op.bag_size, op.max_indices, op.count, False, mode, op.per_sample_weights, op.padding]
    return "aten._embedding_bag_dense_backward.default", args, {}


def _segment_reduce(op: Any) -> Call:
    return "aten.segment_reduce.default", [op.x, op.reduce], {"lengths": op.lengths, "axis": op.axis, "unsafe": False, "initial": op.initial}


def _max_pool_backward(lowering: Lowering, op: Any) -> list[Seen]:
    """The gradient added up at flat spatial indices: a scatter into zeros."""
    shape, spatial = op.x.type.shape, op.spatial
    kept = shape[: len(shape) - spatial]

    def flat(value: Value) -> Seen:
        type: TensorType = value.type  # type: ignore[assignment]
        size = 1
        for extent in type.shape[type.rank - spatial :]:
            size *= extent
        return reshaped(lowering, lowering.seen[value], type.like((*kept, size)))

    whole = op.x.type.like((*kept, -1 if op.x.type.is_empty else op.x.type.count // max(1, _product(kept))))
    zeros = constant_tensor(lowering, 0, whole)
    (summed,) = lowering.extern(op, "aten.scatter_add.default", [zeros, len(kept), flat(op.indices), flat(op.gradient)], types=[whole])
    return [reshaped(lowering, summed, op.output.type)]


def _product(sizes: tuple[int, ...]) -> int:
    out = 1
    for size in sizes:
        out *= size
    return out


# ---- contractions ----------------------------------------------------------------------------------------------------


def _added_product(callee: str) -> Describe:
    def describe(op: Any) -> Call:
        kwargs = {name: getattr(op, name) for name in ("beta", "alpha") if getattr(op, name) != 1}
        return callee, [op.added, op.x, op.y], kwargs

    return describe


def _attention(op: Any) -> Call:
    kwargs = {name: value for name, value in (("attn_mask", op.mask), ("scale", op.scale)) if value is not None}
    return "aten._scaled_dot_product_flash_attention_for_cpu.default", [op.query, op.key, op.value, 0.0, op.is_causal], kwargs


def _attention_backward(op: Any) -> Call:
    kwargs = {name: value for name, value in (("attn_mask", op.mask), ("scale", op.scale)) if value is not None}
    args = [op.gradient, op.query, op.key, op.value, op.output, op.logsumexp, 0.0, op.is_causal]
    return "aten._scaled_dot_product_flash_attention_for_cpu_backward.default", args, kwargs


def _geometry(op: Any) -> list[Any]:
    extra = op.output_padding or (0,) * len(op.stride)
    return [op.stride, op.padding, op.dilation, op.transposed, extra, op.groups]


def _convolution(op: Any) -> Call:
    return "aten.convolution.default", [op.x, op.weight, op.bias, *_geometry(op)], {}


def _wanted(op: Any) -> tuple[bool, ...]:
    """For each result whether something reads it: a library computes no gradient for nothing."""
    return tuple([bool(value.users) for value in op.results])


def _convolution_backward(op: Any) -> Call:
    sizes = op.bias_gradient.type.shape
    return "aten.convolution_backward.default", [op.gradient, op.x, op.weight, sizes, *_geometry(op), _wanted(op)], {}


# ---- normalisations and losses ---------------------------------------------------------------------------------------


def _layer_norm_backward(op: Any) -> Call | None:
    if op.weight is None and any(_wanted(op)[1:]):
        return None
    bias = op.weight  # of the bias only its presence and shape matter
    args = [op.gradient, op.x, op.normalized, op.mean, op.rstd, op.weight, bias, (True,) * 3 if op.weight is not None else (True, False, False)]
    return "aten.native_layer_norm_backward.default", args, {}


def _group_norm(op: Any) -> Call:
    batch, channels = op.x.type.shape[:2]
    args = [op.x, op.weight, op.bias, batch, channels, _product(op.x.type.shape[2:]), op.groups, op.eps]
    return "aten.native_group_norm.default", args, {}


def _group_norm_backward(op: Any) -> Call | None:
    if op.weight is None:
        return None
    batch, channels = op.x.type.shape[:2]
    args = [op.gradient, op.x, op.mean, op.rstd, op.weight, batch, channels, _product(op.x.type.shape[2:]), op.groups, _wanted(op)]
    return "aten.native_group_norm_backward.default", args, {}


def _batch_norm_backward(op: Any) -> Call | None:
    if not op.training:
        return None
    args = [op.gradient, op.x, op.weight, None, None, op.mean, op.rstd, True, op.eps, _wanted(op)]
    return "aten.native_batch_norm_backward.default", args, {}


LOSS_REDUCTIONS = ("none", "mean", "sum")


def _loss(callee: str, *fields: str) -> Describe:
    return lambda op: (callee, [*[getattr(op, name) for name in fields], LOSS_REDUCTIONS.index(op.reduction)], {})


def _huber(op: Any) -> Call:
    name = "smooth_l1_loss" if op.smooth else "huber_loss"
    return f"aten.{name}.default", [op.x, op.target, LOSS_REDUCTIONS.index(op.reduction), op.delta], {}


def _nll(op: Any) -> Call:
    name = "nll_loss2d_forward" if op.x.type.rank == 4 else "nll_loss_forward"
    return f"aten.{name}.default", [op.x, op.target, op.weight, LOSS_REDUCTIONS.index(op.reduction), op.ignore_index], {}


def _nll_backward(op: Any) -> Call:
    name = "nll_loss2d_backward" if op.x.type.rank == 4 else "nll_loss_backward"
    args = [op.gradient, op.x, op.target, op.weight, LOSS_REDUCTIONS.index(op.reduction), op.ignore_index, op.total_weight]
    return f"aten.{name}.default", args, {}


# ---- pooling and resampling ------------------------------------------------------------------------------------------


def _divisor(op: Any) -> list[Any]:
    if op.divisor == "none":
        return [True, 1]
    return [op.divisor != "valid", op.divisor if type(op.divisor) is int else None]


def _window_sum(op: Any) -> Call | None:
    if op.output_size is not None:
        spatial = len(op.output_size)
        return (f"aten.{'_' if spatial > 1 else ''}adaptive_avg_pool{spatial}d.default", [op.x, op.output_size], {}) if op.divisor == "valid" else None
    spatial = len(op.kernel)
    counted = _divisor(op)
    if spatial == 1:
        return ("aten.avg_pool1d.default", [op.x, op.kernel, op.stride, op.padding, op.ceil_mode, counted[0]], {}) if counted[1] is None else None
    return f"aten.avg_pool{spatial}d.default", [op.x, op.kernel, op.stride, op.padding, op.ceil_mode, *counted], {}


def _avg_pool_backward(op: Any) -> Call | None:
    if op.output_size is not None:
        spatial = len(op.output_size)
        return (f"aten._adaptive_avg_pool{spatial}d_backward.default", [op.gradient, op.x], {}) if spatial > 1 and op.divisor == "valid" else None
    spatial = len(op.kernel)
    args = [op.gradient, op.x, op.kernel, op.stride, op.padding, op.ceil_mode, *_divisor(op)]
    return (f"aten.avg_pool{spatial}d_backward.default", args, {}) if spatial > 1 else None


def _window_max(op: Any) -> Call:
    if op.output_size is not None:
        return f"aten.adaptive_max_pool{len(op.output_size)}d.default", [op.x, op.output_size], {}
    return f"aten.max_pool{len(op.kernel)}d_with_indices.default", [op.x, op.kernel, op.stride, op.padding, op.dilation, op.ceil_mode], {}


LINEAR = (None, "linear1d", "bilinear2d", "trilinear3d")


def _upsampling(op: Any, spatial: int) -> tuple[str, list[Any]]:
    scales = list(op.scales) or [None] * spatial
    if op.kind in ("nearest", "nearest-exact"):
        prefix = "_upsample_nearest_exact" if op.kind == "nearest-exact" else "upsample_nearest"
        return f"aten.{prefix}{spatial}d", scales
    return f"aten.upsample_{LINEAR[spatial] if op.kind == 'linear' else 'bicubic2d'}", [op.align_corners, *scales]


def _upsample(op: Any) -> Call:
    name, rest = _upsampling(op, len(op.size))
    return f"{name}.default", [op.x, op.size, *rest], {}


def _upsample_backward(op: Any) -> Call:
    spatial = op.gradient.type.rank - 2
    name, rest = _upsampling(op, spatial)
    return f"{name}_backward.default", [op.gradient, op.gradient.type.shape[2:], op.input_size, *rest], {}


GRID_MODES = ("bilinear", "nearest", "bicubic")
GRID_PADDING = ("zeros", "border", "reflection")


def _grid_arguments(op: Any) -> list[Any]:
    return [op.x, op.grid, GRID_MODES.index(op.mode), GRID_PADDING.index(op.padding_mode), op.align_corners]


def _grid_sample(op: Any) -> Call:
    return f"aten.grid_sampler_{op.x.type.rank - 2}d.default", _grid_arguments(op), {}


def _grid_sample_backward(op: Any) -> Call:
    return f"aten.grid_sampler_{op.x.type.rank - 2}d_backward.default", [op.gradient, *_grid_arguments(op), (True, True)], {}


# ---- opaque calls ----------------------------------------------------------------------------------------------------


def _opaque(op: Any) -> Call:
    def convert(value: Any) -> Any:
        if isinstance(value, OperandRef):
            return op.operands[value.number]
        return [convert(item) for item in value] if isinstance(value, tuple) else value

    return op.target.leaf, [convert(value) for value in op.args], {name: convert(value) for name, value in op.kwargs.items()}


SPECIAL: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        **{cls: _binary(f"aten.{name}.default") for cls, name in _family(pointwise, "nextafter").items()},
        **{cls: _binary(f"aten.{name}.Tensor") for cls, name in _family(pointwise, "remainder fmod mul").items()},
        **{cls: _binary(f"aten.{name}.Tensor", alpha="alpha") for cls, name in _family(pointwise, "add sub").items()},
        pointwise.DivOp: _binary("aten.div.Tensor_mode", rounding_mode="mode"),
        composite.XlogyOp: _xlogy,
        gather.IndexOp: _index,
        window.MaxPoolBackwardOp: _max_pool_backward,
    }
)

CALLS: Mapping[type[Operation], Describe] = MappingProxyType(
    {
        **{cls: _plain(f"aten.{name}.default", "x") for cls, name in _family(pointwise, "reciprocal neg exp sqrt").items()},
        **{cls: _plain(f"aten.{name}.default", "gradient", "x") for cls, name in _family(composite, "mish_backward hardswish_backward").items()},
        pointwise.PowOp: _pow,
        creation.IotaOp: _iota,
        creation.CastOp: _with_dtype("aten._to_copy.default", "x"),
        creation.CopyOp: _plain("aten.clone.default", "x"),
        composite.LogitOp: _plain("aten.logit.default", "x", "eps"),
        composite.LeakyReluOp: _leaky_relu,
        composite.HardsigmoidBackwardOp: _plain("aten.hardsigmoid_backward.default", "gradient", "x"),
        composite.HardtanhBackwardOp: _plain("aten.hardtanh_backward.default", "gradient", "x", "min", "max"),
        composite.EluBackwardOp: _plain("aten.elu_backward.default", "gradient", "alpha", "scale", "input_scale", "is_result", "x"),
        composite.LeakyReluBackwardOp: _plain("aten.leaky_relu_backward.default", "gradient", "x", "negative_slope", "is_result"),
        composite.SoftplusBackwardOp: _plain("aten.softplus_backward.default", "gradient", "x", "beta", "threshold"),
        composite.GluBackwardOp: _plain("aten.glu_backward.default", "gradient", "x", "dim"),
        composite.ShrinkBackwardOp: _shrink_backward,
        reduction.ProdOp: _prod,
        reduction.LogsumexpOp: _plain("aten.logsumexp.default", "x", "dims", "keepdim"),
        reduction.VectorNormOp: _with_dtype("aten.linalg_vector_norm.default", "x", "ord", "dims", "keepdim"),
        reduction.SoftmaxOp: _softmax,
        reduction.LogSoftmaxOp: _with_dtype("aten.log_softmax.int", "x", "dim"),
        reduction.CumsumOp: _with_dtype("aten.cumsum.default", "x", "dim"),
        reduction.CumprodOp: _with_dtype("aten.cumprod.default", "x", "dim"),
        reduction.LogcumsumexpOp: _plain("aten.logcumsumexp.default", "x", "dim"),
        reduction.CummaxWithIndexOp: _cummax,
        reduction.SortOp: _sort,
        reduction.TopkOp: _plain("aten.topk.default", "x", "k", "dim", "largest", "sorted"),
        reduction.XorSumOp: _plain("aten.hash_tensor.default", "x", "dims"),
        view.CatOp: lambda op: ("aten.cat.default", [list(op.inputs), op.dim], {}),
        gather.IndexPutOp: lambda op: ("aten.index_put.default", [op.x, _index_list(op), op.values, op.accumulate], {}),
        gather.GatherOp: _plain("aten.gather.default", "x", "dim", "index"),
        gather.ScatterOp: _scatter,
        gather.SliceScatterOp: _plain("aten.slice_scatter.default", "x", "src", "dim", "start", "end", "step"),
        gather.DiagonalScatterOp: _plain("aten.diagonal_scatter.default", "x", "src", "offset", "dim1", "dim2"),
        gather.AsStridedScatterOp: _plain("aten.as_strided_scatter.default", "x", "src", "size", "stride", "offset"),
        gather.SearchsortedOp: _searchsorted,
        gather.EmbeddingBackwardOp: _plain("aten.embedding_dense_backward.default", "gradient", "indices", "count", "padding", "scale_by_frequency"),
        gather.EmbeddingBagOp: _embedding_bag,
        gather.EmbeddingBagBackwardOp: _embedding_bag_backward,
        gather.SegmentReduceOp: _segment_reduce,
        contraction.MmOp: _plain("aten.mm.default", "x", "y"),
        contraction.BmmOp: _plain("aten.bmm.default", "x", "y"),
        contraction.AddmmOp: _added_product("aten.addmm.default"),
        contraction.BaddbmmOp: _added_product("aten.baddbmm.default"),
        contraction.AddmvOp: _added_product("aten.addmv.default"),
        contraction.AddbmmOp: _added_product("aten.addbmm.default"),
        contraction.AttentionOp: _attention,
        contraction.AttentionBackwardOp: _attention_backward,
        contraction.ConvolutionOp: _convolution,
        contraction.ConvolutionBackwardOp: _convolution_backward,
        normalization.LayerNormOp: _plain("aten.native_layer_norm.default", "x", "normalized", "weight", "bias", "eps"),
        normalization.LayerNormBackwardOp: _layer_norm_backward,
        normalization.GroupNormOp: _group_norm,
        normalization.GroupNormBackwardOp: _group_norm_backward,
        normalization.BatchNormOp: _plain(
            "aten._native_batch_norm_legit_functional.default", "x", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"
        ),
        normalization.BatchNormBackwardOp: _batch_norm_backward,
        normalization.WeightNormOp: _plain("aten._weight_norm_interface.default", "v", "g", "dim"),
        normalization.WeightNormBackwardOp: _plain("aten._weight_norm_interface_backward.default", "gradient", "v", "g", "norm", "dim"),
        normalization.MseOp: _loss("aten.mse_loss.default", "x", "target"),
        normalization.HuberOp: _huber,
        normalization.BceOp: _loss("aten.binary_cross_entropy.default", "x", "target", "weight"),
        normalization.BceWithLogitsOp: _loss("aten.binary_cross_entropy_with_logits.default", "x", "target", "weight", "pos_weight"),
        normalization.SoftMarginOp: _loss("aten.soft_margin_loss.default", "x", "target"),
        normalization.NllOp: _nll,
        normalization.NllBackwardOp: _nll_backward,
        window.WindowSumOp: _window_sum,
        window.WindowMaxWithIndexOp: _window_max,
        window.AvgPoolBackwardOp: _avg_pool_backward,
        window.UpsampleOp: _upsample,
        window.UpsampleBackwardOp: _upsample_backward,
        window.GridSampleOp: _grid_sample,
        window.GridSampleBackwardOp: _grid_sample_backward,
        ops.OpaqueOp: _opaque,
    }
)
# Calls that depend on types, attributes and how operands lie alone.
BY_TYPES = (
    contraction.MmOp, contraction.BmmOp, contraction.AddmmOp, contraction.BaddbmmOp, contraction.AttentionOp, contraction.AttentionBackwardOp,
    contraction.ConvolutionOp,
)  # fmt: skip
