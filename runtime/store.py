"""A content-addressed store on disk: results of compiles, kept for later processes under keys that name all they depend on.

    root/graph/3f/3f0a....zip     one entry: key.txt, the parts, and manifest.json with the SHA-256 of each of them

The name of an entry is the SHA-256 of its key, and the key is text: two keys that ought to be one can be compared line by line.  Entries are plain zip
archives.  An entry is written to a file beside it and renamed, so readers see all of it or nothing, whoever else writes at the same time or is killed.
What does not verify is removed and counts as absent.  Nothing that is read is unpickled or evaluated; but machine code is code, so only a folder of
this user is used.

Levels are `graph` (host programs), `kernel` (object code) and `tuning` (records of measurements).  Least recently used entries go when the store is
larger than its limit.  Nothing here raises for what a disk does: `report` is told once why entries are not written any more.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import os
import re
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lect.ir import LectError

LEVELS = ("graph", "kernel", "tuning")
FORMAT = 1
KEY, MANIFEST = "key.txt", "manifest.json"
LIMIT = 2 * 1024**3
"""Bytes that a store may hold by itself."""
LARGEST = 256 * 1024**2  # bytes of one entry
ABANDONED = 3600.0  # seconds after which an unfinished file belongs to nobody
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MEMBER = re.compile(r"(graph|kernel|tuning)/([0-9a-f]{64})\.zip")
_PART = re.compile(r"[a-z_]+\.[a-z]+")


def digest_of(key: str) -> str:
    """The name of the entry with this key."""
    return hashlib.sha256(key.encode()).hexdigest()


class Damaged(Exception):
    """An entry is not what was written, and why."""


@dataclass(frozen=True)
class Entry:
    """What the store holds under one key: named parts, such as `host.mlir`."""

    level: str
    key: str
    parts: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """The SHA-256 of the key, in hexadecimal."""
        return digest_of(self.key)

    def text(self, part: str) -> str:
        """A part that is text.  Raises KeyError when there is no such part."""
        return self.parts[part].decode()

    def facts(self) -> dict[str, Any]:
        """The part `facts.json`.  Raises `Damaged` for anything but one JSON object."""
        try:
            found = json.loads(self.parts["facts.json"])
        except (KeyError, ValueError) as error:
            raise Damaged(f"no readable facts: {error}") from None
        if type(found) is not dict:
            raise Damaged("its facts are no JSON object")
        return found

    def pack(self) -> bytes:
        """The bytes of the archive."""
        members = {KEY: self.key.encode(), **self.parts}
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
        manifest = {"format": FORMAT, "level": self.level, "sha256": sums}
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, data in {MANIFEST: json.dumps(manifest, indent=1).encode(), **members}.items():
                # a ZipInfo of its own has no time in it, so that equal entries are equal bytes
                archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, compresslevel=1)
        return out.getvalue()

    @classmethod
    def unpack(cls, data: bytes) -> Entry:
        """The entry in an archive.  Raises `Damaged` when a byte of it is not as it was written."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if sum(info.file_size for info in archive.infolist()) > LARGEST:
                    raise Damaged("it is too large")
                members = {name: archive.read(name) for name in archive.namelist()}
            manifest = json.loads(members.pop(MANIFEST))
            sums, level, form = manifest["sha256"], manifest["level"], manifest["format"]
        except Damaged:
            raise
        except Exception as error:  # whatever a broken archive makes zipfile, zlib or json raise
            raise Damaged(f"{type(error).__name__}: {error}") from None
        if form != FORMAT or level not in LEVELS or type(sums) is not dict or KEY not in members:
            raise Damaged("its manifest is of another format")
        if {name: hashlib.sha256(part).hexdigest() for name, part in members.items()} != sums:
            raise Damaged("a part does not have the checksum that the manifest says")
        key = members.pop(KEY).decode(errors="replace")
        if not all(_PART.fullmatch(name) for name in members):
            raise Damaged("a part has a name that is none")
        return cls(level, key, members)


@dataclass(frozen=True)
class Listed:
    """An entry as `ls` shows it: its size in bytes, and when it was last used, in seconds since the epoch."""

    level: str
    digest: str
    size: int
    used: float


def _report_nothing(reason: str) -> None:
    """What a store without a listener does with a reason."""


