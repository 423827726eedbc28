"""Views, which only change index maps, and the copies that move whole slices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import creation, view
from lect.dialects.functional.types import TensorType
from lect.ir import Operation
from lect.ir.index_map import delinearize, linearize, space_dims, strided
from lect.ir.symbolic import ZERO, Expr, as_size, constant, ranges_of
from lect.passes.convert.functional_to_loop_base import Lowering, Num, Rule, Seen


def reshaped(lowering: Lowering, seen: Seen, type: TensorType) -> Seen:
    """The elements in row-major order under another shape."""
    if seen.type.is_empty:
        return Seen(seen.buffer, ZERO, type)
    return lowering.reindexed(seen, type, reshaped_indices(seen.type.shape, type.shape))


@lru_cache(maxsize=4096)
def reshaped_indices(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[Expr, ...]:
    """Where the element at (d0, d1, ...) of the new shape stands in the old one."""
    return delinearize(linearize(space_dims(new), new), old, ranges_of(new))


def _reshape(lowering: Lowering, op: Any) -> list[Seen]:
    return [reshaped(lowering, lowering.seen[op.x], op.output.type)]


def _permute(lowering: Lowering, op: Any) -> list[Seen]:
    dims = space_dims(op.output.type.shape)
    indices: list[Expr] = [ZERO] * len(dims)
    for position, source in enumerate(op.dims):
        indices[source] = dims[position]
    return [lowering.reindexed(lowering.seen[op.x], op.output.type, indices)]


def _expand(lowering: Lowering, op: Any) -> list[Seen]:
    dims = space_dims(op.output.type.shape)
    return [lowering.reindexed(lowering.seen[op.x], op.output.type, dims[len(dims) - op.x.type.rank :])]


def _slice(lowering: Lowering, op: Any) -> list[Seen]:
    indices = list(space_dims(op.output.type.shape))
    indices[op.dim] = indices[op.dim] * op.step + op.start
    return [lowering.reindexed(lowering.seen[op.x], op.output.type, indices)]


def _diagonal(lowering: Lowering, op: Any) -> list[Seen]:
    *kept, along = space_dims(op.output.type.shape)
    indices: list[Expr] = []
    for dim in range(op.x.type.rank):
        if dim == op.dim1:
            indices.append(along + max(-op.offset, 0))
        elif dim == op.dim2:
            indices.append(along + max(op.offset, 0))
        else:
            indices.append(kept.pop(0))
    return [lowering.reindexed(lowering.seen[op.x], op.output.type, indices)]


def _as_strided(lowering: Lowering, op: Any) -> list[Seen]:
    seen, found = lowering.strided(lowering.seen[op.x], op.loc)
    return [Seen(seen.buffer, strided(space_dims(op.size), op.stride, found.offset + op.offset), op.output.type)]


def _reverse(lowering: Lowering, op: Any) -> list[Seen]:
    body = lowering.body(op.output.type, op.loc)
    indices = list(body.indices)
    for dim in op.dims if indices else ():
        indices[dim] = constant(op.output.type.shape[dim] - 1) - indices[dim]
    body.store(body.read(op.x, tuple(indices), raw=True), op.output.type)
    return body.finish()


def _cat(lowering: Lowering, op: Any) -> list[Seen]:
    """One nest: each piece is loaded where the index along `dim` falls into it."""
    pieces = [value for value in op.inputs if not value.type.is_empty]
    if len(pieces) > 8:
        return lowering.extern(op, "aten.cat.default", [list(op.inputs), op.dim])
    body = lowering.body(op.output.type, op.loc)
    if not pieces:
        body.store(body.const(0, op.output.type.element), op.output.type)
        return body.finish()
    along = body.indices[op.dim]
    position = body.index(along)
    out: Num | None = None
    end = op.output.type.shape[op.dim]
    for value in reversed(pieces):
        start = as_size(end - value.type.shape[op.dim])
        indices = list(body.indices)
        indices[op.dim] = along - start
        masks = ([position >= start] if start else []) + ([position < end] if end < op.output.type.shape[op.dim] else [])
        number = body.read(value, tuple(indices), raw=True, masks=masks)
        out = number if out is None else (position < end).choose(number, out)
        end = start
    assert out is not None
    body.store(out, op.output.type)
    return body.finish()


def _pad(lowering: Lowering, op: Any) -> list[Seen]:
    body = lowering.body(op.output.type, op.loc)
    fill = body.const(op.value, op.output.type.element)
    if op.x.type.is_empty:
        body.store(fill, op.output.type)
        return body.finish()
    masks: list[Num] = []
    indices = list(body.indices)
    for dim, ((before, after), size) in enumerate(zip(op.pads, op.x.type.shape)):
        indices[dim] = indices[dim] - before
        position = body.index(indices[dim])
        masks += [position >= 0] if before > 0 else []
        masks += [position < size] if after > 0 else []
    number = body.read(op.x, tuple(indices), raw=True, masks=masks)
    inside = masks[0] if masks else None
    for mask in masks[1:]:
        inside = inside & mask if inside is not None else mask
    body.store(number if inside is None else inside.choose(number, fill), op.output.type)
    return body.finish()


def _together(lowering: Lowering, op: Any) -> list[Seen]:
    """One nest with all results, which is not put into its readers."""
    body = lowering.body(op.outputs[0].type, op.loc)
    for value, result in zip(op.inputs, op.outputs):
        body.store(body.read(value, raw=True), result.type)
    return body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType(
    {
        view.ReshapeOp: _reshape,
        view.PermuteOp: _permute,
        view.ExpandOp: _expand,
        view.SliceOp: _slice,
        view.DiagonalOp: _diagonal,
        view.AsStridedOp: _as_strided,
        view.ReverseOp: _reverse,
        view.CatOp: _cat,
        view.PadOp: _pad,
        creation.TogetherOp: _together,
    }
)
BY_TYPES = (view.ReshapeOp, view.PermuteOp, view.ExpandOp, view.SliceOp, view.DiagonalOp)  # rules that ask for types, attributes and where operands lie alone
