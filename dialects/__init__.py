"""The vocabularies of the compiler: one package per dialect, each declaring its operations, types and attributes.

A dialect states what an operation means and when it is well formed, and offers local folds. It knows no pass,
no backend and no torch; it must not decide, lower or run anything.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.ir import Context

# Dialect name -> module with its DIALECT; imported on first use.
TABLE: Mapping[str, str] = MappingProxyType(
    {
        "builtin": "lect.dialects.builtin",
        "pyframe": "lect.dialects.pyframe",
        "guard": "lect.dialects.guard",
        "fx": "lect.dialects.fx",
        "functional": "lect.dialects.functional",
        "loop": "lect.dialects.loop",
        "kernel": "lect.dialects.kernel",
        "host": "lect.dialects.host",
        "tuning": "lect.dialects.tuning",
    }
)


def make_context(**keywords: Any) -> Context:
    """A context that knows all dialects of lect; keywords are those of `Context`."""
    return Context(TABLE, **keywords)
