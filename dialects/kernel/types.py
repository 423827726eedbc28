"""Types of the tile program.

A tile names the axes it varies over, in the order in which its function declares them: in `!kernel.tile<1xRxf32>` the value is the same along
the first axis and has one element for each lane of `R`.  How many lanes an axis has is the function's decision (`blocks`) and no part of the
type, so block sizes may be edited without touching the program.  A tile that varies over no axis is written as its plain element type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lect.ir import SCALARS, ScalarType, Scanner, Type, VerifyError, type_
from lect.ir.symbolic import Size
from lect.ir.symbolic_text import parse_shape, shape_text

_TILE = re.compile(r"((?:(?:[A-Z][0-9]*|1)x)+)(complex<f(?:32|64)>|[a-z]+\d*)")


def _scalar(scanner: Scanner, spelling: str) -> ScalarType:
    found = SCALARS.get(spelling)
    if found is None:
        raise scanner.fail(f"an element type before the end, '{spelling}' is none")
    return found


@type_("kernel.ptr")
class PtrType(Type):
    """The address of flat memory that holds elements of one type."""

    element: ScalarType

    def print_body(self) -> str:
        return str(self.element)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> PtrType:
        if scanner is None:
            raise ValueError("the element type is missing")
        return cls(_scalar(scanner, scanner.word()))


@type_("kernel.tile")
class TileType(Type):
    """Values of `element` type along the named `axes`; `None` stands for an axis over which the value does not vary."""

    axes: tuple[str | None, ...]
    element: ScalarType

    @classmethod
    def normalize(cls, axes: Iterable[str | None], element: Any) -> dict[str, Any]:
        axes = tuple(axes)
        if not any(axes):
            raise ValueError("a tile must vary over an axis; write its element type instead")
        return {"axes": axes, "element": element}

    def print_body(self) -> str:
        return "".join([f"{axis or 1}x" for axis in self.axes]) + str(self.element)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TileType:
        if scanner is None:
            raise ValueError("axes and element type are missing")
        match = scanner.regex(_TILE, "axes and an element type, as in 1xRxf32")
        axes = [None if part == "1" else part for part in match[1].split("x")[:-1]]
        return cls(axes, _scalar(scanner, match[2]))


@type_("kernel.scratch")
class ScratchType(Type):
    """Memory of one program: `count` elements, one for each index of a loop axis."""

    count: Size
    element: ScalarType

    def print_body(self) -> str:
        return shape_text((self.count,), self.element)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> ScratchType:
        if scanner is None:
            raise ValueError("the size is missing")
        sizes, element = parse_shape(scanner)
        if len(sizes) != 1:
            raise scanner.fail("a size and an element type, as in 2048xf32")
        return cls(sizes[0], element)


def element_of(type: Type) -> ScalarType:
    """The element type of a tile, or the scalar itself.  Raises `VerifyError` for other types."""
    if isinstance(type, TileType):
        return type.element
    if isinstance(type, ScalarType):
        return type
    raise VerifyError(f"expected a tile or a number, got {type}")


def axes_of(type: Type) -> frozenset[str]:
    """The axes over which a value of this type varies."""
    return frozenset(axis for axis in type.axes if axis) if isinstance(type, TileType) else frozenset()


def varying_over(axes: frozenset[str] | set[str], order: tuple[str, ...], element: ScalarType) -> Type:
    """The type of a value that varies over `axes`, which stand in `order` in their function."""
    return TileType([name if name in axes else None for name in order], element) if axes else element


def with_element(type: Type, element: ScalarType) -> Type:
    """The same tile with another element type."""
    return TileType(type.axes, element) if isinstance(type, TileType) else element
