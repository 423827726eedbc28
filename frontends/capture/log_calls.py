"""Logging: messages of plain values are effects, replayed in order by the residual code, so that levels, handlers and filters are those of each call.

A message that is logged once (a cached function of a logger) is logged while tracing, when none waits to be logged before it (see `cached_functions`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]
_METHODS = "debug info warning warn error critical fatal log".split()


def _logged(method: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        logger, source = args[0]
        if source is None and id(logger) not in t.seen:
            raise t.stop("LB0007", "a logger")
        if kwargs or not all(_is_plain(box[0]) for box in args[1:]):
            raise t.stop("LB0013", "a message with other than plain values is logged")
        t.effects.append(Effect(method, args[0], t.leak_all(args[1:]), {}, t.loc))
        return NONE

    return rule


def _is_plain(value: Any) -> bool:
    """True for a value whose text is the same whenever the message is made."""
    return type(value) in SCALAR_TYPES or (type(value) in (tuple, torch.Size) and all(_is_plain(item) for item in value))


LOGGING: Mapping[Any, Rule] = MappingProxyType({function: _logged(function) for function in (vars(logging.Logger)[name] for name in _METHODS)})
