"""Records of tuning where they lie: in the level `tuning` of the store, and in files that a person writes.

An entry of the store is one record. Its key names the device and the kernel; its parts are

    record.mlir      the record
    kernel.mlir      the canonical text of the kernel, for who reads it; not there for a record that was written by hand

A file has any number of records, for any devices. The records of a file go before those of the store.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lect.dialects import make_context
from lect.dialects.tuning.ops import RecordOp
from lect.ir import Context, LectError, Location, Operation, parse_module, verify
from lect.ir.printer import attribute_text
from lect.passes.targets import device_of
from lect.runtime.graph_texts import TextError
from lect.runtime.store import Damaged, Entry, Store, digest_of

if TYPE_CHECKING:
    from lect.runtime.events import EventLog
    from lect.runtime.timers import Timer
    from lect.runtime.tuner import Tuner

LEVEL = "tuning"
UNTUNED = "untuned"  # the resource of a context that says that not all was measured that should be: the next process is to do it
RECORD, KERNEL = "record.mlir", "kernel.mlir"


def key_of(device: str, kernel: str) -> str:
    """The key of a record in a store."""
    return f"lect tuning 1\ndevice {device}\nkernel {kernel}"


def choices_text(choices: Mapping[str, Any]) -> str:
    """Choices as they stand in a record, without the braces: `warps = 4`."""
    return ", ".join([f"{name} = {attribute_text(value)}" for name, value in choices.items()])


def record_text(record: RecordOp) -> str:
    """A record in the form in which files have it: a line for each fact and for each choice that was measured."""
    lines = [f"tuning.record @{record.sym_name} {{", f"  kernel = {attribute_text(record.kernel)},", f"  device = {attribute_text(record.device)},"]
    lines.append(f"  choices = {{{choices_text(record.choices)}}}" + ("," if record.measured else ""))
    if record.measured:
        lines.append("  measured = [")
        lines += [f"    [{{{choices_text(choices)}}}, {attribute_text(microseconds)}]," for choices, microseconds in record.measured]
        lines[-1] = lines[-1].removesuffix(",")
        lines.append("  ]")
    return "\n".join([*lines, "}"]) + "\n"


def parse_records(text: str, name: str) -> list[RecordOp]:
    """The records of a text; `name` is that of its file.  Raises `TextError`, located in the file, for what is no list of records."""
    try:
        module = parse_module(text, make_context(), name)
        found: dict[tuple[str, str], RecordOp] = {}
        for op in module.body:
            if not isinstance(op, RecordOp):
                raise TextError(f"'{op.name}' is no record of tuning", op.loc, hint="a file of records holds 'tuning.record' operations alone")
            verify(op)
            other = found.setdefault((op.device, op.kernel), op)
            if other is not op:
                raise TextError(f"another record of the same kernel and device stands at {other.loc}", op.loc)
    except TextError:
        raise
    except LectError as error:
        loc = error.loc if error.loc.known else Location(name, 1, 0)
        raise TextError(error.message, loc, hint=error.hint) from error
    return list(found.values())


def read_records(path: Path) -> list[RecordOp]:
    """The records of a file.  Raises `TextError` when it cannot be read or is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TextError(f"the file of tuning records {path} cannot be read: {error}") from error
    return parse_records(text, str(path))


