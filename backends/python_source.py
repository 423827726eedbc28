"""Printed Python source: its names, and how it becomes something that runs: compiled once, with its text where tracebacks and debuggers find it."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Mapping
from typing import Any

from lect.ir import Location


class SourceProgram:
    """A loaded program: `run(*tensors) -> list of tensors`, with its `text`; `places` are the lines of the user's that its lines come from."""

    def __init__(self, run: Callable[..., list[Any]], text: str, filename: str) -> None:
        self.run = run
        self.text = text
        self.filename = filename
        self.places: Mapping[int, Location] = {}


def free_name(base: str, taken: set[str]) -> str:
    """`base`, with the first number behind it that makes it a name not `taken`; taken from now on."""
    name, suffix = base, 0
    while name in taken:
        suffix += 1
        name = f"{base}_{suffix}"
    taken.add(name)
    return name


def load_source(kind: str, name: str, text: str, namespace: dict[str, Any]) -> SourceProgram:
    """The function `name` of a text that a printer of ours has made, never of a file's; `kind` is a word for its file name."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    filename = f"<lect {kind} {name} {digest}>"
    namespace["__builtins__"]["__import__"] = __import__  # under a dispatch mode torch's C code imports with the builtins of the frame that calls it
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), namespace)
    return SourceProgram(namespace[name], text, filename)
