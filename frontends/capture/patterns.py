"""`Pattern.sub` and `subn` with a function of the program, which the interpreter calls for each match."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call, call_pure
from lect.frontends.capture.effects import run_real
from lect.frontends.capture.tracer import Box, Tracer

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]


def _replacing(function: Any, name: str) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        given = dict(zip(("self", "repl", "string", "count"), args)) | kwargs
        replace = given.get("repl")
        if replace is None or not callable(replace[0]) or given.keys() - {"self", "repl", "string", "count"} or "string" not in given:
            return call_pure(t, function, args, kwargs)
        pattern, text = given["self"][0], t.leak(given["string"])
        limit = t.leak(given["count"]) if "count" in given else 0
        if type(text) not in (str, bytes) or type(limit) is not int:
            return call_pure(t, function, args, kwargs)
        t.guard_type(given["self"])
        if given["self"][1] is not None:
            t.guards.is_object(given["self"][1], pattern)
        made, count = _replaced(t, pattern, replace, text, limit)
        return (made, None) if name == "sub" else t.make_tuple([(made, None), (count, None)])

    return rule


def _replaced(t: Tracer, pattern: Any, replace: Box, text: Any, limit: int) -> tuple[Any, int]:
    """The text with the first `limit` matches replaced (all for 0), and how many there were."""
    parts: list[Any] = []
    end = count = 0
    for match in run_real(pattern.finditer, text) if limit >= 0 else ():
        if limit > 0 and count == limit:
            break
        given = t.leak(call(t, replace, [t.made(match)], {}))
        parts += [text[end : match.start()]] * (end < match.start())
        parts += [given] * (given is not None)
        end, count = match.end(), count + 1
    parts += [text[end:]] * (end < len(text))
    try:
        return text[:0].join(parts), count
    except TypeError as error:
        raise UserError(error) from None


PATTERNS: Mapping[Any, Any] = MappingProxyType({re.Pattern.sub: _replacing(re.Pattern.sub, "sub"), re.Pattern.subn: _replacing(re.Pattern.subn, "subn")})
