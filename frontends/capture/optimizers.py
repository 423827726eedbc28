"""What `torch.optim` does around its arithmetic: profiler ranges, switching gradients off, and choosing between implementations.

Optimizers ask whether they are compiled in order to compute in other types than they do else.  They are told that they are not, so that every step
size is the number that it is without a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, MappingProxyType
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.optim import optimizer as torch_optimizer

from lect.frontends.capture.attributes import load_attr
from lect.frontends.capture.calls import call
from lect.frontends.capture.effects import store_attr
from lect.frontends.capture.modes import set_grad_enabled
from lect.frontends.capture.operators import load_item, truth
from lect.frontends.capture.regions import box_of_tree
from lect.frontends.capture.torch_calls import lower_box
from lect.frontends.capture.tracer import NONE, Box, Tracer

Kwargs = dict[str, Box]
_SKIPPED = frozenset({"_accelerator_graph_capture_health_check"})  # asks the driver whether a graph of the device is being recorded


def _enter_range(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    store_attr(t, args[0], "run_callbacks_on_exit", (False, None))  # so that leaving it outside of the trace does nothing either
    return args[0]


def _leave_range(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return NONE


def in_arithmetic(t: Tracer) -> bool:
    """True while an optimizer runs, which would compute in other types if it were told that it is compiled."""
    function = t.frame.function[0] if t.frame is not None else None
    return function is not None and (function.__module__ or "").startswith("torch.optim") and function.__name__ not in _SKIPPED


def _group_tensors(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """Groups by device and dtype, which are metadata: torch's own function sorts the traced tensors."""
    found = torch._C._group_tensors_by_device_and_dtype(*[lower_box(t, box) for box in args], **{name: t.leak(box) for name, box in kwargs.items()})
    return box_of_tree(t, found)


def _variable(t: Tracer, callee: Box, name: str) -> Box:
    """A variable of the enclosing function, which a function made by torch uses."""
    function = callee[0]
    place = t.static_source(function) if callee[1] is None else callee[1]
    number = function.__code__.co_freevars.index(name)
    return t.wrap(function.__closure__[number].cell_contents, place.attr("__closure__").item(number).attr("cell_contents"))


def _not_for_dynamo(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch._disable_dynamo(fn)` keeps another compiler out; here it is the function."""
    return call(t, _variable(t, callee, "fn"), args, kwargs)


def _step(t: Tracer, callee: Box, args: list[Box], kwargs: Kwargs) -> Box:
    """`_use_grad_for_differentiable(func)`: the step with gradients off, unless the optimizer is differentiable."""
    inner = _variable(t, callee, "func")
    before = torch.is_grad_enabled()
    differentiable = truth(t, load_item(t, load_attr(t, args[0], "defaults"), ("differentiable", None)))
    set_grad_enabled(t, [(differentiable, None)], {})
    try:
        return call(t, inner, args, kwargs)
    finally:
        set_grad_enabled(t, [(before, None)], {})


OPTIMIZERS: Mapping[Any, Any] = MappingProxyType(
    {
        record_function.__enter__: _enter_range,
        record_function.__exit__: _leave_range,
        torch._C._group_tensors_by_device_and_dtype: _group_tensors,
    }
)


def _inner_code(function: Any, name: str) -> CodeType:
    return next(constant for constant in function.__code__.co_consts if issubclass(type(constant), CodeType) and constant.co_name == name)


# Rules for functions that other functions make: `rule(t, callee, args, kwargs)`, by code object.
MADE_BY_TORCH: Mapping[CodeType, Callable[[Tracer, Box, list[Box], Kwargs], Box]] = MappingProxyType(
    {_inner_code(torch_optimizer._use_grad_for_differentiable, "_use_grad"): _step, _inner_code(torch._disable_dynamo, "inner"): _not_for_dynamo}
)
