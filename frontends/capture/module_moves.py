"""`Module.to` that changes nothing: each parameter and buffer is where it is asked to be.  Moves and conversions for real break the graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.attributes import MODULE_PARTS, find_in_type, load_attr
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.iteration import mapping_items
from lect.frontends.capture.objects import describe
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT

_OWN = ("_apply", "named_children", "children", "__getattr__")  # what `to` is made of


def _module_to(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    wanted = [t.leak(box) for box in args[1:]], {name: t.leak(box) for name, box in kwargs.items()}
    if any(type(value) is LT for value in (*wanted[0], *wanted[1].values())):
        raise t.stop("LB0004", "Module.to like a tensor")
    device, dtype, _, layout = run_real(torch._C._nn._parse_to, *wanted[0], **wanted[1])
    if layout is not None or (dtype is not None and not (dtype.is_floating_point or dtype.is_complex)):
        raise t.stop("LB0004", "Module.to that changes the layout or wants integers")
    _check_there(t, args[0], device, dtype)
    return args[0]


def _check_there(t: Tracer, module: Box, device: torch.device | None, dtype: torch.dtype | None) -> None:
    """Break unless all tensors of the module and of those in it have this device, and the floating ones this dtype."""
    kind = t.guard_type(module)
    if any(find_in_type(kind, name) is not vars(torch.nn.Module)[name] for name in _OWN):
        raise t.stop("LB0004", f"Module.to of a {describe(kind)}, which moves in its own way")
    parameters, buffers, children = [mapping_items(t, load_attr(t, module, name)) for name in MODULE_PARTS]
    for tensor, _ in (*parameters.values(), *buffers.values()):
        if tensor is None:
            continue
        converts = dtype is not None and (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype != dtype
        if converts or (device is not None and tensor.device != device):
            raise t.stop("LB0004", f"Module.to changes a tensor of a {describe(kind)}")
    for child in children.values():
        if child[0] is not None:
            _check_there(t, child, device, dtype)


MODULE_MOVES: Mapping[Any, Any] = MappingProxyType({torch.nn.Module.to: _module_to})
