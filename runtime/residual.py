"""Residual frames as functions: `pyframe` assembled again, bound to the graph and the live objects it names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch

from lect.backends.bytecode import assemble
from lect.dialects.fx.modes import autocast_off
from lect.frontends.capture.suspended import GeneratorCode
from lect.ir import Operation


def link_residual(
    residual: Operation, function: FunctionType, graph: Callable[..., list[Any]] | None, objects: Sequence[Any], grad: bool, others: Mapping[str, Any]
) -> FunctionType:
    """A function with the signature and globals of `function` that runs the residual code; with `grad`, the graph runs with autograd off.

    `graph` is None when there is none, `others` are further resources of the code.
    """
    name = residual.attrs["sym_name"]
    resources: dict[str, Any] = {"function": function, **others}
    if graph is not None:
        resources[f"{name}.graph"] = without_autograd(graph) if grad else graph
    resources.update(live_resources(residual, objects))
    code = assemble(residual, resources=resources)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def live_resources(func: Operation, objects: Sequence[Any]) -> dict[str, Any]:
    """The live objects and modules that a function names."""
    found: dict[str, Any] = {}
    for op in func.walk():
        if op.name == "pyframe.load_resource":
            resource = op.attrs["id"]
            kind, _, rest = resource.partition(".")
            if kind == "object":
                live = objects[int(rest)]
                found[resource] = assemble(live.func, resources=live_resources(live.func, objects)) if type(live) is GeneratorCode else live
            elif kind == "module":
                found[resource] = sys.modules[rest]
    return found


def shared_outputs(host: Operation) -> tuple[int, ...]:
    """Numbers of the outputs that are an input, or an earlier output, under another name: eager gives a tensor object of its own for each."""
    returned = host.body.last
    seen = set(host.body.args)
    numbers = []
    for number, value in enumerate(returned.operands if returned is not None else ()):
        if value in seen:
            numbers.append(number)
        seen.add(value)
    return tuple(numbers)


def with_own_outputs(graph: Callable[..., list[Any]], shared: tuple[int, ...]) -> Callable[..., list[Any]]:
    """`graph` with an alias of the same memory in the place of each shared output."""
    if not shared:
        return graph

    def run(*tensors: Any) -> list[Any]:
        outputs = graph(*tensors)
        for number in shared:
            outputs[number] = outputs[number].detach()
        return outputs

    return run


def without_autocast(graph: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """`graph` run with autocast off: the casts are calls of the graph itself, and what it calls must not make others."""

    def run(*tensors: Any) -> list[Any]:
        with autocast_off():
            return graph(*tensors)

    return run


def with_numbers(graph: Callable[..., list[Any]], dtypes: Mapping[int, torch.dtype]) -> Callable[..., list[Any]]:
    """`graph` called with Python numbers in those places, where it takes 0-d tensors of these dtypes."""
    if not dtypes:
        return graph
    make = torch.scalar_tensor
    places = tuple(dtypes.items())

    def run(*arguments: Any) -> list[Any]:
        given = list(arguments)
        for place, dtype in places:
            given[place] = make(given[place], dtype=dtype, device="cpu")
        return graph(*given)

    return run


def without_autograd(graph: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """`graph` run with autograd off: its outputs need no gradients, and library calls that write into given tensors refuse to record."""
    switch = torch._C._set_grad_enabled

    def run(*tensors: Any) -> list[Any]:
        switch(False)
        try:
            return graph(*tensors)
        finally:
            switch(True)

    return run
