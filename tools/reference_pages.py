"""Pages of the reference that are no dialect and no pass: events and options, and the grammar for editors.

The grammar is a TextMate grammar, which VS Code, Sublime Text, JetBrains and others read: each terminal of `ir/grammar.lark` with the scope that colours it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import lect.ir
from lect.ir import LectError
from lect.runtime import frame_hook
from lect.runtime.events import Event
from lect.runtime.reporting import GROUPS
from lect.runtime.settings import OPTIONS, Environment

# Terminal of the grammar -> scope, in the order in which an editor tries them.
SCOPES: Mapping[str, str] = MappingProxyType(
    {
        "COMMENT": "comment.line.double-slash",
        "STRING": "string.quoted.double",
        "COMPLEX": "storage.type",
        "DIALECT_TYPE": "storage.type",
        "DIALECT_ATTR": "support.constant",
        "TYPE_ALIAS": "storage.type",
        "ATTR_ALIAS": "support.constant",
        "VALUE": "variable.other",
        "BLOCK": "entity.name.label",
        "SYMBOL": "entity.name.function",
        "OP_NAME": "keyword.operator",
        "NUMBER": "constant.numeric",
        "WORD": "variable.parameter",
    }
)
COMPOSITE = frozenset({"VALUES"})  # made of other terminals
TERMINAL = re.compile(r"^([A-Z_]+)(?:\.\d+)?: /(.*)/$", re.M)


def textmate() -> str:
    """The TextMate grammar as JSON.  Raises `LectError` when a terminal of the grammar has no scope, or a scope no terminal."""
    source = Path(lect.ir.__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    terminals = dict(TERMINAL.findall(source))
    unknown = (set(terminals) ^ set(SCOPES)) - COMPOSITE
    if unknown:
        raise LectError(f"the terminals of ir/grammar.lark and the scopes of editors differ: {', '.join(sorted(unknown))}")
    grammar = {
        "comment": "Made by `python -m lect.tools.docs` from ir/grammar.lark.",
        "name": "lect IR",
        "scopeName": "source.lect.mlir",
        "fileTypes": ["mlir"],
        "patterns": [{"name": f"{scope}.lect", "match": terminals[name]} for name, scope in SCOPES.items()],
    }
    return json.dumps(grammar, indent=2) + "\n"


def events_page(header: str) -> str:
    """All events, with the groups of LECT_LOG."""
    assert frame_hook.HookRefused.kind  # an event that is defined elsewhere
    groups = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
    parts = ["# Events", header, "What is in `lect.events()`; [events](../events.md) says how to read them. Every event has `function` and `time`."]
    for cls in sorted(_event_classes(), key=lambda cls: cls.kind):
        group = f"group `{groups[cls.kind]}`" if cls.kind in groups else "told to listeners alone"
        parts.append(f"## `{cls.kind}`\n\n`{cls.__name__}`, {group}. {_sentence(cls)}")
        own = [field for field in dataclasses.fields(cls) if field.name not in ("function", "time")]
        if own:
            rows = [f"| `{field.name}` | `{str(field.type).replace('|', chr(92) + '|')}` |" for field in own]
            parts.append("\n".join(["| field | type |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _event_classes(base: type[Event] = Event) -> Iterator[type[Event]]:
    """The classes that have a kind of their own."""
    for cls in base.__subclasses__():
        if "kind" in vars(cls) and cls.__module__.startswith("lect."):
            yield cls
        yield from _event_classes(cls)


def _sentence(cls: type) -> str:
    return re.sub(r"\s+", " ", cls.__doc__ or "").strip()


def options_page(header: str) -> str:
    """All options of `lect.compile`, with the variables that are their defaults."""
    known = {field.name for field in dataclasses.fields(Environment)}
    rows = []
    for name, (allowed, what) in OPTIONS.items():
        values = ", ".join(f"`{value!r}`" for value in allowed) if allowed is not None else ""
        variable = f"`LECT_{name.upper()}`" if name in known and name != "cache" else ""
        rows.append(f"| `{name}` | {values} | {_cell(what)} | {variable} |")
    table = "\n".join(["| option | values | meaning | default from |", "|---|---|---|---|", *rows])
    return "\n\n".join(["# Options", header, "What `lect.compile(..., options={...})` takes.", table]) + "\n"


def _cell(text: Any) -> str:
    return str(text).replace("|", "\\|")
