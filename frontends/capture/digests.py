"""`hashlib`: digests of bytes that the frame knows.  A hash object that the frame makes is filled while it is followed; one that outlives a cut is not made."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.effects import run_real
from lect.frontends.capture.tracer import Box, Tracer

Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]
_NAMES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "shake_128", "shake_256")
_PLAIN = (bytes, str, int, bool, type(None))


def _plain(t: Tracer, args: list[Box], kwargs: Kwargs, what: str) -> tuple[list[Any], dict[str, Any]]:
    raw, named = t.leak_all(args), {name: t.leak(box) for name, box in kwargs.items()}
    if any(type(value) not in _PLAIN for value in (*raw, *named.values())):
        raise t.stop("LB0003", f"{what} of what is no plain value")
    return raw, named


def _make(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        raw, named = _plain(t, args, kwargs, function.__name__)
        return t.made(run_real(function, *raw, **named))

    return rule


def _read(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if not t.is_fresh(args[0][0]):
            raise t.stop("LB0003", f"{function.__name__} of a hash object from outside of the frame")
        raw, named = _plain(t, args[1:], kwargs, function.__name__)
        made = run_real(function, args[0][0], *raw, **named)
        return t.made(made) if function.__name__ == "copy" else (made, None)

    return rule


def _pure(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        raw, named = _plain(t, args, kwargs, function.__name__)
        return (run_real(function, *raw, **named), None)

    return rule


def _table() -> dict[Any, Rule]:
    found: dict[Any, Rule] = {}
    for name in _NAMES:
        function = getattr(hashlib, name, None)
        if function is None:
            continue
        found[function] = _make(function)
        for method in ("update", "digest", "hexdigest", "copy"):
            entry = type(function()).__dict__.get(method)
            if entry is not None:
                found[entry] = _read(entry)
    found[hashlib.new] = _make(hashlib.new)
    for function in (zlib.crc32, zlib.adler32, zlib.compress, zlib.decompress):
        found[function] = _pure(function)
    return found


DIGESTS: Mapping[Any, Rule] = MappingProxyType(_table())
