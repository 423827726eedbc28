"""Which sizes of the tensors of one compiled frame are symbols, kept from one compile to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from lect.dialects.guard.types import PathAttr
from lect.frontends.tensors.marks import MAY_BE_MARKED, marks_of
from lect.ir import Location

LEAST = 2  # sizes 0 and 1 are never symbols
MOST = 1 << 40  # of an integer of the program: what is larger stands for "to the end", if it is a bound at all


class Constant(NamedTuple):
    """Why a size is no symbol: what needs its value, the line of that, and the value in that call, where it is known."""

    reason: str
    loc: Location
    value: int | None = None


def place_of(loc: Location) -> tuple[object, ...]:
    """What tells one call of a program from the others."""
    return loc.file, loc.line, loc.column


class LearnedSizes(NamedTuple):
    """What a `SizePolicy` has learned of calls."""

    dynamic: frozenset[PathAttr]
    by_value: Mapping[PathAttr, Constant]
    at_values: Mapping[tuple[PathAttr, int], Constant]
    same: Mapping[PathAttr, PathAttr]
    factors: Mapping[PathAttr, int]
    numbers: frozenset[PathAttr]
    off: str
    needed: Mapping[tuple[object, ...], Constant]
    never_found: str


class SizePolicy:
    """Sizes are known by paths such as `L["x"]:size(1)`.

    `dynamic` are those that have changed between calls; with `arguments` all sizes of the tensors among the arguments are symbols from the start.
    `by_value` are those whose value turned out to be needed, `at_values` those that are integers in calls where they have this value, because something
    holds for it alone (a reason without text: a size of 0 or 1 comes of it); `same` maps a size to one with which it shares a symbol, `factors` to how many
    times it is the symbol, if not once.  `numbers` are the integers of the program that are sizes, bounds or positions of torch.  `off` says why there are
    no symbols at all any more.  `needed` are the calls, by their places, that find a size by the elements of a tensor and in front of which the frame is cut,
    as something has to know the size; `never_found` says why all such calls are.  `marked` are sizes that the program marked dynamic, with the text of the
    mark.  `in_use` says that the compile at hand has some symbols, `finds` that calls find some; `reported` are the sizes whose reason the user was told.
    """

    def __init__(self, arguments: bool = False) -> None:
        self.arguments = arguments
        self.never = False
        self.dynamic: set[PathAttr] = set()
        self.by_value: dict[PathAttr, Constant] = {}
        self.at_values: dict[tuple[PathAttr, int], Constant] = {}
        self.same: dict[PathAttr, PathAttr] = {}
        self.factors: dict[PathAttr, int] = {}
        self.numbers: set[PathAttr] = set()
        self.off = ""
        self.needed: dict[tuple[object, ...], Constant] = {}
        self.never_found = ""
        self.marked: dict[PathAttr, str] = {}
        self.in_use = self.finds = False
        self.reported: set[PathAttr] = set()

    def learned(self) -> LearnedSizes:
        """What calls have taught so far, to go back to."""
        tables = dict(self.by_value), dict(self.at_values), dict(self.same), dict(self.factors)
        whole = *tables, frozenset(self.numbers), self.off, dict(self.needed), self.never_found
        return LearnedSizes(frozenset(self.dynamic), *whole)

    def go_back_to(self, learned: LearnedSizes) -> None:
        """Forget what was learned since."""
        self.dynamic, self.by_value, self.at_values = set(learned.dynamic), dict(learned.by_value), dict(learned.at_values)
        self.same, self.factors, self.numbers, self.off = dict(learned.same), dict(learned.factors), set(learned.numbers), learned.off
        self.needed, self.never_found = dict(learned.needed), learned.never_found

    def may_have_symbols(self, tensor: torch.Tensor) -> bool:
        """False when surely no size of a tensor is a symbol."""
        return not self.off and not self.never and (self.arguments or bool(self.dynamic) or any(name in tensor.__dict__ for name in MAY_BE_MARKED))

    def is_symbol(self, tensor: torch.Tensor, path: PathAttr, dim: int, given: bool) -> bool:
        """True when this size is a symbol; `given` says that the tensor is among the arguments."""
        if path in self.by_value or tensor.shape[dim] < LEAST or (path, tensor.shape[dim]) in self.at_values:
            return False
        marks = marks_of(tensor)
        if marks.is_static(dim):
            return False
        if path in self.dynamic or dim in marks.dynamic:
            return True
        return self.arguments and given and type(tensor) is torch.Tensor

    def number_is_symbol(self, path: PathAttr, value: int) -> bool:
        """True when this integer of the program is a symbol, or the negative of one."""
        if self.off or self.never or path in self.by_value or (path, value) in self.at_values:
            return False
        return path in self.numbers and LEAST <= abs(value) <= MOST

    def bounds(self, tensor: torch.Tensor, dim: int) -> tuple[int, int | None]:
        """What a mark says of the values of a size."""
        low, high = marks_of(tensor).dynamic.get(dim, (None, None))
        return max(LEAST, low or LEAST), high

    def multiply(self, path: PathAttr, factor: int) -> None:
        """The symbol of a size is a multiple of a number: all sizes that share it are so many times another symbol."""
        root = self.root_of(path)
        for each in {root, *self.same, *self.factors}:
            if self.root_of(each) == root:
                self.factors[each] = self.factors.get(each, 1) * factor

    def root_of(self, path: PathAttr) -> PathAttr:
        """The size that stands for all that share a symbol with this one."""
        while path in self.same:
            path = self.same[path]
        return path
