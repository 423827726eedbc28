"""Reads and writes at computed places, and checks of elements.

An index outside of its dim, or an element outside of its bounds, raises eager's error, so these operations are not pure: they are neither dropped nor moved.
"""

from typing import Any

from lect.dialects.functional.families import FunctionalOp, Number, Types, common_element, dims_of, require_number, require_rank, tensor_types
from lect.dialects.functional.shapes import broadcast
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import diagonal_type, sliced, strided_type
from lect.ir import Attr, Operand, Operation, OptionalOperand, Result, ScalarType, Variadic, op, require
from lect.ir.types import i32, i64

Numeric = (*Number, None)
MODES = frozenset({"set", "add", "multiply", "sum", "prod", "mean", "amax", "amin"})


class _Checked(FunctionalOp):
    """Base of operations that raise for a bad index."""

    __slots__ = ()
    traits = ()


def require_indices(op: Operation, type: TensorType) -> None:
    """Raise `VerifyError` unless the elements are integers that can index."""
    require(type.element in (i64, i32), op, "indices of '{}' must be i64 or i32, got {}", op.name, type.element)


def indexed_shape(op: Any, x: TensorType) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape of x[indices], broadcast shape of the indices).  Raises `VerifyError`, `ShapeError`."""
    dims = dims_of(op, op.dims, x.rank)
    require(len(dims) == len(op.indices) > 0, op, "'{}' needs one index for each of {} dims, got {}", op.name, len(dims), len(op.indices))
    for index in tensor_types(op.indices):
        require_indices(op, index)
    inner = broadcast([index.shape for index in tensor_types(op.indices)])
    adjacent = dims == tuple(range(dims[0], dims[0] + len(dims)))
    front = dims[0] if adjacent else 0
    kept = [size for dim, size in enumerate(x.shape) if dim not in dims]
    return (*kept[:front], *inner, *kept[front:]), inner


@op("functional.index")
class IndexOp(_Checked):
    """Advanced indexing: index k runs over dim `dims[k]`; the indices broadcast, and their dims stand where the indexed ones stood, or in front if
    those are not adjacent.  Negative indices count from the end when `negative`, else they raise."""

    x: Operand[TensorType]
    indices: Variadic[TensorType]
    dims: Attr[tuple]
    negative: Attr[bool] = True
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return self.x.type.like(indexed_shape(self, self.x.type)[0])


@op("functional.index_put")
class IndexPutOp(_Checked):
    """x with the values written at the places that index reads: the last write wins, or with `accumulate` all are added, each rounded."""

    x: Operand[TensorType]
    values: Operand[TensorType]
    indices: Variadic[TensorType]
    dims: Attr[tuple]
    accumulate: Attr[bool] = False
    negative: Attr[bool] = True
    output: Result[TensorType]

    def type_rule(self) -> Types:
        common_element(self, [self.x.type, self.values.type])
        indexed_shape(self, self.x.type)
        return self.x.type.like(self.x.type.shape)


@op("functional.gather")
class GatherOp(_Checked):
    """output[i, j, k] = x[i, index[i, j, k], k] for dim 1; the index has the result's shape and no negative element."""

    x: Operand[TensorType]
    index: Operand[TensorType]
    dim: Attr[int]
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x, index = self.x.type, self.index.type
        require_indices(self, index)
        (dim,) = dims_of(self, self.dim, x.rank, "dim")
        require(max(x.rank, 1) == max(index.rank, 1), self, "the index of '{}' must have {} dims, got {}", self.name, x.rank, index.rank)
        fits = all(other == dim or size <= limit for other, (size, limit) in enumerate(zip(index.shape, x.shape)))
        require(fits or index.is_empty, self, "the index {} of '{}' reaches outside of {}", list(index.shape), self.name, list(x.shape))
        return x.like(index.shape)


@op("functional.scatter")
class ScatterOp(_Checked):
    """x with `src` (or the number `value`) written, added, ... at the places that gather reads.

    The mode add is scatter_add's, multiply is scatter's own; sum, prod, mean, amax and amin are scatter_reduce's, where `include_self` counts x.
    Sums and products of halves are taken in f32 and rounded in the end, or behind each step when `stepwise`, where the count of a mean is a half too.
    """

    x: Operand[TensorType]
    index: Operand[TensorType]
    src: OptionalOperand[TensorType]
    dim: Attr[int]
    mode: Attr[MODES] = "set"
    value: Attr[Numeric] = None
    include_self: Attr[bool] = True
    stepwise: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_indices(self, self.index.type)
        dims_of(self, self.dim, self.x.type.rank, "dim")
        common_element(self, tensor_types((self.x, self.src)))
        return self.x.type.like(self.x.type.shape)

    def verify(self) -> None:
        require((self.src is None) != (self.value is None), self, "'functional.scatter' takes a tensor 'src' or the number 'value'")
        if self.value is not None:
            require_number(self, self.x.type.element, self.value, "value")


@op("functional.slice_scatter")
class SliceScatterOp(FunctionalOp):
    """x with `src` in the place of a slice of it.  The attribute `in_place` asks for the form whose result may lie in the memory of x."""

    x: Operand[TensorType]
    src: Operand[TensorType]
    dim: Attr[int]
    start: Attr[int]
    end: Attr[int]
    step: Attr[int] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _scattered(self, sliced(self, self.x.type, self.dim, self.start, self.end, self.step))


