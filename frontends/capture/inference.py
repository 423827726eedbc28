"""Blocks of `torch.inference_mode`: entered for real while the frame is followed, and written into the graph.

The trace leaves them in the order in which it entered them.  A frame that breaks inside of such a block is followed again without: then the block is
entered natively, and what stands in it is compiled on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.fx.ops import EnterInferenceOp, LeaveInferenceOp
from lect.frontends.capture.attributes import load_attr
from lect.frontends.capture.tracer import NONE, Box, Tracer

Kwargs = dict[str, Box]


def enter(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`inference_mode.__enter__`."""
    manager = args[0][0]
    if not t.policy.inference or t.graph.scopes or not t.is_fresh(manager):
        raise t.stop("LB0014", "a block of inference mode in which the frame is left")
    enabled = bool(t.leak(load_attr(t, args[0], "mode")))
    block = torch._C._InferenceMode(enabled)
    block.__enter__()
    t.inference.append((manager, block))
    t.graph.block.append(EnterInferenceOp(enabled, loc=t.loc))
    return NONE


def leave(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`inference_mode.__exit__`."""
    if not t.inference or t.inference[-1][0] is not args[0][0]:
        raise t.stop("LB0014", "blocks of inference mode that do not stand inside of each other")
    t.inference.pop()[1].__exit__(None, None, None)
    t.graph.block.append(LeaveInferenceOp(loc=t.loc))
    return NONE


@contextmanager
def blocks_closed(t: Tracer) -> Iterator[None]:
    """Behind the block no inference block of the trace is open; `t.left_inference` says that one was."""
    try:
        yield
    finally:
        t.left_inference = bool(t.inference)
        while t.inference:
            t.inference.pop()[1].__exit__(None, None, None)


INFERENCE: Mapping[Any, Any] = MappingProxyType({torch.inference_mode.__enter__: enter, torch.inference_mode.__exit__: leave})
