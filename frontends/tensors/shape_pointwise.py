"""Shape functions of elementwise ops: same layout rules for all, dtype by promotion.

A shape function gets metadata where the op gets tensors and gives the metadata of the result (or a tuple of them), or None where it does not
know; torch's meta kernels decide then, and they also raise torch's own errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.dialects.functional.shapes import ShapeError, broadcast, pointwise_strides, preserved_strides
from lect.frontends.tensors.metadata import TensorMeta

aten = torch.ops.aten
Result = TensorMeta | tuple[TensorMeta | None, ...] | None
ShapeFunction = Callable[..., Result]

_SCALAR_DTYPES: Final[Mapping[type, torch.dtype]] = MappingProxyType({bool: torch.bool, int: torch.int64, float: torch.float32})
_CATEGORIES: Final[Mapping[torch.dtype, int]] = MappingProxyType(
    {
        torch.bool: 0,
        **dict.fromkeys((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64), 1),
        **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), 2),
        **dict.fromkeys((torch.complex32, torch.complex64, torch.complex128), 3),
    }
)


def category(dtype: torch.dtype) -> int | None:
    """0 bool, 1 integer, 2 float, 3 complex; None for the dtypes that take no part in promotion."""
    return _CATEGORIES.get(dtype)


def promoted_dtype(values: tuple[Any, ...]) -> torch.dtype | None:
    """The common dtype: tensors with dims decide unless a 0-d tensor, and then a Python number, is of a higher category."""
    groups: list[torch.dtype | None] = [None, None, None]
    for value in values:
        if type(value) is TensorMeta:
            dtype, group = value.dtype, 0 if value.shape else 1
        elif type(value) in _SCALAR_DTYPES:
            dtype, group = _SCALAR_DTYPES[type(value)], 2
        else:
            return None
        if dtype not in _CATEGORIES:
            return None
        if group == 2 and dtype is torch.float32:
            dtype = torch.get_default_dtype()
        have = groups[group]
        groups[group] = dtype if have is None else torch.promote_types(have, dtype)
    return _combine(groups)


def _combine(groups: list[torch.dtype | None]) -> torch.dtype | None:
    result: torch.dtype | None = None
    for dtype in groups:
        if dtype is None:
            continue
        if result is None or _CATEGORIES[dtype] > _CATEGORIES[result]:
            # A complex from a real of a lower group keeps that real's precision, which only torch's own tables say.
            if result is not None and _CATEGORIES[dtype] == 3:
                return None
            result = dtype
    return result


_NUMBER = ((), ())


def pointwise_meta(values: tuple[Any, ...], dtype: torch.dtype | None, computed: torch.dtype | None = None) -> TensorMeta | None:
    """The result of a pointwise op on these operands; None when devices or shapes disagree.

    A number among the operands is a 0-d tensor to eager, which matters for the strides of dims of size 1.  An operand that is not of the dtype in
    which the op is `computed` is converted first, which makes it dense.
    """
    tensors = [value for value in values if type(value) is TensorMeta]
    if dtype is None or not tensors:
        return None
    device = common_device(tensors)
    if device is None:
        return None
    if len(tensors) == 1:
        shape = tensors[0].shape
    else:
        shape = broadcast_as_eager([tensor.shape for tensor in tensors])
    layouts = [value.layout if type(value) is TensorMeta else _NUMBER for value in values]
    if computed is not None and any(tensor.dtype is not computed for tensor in tensors):
        layouts = [_converted(value, computed) if type(value) is TensorMeta else _NUMBER for value in values]
    return TensorMeta(shape, dtype, pointwise_strides(layouts, shape), device)


def _converted(operand: TensorMeta, computed: torch.dtype) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The layout of an operand behind the conversion that eager makes on the cpu."""
    if operand.dtype is computed or operand.device.type != "cpu":
        return operand.layout
    return operand.shape, preserved_strides(operand.layout)


