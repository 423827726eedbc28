"""lect-opt: read IR text (or capture a Python function), run passes, print the IR.

    lect-opt graph.mlir -p loop,kernel                        named pipelines, or passes: see --list-pipelines and --list-passes
    lect-opt graph.mlir -p 'loop-fuse-vertical{max_body=64},dce'
    lect-opt graph.mlir --canonicalize --cse                  passes as flags, as mlir-opt takes them
    lect-opt --capture f.py:f -p capture,aot,loop             start from a Python function
    lect-opt --capture f.py:f -p capture,aot,loop --print-ir-after-change
    lect-opt graph.mlir -p loop,kernel --emit llvm            what a backend makes of it
    lect-opt graph.mlir -p loop,kernel --target cuda:sm_90 --emit triton
    lect-opt graph.mlir -p loop,kernel,emit-triton            the same
    lect-opt graph.mlir -p loop --timing --stats -o out.mlir
    cat graph.mlir | lect-opt --print-op-generic              for MLIR's own tools
    lect-opt --run-reproducer failed.mlir                     what an error message names

Everything wrong with the input is one located message on standard error and exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from lect.dialects import make_context
from lect.ir import Context, LectError, Location, Operation, parse_module, print_module, verify
from lect.passes import PASSES
from lect.passes.instrument import (
    Instrument,
    PrintIR,
    PrintTree,
    Reproducer,
    RoundTrip,
    Style,
    check_round_trip,
    read_configuration,
    statistics_table,
    timing_table,
)
from lect.passes.manager import PassManager, Step, crash
from lect.passes.pipelines import PIPELINES
from lect.passes.targets import TARGETS
from lect.passes.tuning import TUNING
from lect.runtime.tuning_records import records_for
from lect.tools.completion import completed_by, offer, pass_names, pipeline, targets

SPLIT = "// -----"


class UsageError(LectError):
    """The command line is wrong."""


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(message)


BACKENDS = ("python", "native", "llvm", "torch", "triton")
BACKEND, DEFAULT_GPU = "emit-", "cuda:sm_90"  # how a backend is called in a pipeline, and whom Triton's kernels are for


def arguments() -> argparse.ArgumentParser:
    """The flags of lect-opt."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Arguments(prog="lect-opt", usage="lect-opt [FILE] [options]", description=__doc__, formatter_class=raw, add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("input", nargs="?", help="IR file, '-' for standard input (the default)")
    add("-h", "--help", action="store_true", help="show this text")
    what = "passes and named pipelines, 'a,b{option=1},loop'; may be repeated; also --PASS and --PASS=option=1, and --pass-pipeline as mlir-opt has it"
    completed_by(add("-p", "--pipeline", action="append", default=[], metavar="PIPELINE", help=what), pipeline)
    add("-o", "--output", default="-", metavar="FILE", help="where the IR goes (default: standard output)")
    what = "a name as cuda:sm_90, vector_bytes, registers, fma, l1_bytes to l3_bytes, threads"
    completed_by(add("--target", default="", metavar="KEY=VALUE,...", help=f"the machine that passes decide for: {what}"), targets)
    add("--tuning", metavar="FILE", help="records of tuning, which decide instead of the estimates of passes; for the device 'cpu' without --target")
    add("--emit", choices=BACKENDS, help="print what a backend makes of the result instead of IR")
    add("--capture", metavar="FILE.py:FUNCTION", help="start from a Python function, called with what FUNCTION_inputs() or inputs() of the file gives")
    add("--decode", metavar="FILE.py:FUNCTION", help="start from the bytecode of a Python function, which is compiled but not run")
    add("--list-passes", action="store_true", help="name all passes with one line each")
    add("--list-pipelines", action="store_true", help="name all pipelines with their passes")
    look = parser.add_argument_group("looking at the IR (on standard error)").add_argument
    completed_by(look("--print-ir-before", action="append", default=[], metavar="PASS", help="print the IR before each run of PASS (several: a,b)"), pass_names)
    completed_by(look("--print-ir-after", action="append", default=[], metavar="PASS", help="print the IR after each run of PASS"), pass_names)
    look("--print-ir-before-all", action="store_true", help="print the IR before each pass")
    look("--print-ir-after-all", action="store_true", help="print the IR after each pass")
    look("--print-ir-after-change", action="store_true", help="print the IR after each pass that changed it")
    look("--print-ir-tree-dir", metavar="DIR", help="write the IR after each pass to numbered files in DIR")
    look("--print-op-generic", action="store_true", help="print IR in MLIR's generic form")
    look("--print-locations", action="store_true", help="print the location of each operation")
    look("--timing", action="store_true", help="print what each step took")
    look("--stats", action="store_true", help="print what each pass counted")
    look("--remarks", action="store_true", help="print the remarks of passes")
    check = parser.add_argument_group("checking").add_argument
    check("--verify-each", action=argparse.BooleanOptionalAction, default=True, help="verify the IR behind each pass (default: yes)")
    check("--verify-roundtrip", action="store_true", help="read back what is printed in front of the first pass and behind each, and compare")
    check("--split-input-file", action="store_true", help=f"treat the parts of the file between lines '{SPLIT}' one by one")
    check("--verify-diagnostics", action="store_true", help="compare errors and remarks with '// expected-error @+1 {{text}}' comments")
    check("--allow-unregistered-dialect", action="store_true", help="accept operations of dialects that lect does not know")
    check("--reproducer", metavar="FILE", help="where the file goes that replays a failing pass (default: the folder for temporary files)")
    check("--run-reproducer", action="store_true", help="take the flags from the input file, a reproducer")
    return parser


