"""Source of a graph to a callable: resolve what it names, compile it, and keep its text where a debugger finds it."""

from __future__ import annotations

import functools
import hashlib
import linecache
from collections.abc import Callable
from typing import Any

import torch

from lect.backends.python_fx.emit import Source, print_python
from lect.dialects.fx.modes import kept_modes
from lect.dialects.fx.python_values import decode, resolve
from lect.dialects.fx.region_rules import RULES
from lect.ir import Operation


class GraphProgram:
    """A loaded graph: `run(*tensors) -> list of tensors`, with its `text`."""

    def __init__(self, run: Callable[..., list[Any]], text: str, filename: str) -> None:
        self.run = run
        self.text = text
        self.filename = filename


def load(graph: Operation) -> GraphProgram:
    """Compile an `fx.graph`.  Raises `LectError` when it calls what no graph may call, or has no Python form."""
    source = print_python(graph)
    namespace: dict[str, Any] = {
        "__builtins__": {"float": float, "complex": complex, "slice": slice},
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
        namespace[name] = functools.partial(RULES[op.name], op)
    for name, constant in source.constants.items():
        namespace[name] = decode(constant, ())
    return _compile(source, namespace)


def _compile(source: Source, namespace: dict[str, Any]) -> GraphProgram:
    text = source.text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    filename = f"<lect graph {source.name} {digest}>"
    exec(compile(text, filename, "exec"), namespace)  # the text is the printer's, never a file's
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return GraphProgram(namespace[source.name], text, filename)