@op("functional.diagonal_scatter")
class DiagonalScatterOp(FunctionalOp):
    """x with `src` in the place of a diagonal of it."""

    x: Operand[TensorType]
    src: Operand[TensorType]
    offset: Attr[int] = 0
    dim1: Attr[int] = 0
    dim2: Attr[int] = 1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _scattered(self, diagonal_type(self, self.x.type, self.offset, self.dim1, self.dim2))


@op("functional.as_strided_scatter")
class AsStridedScatterOp(FunctionalOp):
    """x with `src` in the place of a strided view of it."""

    x: Operand[TensorType]
    src: Operand[TensorType]
    size: Attr[tuple]
    stride: Attr[tuple]
    offset: Attr[int] = 0
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _scattered(self, strided_type(self, self.x.type, self.size, self.stride, self.offset))


def _scattered(op: Any, part: TensorType) -> TensorType:
    x, src = op.x.type, op.src.type
    common_element(op, [x, src])
    require(src.shape == part.shape, op, "'src' of '{}' must have the shape {}, got {}", op.name, list(part.shape), list(src.shape))
    return x.like(x.shape)


@op("functional.searchsorted")
class SearchsortedOp(FunctionalOp):
    """Where the values would go into sorted rows: before equal elements, or with `right` behind them; NaN goes last."""

    boundaries: Operand[TensorType]
    values: Operand[TensorType]
    sorter: OptionalOperand[TensorType]
    right: Attr[bool] = False
    element: Attr[ScalarType] = i64
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require(self.element in (i64, i32), self, "'{}' gives i64 or i32, got {}", self.name, self.element)
        return self.values.type.like(self.values.type.shape, self.element)


@op("functional.within")
class WithinOp(_Checked):
    """x, whose elements must be numbers from `min` to `max` where there are such bounds; else a RuntimeError with this message is raised."""

    x: Operand[TensorType]
    min: Attr[Numeric] = None
    max: Attr[Numeric] = None
    message: Attr[str] = "an element is outside of its bounds"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return self.x.type.like(self.x.type.shape)


# ---- composites ------------------------------------------------------------------------------------------------------


@op("functional.embedding_backward")
class EmbeddingBackwardOp(_Checked):
    """Rows of the gradient added up in a table of `count` rows; `padding` is a row that stays 0 (-1: none)."""

    gradient: Operand[TensorType]
    indices: Operand[TensorType]
    count: Attr[int]
    padding: Attr[int] = -1
    scale_by_frequency: Attr[bool] = False
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_indices(self, self.indices.type)
        require(self.gradient.type.rank and self.count >= 0, self, "'{}' needs rows of a gradient and a count of rows that is not negative", self.name)
        return self.gradient.type.like((self.count, self.gradient.type.shape[-1]))


BAG_MODES = frozenset({"sum", "mean", "max"})


@op("functional.embedding_bag")
class EmbeddingBagOp(_Checked):
    """Rows of a table added up, averaged or maximised in bags that start at the offsets; and what its gradient needs of that."""

    weight: Operand[TensorType]
    indices: Operand[TensorType]
    offsets: Operand[TensorType]
    per_sample_weights: OptionalOperand[TensorType]
    mode: Attr[BAG_MODES] = "sum"
    include_last_offset: Attr[bool] = False
    padding: Attr[int] = -1
    output: Result[TensorType]
    offset_to_bag: Result[TensorType]
    bag_size: Result[TensorType]
    max_indices: Result[TensorType]

    def type_rule(self) -> Types:
        weight, indices, offsets = self.weight.type, self.indices.type, self.offsets.type
        require_indices(self, indices)
        require_rank(self, self.weight, 2, "weight")
        require_rank(self, self.offsets, 1, "offsets")
        bags = offsets.shape[0] - (1 if self.include_last_offset else 0)
        mapped = indices.like(indices.shape if self.mode != "sum" or self.padding >= 0 else (0,))
        chosen = (bags, weight.shape[1]) if self.mode == "max" else (bags,)
        return weight.like((bags, weight.shape[1])), mapped, offsets.like((bags,)), offsets.like(chosen)


@op("functional.embedding_bag_backward")
class EmbeddingBagBackwardOp(_Checked):
    """Gradient of the table of an embedding_bag with `count` rows."""

    gradient: Operand[TensorType]
    indices: Operand[TensorType]
    offset_to_bag: Operand[TensorType]
    bag_size: Operand[TensorType]
    max_indices: Operand[TensorType]
    per_sample_weights: OptionalOperand[TensorType]
    count: Attr[int]
    mode: Attr[BAG_MODES] = "sum"
    padding: Attr[int] = -1
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require_rank(self, self.gradient, 2, "gradient")
        return self.gradient.type.like((self.count, self.gradient.type.shape[1]))


@op("functional.segment_reduce")
class SegmentReduceOp(_Checked):
    """Runs of rows along `axis`, as long as `lengths` says, reduced to one row each; `initial` begins each."""

    x: Operand[TensorType]
    lengths: Operand[TensorType]
    reduce: Attr[frozenset({"sum", "prod", "mean", "max", "min"})]
    axis: Attr[int] = 0
    initial: Attr[Numeric] = None
    output: Result[TensorType]

    def type_rule(self) -> Types:
        x, lengths = self.x.type, self.lengths.type
        dims_of(self, self.axis, x.rank, "axis")
        return x.like((*lengths.shape, *x.shape[self.axis + 1 :]))
