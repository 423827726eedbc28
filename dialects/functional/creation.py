"""Casts, copies, new tensors, random tensors."""

from lect.dialects.functional.families import Elementwise, FunctionalOp, Number, SizeOrInt, Types, are_sizes, require_number
from lect.dialects.functional.shapes import contiguous_strides, preserved_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Attr, Operand, Pure, Result, ScalarType, Variadic, VariadicResult, op, require
from lect.ir.symbolic import Expr
from lect.ir.symbolic_values import may_be_ordered
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


@op("functional.together")
class TogetherOp(FunctionalOp):
    """The operands, of one shape, computed side by side and stored: readers that would compute them again for many elements read them instead."""

    inputs: Variadic[TensorType]
    outputs: VariadicResult[TensorType]

    def type_rule(self) -> tuple[TensorType, ...]:
        require(len(self.inputs) > 1, self, "'{}' needs several operands, got {}", self.name, len(self.inputs))
        types: list[TensorType] = [value.type for value in self.inputs]
        shape = types[0].shape
        for type in types:
            require(type.shape == shape, self, "the operands of '{}' must have one shape, got {} and {}", self.name, list(shape), list(type.shape))
        return tuple([type.like(shape) for type in types])


@op("functional.full")
class FullOp(FunctionalOp):
    """All elements are the number `value`, converted to `element`.  A size that is known only at run time may be the value of elements of i64."""

    shape: Attr[tuple]
    value: Attr[(*Number, Expr)]
    element: Attr[ScalarType]
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        return _created(self)

    def verify(self) -> None:
        if type(self.value) is Expr:
            require(self.element is i64, self, "a size as the 'value' of '{}' must be of i64, got {}", self.name, self.element)
        else:
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

    size: Attr[SizeOrInt]
    start: Attr[Number] = 0
    step: Attr[Number] = 1
    element: Attr[ScalarType] = i64
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def type_rule(self) -> Types:
        require(may_be_ordered(0, self.size), self, "the size of '{}' must not be negative, got {}", self.name, self.size)
        return TensorType((self.size,), self.element, (1,), self.device)


class _Random(FunctionalOp):
    """Base: a function of the seed, the stream `offset` and the element's place alone, so equal operands give equal numbers.

    The words of Philox 4x32-10 under the key `seed` in stream `offset` (see `dialects.scalars`) belong to the elements in row-major order, whatever
    the strides are: one for each element of `rand` (two in f64), two for `randn` (four in f64) and `randint`.
    """

    __slots__ = ()

    def type_rule(self) -> Types:
        require(self.seed.type.element is i64 and self.seed.type.rank == 0, self, "the seed of '{}' must be a 0-d tensor of i64", self.name)  # type: ignore[attr-defined]
        require(-(1 << 63) <= self.offset < 1 << 63, self, "the offset of '{}' must fit i64, got {}", self.name, self.offset)  # type: ignore[attr-defined]
        return _created(self)


@op("functional.rand")
class RandOp(_Random):
    """Uniform numbers in [0, 1), exactly k / 2^d: d is 24 in f32, 53 in f64, 11 in f16, 8 in bf16, and k the leading d bits of the element's word."""

    seed: Operand[TensorType]
    shape: Attr[tuple]
    element: Attr[ScalarType]
    offset: Attr[int] = 0
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def verify(self) -> None:
        require(self.element.is_float, self, "'functional.rand' makes floats, got {}", self.element)


@op("functional.randn")
class RandnOp(_Random):
    """Normal numbers of mean 0 and deviation 1, sqrt(-2 log u) * cos(2 pi v) of two uniform numbers; halves are computed in f32."""

    seed: Operand[TensorType]
    shape: Attr[tuple]
    element: Attr[ScalarType]
    offset: Attr[int] = 0
    device: Attr[str] = "cpu"
    output: Result[TensorType]

    def verify(self) -> None:
        require(self.element.is_float, self, "'functional.randn' makes floats, got {}", self.element)


@op("functional.randint")
class RandintOp(_Random):
    """Uniform integers in low..high-1, the upper half of the product of a word of 64 bits and high - low, converted to `element`."""

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
        require(-(1 << 63) <= self.low and self.high <= 1 << 63, self, "'functional.randint' gives numbers of i64, got {} and {}", self.low, self.high)


def _created(op) -> TensorType:  # type: ignore[no-untyped-def]
    good = are_sizes(op.shape)
    require(good, op, "the shape of '{}' must be sizes that are not negative, got {}", op.name, list(op.shape))
    return TensorType(op.shape, op.element, contiguous_strides(op.shape), op.device)
