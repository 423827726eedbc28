"""The type of functional values: a tensor with everything eager would tell of it but its elements."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lect.dialects.functional.shapes import contiguous_strides, element_count, is_contiguous
from lect.ir import ParseError, ScalarType, Scanner, Type, quote, type_
from lect.ir.symbolic_text import parse_shape, parse_size, shape_text


@type_("functional.tensor")
class TensorType(Type):
    """`shape`, `element`, `strides` in elements and `device`.  Row-major strides and the device "cpu" are left out of the text.

    Sizes and strides are integers, or expressions over size symbols: `!functional.tensor<s0x(s0 + 1)xf32>`.
    """

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
    def is_empty(self) -> bool:
        """True when there are no elements; a size with symbols is at least 2."""
        return 0 in self.shape

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
        text = shape_text(self.shape, self.element)
        if self.strides != contiguous_strides(self.shape):
            text += f", strides [{', '.join(map(str, self.strides))}]"
        return text if self.device == "cpu" else f"{text}, {quote(self.device)}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TensorType:
        if scanner is None:
            raise ParseError("a functional tensor has sizes and an element type, as in !functional.tensor<8x16xf32>")
        shape: Any
        shape, element = parse_shape(scanner)
        strides, device = contiguous_strides(shape), "cpu"
        while scanner.accept(","):
            if scanner.accept_word("strides"):
                strides = tuple(scanner.list_of(lambda: _stride(scanner)))
            else:
                device = scanner.string()
        if len(strides) != len(shape):
            raise ParseError(f"{len(shape)} sizes need as many strides, got {len(strides)}")
        return cls(shape, element, strides, device)


@lru_cache(maxsize=1 << 14)
def tensor_type(shape: tuple[int, ...], element: ScalarType, strides: tuple[int, ...] | None, device: str) -> TensorType:
    """The type, found faster than by its constructor; sizes and strides must be plain integers."""
    return TensorType(shape, element, strides, device)


def _stride(scanner: Scanner) -> Any:
    """A stride may be negative in text, though torch has none such."""
    return scanner.integer() if scanner.at("-") else parse_size(scanner)
