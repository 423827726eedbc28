"""`lect.explain`: what a compile of one call gives, as an object that prints itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.api import python_function
from lect.frontends.capture.interpreter import CodeTable
from lect.ir import Operation, print_module
from lect.runtime.continuation import ResumePoints
from lect.runtime.events import Break, Compile, EventLog, Fallback, Note
from lect.runtime.frame import CompiledFrame, tell_of
from lect.runtime.graphs.table import Left, Row, table
from lect.runtime.module_calls import call_of, does_more
from lect.runtime.pipeline import Compiled, break_event, compile_call
from lect.runtime.settings import Settings
from lect.runtime.training_compile import Training

if TYPE_CHECKING:
    from lect.runtime.report.recording import Recorder


@dataclass(frozen=True)
class Part:
    """One stretch of the call, from its begin or a graph break to the next break or the end.

    `text` is the captured module (guards, graph, residual code), `cut` the graph break at its end, `fallback` why it runs eagerly, `note` why its graph
    runs through torch; None where there is nothing to say.  `seeded` is how many random operators have lect's numbers and not eager's.
    """

    function: str
    text: str
    guards: int
    torch_calls: int
    effects: int
    frames: int
    stages: tuple[tuple[str, float], ...]
    cut: Break | None
    fallback: Fallback | None
    note: Note | None
    seeded: int = 0

    def lines(self) -> list[str]:
        """What is to be said of it."""
        lines = [f"{self.function}: {self.torch_calls} torch calls in {self.frames} frames, {self.guards} guards, {self.effects} effects"]
        if self.fallback is not None:
            lines.append(f"  runs eagerly: {self.fallback.text()}")
        if self.note is not None:
            lines.append(f"  the graph runs through torch: {self.note.text()}")
        if self.seeded:
            lines.append(f"  {self.seeded} random operators have eager's distributions and not its numbers (options={{'rng': 'eager'}} gives these)")
        if self.cut is not None:
            lines.append(f"  graph break: {self.cut.text()}")
        lines.append("  times: " + ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.stages))
        return lines


@dataclass(frozen=True)
class Explanation:
    """The parts of one call, in the order in which they ran.  A call without graph breaks has one.  `raised` is what a call that was run raised.

    `recorder` has what `report` shows, `training` compiles the backwards of the parts that have one.
    """

    function: str
    parts: tuple[Part, ...]
    raised: Exception | None = None
    recorder: Recorder | None = field(default=None, repr=False, compare=False)
    training: tuple[Training, ...] = field(default=(), repr=False, compare=False)

    @property
    def compiled(self) -> bool:
        """True when some of the call runs compiled code."""
        return any(part.fallback is None and part.torch_calls for part in self.parts)

    @property
    def graphs(self) -> int:
        """Number of graphs."""
        return sum(part.fallback is None and part.torch_calls > 0 for part in self.parts)

    @property
    def torch_calls(self) -> int:
        """Number of torch calls in all graphs."""
        return sum(part.torch_calls for part in self.parts)

    @property
    def guards(self) -> int:
        """Number of guards of all parts."""
        return sum(part.guards for part in self.parts)

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The graph breaks."""
        return tuple(part.cut for part in self.parts if part.cut is not None)

    @property
    def break_reason(self) -> Break | Fallback | None:
        """Why the call is not one graph; None when it is."""
        return self.parts[0].fallback or self.parts[0].cut

    @property
    def note(self) -> Note | None:
        """Why the first graph runs through torch; None when it does not."""
        return self.parts[0].note

    @property
    def recordings(self) -> list[Row]:
        """The recordings of device work that calls of the function have now."""
        return [row for part in dict.fromkeys(part.function for part in self.parts) for row in table().rows(part)]

    @property
    def left(self) -> list[Left]:
        """The graphs that calls of the function have now and that were to be recorded, and are not, with the reasons."""
        return [row for part in dict.fromkeys(part.function for part in self.parts) for row in table().left(part)]

    @property
    def text(self) -> str:
        """The captured modules."""
        return "\n".join(part.text for part in self.parts if part.text)

    def report(self, path: str | Path) -> Path:
        """Write all that was recorded of this call into one HTML file, which needs nothing else, and return its path.

        The backwards of graphs that need gradients are compiled for it, for gradients of all results.  Raises `LectError` when the file cannot be written.
        """
        from lect.runtime.report.page import write_report

        assert self.recorder is not None, "explanations are made by lect.explain"
        if not any(record.backward for record in self.recorder.records):
            for training in self.training:
                training.compile_all_backwards()
        return write_report(self.recorder, path, self.function)

    def __str__(self) -> str:
        lines = [line for part in self.parts for line in part.lines()]
        lines += [f"  recording: {row.text()}" for row in self.recordings]
        lines += [f"  not recorded: {row.text()}" for row in self.left]
        if self.raised is not None:
            lines.append(f"the call raises {type(self.raised).__name__}")
        if len(self.parts) > 1:
            lines.insert(0, f"{self.function}: {self.graphs} graphs, {len(self.breaks)} graph breaks")
        return "\n".join(lines) + ("\n\n" + self.text if self.text else "")


