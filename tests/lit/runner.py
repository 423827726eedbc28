"""Run the RUN lines of a lit test inside this process.

A RUN line is a list of pipelines (`a | b && c`) with redirections (`> FILE`, `< FILE`, `2> FILE`, `2>&1`).  The commands lect, lect-opt, lect-run, lect-reduce,
filecheck, not, cat, echo and true are functions here, with strings for standard input, output and error; any other command is a process, and
a line that needs more than the above goes to a shell whole.  Substitutions and directives are those of lit, so plain `lit tests/lit` runs the
same files.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_DIRECTIVE = re.compile(r"\b(RUN|REQUIRES|UNSUPPORTED|DEFINE|REDEFINE):\s?(.*)")
_TOKEN = re.compile(r"""\s*(2>&1|2>|>>|>|<|&&|\|\||\||;|&|(?:[^\s'"\\|&;<>]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+)""")
_QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""")
_NEEDS_SHELL = re.compile(r"[$`*?~()\[\]]")
_ASSIGNMENT = re.compile(r"\w+=")
_REDIRECTIONS = (">", ">>", "<", "2>")

Main = Callable[[list[str], str, io.StringIO, io.StringIO], int]


class LitFailure(Exception):
    """A RUN line failed; the text says which, how, and what it printed."""


@dataclass
class Script:
    """What a test file asks for: RUN lines (continuations joined), features, and `%{name}` definitions."""

    runs: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)


def read_script(text: str) -> Script:
    """The directives of a test."""
    script = Script()
    open_line = False
    for line in text.split("\n"):
        match = _DIRECTIVE.search(line)
        if match is None:
            continue
        kind, rest = match[1], match[2].rstrip()
        if kind == "RUN":
            if open_line:
                script.runs[-1] += " " + rest.lstrip()
            else:
                script.runs.append(rest)
            open_line = rest.endswith("\\")
            script.runs[-1] = script.runs[-1].removesuffix("\\")
        elif kind in ("REQUIRES", "UNSUPPORTED"):
            names = [name.strip() for name in rest.split(",")]
            (script.requires if kind == "REQUIRES" else script.unsupported).extend(names)
        else:
            name, _, value = rest.partition("=")
            script.definitions[name.strip()] = value.strip()
    return script


# ---- features --------------------------------------------------------------------------------------------------------


@cache
def has_feature(name: str) -> bool:
    """Whether this machine has what REQUIRES names: `cuda`, or `python-3.12` for the running version."""
    if name == "cuda":
        import torch

        return torch.cuda.is_available()
    return name == f"python-{sys.version_info.major}.{sys.version_info.minor}"


# ---- substitutions ---------------------------------------------------------------------------------------------------


def substitute(line: str, path: Path, temporary: Path, definitions: dict[str, str]) -> str:
    """`line` with lit's substitutions: %s %S %t %T %p %% %{s:basename} %{t:stem} %{pathsep} %{fs-sep} and those of DEFINE."""
    for name, value in reversed(definitions.items()):
        line = line.replace(name, value)
    table = {
        "%%": "%",
        "%{s:basename}": path.name,
        "%{s:stem}": path.stem,
        "%{t:stem}": str(temporary),
        "%{pathsep}": os.pathsep,
        "%{fs-sep}": os.sep,
        "%python": sys.executable,
        "%s": str(path),
        "%S": str(path.parent),
        "%p": str(path.parent),
        "%t": f"{temporary}.tmp",
        "%T": str(temporary.parent),
    }
    pattern = re.compile("|".join(re.escape(key) for key in table))
    return pattern.sub(lambda match: table[match[0]], line)


# ---- commands --------------------------------------------------------------------------------------------------------


def _lect_opt(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    from lect.tools.lect_opt import run

    return run(arguments, stdin, out, err)


def _lect(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    from lect.tools.lect_main import main

    return _called(main, arguments, stdin, out, err)


def _lect_run(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    from lect.tools.lect_run import main

    return _called(main, arguments, stdin, out, err)


def _lect_reduce(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    from lect.tools.lect_reduce import main

    return _called(main, arguments, stdin, out, err)


def _called(main: Callable[[list[str]], int], arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    outer, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            return main(arguments)
    except SystemExit as stop:  # how argparse ends
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.stdin = outer


def _filecheck(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options
    from filecheck.parser import Parser

    with redirect_stdout(out), redirect_stderr(err):
        options = parse_argv_options(["filecheck", *arguments])
        source = FInput(options.input_file, stdin) if options.input_file == "-" else FInput.from_opts(options)
        return Matcher(options, source, Parser.from_opts(options)).run()


def _cat(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    for name in arguments or ["-"]:
        out.write(stdin if name == "-" else Path(name).read_text(encoding="utf-8"))
    return 0


def _echo(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    out.write(" ".join(arguments) + "\n")
    return 0


def _true(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    return 0


def _process(arguments: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    try:
        result = subprocess.run(arguments, input=stdin, capture_output=True, text=True, env=_environment(), check=False)
    except FileNotFoundError:
        err.write(f"{arguments[0]}: command not found\n")
        return 127
    out.write(result.stdout)
    err.write(result.stderr)
    return result.returncode


COMMANDS: dict[str, Main] = {
    "lect": _lect,
    "lect-opt": _lect_opt,
    "lect-run": _lect_run,
    "lect-reduce": _lect_reduce,
    "filecheck": _filecheck,
    "cat": _cat,
    "echo": _echo,
    "true": _true,
}


def _environment() -> dict[str, str]:
    """The environment of processes: the scripts of this interpreter come first."""
    return {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


def call(words: list[str], stdin: str, out: io.StringIO, err: io.StringIO) -> int:
    """Run one command."""
    if words[0] == "not":
        rest = words[1:]
        if rest[:1] == ["--crash"]:
            rest = rest[1:]
        return int(call(rest, stdin, out, err) == 0)
    main = COMMANDS.get(words[0])
    if main is None:
        return _process(words, stdin, out, err)
    try:
        return main(words[1:], stdin, out, err)
    except Exception:  # as the process of a command would
        err.write(traceback.format_exc())
        return 1


# ---- lines -----------------------------------------------------------------------------------------------------------


@dataclass
class Stage:
    """One command of a pipeline with its redirections."""

    words: list[str] = field(default_factory=list)
    redirections: list[tuple[str, str]] = field(default_factory=list)
    merge: bool = False


def parse_line(line: str) -> list[list[Stage]] | None:
    """The pipelines between `&&`, or None when a shell is needed."""
    pipelines: list[list[Stage]] = [[Stage()]]
    position, pending = 0, ""
    while line[position:].strip():
        match = _TOKEN.match(line, position)
        if match is None:
            return None
        position = match.end()
        token = match[1]
        stage = pipelines[-1][-1]
        if token in ("||", ";", "&"):
            return None
        if token == "|":
            pipelines[-1].append(Stage())
        elif token == "&&":
            pipelines.append([Stage()])
        elif token == "2>&1":
            stage.merge = True
        elif token in _REDIRECTIONS:
            pending = token
        elif _NEEDS_SHELL.search(_QUOTED.sub("", token)) or (not stage.words and _ASSIGNMENT.match(token)):
            return None
        elif pending:
            stage.redirections.append((pending, unquote(token)))
            pending = ""
        else:
            stage.words.append(unquote(token))
    return pipelines if all(stage.words for pipeline in pipelines for stage in pipeline) else None


def unquote(token: str) -> str:
    """A shell word without its quotes."""

    def plain(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        return re.sub(r'\\(["\\$`])', r"\1", match[2]) if match[2] is not None else match[3]

    return _QUOTED.sub(plain, token)


def run_line(line: str) -> tuple[int, str, str]:
    """Status, output and error output of a line after substitution.  A pipeline fails with its last failing command."""
    pipelines = parse_line(line)
    if pipelines is None:
        shell = shutil.which("bash") or "sh"
        result = subprocess.run([shell, "-o", "pipefail", "-c", line], capture_output=True, text=True, env=_environment(), check=False)
        return result.returncode, result.stdout, result.stderr
    outputs, errors = "", ""
    for stages in pipelines:
        status, text = 0, ""
        for stage in stages:
            code, text, error = run_stage(stage, text)
            errors += error
            status = code or status
        outputs += text
        if status:
            return status, outputs, errors
    return 0, outputs, errors


def run_stage(stage: Stage, stdin: str) -> tuple[int, str, str]:
    """Status, output and error output of one command."""
    out = io.StringIO()
    err = out if stage.merge else io.StringIO()
    for kind, name in stage.redirections:
        if kind == "<":
            stdin = Path(name).read_text(encoding="utf-8")
    status = call(stage.words, stdin, out, err)
    text, error = out.getvalue(), "" if stage.merge else err.getvalue()
    for kind, name in stage.redirections:
        if kind == "2>":
            Path(name).write_text(error, encoding="utf-8")
            error = ""
        elif kind != "<":
            with open(name, "a" if kind == ">>" else "w", encoding="utf-8") as file:
                file.write(text)
            text = ""
    return status, text, error


def run_test(path: Path) -> None:
    """Run all RUN lines of a file in order.  Raises `LitFailure` for the first that fails."""
    script = read_script(path.read_text(encoding="utf-8"))
    if not script.runs:
        raise LitFailure(f"{path} has no RUN line")
    folder = Path(tempfile.mkdtemp(prefix="lect-lit-")) if _uses_files(script.runs) else Path(tempfile.gettempdir())
    try:
        for line in script.runs:
            expanded = substitute(line, path, folder / path.name, script.definitions)
            status, out, err = run_line(expanded)
            if status:
                shown = "\n".join(part for part in (out.rstrip(), err.rstrip()) if part)
                raise LitFailure(f"RUN: {line}\n$ {expanded}\nexit status {status}\n{shown}")
    finally:
        if _uses_files(script.runs):
            shutil.rmtree(folder, ignore_errors=True)


def _uses_files(runs: Iterable[str]) -> bool:
    return any("%t" in line or "%T" in line or "%{t:" in line for line in runs)
