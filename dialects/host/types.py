"""Types of the host program: tensors as the user sees them, and the flat memory that kernels see.

Sizes and strides are integers or, once shapes are dynamic, symbolic expressions; both print alike.  Strides that are contiguous and the device
"cpu" are left out of the text.
"""

from __future__ import annotations

from typing import Any

from lect.ir import ScalarType, Scanner, Type, quote, type_
from lect.ir.index_map import contiguous_strides
from lect.ir.symbolic import Size, as_size, product
from lect.ir.symbolic_text import parse_shape, parse_size, shape_text

__all__ = ["BufferType", "TensorType", "contiguous_strides"]


@type_("host.tensor")
class TensorType(Type):
    """A strided tensor: `sizes`, `element`, `strides` in elements, `device`.  Where its first element lies is known at run time only."""

    sizes: tuple[Size, ...]
    element: ScalarType
    strides: tuple[Size, ...] | None = None
    device: str = "cpu"

    @classmethod
    def normalize(cls, sizes: Any, element: Any, strides: Any, device: str) -> dict[str, Any]:
        sizes = tuple(sizes)
        strides = contiguous_strides(sizes) if strides is None else tuple(strides)
        if len(strides) != len(sizes):
            raise ValueError(f"{len(sizes)} sizes but {len(strides)} strides")
        return {"sizes": sizes, "element": element, "strides": strides, "device": device}

    @property
    def numel(self) -> Size:
        """Number of elements."""
        return product(self.sizes)

    @property
    def span(self) -> Size:
        """Elements of memory from the first to the last element, both counted (0 when empty)."""
        if self.numel == 0:
            return 0
        assert self.strides is not None
        return as_size(1 + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides)))

    @property
    def is_dense(self) -> bool:
        """No gaps and no overlaps: in some order of the dims the strides are those of a new tensor."""
        if self.numel == 0:
            return True
        assert self.strides is not None
        left = [(stride, size) for size, stride in zip(self.sizes, self.strides) if size != 1]
        step: Size = 1
        while left:
            found = next((pair for pair in left if pair[0] == step), None)
            if found is None:
                return False
            left.remove(found)
            step = as_size(step * found[1])
        return True

    def print_body(self) -> str:
        text = shape_text(self.sizes, self.element)
        if self.strides != contiguous_strides(self.sizes):
            assert self.strides is not None
            text += f", strides [{', '.join(map(str, self.strides))}]"
        return text + (f", {quote(self.device)}" if self.device != "cpu" else "")

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TensorType:
        if scanner is None:
            raise ValueError("sizes are missing")
        sizes, element = parse_shape(scanner)
        strides, device = None, "cpu"
        while scanner.accept(","):
            if scanner.accept_word("strides"):
                strides = tuple(scanner.list_of(lambda: parse_size(scanner)))
            else:
                device = scanner.string()
        return cls(sizes, element, strides, device)


@type_("host.buffer")
class BufferType(Type):
    """`numel` elements of flat memory on one device; kernels get the address of its first element."""

    numel: Size
    element: ScalarType
    device: str = "cpu"

    @property
    def bytes(self) -> Size:
        """Size in bytes."""
        return self.numel * self.element.bytes

    def print_body(self) -> str:
        return shape_text((self.numel,), self.element) + (f", {quote(self.device)}" if self.device != "cpu" else "")

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> BufferType:
        if scanner is None:
            raise ValueError("the size is missing")
        sizes, element = parse_shape(scanner)
        if len(sizes) != 1:
            raise scanner.fail("one size, as a buffer is flat")
        return cls(sizes[0], element, scanner.string() if scanner.accept(",") else "cpu")
