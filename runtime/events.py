"""Events: what the runtime did and why, as typed records in one stream.

Every decision that a person may ask about is one record here: a frame was traced, a guard missed, a version was compiled, a frame runs eagerly.
Logs, `lect.explain` and reports read this stream; nothing else is printed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from lect.runtime.failure_files import FailureFiles

if TYPE_CHECKING:
    from lect.runtime.report.recording import Recorder
    from lect.runtime.tuning_records import TuningStore

KEPT_EVENTS = 10_000


@dataclass(frozen=True)
class Event:
    """Base of all events: `kind` names the class of event, `function` the compiled function, `time` is seconds since the epoch."""

    kind: ClassVar[str] = "event"
    function: str
    time: float = field(default_factory=time.time, kw_only=True, compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.function}: {self.text()}"

    def text(self) -> str:
        """The facts of this event in one line."""
        return ""


@dataclass(frozen=True)
class Trace(Event):
    """A frame was followed: numbers of inlined frames, torch calls, guards and replayed effects, and the seconds that it took."""

    kind: ClassVar[str] = "trace"
    seconds: float = 0.0
    frames: int = 0
    torch_calls: int = 0
    guards: int = 0
    effects: int = 0

    def text(self) -> str:
        return f"{self.torch_calls} torch calls in {self.frames} frames, {self.guards} guards, {self.effects} effects, {self.seconds * 1e3:.1f} ms"


@dataclass(frozen=True)
class Compile(Event):
    """A version was made: its number, the seconds by stage, and who runs the graph: native code, or torch for the reason with this number.

    `seeded` random operators have lect's stream of numbers; with `options={"rng": "eager"}` there are none.
    """

    kind: ClassVar[str] = "compile"
    version: int = 0
    stages: tuple[tuple[str, float], ...] = ()
    through_torch: str = ""
    seeded: int = 0

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(seconds for _, seconds in self.stages)

    def text(self) -> str:
        times = ", ".join(f"{name} {seconds * 1e3:.1f}" for name, seconds in self.stages)
        graph = f", graph through torch: {self.through_torch}" if self.through_torch else ""
        numbers = f", {self.seeded} random operators with lect's numbers" if self.seeded else ""
        return f"version {self.version} in {self.seconds * 1e3:.1f} ms ({times}){graph}{numbers}"


@dataclass(frozen=True)
class NotNative(Event):
    """Python does what native code would do faster: what that is, and why."""

    kind: ClassVar[str] = "not native"
    what: str = ""
    reason: str = ""

    def text(self) -> str:
        return f"{self.what} Python: {self.reason}"


@dataclass(frozen=True)
class StageBegins(Event):
    """A stage of a compile begins; without a name, the last one is over.  Listeners alone are told of it."""

    kind: ClassVar[str] = "stage"
    stage: str = ""

    def text(self) -> str:
        return self.stage or "done"


@dataclass(frozen=True)
class Passes(Event):
    """The passes of a stage that ran, and the seconds that each took."""

    kind: ClassVar[str] = "passes"
    stage: str = ""
    steps: tuple[tuple[str, float], ...] = ()

    def text(self) -> str:
        return f"{self.stage}: " + ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.steps)


@dataclass(frozen=True)
class GuardMiss(Event):
    """A guard of an existing version did not hold: its text, the path it is on, both values, and the line that asked for it."""

    kind: ClassVar[str] = "guard miss"
    version: int = 0
    guard: str = ""
    source: str = ""
    expected: str = ""
    found: str = ""
    location: str = ""

    def text(self) -> str:
        place = f" (asked for at {self.location})" if self.location else ""
        return f"version {self.version}: {self.guard} of {self.source or 'torch'}: expected {self.expected}, found {self.found}{place}"


@dataclass(frozen=True)
class Recompile(Event):
    """A further version is made because no existing one holds; `numbers` are the paths of numbers that are constants no more, `sizes` the sizes that are
    symbols from now on, with what they were and what they are."""

    kind: ClassVar[str] = "recompile"
    versions: int = 0
    reason: str = ""
    numbers: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()

    def text(self) -> str:
        known = "".join([f"; {path} became a run-time number" for path in self.numbers])
        known += "".join([f"; {change}: dynamic from now on" for change in self.sizes])
        return f"version {self.versions + 1}, as {self.reason}{known}"


@dataclass(frozen=True)
class StaticSizes(Event):
    """A size that changes or might is compiled as the integer at hand: `size` is its path, or "all", `reason` what needs it, `location` where.

    `value` is the size that was seen, `marked` the mark by which the program wants it dynamic, `hint` what can be done.  With "found" for `size`, frames are
    cut in front of the calls that find sizes, such as `nonzero`.
    """

    kind: ClassVar[str] = "static sizes"
    size: str = ""
    reason: str = ""
    location: str = ""
    value: int | None = None
    marked: str = ""
    hint: str = ""

    def text(self) -> str:
        what = "all sizes are compiled as at hand" if self.size == "all" else f"{self.size} is compiled as at hand"
        what = "frames are cut where elements decide a size" if self.size == "found" else what
        what += f", {self.value}" if self.value is not None else ""
        what += f", though the program says {self.marked}" if self.marked else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{what}: {self.reason}" + (f" ({self.location})" if self.location else "") + hint


@dataclass(frozen=True)
class Obstacle(Event):
    """Base of the events about what is in the way: the number of the reason, what exactly, and where in the user's program.

    When lect itself failed, `file` is what replays that, by the command `replay`.
    """

    number: str = ""
    title: str = ""
    detail: str = ""
    location: str = ""
    hint: str = ""
    file: str = field(default="", kw_only=True)
    replay: str = field(default="", kw_only=True)

    def advice(self) -> str:
        """The hint, and how a failure of lect is replayed."""
        return f"{self.hint}; replay it with: {self.replay}" if self.replay else self.hint

    def what(self) -> str:
        """Place, number, title and detail."""
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.number} {self.title}: {self.detail}"


@dataclass(frozen=True)
class Break(Obstacle):
    """A frame is left at one operation, which runs eagerly, and entered again behind it; `frames` are the functions that were cut, outermost first."""

    kind: ClassVar[str] = "graph break"
    frames: tuple[str, ...] = ()

    def text(self) -> str:
        through = f" (in {' <- '.join(reversed(self.frames))})" if len(self.frames) > 1 else ""
        return f"{self.what()}{through} ({self.hint})"


@dataclass(frozen=True)
class Fallback(Obstacle):
    """A frame runs eagerly; `stage` is the one that refused.  `calls` says how the program came to the place, the outermost call first."""

    kind: ClassVar[str] = "fallback"
    stage: str = "capture"
    calls: tuple[str, ...] = ()

    def text(self) -> str:
        return f"{self.what()} (stage {self.stage}; {self.advice()})"


@dataclass(frozen=True)
class Note(Fallback):
    """A frame is compiled, but torch runs the calls of its graph one by one: guards, residual code and effects are the compiled frame's."""

    kind: ClassVar[str] = "note"

    def text(self) -> str:
        return f"{self.what()}; the graph runs through torch (stage {self.stage}; {self.advice()})"