def broadcast_as_eager(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape.  Raises eager's RuntimeError, which torch's meta kernels word otherwise."""
    shape = shapes[0]
    for other in shapes[1:]:
        try:
            shape = broadcast([shape, other])
        except ShapeError:
            rank = max(len(shape), len(other))
            a, b = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(other)) + other
            dim = max(position for position in range(rank) if a[position] != b[position] and 1 not in (a[position], b[position]))
            sizes = f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]})"
            raise RuntimeError(f"{sizes} at non-singleton dimension {dim}") from None
    return shape


def common_device(tensors: list[TensorMeta]) -> torch.device | None:
    """The one device of the operands, where 0-d cpu tensors follow the others; None when they disagree."""
    device = tensors[0].device
    for tensor in tensors:
        if tensor.device != device:
            if not tensor.shape and tensor.device.type == "cpu":
                continue
            first = tensors[0]
            if first.shape or first.device.type != "cpu":
                return None
            device = tensor.device
    if any(tensor.device != device and (tensor.shape or tensor.device.type != "cpu") for tensor in tensors):
        return None
    return device


# ---- the families ----------------------------------------------------------------------------------------------------


def float_unary(x: TensorMeta) -> Result:
    """sqrt, exp, ...: integers and bools become the default dtype."""
    kind = category(x.dtype)
    if kind is None:
        return None
    dtype = x.dtype if kind >= 2 else torch.get_default_dtype()
    return pointwise_meta((x,), dtype, dtype)


def same_unary(x: TensorMeta, **options: Any) -> Result:
    """An op on floats (relu, gelu, ...) that keeps its dtype."""
    return pointwise_meta((x,), x.dtype) if category(x.dtype) == 2 else None


def gelu(x: TensorMeta, *, approximate: str = "none") -> Result:
    """gelu keeps dtype and layout of a float.  Its meta kernel takes any word for `approximate`."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return same_unary(x)


def numeric_unary(x: TensorMeta) -> Result:
    """neg, abs, floor, ...: any real number, but no bool."""
    return pointwise_meta((x,), x.dtype) if category(x.dtype) in (1, 2) else None


def predicate_unary(x: TensorMeta) -> Result:
    """isnan, logical_not: gives bool."""
    return pointwise_meta((x,), torch.bool) if category(x.dtype) in (0, 1, 2) else None


def arithmetic(x: Any, y: Any, alpha: Any = 1) -> Result:
    """add, mul, maximum, ... of tensors and numbers.  Raises eager's RuntimeError for an alpha that is a bool."""
    dtype = promoted_dtype((x, y))
    if type(alpha) is bool and dtype is not torch.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if dtype is None or _CATEGORIES[dtype] not in (1, 2) or (type(alpha) is not int and (type(alpha) is not float or _CATEGORIES[dtype] != 2)):
        return None
    return pointwise_meta((x, y), dtype, dtype)


def difference(x: Any, y: Any, alpha: Any = 1) -> Result:
    """sub.  Raises eager's RuntimeError for a number that is a bool, which torch's meta kernels let pass."""
    if type(x) is bool or type(y) is bool:
        raise RuntimeError(_NO_BOOL_DIFFERENCE)
    return arithmetic(x, y, alpha)


def reversed_difference(x: Any, y: Any, alpha: Any = 1) -> Result:
    """rsub, which is sub of the operands in the other order: the result lies as the second one does."""
    return difference(y, x, alpha)


_NO_BOOL_DIFFERENCE: Final = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
)


def checked_only(function: ShapeFunction) -> ShapeFunction:
    """For an op in place: it raises as `function` does, and torch decides the rest."""

    def check(*args: Any, **options: Any) -> Result:
        function(*args, **options)
        return None

    return check


def true_division(x: Any, y: Any) -> Result:
    """div: integers become the default dtype."""
    dtype = promoted_dtype((x, y))
    if dtype is None or _CATEGORIES[dtype] == 3:
        return None
    computed = dtype if _CATEGORIES[dtype] == 2 else torch.get_default_dtype()
    return pointwise_meta((x, y), computed, computed)


def rounded_division(x: Any, y: Any, *, rounding_mode: str | None = None) -> Result:
    """div with a rounding mode and floor_divide, which torch's meta kernels lay out as the second operand."""
    if rounding_mode is None:
        return true_division(x, y)
    return arithmetic(x, y) if rounding_mode in ("floor", "trunc") else None


def floor_division(x: Any, y: Any) -> Result:
    """floor_divide."""
    return rounded_division(x, y, rounding_mode="floor")


def float_pair(x: Any, y: Any) -> Result:
    """logaddexp, ...: floats alone."""
    dtype = promoted_dtype((x, y))
    return pointwise_meta((x, y), dtype, dtype) if dtype is not None and _CATEGORIES[dtype] == 2 else None


def equal_pair(x: TensorMeta, y: TensorMeta) -> Result:
    """heaviside: two tensors of one dtype."""
    return pointwise_meta((x, y), x.dtype) if x.dtype is y.dtype else None


