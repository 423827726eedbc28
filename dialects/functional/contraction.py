"""Matrix products, attention, convolution.

Operands have one element type.  Halves accumulate in f32 and round once at the end; the order of a sum is not defined.
"""

from typing import Any

from lect.dialects.functional.families import FLOAT, FunctionalOp, Number, Types, common_device, common_element, require_kind, require_rank, tensor_types
from lect.dialects.functional.shapes import ShapeError, preserved_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Operation, OptionalOperand, Result, op, require
from lect.ir.types import f32, f64


def product_type(op: Operation, x: TensorType, y: TensorType, batched: bool) -> TensorType:
    """The result of mm or bmm.  Raises `VerifyError`, `ShapeError`."""
    rank = 3 if batched else 2
    require(x.rank == y.rank == rank, op, "'{}' multiplies tensors with {} dims, got {} and {}", op.name, rank, x.rank, y.rank)
    common_device(op, [x, y])
    if x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(f"{list(x.shape)} times {list(y.shape)} does not fit")
    return x.like((*x.shape[:-1], y.shape[-1]), common_element(op, [x, y]))


@op("functional.mm")
class MmOp(FunctionalOp):
    """The product of two matrices; zeros when the inner size is 0."""

    x: Operand[TensorType]
    y: Operand[TensorType]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return product_type(self, self.x.type, self.y.type, False)


@op("functional.bmm")
class BmmOp(FunctionalOp):
    """The products of two rows of matrices."""

    x: Operand[TensorType]
    y: Operand[TensorType]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return product_type(self, self.x.type, self.y.type, True)


class _AddProduct(FunctionalOp):
    """beta * added + alpha * product; `added` broadcasts, and is not read when beta is 0, so that its NaN does not show."""

    __slots__ = ()
    batched = False

    def type_rule(self) -> Types:
        return _with_added(self, product_type(self, self.x.type, self.y.type, self.batched))  # type: ignore[attr-defined]


def _with_added(op: Any, found: TensorType) -> TensorType:
    """The type of a product to which a tensor that broadcasts is added."""
    added: TensorType = op.added.type
    common_element(op, [added, found])
    missing = found.rank - added.rank
    if missing < 0 or any(own not in (1, size) for own, size in zip(added.shape, found.shape[missing:])):
        raise ShapeError(f"{list(added.shape)} does not broadcast to {list(found.shape)}")
    return found


@op("functional.addmm")
class AddmmOp(_AddProduct):
    """beta * added + alpha * (x @ y); a beta of 0 ignores `added` and its NaN."""

    added: Operand[TensorType]
    x: Operand[TensorType]
    y: Operand[TensorType]
    beta: Attr[Number] = 1
    alpha: Attr[Number] = 1
    output: Result[TensorType]


@op("functional.baddbmm")
class BaddbmmOp(_AddProduct):
    """beta * added + alpha * bmm(x, y); a beta of 0 ignores `added` and its NaN."""

    added: Operand[TensorType]
    x: Operand[TensorType]
    y: Operand[TensorType]
    beta: Attr[Number] = 1
    alpha: Attr[Number] = 1
    output: Result[TensorType]
    batched = True


@op("functional.addmv")
class AddmvOp(FunctionalOp):
    """beta * added + alpha * (x @ y) of a matrix and a vector; a beta of 0 ignores `added` and its NaN."""

    added: Operand[TensorType]
    x: Operand[TensorType]
    y: Operand[TensorType]
    beta: Attr[Number] = 1
    alpha: Attr[Number] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_rank(self, self.x, 2, "x")
        require_rank(self, self.y, 1, "y")
        column = self.y.type.like((*self.y.type.shape, 1))
        found = product_type(self, self.x.type, column, False)
        return _with_added(self, found.like(found.shape[:1]))


@op("functional.addbmm")
class AddbmmOp(FunctionalOp):
    """beta * added + alpha * the sum of the products of two rows of matrices; a beta of 0 ignores `added` and its NaN.

    Halves are rounded behind each product.
    """

    added: Operand[TensorType]
    x: Operand[TensorType]
    y: Operand[TensorType]
    beta: Attr[Number] = 1
    alpha: Attr[Number] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        found = product_type(self, self.x.type, self.y.type, True)
        return _with_added(self, found.like(found.shape[1:]))


@op("functional.attention")
class AttentionOp(FunctionalOp):
    """softmax(scale * query @ key^T + mask) @ value over the last two of four dims, and the log-sum of the weights.

    `scale` None is 1 / sqrt(width).  The mask is added; with `is_causal` row i sees the keys up to i alone.  The result is laid out as the query, and
    the sums lie in memory with the heads (dim 1) behind the rows (dim 2), as the CPU's kernel leaves them.
    """

    query: Operand[TensorType]
    key: Operand[TensorType]
    value: Operand[TensorType]
    mask: OptionalOperand[TensorType]
    is_causal: Attr[bool] = False
    scale: Attr[(float, int, None)] = None
    output: Result[TensorType]
    logsumexp: Result[TensorType]

    def type_rule(self) -> Types:
        types = [self.query.type, self.key.type, self.value.type]
        for name, value in (("query", self.query), ("key", self.key), ("value", self.value)):
            require_rank(self, value, 4, name)
        require_kind(self, types[0], FLOAT)
        element = common_element(self, types)
        common_device(self, types)
        batch, heads, rows, width = types[0].shape
        fits = types[1].shape[3] == width and types[1].shape[:3] == types[2].shape[:3] and types[1].shape[0] == batch
        require(fits, self, "query, key and value of '{}' do not fit: {}, {}, {}", self.name, *[list(type.shape) for type in types])
        shape = (batch, heads, rows, types[2].shape[3])
        output = types[0].like(shape, strides=preserved_strides(types[0].layout) if shape == types[0].shape else None)
        sums = types[0].like((batch, rows, heads), f64 if element is f64 else f32)
        return output, sums.like((batch, heads, rows), strides=(sums.strides[0], sums.strides[2], sums.strides[1]))


