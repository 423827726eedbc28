"""Pooling over windows, and resampling.

Tensors are (N, C, ...) or (C, ...); lists have one number for each of the trailing spatial dims.
"""

from typing import Any

from lect.dialects.functional.families import FunctionalOp, Types, common_element
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Operation, Result, op, require
from lect.ir.types import i64


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Windows along one dim; in ceil mode one may hang over, if it starts inside the input or its left padding."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def windowed_shape(op: Any, x: TensorType, dilation: tuple[int, ...]) -> tuple[int, ...]:
    """The shape after pooling, by windows or by the sizes of an adaptive pool.  Raises `VerifyError`."""
    if op.output_size is not None:
        require(len(op.output_size) < x.rank, op, "'{}' cannot give {} spatial dims to {}", op.name, len(op.output_size), x)
        return (*x.shape[: x.rank - len(op.output_size)], *op.output_size)
    spatial = len(op.kernel)
    good = 0 < spatial < x.rank and len(op.stride) == len(op.padding) == len(dilation) == spatial
    require(good, op, "'{}' needs one kernel size, stride, padding and dilation for each spatial dim", op.name)
    require(min(op.kernel) > 0 and min(op.stride) > 0 and min(dilation) > 0, op, "kernel, stride and dilation of '{}' must be positive", op.name)
    numbers = zip(x.shape[x.rank - spatial :], op.kernel, op.stride, op.padding, dilation)
    sizes = [window_count(*each, op.ceil_mode) for each in numbers]
    require(all(type(size) is not int or size >= 1 for size in sizes), op, "the window of '{}' is larger than its padded input", op.name)
    return (*x.shape[: x.rank - spatial], *sizes)


@op("functional.window_sum")
class WindowSumOp(FunctionalOp):
    """Sums over windows, divided and rounded once.

    `divisor` "none" leaves the sum, "valid" divides by the number of input elements in the window, "padded" counts padding too, and a number
    divides by itself.  With `output_size` the windows are those of an adaptive pool: floor(i * in / out) to ceil((i + 1) * in / out).
    """

    x: Operand[TensorType]
    kernel: Attr[tuple] = ()
    stride: Attr[tuple] = ()
    padding: Attr[tuple] = ()
    ceil_mode: Attr[bool] = False
    output_size: Attr[(tuple, None)] = None
    divisor: Attr[(frozenset({"none", "valid", "padded"}), int)] = "none"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        return x.like(windowed_shape(self, x, (1,) * len(self.kernel)))


@op("functional.window_max_with_index")
class WindowMaxWithIndexOp(FunctionalOp):
    """The greatest element of each window (the first one, NaN above all) and its flat index among the spatial dims."""

    x: Operand[TensorType]
    kernel: Attr[tuple] = ()
    stride: Attr[tuple] = ()
    padding: Attr[tuple] = ()
    dilation: Attr[tuple] = ()
    ceil_mode: Attr[bool] = False
    output_size: Attr[(tuple, None)] = None
    values: Result[TensorType]
    indices: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        values = x.like(windowed_shape(self, x, self.dilation))
        return values, values.with_element(i64)


@op("functional.avg_pool_backward")
class AvgPoolBackwardOp(FunctionalOp):
    """Gradient of a window_sum with a divisor; it has x's shape."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    kernel: Attr[tuple] = ()
    stride: Attr[tuple] = ()
    padding: Attr[tuple] = ()
    ceil_mode: Attr[bool] = False
    output_size: Attr[(tuple, None)] = None
    divisor: Attr[(frozenset({"none", "valid", "padded"}), int)] = "none"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _like_x(self, self.gradient.type, self.x.type)


@op("functional.max_pool_backward")
class MaxPoolBackwardOp(FunctionalOp):
    """The gradient added up at the indices that window_max_with_index found; it has x's shape."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    indices: Operand[TensorType]
    spatial: Attr[int]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require(self.indices.type.element is i64, self, "indices of '{}' must be i64, got {}", self.name, self.indices.type.element)
        return _like_x(self, self.gradient.type, self.x.type)


def _like_x(op: Operation, gradient: TensorType, x: TensorType) -> TensorType:
    common_element(op, [gradient, x])
    return x.like(x.shape)


# ---- resampling ------------------------------------------------------------------------------------------------------

UPSAMPLE_KINDS = frozenset({"nearest", "nearest-exact", "linear", "cubic"})


@op("functional.upsample")
class UpsampleOp(FunctionalOp):
    """The spatial dims resampled to `size`; `scales` (a number or None for each) are the factors by which positions are found."""

    x: Operand[TensorType]
    kind: Attr[UPSAMPLE_KINDS]
    size: Attr[tuple]
    align_corners: Attr[bool] = False
    scales: Attr[tuple] = ()
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        require(x.rank == len(self.size) + 2, self, "'{}' needs {} dims for {} spatial sizes, got {}", self.name, len(self.size) + 2, len(self.size), x.rank)
        return x.like((*x.shape[:2], *self.size))


@op("functional.upsample_backward")
class UpsampleBackwardOp(FunctionalOp):
    """Gradient of upsample; `input_size` is the shape of its operand."""

    gradient: Operand[TensorType]
    kind: Attr[UPSAMPLE_KINDS]
    input_size: Attr[tuple]
    align_corners: Attr[bool] = False
    scales: Attr[tuple] = ()
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return self.gradient.type.like(self.input_size)


@op("functional.grid_sample")
class GridSampleOp(FunctionalOp):
    """Elements at the positions (in -1..1, the last spatial dim first) that the grid names, interpolated."""

    x: Operand[TensorType]
    grid: Operand[TensorType]
    mode: Attr[frozenset({"bilinear", "nearest", "bicubic"})] = "bilinear"
    padding_mode: Attr[frozenset({"zeros", "border", "reflection"})] = "zeros"
    align_corners: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x, grid = self.x.type, self.grid.type
        common_element(self, [x, grid])
        require(x.rank == grid.rank >= 4 and grid.shape[-1] == x.rank - 2, self, "the grid of '{}' must name {} coordinates", self.name, x.rank - 2)
        return x.like((*x.shape[:2], *grid.shape[1:-1]))


@op("functional.grid_sample_backward")
class GridSampleBackwardOp(FunctionalOp):
    """Gradients of the input and of the grid."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    grid: Operand[TensorType]
    mode: Attr[frozenset({"bilinear", "nearest", "bicubic"})] = "bilinear"
    padding_mode: Attr[frozenset({"zeros", "border", "reflection"})] = "zeros"
    align_corners: Attr[bool] = False
    x_gradient: Result[TensorType]
    grid_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        x, grid = self.x.type, self.grid.type
        common_element(self, [self.gradient.type, x, grid])
        return x.like(x.shape), grid.like(grid.shape)
