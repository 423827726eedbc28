"""The pure overload of an ATen op that writes to its first argument."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch


@cache
def functional_variant(func: Any) -> Any:
    """`add_.Tensor`, `add.out` => `add.Tensor`; None when no overload takes the same arguments, but for `out`, and writes nothing."""
    namespace = getattr(torch.ops, func.namespace)
    name = func._opname
    candidates = [name.removesuffix("_"), f"{name.removesuffix('_')}_functional", f"{name}functional"]
    out = any(argument.is_out for argument in func._schema.arguments)
    for candidate in candidates:
        packet = getattr(namespace, candidate, None) if candidate != name or out else None
        if packet is None:
            continue
        overloads = packet.overloads()
        for overload in sorted(overloads, key=lambda found: found != func._overloadname):
            variant = getattr(packet, overload)
            if not variant._schema.is_mutable and _same_arguments(func, variant):
                return variant
    return None


def _same_arguments(func: Any, variant: Any) -> bool:
    own, others = [argument for argument in func._schema.arguments if not argument.is_out], variant._schema.arguments
    if len(own) > len(others):
        return False
    agree = all(a.name == b.name and str(a.type) == str(b.type) and a.kwarg_only == b.kwarg_only for a, b in zip(own, others))
    return agree and all(argument.has_default_value() for argument in others[len(own) :])


def without_outputs(func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The named arguments that are no tensors to write results to."""
    outputs = {argument.name for argument in func._schema.arguments if argument.is_out}
    return {name: value for name, value in kwargs.items() if name not in outputs}


def with_defaults(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with those defaults written out that the pure variant may not have; the dispatcher leaves them away."""
    full = list(args)
    named = dict(kwargs)
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args) or argument.name in named or not argument.has_default_value():
            continue
        if argument.kwarg_only:
            if argument.default_value is not None:
                named[argument.name] = argument.default_value
        elif position == len(full):
            full.append(argument.default_value)
    return tuple(full), named
