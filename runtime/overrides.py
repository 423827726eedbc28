"""Using edited texts of a compile: a file that stands where a level or pass would write its own is taken instead of it, from there on.

Files that are as lect wrote them change nothing, so the whole folder of a dump may be given, in which one file was edited.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lect.frontends.tensors.lower.graph import CallRaises, WrongType
from lect.ir import Context, LectError, Location, Operation, parse_module, print_op, verify
from lect.passes.instrument import Instrument
from lect.passes.manager import PassManager
from lect.runtime.events import EventLog, Overridden, UnusedText
from lect.runtime.graph_texts import (
    CAPTURE,
    FRAME,
    KERNELS,
    LEVELS,
    PROGRAMS,
    Known,
    TextError,
    file_names,
    kernel_of,
    level_file,
    pass_file,
    shown_ops,
    texts_in,
)


@dataclass
class Overrides:
    """The edited files for one compile, in `folder`.  `tell` is called with each that is used."""

    folder: Path
    graph: str
    captured: Callable[[Operation], str]
    tell: Callable[[Path], None]
    left: dict[str, Path] = field(default_factory=dict)
    kernels: set[str] = field(default_factory=set)  # those of the graph that are for a GPU
    used: bool = False
    last: tuple[str, Path] | None = None  # the stage and the file of the text that was used last

    def __post_init__(self) -> None:
        known = file_names()
        for path in texts_in(self.folder):
            if not Known.of(read_text(path)).edited:
                continue
            if path.parent == self.folder and path.name not in known:
                from difflib import get_close_matches

                close = get_close_matches(path.name, known, 2, 0.5)
                hint = f"did you mean {' or '.join(close)}?" if close else f"names are {known[0]} to {known[-1]}, as LECT_DUMP writes them"
                raise TextError("no level and no pass has a text of this name", Location(str(path), 1, 0), hint=hint)
            self.left[str(path.relative_to(self.folder))] = path

    def instrument(self, stage: str) -> UseOverrides:
        """What takes the files for the passes of a stage."""
        return UseOverrides(self, stage)

    def finish(self) -> None:
        """Raise `TextError` when there is a file that no pass has come to."""
        for name, path in self.left.items():
            if name.startswith(KERNELS + os.sep):
                if kernel_of(path.name) in self.kernels:  # a version that comes when memory lies otherwise
                    continue
                raise TextError(f"the compile of {self.graph} has no such kernel for a GPU", Location(str(path), 1, 0))
            raise TextError(f"the compile of {self.graph} did not come to this level", Location(str(path), 1, 0))

    def use(self, name: str, module: Operation, stage: str, ctx: Context) -> None:
        """Put the file of this name, if there is one, in the place of the module's text."""
        path = self.left.pop(name, None)
        if path is None:
            return
        text = read_text(path)
        self.require_graph(Known.of(text).captured, self.captured(module), path)
        edited = _checked(text, path, ctx)
        _replace(module, edited, stage, path, text.splitlines())
        ctx.analyses.clear()
        self.used = True
        self.last = stage, path
        self.tell(path)

    def refused(self, error: Exception, by_torch: bool = False) -> None:
        """Raise `TextError` for what a stage refuses, where nothing would be left of an edited text, or where that is wrong in itself.

        What was captured runs by torch then.  An edited capture goes on as it is, unless its types are not those that its calls give, a call does not take
        its arguments, or torch cannot run it either (`by_torch`).
        """
        if self.last is None or (self.last[0] == CAPTURE and not by_torch and not isinstance(error, WrongType | CallRaises)):
            return
        path = self.last[1]
        message, loc, op, hint = str(error).partition("\n")[0], Location(str(path), 1, 0), None, None
        if isinstance(error, LectError):
            message, op, hint = error.message, error.op, error.hint
            loc, message = (error.loc, message) if error.loc.file == str(path) else (loc, f"{error.loc}: {message}" if error.loc.known else message)
        raise TextError(f"the edited text is refused by a later stage: {message}", loc, op, hint) from error

    def require_graph(self, given: str, now: str, path: Path) -> None:
        """Raise `TextError` when a text was made of another graph than is compiled now."""
        if given and given != now:
            raise TextError(
                f"this text was made of another graph than {self.graph} is now: the program, or its inputs, have changed since",
                Location(str(path), 1, 0),
                hint="write the texts anew with LECT_DUMP and edit those",
            )


