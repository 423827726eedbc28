"""lect report: one HTML file with everything that lect did to a program, from the lines of its source to machine code.

    lect report f.py:f                           one call of a function, with the arguments that f_inputs() or inputs() of the file returns
    lect report f.py:f -o out.html               the same, into another file than report.html
    lect report train.py                         a whole program: every version, backward, guard miss and event of its run
    lect report -o out.html train.py --steps 3   with arguments of the program's own; they stand behind it, so options of this command come first
    LECT_REPORT=out.html python train.py         the same without this command, which also works with pytest, torchrun and the like

The file needs nothing else: open it in a browser, send it, keep it.  docs/report.md says how to read it.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from lect.ir import LectError
from lect.tools.completion import offer


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="lect report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="report.html", metavar="FILE", help="the file that is written (default: report.html)")
    parser.add_argument("target", metavar="FILE.py[:FUNCTION]", help="a function of a file, or a program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of the program")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: the program's own, 1 when it raised or nothing can be reported, 0 otherwise."""
    given = list(sys.argv[1:] if argv is None else argv)
    options = offer(arguments()).parse_args(given)
    function = is_function(options.target)
    if function and options.arguments:  # options may also stand behind a function, which takes no arguments
        options = arguments().parse_args([*options.arguments, options.target])
    try:
        if function:
            return report_function(options.target, options.output)
        if options.arguments and options.arguments[0] in ("-o", "--output"):
            print(f"note: {options.arguments[0]} behind {options.target} is an option of that program; those of lect report come first", file=sys.stderr)
        return report_program(Path(options.target), options.arguments, options.output)
    except LectError as error:
        print(error.render(), file=sys.stderr)
        return 1


def is_function(target: str) -> bool:
    """Whether a target is FILE.py:FUNCTION, and not a file alone."""
    path, _, name = target.rpartition(":")
    return bool(path) and not Path(target).is_file() and all(part.isidentifier() for part in name.split("."))


def report_function(target: str, output: str) -> int:
    """Explain one call of a function of a file.  Raises `LectError` when there is no such function, or the file cannot be written."""
    from lect.runtime.explain import explain_call
    from lect.tools.capture_file import check_inputs, find, inputs_of, load_file

    path, _, name = target.rpartition(":")
    module = load_file(Path(path))
    function = find(module, name, path)
    function = getattr(function, "_lect_original", function)
    args, kwargs = inputs_of(module, name, path)
    check_inputs(function, name, args, kwargs)
    explanation = explain_call(function, args, kwargs)
    if explanation.raised is not None:
        traceback.print_exception(explanation.raised)
    print(f"wrote {explanation.report(output)}")
    return 0 if explanation.raised is None else 1


def report_program(path: Path, rest: Sequence[str], output: str) -> int:
    """Run a program as `python path ...` would, and report all that it compiles.  Raises `LectError` when there is none, or the file cannot be written.

    What the program raises is printed, and what was compiled until then is reported.
    """
    if not path.is_file():
        raise LectError(f"cannot read '{path}': no such file", hint="name a program, or FILE.py:FUNCTION")
    from lect.runtime.entry import record
    from lect.runtime.report.page import write_report

    recorder, status = record(), 0
    sys.argv = [str(path), *rest]
    sys.path.insert(0, str(path.parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    except Exception:
        traceback.print_exc()
        status = 1
    finally:
        sys.path.remove(str(path.parent))
        recorder.stop()
    print(f"wrote {write_report(recorder, output, path.name)}")
    if not recorder.records:
        print(f"{path} compiled nothing", file=sys.stderr)
    return status
