"""Logging: messages of plain values are effects, replayed in order by the residual code, so that levels, handlers and filters are those of each call.

What a handler, filter or formatter of the program does with a message, the frame may read behind it, and so it may what a handler of the standard library
keeps: while one of them would get the message, logging it is a break, and a version in which it is an effect is guarded not to have one.

A message that is logged once (a cached function of a logger) is logged while tracing, when none waits to be logged before it (see `cached_functions`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from logging.handlers import BufferingHandler, QueueHandler
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]
_LEVELS: Mapping[str, int] = MappingProxyType(
    {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "warn", "error", "critical", "fatal")}
)
_METHODS = "debug info warning warn error critical fatal log".split()


class Heard:
    """Whether code of the program gets to know a message of this level of a logger."""

    __slots__ = ("level", "logger")

    def __init__(self, logger: logging.Logger, level: int) -> None:
        self.logger = logger
        self.level = level

    def __call__(self) -> bool:
        logger: logging.Logger | None = self.logger
        if not logger.isEnabledFor(self.level):  # type: ignore[union-attr]
            return False
        if any(map(_is_own, logger.filters)):  # type: ignore[union-attr]
            return True
        while logger is not None:
            for handler in logger.handlers:
                if handler.level <= self.level and any(map(_is_own, (handler, handler.formatter, *handler.filters))):
                    return True
            logger = logger.parent if logger.propagate else None
        return False


def _is_own(part: Any) -> bool:
    """True for a handler, filter or formatter that the standard library has not made, and for a handler of its that keeps messages for who reads them."""
    return part is not None and (type(part).__module__.partition(".")[0] != "logging" or issubclass(type(part), BufferingHandler | QueueHandler))


def _check_heard(t: Tracer, logger: logging.Logger, level: Any) -> None:
    if type(level) is not int:
        return  # which raises
    heard = Heard(logger, level)
    if heard():
        raise t.stop("LB0013", "a handler, filter or formatter of the program gets a message that is logged")
    if (id(logger), level) not in t.unheard:
        t.unheard.add((id(logger), level))
        t.guards.equals(t.sources.kept(t.objects.number(heard)).step("call"), False)


def _logged(method: Any) -> Rule:
    level = _LEVELS.get(method.__name__)

    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        logger, source = args[0]
        if source is None and id(logger) not in t.seen:
            raise t.stop("LB0007", "a logger")
        if kwargs or not all(_is_plain(box[0]) for box in args[1:]):
            raise t.stop("LB0013", "a message with other than plain values is logged")
        _check_heard(t, logger, level if level is not None else args[1][0] if len(args) > 1 else None)
        t.effects.append(Effect(method, args[0], t.leak_all(args[1:]), {}, t.loc))
        return NONE

    return rule


def _is_plain(value: Any) -> bool:
    """True for a value whose text is the same whenever the message is made."""
    return type(value) in SCALAR_TYPES or (type(value) in (tuple, torch.Size) and all(_is_plain(item) for item in value))


LOGGING: Mapping[Any, Rule] = MappingProxyType({function: _logged(function) for function in (vars(logging.Logger)[name] for name in _METHODS)})