class TuningClock:
    """How many `seconds` a process has measured; what is measured within a measurement counts once."""

    def __init__(self) -> None:
        self.before = 0.0
        self.begun: float | None = None

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        return self.before + (time.perf_counter() - self.begun if self.begun is not None else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """A block in which it runs."""
        if self.begun is not None:
            yield
            return
        self.begun = time.perf_counter()
        try:
            yield
        finally:
            self.before, self.begun = self.seconds, None


class TuningStore:
    """The records of a store, or of this process alone where there is none; `report` is told of what cannot be used.

    `timer` measures for those who make records; left out, it is the clock of the device.
    """

    def __init__(self, store: Store | None, report: Callable[[str], None], timer: Timer | None = None) -> None:
        self.store = store
        self.report = report
        self.timer = timer
        self.own: dict[tuple[str, str], RecordOp] = {}
        self.clock = TuningClock()

    def is_empty(self) -> bool:
        """Whether there is no record, which spares looking for each of them."""
        if self.own:
            return False
        return self.store is None or next(self.store.entries(LEVEL), None) is None

    def entry(self, device: str, kernel: str) -> Entry | None:
        """The record of a kernel as it lies in the store, or would lie there."""
        own = self.own.get((device, kernel))
        if own is not None:
            return Entry(LEVEL, key_of(device, kernel), {RECORD: record_text(own).encode()})
        return None if self.store is None else self.store.get(LEVEL, digest_of(key_of(device, kernel)))

    def find(self, device: str, kernel: str) -> RecordOp | None:
        """The record of a kernel; one that cannot be read is removed and told."""
        entry = self.entry(device, kernel)
        return None if entry is None else self.read(entry)

    def read(self, entry: Entry) -> RecordOp | None:
        """The record of an entry; one that is none is removed and told."""
        try:
            return record_of(entry)
        except (Damaged, LectError) as error:
            self.report(f"removed the record {LEVEL}/{entry.digest[:12]}: {error}")
            if self.store is not None:
                self.store.remove(LEVEL, entry.digest)
            return None

    def keep(self, record: RecordOp, kernel_text: str = "") -> bool:
        """Write a record in the place of an older one of the same kernel, whose text stays; False when only this process has it."""
        key, parts = key_of(record.device, record.kernel), {RECORD: record_text(record).encode()}
        older = self.store.get(LEVEL, digest_of(key), use=False) if self.store is not None and not kernel_text else None
        if kernel_text:
            parts[KERNEL] = kernel_text.encode()
        elif older is not None and KERNEL in older.parts:
            parts[KERNEL] = older.parts[KERNEL]
        if self.store is not None and self.store.put(Entry(LEVEL, key, parts)):
            return True
        self.own[record.device, record.kernel] = record
        return False


def record_of(entry: Entry) -> RecordOp:
    """The record of an entry.  Raises `Damaged` and `LectError` for what is none, or is of another key."""
    if RECORD not in entry.parts:
        raise Damaged("it holds no record")
    records = parse_records(entry.parts[RECORD].decode(errors="replace"), f"{LEVEL}/{entry.digest[:12]}")
    if len(records) != 1 or key_of(records[0].device, records[0].kernel) != entry.key:
        raise Damaged("it holds another record than its key says")
    return records[0]


@dataclass
class CompileRecords:
    """The records that one lowering may use, which the passes ask (`passes/tuning.py`); `consulted` says of each kernel what was found."""

    device: str
    given: Mapping[str, RecordOp]
    store: TuningStore | None
    consulted: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    known: dict[str, RecordOp | None] = field(default_factory=dict)  # by the digests of their texts

    def find(self, kernel: str) -> Mapping[str, Any] | None:
        """The choices for a kernel."""
        digest, record = self._look(kernel)
        self.consulted[kernel] = "" if record is None else digest
        return None if record is None or kernel in self.refused else record.choices

    def record(self, kernel: str) -> RecordOp | None:
        """The record of a kernel: that of the file, else that of the store."""
        return self._look(kernel)[1]

    def _look(self, kernel: str) -> tuple[str, RecordOp | None]:
        """The digest of a record's text, and the record, which is read once as long as its text stays."""
        found = self.given.get(kernel)
        if found is not None:
            return _digest(record_text(found).encode()), found
        entry = self.store.entry(self.device, kernel) if self.store is not None else None
        if entry is None or self.store is None:
            return "", None
        digest = _digest(entry.parts.get(RECORD, b""))
        if digest not in self.known:
            self.known[digest] = self.store.read(entry)
        return digest, self.known[digest]

    def refuse(self, kernel: str, error: LectError) -> None:
        """A record does not fit its kernel.  Raises `TextError` for one out of a file; another is told and not used."""
        record = self.given.get(kernel)
        if record is not None:
            raise TextError(f"the record @{record.sym_name} does not fit its kernel: {error.message}", record.loc)
        self.refused.add(kernel)
        if self.store is not None:
            self.store.report(f"the record of the kernel {kernel[:12]} on {self.device} is not used: {error.message}")

    def asked(self, kernel: str, pair: Operation) -> None:
        """Nothing: what was consulted is noted by `find`."""

    def still(self, consulted: Mapping[str, str] | None) -> bool:
        """Whether a lowering that found `consulted` would find the same now; None says that there was no record of anything."""
        if consulted is None:
            return False
        return all(self._now(kernel) == found for kernel, found in consulted.items())

    def _now(self, kernel: str) -> str:
        """The digest of a record's text, which is not read for that."""
        if kernel in self.given:
            return _digest(record_text(self.given[kernel]).encode())
        entry = self.store.entry(self.device, kernel) if self.store is not None else None
        return "" if entry is None else _digest(entry.parts.get(RECORD, b""))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def records_for(target: Mapping[str, Any], options: Mapping[str, Any], store: TuningStore | None) -> CompileRecords | None:
    """The records for a compile of a target; None where there are none at all, unless it is to make some.  Raises `TextError` for a junk file."""
    device = device_of(target)
    given = {record.kernel: record for record in read_records(Path(options["tuning"])) if record.device == device} if options.get("tuning") else {}
    if not given and not options.get("autotune") and (store is None or store.is_empty()):
        return None
    return CompileRecords(device, given, store)


def tuner_of(name: str, graph: Operation, ctx: Context, log: EventLog) -> Tuner | None:
    """What measures the kernels of a compile of the function `name`, if its options ask for that; loaded only then."""
    if not ctx.options.get("autotune"):
        return None
    from lect.runtime.machines import devices_of
    from lect.runtime.tuner import Tuner

    tuner = Tuner.of(name, ctx, log, next((each for each in devices_of(graph) if each != "cpu"), "cpu"))
    ctx.resources[UNTUNED] = tuner is None
    return tuner
