"""lect-reduce: the smallest module on which a command still fails in the same way.

    lect-reduce wrong.mlir                                           a file that names its own command, as failures and LECT_CHECK write them
    lect-reduce big.mlir -- lect-opt {} -p loop-fuse-vertical        a command; {} is the file
    lect-reduce big.mlir --match 'values differ' -- lect-run {} --random-inputs --compare-levels
    lect-reduce big.mlir -o small.mlir -- ./still_fails.sh {}        any program
    lect-reduce f.py:f -- lect-run {} --random-inputs --compare-levels    the graph of a function of a Python file

A smaller module is kept when the command gives the same exit status as for the whole one, and its output has what --match asks for.  For files that name
their command, and for lect-opt, that is the message of the error; for comparisons, that values differ.  lect-opt and lect-run are called in this process.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from lect.dialects import make_context
from lect.ir import LectError, parse_module, print_op, verify
from lect.passes.instrument import read_configuration
from lect.tools import lect_opt
from lect.tools.completion import offer
from lect.tools.reducing import Reduction, count_ops

DIFFERS = r"values differ|NaN on one side|against"
COMPARING = ("--compare", "--compare-levels", "--compare-reference")


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    usage = "lect-reduce FILE [options] [-- COMMAND ...]"
    parser = argparse.ArgumentParser(prog="lect-reduce", usage=usage, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the module, or FILE.py:FUNCTION for the graph that is captured of a function")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the small module goes (default: beside the file, as NAME-reduced.mlir)")
    parser.add_argument("--match", metavar="REGEX", help="what the output of the command has to contain")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to go on (default 600)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after which a program that is no tool of lect counts as not failing (default 60)")
    parser.add_argument("--subprocess", action="store_true", help="run lect-opt and lect-run as processes, too: for code that crashes")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    offer(arguments())
    given = list(sys.argv[1:] if argv is None else argv)
    end = given.index("--") if "--" in given else len(given)
    options = arguments().parse_args(given[:end])
    try:
        print(reduce(options, tuple(given[end + 1 :])))
    except LectError as error:
        print(f"lect-reduce: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"lect-reduce: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    status: int
    output: str


@dataclass(frozen=True)
class Command:
    """A command line in which `{}` stands for the file; `in_process` calls the tools of lect as functions."""

    words: tuple[str, ...]
    in_process: bool
    timeout: float

    def run(self, path: Path) -> Outcome:
        """Run it on a file."""
        words = [word.replace("{}", str(path)) for word in self.words]
        if not any("{}" in word for word in self.words):
            words.append(str(path))
        tool = tools().get(Path(words[0]).name) if self.in_process else None
        if tool is not None:
            return tool(words[1:])
        if words[0] in tools():
            words = [sys.executable, "-m", "lect", words[0].removeprefix("lect-"), *words[1:]]
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(-1, "(it took too long)")
        return Outcome(done.returncode, done.stdout + done.stderr)


def tools() -> dict[str, Callable[[list[str]], Outcome]]:
    """The tools that are called in this process."""
    return {"lect-opt": _lect_opt, "lect-run": _lect_run}


def _lect_opt(words: list[str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    return Outcome(lect_opt.run(words, "", out, err), out.getvalue() + err.getvalue())


def _lect_run(words: list[str]) -> Outcome:
    from lect.tools import lect_run

    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        try:
            status = lect_run.main(words)
        except SystemExit as stop:  # a wrong command line
            status = int(stop.code or 0) if isinstance(stop.code, int | None) else 2
    return Outcome(status, shown.getvalue())


def reduce(options: argparse.Namespace, words: tuple[str, ...]) -> str:
    """Do it with the words of a command, or with the file's own, and say in a line what came of it.  Raises `LectError` when there is nothing to reduce."""
    if ".py:" in options.file:
        with tempfile.TemporaryDirectory(prefix="lect-reduce-") as folder:
            path = Path(options.file.rpartition(":")[0])
            captured = Path(folder, f"{path.stem}.mlir")
            captured.write_text(captured_graph(options.file), encoding="utf-8")
            return reduce_file(captured, path.with_name(f"{path.stem}-reduced.mlir"), options, words)
    path = Path(options.file)
    if path.suffix == ".py":
        hint = f"name a function, whose graph is captured: lect-reduce {options.file}:FUNCTION"
        raise LectError(f"'{options.file}' is Python, and what is made smaller is a module", hint=hint)
    return reduce_file(path, path.with_name(f"{path.stem}-reduced.mlir"), options, words)


