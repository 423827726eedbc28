"""What a person may ask of the cache on disk, as `lect.cache` in Python and as `lect cache` on the command line."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from lect.ir import LectError
from lect.runtime.settings import cache_folder
from lect.runtime.store import LIMIT, Entry, Listed, Store, why

_GRAPH = re.compile(r"^\w+\.\w+ @([^\s(]+)", re.MULTILINE)
_KERNEL = re.compile(r"^define [^@]*@\"?([^\s\"(]+)", re.MULTILINE)


class Cache:
    """The cache that the environment names; looking at it needs no compiler and makes no folder."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.problems: list[str] = []
        self._store = Store(cache_folder(variables), LIMIT, self.problems.append)

    @property
    def folder(self) -> Path:
        """Where the entries lie."""
        return self._store.root

    def ls(self) -> list[Listed]:
        """All entries, the one used last in front."""
        return sorted(self._store.entries(), key=lambda each: each.used, reverse=True)

    def show(self, entry: str) -> Entry:
        """The entry of which level and digest begin so.  Raises `LectError` when that is not exactly one."""
        return self._store.find(entry)

    def why(self, a: str, b: str) -> str:
        """The lines in which the keys of two entries differ, so why one could not be used in the place of the other.  Raises `LectError` like `show`."""
        return why(self.show(a), self.show(b))

    def gc(self, megabytes: float = 0.0) -> int:
        """Remove the entries that were not used for the longest time until at most `megabytes` are left; the bytes that were removed."""
        return self._store.collect(int(megabytes * 2**20))

    def export(self, path: str | PathLike[str]) -> int:
        """Write all entries into one file, for `load` on another machine; how many.  Raises OSError."""
        return self._store.export(Path(path))

    def load(self, path: str | PathLike[str]) -> int:
        """Take over the entries of such a file; how many.  Object code comes with it, so the file must come from someone you trust.

        Raises `LectError` for a file that is none or was damaged, and when nothing can be written; OSError when it cannot be read.
        """
        count = self._store.load(Path(path))
        if self.problems:
            raise LectError(self.problems.pop())
        return count


def description(entry: Entry) -> str:
    """What an entry is of, in a few words: the graph, or the kernels."""
    lines = entry.key.splitlines()
    if entry.level == "tuning":
        return ", ".join(lines[1:])
    first = lines[0] if lines and lines[0].startswith("backward of") else ""
    pattern = _KERNEL if entry.level == "kernel" else _GRAPH
    names = pattern.findall(entry.key)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return " ".join(part for part in (shown, first) if part)


def age(used: float) -> str:
    """How long ago a time of the epoch is, in its largest unit."""
    seconds = max(time.time() - used, 0.0)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
