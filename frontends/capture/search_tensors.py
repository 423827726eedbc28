"""Whether objects have to do with tensors: a bounded look into containers, attributes and closures that runs no code of theirs."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import islice
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

SEARCHED = 16  # elements of a container, attributes of an object


def mentions_tensors(values: Iterable[Any], depth: int = 3, most: int | None = SEARCHED) -> bool:
    """True when there is a tensor or a module among `values`, or `depth` steps into them; of each object `most` parts are looked at, all when None."""
    for value in values:
        if issubclass(type(value), torch.Tensor | torch.nn.Module):
            return True
        if depth and mentions_tensors(islice(_parts(value), most), depth - 1, most):
            return True
    return False


def _parts(value: Any) -> Iterable[Any]:
    """What an object holds."""
    kind = type(value)
    if kind is FunctionType:
        return [content for cell in value.__closure__ or () for content in _content(cell)]
    if kind is MethodType:
        return (value.__self__, value.__func__)
    if kind is functools.partial:
        return (value.func, *value.args, *value.keywords.values())
    if issubclass(kind, tuple):
        return tuple.__iter__(value)
    if issubclass(kind, list):
        return list.__iter__(value)
    if issubclass(kind, dict):
        return iter(dict.values(value))
    if kind.__module__ == "builtins" or kind.__dictoffset__ == 0 or issubclass(kind, type | ModuleType):
        return ()
    try:
        members = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return ()
    return iter(members.values()) if type(members) is dict else ()


def _content(cell: CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:
        return []
