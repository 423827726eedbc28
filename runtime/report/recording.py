"""What is kept of compiles for a report: the text of each level and behind each pass that changed something, and when everything happened.

A recorder stands in an event log (`log.recorder`); each watch over a compile asks it for a `Record`.  Times are those of a clock that stands still
while something is recorded, so they are the compiler's own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any

from lect.ir import UNKNOWN, Context, LectError, Location, Operation
from lect.ir.located_text import LocatedLines, StableNames, located_lines
from lect.ir.text_memory import parts_of, same_parts
from lect.passes.instrument import Instrument
from lect.runtime.graph_texts import CAPTURE, shown_ops

if TYPE_CHECKING:
    from lect.passes.manager import PassManager
    from lect.runtime.events import Event, EventLog

# Operation at the top of a module -> the level that it belongs to.
LEVEL_OF: Mapping[str, str] = MappingProxyType(
    {
        "pyframe.func": "residual",
        "guard.set": "guard",
        "fx.graph": "fx",
        "functional.func": "functional",
        "loop.func": "loop",
        "kernel.func": "kernel",
        "host.func": "host",
    }
)
MOST_EVENTS = 10_000
MOST_RECORDS = 400  # compiles in one report; what comes later is counted


class LineTable:
    """Every line that some text has, once; `numbers` are the place of a line with its location."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, Location]] = []
        self._numbers: dict[tuple[str, Location], int] = {}

    def add(self, text: LocatedLines) -> list[int]:
        """The numbers of the lines of a text."""
        numbers, lines, found = self._numbers, self.lines, []
        for line in zip(*text):
            number = numbers.get(line)
            if number is None:
                number = numbers[line] = len(lines)
                lines.append(line)
            found.append(number)
        return found


@dataclass
class Step:
    """A pass that ran, and the module behind it where that is another (`text`: numbers of lines)."""

    stage: str
    name: str
    start: float
    end: float
    text: list[int] | None = None


