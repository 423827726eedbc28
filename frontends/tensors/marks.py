"""Marks on tensors: which of their sizes change from call to call, and which never do.

They are plain attributes of the tensor and decide nothing about values: they say which versions are compiled.  Those that `torch._dynamo.mark_dynamic` and
`mark_static` leave are read too, so that a program can be compiled by either.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

MARKS = "_lect_sizes"
MAY_BE_MARKED = (MARKS, "_dynamo_dynamic_indices", "_dynamo_static_indices", "_dynamo_weak_dynamic_indices")
Range = tuple["int | None", "int | None"]


class Marks:
    """`dynamic` has for each such dim the least and the greatest size, None where there is no bound; `static` the other dims, and None for all.

    `places` says for a dynamic dim where the program marked it, as `file:line`, when that is known.
    """

    __slots__ = ("dynamic", "places", "static")

    def __init__(self) -> None:
        self.dynamic: dict[int, Range] = {}
        self.static: set[int | None] = set()
        self.places: dict[int, str] = {}

    def text(self, dim: int) -> str:
        """The mark of a dynamic dim as the program wrote it, and where."""
        low, high = self.dynamic[dim]
        bounds = ", ".join([f"{name}={bound}" for name, bound in (("min", low), ("max", high)) if bound is not None])
        place = f" at {self.places[dim]}" if dim in self.places else ""
        return f"mark_dynamic({bounds}){place}"

    def is_static(self, dim: int) -> bool:
        """True when the size of a dim never is a symbol."""
        return dim in self.static or (None in self.static and dim not in self.dynamic)


def marks_of(tensor: torch.Tensor) -> Marks:
    """All marks of a tensor."""
    names = tensor.__dict__
    found = Marks()
    for dim in names.get("_dynamo_dynamic_indices", ()):
        found.dynamic[dim] = (None, None)
    for entry in names.get("_dynamo_dynamic_range", ()):
        found.dynamic[entry.dim] = (entry.min, entry.max)
    for dim in names.get("_dynamo_weak_dynamic_indices", ()):
        found.dynamic.setdefault(dim, (None, None))
    found.static.update(names.get("_dynamo_static_indices", ()))
    own = names.get(MARKS)
    if own is not None:
        for dim in own.dynamic:
            found.static.discard(dim)
        for dim in own.static:
            found.dynamic.pop(dim, None)
        found.dynamic.update(own.dynamic)
        found.places.update(own.places)
        found.static.update(own.static)
    return found


def _own(tensor: Any) -> Marks:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"marks are for tensors, got {type(tensor).__name__}")
    found = tensor.__dict__.get(MARKS)
    if found is None:
        found = Marks()
        setattr(tensor, MARKS, found)
    return found  # type: ignore[no-any-return]


def _dims(tensor: torch.Tensor, dims: int | tuple[int, ...] | list[int]) -> list[int]:
    found = []
    for dim in (dims,) if isinstance(dims, int) else dims:
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"dim {dim} is out of range for a tensor with {tensor.dim()} dims")
        found.append(dim % tensor.dim())
    return found


def mark_dynamic(tensor: torch.Tensor, dim: int | tuple[int, ...] | list[int], *, min: int | None = None, max: int | None = None) -> None:
    """Compile for any size of these dims from the first call on.

    `min` and `max` bound the sizes, both included; a call with another one has a version of its own.  Raises `TypeError` for what is no tensor,
    `IndexError` for a dim that it has not, `ValueError` for bounds that no size is in.
    """
    if min is not None and max is not None and min > max:
        raise ValueError(f"no size is in {min}..{max}")
    marks, frame = _own(tensor), sys._getframe(1)
    for each in _dims(tensor, dim):
        if (min is not None and tensor.shape[each] < min) or (max is not None and tensor.shape[each] > max):
            raise ValueError(f"the size {tensor.shape[each]} of dim {each} is not in {'' if min is None else min}..{'' if max is None else max}")
        marks.dynamic[each] = (min, max)
        marks.places[each] = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        marks.static.discard(each)


def mark_static(tensor: torch.Tensor, dim: int | tuple[int, ...] | list[int] | None = None) -> None:
    """Compile for the very sizes of these dims, all when there is none given, also when they change.

    Raises `TypeError` for what is no tensor, `IndexError` for a dim that it has not.
    """
    marks = _own(tensor)
    if dim is None:
        marks.dynamic.clear()
        marks.static = {None}
        return
    for each in _dims(tensor, dim):
        marks.dynamic.pop(each, None)
        marks.static.add(each)
