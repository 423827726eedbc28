"""Arithmetic of shapes and strides: what eager torch gives a result, computed from the operands' shapes and strides alone.

Shapes and strides are tuples of the same length, strides count elements.  Everything here is a pure function; a shape error is a `ShapeError`,
whose message says which sizes do not agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

Dims = tuple[int, ...]
Layout = tuple[Dims, Dims]
"""(shape, strides) of one tensor."""


class ShapeError(ValueError):
    """Sizes that do not fit together; the message is one sentence."""


class DimError(ShapeError):
    """`dim` is not within -`limit` and `limit` - 1."""

    def __init__(self, dim: int, limit: int) -> None:
        super().__init__(f"dim {dim} is outside of -{limit}..{limit - 1}")
        self.dim = dim
        self.limit = limit


def element_count(shape: Sequence[int]) -> int:
    """The product of all sizes."""
    count = 1
    for size in shape:
        count *= size
    return count


def contiguous_strides(shape: Sequence[int]) -> Dims:
    """Strides of a dense row-major tensor; a size of 0 counts as 1, as in eager."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        if size != 0:
            step = step * size
    return tuple(reversed(strides))


def channels_last_strides(shape: Sequence[int]) -> Dims:
    """Strides of a dense NCHW (or NCDHW) tensor whose channels vary fastest."""
    order = (0, *range(2, len(shape)), 1)
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step = step * shape[dim] if shape[dim] != 0 else step
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Row-major and dense, where strides of sizes 1 do not count and an empty tensor always is."""
    step = 1
    contiguous = True
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 0:
            return True
        if size != 1:
            contiguous = contiguous and stride == step
            step *= size
    return contiguous


def is_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Dense with the channels of an NCHW tensor varying fastest; strides of sizes 1 do not count."""
    if len(shape) != 4:
        return False
    step = 1
    for dim in (1, 3, 2, 0):
        if shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= shape[dim]
    return True


def suggests_channels_last(shape: Sequence[int], strides: Sequence[int], ranks: tuple[int, ...] = (4,)) -> bool:
    """What torch's `suggest_memory_format` says of a 4-d tensor: the strides, those of sizes 1 too, grow from channels to width, height and batch.

    With `ranks` (4, 5) a 5-d tensor is asked for `channels_last_3d` likewise.

    Row-major tensors of one channel or one place are channels-last as well as row-major; there the strides of the sizes 1 decide.
    """
    if len(shape) not in ranks or strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        ambiguous = dim == 0 and least == strides[1]  # one channel and one place: row-major
        if shape[dim] == 0 or strides[dim] < least or ambiguous:
            return False
        least = strides[dim] * shape[dim]
    return True