def passes_from_flags(argv: Sequence[str]) -> list[str]:
    """A command line in which passes that are flags, as in `--cse` and `--loop-fuse-vertical=max_body=64`, stand behind `-p`."""
    found = []
    own = {flag for action in arguments()._actions for flag in action.option_strings}
    for word in argv:
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and (name in PASSES or name in PIPELINES) and f"--{name}" not in own:
            found += ["-p", f"{name}{{{value.removeprefix('{').removesuffix('}')}}}" if equals else name]
        elif word.startswith("--pass-pipeline="):
            found += ["-p", value.strip().removeprefix("builtin.module(").removesuffix(")") if value.strip().startswith("builtin.module(") else value]
        else:
            found.append(word)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """The command.  Returns the exit status."""
    offer(arguments())
    return run(sys.argv[1:] if argv is None else argv, None, sys.stdout, sys.stderr)


def run(argv: Sequence[str], stdin: str | None, out: TextIO, err: TextIO) -> int:
    """lect-opt as a function: `stdin` is the text of standard input (None: the process's own).  Returns the exit status."""
    try:
        parser = arguments()
        options = parser.parse_args(passes_from_flags(argv))
        if options.help:
            out.write(parser.format_help())
        elif options.list_passes:
            out.write(list_passes())
        elif options.list_pipelines:
            out.write(list_pipelines())
        else:
            return _Driver(options, stdin, out, err).drive()
    except LectError as error:
        err.write(f"lect-opt: {error}\n" if not error.loc.known else f"{error}\n")
        return 1
    return 0


# ---- lists -----------------------------------------------------------------------------------------------------------


def list_passes() -> str:
    """Each pass with the first line of its class's docstring."""
    width = max(map(len, PASSES))
    return "".join(f"{name:{width}}  {summary(target)}\n" for name, target in PASSES.items())


def summary(target: str) -> str:
    """The first line of the docstring of "module:Class", read from the source so that nothing is imported."""
    import re
    from importlib.util import find_spec

    module, _, class_name = target.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    source = Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(rf'^class {class_name}\b.*:\n\s+"""(.*?)(?:"""|\n)', source, re.M)
    return found[1].strip() if found else ""


def list_pipelines() -> str:
    """Each pipeline with its text."""
    width = max(map(len, PIPELINES))
    return "".join(f"{name:{width}}  {','.join(passes)}\n" for name, passes in PIPELINES.items())


# ---- one run ---------------------------------------------------------------------------------------------------------


@dataclass
class _Chunk:
    """One part of the input: `text` keeps the line numbers of the file, `errors` and `ctx` are what came of it."""

    text: str
    ctx: Context
    errors: list[LectError] = field(default_factory=list)
    printed: str | None = None


