"""What operators and properties of tensors run: methods of `torch.Tensor`, which a program may replace as those of any class.

A graph that holds an operator stands for torch's own method.  With another one the graph breaks, and that it is torch's own is guarded, once for each
name.  `OWN` is what the class had when lect was loaded.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT

_MIRRORED = MappingProxyType({"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"})


def _own() -> Mapping[str, Any]:
    """The attributes of the class that are the same object each time they are read."""
    found = {name: getattr(torch.Tensor, name, None) for name in dir(torch.Tensor)}
    return MappingProxyType({name: value for name, value in found.items() if value is not None and getattr(torch.Tensor, name, None) is value})


OWN: Mapping[str, Any] = _own()


def _methods() -> dict[Any, tuple[str | None, str | None]]:
    """For each function of `operator` the methods that it runs: of a tensor on the left, and of one on the right of something else."""

    def known(*names: str) -> str | None:
        return next((f"__{name}__" for name in names if f"__{name}__" in OWN), None)

    found: dict[Any, tuple[str | None, str | None]] = {}
    for text, function in vars(operator).items():
        name = text.strip("_")
        plain = name[1:] if name.startswith("i") and hasattr(operator, f"__{name[1:]}__") else name
        left = known(name, plain)
        if left is not None and callable(function):
            found[function] = (left, known(_MIRRORED.get(plain, f"r{plain}")))
    return found


_METHODS: Mapping[Any, tuple[str | None, str | None]] = MappingProxyType(_methods())


def guard_operator(t: Tracer, function: Any, args: list[Box]) -> Any:
    """Guard that an operator on tensors runs torch's own method: the method, where that was not guarded before."""
    found = _METHODS.get(function)
    if found is not None and args:
        name = found[0] if type(args[0][0]) is LT else found[1]
        if name is not None and name not in t.guards.of_tensors:
            guard_tensor_method(t, name)
            return OWN[name]
    return None


def guard_tensor_method(t: Tracer, name: str) -> None:
    """Guard that a name of the class of tensors stands for what torch gave it.  Breaks when it does not."""
    if name not in t.guards.of_tensors and name in OWN:
        if getattr(torch.Tensor, name, None) is not OWN[name]:
            raise t.stop("LB0003", f"torch.Tensor.{name}, which is not torch's own")
        t.guards.of_tensors[name] = t.loc
