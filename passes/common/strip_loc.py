"""Forget where operations came from.

    %1 = functional.exp(%0) : !t loc("m.py":3:8)     =>     %1 = functional.exp(%0) : !t loc(unknown)

Modules that differ only in locations print alike without this pass; it is for comparing and for publishing text that names no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.ir import UNKNOWN, Context, Operation
from lect.passes.base import Pass


@dataclass(frozen=True)
class StripLoc(Pass):
    """Give every operation the unknown location."""

    name: ClassVar[str] = "strip-loc"

    def run(self, op: Operation, ctx: Context) -> None:
        """Change locations only."""
        for each in op.walk():
            if each.loc is not UNKNOWN:
                each.loc = UNKNOWN
                ctx.count("locations stripped")
