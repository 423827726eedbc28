"""What functional operations share: the base class, the trait of elementwise ones, and families of operations with one signature."""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

from lect.dialects.functional.shapes import Dims, ShapeError, broadcast, normalize_dim, pointwise_strides
from lect.dialects.functional.types import TensorType
from lect.ir import Operation, Pure, ScalarType, Trait, Type, Value, VerifyError, op, require
from lect.ir.symbolic import Expr

Number = (int, float, bool)
SizeOrInt = (int, Expr)
Types = TensorType | tuple[TensorType, ...]


class Elementwise(Trait):
    """Each element of the result depends on one element of each operand, at the same place after broadcasting."""


class FunctionalOp(Operation):
    """Base of functional operations.

    `type_rule` gives the types of the results as eager has them.  An attribute `strides` (a list, or one list for each of several results)
    overrules the strides of that rule, where a library kernel of eager chose others.
    """

    __slots__ = ()
    traits: ClassVar[tuple[Any, ...]] = (Pure,)

    def type_rule(self) -> Types:
        """Types of the results, from operands and attributes.  Raises `ShapeError` or `VerifyError`."""
        raise NotImplementedError

    def infer(self) -> tuple[Type, ...]:
        for name, value in self.attrs.items():
            if type(value) is tuple and name not in NO_PLAIN_LISTS:
                require(all_integers(value), self, "'{}' of '{}' must be a list of integers, got {}", name, self.name, list(value))
        try:
            found = self.type_rule()
        except ShapeError as error:
            raise VerifyError(f"'{self.name}' cannot be: {error}", op=self) from None
        types = found if isinstance(found, tuple) else (found,)
        strides = self.attrs.get("strides")
        return types if strides is None else self._restrided(types, strides)

    def _restrided(self, types: tuple[TensorType, ...], strides: Any) -> tuple[Type, ...]:
        nested = isinstance(strides, tuple) and bool(strides) and isinstance(strides[0], tuple)
        lists = strides if nested else (strides,) * len(types)
        require(len(lists) == len(types), self, "strides of '{}' must be one list for each result", self.name)
        for type, listed in zip(types, lists):
            good = isinstance(listed, tuple) and all_integers(listed)
            require(good, self, "strides of '{}' must be a list of integers, or one for each result", self.name)
            require(len(listed) == type.rank, self, "strides of '{}' must have {} entries, got {}", self.name, type.rank, len(listed))
        return tuple([type.with_strides(listed) for type, listed in zip(types, lists)])


NO_PLAIN_LISTS = frozenset({"strides", "pads", "scales", "operand_segments", "keep"})


def all_integers(values: tuple[Any, ...]) -> bool:
    """True when these are integers, or sizes written with symbols."""
    return all(type(value) is int or type(value) is Expr for value in values)


def are_sizes(values: tuple[Any, ...]) -> bool:
    """True when these are integers that are not negative, or sizes written with symbols."""
    return all(type(value) is Expr or (type(value) is int and value >= 0) for value in values)


def members(template: type[FunctionalOp], docs: Mapping[str, str]) -> Mapping[str, type[Operation]]:
    """Operation classes with the fields, rules and traits of `template`, one for each name, keyed by class name (`MaskedFillOp`)."""
    return MappingProxyType({class_name(name): member(template, name, doc) for name, doc in docs.items()})


def member(template: type[FunctionalOp], name: str, doc: str) -> type[Operation]:
    """One operation of a family."""
    annotations = inspect.get_annotations(template, eval_str=True)
    body: dict[str, Any] = {field: template.__dict__[field] for field in annotations if field in template.__dict__}
    body |= {"__doc__": doc, "__module__": template.__module__, "__annotations__": annotations, "__slots__": ()}
    return op(f"functional.{name}")(type(class_name(name), (template,), body))


def class_name(name: str) -> str:
    """`masked_fill` => `MaskedFillOp`."""
    return "".join([part.capitalize() for part in name.split("_")]) + "Op"


# ---- rules that several families use ---------------------------------------------------------------------------------


