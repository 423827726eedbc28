"""The scalar operations on tiles, made from the table that `loop` shares.

Operands broadcast by the names of their axes: the result varies over every axis that an operand varies over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lect.dialects.kernel.types import TileType, element_of, with_element
from lect.dialects.scalars import declare
from lect.ir import Operation, ScalarType, Type, require


def join(op: Operation, types: Sequence[Type], element: ScalarType) -> Type:
    """The tile type over all axes of `types`.  Raises `VerifyError` when two of them belong to functions with other axes."""
    found: Type = element
    for type in types:
        if not isinstance(type, TileType):
            continue
        if not isinstance(found, TileType):
            found = type
            continue
        require(len(found.axes) == len(type.axes), op, "'{}' mixes tiles of {} and {} axes", op.name, len(found.axes), len(type.axes))
        merged = [mine or theirs for mine, theirs in zip(found.axes, type.axes)]
        for mine, theirs in zip(found.axes, type.axes):
            require(mine is None or theirs is None or mine == theirs, op, "'{}' mixes the axes {} and {} at one place", op.name, mine, theirs)
        found = TileType(merged, element)
    return with_element(found, element)


SCALAR_OPS: Mapping[str, type[Operation]] = MappingProxyType(declare("kernel", element_of, join))
globals().update(SCALAR_OPS)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The classes made above are read by name."""
