"""The type of functional values: a tensor with everything eager would tell of it but its elements."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from lect.dialects.functional.shapes import contiguous_strides, element_count, is_contiguous
from lect.ir import SCALARS, ParseError, ScalarType, Scanner, Type, quote, type_

_DIM = re.compile(r"(\d+)x")
_ELEMENT = re.compile(r"complex<f(?:32|64)>|[a-z]+\d*")


@type_("functional.tensor")
class TensorType(Type):
    """`shape`, `element`, `strides` in elements and `device`.  Row-major strides and the device "cpu" are left out of the text."""

    shape: tuple[int, ...]
    element: ScalarType
    strides: tuple[int, ...] = None  # type: ignore[assignment]  # None is row-major, which `normalize` spells out
    device: str = "cpu"

    @classmethod
    def normalize(cls, shape: Any, element: ScalarType, strides: Any = None, device: str = "cpu") -> dict[str, Any]:
        shape = tuple(shape)
        strides = contiguous_strides(shape) if strides is None else tuple(strides)
        if len(strides) != len(shape):
            raise ValueError(f"{len(shape)} sizes need as many strides, got {len(strides)}")
        return {"shape": shape, "element": element, "strides": strides, "device": device}

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def count(self) -> int:
        """Number of elements."""
        return element_count(self.shape)

    @property
    def layout(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(shape, strides)."""
        return self.shape, self.strides

    @property
    def is_contiguous(self) -> bool:
        """Dense and row-major; strides of sizes 1 do not count."""
        return is_contiguous(self.shape, self.strides)

    def like(self, shape: Any, element: ScalarType | None = None, strides: Any = None) -> TensorType:
        """A type on the same device, row-major unless `strides` are given."""
        return tensor_type(tuple(shape), element or self.element, None if strides is None else tuple(strides), self.device)

    def with_element(self, element: ScalarType) -> TensorType:
        """The same layout with other elements."""
        return tensor_type(self.shape, element, self.strides, self.device)

    def with_strides(self, strides: Any) -> TensorType:
        """The same tensor laid out otherwise."""
        return tensor_type(self.shape, self.element, tuple(strides), self.device)

    def print_body(self) -> str:
        text = "x".join([*map(str, self.shape), str(self.element)])
        if self.strides != contiguous_strides(self.shape):
            text += f", strides [{', '.join(map(str, self.strides))}]"
        return text if self.device == "cpu" else f"{text}, {quote(self.device)}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TensorType:
        if scanner is None:
            raise ParseError("a functional tensor has sizes and an element type, as in !functional.tensor<8x16xf32>")
        shape = _sizes(scanner)
        spelling = scanner.regex(_ELEMENT, "an element type")[0]
        if spelling not in SCALARS:
            raise ParseError(f"'{spelling}' is no element type")
        strides, device = contiguous_strides(shape), "cpu"
        while scanner.accept(","):
            if scanner.accept_word("strides"):
                strides = tuple(scanner.list_of(scanner.integer))
            else:
                device = scanner.string()
        if len(strides) != len(shape):
            raise ParseError(f"{len(shape)} sizes need as many strides, got {len(strides)}")
        return cls(shape, SCALARS[spelling], strides, device)


@lru_cache(maxsize=1 << 14)
def tensor_type(shape: tuple[int, ...], element: ScalarType, strides: tuple[int, ...] | None, device: str) -> TensorType:
    """The type, found faster than by its constructor; sizes and strides must be plain integers."""
    return TensorType(shape, element, strides, device)


def _sizes(scanner: Scanner) -> tuple[int, ...]:
    sizes = []
    scanner.skip()
    while match := _DIM.match(scanner.text, scanner.pos):
        sizes.append(int(match[1]))
        scanner.pos = match.end()
    return tuple(sizes)