def unused_texts(folder: Path, log: EventLog) -> Callable[[], list[UnusedText]]:
    """Listen which texts are used from now on; the result, called at the end, tells the log of each edited text in the folder that was not, and gives that."""
    used: set[str] = set()
    log.listen(lambda event: used.add(event.file) if isinstance(event, Overridden) else None)

    def tell() -> list[UnusedText]:
        graphs = [path for path in folder.rglob("*") if path.is_dir() and path.name != KERNELS]
        left = [path for graph in sorted(graphs) for path in texts_in(graph) if str(path) not in used and Known.of(read_text(path)).edited]
        events = [UnusedText(path.parent.name, str(path)) for path in left]
        for event in events:
            log.add(event)
        return events

    return tell


@dataclass
class UseOverrides(Instrument):
    """Takes edited files behind the passes of one stage."""

    overrides: Overrides
    stage: str

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        if position == 0 and self.stage != CAPTURE:  # a backward begins at this level; for others nothing is left of the file
            earlier = list(LEVELS)[list(LEVELS).index(self.stage) - 1]
            self.overrides.use(level_file(earlier), op, self.stage, ctx)

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        if self.stage == CAPTURE:
            self.overrides.captured(op)  # noted before anything is replaced
        else:
            self.overrides.use(pass_file(self.stage, position, manager.passes[position].name), op, self.stage, ctx)
        if position == len(manager.passes) - 1:
            self.overrides.use(level_file(self.stage), op, self.stage, ctx)


def read_text(path: Path) -> str:
    """The text of a file.  Raises `TextError` when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogatepass")
    except (OSError, UnicodeDecodeError) as error:
        raise TextError(f"the edited text cannot be read: {error}", Location(str(path), 1, 0)) from None


def _checked(text: str, path: Path, ctx: Context) -> Operation:
    """The module that a text is.  Raises `TextError` with the place in the text."""
    try:
        edited = parse_module(text, ctx, str(path))
        verify(edited)
        return edited
    except LectError as error:
        problem = TextError(error.message, error.loc, error.op, error.hint)
        problem.excerpt = error.excerpt
        raise problem from None


def _keep_places(before: Operation, after: Operation, lines: list[str]) -> None:
    """Give operations whose line nobody has changed the place in the program that they had; others come from the text."""
    texts = [line for line in print_op(before)[0].splitlines() if not line.lstrip().startswith(("}", "^"))]
    places: dict[str, list[Location]] = {}
    for line, op in zip(texts, before.walk()):
        places.setdefault(line, []).append(op.loc)
    for op in after.walk():
        found = places.get(lines[op.loc.line - 1], [])
        if found:
            op.loc = found.pop(0) if len(found) > 1 else found[0]


def _replace(module: Operation, edited: Operation, stage: str, path: Path, lines: list[str]) -> None:
    """Make `module` what `edited` says; operations that are equal stay the objects they are."""
    shown = {op.symbol: op for op in shown_ops(module, stage)}
    given = {op.symbol: op for op in edited.body}
    for symbol, before in shown.items():
        after = given.get(symbol)
        if after is None and before.name in PROGRAMS | FRAME:
            raise TextError(f"the text lacks {before.name} @{symbol}", Location(str(path), 1, 0))
        if after is not None and before.name in PROGRAMS:
            _same_signature(before, after)
    _only_first_frame(module, given)
    for op in list(edited.body):
        old = shown.pop(op.symbol, None)
        if old is not None and print_op(old)[0] == print_op(op)[0]:
            continue
        op.detach()
        if old is None:
            module.body.append(op)
        else:
            _keep_places(old, op, lines)
            module.body.insert_before(old, op)
            old.detach()
    for gone in shown.values():
        gone.detach()


def _only_first_frame(module: Operation, given: dict[str | None, Operation]) -> None:
    """What is behind a graph break refers to live objects of the capture, and cannot be edited."""
    for op in [op for op in module.body if op.name == "pyframe.func"][1:]:
        edited = given.get(op.symbol)
        if edited is not None and print_op(edited)[0] != print_op(op)[0]:
            raise TextError("code behind a graph break cannot be edited", edited.loc)


def _same_signature(before: Operation, after: Operation) -> None:
    """Raise `TextError` when a program does not take and give what it did."""
    if before.name != after.name:
        raise TextError(f"@{before.symbol} is {after.name}, and {before.name} at this level", after.loc)
    for what, old, new in (("takes", before.body.args, after.body.args), ("gives", _results(before), _results(after))):
        one, other = [str(value.type) for value in old], [str(value.type) for value in new]
        if one != other:
            number = next((k for k, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
            had = one[number] if number < len(one) else "nothing"
            has = other[number] if number < len(other) else "nothing"
            raise TextError(
                f"@{before.symbol} {what} {has} as number {number} in this text, and {had} in the program",
                after.loc,
                hint="the text was written for other inputs: write it anew with LECT_DUMP",
            )


def _results(func: Operation) -> list:  # type: ignore[type-arg]
    last = func.body.last
    return list(last.operands) if last is not None else []
