"""Views and the copies that move whole slices.

Here a view is a value like any other: it has the elements, and its type has the strides that eager's view has.
"""

from lect.dialects.functional.families import (
    FunctionalOp,
    Number,
    SizeOrInt,
    Types,
    all_integers,
    are_sizes,
    common_device,
    common_element,
    dims_of,
    require_number,
    tensor_types,
)
from lect.dialects.functional.shapes import ShapeError, element_count, is_channels_last, is_contiguous, preserved_strides, view_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Operation, Result, Variadic, op, require
from lect.ir.symbolic import as_size
from lect.ir.symbolic_values import may_be_ordered


@op("functional.reshape")
class ReshapeOp(FunctionalOp):
    """The elements in row-major order under another shape; strides are a view's where there can be one, else row-major."""

    x: Operand[TensorType]
    shape: Attr[tuple]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        fits = are_sizes(self.shape) and element_count(self.shape) == x.count
        require(fits, self, "'{}' cannot give {} elements the shape {}", self.name, x.count, list(self.shape))
        return x.like(self.shape, strides=view_strides(x.layout, self.shape))


@op("functional.permute")
class PermuteOp(FunctionalOp):
    """Dim i of the result is dim `dims[i]` of the operand."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        require(sorted(self.dims) == list(range(x.rank)), self, "'dims' of '{}' must be an order of 0..{}, got {}", self.name, x.rank - 1, list(self.dims))
        return x.like([x.shape[dim] for dim in self.dims], strides=tuple([x.strides[dim] for dim in self.dims]))


@op("functional.expand")
class ExpandOp(FunctionalOp):
    """Dims of size 1 repeated, and new dims in front; strides are 0 there."""

    x: Operand[TensorType]
    shape: Attr[tuple]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        missing = len(self.shape) - x.rank
        fits = missing >= 0 and all(own in (1, size) for own, size in zip(x.shape, self.shape[missing:]))
        require(fits, self, "'{}' cannot repeat {} to {}", self.name, list(x.shape), list(self.shape))
        return x.like(self.shape, strides=expanded_view_strides(x, self.shape))


def expanded_view_strides(x: TensorType, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of expand: 0 where a dim is repeated; a new dim of size 1 lies where a row-major one would."""
    missing = len(shape) - x.rank
    strides = [0] * len(shape)
    for dim in range(len(shape) - 1, -1, -1):
        if dim >= missing:
            strides[dim] = x.strides[dim - missing] if shape[dim] == x.shape[dim - missing] else 0
        elif shape[dim] == 1 and dim + 1 < len(shape):
            strides[dim] = shape[dim + 1] * strides[dim + 1]
    return tuple(strides)


def sliced(op: Operation, x: TensorType, dim: int, start: int, end: int, step: int) -> TensorType:
    """The type of a slice.  Raises `VerifyError`."""
    (dim,) = dims_of(op, dim, x.rank, "dim")
    require(x.rank, op, "'{}' needs a tensor with dims", op.name)
    require(may_be_ordered(0, start, end, x.shape[dim]), op, "'{}' needs 0 <= start <= end <= {}, got {} and {}", op.name, x.shape[dim], start, end)
    require(step >= 1, op, "the step of '{}' must be positive, got {}", op.name, step)
    size = as_size((end - start + step - 1) // step)
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    return x.like(shape, strides=(*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :]))


@op("functional.slice")
class SliceOp(FunctionalOp):
    """Elements start, start + step, ... below end of one dim.  Bounds are counted from the front and lie inside."""

    x: Operand[TensorType]
    dim: Attr[int]
    start: Attr[SizeOrInt]
    end: Attr[SizeOrInt]
    step: Attr[int] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return sliced(self, self.x.type, self.dim, self.start, self.end, self.step)


def diagonal_type(op: Operation, x: TensorType, offset: int, dim1: int, dim2: int) -> TensorType:
    """The type of a diagonal, its dim last.  Raises `VerifyError`."""
    first, second = dims_of(op, (dim1, dim2), x.rank, "dim1, dim2")
    length = min(x.shape[first], x.shape[second] - offset) if offset >= 0 else min(x.shape[first] + offset, x.shape[second])
    kept = [dim for dim in range(x.rank) if dim not in (first, second)]
    shape = [x.shape[dim] for dim in kept] + [max(length, 0)]
    return x.like(shape, strides=(*[x.strides[dim] for dim in kept], x.strides[first] + x.strides[second]))


