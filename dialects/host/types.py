"""Types of the host program: tensors as the user sees them, and the flat memory that kernels see.

Sizes and strides are integers or, once shapes are dynamic, symbolic expressions; both print alike.  Strides that are contiguous and the device
"cpu" are left out of the text.
"""

from __future__ import annotations

import re
from typing import Any

from lect.ir import SCALARS, ScalarType, Scanner, Type, quote, type_

_SHAPE = re.compile(r"((?:[A-Za-z0-9_?]+x)*)(complex<f(?:32|64)>|[a-z]+\d*)")


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides; a dim of size 0 counts as 1, as torch has it."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _parse_shape(scanner: Scanner) -> tuple[tuple[int, ...], ScalarType]:
    match = scanner.regex(_SHAPE, "sizes and an element type, as in 8x16xf32")
    element = SCALARS.get(match[2])
    if element is None:
        raise scanner.fail("an element type")
    sizes = []
    for part in match[1].split("x")[:-1]:
        if not part.isdigit():
            raise scanner.fail(f"an integer size instead of '{part}'")
        sizes.append(int(part))
    return tuple(sizes), element


@type_("host.tensor")
class TensorType(Type):
    """A strided tensor: `sizes`, `element`, `strides` in elements, `device`.  Where its first element lies is known at run time only."""

    sizes: tuple[int, ...]
    element: ScalarType
    strides: tuple[int, ...] | None = None
    device: str = "cpu"

    @classmethod
    def normalize(cls, sizes: Any, element: Any, strides: Any, device: str) -> dict[str, Any]:
        sizes = tuple(sizes)
        strides = contiguous_strides(sizes) if strides is None else tuple(strides)
        if len(strides) != len(sizes):
            raise ValueError(f"{len(sizes)} sizes but {len(strides)} strides")
        return {"sizes": sizes, "element": element, "strides": strides, "device": device}

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def span(self) -> int:
        """Elements of memory from the first to the last element, both counted (0 when empty)."""
        if not self.numel:
            return 0
        assert self.strides is not None
        return 1 + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides))

    @property
    def is_dense(self) -> bool:
        """No gaps and no overlaps: in some order of the dims the strides are those of a new tensor."""
        if not self.numel:
            return True
        assert self.strides is not None
        step = 1
        for stride, size in sorted((stride, size) for size, stride in zip(self.sizes, self.strides) if size != 1):
            if stride != step:
                return False
            step *= size
        return True

    def print_body(self) -> str:
        text = "".join([f"{size}x" for size in self.sizes]) + str(self.element)
        if self.strides != contiguous_strides(self.sizes):
            assert self.strides is not None
            text += f", strides [{', '.join(map(str, self.strides))}]"
        return text + (f", {quote(self.device)}" if self.device != "cpu" else "")

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TensorType:
        if scanner is None:
            raise ValueError("sizes are missing")
        sizes, element = _parse_shape(scanner)
        strides, device = None, "cpu"
        while scanner.accept(","):
            if scanner.accept_word("strides"):
                strides = tuple(scanner.list_of(scanner.integer))
            else:
                device = scanner.string()
        return cls(sizes, element, strides, device)


@type_("host.buffer")
class BufferType(Type):
    """`numel` elements of flat memory on one device; kernels get the address of its first element."""

    numel: int
    element: ScalarType
    device: str = "cpu"

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.numel * self.element.bytes

    def print_body(self) -> str:
        return f"{self.numel}x{self.element}" + (f", {quote(self.device)}" if self.device != "cpu" else "")

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> BufferType:
        if scanner is None:
            raise ValueError("the size is missing")
        sizes, element = _parse_shape(scanner)
        if len(sizes) != 1:
            raise scanner.fail("one size, as a buffer is flat")
        return cls(sizes[0], element, scanner.string() if scanner.accept(",") else "cpu")
