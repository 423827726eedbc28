"""Which values of a functional graph are known before it runs, and what they are.

A value is kept without its repetitions: a dim along which all slices are equal has size 1.  So a mask that broadcasts rows and columns stays two rows
of numbers until they meet, and a filled tensor is one number whatever its size.  What is known is exactly what eager computes on the CPU: each operation is
evaluated by the reference interpreter.  Nothing is known of random numbers, of undefined elements, of opaque calls and of sums of floats, whose order is
free.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import torch

from lect.backends.reference.functional import evaluate
from lect.dialects.functional.families import Elementwise
from lect.dialects.functional.python_values import DTYPE_NAMES, dtype_of
from lect.dialects.functional.types import TensorType
from lect.ir import Operation, Value

SOURCES: Final = frozenset({"functional.full", "functional.iota"})
WHOLE: Final = frozenset(
    f"functional.{name}" for name in "reshape permute expand slice diagonal reverse cat pad index gather any all amax amin argmax argmin".split()
)
WHOLE_OF_INTEGERS: Final = frozenset(f"functional.{name}" for name in "sum prod cumsum cumprod".split())
BITS: Final[dict[int, torch.dtype]] = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Constants:
    """What is known of values; no tensor of more than `budget` elements is made."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.known: dict[Value, torch.Tensor] = {}

    def learn(self, op: Operation) -> bool:
        """Evaluate an operation whose operands are known; True when its results are known now.  What would raise is left to the run."""
        if op.name not in SOURCES and (not op.operands or not all(value in self.known for value in op.operands)):
            return False
        if not all(_usable(value.type) for value in (*op.operands, *op.results)):
            return False
        try:
            found = self._evaluate(op)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, ZeroDivisionError):
            return False
        if found is None:
            return False
        for value, tensor in zip(op.results, found):
            self.known[value] = _compressed(tensor)
        return True

    def _evaluate(self, op: Any) -> list[torch.Tensor] | None:
        view = _VIEWS.get(op.name)
        if op.name in SOURCES:
            return [self._source(op)] if self._is_known(op) else None
        if view is not None:
            shown = view(op, self.known[op.x])
            if shown is not None:
                return [shown]
        if Elementwise in op.traits and len(op.results) == 1:
            tensors = [self.known[value] for value in op.operands]
            shape = torch.broadcast_shapes(*[tensor.shape for tensor in tensors])
            return _checked(op, evaluate(op, tensors)) if _count(shape) <= self.budget else None
        whole = op.name in WHOLE or (op.name in WHOLE_OF_INTEGERS and not any(value.type.element.is_float for value in op.operands))
        if not whole or any(type(value.type.count) is not int or value.type.count > self.budget for value in (*op.operands, *op.results)):
            return None
        return _checked(op, evaluate(op, [self.known[value].expand(value.type.shape) for value in op.operands]))

    def _is_known(self, op: Any) -> bool:
        """True for a source without a size that is known only at run time, and of few elements where they differ."""
        if op.name == "functional.full":
            return type(op.value) in (int, float, bool)
        return type(op.size) is int and op.size <= self.budget

    def _source(self, op: Any) -> torch.Tensor:
        if op.name == "functional.full":
            return torch.full((1,) * len(op.shape), op.value, dtype=dtype_of(op.element))
        (found,) = evaluate(op, [])
        return found

    # ---- what is asked of a value ------------------------------------------------------------------------------------

    def number(self, value: Value) -> Any:
        """The one number that all elements are, or None.  A NaN counts only if it is the one that a fill makes."""
        found = self.known.get(value)
        if found is None or found.numel() != 1:
            return None
        number = found.item()
        if number != number:  # text has one NaN
            number = math.nan
        return number if torch.equal(_bits(torch.full_like(found, number)), _bits(found)) else None

    def line(self, value: Value) -> tuple[int, int, int] | None:
        """(dim, start, step) when the elements are integers that change along one dim alone, by the same step; None when they are not."""
        found = self.known.get(value)
        if found is None or found.dtype not in (torch.int64, torch.int32):
            return None
        dims = [dim for dim, size in enumerate(found.shape) if size > 1]
        if len(dims) != 1:
            return None
        numbers = found.reshape(-1).tolist()
        step = numbers[1] - numbers[0]
        steady = all(after - before == step for before, after in zip(numbers, numbers[1:]))
        return (dims[0], numbers[0], step) if steady else None

    def is_lower_triangle(self, value: Value, shown: float | bool) -> bool:
        """True when the last two dims are `shown` on and below the diagonal and hide above it, the same for all other dims.

        The other truth value hides, and so do -inf and the least number of the type."""
        found = self.known.get(value)
        if found is None or found.dim() < 2 or _count(found.shape[:-2]) != 1 or found.shape[-2] != found.shape[-1]:
            return False
        square = found.reshape(found.shape[-2:])
        seen = torch.ones(square.shape, dtype=torch.bool).tril()
        if square.dtype is torch.bool:
            return torch.equal(square == shown, seen)
        hidden = square[~seen]
        return bool((square[seen] == shown).all()) and bool((hidden <= torch.finfo(square.dtype).min).all())


def learned(ops: Iterable[Operation], budget: int) -> Constants:
    """What is known of the results of operations, which are given in their order."""
    constants = Constants(budget)
    for op in ops:
        constants.learn(op)
    return constants


def _usable(type: Any) -> bool:
    plain = isinstance(type, TensorType) and type.device == "cpu" and type.element.kind != "complex"
    return plain and type.element.spelling in DTYPE_NAMES and not type.is_empty


def _count(shape: Iterable[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _checked(op: Any, found: list[torch.Tensor]) -> list[torch.Tensor] | None:
    good = all(_fits(tensor, value.type) for tensor, value in zip(found, op.results))
    return found if good and len(found) == len(op.results) else None


def _fits(tensor: torch.Tensor, type: TensorType) -> bool:
    same = tensor.dtype is dtype_of(type.element) and tensor.dim() == type.rank
    return same and all(own in (1, size) for own, size in zip(tensor.shape, type.shape))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(BITS[tensor.element_size()])


def _compressed(tensor: torch.Tensor) -> torch.Tensor:
    for dim, size in enumerate(tensor.shape):
        if size > 1:
            first = tensor.narrow(dim, 0, 1)
            if torch.equal(_bits(first.expand_as(tensor)), _bits(tensor)):
                tensor = first
    return tensor.contiguous()


def _reshaped(op: Any, x: torch.Tensor) -> torch.Tensor | None:
    """Sizes of 1 put in or taken out; None when other sizes change."""
    wide, narrow = op.x.type.shape, op.output.type.shape
    if [size for size in wide if size != 1] != [size for size in narrow if size != 1]:
        return x.reshape((1,) * len(narrow)) if x.numel() == 1 else None
    kept = iter([own for own, size in zip(x.shape, wide) if size != 1])
    return x.reshape([1 if size == 1 else next(kept) for size in narrow])


def _sliced(op: Any, x: torch.Tensor) -> torch.Tensor | None:
    return x if x.shape[op.dim] == 1 else None


_VIEWS: Final[dict[str, Any]] = {
    "functional.reshape": _reshaped,
    "functional.permute": lambda op, x: x.permute(op.dims),
    "functional.expand": lambda op, x: x.reshape((1,) * (op.output.type.rank - x.dim()) + tuple(x.shape)),
    "functional.slice": _sliced,
    "functional.copy": lambda op, x: x,
}
