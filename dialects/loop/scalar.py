"""The scalar operations on single numbers, made from the table that `kernel` shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lect.dialects.scalars import TABLE, declare
from lect.ir import Operation, ScalarType, Type, VerifyError, require


def element_of(type: Type) -> ScalarType:
    """The number type itself.  Raises `VerifyError` for a buffer."""
    if not isinstance(type, ScalarType):
        raise VerifyError(f"a scalar operation takes numbers, got {type}")
    return type


def join(op: Operation, types: Sequence[Type], element: ScalarType) -> Type:
    """The result is a number of the element type; 16-bit floats do not compute, they are cast to f32 first."""
    for type in types:
        require(not element_of(type).is_half, op, "'{}' does not compute in {}, cast to f32 first", op.name, type)
    return element


SCALAR_OPS: Mapping[str, type[Operation]] = MappingProxyType(declare("loop", element_of, join))
BY_NAME: Mapping[str, type[Operation]] = MappingProxyType({cls.name.partition(".")[2]: cls for cls in SCALAR_OPS.values()})
PREDICATES = frozenset(name for name, row in TABLE.items() if row.predicate)
globals().update(SCALAR_OPS)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The classes made above are read by name."""
