"""Writing functional operations: what the rules call.

A rule is a function `rule(e, *arguments) -> value, tuple of values, or None`.  It gets the arguments of the ATen overload it stands for with
IR values in the place of tensors, and writes operations through the emitter `e`.  None says that the rule does not cover the case; the call then
becomes opaque.  `e.results` are the types that eager gives the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lect.dialects.functional.creation import CastOp, CopyOp, FullOp
from lect.dialects.functional.pointwise import MIXED_BINARY, DivOp
from lect.dialects.functional.shapes import normalize_dim, normalize_dims
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import ExpandOp, PermuteOp, ReshapeOp
from lect.frontends.tensors.elements import DTYPES, element_of, meta_of_type
from lect.frontends.tensors.shape_pointwise import promoted_dtype
from lect.frontends.tensors.sizes import Sizes, size_of
from lect.ir import UNKNOWN, Block, Location, Operation, ScalarType, Value, VerifyError
from lect.ir.symbolic import Size
from lect.ir.types import f64, i64

Rule = Callable[..., Any]
_MUL = MIXED_BINARY["MulOp"]
Numeric = (bool, int, float)


@dataclass(frozen=True)
class RunTimeScalar:
    """A Python number that is known when the graph runs: `value` holds it as a 0-d tensor of f64 or i64, `example` is a number of its type.

    Rules get it where the ATen op gets a number.  It takes part in promotion as a Python number does.
    """

    value: Value
    example: int | float


class Emitter:
    """Appends operations to `block` with the location `loc`."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.loc: Location = UNKNOWN
        self.results: Sequence[TensorType | None] = ()
        self.sizes: Sizes | None = None  # of the graph, when it has symbols

    def __call__(self, cls: Any, *operands: Any, **attrs: Any) -> Any:
        """Write one operation; its result, or the tuple of its results."""
        if self.sizes is not None:
            attrs = {name: size_of(value) for name, value in attrs.items()}
        op = self.block.append(cls(*operands, loc=self.loc, **attrs))
        return op.results[0] if len(op.results) == 1 else op.results

    @property
    def result(self) -> TensorType:
        """The type eager gives the first result."""
        found = self.results[0]
        assert found is not None
        return found

    # ---- elements ----------------------------------------------------------------------------------------------------

    def promote(self, *values: Any) -> ScalarType | None:
        """The common element type of tensors and numbers; None when torch alone can tell."""
        dtype = promoted_dtype(tuple([_operand(value) for value in values]))
        return None if dtype is None else element_of(dtype)

    def to(self, value: Value, element: ScalarType) -> Value:
        """The value with these elements."""
        if type_of(value).element is element:
            return value
        return self(CastOp, value, to=element)

    def run_time(self, scalar: RunTimeScalar, element: ScalarType) -> Value:
        """A number of run time converted to an element type, as a 0-d tensor."""
        return self.to(scalar.value, element)

    def number(self, value: Any, element: ScalarType) -> Any:
        """A Python number as eager has it after conversion to the element type: rounded, wrapped.  Raises `VerifyError` for a complex one."""
        if isinstance(value, complex):
            raise VerifyError(f"{value} is no number of {element.spelling}")
        if element.kind == "bool":
            return bool(value)
        if element.is_integer and type(value) is int and -128 <= value < 128 and (value >= 0 or element.kind == "signed"):
            return value
        if element.is_float and element.bits >= 32 and type(value) is int and abs(value) < 1 << 24:
            return value
        return torch.tensor(value, dtype=torch.float64 if type(value) is float else torch.int64).to(DTYPES[element]).item()

    def computed_number(self, value: Any, element: ScalarType) -> Any:
        """A number as an operation that computes halves in f32 uses it."""
        if element.is_float:
            return value if type(value) is not bool else int(value)
        return self.number(value, element)

    def scalar(self, value: Any, element: ScalarType) -> Value:
        """A 0-d tensor of one number."""
        return self(FullOp, shape=(), value=self.number(value, element), element=element)

    def ratio(self, number: float, count: Size, element: ScalarType) -> Any:
        """number / count, rounded once to the element type: a number, or a 0-d tensor where the number of elements `count` has symbols."""
        if type(count) is int:
            return self.number(number / count, element)
        return self.to(self(DivOp, self.to(self(FullOp, shape=(), value=count, element=i64), f64), other=number, reversed=True), element)

    def times(self, x: Value, factor: Any) -> Value:
        """The product with a number or a tensor of the same elements."""
        return self(_MUL, x, factor) if isinstance(factor, Value) else self(_MUL, x, other=factor)

    def over_count(self, x: Value, count: Size) -> Value:
        """x / count, where `count` is a number of elements."""
        return self(DivOp, x, other=count) if type(count) is int else self(DivOp, x, self(FullOp, shape=(), value=count, element=i64))

    def size(self, value: Value, dim: int) -> Any:
        """A size of a value, for questions: with symbols it is one that notes what is decided by it."""
        size = type_of(value).shape[dim]
        return size if self.sizes is None else self.sizes.dim(size)

    def at_most(self, size: Any, number: int) -> bool:
        """Whether a size is no more than a number; of one with symbols that is decided by its value at hand, and a guard asks for it."""
        return size <= number if self.sizes is None or type(size) is int else self.sizes.less_equal(size, number)

    # ---- shapes ------------------------------------------------------------------------------------------------------

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The value under another shape."""
        return value if type_of(value).shape == size_of(tuple(shape)) else self(ReshapeOp, value, shape=tuple(shape))

    def permute(self, value: Value, order: Sequence[int]) -> Value:
        """The value with its dims in another order."""
        return value if tuple(order) == tuple(range(len(order))) else self(PermuteOp, value, dims=tuple(order))

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        """The value repeated to a shape."""
        return value if type_of(value).shape == size_of(tuple(shape)) else self(ExpandOp, value, shape=tuple(shape))

    def laid_out(self, value: Value, type: TensorType) -> Value:
        """The value with the strides of `type`, copied if it lies otherwise."""
        if type_of(value).strides == type.strides:
            return value
        return self.fresh(value, type.strides)

    def nothing(self, type: TensorType) -> Value:
        """A tensor without elements."""
        found = FullOp(shape=type.shape, value=self.number(0, type.element), element=type.element, loc=self.loc)
        if type_of(found.result).strides != type.strides:
            restride(found, 0, type.strides)
        return self.block.append(found).result

    def fresh(self, value: Value, strides: tuple[int, ...] | None = None) -> Value:
        """A copy, with given strides."""
        found = CopyOp(value, loc=self.loc)
        if strides is not None and type_of(found.result).strides != strides:
            restride(found, 0, strides)
        return self.block.append(found).result


def _operand(value: Any) -> Any:
    """What promotion sees of an operand."""
    if isinstance(value, RunTimeScalar):
        return value.example
    return meta_of_type(value.type) if isinstance(value, Value) else value


def type_of(value: Value) -> TensorType:
    """The type of a functional value."""
    found = value.type
    assert isinstance(found, TensorType)
    return found


def restride(op: Operation, position: int, strides: tuple[int, ...]) -> None:
    """Overrule the strides of one result."""
    value = op.results[position]
    value.type = type_of(value).with_strides(strides)
    if len(op.results) == 1:
        op.attrs["strides"] = strides
    else:
        op.attrs["strides"] = tuple([type_of(result).strides for result in op.results])


def dim_of(value: Value, dim: int) -> int:
    """A dim counted from the front."""
    return normalize_dim(dim, type_of(value).rank)


def dims_of(value: Value, dims: Any) -> tuple[int, ...]:
    """Dims in order, counted from the front; None and an empty list are all."""
    return normalize_dims(dims, type_of(value).rank)
