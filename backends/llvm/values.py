"""What a tile is in LLVM.

One axis of a function (its `vector` axis) becomes the lanes of LLVM vectors; one other axis may have several lanes too, and these are written out
as rows.  A tile is a list of rows, each a vector or, where the tile does not vary over the vector axis, a scalar.  At the end of an axis fewer
lanes are live than its block has, and vectors shrink to the power of two that holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from lect.ir import ScalarType
from lect.ir.types import bf16, f16, f32, f64, i1, index

FLOATS = MappingProxyType({f16: "half", bf16: "i16", f32: "float", f64: "double"})


def register_type(element: ScalarType) -> str:
    """The LLVM type of one value in a register; bf16 travels as its bits."""
    return FLOATS.get(element) or ("i1" if element is i1 else f"i{element.bits}")


def memory_type(element: ScalarType) -> str:
    """The LLVM type of one element in memory; a bool takes a byte."""
    return "i8" if element is i1 else register_type(element)


def memory_suffix(type: str) -> str:
    """The part of an intrinsic's name that tells the type of an element in memory."""
    return {"half": "f16", "float": "f32", "double": "f64"}.get(type, type)


def suffix(element: ScalarType, width: int) -> str:
    """The part of an intrinsic's name that tells the type: `f32`, `v16f32`, `v8i64`."""
    name = {"half": "f16", "float": "f32", "double": "f64"}.get(register_type(element), register_type(element))
    return f"v{width}{name}" if width else name


def typed(name: str, width: int) -> str:
    """A type name, as a vector of `width` lanes unless that is 0."""
    return f"<{width} x {name}>" if width else name


class Tile(NamedTuple):
    """Rows of values of one element type.  `width` is 0 for scalars.  `live` is how many leading lanes a bound lets pass, None for other masks and values;
    `prefix` is that as an i64 where it is known only at run time; a mask that is true everywhere has `always`."""

    rows: Sequence[str]
    width: int
    element: ScalarType
    live: int | None = None
    always: bool = False
    prefix: str | None = None

    @property
    def type(self) -> str:
        """The LLVM type of a row."""
        return typed(register_type(self.element), self.width)

    def row(self, number: int) -> str:
        """Row `number`; a tile with one row is the same along the other axis."""
        return self.rows[number] if len(self.rows) > 1 else self.rows[0]


class IndexTile(NamedTuple):
    """An index that grows linearly: `base + lane * lane_step + row * row_step`, over `width` lanes and `rows` rows (0: it has none).

    Steps are numbers, or values of i64 where they are known only at run time.
    """

    base: str
    lane_step: int | str = 0
    row_step: int | str = 0
    width: int = 0
    rows: int = 0

    @property
    def element(self) -> ScalarType:
        """Indices have one element type."""
        return index


TRUE = Tile(("true",), 0, i1, always=True)


def power_of_two(count: int) -> int:
    """The least power of two that is not less than `count`."""
    return 1 << max(count - 1, 0).bit_length()


def vector(element: str, items: Sequence[object]) -> str:
    """A constant vector."""
    return "<" + ", ".join([f"{element} {item}" for item in items]) + ">"
