"""Where events go beside the list of the process: lines of text or JSON, and one moving line for a person who waits for a compile.

    LECT_LOG=1                   every event as a line on standard error
    LECT_LOG=guards,cache        those of groups or kinds
    LECT_LOG_JSON=events.jsonl   JSON, one object a line, appended
    LECT_PROGRESS=0              no moving line; 1: one also where standard error is no terminal
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from lect.ir import LectError
from lect.runtime.events import Event, EventLog, StageBegins

# Name in LECT_LOG -> kinds of events.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "breaks": ("graph break", "fallback", "note", "backward fallback", "hook refused"),
        "cache": ("cache", "cache problem"),
        "checks": ("wrong value", "not checked"),
        "compiles": ("trace", "compile", "backward", "not native"),
        "guards": ("guard miss", "recompile", "static sizes"),
        "passes": ("passes",),
        "recordings": ("recording", "recording choice", "recording dropped", "recording off", "recording split"),
        "tuning": ("tuning begins", "tuning", "tuning problem", "tuning stopped"),
        "texts": ("dump", "override", "unused text"),
    }
)
EVERYTHING = frozenset({"1", "all", "events"})


def kinds_of(text: str) -> frozenset[str]:
    """The kinds of events that LECT_LOG names, all when it asks for everything, none when it is empty or 0.  Raises `LectError` for other names."""
    known = {kind for group in GROUPS.values() for kind in group}
    found: set[str] = set()
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name in EVERYTHING:
            found |= known
        elif name in GROUPS:
            found |= set(GROUPS[name])
        elif name.replace("-", " ") in known:
            found.add(name.replace("-", " "))
        elif name != "0":
            names = sorted({*GROUPS, *(kind.replace(" ", "-") for kind in known)})
            raise LectError(f"LECT_LOG is 1, 0 or names of events, got {name!r}", hint=f"names are {', '.join(names)}")
    return frozenset(found)


def write_text(log: EventLog, kinds: frozenset[str], stream: TextIO | None = None) -> None:
    """Write events of these kinds to `stream` (standard error, as it is at that moment) from now on."""

    def write(event: Event) -> None:
        if event.kind in kinds:
            print(f"lect: {event}", file=sys.stderr if stream is None else stream)

    log.listen(write)


def write_json(log: EventLog, kinds: frozenset[str], path: Path) -> None:
    """Append events of these kinds to a file from now on, an object a line.  Raises `LectError` when it cannot be written."""
    try:
        file = path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise LectError(f"LECT_LOG_JSON names a file that cannot be written: {path}: {error.strerror}") from None

    def write(event: Event) -> None:
        if event.kind in kinds:
            file.write(as_json(event) + "\n")

    log.listen(write)


def as_json(event: Event) -> str:
    """All fields of an event, its kind and what it says in a line."""
    return json.dumps({"kind": event.kind, **dataclasses.asdict(event), "text": event.text()}, default=str)


def show_progress(log: EventLog, wanted: str) -> None:
    """Show one line on standard error while a function is compiled; `wanted` is 1, 0, or empty: whether that is a terminal."""
    if wanted == "0" or find_spec("rich") is None or not (wanted == "1" or sys.stderr.isatty()):
        return
    log.listen(Progress())


class Progress:
    """A listener that shows what is compiled.  The line comes with the first stage behind the capture and goes with the last."""

    def __init__(self, make: Callable[[], Any] | None = None) -> None:
        self._make = make or _console
        self._console: Any = None
        self._line: Any = None

    def __call__(self, event: Event) -> None:
        """Follow the stages of a compile."""
        if not isinstance(event, StageBegins):
            return
        if not event.stage:
            self._clear()
        elif event.stage != "capture":
            self._show(f"lect: {event.function}: {event.stage}")

    def _show(self, text: str) -> None:
        if self._line is None:
            self._console = self._console or self._make()
            self._line = self._console.status(text)
            self._line.start()
        else:
            self._line.update(text)

    def _clear(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.stop()


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True)
