"""The functional graph that a function becomes, for tests that ask what passes made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.frontends.capture.api import open_frame
from lect.ir import Operation
from lect.passes.manager import PassManager


def functional_graph(fn: Callable[..., Any], *args: Any, pipeline: str = "capture,aot", options: dict[str, Any] | None = None) -> Operation:
    """The graph of one call without gradients, behind these passes.  Every pass leaves a graph that verifies."""

    def call(*given: Any) -> Any:
        with torch.no_grad():
            return fn(*given)

    ctx = make_context(options=options or {})
    module = open_frame(call, args, {}, ctx)
    PassManager.parse(pipeline, verify_each=True).run(module, ctx)
    (found,) = [op for op in module.body if op.name == "functional.func"]
    return found


def operations(func: Operation) -> Counter[str]:
    """How often each operation occurs, without the dialect's name."""
    return Counter(op.name.partition(".")[2] for op in func.body)


def run_graph(func: Operation, *inputs: torch.Tensor) -> list[torch.Tensor]:
    """The graph run by the reference interpreter."""
    return run_functional(func, inputs)  # type: ignore[arg-type]
