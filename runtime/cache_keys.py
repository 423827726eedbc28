"""The keys of the graph level: text that names all a lowered graph depends on, one fact a line, and the captured graph itself.

    lect graph 2
    torch 2.13.0+cpu 1a2b3c
    option numerics = fused
    target vector_bytes = 64
    state guard.global_state() {default_dtype = f32, grad = true}
    fx.graph @f.graph(...) { ... }

The lowering is a function of these: passes see the graph, options and target alone.  What is registered with torch by others, such as a custom operator
with a backward in Python, is no text; graphs that call it have no key.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.fx.python_values import OPERATORS, resolve
from lect.ir import Context, Operation, print_op
from lect.runtime.versions import versions

# Options that decide what is captured and when, which the graph shows, and none that decides how it is lowered.
WITHOUT_EFFECT = frozenset(
    {"breaks", "cache", "check", "dump", "graphs", "guards", "override", "round_trip", "trigger", "tuning", "tuning_budget", "version_limit"}
)
# Namespaces of operators that come with torch.
OF_TORCH = frozenset({"aten", "prim", "prims", "quantized", "mkldnn", "mkl"})
OBJECT = "#fx.object<"  # the text of a live object of the program
ROOT = torch.__file__.removesuffix("__init__.py")


def graph_key(graph: Operation, guards: Operation | None, ctx: Context) -> str | None:
    """The key of a captured graph; None for one whose lowering depends on more than its text."""
    text = print_op(graph)[0]
    targets = {op.attrs["target"].leaf for op in graph.walk() if op.name == "fx.call"}
    if OBJECT in text or not all(map(comes_with_torch, targets)):
        return None
    lines = ["lect graph 2"]
    lines += [f"{name} {value}" for name, value in versions().items()]
    lines += [f"option {name} = {value!r}" for name, value in sorted(ctx.options.items()) if name not in WITHOUT_EFFECT]
    lines += [f"target {name} = {value!r}" for name, value in sorted(ctx.target.items())]
    lines += [f"state {line}" for line in _state(guards)]
    return "\n".join([*lines, text])


def _state(guards: Operation | None) -> Iterator[str]:
    """What is known of sizes with symbols, and switches of torch that decide what a call computes, or by which kernel of torch."""
    for op in guards.body if guards is not None else ():
        if op.name in ("guard.global_state", "guard.symbolic"):
            yield print_op(op)[0].strip()
    for name, value in SWITCHES.items():
        yield f"{name} = {value()!r}"


def _precision() -> tuple[str, ...]:
    """How exact the library's products of f32 are.  torch refuses its older question where a program has set an answer for one backend alone."""
    try:
        whole = torch.get_float32_matmul_precision()
    except RuntimeError:
        whole = "by backend"
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn, torch.backends.mkldnn)
    parts = [getattr(backend, part, None) for backend in backends for part in ("matmul", "conv", "rnn")]
    found = [getattr(each, "fp32_precision", "") for each in (*backends, *parts) if each is not None]
    return (whole, *["ieee" if each == "none" else each for each in found])  # a backend without an answer gives the one for all, if there is one


SWITCHES = MappingProxyType(
    {
        "mkldnn": lambda: torch.backends.mkldnn.enabled,
        "float32_matmul_precision": _precision,
        "flash_sdp": torch.backends.cuda.flash_sdp_enabled,
        "math_sdp": torch.backends.cuda.math_sdp_enabled,
        "mem_efficient_sdp": torch.backends.cuda.mem_efficient_sdp_enabled,
        "cudnn_sdp": torch.backends.cuda.cudnn_sdp_enabled,
        "cudnn": lambda: (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic),
    }
)


def comes_with_torch(target: str) -> bool:
    """True when the function of this name is the one that torch (or Python) brings, and not one that a program registered or put in its place."""
    if target.startswith(OPERATORS):
        return target.split(".")[2] in OF_TORCH
    code = getattr(resolve(target), "__code__", None)
    return code is None or code.co_filename.startswith(ROOT)
