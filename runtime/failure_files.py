"""Where the files lie that replay failures of lect, and how many there are.

A file is written whole or not at all, may be read by its owner alone, and is one of at most `KEPT` in its folder.  One process writes one file for each
place of lect that fails, and at most `PER_PROCESS`.  Nothing here raises: who cannot write a file says why instead.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import NamedTuple

KEPT = 64
PER_PROCESS = 16
LARGEST = 32 * 1024 * 1024  # bytes
PREFIX = "lect-failure-"


class Kept(NamedTuple):
    """The path of a file, or why there is none; one of the two is empty."""

    path: str
    why_not: str = ""


class FailureFiles:
    """The failures of a process that have a file.  Without `folder` they lie in a folder of the user among the temporary files."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._known: dict[Hashable, Kept] = {}

    def clear(self) -> None:
        """Forget which failures have a file; the files stay."""
        self._known.clear()

    def keep(self, failure: Hashable, make: Callable[[], tuple[str, str]]) -> Kept:
        """The file of `failure`, written when it is new; `make` gives a name with its suffix, and the text."""
        known = self._known.get(failure)
        if known is None:
            if len(self._known) >= PER_PROCESS:
                return Kept("", f"this process has written {PER_PROCESS} of them")
            try:
                known = Kept(str(self._write(*make())))
            except Exception as error:  # a full disk, or an object of the program that cannot be described
                known = Kept("", f"{type(error).__name__}: {str(error)[:200]}")
            self._known[failure] = known
        return known

    def _write(self, name: str, text: str) -> Path:
        data = text.encode("utf-8", "backslashreplace")
        if len(data) > LARGEST:
            raise ValueError(f"it would have {len(data)} bytes")
        folder = self._open_folder()
        stem, _, suffix = name.rpartition(".")
        stem = re.sub(r"[^\w.-]+", "_", stem)[:80]
        handle, temporary = tempfile.mkstemp(prefix=".lect-", dir=folder)  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            digest = hashlib.blake2b(data, digest_size=4).hexdigest()
            path = folder / f"{PREFIX}{digest}-{stem}.{suffix}"
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _forget_oldest(folder)
        return path

    def _open_folder(self) -> Path:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder
        folder = Path(tempfile.gettempdir()) / f"lect-{_user()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
            raise PermissionError(f"'{folder}' is not a folder of this user")
        return folder


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


def _forget_oldest(folder: Path) -> None:
    """Remove all but the newest files; others may do the same at this moment."""
    dated = []
    for path in folder.glob(f"{PREFIX}*"):
        try:
            dated.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue
    for _, path in sorted(dated)[:-KEPT]:
        path.unlink(missing_ok=True)