@dataclass(frozen=True)
class BackwardCompile(Event):
    """The backward of a graph was compiled, when it was first asked for: the seconds that took, and the results whose gradients it takes."""

    kind: ClassVar[str] = "backward"
    seconds: float = 0.0
    results: tuple[int, ...] = ()

    def text(self) -> str:
        return f"compiled for gradients of results {', '.join(map(str, self.results))} in {self.seconds * 1e3:.1f} ms"


@dataclass(frozen=True)
class BackwardFallback(Event):
    """The backward of a graph could not be compiled: torch runs its operations one by one, or the graph once more to differentiate it.

    When lect itself failed, `number` says so, and `file` is what replays that, by the command `replay`.
    """

    kind: ClassVar[str] = "backward fallback"
    detail: str = ""
    number: str = ""
    file: str = field(default="", kw_only=True)
    replay: str = field(default="", kw_only=True)

    def text(self) -> str:
        number = f"{self.number} " if self.number else ""
        return f"the backward runs through torch: {number}{self.detail}" + (f" (replay it with: {self.replay})" if self.replay else "")


@dataclass(frozen=True)
class GraphRecorded(Event):
    """The device work of a graph was recorded: how many steps and bytes of memory it has, which arguments are copied and how many addresses may be patched in
    a replay, and why it was made."""

    kind: ClassVar[str] = "recording"
    nodes: int = 0
    bytes: int = 0
    copied: tuple[int, ...] = ()
    patchable: int = 0
    reason: str = ""

    def text(self) -> str:
        copied = f", copies arguments {', '.join(map(str, self.copied))}" if self.copied else ""
        return f"{self.nodes} steps, {self.bytes / 1e6:.1f} MB{copied}, {self.patchable} arguments patched where they move: {self.reason}"