def is_several(size: int) -> bool:
    """Whether a size is 2 or more, as every size with symbols is: calls with less have a version of their own."""
    return type(size) is not int or size >= 2


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Every element of a block of memory is used exactly once, in some order of the dims."""
    if len(shape) == 1:
        return not is_several(shape[0]) or strides[0] == 1
    real = [(stride, size) for size, stride in zip(shape, strides) if is_several(size)]
    if len(real) < len(shape) and any(size == 0 for size in shape):
        return True
    step = 1
    while real:
        found = next((pair for pair in real if pair[0] == step), None)
        if found is None:
            return False
        real.remove(found)
        step = step * found[1]
    return True


def broadcast(shapes: Iterable[Sequence[int]]) -> Dims:
    """The common shape of operands, aligned at their last dims.  Raises `ShapeError`."""
    result: list[int] = []
    for shape in shapes:
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        offset = len(result) - len(shape)
        for position, size in enumerate(shape, offset):
            have = result[position]
            if have == 1:
                result[position] = size
            elif size not in (1, have):
                raise ShapeError(f"sizes {have} and {size} of dim {position} do not broadcast")
    return tuple(result)


def expanded_strides(layout: Layout, shape: Sequence[int]) -> Dims:
    """The strides with which a tensor is read as one of the broadcast `shape`: 0 in every repeated dim."""
    own_shape, own_strides = layout
    offset = len(shape) - len(own_shape)
    repeated = [0 if own == 1 and size != 1 else stride for own, stride, size in zip(own_shape, own_strides, shape[offset:])]
    return (0,) * offset + tuple(repeated)


def pointwise_strides(operands: Sequence[Layout], shape: Dims) -> Dims:
    """Strides eager gives the new result of a pointwise op.

    Operands that all have one dense layout hand it on; otherwise the dims are ordered as the operands order theirs, the first operand with a
    strict opinion about two dims deciding, and the result is dense in that order.
    """
    same_shape = all(len(own) == len(shape) and own == shape for own, _ in operands)  # sizes of other dims are not compared
    if same_shape and all(is_contiguous(*layout) for layout in operands):
        return contiguous_strides(shape)
    if same_shape and all(is_channels_last(*layout) for layout in operands):
        return channels_last_strides(shape)
    first = operands[0][1]
    if same_shape and all(strides == first and is_dense(own, strides) for own, strides in operands):
        return first
    order = _iteration_order([expanded_strides(layout, shape) for layout in operands], shape)
    if order == tuple(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(shape)
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _iteration_order(operands: Sequence[Dims], shape: Dims) -> Dims:
    """Dims from the fastest to the slowest: an insertion sort whose comparison may be undecided (0)."""
    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        moving = start
        for position in range(start - 1, -1, -1):
            decision = _compare_dims(operands, shape, order[position], order[moving])
            if decision > 0:
                order[position], order[moving] = order[moving], order[position]
                moving = position
            elif decision < 0:
                break
    return tuple(order)


def _compare_dims(operands: Sequence[Dims], shape: Dims, dim: int, other: int) -> int:
    """1 when `other` should vary faster than `dim`, -1 when it should not, 0 when no operand decides."""
    for strides in operands:
        stride, other_stride = strides[dim], strides[other]
        if stride == 0 or other_stride == 0:
            continue
        if stride != other_stride:
            return -1 if _is_shorter(stride, other_stride, shape) else 1
        if shape[dim] > shape[other]:
            return 1
    return 0


def _is_shorter(stride: int, other: int, shape: Dims) -> bool:
    """Whether a stride is less than another: with symbols, one that is the other times sizes of the shape is more."""
    if type(stride) is int and type(other) is int:
        return stride < other
    if _is_product(other, stride, shape):
        return True
    return False if _is_product(stride, other, shape) else stride < other


def _is_product(stride: int, base: int, shape: Dims) -> bool:
    found = {base}
    for size in shape:
        if is_several(size):
            found |= {each * size for each in found}
    return stride in found


def preserved_strides(layout: Layout) -> Dims:
    """Strides of a copy that keeps its source's format: the same when dense, else dense in the order of the source's dims."""
    shape, strides = layout
    return strides if is_dense(shape, strides) else pointwise_strides([layout], shape)


def resolve_shape(shape: Sequence[int], count: int) -> Dims:
    """`shape` with its one -1 replaced so that it has `count` elements.  Raises `ShapeError`."""
    if -1 not in shape:
        if element_count(shape) != count:
            raise ShapeError(f"shape {list(shape)} has not {count} elements")
        return tuple(shape)
    known = element_count([size for size in shape if size != -1])
    if list(shape).count(-1) > 1 or known == 0 or count % known:
        raise ShapeError(f"shape {list(shape)} does not fit {count} elements")
    return tuple([count // known if size == -1 else size for size in shape])


@lru_cache(maxsize=1 << 12)
def view_strides(layout: Layout, new_shape: Dims) -> Dims | None:
    """Strides of a view with `new_shape` of a tensor with as many elements; None when no view can have it."""
    shape, strides = layout
    if element_count(shape) == 0:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    if not shape:
        return (1,) * len(new_shape)
    result = [0] * len(new_shape)
    filling = len(new_shape) - 1
    base, old_count, new_count = strides[-1], 1, 1
    for dim in range(len(shape) - 1, -1, -1):
        old_count *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == old_count * base):
            continue
        while filling >= 0 and (_is_short(new_count, old_count) or new_shape[filling] == 1):
            result[filling] = new_count * base
            new_count *= new_shape[filling]
            filling -= 1
        if new_count != old_count:
            return None
        if dim:
            base, old_count, new_count = strides[dim - 1], 1, 1
    return tuple(result) if filling == -1 else None


def _is_short(count: int, wanted: int) -> bool:
    """Whether more dims are needed for so many elements; with symbols that is known where the counts are equal alone."""
    return count < wanted if type(count) is int and type(wanted) is int else count != wanted


def normalize_dim(dim: int, rank: int) -> int:
    """`dim` counted from the front; a 0-d tensor counts as having one dim.  Raises `ShapeError`."""
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise DimError(dim, limit)
    return dim % limit


def normalize_dims(dims: int | Iterable[int] | None, rank: int) -> Dims:
    """Sorted dims counted from the front; None and an empty list mean all.  Raises `ShapeError` when one is named twice."""
    if dims is None:
        return tuple(range(rank))
    listed = [dims] if isinstance(dims, int) else list(dims)
    if not listed:
        return tuple(range(rank))
    found = sorted(normalize_dim(dim, rank) for dim in listed)
    if len(set(found)) != len(found):
        raise ShapeError(f"a dim is named twice in {listed}")
    return tuple(found) if rank else ()


def reduced_shape(shape: Dims, dims: Dims, keepdim: bool) -> Dims:
    """The shape without `dims`, or with sizes 1 there."""
    if keepdim:
        return tuple([1 if dim in dims else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in dims])