def scaled_by_power(x: TensorMeta, exponent: TensorMeta) -> Result:
    """ldexp: mul of the operand and powers of 2.0, which are row-major wherever the exponents lie."""
    factor = power_of_number(2.0, exponent)
    return None if factor is None else arithmetic(x, factor)


def power(x: Any, exponent: Any) -> Result:
    """pow.  Raises eager's RuntimeError for an integer to a negative number, which torch's meta kernel lets pass."""
    if type(exponent) is int and exponent < 0 and type(x) is TensorMeta and category(x.dtype) in (0, 1):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if type(x) is TensorMeta and type(exponent) is not TensorMeta:
        dtype = promoted_dtype((x, exponent))
        return pointwise_meta((x,), dtype, dtype) if dtype is not None and _CATEGORIES[dtype] <= 2 else None
    return arithmetic(x, exponent)


def power_of_number(base: Any, exponent: TensorMeta) -> Result:
    """pow of a number: row-major wherever the exponents lie."""
    dtype = promoted_dtype((base, exponent))
    return None if dtype is None else exponent.like(exponent.shape, dtype)


def comparison(x: Any, y: Any) -> Result:
    """eq, lt, logical_and, ...: bool, whatever the operands are."""
    dtype = promoted_dtype((x, y))
    return None if dtype is None else pointwise_meta((x, y), torch.bool, dtype)


def bitwise(x: Any, y: Any) -> Result:
    """bitwise_and, ...: integers and bools."""
    dtype = promoted_dtype((x, y))
    return pointwise_meta((x, y), dtype, dtype) if dtype is not None and _CATEGORIES[dtype] <= 1 else None


def where(condition: TensorMeta, x: Any, y: Any) -> Result:
    """where: a bool condition, and two operands that promote."""
    if condition.dtype is not torch.bool or type(x) is not TensorMeta or type(y) is not TensorMeta:
        return None
    return pointwise_meta((condition, x, y), promoted_dtype((x, y)))


def masked_fill(x: TensorMeta, mask: TensorMeta, value: Any) -> Result:
    """masked_fill: a fresh row-major tensor of the broadcast shape; the layout is left to torch unless the operand is row-major or one element everywhere."""
    if mask.dtype is not torch.bool or x.device != mask.device or not (x.is_contiguous or not any(x.strides)):
        return None
    try:
        shape = broadcast([x.shape, mask.shape])
    except ShapeError:
        return None
    return x.like(shape) if shape == x.shape else None


def clamp(x: TensorMeta, low: Any = None, high: Any = None) -> Result:
    """clamp by numbers that do not change the dtype."""
    bounds = tuple([bound for bound in (low, high) if bound is not None])
    dtype = promoted_dtype((x, *bounds))
    return pointwise_meta((x,), dtype) if bounds and dtype is x.dtype and category(x.dtype) in (1, 2) else None


def log_sigmoid(x: TensorMeta) -> Result:
    """log_sigmoid_forward: the result and a scratch tensor, row-major."""
    return (x.like(x.shape), x.like(x.shape)) if category(x.dtype) == 2 else None


def angle(x: TensorMeta) -> Result:
    """angle; that of complex numbers is row-major, which torch's meta kernel says otherwise."""
    return x.like(x.shape)._replace(dtype=x.dtype.to_real()) if x.dtype.is_complex else float_unary(x)


def gradient_pair(gradient: TensorMeta, x: TensorMeta, *rest: Any, **options: Any) -> Result:
    """gelu_backward, silu_backward, tanh_backward, ...: gradient and saved tensor of one dtype."""
    if gradient.dtype is not x.dtype or category(x.dtype) != 2:
        return None
    return pointwise_meta((gradient, x), x.dtype)


def operand_first(gradient: TensorMeta, x: TensorMeta, *rest: Any, **options: Any) -> Result:
    """threshold_backward and its like, whose kernels look at the saved tensor first: the result lies as that does."""
    return gradient_pair(x, gradient)


def elu_backward(gradient: TensorMeta, alpha: Any, scale: Any, factor: Any, is_result: bool, x: TensorMeta) -> Result:
    """elu_backward."""
    return gradient_pair(gradient, x)


def dropout_backward(gradient: TensorMeta, mask: TensorMeta, scale: float) -> Result:
    """native_dropout_backward."""
    return pointwise_meta((gradient, mask), gradient.dtype) if mask.dtype is torch.bool and category(gradient.dtype) == 2 else None