@dataclass(frozen=True)
class RecordingChoice(Event):
    """In the default mode a graph was measured, and is recorded from now on, or is not; behind that its replays were measured, and recordings stay or go.

    The times are those of a call in microseconds: how long the host works for it, and how long the device does from its begin to its end, in which it may wait
    for the host; `recorded_host` and `recorded_device` are the same of a replay.
    """

    kind: ClassVar[str] = "recording choice"
    choice: str = ""
    host: float = 0.0
    device: float = 0.0
    recorded_host: float = 0.0
    recorded_device: float = 0.0

    def text(self) -> str:
        before = f"host {self.host:.0f} us, device {self.device:.0f} us a call"
        if not self.recorded_host and not self.recorded_device:
            return f"{self.choice}: {before}"
        return f"{self.choice}: {before}, with them host {self.recorded_host:.0f} us, device {self.recorded_device:.0f} us"


@dataclass(frozen=True)
class RecordingSplit(Event):
    """The device work of a graph is recorded in so many parts, around operations that cannot be recorded; `reason` names the first of them."""

    kind: ClassVar[str] = "recording split"
    parts: int = 0
    reason: str = ""

    def text(self) -> str:
        return f"{self.parts} part{'s are' if self.parts != 1 else ' is'} recorded, around {self.reason}"


@dataclass(frozen=True)
class GraphDropped(Event):
    """A recording was dropped after so many uses, as there are too many others or its results are kept for long; these stay valid."""

    kind: ClassVar[str] = "recording dropped"
    bytes: int = 0
    uses: int = 0

    def text(self) -> str:
        return f"{self.bytes / 1e6:.1f} MB after {self.uses} replays"


@dataclass(frozen=True)
class RecordingOff(Event):
    """The device work of a graph is not recorded, and why: the operation that cannot be, or what the device said."""

    kind: ClassVar[str] = "recording off"
    reason: str = ""

    def text(self) -> str:
        return f"runs without recordings: {self.reason}"


@dataclass(frozen=True)
class CacheLookup(Event):
    """The cache was asked for a lowered graph: the level and the name of the entry, whether it was there, and the seconds that this took."""

    kind: ClassVar[str] = "cache"
    level: str = ""
    digest: str = ""
    found: bool = False
    seconds: float = 0.0

    def text(self) -> str:
        return f"{'hit' if self.found else 'miss'} of {self.level}/{self.digest[:12]} in {self.seconds * 1e3:.1f} ms"


@dataclass(frozen=True)
class CacheProblem(Event):
    """The cache on disk cannot be read or written, or an entry of it was damaged and removed; what was asked for is made anew."""

    kind: ClassVar[str] = "cache problem"
    detail: str = ""

    def text(self) -> str:
        return self.detail


@dataclass(frozen=True)
class TuningBegins(Event):
    """Kernels that no record of tuning knows are measured on a device: how many."""

    kind: ClassVar[str] = "tuning begins"
    kernels: int = 0
    device: str = ""

    def text(self) -> str:
        return f"{self.kernels} kernels are measured on {self.device}"


@dataclass(frozen=True)
class Tuning(Event):
    """A kernel was measured and a record written: its name and the hash that records know it by, the choices that were the fastest, their time and that of
    the estimate's in microseconds, all choices with their times, fastest first, and the seconds that it took, beside other kernels."""

    kind: ClassVar[str] = "tuning"
    name: str = ""
    kernel: str = ""
    device: str = ""
    choices: str = ""
    microseconds: float = 0.0
    before: float = 0.0
    table: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0

    def text(self) -> str:
        than = f", {self.before:.1f} us before" if self.before != self.microseconds else ", as estimated"
        change = f"{self.microseconds:.1f} us with {self.choices}{than}"
        return f"@{self.name} ({self.kernel[:12]}): {change}; {len(self.table)} forms in {self.seconds:.1f} s"


