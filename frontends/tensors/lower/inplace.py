"""The pure overload of an ATen op that writes to its first argument."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch


@cache
def functional_variant(func: Any) -> Any:
    """`add_.Tensor` => `add.Tensor`; None when no overload takes the same arguments and writes nothing."""
    namespace = getattr(torch.ops, func.namespace)
    name = func._opname
    candidates = [name.removesuffix("_"), f"{name.removesuffix('_')}_functional", f"{name}functional"]
    for candidate in candidates:
        packet = getattr(namespace, candidate, None) if candidate != name else None
        if packet is None:
            continue
        overloads = packet.overloads()
        for overload in sorted(overloads, key=lambda found: found != func._overloadname):
            variant = getattr(packet, overload)
            if not variant._schema.is_mutable and _same_arguments(func, variant):
                return variant
    return None


def _same_arguments(func: Any, variant: Any) -> bool:
    own, others = func._schema.arguments, variant._schema.arguments
    if len(own) > len(others):
        return False
    agree = all(a.name == b.name and str(a.type) == str(b.type) and a.kwarg_only == b.kwarg_only for a, b in zip(own, others))
    return agree and all(argument.has_default_value() for argument in others[len(own) :])
