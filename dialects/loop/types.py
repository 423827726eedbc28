"""The type of memory at the loop level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from lect.ir import ScalarType, Scanner, Type, type_
from lect.ir.symbolic import Size, product
from lect.ir.symbolic_text import parse_shape, shape_text

_product = lru_cache(maxsize=4096)(product)


@type_("loop.buffer")
class BufferType(Type):
    """Flat memory: the elements of a dense array of `sizes`, in physical (row-major) order."""

    sizes: tuple
    element: ScalarType

    @classmethod
    def normalize(cls, sizes: Sequence[Size], element: ScalarType) -> dict[str, object]:
        return {"sizes": tuple(sizes), "element": element}

    @property
    def numel(self) -> Size:
        """Number of elements."""
        return _product(self.sizes)

    @property
    def bytes(self) -> Size:
        """Size in bytes."""
        return self.numel * self.element.bytes

    def print_body(self) -> str:
        return shape_text(self.sizes, self.element)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> BufferType:
        if scanner is None:
            raise ValueError("sizes and element type are missing")
        return cls(*parse_shape(scanner))
