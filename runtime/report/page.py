"""The page: what was recorded as JSON, beside the style and the scripts that show it, in one HTML file that loads nothing else.

Everything that comes from a program (its sources, names and texts) stands in the JSON, in which no `<` is left as it is, and the scripts put it into
the page as text only.  A policy in the page lets no other script run than these, and nothing be loaded.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import platform
import string
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

import lect
from lect.ir import LectError, Location
from lect.passes.instrument import write_whole
from lect.runtime.graphs.table import table
from lect.runtime.report.backend_texts import backend_texts
from lect.runtime.report.recording import LineTable, Record, Recorder
from lect.runtime.report.sources import SourceTable

SCRIPTS = ("data", "text", "list", "levels", "diff", "passes", "picture", "fusion", "timeline", "memory", "guards", "events", "recordings", "overview", "page")


def write_report(recorder: Recorder, path: str | Path, title: str = "") -> Path:
    """Write the report of what was recorded.  Raises `LectError` when the file cannot be written."""
    path = Path(path).expanduser()
    try:
        write_whole(path, html(page_data(recorder, title)))
    except OSError as error:
        raise LectError(f"the report cannot be written to '{path}': {error.strerror}") from None
    return path


def html(data: dict[str, Any]) -> str:
    """The page for this data."""
    folder = files("lect.runtime.report")
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = "\n".join([(folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS])
    # "</script>" cannot end the element early, nor "<!--" change how it is read, where there is no "<".
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    policy = f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    page = string.Template((folder / "page.html").read_text(encoding="utf-8"))
    return page.substitute(policy=policy, style=style, data=text, script=script)


def _digest(text: str) -> str:
    """What a content security policy calls a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page_data(recorder: Recorder, title: str = "") -> dict[str, Any]:
    """All that the page shows, as JSON takes it."""
    sources = SourceTable()
    records = recorder.complete_records()
    compiles = [_compile(record, recorder.table, sources) for record in records]
    events = [_event(event, sources) for event in recorder.events]
    lines = recorder.table.lines
    places = [sources.place(loc) for _, loc in lines]
    flat = [-1 if place is None else place[0] * 1_000_000 + place[1] for place in places]
    return {
        "title": title or (records[0].function if records else "nothing"),
        "versions": {"lect": lect.__version__, "torch": torch.__version__, "python": platform.python_version()},
        "lines": [line for line, _ in lines],
        "places": flat,
        "compiles": compiles,
        "more": recorder.more,
        "events": events,
        "recordings": {"made": [dataclasses.asdict(row) for row in table().rows()], "left": [dataclasses.asdict(row) for row in table().left()]},
        "files": sources.texts(),
    }


def _compile(record: Record, table: LineTable, sources: SourceTable) -> dict[str, Any]:
    levels = dict(record.levels)
    if record.lowered is not None:
        for name, text in backend_texts(record.lowered, record.target).items():
            levels[name] = table.add(text)
    return {
        "function": record.function,
        "backward": record.backward,
        "frame": record.frame,
        "version": record.version,
        "start": record.start,
        "end": record.end,
        "levels": [{"name": name, "text": runs(text)} for name, text in levels.items()],
        "starts": {stage: runs(text) for stage, text in record.start_texts.items()},
        "steps": [
            {"stage": step.stage, "name": step.name, "start": step.start, "end": step.end, "text": None if step.text is None else runs(step.text)}
            for step in record.steps
        ],
        "spans": [list(span) for span in record.spans],
        "fusion": [{**func, "nodes": [{**node, "lines": _placed(node["lines"], sources)} for node in func["nodes"]]} for func in record.fusion],
        "memory": record.memory,
        "reaches": sources.reached(record.called, [loc for _, loc in table.lines]),
        "guards": [[text, *place] for text, loc in record.places if (place := sources.place(loc)) is not None],
        "target": {name: str(value) for name, value in record.target.items()},
        "events": [_event(event, sources) for event in record.events],
        "lost": record.lost,
    }


def _placed(locs: list[Location], sources: SourceTable) -> list[tuple[int, int]]:
    """The lines of the program that these are."""
    return sorted({place for place in map(sources.place, locs) if place is not None})


def _event(event: Any, sources: SourceTable) -> dict[str, Any]:
    """An event with all its fields; `place` where it speaks of one."""
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    plain = {name: value for name, value in fields.items() if isinstance(value, str | int | float | tuple)}
    plain = {name: repr(value) if isinstance(value, float) and value - value != 0 else value for name, value in plain.items()}
    place = sources.spelled(event.location) if getattr(event, "location", "") else None
    return {**plain, "kind": event.kind, "text": event.text(), "place": place}


def runs(numbers: list[int]) -> list[int]:
    """Numbers of lines as pairs of a first one and how many follow each other: [7, 8, 9, 2] is [7, 3, 2, 1]."""
    found: list[int] = []
    for number in numbers:
        if found and number == found[-2] + found[-1]:
            found[-1] += 1
        else:
            found += [number, 1]
    return found