def clone(x: TensorMeta, *, memory_format: torch.memory_format | None = None) -> Result:
    """clone: keeps a dense layout unless told otherwise."""
    if memory_format is torch.contiguous_format:
        return x.like(x.shape)
    if memory_format not in (None, torch.preserve_format):
        return None
    return x.like(x.shape, strides=preserved_strides(x.layout))


def to_copy(
    x: TensorMeta, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Result:
    """_to_copy between dtypes of one device."""
    if not isinstance(x, TensorMeta):  # a number, which vmap makes a tensor of
        return None
    if pin_memory or layout not in (None, torch.strided) or (device is not None and torch.device(device) != x.device):
        return None
    copied = clone(x, memory_format=memory_format)
    return copied._replace(dtype=dtype or x.dtype) if isinstance(copied, TensorMeta) else None


def like(x: TensorMeta, *values: Any, **options: Any) -> Result:
    """zeros_like, full_like, rand_like, ...: laid out as a copy; the strides of one element, or of none, are kept as they are."""
    return to_copy(x, **options)


def _overloads(names: str, overload: str, function: ShapeFunction) -> dict[Any, ShapeFunction]:
    return {getattr(getattr(aten, name), overload): function for name in names.split()}


_FLOAT_UNARY = "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid tanh erf erfc sin cos tan asin acos atan sinh cosh"
_ARITHMETIC = "add mul"
_GRADIENT_FIRST = (
    "gelu_backward silu_backward mish_backward tanh_backward sigmoid_backward hardswish_backward hardsigmoid_backward hardtanh_backward softplus_backward "
    "logit_backward hardshrink_backward softshrink_backward"
)
_COMPARISONS = "eq ne lt le gt ge"

TABLE: Final[Mapping[Any, ShapeFunction]] = MappingProxyType(
    {
        **_overloads(_FLOAT_UNARY, "default", float_unary),
        **_overloads("silu", "default", same_unary),
        **_overloads("angle", "default", angle),
        **_overloads("neg abs relu sign", "default", numeric_unary),
        **_overloads("floor ceil round trunc", "default", same_unary),
        **_overloads("isnan logical_not", "default", predicate_unary),
        **_overloads(_ARITHMETIC, "Tensor", arithmetic),
        **_overloads("maximum minimum", "default", arithmetic),
        **_overloads(_ARITHMETIC, "Scalar", arithmetic),
        **_overloads("sub", "Tensor", difference),
        **_overloads("sub", "Scalar", difference),
        **_overloads("rsub", "Tensor", reversed_difference),
        **_overloads("rsub", "Scalar", reversed_difference),
        **_overloads("div", "Tensor", true_division),
        **_overloads("div", "Scalar", true_division),
        **_overloads("div", "Tensor_mode", rounded_division),
        **_overloads("floor_divide", "default", floor_division),
        **_overloads("xlogy", "Tensor", true_division),
        **_overloads("logaddexp logaddexp2", "default", float_pair),
        aten.special_xlog1py.default: true_division,
        aten.heaviside.default: equal_pair,
        aten.ldexp.Tensor: scaled_by_power,
        **_overloads(_COMPARISONS, "Tensor", comparison),
        **_overloads(_COMPARISONS, "Scalar", comparison),
        **_overloads("logical_and logical_or logical_xor", "default", comparison),
        **_overloads("bitwise_and bitwise_or bitwise_xor", "Tensor", bitwise),
        **_overloads(_GRADIENT_FIRST, "default", gradient_pair),
        **_overloads("threshold_backward leaky_relu_backward", "default", operand_first),
        aten.elu_backward.default: elu_backward,
        aten.native_dropout_backward.default: dropout_backward,
        aten.pow.Tensor_Scalar: power,
        aten.pow.Tensor_Tensor: power,
        aten.pow.Scalar: power_of_number,
        **_overloads("add_", "Tensor", checked_only(arithmetic)),
        **_overloads("add_", "Scalar", checked_only(arithmetic)),
        **_overloads("sub_", "Tensor", checked_only(difference)),
        **_overloads("sub_", "Scalar", checked_only(difference)),
        aten.pow_.Scalar: checked_only(power),
        aten.gelu.default: gelu,
        aten.log_sigmoid_forward.default: log_sigmoid,
        aten.copysign.Tensor: true_division,
        aten.copysign.Scalar: true_division,
        aten.where.self: where,
        aten.masked_fill.Scalar: masked_fill,
        aten.clamp.default: clamp,
        aten.clone.default: clone,
        aten._to_copy.default: to_copy,
        **_overloads("zeros_like ones_like empty_like full_like rand_like randn_like", "default", like),
    }
)
