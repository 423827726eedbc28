"""What looks at a compile from outside, as its options ask: who writes the texts, takes edited ones, or reads back what was printed.

A compile that is watched takes nothing from the cache, as what comes from there passes no level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lect.dialects.fx.ops import GraphOp
from lect.ir import Context, Operation
from lect.passes.instrument import Instrument, RoundTrip
from lect.runtime.checking import Check
from lect.runtime.dumping import Dump
from lect.runtime.events import Dumped, EventLog, Overridden
from lect.runtime.failures import Lowering
from lect.runtime.graph_texts import BACKWARD, captured_digest, folder_name
from lect.runtime.kernel_files import KernelFiles
from lect.runtime.linking import link_graph
from lect.runtime.overrides import Overrides

if TYPE_CHECKING:
    from lect.runtime.report.recording import Record

Observer = Callable[[str, Operation], None]
WATCHING = frozenset({"check", "dump", "override"})  # options for which every level has to be passed


def is_watched(options: Mapping[str, Any]) -> bool:
    """True when a compile with these options must pass every level."""
    return any(options.get(name) for name in WATCHING)


@dataclass
class Watch:
    """What looks at one compile, or at one backward; `observe` is told of each level, too."""

    function: str
    observe: Observer
    log: EventLog
    dump: Dump | None = None
    overrides: Overrides | None = None
    round_trip: str = ""
    captured: str = ""
    backwards: int = 0
    check: Check | None = None
    record: Record | None = None

    @classmethod
    def of(cls, function: str, options: Mapping[str, Any], observe: Observer, log: EventLog, frame: Any = None) -> Watch:
        """The watch over the next compile of `function`, which is of `frame`.  Raises `TextError` for an edited file that belongs nowhere."""
        watch = cls(function, observe, log, round_trip=options.get("round_trip", ""))
        watch.record = log.recorder.begin(function, frame) if log.recorder is not None else None
        if options.get("dump") or options.get("override"):
            folder = folder_name(function)
            graph = f"{folder}.{log.next_graph(folder)}"
            watch._open(graph, *[Path(options[name], graph) if options.get(name) else None for name in ("dump", "override")])
        return watch

    def _open(self, graph: str, dump: Path | None, override: Path | None) -> None:
        if dump is not None:
            self.dump = Dump(dump, graph, self._captured)
        if override is not None:
            self.overrides = Overrides(override, graph, self._captured, self._tell_used)

    def _tell_used(self, path: Path) -> None:
        self.log.add(Overridden(self.function, path.stem if path.suffix == ".mlir" else "", str(path)))

    def _captured(self, module: Operation) -> str:
        """What names the captured graph; asked for first at the level that has it."""
        if not self.captured:
            self.captured = captured_digest(module)
        return self.captured

    def instruments(self, stage: str) -> list[Instrument]:
        """What looks at the passes of a stage: behind a pass the last of them comes first."""
        found: list[Instrument] = []
        if self.record is not None:
            found.append(self.record.instrument(stage))
        if self.dump is not None:
            found.append(self.dump.instrument(stage))
        if self.overrides is not None:
            found.append(self.overrides.instrument(stage))
        if self.round_trip:
            found.append(RoundTrip(self.round_trip == "levels"))
        return found

    def backward(self) -> Watch:
        """The watch over the next backward of this compile."""
        watch = Watch(self.function, self.observe, self.log, round_trip=self.round_trip, captured=self.captured, check=self.check)
        watch.record = self.record.recorder.begin_backward(self.record) if self.record is not None else None
        name = f"{BACKWARD}.{self.backwards}"
        self.backwards += 1
        graph, dump = self.dump or self.overrides, self.dump
        if graph is not None:
            watch._open(f"{graph.graph}/{name}", dump.folder / name if dump else None, self.overrides.folder / name if self.overrides else None)
        return watch

    def checks(self, graph: Operation, ctx: Context, stages: tuple[str, ...]) -> None:
        """Compare this captured graph, which passes these stages, with eager, if the options say so."""
        if ctx.options.get("check"):
            assert isinstance(graph, GraphOp)
            lowering = Lowering(graph, stages, dict(ctx.options), dict(ctx.target), link_graph)
            self.check = Check(self.function, graph, lowering, self.log, self._edited)

    def _edited(self) -> bool:
        return self.overrides is not None and self.overrides.used

    def refused(self, error: Exception, by_torch: bool = False) -> None:
        """A stage raised `error`, and the graph will run without having been lowered, or, when torch could not run it either (`by_torch`), not at all.

        Raises `TextError` where an edited text would be lost by that.
        """
        if self.overrides is not None:
            self.overrides.refused(error, by_torch)

    def linked(self, module: Operation, ctx: Context) -> None:
        """The module is lowered to the end, and will be linked with this context."""
        if self.dump is not None:
            self.dump.linked(module, ctx)
        if self.dump is not None or self.overrides is not None:
            ctx.resources["kernel_texts"] = KernelFiles(self.captured, self.dump, self.overrides)
        if self.record is not None:
            self.record.linked(module, ctx.target)

    def keep_record(self) -> None:
        """What was recorded belongs to the report: the compile is not given up for another."""
        if self.record is not None:
            self.record.complete = True

    def finish(self, complete: bool = True) -> None:
        """The compile is over; it came to the end when `complete`.  Raises `TextError` when an edited file was not used."""
        if self.dump is not None:
            self.dump.texts.forget()
        self.keep_record()
        if self.dump is not None and self.dump.files:
            self.log.add(Dumped(self.function, self.dump.files, str(self.dump.folder)))
        if self.overrides is not None and complete:
            self.overrides.finish()