@dataclass
class Record:
    """What is known of one compile, or of one backward.

    `frame` is a number that all versions of one frame share; `complete` is False for a compile that was given up for another.  `levels` are the texts of
    the levels by name, in order, `start_texts` the modules in front of each stage.  `spans` are the stages with their beginning and end in seconds.
    `places` are guards and where they were asked for, `called` the functions that were followed and from where, `named` the functional
    operations of each place, `events` those of this compile.  `lost` is what
    went wrong with recording, which never stops the compile.
    """

    recorder: Recorder
    function: str
    backward: bool = False
    start: float = 0.0
    end: float = 0.0
    frame: int = 0
    version: int | None = None
    complete: bool = False
    levels: dict[str, list[int]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    start_texts: dict[str, list[int]] = field(default_factory=dict)
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    places: list[tuple[str, Location]] = field(default_factory=list)
    fusion: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    called: Set[tuple[Location, CodeType]] = frozenset()
    named: dict[Location, list[str]] = field(default_factory=dict)
    lowered: Operation | None = None
    target: Mapping[str, Any] = field(default_factory=dict)
    lost: str = ""
    _names: StableNames = field(default_factory=StableNames)
    _shown: dict[Operation, tuple[list[Any], list[int]]] = field(default_factory=dict)
    _last: list[int] = field(default_factory=list)

    def instrument(self, stage: str) -> Instrument:
        """What records the passes of a stage."""
        return _RecordPasses(self, stage)

    def begin_stage(self, stage: str, now: float) -> None:
        """Note that a stage begins, and the one before is over; an empty name ends the last."""
        self.end_stage(now)
        if stage:
            self.spans.append((stage, now, 0.0))

    def end_stage(self, now: float) -> None:
        """Note that the stage is over, if that is not known yet.  What passes until the next begins is no stage's, such as the loading of its passes."""
        if self.spans and self.spans[-1][2] == 0.0:
            name, start, _ = self.spans[-1]
            self.spans[-1] = (name, start, now)
        self.end = now

    def opened(self, module: Operation, stage: str) -> None:
        """The module in front of the first pass of a stage."""
        if stage == CAPTURE:
            self.levels["pyframe"] = self.recorder.table.add(_joined([located_lines(op) for op in module.body]))
        elif "functional" not in self.levels and stage == "loop":
            self.take_levels(module, stage)
        self.start_texts[stage] = self._last = self._text(module, stage)

    def passed(self, module: Operation, stage: str) -> list[int] | None:
        """The module behind a pass, as numbers of lines; None where it is the same."""
        last, self._last = self._last, self._text(module, stage)
        return None if last == self._last else self._last

    def _text(self, module: Operation, stage: str) -> list[int]:
        """A function is printed where some part of it is another object than it was."""
        before, self._shown = self._shown, {}
        numbers: list[int] = []
        for op in shown_ops(module, stage):
            parts = parts_of(op)
            known = before.get(op)
            kept = known if known is not None and same_parts(known[0], parts) else (parts, self.recorder.table.add(located_lines(op, self._names)))
            self._shown[op] = kept
            numbers += kept[1]
        return numbers

    def take_levels(self, module: Operation, stage: str) -> None:
        """The texts of the levels that stand in a module, and what the pictures show of them."""
        found: dict[str, list[LocatedLines]] = {}
        for op in shown_ops(module, stage):
            level = LEVEL_OF.get(op.name)
            if level is not None:
                found.setdefault(level, []).append(located_lines(op))
            if level == "guard":
                self.places += [(_guard_text(inner), inner.loc) for inner in op.body if inner.name != "guard.source" and inner.loc.known]
        for level, texts in found.items():
            self.levels[level] = self.recorder.table.add(_joined(texts))
        if "functional" in found:
            self.named = _functional_names(module)
        if "loop" in found:
            from lect.runtime.report.fusion import fusion_of
            from lect.runtime.report.memory import memory_of

            self.fusion, self.memory = fusion_of(module, self.named), memory_of(module)

    def linked(self, module: Operation, target: Mapping[str, Any]) -> None:
        """The module is lowered to the end; its backends' texts are made when the report is written."""
        self.lowered, self.target = module, dict(target)
        if self.backward:
            self.begin_stage("emit", self.recorder.clock())


def _joined(texts: list[LocatedLines]) -> LocatedLines:
    """Several texts as one, with an empty line between."""
    lines: list[str] = []
    places: list[Location] = []
    for more, where in texts:
        if lines:
            lines.append("")
            places.append(UNKNOWN)
        lines += more
        places += where
    return lines, places


def _guard_text(op: Operation) -> str:
    """A guard in a few words for the margin: what is asked, of which path."""
    paths = [value.op.attrs["path"].print_body() for value in op.operands if value.op is not None and "path" in value.op.attrs]
    return f"{op.name.removeprefix('guard.')} {' '.join(paths)}".strip()


def _functional_names(module: Operation) -> dict[Location, list[str]]:
    """The functional operations of each place of the program."""
    found: dict[Location, list[str]] = {}
    for func in module.body:
        if func.name == "functional.func":
            for op in func.body:
                name = op.name.removeprefix("functional.")
                names = found.setdefault(op.loc, [])
                if name not in names and name not in ("return", "constant"):
                    names.append(name)
    return found


@dataclass
class _RecordPasses(Instrument):
    """Records the passes of a stage."""

    record: Record
    stage: str
    _start: float = 0.0

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        recorder = self.record.recorder
        if position == 0:
            with recorder.paused(self.record):
                self.record.opened(op, self.stage)
            if self.record.backward:
                self.record.begin_stage(self.stage, recorder.clock())
        self._start = recorder.clock()

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        recorder = self.record.recorder
        step = Step(self.stage, manager.passes[position].name, self._start, recorder.clock())
        self.record.steps.append(step)
        last = position == len(manager.passes) - 1
        if last:
            self.record.end_stage(step.end)
        with recorder.paused(self.record):
            step.text = self.record.passed(op, self.stage)
            if last:
                self.record.take_levels(op, self.stage)
                if self.stage == CAPTURE:
                    self.record.called = ctx.resources.get("called", frozenset())

    def failed(self, manager: PassManager, position: int, op: Operation, ctx: Context, error: LectError) -> None:
        self.record.steps.append(Step(self.stage, manager.passes[position].name, self._start, self.record.recorder.clock()))


class Recorder:
    """All compiles of a log from now on, in order."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.records: list[Record] = []
        self.table = LineTable()
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self.more = 0
        self._frames: list[Any] = []
        self._lost = 0.0
        self._pauses = 0
        self._begun = time.perf_counter()
        self._stop = log.listen(self._hear)
        log.recorder = self

    def clock(self) -> float:
        """Seconds since the beginning, without those spent on recording."""
        return time.perf_counter() - self._begun - self._lost

    @contextmanager
    def paused(self, record: Record | None = None) -> Iterator[None]:
        """What is done here takes no time; what goes wrong with a record is noted there."""
        start = time.perf_counter()
        self._pauses += 1
        try:
            yield
        except Exception as error:
            if record is None:
                raise
            record.lost = f"{type(error).__name__}: {error}"
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._lost += time.perf_counter() - start

    def begin(self, function: str, frame: Any) -> Record | None:
        """The record of a compile of a frame that begins; None when there are too many."""
        return self._add(function, self.frame_number(frame), False)

    def begin_backward(self, forward: Record) -> Record | None:
        """The record of a backward of a compile."""
        return self._add(forward.function, forward.frame, True)

    def _add(self, function: str, frame: int, backward: bool) -> Record | None:
        if len(self.records) >= MOST_RECORDS:
            self.more += 1
            return None
        now = self.clock()
        record = Record(self, function, backward, now, now, frame)
        self.records.append(record)
        return record

    def frame_number(self, frame: Any) -> int:
        """A number for what is compiled: a function, a module or the rest of a frame.  It is kept alive, as numbers of objects are given again."""
        for number, known in enumerate(self._frames):
            if known is frame:
                return number
        self._frames.append(frame)
        return len(self._frames) - 1

    def complete_records(self) -> list[Record]:
        """The records of compiles that came to an end."""
        return [record for record in self.records if record.complete]

    def forget(self) -> None:
        """Begin anew."""
        self.records.clear()
        self.table = LineTable()
        self.events.clear()
        self._frames.clear()

    def stop(self) -> None:
        """Record nothing any more."""
        self._stop()
        self.log.recorder = None

    def _hear(self, event: Event) -> None:
        """Keep an event, and take it to the compile that it is of: the last one of its function."""
        if event.kind != "stage":
            self.events.append(event)
        record = next((each for each in reversed(self.records) if each.function == event.function and each.backward == (event.kind in OF_A_BACKWARD)), None)
        if record is None:
            return
        if event.kind == "stage":
            record.begin_stage(event.stage, self.clock())  # type: ignore[attr-defined]
        elif event.kind in OF_A_COMPILE:
            record.events.append(event)
        elif event.kind in OF_A_BACKWARD:
            record.begin_stage("", self.clock())
            record.events.append(event)
        if event.kind == "compile":
            record.version = event.version  # type: ignore[attr-defined]


OF_A_COMPILE = frozenset({"trace", "compile", "not native", "static sizes", "graph break", "fallback", "note", "override", "not checked"})
OF_A_BACKWARD = frozenset({"backward", "backward fallback"})
