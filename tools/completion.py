"""Completion of command lines: what a shell asks a tool for when somebody presses TAB.  The package argcomplete answers it; without it nothing happens.

Pipelines are completed pass by pass, and inside of braces option by option.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any


def is_asked() -> bool:
    """Whether this process is to answer a shell."""
    return "_ARGCOMPLETE" in os.environ


def offer(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser; when a shell asks for completions, answer and end the process instead."""
    if is_asked():
        try:
            from argcomplete import autocomplete
        except ImportError:  # asked by a shell that was told to, before the package was removed
            raise SystemExit(1) from None
        autocomplete(parser)
    return parser


def completed_by(action: argparse.Action, completer: Callable[..., Sequence[str]]) -> argparse.Action:
    """The argument, whose values a function completes; it is given what is there as `prefix`."""
    action.completer = completer  # type: ignore[attr-defined]
    return action


def pass_names(prefix: str = "", **_: Any) -> list[str]:
    """Names of passes, of which several may stand in a list."""
    from lect.passes import PASSES

    return _continued(prefix, PASSES)


def pipeline(prefix: str = "", **_: Any) -> list[str]:
    """A pipeline that goes on with a pass, with another pipeline, or inside of braces with an option of the pass in front of them."""
    from lect.passes import PASSES, load_pass
    from lect.passes.pipelines import PIPELINES

    opened = prefix.rfind("{")
    if opened > prefix.rfind("}"):
        name = prefix[:opened].rpartition(",")[2].strip()
        options = [field.name for field in fields(load_pass(name)) if field.init] if name in PASSES else []  # type: ignore[arg-type]
        head, blank, last = prefix[opened + 1 :].rpartition(" ")
        return [f"{prefix[: opened + 1]}{head}{blank}{option}=" for option in options if option.startswith(last)]
    return _continued(prefix, [*PASSES, *PIPELINES])


def targets(prefix: str = "", **_: Any) -> list[str]:
    """Names of machines that passes can decide for."""
    from lect.passes.targets import TARGETS

    return _continued(prefix, TARGETS)


def _continued(prefix: str, words: Any) -> list[str]:
    """The prefix with each word that can stand in the place of what is behind its last comma."""
    head, comma, last = prefix.rpartition(",")
    return [head + comma + word for word in words if word.startswith(last)]