class _Record:
    """The parts so far.  `observe` is told of each level, and keeps the text of the captured module."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.training: list[Training] = []
        self.text = ""

    def observe(self, stage: str, module: Operation) -> None:
        """Take the text of a capture."""
        if stage == "capture":
            self.text = print_module(module)

    def add(self, name: str, made: Compiled) -> None:
        """A part that has been compiled."""
        self.parts.append(_part(name, made, self.text))
        self.training += [made.training] if made.training is not None and made.fallback is None and made.note is None else []
        self.text = ""


class _Recording(CompiledFrame):
    """A frame that keeps what each compile gave."""

    def __init__(self, record: _Record, *args: Any) -> None:
        super().__init__(*args)
        self.record = record

    def _kind_of_rest(self) -> Callable[..., CompiledFrame]:
        return functools.partial(_Recording, self.record)

    def _report(self, made: Compiled) -> None:
        super()._report(made)
        self.record.add(self.function.__qualname__, made)


def explain_call(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
    """Compile `fn(*args, **kwargs)` without keeping it.  The call runs only when the graph breaks: what is behind a break depends on the values there."""
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    if isinstance(fn, torch.nn.Module) and does_more(fn):
        fn, args = call_of(fn), (fn, *args)
    from lect.runtime.report.recording import Recorder

    record, log = _Record(), EventLog()
    recorder = Recorder(log)
    made = compile_call(fn, args, kwargs, CodeTable(), {}, record.observe, points=ResumePoints(_no_rest), log=log)
    if made.cut is None or made.fallback is not None:
        record.add(name, made)
        tell_of(made, name, log)
        if made.fallback is None:
            log.add(Compile(name, 0, tuple(made.stages), made.note.number if made.note is not None else "", made.seeded))
        return Explanation(name, tuple(record.parts), None, recorder, tuple(record.training))
    recorder.forget()
    log.clear()
    function, front = python_function(fn)
    is_module = isinstance(fn, torch.nn.Module)
    table = CodeTable()
    frame = _Recording(record, fn if is_module else function, function, function, Settings(), log, lambda: table, record.observe)
    raised = None
    try:
        frame.miss((*front, *args), kwargs)
    except Exception as error:
        raised = error
    return Explanation(name, tuple(record.parts), raised, recorder, tuple(record.training))


def _no_rest(rest: Any, eager: Any, armed: Any) -> Any:
    """The first part is compiled and not run."""


def _part(name: str, made: Compiled, text: str) -> Part:
    counts = made.statistics
    cut = break_event(name, made.cut) if made.cut is not None else None
    return Part(
        name,
        text,
        counts.get("guards", 0),
        counts.get("torch calls", 0),
        counts.get("effects", 0),
        counts.get("frames inlined", 0),
        tuple(made.stages),
        cut,
        made.fallback,
        made.note,
        made.seeded,
    )