@op("functional.diagonal")
class DiagonalOp(FunctionalOp):
    """Elements whose index along dim2 is that along dim1 plus the offset; the new dim is last."""

    x: Operand[TensorType]
    offset: Attr[int] = 0
    dim1: Attr[int] = 0
    dim2: Attr[int] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return diagonal_type(self, self.x.type, self.offset, self.dim1, self.dim2)


def strided_type(op: Operation, x: TensorType, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> TensorType:
    """The type of a strided view that stays inside the operand.  Raises `VerifyError`."""
    require(len(size) == len(stride), op, "'{}' needs as many strides as sizes", op.name)
    reach = offset + sum((extent - 1) * step for extent, step in zip(size, stride)) if 0 not in size else -1
    limit = sum((extent - 1) * step for extent, step in zip(x.shape, x.strides)) if not x.is_empty else -1
    require(may_be_ordered(0, offset) and may_be_ordered(reach, limit), op, "'{}' reads element {} of a tensor that ends at {}", op.name, reach, limit)
    return x.like(size, strides=stride)


@op("functional.as_strided")
class AsStridedOp(FunctionalOp):
    """Elements at offset + sum(index * stride) in the operand's memory, as its type lays it out, counted from its first element."""

    x: Operand[TensorType]
    size: Attr[tuple]
    stride: Attr[tuple]
    offset: Attr[SizeOrInt] = 0
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return strided_type(self, self.x.type, self.size, self.stride, self.offset)


@op("functional.reverse")
class ReverseOp(FunctionalOp):
    """The order of elements turned around along `dims`; a copy."""

    x: Operand[TensorType]
    dims: Attr[tuple]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        dims_of(self, self.dims, self.x.type.rank)
        return self.x.type.with_strides(preserved_strides(self.x.type.layout))


@op("functional.cat")
class CatOp(FunctionalOp):
    """The operands one behind the other along `dim`; they agree in all other sizes."""

    inputs: Variadic[TensorType]
    dim: Attr[int]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require(self.inputs, self, "'{}' needs an operand", self.name)
        types = tensor_types(self.inputs)
        first = types[0]
        require(first.rank, self, "'{}' needs tensors with dims", self.name)
        (dim,) = dims_of(self, self.dim, first.rank, "dim")
        for type in types:
            if type.rank != first.rank or type.shape[:dim] != first.shape[:dim] or type.shape[dim + 1 :] != first.shape[dim + 1 :]:
                raise ShapeError(f"{list(first.shape)} and {list(type.shape)} differ outside of dim {dim}")
        shape = (*first.shape[:dim], sum(type.shape[dim] for type in types), *first.shape[dim + 1 :])
        element = common_element(self, types)
        return TensorType(shape, element, _joined_strides(types, shape), common_device(self, types))


def _joined_strides(types: list[TensorType], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    channels_last = [is_channels_last(*type.layout) and not is_contiguous(*type.layout) for type in types]
    if not all(channels_last):
        return None
    _, channels, height, width = shape
    return channels * height * width, 1, width * channels, channels


@op("functional.pad")
class PadOp(FunctionalOp):
    """`value` put around the operand: `pads` has [before, after] for each dim, where a negative number cuts off."""

    x: Operand[TensorType]
    pads: Attr[tuple]
    value: Attr[Number] = 0
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x = self.x.type
        pairs = all(isinstance(pair, tuple) and len(pair) == 2 and all_integers(pair) for pair in self.pads)
        require(pairs and len(self.pads) == x.rank, self, "'{}' needs two numbers for each of {} dims", self.name, x.rank)
        shape = [size + before + after for size, (before, after) in zip(x.shape, self.pads)]
        require(all(may_be_ordered(0, size) for size in shape), self, "'{}' cuts more than there is: {}", self.name, shape)
        return x.like(shape)

    def verify(self) -> None:
        require_number(self, self.x.type.element, self.value, "value")
