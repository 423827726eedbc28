"""Slices put into tensors: the new part is chosen where it lies, so that readers of the whole may compute it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import gather
from lect.ir import Operation
from lect.passes.convert.functional_to_loop_base import Lowering, Rule, Seen
from lect.passes.convert.functional_to_loop_extern import call


def _slice_scatter(lowering: Lowering, op: Any) -> list[Seen]:
    """One nest: the new part is read where the index along `dim` falls into it, the old elements everywhere.  A library call if it shall be in place."""
    if op.step != 1 or not op.src.type.count or op.attrs.get("in_place"):
        return call(lowering, op)
    body = lowering.body(op.output.type, op.loc)
    along = body.indices[op.dim]
    position = body.index(along)
    masks = ([position >= op.start] if op.start else []) + ([position < op.end] if op.end < op.x.type.shape[op.dim] else [])
    indices = list(body.indices)
    indices[op.dim] = along - op.start
    number = body.read(op.src, tuple(indices), raw=True, masks=masks)
    if masks:
        inside = masks[0] if len(masks) == 1 else masks[0] & masks[1]
        number = inside.choose(number, body.read(op.x, raw=True))
    body.store(number, op.output.type)
    return body.finish()


RULES: Mapping[type[Operation], Rule] = MappingProxyType({gather.SliceScatterOp: _slice_scatter})
