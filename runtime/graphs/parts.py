"""Running a host program in parts, some of which are recorded; and cutting it where the device refuses to record an operation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

from lect.backends.python_host.emit import operations_by_line
from lect.backends.python_source import SourceProgram
from lect.dialects.host.ops import ExternOp, FuncOp, UpdateOp
from lect.ir import Operation
from lect.runtime.events import EventLog, RecordingSplit
from lect.runtime.graphs.automatic import AutomaticProgram
from lect.runtime.graphs.device import Device
from lect.runtime.graphs.facts import facts_of, obstacle_of
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.program import RecordedProgram
from lect.runtime.graphs.split import Part, split
from lect.runtime.graphs.table import table


class KernelFacts(NamedTuple):
    """Of the kernels of a program those that take addresses `alone`, one by one, and the numbers of the parameters that they write to, where that is known."""

    alone: Collection[str]
    stores: Mapping[str, Collection[int]]


class Step(NamedTuple):
    """A part as a call: the numbers of the values that it takes and gives, and of those that nobody takes any more."""

    run: Callable[..., list[Any]]
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    gone: tuple[int, ...]


def run_steps(steps: Sequence[Step], values: list[Any]) -> list[Any]:
    """The results of the last step; `values` are the arguments, with room for what steps give."""
    results: list[Any] = []
    for run, takes, gives, gone in steps:
        results = run(*[values[number] for number in takes])
        for place, number in enumerate(gives):
            values[number] = results[place]
        for number in gone:
            values[number] = None
    return results


class PartedProgram:
    """A host program whose parts are recorded apart from one another; with `automatic` where that is measured to be worth it.

    It takes a list of the arguments, which it empties; the first `seen` results go to the program, of all when that is None.  `load` makes a loaded program of
    a part's function.  `codes` are what its exceptions come out of.
    """

    def __init__(
        self,
        func: FuncOp,
        kernels: Callable[[], KernelFacts],
        name: str,
        device: tuple[str, Device],
        log: EventLog,
        load: Callable[[FuncOp], SourceProgram],
        seen: int | None = None,
        automatic: bool = False,
    ) -> None:
        self.func = func
        self.ask_kernels = kernels
        self.name = name
        self.device_name, self.device = device
        self.log = log
        self.load = load
        self.seen = seen
        self.automatic = automatic
        self.refused: set[str] = set()  # library functions that the device did not record
        self.steps: tuple[list[Step], int] = ([], 0)  # and for how many values beside the arguments they need room
        self.run_steps = FunctionType(run_steps.__code__.replace(), run_steps.__globals__)  # of its own, by which its exceptions are known
        self.codes = frozenset([self.run_steps.__code__])

    @cached_property
    def kernels(self) -> KernelFacts:
        """The facts of its kernels."""
        return self.ask_kernels()

    def __call__(self, arguments: list[Any]) -> list[Any]:
        steps, room = self.steps
        values = [*arguments, *[None] * room]
        arguments.clear()
        return self.run_steps(steps, values)  # type: ignore[no-any-return]

    def cut(self, reason: str) -> bool:
        """Cut the program in parts around what cannot be recorded, which the reason names; whether there are parts that can."""
        parts = split(self.func, self.kernels.stores, self._stands_in_the_way, 0 if self.device_name == "cpu" else Limits().least, self.seen)
        if not parts:
            return False
        values = [*self.func.body.args, *[value for part in parts[:-1] for value in part.gives]]
        numbers = {value: number for number, value in enumerate(values)}
        count = sum(part.recorded for part in parts)
        self.log.add(RecordingSplit(self.name, count, reason))
        steps, number = [], 0
        for part in parts:
            number += part.recorded
            takes, gone = [tuple([numbers[value] for value in each]) for each in (part.takes, part.gone)]
            gives = tuple([numbers[value] for value in part.gives]) if part is not parts[-1] else ()
            steps.append(Step(self._callable(part, f"{self.name} part {number} of {count}"), takes, gives, gone))
        self.steps = steps, len(values) - len(self.func.body.args)
        return True

    def cut_where(self, error: BaseException, func: FuncOp, loaded: SourceProgram) -> bool:
        """Cut the program around the library function that could not be recorded, by the line of the loaded program that raised."""
        callee = function_that_raised(error, func, loaded)
        if callee is None or callee in self.refused:
            return False
        self.refused.add(callee)
        return self.cut(f"{callee}: {error}")

    def _stands_in_the_way(self, op: Operation) -> bool:
        return bool(obstacle_of(op, self.device_name)) or (isinstance(op, ExternOp | UpdateOp) and op.callee.leaf in self.refused)

    def _callable(self, part: Part, name: str) -> Callable[..., list[Any]]:
        loaded = self.load(part.func)
        if not part.recorded:
            return loaded.run  # type: ignore[no-any-return]
        facts = facts_of(part.func, self.kernels.alone, name, self.device_name)
        facts = replace(facts, written=facts.written | part.written)

        def again(error: BaseException) -> None:
            self.cut_where(error, part.func, loaded)

        if self.automatic:
            return AutomaticProgram(loaded.run, loaded.run, facts, self.device, table(), self.log, part.seen, repair=again)
        return RecordedProgram(loaded.run, facts, self.device, table(), self.log, repair=again)


def function_that_raised(error: BaseException, func: FuncOp, loaded: SourceProgram) -> str | None:
    """The library function at the line of a loaded program from which an error came, or the last one in front of it; None where that is not known."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not loaded.run.__code__:
        trace = trace.tb_next
    if trace is None:
        return None
    before = [op for line, op in operations_by_line(func).items() if line <= trace.tb_lineno and isinstance(op, ExternOp | UpdateOp)]
    return before[-1].callee.leaf if before else None


def repaired(parted: PartedProgram, loaded: Callable[[], SourceProgram]) -> Callable[[BaseException], Callable[[list[Any]], list[Any]] | None]:
    """What a program is replaced by when the device refuses to record it as a whole: its parts, or nothing."""

    def repair(error: BaseException) -> Callable[[list[Any]], list[Any]] | None:
        return parted if parted.cut_where(error, parted.func, loaded()) else None

    return repair
