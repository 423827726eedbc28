"""Named pipelines, and what must run before what with the reason.

A pipeline's name stands in pipeline text for its passes.  The manager checks every pipeline against `ORDER` before it runs the first pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

# Name -> passes, in the order in which the compiler runs the pipelines.
PIPELINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "capture": ("pyframe-to-fx",),
        "aot": ("fx-to-functional", "canonicalize", "cse", "dce"),
        "loop": ("functional-to-loop", "loop-realize", "loop-fuse-vertical", "loop-plan-buffers"),
        "kernel": ("loop-to-kernel",),
        "emit": (),
    }
)


@dataclass(frozen=True)
class Before:
    """In a pipeline that has both passes, `first` comes before `second`, because of `reason`."""

    first: str
    second: str
    reason: str


ORDER: tuple[Before, ...] = (
    Before("pyframe-to-fx", "fx-to-functional", "the graph is recorded before it is lowered"),
    Before("fx-to-functional", "functional-to-loop", "loops are made of functional operations"),
    Before("functional-to-loop", "loop-realize", "what to store is decided on nests"),
    Before("loop-realize", "loop-fuse-vertical", "fusion looks at the values that are stored"),
    Before("loop-fuse-vertical", "loop-plan-buffers", "fusion removes intermediate buffers"),
    Before("loop-plan-buffers", "loop-to-kernel", "kernels and the host program name planned buffers"),
)


def violations(names: Sequence[str], order: Iterable[Before] = ORDER) -> list[Before]:
    """The constraints that a sequence of pass names breaks: its first `second` stands before its first `first`."""
    first_at: dict[str, int] = {}
    for position, name in enumerate(names):
        first_at.setdefault(name, position)
    return [c for c in order if c.first in first_at and c.second in first_at and first_at[c.second] < first_at[c.first]]