def tensor_types(values: Any) -> list[TensorType]:
    """The types of those values that are not None."""
    return [value.type for value in values if value is not None]


def pointwise_type(op: Operation, operands: list[TensorType], element: ScalarType, number: bool = False) -> TensorType:
    """The result of an elementwise operation: broadcast shape, eager's strides.  Raises `ShapeError`, `VerifyError`.

    `number` says that eager has a 0-d tensor beside the operands, which matters for the strides of dims of size 1.
    """
    return _broadcast_type(tuple(operands), element, common_device(op, operands), number)


@lru_cache(maxsize=4096)
def _broadcast_type(operands: tuple[TensorType, ...], element: ScalarType, device: str, number: bool) -> TensorType:
    shape = operands[0].shape if len(operands) == 1 else broadcast([operand.shape for operand in operands])
    layouts = [operand.layout for operand in operands]
    return TensorType(shape, element, pointwise_strides([*layouts, ((), ())] if number else layouts, shape), device)


def common_device(op: Operation, operands: list[TensorType]) -> str:
    """The one device of the operands; a 0-d operand on the cpu may join any."""
    device = operands[0].device
    if all(operand.device == device for operand in operands):
        return device
    found = {operand.device for operand in operands if operand.rank or operand.device != "cpu"} or {"cpu"}
    require(len(found) == 1, op, "operands of '{}' must be on one device, got {}", op.name, ", ".join(sorted(found)))
    return found.pop()


def common_element(op: Operation, operands: list[TensorType]) -> ScalarType:
    """The one element type of the operands.  Raises `VerifyError`."""
    element = operands[0].element
    for operand in operands:
        require(operand.element is element, op, "operands of '{}' must have one element type, got {} and {}", op.name, element, operand.element)
    return element


def require_kind(op: Operation, type: TensorType, kinds: frozenset[str]) -> None:
    """Raise `VerifyError` unless the element type is of one of these kinds."""
    require(type.element.kind in kinds, op, "'{}' takes {}, got {}", op.name, kinds_text(kinds), type.element)


def kinds_text(kinds: frozenset[str]) -> str:
    """Element kinds in words."""
    words = [word for kind, word in (("float", "floats"), ("signed", "integers"), ("bool", "i1"), ("complex", "complex numbers")) if kind in kinds]
    return " or ".join(words)


def require_number(op: Operation, element: ScalarType, value: Any, name: str) -> None:
    """Raise `VerifyError` unless a Python number leaves an element type as it is."""
    kind = type(value)
    fits = kind is bool or (kind is int and element.kind != "bool") or (kind is float and element.is_float)
    require(fits, op, "'{}' of '{}' must be a number that {} can hold, got {}", name, op.name, element, value)


def require_rank(op: Operation, value: Value, rank: int, name: str) -> None:
    """Raise `VerifyError` unless a tensor has this many dims."""
    found = value.type.rank  # type: ignore[attr-defined]
    require(found == rank, op, "'{}' of '{}' must have {} dims, got {}", name, op.name, rank, found)


def dims_of(op: Operation, dims: Any, rank: int, name: str = "dims") -> Dims:
    """Dims from an attribute: in order, counted from the front, each once.  Raises `VerifyError`."""
    listed = (dims,) if type(dims) is int else dims
    require(isinstance(listed, tuple), op, "'{}' of '{}' must be an integer or a list of them, got {}", name, op.name, dims)
    limit = max(rank, 1)
    good = all(type(dim) is int and 0 <= dim < limit for dim in listed) and len(set(listed)) == len(listed)
    require(good, op, "'{}' of '{}' must name different dims of 0..{}, got {}", name, op.name, limit - 1, list(listed))
    return tuple([normalize_dim(dim, rank) for dim in listed])


FLOAT = frozenset({"float"})
INTEGER = frozenset({"signed", "unsigned"})
REAL = FLOAT | INTEGER
BITS = INTEGER | {"bool"}
ANY = REAL | {"bool"}
EVERY = ANY | {"complex"}