def captured_graph(target: str) -> str:
    """The text of the graph of `FILE.py:FUNCTION`.  Raises `LectError` where none is captured."""
    from lect.passes.manager import PassManager
    from lect.tools.capture_file import capture_file

    ctx = make_context()
    module = capture_file(target, ctx)
    PassManager.parse("capture").run(module, ctx)
    graphs = [op for op in module.body if op.name == "fx.graph"]
    if not graphs:
        raise LectError(f"no graph is captured of '{target}'")
    return "".join(print_op(op)[0] + "\n" for op in graphs)


def reduce_file(path: Path, usual_output: Path, options: argparse.Namespace, words: tuple[str, ...]) -> str:
    """`reduce` for the module in a file."""
    wanted_text = _regex(options.match) if options.match is not None else None
    text = path.read_text(encoding="utf-8")
    header = "".join(line for line in _leading_comments(text))
    module = parse_module(text, make_context(), str(path))
    verify(module)
    command = Command(words or own_command(text, str(path)), not options.subprocess, options.timeout)
    first = command.run(path)
    if options.match is None and first.status == 0:
        raise LectError(f"the command does not fail on '{path}': {shlex.join(command.words)}", hint="name what its output has to contain with --match")
    wanted = wanted_text or re.compile(usual_match(command.words, first.output))
    if not wanted.search(first.output):
        raise LectError(f"the output of the command has nothing like '{wanted.pattern}'; it is:\n{first.output[:2000]}")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lect-reduce-") as folder:
        candidate = Path(folder) / path.name

        def is_interesting(text: str) -> bool:
            candidate.write_text(text, encoding="utf-8")
            found = command.run(candidate)
            return found.status == first.status and wanted.search(found.output) is not None

        reduction = Reduction(module, is_interesting, header, start + options.seconds)
        before = count_ops(module)
        reduction.run()
    output = Path(options.output) if options.output else usual_output
    output.write_text(reduction.text, encoding="utf-8")
    print(f"lect-reduce: {reduction.asked} runs in {time.monotonic() - start:.1f} s", file=sys.stderr)
    return f"{count_ops(reduction.module)} of {before} operations are left: {output}"


def _regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        hint = "put a backslash before each of ( ) [ ] * + ? . that is meant as it is"
        raise LectError(f"--match is no regular expression: {error}: '{text}'", hint=hint) from None


def _leading_comments(text: str) -> list[str]:
    lines = []
    for line in text.splitlines(keepends=True):
        if not line.startswith("//"):
            break
        lines.append(line)
    return lines


def own_command(text: str, name: str) -> tuple[str, ...]:
    """The command that a file itself names.  Raises `LectError` when it names none."""
    found = read_configuration(text)
    if found is None:
        raise LectError(f"'{name}' names no command of its own", hint="give one behind '--'")
    tool = "lect-run" if any(flag in found for flag in (*COMPARING, "--random-inputs", "--inputs-inside")) else "lect-opt"
    return tool, "--run-reproducer", "{}"


def usual_match(words: Sequence[str], output: str) -> str:
    """What the output must contain when nobody says it: that values differ, or the beginning of the first error's message, up to a name or number."""
    if re.search(DIFFERS, output) and Path(words[0]).name == "lect-run":
        return DIFFERS
    error = re.search(r"error: ([^\d\n%@]+)", output)
    return re.escape(error[1]) if error else ""


if __name__ == "__main__":
    sys.exit(main())
