"""Casts, copies, new tensors, random tensors."""

from lect.dialects.functional.families import Elementwise, FunctionalOp, Number, Types, require_number
from lect.dialects.functional.shapes import contiguous_strides, preserved_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Pure, Result, ScalarType, op, require
from lect.ir.types import i64


@op("functional.cast")
class CastOp(FunctionalOp):
    """The elements converted to the type `to`, and the tensor moved to `device` if one is named.

    Floats round to the nearest, ties to even.  A float that its integer type cannot hold gives what eager's conversion gives on the device.
    """

    x: Operand[TensorType]
    to: Attr[ScalarType]
    device: Attr[(str, None)] = None
    output: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        x = self.x.type
        return TensorType(x.shape, self.to, preserved_strides(x.layout), self.device or x.device)


@op("functional.copy")
class CopyOp(FunctionalOp):
    """The same elements, in memory of their own; on `device` if one is named."""

    x: Operand[TensorType]
    device: Attr[(str, None)] = None
    output: Result[TensorType]
    traits = (Pure, Elementwise)

    def type_rule(self) -> Types:
        x = self.x.type
        return TensorType(x.shape, x.element, preserved_strides(x.layout), self.device or x.device)


@op("functional.full")
class FullOp(FunctionalOp):
    """All elements are the number `value`, converted to `element`."""

    shape: Attr[tuple]
    value: Attr[Number]
    element: Attr[ScalarType]
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _created(self)

    def verify(self) -> None:
        require_number(self, self.element, self.value, "value")


@op("functional.undefined")
class UndefinedOp(FunctionalOp):
    """Elements of no particular value, as those of empty(): whoever reads them may get anything."""

    shape: Attr[tuple]
    element: Attr[ScalarType]
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _created(self)


@op("functional.iota")
class IotaOp(FunctionalOp):
    """start + step * i for i in 0..size-1, computed as eager's arange computes it."""

    size: Attr[int]
    start: Attr[Number] = 0
    step: Attr[Number] = 1
    element: Attr[ScalarType] = i64
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require(self.size >= 0, self, "the size of '{}' must not be negative, got {}", self.name, self.size)
        return TensorType((self.size,), self.element, (1,), self.device)


class _Random(FunctionalOp):
    """Base: a function of the seed and the offset alone, so equal operands give equal numbers."""

    __slots__ = ()

    def type_rule(self) -> Types:
        require(self.seed.type.element is i64 and self.seed.type.rank == 0, self, "the seed of '{}' must be a 0-d tensor of i64", self.name)  # type: ignore[attr-defined]
        return _created(self)


@op("functional.rand")
class RandOp(_Random):
    """Uniform numbers in [0, 1) from the stream that `seed` (two's complement, 0-d) and `offset` name."""

    seed: Operand[TensorType]
    shape: Attr[tuple]
    element: Attr[ScalarType]
    offset: Attr[int] = 0
    device: Attr[str] = "cpu"
    output: Result[TensorType]


@op("functional.randn")
class RandnOp(_Random):
    """Normal numbers of mean 0 and deviation 1 from the stream that `seed` and `offset` name."""

    seed: Operand[TensorType]
    shape: Attr[tuple]
    element: Attr[ScalarType]
    offset: Attr[int] = 0
    device: Attr[str] = "cpu"
    output: Result[TensorType]


@op("functional.randint")
class RandintOp(_Random):
    """Uniform integers in low..high-1 from the stream that `seed` and `offset` name."""

    seed: Operand[TensorType]
    shape: Attr[tuple]
    element: Attr[ScalarType]
    high: Attr[int]
    low: Attr[int] = 0
    offset: Attr[int] = 0
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def verify(self) -> None:
        require(self.low < self.high, self, "'functional.randint' needs low below high, got {} and {}", self.low, self.high)


def _created(op) -> TensorType:  # type: ignore[no-untyped-def]
    good = all(type(size) is int and size >= 0 for size in op.shape)
    require(good, op, "the shape of '{}' must be sizes that are not negative, got {}", op.name, list(op.shape))
    return TensorType(op.shape, op.element, contiguous_strides(op.shape), op.device)
