"""Reading the objects that the guards of a trace are about, when its predicate is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import torch

from lect.ir import literal_key
from lect.runtime import guard_checks as checks


class Reader:
    """The objects of the traced call, by their paths."""

    def __init__(self, function: FunctionType, bound: Mapping[str, Any], objects: Sequence[Any]) -> None:
        self.function = function
        self.bound = bound
        self.objects = objects
        self._found: dict[Any, Any] = {}

    def read(self, root: str, key: Any, steps: tuple[Any, ...], known: Any = None) -> Any:
        """The object at a path; None when it cannot be read.  `known` is the key of the steps, where that was made before."""
        known = literal_key(steps) if known is None else known
        place = (root, key, known)
        if place not in self._found:
            try:
                if steps:
                    kind, name = steps[-1]
                    self._found[place] = checks.read_step(self.read(root, key, steps[:-1], known[:-1]), kind, name, self.objects)
                else:
                    self._found[place] = checks.read_root(root, key, self.function, self.bound, self.objects)
            except Exception:
                self._found[place] = None
        return self._found[place]

    def plain_dict(self, root: str, key: Any, steps: tuple[Any, ...], known: Any) -> bool:
        """True when `x.__dict__` reads the instance dictionary itself."""
        cls = type(self.read(root, key, steps, known))
        getter = cls.__getattribute__
        return getter is object.__getattribute__ or getter is type(torch.nn).__getattribute__

    def module_part(self, name: str, root: str, key: Any, steps: tuple[Any, ...], known: Any) -> str | None:
        """The table (parameters, buffers or children) in which `module.name` is found, when that is how the read goes."""
        value = self.read(root, key, steps, known)
        cls = type(value)
        if not issubclass(cls, torch.nn.Module) or cls.__getattr__ is not torch.nn.Module.__getattr__ or cls.__getattribute__ is not object.__getattribute__:
            return None
        if name in value.__dict__ or any(name in base.__dict__ for base in cls.__mro__):
            return None
        return next((part for part in checks.MODULE_PARTS if name in (value.__dict__.get(part) or ())), None)
