"""Source of a graph to a callable: resolve what it names, compile it, and keep its text where a debugger finds it."""

from __future__ import annotations

import functools
from typing import Any

import torch

from lect.backends.python_fx.emit import print_python
from lect.backends.python_source import SourceProgram, load_source
from lect.dialects.fx.modes import kept_modes
from lect.dialects.fx.python_values import decode, resolve
from lect.dialects.fx.region_rules import RULES, called_once
from lect.ir import Operation


def load(graph: Operation, recomputes: bool = True) -> SourceProgram:
    """Compile an `fx.graph`.  Raises `LectError` when it calls what no graph may call, or has no Python form.

    Unless it `recomputes`, a checkpointed region is called once and not again for its gradients.
    """
    source = print_python(graph)
    namespace: dict[str, Any] = {
        "__builtins__": {"float": float, "complex": complex, "slice": slice, "min": min, "max": max},
        "device": torch.device,
        "Size": torch.Size,
        "switch_gradients": torch._C._set_grad_enabled,
        "gradients_enabled": torch.is_grad_enabled,
        "kept_modes": kept_modes,
        "inference_mode": torch.inference_mode,
    }
    for name, target in source.functions.items():
        namespace[name] = resolve(target)
    for name, op in source.rules.items():
        rule = RULES[op.name] if recomputes or op.name != "fx.checkpoint" else called_once
        namespace[name] = functools.partial(rule, op)
    for name, constant in source.constants.items():
        namespace[name] = decode(constant, ())
    program = load_source("graph", source.name, source.text, namespace)
    program.places = source.places
    return program