def heads_inside(type: TensorType) -> TensorType:
    """The type laid out with dim 1 behind dim 2 in memory."""
    batch, heads, rows, width = type.shape
    dense = type.like((batch, rows, heads, width))
    return type.with_strides((dense.strides[0], dense.strides[2], dense.strides[1], dense.strides[3]))


@op("functional.attention_backward")
class AttentionBackwardOp(FunctionalOp):
    """Gradients of query, key and value."""

    gradient: Operand[TensorType]
    query: Operand[TensorType]
    key: Operand[TensorType]
    value: Operand[TensorType]
    output: Operand[TensorType]
    logsumexp: Operand[TensorType]
    mask: OptionalOperand[TensorType]
    is_causal: Attr[bool] = False
    scale: Attr[(float, int, None)] = None
    query_gradient: Result[TensorType]
    key_gradient: Result[TensorType]
    value_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        for name, value in (("query", self.query), ("key", self.key), ("value", self.value)):
            require_rank(self, value, 4, name)
        return tuple([heads_inside(type) for type in tensor_types((self.query, self.key, self.value))])


# ---- convolution -----------------------------------------------------------------------------------------------------


def convolved_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Positions at which a kernel fits into one padded dim."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def transposed_size(size: int, kernel: int, stride: int, padding: int, dilation: int, extra: int) -> int:
    """The size of the input whose convolution has this size, `extra` telling apart those that have."""
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1


@op("functional.convolution")
class ConvolutionOp(FunctionalOp):
    """The cross-correlation of a batch (N, C, ...) with filters (out, C / groups, ...), or its transpose; lists have one number for each spatial dim."""

    x: Operand[TensorType]
    weight: Operand[TensorType]
    bias: OptionalOperand[TensorType]
    stride: Attr[tuple]
    padding: Attr[tuple]
    dilation: Attr[tuple]
    transposed: Attr[bool] = False
    output_padding: Attr[tuple] = ()
    groups: Attr[int] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x, weight = self.x.type, self.weight.type
        spatial = x.rank - 2
        lists = (self.stride, self.padding, self.dilation)
        good = x.rank == weight.rank >= 3 and all(len(listed) == spatial for listed in lists)
        require(good, self, "'{}' needs one stride, padding and dilation for each of {} spatial dims", self.name, max(spatial, 0))
        require(min(self.stride) > 0 and min(self.dilation) > 0 and self.groups > 0, self, "strides, dilations and groups of '{}' must be positive", self.name)
        channels = weight.shape[0] if self.transposed else weight.shape[1] * self.groups
        require(x.shape[1] == channels, self, "'{}' has filters for {} channels, got {}", self.name, channels, x.shape[1])
        element = common_element(self, tensor_types((self.x, self.weight, self.bias)))
        out = weight.shape[1] * self.groups if self.transposed else weight.shape[0]
        sizes = self._transposed_sizes() if self.transposed else self._sizes()
        require(all(type(size) is not int or size >= 0 for size in sizes), self, "the kernel of '{}' is larger than its padded input", self.name)
        return x.like((x.shape[0], out, *sizes), element)

    def _sizes(self) -> list[int]:
        x, weight = self.x.type, self.weight.type
        return [convolved_size(*numbers) for numbers in zip(x.shape[2:], weight.shape[2:], self.stride, self.padding, self.dilation)]

    def _transposed_sizes(self) -> list[int]:
        x, weight = self.x.type, self.weight.type
        extra = self.output_padding or (0,) * (x.rank - 2)
        numbers = zip(x.shape[2:], weight.shape[2:], self.stride, self.padding, self.dilation, extra)
        return [transposed_size(*each) for each in numbers]


@op("functional.convolution_backward")
class ConvolutionBackwardOp(FunctionalOp):
    """Gradients of input, filters and bias."""

    gradient: Operand[TensorType]
    x: Operand[TensorType]
    weight: Operand[TensorType]
    stride: Attr[tuple]
    padding: Attr[tuple]
    dilation: Attr[tuple]
    transposed: Attr[bool] = False
    output_padding: Attr[tuple] = ()
    groups: Attr[int] = 1
    x_gradient: Result[TensorType]
    weight_gradient: Result[TensorType]
    bias_gradient: Result[TensorType]

    def type_rule(self) -> Types:
        common_element(self, tensor_types((self.gradient, self.x, self.weight)))
        gradient, x, weight = self.gradient.type, self.x.type, self.weight.type
        require(gradient.rank == x.rank == weight.rank >= 3, self, "'{}' needs a gradient, an input and filters of one rank, at least 3", self.name)
        return x.like(x.shape), weight.like(weight.shape), gradient.like((gradient.shape[1],))
