"""The pass manager: pipeline text to passes, and passes over a module.

Pipeline text is `a,b{option=1 other=x},loop`: names of passes and of pipelines, with options in braces.  A manager prints itself as text that
parses back to the same passes.  It measures and counts, and hands every step to its instruments, which do the printing.  What a pass raises and
did not mean to raise becomes a `PassCrash`.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lect.ir import Context, LectError, Operation, PassFailure, VerifyError, verify
from lect.ir.collector import collector_off
from lect.passes import load_pass
from lect.passes.base import Pass, make_pass
from lect.passes.pipelines import PIPELINES, violations

if TYPE_CHECKING:
    from lect.passes.instrument import Instrument

_NAME = re.compile(r"[A-Za-z][\w-]*")
_SPACE = re.compile(r"\s*")
_OPTION = re.compile(r'\s*([A-Za-z]\w*)=((?:"(?:[^"\\]|\\.)*"|[^\s{}"])*)\s*')


class PassCrash(LectError):
    """A pass (or what a tool does around passes) raised what it should not: a bug of lect.  `__cause__` is the exception."""


@dataclass(frozen=True)
class Step:
    """One pass that ran: `seconds` in the pass, `verify_seconds` in the verifier behind it, and what it counted."""

    name: str
    seconds: float
    verify_seconds: float
    statistics: dict[str, int]


@dataclass(frozen=True)
class PassManager:
    """Passes in order.  `verify_each` runs the verifier behind each pass."""

    passes: tuple[Pass, ...]
    verify_each: bool = False

    @classmethod
    def parse(cls, text: str, verify_each: bool = False) -> PassManager:
        """The manager for a pipeline text.  Raises `PassFailure` when the text is no pipeline or breaks an ordering constraint."""
        passes = tuple(make_pass(load_pass(name), options) for name, options in read_pipeline(text))
        check_order(passes)
        return cls(passes, verify_each)

    def configured(self, options: Mapping[str, Any]) -> PassManager:
        """The same passes with those options of a compile that they have and were not given: so the text of the pipeline says what ran."""
        passes = []
        for each in self.passes:
            own = [f.name for f in dataclasses.fields(each) if f.name in options and getattr(each, f.name) == f.default]
            passes.append(dataclasses.replace(each, **{name: options[name] for name in own}) if own else each)
        return PassManager(tuple(passes), self.verify_each)

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.passes)

    def rest(self, position: int) -> str:
        """The pipeline text from the pass at `position` on."""
        return ",".join(str(each) for each in self.passes[position:])

    def run(self, op: Operation, ctx: Context, instruments: Sequence[Instrument] = ()) -> list[Step]:
        """Run all passes on `op`, a `builtin.module`, and say what each took.  Raises what a pass raises, or `PassCrash` for its bugs."""
        steps: list[Step] = []
        with collector_off():
            for position, each in enumerate(self.passes):
                for instrument in instruments:
                    instrument.before(self, position, op, ctx)
                try:
                    steps.append(self._run_one(each, op, ctx))
                except Exception as error:
                    problem = error if isinstance(error, LectError) else crash(f"pass '{each.name}'", error)
                    for instrument in reversed(instruments):
                        instrument.failed(self, position, op, ctx, problem)
                    raise problem from problem.__cause__
                for instrument in reversed(instruments):
                    instrument.after(self, position, op, ctx)
        return steps

    def _run_one(self, each: Pass, op: Operation, ctx: Context) -> Step:
        outer, ctx.statistics = ctx.statistics, {}
        try:
            start = time.perf_counter()
            each.run(op, ctx)
            middle = time.perf_counter()
            if self.verify_each:
                _verify_behind(each, op)
            return Step(each.name, middle - start, time.perf_counter() - middle, ctx.statistics)
        finally:
            for analysis in [name for name in ctx.analyses if name not in each.keeps]:
                del ctx.analyses[analysis]
            for what, number in ctx.statistics.items():
                outer[what] = outer.get(what, 0) + number
            ctx.statistics = outer


def _verify_behind(each: Pass, op: Operation) -> None:
    try:
        verify(op)
    except VerifyError as error:
        error.message = f"pass '{each.name}' left invalid IR: {error.message}"
        raise


def crash(what: str, error: Exception) -> PassCrash:
    """The error that tells of a bug: what stopped, with which exception, raised where."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    problem = PassCrash(f"{what} stopped with {type(error).__name__}: {error}{where}; this is a bug of lect")
    problem.__cause__ = error
    return problem


def check_order(passes: Sequence[Pass]) -> None:
    """Raise `PassFailure` for the first constraint of `ORDER` that the passes break."""
    for broken in violations([each.name for each in passes]):
        raise PassFailure(f"pass '{broken.first}' must come before '{broken.second}': {broken.reason}")


def read_pipeline(text: str) -> list[tuple[str, dict[str, str]]]:
    """(pass name, option texts) of each pass in a pipeline text, named pipelines expanded.  Raises `PassFailure`."""
    out: list[tuple[str, dict[str, str]]] = []
    position = _skip(text, 0)
    while position < len(text):
        match = _NAME.match(text, position)
        if match is None:
            raise _wrong(text, position, "the name of a pass")
        name = match[0]
        options, position = _read_options(text, match.end(), name)
        if name in PIPELINES:
            if options:
                raise PassFailure(f"pipeline '{name}' takes no options; give them to its passes")
            out += [(each, {}) for each in PIPELINES[name]]
        else:
            out.append((name, options))
        position = _skip(text, position)
        if position < len(text):
            if text[position] != ",":
                raise _wrong(text, position, "',' or the end")
            position = _skip(text, position + 1)
            if position == len(text):
                raise _wrong(text, position, "the name of a pass")
    return out


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _read_options(text: str, position: int, name: str) -> tuple[dict[str, str], int]:
    options: dict[str, str] = {}
    if not text.startswith("{", position):
        return options, position
    position = _skip(text, position + 1)
    while not text.startswith("}", position):
        match = _OPTION.match(text, position)
        if match is None:
            raise _wrong(text, position, f"'option=value' or '}}' in the options of '{name}'")
        if match[1] in options:
            raise PassFailure(f"option '{match[1]}' of pass '{name}' is given twice")
        options[match[1]] = match[2]
        position = match.end()
    return options, position + 1


def _wrong(text: str, position: int, expected: str) -> PassFailure:
    rest = text[position : position + 20]
    found = f"'{rest}'" if rest else "the end"
    return PassFailure(f"in the pipeline '{text}': expected {expected}, found {found}")
