"""`torch.autograd.Function.apply` where nothing records gradients: a call of `forward` with a context that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

from lect.frontends.capture.attributes import find_in_type, load_attr
from lect.frontends.capture.calls import call
from lect.frontends.capture.objects import describe
from lect.frontends.capture.torch_calls import traced_tensors
from lect.frontends.capture.tracer import Box, Tracer

_APPLY = torch.autograd.Function.apply.__func__  # type: ignore[attr-defined]


def apply(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`cls.apply(*args)`.  Breaks where gradients are recorded, and for results that are arguments, which torch would make views of."""
    cls = args[0][0]
    own_context = find_in_type(cls, "setup_context") is not find_in_type(torch.autograd.Function, "setup_context")
    if torch.is_grad_enabled() or own_context or kwargs:
        raise t.stop("LB0003", f"{describe(cls)}.apply with gradients, keywords or a context of its own")
    context = t.made(object.__new__(FunctionCtx))
    context[0].needs_input_grad = (False,) * (len(args) - 1)
    returned = call(t, load_attr(t, args[0], "forward"), [context, *args[1:]], {})
    given = {id(tensor) for tensor in traced_tensors([box[0] for box in args[1:]])}
    if any(id(tensor) in given for tensor in traced_tensors(returned[0])):
        raise t.stop("LB0003", f"{describe(cls)}, whose forward returns an argument")
    return returned


AUTOGRAD: Mapping[FunctionType, Any] = MappingProxyType({_APPLY: apply})
