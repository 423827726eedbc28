"""What a person may set for a compile: arguments of `lect.compile`, checked once, and what the environment says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from lect.ir import LectError

MODES = ("default", "reduce-overhead", "max-autotune")
LEVELS = ("native", "loop", "functional", "fx")
# Option -> (allowed values or None, what it does).
OPTIONS: Mapping[str, tuple[tuple[Any, ...] | None, str]] = MappingProxyType(
    {
        "level": (LEVELS, "the level at which graphs run: native code, or a reference interpreter for finding out which level is wrong"),
        "host": (("python",), "the form of the host program"),
        "numerics": (("strict",), "values are rounded where eager rounds them"),
        "version_limit": (None, "the number of versions of one function before it runs eagerly"),
    }
)


@dataclass(frozen=True)
class Settings:
    """The arguments of one `lect.compile`."""

    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def check(cls, fullgraph: bool, dynamic: bool | None, mode: str, options: Mapping[str, Any] | None) -> Settings:
        """Settings from user input.  Raises `LectError` that names what is allowed."""
        if mode not in MODES:
            raise LectError(f"mode is one of {', '.join(MODES)}, got {mode!r}")
        given = dict(options or {})
        for name, value in given.items():
            if name not in OPTIONS:
                raise LectError(f"there is no option {name!r}; options are {', '.join(OPTIONS)}")
            allowed = OPTIONS[name][0]
            if allowed is not None and value not in allowed:
                raise LectError(f"option {name!r} is one of {', '.join(map(str, allowed))}, got {value!r}")
            if name == "version_limit" and (type(value) is not int or value < 1):
                raise LectError(f"option 'version_limit' is a positive integer, got {value!r}")
        return cls(bool(fullgraph), dynamic, mode, MappingProxyType(given))


@dataclass(frozen=True)
class Environment:
    """What the environment variables say, read once when the runtime starts."""

    disabled: bool = False
    log: bool = False
    dump: str | None = None

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Environment:
        """From LECT_DISABLE (run everything eagerly), LECT_LOG (events to standard error) and LECT_DUMP (a folder for the text of every level)."""
        return cls(variables.get("LECT_DISABLE", "0") not in ("", "0"), variables.get("LECT_LOG", "0") not in ("", "0"), variables.get("LECT_DUMP") or None)
