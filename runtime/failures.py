"""Failures of lect itself, and the files that replay them.

A failure of a pass gives the IR in front of it, as `lect-opt` writes it for one that it ran; a failure of the native code's making gives the module for
`lect-run`.  Every other failure, in following the program, in guards, or when a graph ran, gives a Python program that makes the call again.  Files are
written when something has failed and at no other time; they hold no elements of tensors, and nothing keeps the failed call alive.
"""

from __future__ import annotations

import platform
import shlex
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, TypeVar

import torch

from lect.dialects import make_context
from lect.ir import Context, LectError, Operation, VerifyError, print_module
from lect.passes.functional.functional_split_joint import is_backward
from lect.passes.instrument import CONFIGURATION, Reproducer
from lect.passes.manager import PassManager
from lect.runtime.call_script import CallScript
from lect.runtime.events import BackwardFallback, Fallback
from lect.runtime.failure_files import FailureFiles, Kept
from lect.runtime.graph_copies import copied

Told = TypeVar("Told", Fallback, BackwardFallback)
LINKED = "-linked.mlir"  # how a file ends whose module is to be made executable
LONGEST_IR = 400  # lines of a function's bytecode as IR in the head of a file


@dataclass(frozen=True)
class Lowering:
    """What is run on a graph: pipelines, with these options and for this target; `link` makes it callable behind them."""

    graph: Operation
    stages: tuple[str, ...]
    options: Mapping[str, Any]
    target: Mapping[str, Any]
    link: Callable[[Operation, Context], Any]