@dataclass(frozen=True)
class TuningStopped(Event):
    """The seconds that a process may measure are over: so many kernels of the function are left to the estimates, and to the next process."""

    kind: ClassVar[str] = "tuning stopped"
    kernels: int = 0
    seconds: float = 0.0

    def text(self) -> str:
        left = f"{self.kernels} kernels are" if self.kernels != 1 else "1 kernel is"
        return f"{left} left to the estimates, and to the next process, as {self.seconds:.1f} s were measured"


@dataclass(frozen=True)
class TuningProblem(Event):
    """A record of tuning cannot be read, or does not fit its kernel, and is not used; the estimate decides."""

    kind: ClassVar[str] = "tuning problem"
    detail: str = ""

    def text(self) -> str:
        return self.detail


@dataclass(frozen=True)
class Dumped(Event):
    """The text of a compile was written: how many files, and the folder they lie in."""

    kind: ClassVar[str] = "dump"
    files: int = 0
    folder: str = ""

    def text(self) -> str:
        return f"{self.files} files in {self.folder}"


@dataclass(frozen=True)
class Overridden(Event):
    """An edited text was used instead of what the compiler made: from which level or pass on, or for a kernel (then `level` is empty), and the file."""

    kind: ClassVar[str] = "override"
    level: str = ""
    file: str = ""

    def text(self) -> str:
        return f"{self.file} is used " + (f"from {self.level} on" if self.level else "for its kernel")


@dataclass(frozen=True)
class UnusedText(Event):
    """The process ends, and no compile has used an edited text."""

    kind: ClassVar[str] = "unused text"
    file: str = ""

    def text(self) -> str:
        return f"no compile has used the edited text {self.file}"


@dataclass(frozen=True)
class Different(Event):
    """A compiled graph gave other values than eager: which values, how they differ, and what pass did it; `replay` is the command that shows it."""

    kind: ClassVar[str] = "wrong value"
    what: str = ""
    difference: str = ""
    where: str = ""
    file: str = field(default="", kw_only=True)
    replay: str = field(default="", kw_only=True)

    def text(self) -> str:
        return f"{self.what} differ from eager's: {self.difference}; {self.where}" + (f" (replay it with: {self.replay})" if self.replay else "")


@dataclass(frozen=True)
class Unchecked(Event):
    """A compiled graph is not compared with eager, and why."""

    kind: ClassVar[str] = "not checked"
    reason: str = ""

    def text(self) -> str:
        return self.reason


class EventLog:
    """The last events, oldest first, and the listeners that are told of each; `files` are those of the failures among them, `recorder` keeps what a report
    of the compiles shows."""

    def __init__(self, files: FailureFiles | None = None) -> None:
        self.files = FailureFiles() if files is None else files
        self.tuning: TuningStore | None = None  # the records that compiles may use
        self._events: deque[Event] = deque(maxlen=KEPT_EVENTS)
        self._listeners: list[Callable[[Event], Any]] = []
        self._graphs: dict[str, int] = {}
        self.recorder: Recorder | None = None

    def next_graph(self, folder: str) -> int:
        """How many watched compiles with folders of this name there were before, counting from now on this one."""
        number = self._graphs.get(folder, 0)
        self._graphs[folder] = number + 1
        return number

    def add(self, event: Event) -> None:
        """Record `event` and tell the listeners."""
        self._events.append(event)
        self.tell(event)

    def tell(self, event: Event) -> None:
        """Tell the listeners alone."""
        for listener in list(self._listeners):
            listener(event)

    def listen(self, listener: Callable[[Event], Any]) -> Callable[[], None]:
        """Call `listener` with each event from now on; the result stops that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def events(self, kinds: Iterable[str] = ()) -> list[Event]:
        """The recorded events, all or those of some kinds."""
        wanted = frozenset(kinds)
        return [event for event in self._events if not wanted or event.kind in wanted]

    def clear(self) -> None:
        """Forget all events."""
        self._events.clear()
        self._graphs.clear()
        self.files.clear()