@dataclass
class Store:
    """The entries below `root`, at most `limit` bytes of them.  `report` is told why the store cannot be used or written, once."""

    root: Path
    limit: int = LIMIT
    report: Callable[[str], None] = _report_nothing
    _unwritable: bool = False
    _since_collection: int | None = None  # bytes written since sizes were last looked at
    _trusted: bool | None = field(default=None)

    def get(self, level: str, digest: str, use: bool = True) -> Entry | None:
        """The entry of that name, or None.  A damaged one is removed.  `use` says that it is taken for what it is there for, which keeps it longer."""
        if not self._may_use():
            return None
        path = self._path(level, digest)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            entry = Entry.unpack(data)
            if entry.level != level or entry.digest != digest:
                raise Damaged("it lies under the name of another")
        except Damaged as reason:
            self.report(f"removed the damaged entry {level}/{digest[:12]}: {reason}")
            self.remove(level, digest)
            return None
        if use:
            try:
                os.utime(path)  # for who looks which entries were used least recently
            except OSError:
                pass
        return entry

    def put(self, entry: Entry) -> bool:
        """Write an entry; False when that is not possible, which is told once."""
        if self._unwritable or not self._may_use(create=True):
            return False
        data = entry.pack()
        if len(data) > min(self.limit, LARGEST):
            return False
        try:
            self._write(self._path(entry.level, entry.digest), data)
        except OSError as error:
            self._unwritable = True
            self.report(f"nothing is written to {self.root} any more: {error}")
            return False
        self._after_write(len(data))
        return True

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _after_write(self, size: int) -> None:
        """Look at the size of all entries at the first write of a process, and again when a sixteenth of the limit has been written."""
        if self._since_collection is None or self._since_collection + size > self.limit // 16:
            self.collect()
            self._since_collection = 0
        else:
            self._since_collection += size

    def _may_use(self, create: bool = False) -> bool:
        """True when the folder is there (or is made now) and is this user's alone to write: machine code comes out of it."""
        if self._trusted is None:
            if create:
                try:
                    self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
                except OSError as error:
                    self._unwritable = True
                    self.report(f"no cache in {self.root}: {error}")
                    return False
            try:
                found = self.root.stat()
            except OSError:
                return False
            foreign = hasattr(os, "getuid") and found.st_uid != os.getuid()
            self._trusted = not (foreign or found.st_mode & stat.S_IWOTH)
            if not self._trusted:
                self.report(f"the folder {self.root} is not used as a cache: others than this user can write to it")
        return self._trusted

    def _path(self, level: str, digest: str) -> Path:
        if level not in LEVELS or not _DIGEST.fullmatch(digest):
            raise ValueError(f"no entry is called {level}/{digest}")
        return self.root / level / digest[:2] / f"{digest}.zip"

    def remove(self, level: str, digest: str) -> None:
        """Remove an entry, if it is there and may be removed."""
        try:
            self._path(level, digest).unlink(missing_ok=True)
        except OSError:
            pass

    # ---- what is there -----------------------------------------------------------------------------------------------

    def entries(self, *levels: str) -> Iterator[Listed]:
        """All entries, or those of some levels, in no order, without reading them."""
        for level in levels or LEVELS:
            for path in (self.root / level).glob("??/*.zip"):
                if _DIGEST.fullmatch(path.stem):
                    try:
                        found = path.stat()
                    except OSError:
                        continue
                    yield Listed(level, path.stem, found.st_size, found.st_mtime)

    def find(self, beginning: str) -> Entry:
        """The entry whose digest (or level/digest) begins so.  Raises `LectError` when that is not exactly one, or it is damaged."""
        level, _, digest = beginning.rpartition("/")
        found = [each for each in self.entries() if each.digest.startswith(digest) and level in ("", each.level)]
        if len(found) != 1:
            raise LectError(f"{len(found)} entries of the cache begin with '{beginning}'", hint="lect cache ls lists them")
        entry = self.get(found[0].level, found[0].digest, use=False)
        if entry is None:
            raise LectError(f"the entry '{beginning}' was damaged, and is removed")
        return entry

    def collect(self, limit: int | None = None) -> int:
        """Remove least recently used entries until `limit` bytes are left, and files that nobody finished; the bytes that were removed."""
        limit = self.limit if limit is None else limit
        found = sorted(self.entries(), key=lambda each: each.used)
        total = sum(each.size for each in found)
        removed = 0
        for each in found:
            if total - removed <= limit:
                break
            self.remove(each.level, each.digest)
            removed += each.size
        for path in self.root.glob("*/??/.new-*"):
            try:
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink(missing_ok=True)
            except OSError:
                continue
        return removed

    # ---- one file for all --------------------------------------------------------------------------------------------

    def export(self, path: Path) -> int:
        """Write all entries into one archive, for `load` on another machine; how many there are.  Raises OSError."""
        count = 0
        handle, temporary = tempfile.mkstemp(prefix=".new-", dir=path.absolute().parent)
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for each in sorted(self.entries(), key=lambda each: (each.level, each.digest)):
                    entry = self.get(each.level, each.digest, use=False)
                    if entry is not None:
                        archive.writestr(zipfile.ZipInfo(f"{each.level}/{each.digest}.zip"), entry.pack())
                        count += 1
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return count

    def load(self, path: Path) -> int:
        """Take over the entries of an archive that `export` wrote; how many.  Raises `LectError` for what is none, or holds a damaged entry, and OSError;
        nothing is taken over then."""
        entries = []
        try:
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    match = _MEMBER.fullmatch(info.filename)
                    if match is None or info.file_size > LARGEST:
                        raise Damaged(f"'{info.filename}' is no entry")
                    entry = Entry.unpack(archive.read(info))
                    if (entry.level, entry.digest) != match.groups():
                        raise Damaged(f"'{info.filename}' holds another entry")
                    entries.append(entry)
        except (Damaged, zipfile.BadZipFile, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
            raise LectError(f"{path} is no export of a cache: {error}") from None
        return sum([self.put(entry) for entry in entries])


def why(a: Entry, b: Entry) -> str:
    """The lines in which the keys of two entries differ, as a unified diff; empty when they are equal."""
    return "\n".join(difflib.unified_diff(a.key.splitlines(), b.key.splitlines(), a.digest[:12], b.digest[:12], n=0, lineterm=""))
