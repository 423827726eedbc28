"""fx: types and attributes.

A tensor type says all that eager's metadata says: `!fx.tensor<4x8xf32, strides [1, 4], "cuda:0", requires_grad>`.  Dense row-major strides, the
device `"cpu"` and `requires_grad = false` are left out.  A size is an integer or an expression over size symbols.
"""

from __future__ import annotations

from typing import Any

from lect.ir import SCALARS, Attribute, ScalarType, Scanner, Type, attr, quote, type_
from lect.ir.symbolic import Size
from lect.ir.symbolic_text import parse_shape, parse_size, shape_text


def dense_strides(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """Row-major strides as torch makes them (a dim of size 0 counts as 1)."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = step if type(size) is int and size < 1 else step * size  # one with symbols is at least 2
    return tuple(reversed(strides))


@type_("fx.tensor")
class TensorType(Type):
    """A torch tensor: sizes, element type, strides in elements, device, and whether autograd records on it."""

    shape: tuple[Size, ...]
    element: ScalarType
    strides: tuple[Size, ...] | None
    device: str
    requires_grad: bool

    @classmethod
    def normalize(cls, shape: Any, element: Any, strides: Any = None, device: str = "cpu", requires_grad: bool = False) -> dict[str, Any]:
        shape = tuple(shape)
        strides = dense_strides(shape) if strides is None else tuple(strides)
        return {"shape": shape, "element": element, "strides": strides, "device": device, "requires_grad": requires_grad}

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def is_dense(self) -> bool:
        """True when the strides are those of a new tensor of this shape."""
        return self.strides == dense_strides(self.shape)

    def print_body(self) -> str:
        parts = [shape_text(self.shape, self.element)]
        if self.strides is not None and not self.is_dense:
            parts.append("strides [" + ", ".join(map(str, self.strides)) + "]")
        if self.device != "cpu":
            parts.append(quote(self.device))
        if self.requires_grad:
            parts.append("requires_grad")
        return ", ".join(parts)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TensorType:
        if scanner is None:
            raise TypeError("a tensor type has a shape and an element type")
        shape, element = parse_shape(scanner)
        strides, device, grad = None, "cpu", False
        while scanner.accept(","):
            if scanner.accept_word("strides"):
                strides = tuple(scanner.list_of(lambda: _size(scanner)))
            elif scanner.accept_word("requires_grad"):
                grad = True
            else:
                device = scanner.string()
        if strides is not None and len(strides) != len(shape):
            raise scanner.fail(f"{len(shape)} strides")
        return cls(shape, element, strides, device, grad)


def _size(scanner: Scanner) -> Size:
    return scanner.integer() if scanner.at("-") else parse_size(scanner)


@type_("fx.number")
class NumberType(Type):
    """A Python int, float or bool that is known only when the graph runs: `!fx.number<f64>`; sizes are `!fx.number<index>`."""

    element: ScalarType

    def print_body(self) -> str:
        return str(self.element)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> NumberType:
        if scanner is None:
            raise TypeError("a number type has an element type")
        return cls(SCALARS[scanner.word()])


class _Numbered(Attribute):
    """Base of the placeholders inside argument lists."""

    __slots__ = ()
    number: int

    def print_body(self) -> str:
        return str(self.number)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> Any:
        if scanner is None:
            raise TypeError("a placeholder has a number")
        return cls(scanner.integer())  # type: ignore[call-arg]


@attr("fx.operand")
class OperandRef(_Numbered):
    """Stands in `args` or `kwargs` for the operand of that number."""

    number: int


@attr("fx.result")
class ResultRef(_Numbered):
    """Stands in `structure` for the result of that number."""

    number: int


class _Named(Attribute):
    """Base of the attributes that hold one quoted name."""

    __slots__ = ()
    text: str

    def print_body(self) -> str:
        return quote(self.text)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> Any:
        if scanner is None:
            raise TypeError("the name is missing")
        return cls(scanner.string())  # type: ignore[call-arg]


@attr("fx.device")
class DeviceAttr(_Named):
    """A torch device: `#fx.device<"cuda:0">`."""

    text: str


@attr("fx.constant")
class ConstantAttr(_Named):
    """A constant of torch found by its public name, such as `#fx.constant<"torch.channels_last">` or a dtype that has no builtin type."""

    text: str


@attr("fx.ellipsis")
class EllipsisAttr(Attribute):
    """Python's `...` in an index."""


@attr("fx.object")
class ObjectRef(Attribute):
    """A live Python object kept beside the module under a number; `what` describes it to people."""

    number: int
    what: str

    def print_body(self) -> str:
        return f"{self.number}, {quote(self.what)}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> ObjectRef:
        if scanner is None:
            raise TypeError("an object has a number and a description")
        number = scanner.integer()
        scanner.expect(",")
        return cls(number, scanner.string())
