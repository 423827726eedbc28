"""Instruments: what watches the pass manager from outside.  They print, write files and keep what a failure needs; passes do none of this.

`PrintIR` shows the IR before and after passes, `PrintTree` writes it to numbered files, `Reproducer` writes a file that replays a failing pass,
`RoundTrip` reads back what is printed.
`timing_table` and `statistics_table` show the steps of a run.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from lect.ir import Context, LectError, Operation, parse_module, print_module, verify

if TYPE_CHECKING:
    from lect.passes.manager import PassManager, Step

Write = Callable[[str], object]
CONFIGURATION = "// configuration: "


@dataclass(frozen=True)
class Style:
    """How instruments print IR."""

    generic: bool = False
    locations: bool = False

    def text(self, op: Operation) -> str:
        """The text of a module."""
        return print_module(op, generic=self.generic, locations=self.locations)


class Instrument:
    """Base of instruments.  `position` is the place of the running pass in the manager's passes."""

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        """A pass is about to run."""

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        """A pass has run, and the IR is valid if the manager verifies."""

    def failed(self, manager: PassManager, position: int, op: Operation, ctx: Context, error: LectError) -> None:
        """A pass or the verifier behind it raised `error`; an instrument may extend its hint."""


@dataclass
class PrintIR(Instrument):
    """Print the IR around passes: `names_before` and `names_after` name passes, None means all of them; with `on_change`, only where a pass changed it."""

    write: Write
    style: Style = Style()
    names_before: frozenset[str] | None = frozenset()
    names_after: frozenset[str] | None = frozenset()
    on_change: bool = False
    _last: bytes = field(default=b"", init=False)

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        name = manager.passes[position].name
        if self.on_change and position == 0:
            self._last = fingerprint(op)
        if self.names_before is None or name in self.names_before:
            self._print("before", manager, position, op)

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        same = False
        if self.on_change:
            before, self._last = self._last, fingerprint(op)
            same = before == self._last
        wanted = self.names_after is None or manager.passes[position].name in self.names_after
        if wanted and not same:
            self._print("after", manager, position, op)

    def _print(self, when: str, manager: PassManager, position: int, op: Operation) -> None:
        title = f"{when} {manager.passes[position].name} ({position + 1} of {len(manager.passes)})"
        self.write(f"// == IR {title} ==\n{self.style.text(op)}\n")


def fingerprint(op: Operation) -> bytes:
    """A digest that two modules share when they print alike, locations included."""
    import hashlib

    return hashlib.blake2b(print_module(op, locations=True).encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass
class PrintTree(Instrument):
    """Write `0_input.mlir`, `1_<pass>.mlir`, `2_<pass>.mlir`, ... into `folder`, numbers padded to one width.  Each file is input for lect-opt."""

    folder: Path
    style: Style = Style()

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        if position == 0:
            self._save(manager, 0, "input", op)

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        self._save(manager, position + 1, manager.passes[position].name, op)

    def _save(self, manager: PassManager, number: int, name: str, op: Operation) -> None:
        width = len(str(len(manager.passes)))
        path = self.folder / f"{number:0{width}}_{name}.mlir"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(self.style.text(op), encoding="utf-8")
        except OSError as error:
            raise LectError(f"cannot write '{path}': {error.strerror}") from None


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


@dataclass
class Reproducer(Instrument):
    """Keep a copy of the IR before each pass; when one fails, write it with the rest of the pipeline and name the command that replays it.

    `path` maps the name of the failing pass to the file.  `flags` are repeated in the file's configuration line.  A pass that needs live objects
    is replayed from `source` (the flags that made them) through the whole pipeline, as far as it came.  `save` writes the file.
    """

    path: Callable[[str], Path]
    flags: Sequence[str] = ()
    source: Sequence[str] = ()
    save: Callable[[Path, str], None] = write_whole
    _copy: Operation | None = field(default=None, init=False)

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        self._copy = op.clone()

    def failed(self, manager: PassManager, position: int, op: Operation, ctx: Context, error: LectError) -> None:
        import traceback

        assert self._copy is not None, "failed() comes after before()"
        each = manager.passes[position]
        path = self.path(each.name)
        live = each.live and bool(self.source)
        pipeline = str(manager) if live else manager.rest(position)
        arguments = [*(self.source if live else ()), "-p", pipeline, *self.flags]
        lines = [CONFIGURATION + shlex.join(arguments)]
        lines += [f"// {line}" for line in f"{type(error).__name__}: {error.message}".splitlines()]
        if error.__cause__ is not None:
            lines += [f"// {line}" for text in traceback.format_exception(error.__cause__) for line in text.splitlines()]
        self.save(path, "\n".join(lines) + "\n" + print_module(self._copy, locations=True))
        replay = f"replay with: lect-opt --run-reproducer {shlex.quote(str(path))}"
        error.hint = f"{error.hint}; {replay}" if error.hint else replay


@dataclass
class RoundTrip(Instrument):
    """Print the module behind each pass that changed it (`last_only`: behind the last), read the text, and compare what both print.

    Raises `RoundTripError` when the text cannot be read, or reads as something else.  The printed module of capture names live objects, which stay text.
    """

    last_only: bool = False
    _seen: str = field(default="", init=False)

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        if self.last_only and position < len(manager.passes) - 1:
            return
        text = print_module(op, locations=True)
        if text != self._seen:
            self._seen = text
            check_round_trip(text, manager.passes[position].name, ctx)


class RoundTripError(LectError):
    """What was printed cannot be read, or reads as something else: a bug of lect."""


def check_round_trip(text: str, where: str, ctx: Context) -> None:
    """Raise `RoundTripError` unless this text, printed behind the pass `where`, is what the module that it reads as prints."""
    try:
        module = parse_module(text, ctx)
        verify(module)
        again = print_module(module, locations=True)
    except LectError as error:
        raise RoundTripError(f"what stands behind '{where}' cannot be read back: {error.message}", error.loc) from error
    if again != text:
        old, new = next(pair for pair in zip_longest(text.splitlines(), again.splitlines(), fillvalue="") if pair[0] != pair[1])
        raise RoundTripError(f"what stands behind '{where}' reads as something else: '{old.strip()}' becomes '{new.strip()}'")


def read_configuration(text: str) -> list[str] | None:
    """The arguments that a reproducer file, of IR or of Python, asks for, or None when it is no reproducer."""
    for line in text.splitlines():
        for prefix in (CONFIGURATION, CONFIGURATION.replace("//", "#")):
            if line.startswith(prefix):
                return shlex.split(line.removeprefix(prefix))
    return None


def timing_table(steps: Sequence[Step], extra: Sequence[tuple[str, float]] = ()) -> str:
    """Milliseconds and share of each step; `extra` adds rows such as parsing, as (what, seconds)."""
    rows = [(what, seconds) for what, seconds in extra if what != "print"]
    for step in steps:
        rows.append((step.name, step.seconds))
    checking = sum(step.verify_seconds for step in steps)
    if checking:
        rows.append(("verify", checking))
    rows += [(what, seconds) for what, seconds in extra if what == "print"]
    total = sum(seconds for _, seconds in rows)
    lines = ["      ms    share  step"]
    lines += [f"{seconds * 1e3:8.2f}  {seconds / total if total else 0:6.1%}  {what}" for what, seconds in [*rows, ("total", total)]]
    return "\n".join(lines) + "\n"


def statistics_table(steps: Sequence[Step]) -> str:
    """What each pass counted."""
    lines = [f"{number:8}  {step.name}: {what}" for step in steps for what, number in step.statistics.items() if number]
    return "   count  pass: what\n" + "".join(f"{line}\n" for line in lines)
