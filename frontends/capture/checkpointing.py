"""`torch.utils.checkpoint.checkpoint`: an operation with a region where gradients are recorded, else a plain call."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
import torch.utils.checkpoint as torch_checkpoint

from lect.dialects.fx.regions import CheckpointOp
from lect.frontends.capture.calls import call
from lect.frontends.capture.regions import replay, trace_region, tree_of
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT

Kwargs = dict[str, Box]
_OPTIONS = frozenset({"use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state"})


def checkpoint(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`checkpoint(function, *args, use_reentrant=..., **kwargs)`."""
    options = {name: box for name, box in kwargs.items() if name in _OPTIONS}
    passed = {name: box for name, box in kwargs.items() if name not in _OPTIONS}
    reentrant, preserve = _checked(t, options, passed)
    function, given = args[0], args[1:]
    if not torch.is_grad_enabled():
        return call(t, function, given, passed)
    operands = list({id(box[0]): box[0] for box in given if type(box[0]) is LT}.values())
    with torch.set_grad_enabled(not reentrant):
        region, tensors, returned = trace_region(t, operands, lambda: call(t, function, given, passed), "a checkpointed function")
    attrs: dict[str, Any] = {"use_reentrant": reentrant, "preserve_rng_state": preserve}
    if reentrant:
        tensors = replay(t, CheckpointOp, [region], operands, attrs)
    t.graph.add_region_op(CheckpointOp, operands, attrs, [region], tensors, t.loc)
    return tree_of(t, returned, tensors)


def _checked(t: Tracer, options: Kwargs, passed: Kwargs) -> tuple[bool, bool]:
    """`use_reentrant` and `preserve_rng_state`.  Breaks for options that change what is kept."""
    raw = {name: t.leak(box) for name, box in options.items()}
    reentrant = raw.get("use_reentrant")
    if reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.", stacklevel=2)
        reentrant = True
    if raw.get("context_fn", torch_checkpoint.noop_context_fn) is not torch_checkpoint.noop_context_fn:
        raise t.stop("LB0014", "checkpoint with a context_fn")
    if raw.get("debug") or raw.get("determinism_check", "default") != "default":
        raise t.stop("LB0003", "checkpoint that checks the second run")
    if reentrant and passed:
        raise t.stop("LB0012", "checkpoint with use_reentrant takes no keywords")
    return bool(reentrant), bool(raw.get("preserve_rng_state", True))


CHECKPOINTS: Mapping[Any, Any] = MappingProxyType({torch_checkpoint.checkpoint: checkpoint})
