"""The functions of `programs/` cut at each operation they reach, as a program: `python cuts.py [N]` prints one line of JSON about
each Nth of them.

A `case_*` function is run by steps alone: each runs one operation and hands what is alive to a resume point, where the next step begins.  Then it is run
again with some of the steps, behind which a resume function goes on.  Result, output and exceptions must be those of the function as a whole.
"""

from __future__ import annotations

import functools
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).with_name("programs")
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

from execution import outcome  # noqa: E402

from lect.backends.bytecode import assemble  # noqa: E402
from lect.frontends.bytecode import Symbols, decode_function, unsupported_kind  # noqa: E402
from lect.frontends.capture.resume import Cuttable, NotResumable, Place, Resume, resume_at, resume_function  # noqa: E402
from lect.frontends.capture.steps import Step  # noqa: E402
from lect.ir import verify  # noqa: E402

MOST_STEPS = 250  # behind them a resume function goes on
NATIVE_ENDS = 2
NOT_SEEN = (  # what hands the values on holds them as well; a step has ended where the frame would stand at another line
    "case_exception_releases_locals",
    "case_temporaries_are_released",
    "case_released",
    "case_iterator_raises",
    "case_frame_line_after_with_reraise",
)


class Reached:
    """What a step gives: the resume point, and the values for its parameters."""

    def __init__(self, resume: Resume, values: tuple[Any, ...]) -> None:
        self.resume = resume
        self.values = values


class Cut:
    """A function that runs by steps, at most `limit` of them."""

    def __init__(self, function: FunctionType) -> None:
        symbols = Symbols()
        self.function = function
        self.base = Cuttable(decode_function(function.__code__, symbols.of))
        self.codes = symbols.codes
        self.limit = MOST_STEPS
        self.steps = 0
        self.rests = 0
        self.made: dict[Any, Any] = {}

    def run(self) -> Any:
        """The function's value."""
        self.steps = 0
        func, closure = self.base.func, dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or ()))
        bound = dict(zip(func.parameters, self.function.__defaults__ or ()))
        made = {name: CellType(bound[name]) if name in bound else CellType() for name in func.cells}
        cells = tuple([made.get(name) or closure[name] for name in self.base.shared])
        names = self.base.ordered(bound)
        start = resume_at(self.base, Place(0), names)
        return self._go_on(Reached(start, (*[None for _ in self.base.first], *[bound[name] for name in names], *cells)))

    def _go_on(self, reached: Any) -> Any:
        while type(reached) is Reached:
            resume, values = reached.resume, reached.values
            count = len(self.base.shared)
            given, cells = values[: len(values) - count], values[len(values) - count :]
            step = self._step_at(resume) if self.steps < self.limit else None
            if step is None:
                self.rests += 1
                return self._call(("rest", resume.key), lambda resume=resume: resume_function(resume, "rest").func, given, cells)
            reached = self._step(step, resume, dict(zip(resume.parameters, given)), cells)
        return reached

    def _step_at(self, resume: Resume) -> Step | None:
        """The step at a resume point, if the function can be cut there."""
        key = ("at", resume.key)
        if key not in self.made:
            try:
                step = Step(self.base, Place(resume.place.block, resume.place.op), resume.variables, False, frozenset(), resume.stack.empty)
                points: dict[str, Any] = {}
                func = step.write("step", lambda found: self._name_of(found, points))
                self.made[key] = step, func, points
            except NotResumable:
                self.made[key] = None, None, None
        return self.made[key][0]

    def _name_of(self, found: Resume, points: dict[str, Any]) -> str:
        name = f"{found.place} {found.variables} {found.stack.numbers_of_empty}"
        points[f"resume.{name}"] = lambda *values: Reached(found, values)
        return name

    def _step(self, step: Step, resume: Resume, given: dict[str, Any], cells: tuple[CellType, ...]) -> Any:
        base = self.base
        block = base.blocks[resume.place.block]
        on_stack: dict[Any, Any] = dict(zip(resume.stack.passed, [given[f"stack.{number}"] for number in range(len(resume.stack.passed))]))
        if resume.place.raises:
            on_stack[block.args[-1]] = given["raised.0"]
        arguments = [None for _ in base.first]
        arguments += [given[name] for name in step.shown]
        arguments += [on_stack[value] for value in step.stack.passed]
        arguments += [given[name] for name in step.stack.handled_names]
        self.steps += 1
        _, func, points = self.made[("at", resume.key)]
        return self._call(("step", resume.key), lambda: func, arguments, cells, points)

    def _call(self, key: Any, make: Callable[[], Any], given: Any, cells: tuple[CellType, ...], points: dict[str, Any] | None = None) -> Any:
        if key not in self.made:
            func = make()
            verify(func)
            self.made[key] = assemble(func, resources={**self.codes, **(points or {})})
        return FunctionType(self.made[key], self.function.__globals__, self.function.__name__, None, cells or None)(*given)


def without_frames(found: Any) -> Any:
    """An outcome without the positions of tracebacks, to which the parts of a function add."""
    if isinstance(found, dict):
        return {key: without_frames(value) for key, value in found.items() if key != "frames"}
    return [without_frames(value) for value in found] if isinstance(found, list) else found


@functools.cache
def code_of(path: Path) -> CodeType:
    """A file, compiled."""
    return compile(path.read_text(), str(path), "exec")


def namespace_of(path: Path) -> dict[str, Any]:
    """A file, executed."""
    namespace: dict[str, Any] = {"__name__": path.stem}
    exec(code_of(path), namespace)  # noqa: S102
    return namespace


def main() -> None:
    """Cut all cases."""
    failures, steps, rests, inside, every = [], 0, 0, 0, int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for path in sorted(PROGRAMS.glob("*.py")) + ([PROGRAMS / "since_312.txt"] if sys.version_info >= (3, 12) else []):
        for name in [each for each in sorted(namespace_of(path)) if each.startswith("case_") and each not in NOT_SEEN][::every]:
            if unsupported_kind(namespace_of(path)[name].__code__) is not None:
                continue
            limits, want = [MOST_STEPS], without_frames(outcome(namespace_of(path)[name]))
            while limits:
                cut = Cut(namespace_of(path)[name])
                if "generator" in cut.base.func.flags or any(op.name == "pyframe.match_exc_group" for op in cut.base.func.walk()):
                    break
                cut.limit = limits.pop()
                got = without_frames(outcome(cut.run))
                rests += cut.rests
                if got != want:
                    failures.append(f"{path.stem}.{name}, {cut.limit} steps: {got} instead of {want}")
                    break
                if cut.limit == MOST_STEPS:
                    steps += cut.steps
                    inside += bool(cut.base.saved)
                    limits = random.Random(name).sample(range(cut.steps), min(NATIVE_ENDS, cut.steps))
    print(json.dumps({"failures": failures, "steps": steps, "rests": rests, "inlined": inside}))


if __name__ == "__main__":
    main()