@dataclass(frozen=True)
class Failure:
    """What went wrong: in which function, stage and place of lect, in words, with lect's own traceback; `location` is the line of the program.

    `code` is the text of the function that was being followed; `lowering` is what failed behind the capture.
    """

    function: str
    stage: str
    place: str
    summary: str
    trace: tuple[str, ...]
    location: str = ""
    code: tuple[str, ...] = ()
    lowering: Lowering | None = None

    @classmethod
    def of(cls, function: str, stage: str, error: BaseException, lowering: Lowering | None = None) -> Failure:
        """The failure that an exception of lect is.  Of the exception it keeps text alone."""
        cause = error.__cause__ if isinstance(error, LectError) and error.__cause__ is not None else error
        trace = traceback.extract_tb(cause.__traceback__)
        place = f"{trace[-1].filename}:{trace[-1].lineno}" if trace else ""
        followed = _last_followed(cause)
        return cls(
            function,
            stage,
            place,
            f"{type(cause).__name__}: {str(cause)[:300]}",
            tuple("".join(traceback.format_exception(cause, limit=-40)).splitlines()),
            str(followed.op.loc) if followed is not None and followed.op.loc.known else "",
            _text_of(followed.code) if followed is not None else (),
            lowering,
        )

    def file(self, files: FailureFiles, call: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Kept:
        """The file that replays it when `call(*args, **kwargs)` was compiled."""
        return files.keep((self.stage, self.place, self.summary), lambda: self._text(call, args, kwargs, options))

    def file_of_lowering(self, files: FailureFiles) -> Kept:
        """The file that replays it when the call is not known any more: there is none when lowering again does not fail."""

        def text() -> tuple[str, str]:
            found = self._lowered()
            if found is None:
                raise LectError("it does not come again when the graph alone is lowered")
            return found

        return files.keep((self.stage, self.place, self.summary), text)

    def _text(self, call: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, str]:
        if self.lowering is not None:
            lowered = self._lowered()
            if lowered is not None:
                return lowered
        return f"{self.function}-{self.stage}.py", self._script(call, args, kwargs, options)

    def _head(self) -> list[str]:
        lines = [f"lect failed in the stage '{self.stage}' of {self.function}: {self.summary}"]
        if self.location:
            lines.append(f"at {self.location}")
        return [*lines, f"lect with torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}", *self.trace]

    def _lowered(self) -> tuple[str, str] | None:
        """Name and text of a file with the IR in front of what failed, found by lowering the graph once more; None when that does not fail."""
        assert self.lowering is not None
        found = _lower_again(self.lowering)
        if found is None:
            return None
        suffix, text = found
        configuration, _, rest = text.partition("\n")
        return f"{self.function}-{self.stage}{suffix}", "\n".join([configuration, *(f"// {line}" for line in self._head()), rest])

    def _script(self, call: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        script = CallScript()
        target, given, named = script.expression(call), script.all(args), script.pairs(kwargs)
        plain = {name: value for name, value in options.items() if isinstance(value, str | int | float)}
        head = [*self._head()]
        if script.missing:
            lost = [f"  {what}" for what in dict.fromkeys(script.missing)]
            head += ["", "What this file could not carry; where the call needs it, it goes another way:", *lost]
        if self.code:
            head += ["", "The function that was followed:", *self.code]
        lines = [
            f"# {CONFIGURATION.removeprefix('// ')}{shlex.join(['--capture', ':call', '-p', 'capture'])}",
            *(f"# {line}".rstrip() for line in head),
            "from lect.tools.replay import *",
            "",
            *([f"search({', '.join(map(repr, script.roots))})"] if script.roots else []),
            *script.lines,
            f"call = {target}",
            "",
            "",
            "def call_inputs():",
            f"    return ({given}), {named}",
            "",
            "",
            'if __name__ == "__main__":',
            f"    raise SystemExit(main(call, *call_inputs(), {plain!r}))",
        ]
        return "\n".join(lines) + "\n"


def command_for(path: str, tool: str = "") -> str:
    """How a file is replayed, by a tool that is known or the one that the name of the file asks for."""
    if tool:
        return f"{tool} --run-reproducer {shlex.quote(path)}"
    if path.endswith(".py"):
        return f"python {shlex.quote(path)}"
    return f"lect-run --random-inputs {shlex.quote(path)}" if path.endswith(LINKED) else f"lect-opt --run-reproducer {shlex.quote(path)}"


def command_to_reduce(path: str) -> str:
    """How the module that replays a failure is made small."""
    return f"lect-reduce {shlex.quote(path)}"


def is_internal(error: Exception) -> bool:
    """True for a failure of lect, and not for a refusal: what is no `LectError`, or comes of that, or IR that a pass left invalid."""
    cause = error if not isinstance(error, LectError) else error.__cause__
    return isinstance(error, VerifyError) or (cause is not None and not isinstance(cause, LectError))


def with_file(event: Told, kept: Kept) -> Told:
    """The event with the file, or with the reason why there is none."""
    if not kept.path:
        return replace(event, detail=f"{event.detail}; no file that replays it could be written: {kept.why_not}")
    return replace(event, file=kept.path, replay=command_for(kept.path))


# ---- lowering once more ----------------------------------------------------------------------------------------------


def _lower_again(lowering: Lowering) -> tuple[str, str] | None:
    """Run the pipelines again and write down what stands in front of the pass that fails, or the whole module when linking it fails.

    Gives the end of the file's name, which tells the two apart, and its text.
    """
    module = copied(lowering.graph)
    ctx = make_context(options=lowering.options)
    ctx.target.update(lowering.target)
    written: list[str] = []

    def save(path: Path, text: str) -> None:
        written.append(text)

    flags = ["--target", ",".join(f"{name}={value}" for name, value in lowering.target.items())] if lowering.target else []
    reproducer = Reproducer(lambda name: Path(name), ["--no-verify-each", *flags], save=save)
    try:
        for number, stage in enumerate(lowering.stages):
            PassManager.parse(stage).configured(lowering.options).run(module, ctx, [reproducer])
            if number == 0:
                _take_backwards_out(module)
    except LectError:
        return (".mlir", written[-1]) if written else None
    before = print_module(module, locations=True)
    try:
        lowering.link(module, ctx)
    except Exception:
        return LINKED, f"{CONFIGURATION}-p ''\n{before}"
    return None


def _take_backwards_out(module: Operation) -> None:
    for op in list(module.body):
        if is_backward(op) and len(list(module.body)) > 1:
            op.detach()


# ---- where the interpreter was -----------------------------------------------------------------------------------------


class _Followed(NamedTuple):
    """The operation of the program that was being followed, and the code object that it is of."""

    op: Operation
    code: CodeType


def _last_followed(error: BaseException) -> _Followed | None:
    """What the innermost frame of the interpreter in the traceback was at."""
    from lect.frontends.capture.interpreter import run

    found = None
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals if trace.tb_frame.f_code is run.__code__ else {}
        if "op" in names and "frame" in names:
            found = _Followed(names["op"], names["frame"].program.code)
        trace = trace.tb_next
    return found


def _text_of(code: CodeType) -> tuple[str, ...]:
    """A function as it is decoded, at most `LONGEST_IR` lines of it."""
    from lect.frontends.capture.interpreter import decode_code

    try:
        lines = print_module(decode_code(code)[0]).splitlines()
    except Exception as error:
        return (f"(its text cannot be made: {type(error).__name__})",)
    more = [f"({len(lines) - LONGEST_IR} more lines)"] if len(lines) > LONGEST_IR else []
    return (*lines[:LONGEST_IR], *more)