@dataclass
class _Driver:
    """Takes the input through the passes.  One object for one run."""

    options: argparse.Namespace
    stdin: str | None
    out: TextIO
    err: TextIO
    steps: list[Step] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)

    def drive(self) -> int:
        """The whole run.  Returns the exit status; raises `LectError` for what is wrong as a whole."""
        text = "" if self._starts_from_python() else self._read()
        if self.options.run_reproducer:
            text = self._take_configuration(text)
        self.filename = self.options.input or "-"
        self.style = Style(self.options.print_op_generic, self.options.print_locations)
        manager = PassManager.parse(self._passes(), self.options.verify_each)
        instruments = self._instruments()
        parts = split_input(text) if self.options.split_input_file else [text]
        chunks = [self._chunk(part, manager, instruments) for part in parts]
        self._write("\n// -----\n\n".join(chunk.printed for chunk in chunks if chunk.printed is not None))
        failing = sum(not self._report(chunk) for chunk in chunks)
        if self.options.timing:
            self.err.write(timing_table(self.steps, list(self.times.items())))
        if self.options.stats:
            self.err.write(statistics_table(self.steps))
        return 1 if failing else 0

    def _passes(self) -> str:
        """The text of the pipeline without a backend behind it, which prints the result; Triton's kernels are for an H200 if no target is given."""
        text = ",".join(self.options.pipeline)
        rest, _, last = text.rpartition(",")
        name = last.strip().removeprefix(BACKEND)
        if not last.strip().startswith(BACKEND) or name not in BACKENDS:
            return text
        self.options.emit = name
        if name == "triton" and not self.options.target:
            self.options.target = DEFAULT_GPU
        return rest

    def _starts_from_python(self) -> bool:
        return bool(self.options.capture or self.options.decode)

    def _read(self) -> str:
        name = self.options.input or "-"
        if name == "-":
            return self.stdin if self.stdin is not None else sys.stdin.read()
        try:
            return Path(name).read_bytes().decode("utf-8").replace("\r\n", "\n")
        except OSError as error:
            raise UsageError(f"cannot read '{name}': {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"'{name}' is not UTF-8 text: byte {error.start}: {error.reason}") from None

    def _take_configuration(self, text: str) -> str:
        configuration = read_configuration(text)
        if configuration is None:
            raise UsageError(f"'{self.options.input or '-'}' is no reproducer: it has no line '// configuration: ...'")
        given = self.options
        try:
            self.options = arguments().parse_args([*configuration, given.input or "-"])
        except UsageError as error:
            hint = f"lect-run --run-reproducer {given.input}" if {"--random-inputs", "--inputs-inside"} & {*configuration} else None
            raise UsageError(f"'{given.input or '-'}' asks for another tool: {error.message}", hint=hint) from None
        self.options.output, self.options.reproducer = given.output, given.reproducer
        if self.options.capture and self.options.capture.startswith(":"):  # a function of the reproducer itself
            self.options.capture = f"{given.input}{self.options.capture}"
        return "" if self._starts_from_python() else text

    def _instruments(self) -> list[Instrument]:
        options = self.options
        after_all = options.print_ir_after_all or options.print_ir_after_change
        before = None if options.print_ir_before_all else _pass_names(options.print_ir_before)
        after = None if after_all else _pass_names(options.print_ir_after)
        out: list[Instrument] = []
        if before is None or after is None or before or after:
            out.append(PrintIR(self.err.write, self.style, before, after, options.print_ir_after_change))
        if options.verify_roundtrip:
            out.append(RoundTrip(False))
        if options.print_ir_tree_dir:
            out.append(PrintTree(Path(options.print_ir_tree_dir), self.style))
        if not options.verify_diagnostics:  # there, failing is what is asked for
            flags = [flag for flag, is_set in _repeated_flags(options) if is_set]
            flags += ["--target", options.target] if options.target else []
            source = ["--capture", options.capture] if options.capture else ["--decode", options.decode] if options.decode else []
            out.append(Reproducer(self._reproducer_path, flags, source))
        return out

    def _reproducer_path(self, name: str) -> Path:
        if self.options.reproducer:
            return Path(self.options.reproducer)
        import os
        import tempfile

        return Path(tempfile.gettempdir()) / f"lect-reproducer-{name}-{os.getpid()}.mlir"

    def _chunk(self, text: str, manager: PassManager, instruments: list[Instrument]) -> _Chunk:
        chunk = _Chunk(text, make_context(allow_unregistered=self.options.allow_unregistered_dialect))
        chunk.ctx.target.update(read_target(self.options.target))
        try:
            if self.options.tuning:
                chunk.ctx.resources[TUNING] = records_for(chunk.ctx.target, {"tuning": self.options.tuning}, None)
            module = self._timed("capture" if self.options.capture else "parse", lambda: self._load(chunk))
            self._timed("verify input", lambda: verify(module))
            if self.options.verify_roundtrip:
                check_round_trip(print_module(module, locations=True), "the input", chunk.ctx)
            self.steps += manager.run(module, chunk.ctx, instruments)
            chunk.printed = self._timed("print", lambda: self._text(module, chunk.ctx))
        except LectError as error:
            chunk.errors.append(error)
        except RecursionError:
            chunk.errors.append(LectError("the IR is nested too deeply", Location(self.filename, 1, 0)))
        except Exception as error:
            problem = crash("reading or printing the IR", error)
            problem.loc = Location(self.filename, 1, 0)
            chunk.errors.append(problem)
        return chunk

    def _text(self, module: Operation, ctx: Context) -> str:
        if self.options.emit is None:
            return self.style.text(module)
        from lect.tools.translate import emit

        return emit(self.options.emit, module, ctx)

    def _load(self, chunk: _Chunk) -> Operation:
        if self.options.capture:
            from lect.tools.capture_file import capture_file

            return capture_file(self.options.capture, chunk.ctx)
        if self.options.decode:
            from lect.tools.decode_file import decode_file

            return decode_file(self.options.decode, chunk.ctx)
        return parse_module(chunk.text, chunk.ctx, self.filename)

    def _timed(self, what: str, action: Any) -> Any:
        start = time.perf_counter()
        try:
            return action()
        finally:
            self.times[what] = self.times.get(what, 0.0) + time.perf_counter() - start

    def _report(self, chunk: _Chunk) -> bool:
        """Show what went wrong in a chunk; True when nothing did."""
        errors = chunk.errors
        if self.options.verify_diagnostics:
            from lect.tools.expected import check, read_expectations

            errors = check(read_expectations(chunk.text, self.filename), errors, chunk.ctx.remarks, self.filename)
        for error in errors:
            self.err.write(f"{error}\n")
        if self.options.remarks:
            for message, op in chunk.ctx.remarks:
                place = f"{op.loc}: " if op is not None and op.loc.known else ""
                self.err.write(f"{place}remark: {message}\n")
        return not errors

    def _write(self, text: str) -> None:
        if self.options.output == "-":
            self.out.write(text)
            self.out.flush()
            return
        try:
            Path(self.options.output).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write '{self.options.output}': {error.strerror}") from None


def read_target(text: str) -> dict[str, int | str]:
    """The description of a machine: numbers are numbers, everything else is text; a name stands for what is known of it.  Raises `UsageError`."""
    found: dict[str, int | str] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        if item in TARGETS:
            found.update(TARGETS[item])
            continue
        if not (key and equals and value):
            raise UsageError(f"--target takes KEY=VALUE,... or one of {', '.join(TARGETS)}, got '{item}'")
        if value.lstrip("+-.")[:1].isdecimal() and not (value.isdecimal() and int(value)):
            raise UsageError(f"--target takes whole numbers from 1, got '{item}'")
        found[key] = int(value) if value.isdecimal() else value
    return found


def _repeated_flags(options: argparse.Namespace) -> list[tuple[str, bool]]:
    return [("--no-verify-each", not options.verify_each), ("--allow-unregistered-dialect", options.allow_unregistered_dialect)]


def _pass_names(arguments: list[str]) -> frozenset[str]:
    names = frozenset(name for argument in arguments for name in argument.split(","))
    for name in sorted(names - PASSES.keys()):
        raise UsageError(f"there is no pass '{name}' to print the IR around; lect-opt --list-passes names them all")
    return names


def split_input(text: str) -> list[str]:
    """The parts between lines `// -----`, each with as many empty lines in front as keep its line numbers those of the file."""
    parts: list[str] = []
    begin = 0
    lines = text.split("\n")
    for number, line in enumerate([*lines, SPLIT]):
        if line.rstrip() == SPLIT:
            parts.append("\n" * begin + "\n".join(lines[begin:number]))
            begin = number + 1
    return parts


__all__ = ["list_passes", "main", "run", "split_input"]

if __name__ == "__main__":
    sys.exit(main())
