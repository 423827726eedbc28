"""Run the functions of `programs/` as they are and round-tripped, as a program: `python execution.py` prints one line of JSON.

A whole file is compiled, its code objects go through decode -> print -> parse -> assemble, and both versions are executed.  Every `case_*` function
is called in both; result, output and exception (type, message, notes, cause, context, and the lines and columns of the traceback) must agree.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
import warnings
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).with_name("programs")
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))

from lect.backends.bytecode import assemble_module  # noqa: E402
from lect.dialects import make_context  # noqa: E402
from lect.dialects.builtin.ops import ModuleOp  # noqa: E402
from lect.frontends.bytecode import Symbols, decode_function, unsupported_kind  # noqa: E402
from lect.ir import Block, Region, parse_module, print_module, verify  # noqa: E402


def round_trip(code: CodeType) -> CodeType:
    """All code objects of a module through text and back; those of coroutines are taken over as they are."""
    ctx = make_context()
    names = Symbols()
    first = names.of(code)
    body = Block()
    for _, each in names:
        if unsupported_kind(each) is None:
            body.append(decode_function(each, names.of))
    text = print_module(ModuleOp(regions=[Region([body])]), locations=True)
    module = parse_module(text, ctx)
    verify(module)
    kept = {symbol: each for symbol, each in names.codes.items() if unsupported_kind(each) is not None}
    return assemble_module(module, ctx, kept)[first]


def describe(value: Any) -> Any:
    """A value in a form that can be compared across two runs."""
    text = repr(value)
    return [type(value).__name__, text if " at 0x" not in text else text.partition(" at 0x")[0]]


def describe_exception(error: BaseException | None, depth: int = 0) -> Any:
    """Type, message, notes, traceback positions, cause and context."""
    if error is None or depth > 5:
        return None
    frames = []
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename != __file__:
            frames.append([frame.name, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno])
    return {
        "type": type(error).__name__,
        "message": str(error).partition(" at 0x")[0],
        "notes": list(getattr(error, "__notes__", [])),
        "frames": frames[:20],
        "cause": describe_exception(error.__cause__, depth + 1),
        "context": describe_exception(error.__context__, depth + 1),
        "suppress": error.__suppress_context__,
        "parts": [describe_exception(e, depth + 1) for e in getattr(error, "exceptions", ())],
    }


def outcome(function: Any) -> Any:
    """What calling a function does."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            result: Any = {"value": describe(function())}
        except BaseException as error:  # noqa: BLE001
            result = {"raised": describe_exception(error)}
    result["output"] = out.getvalue()
    result["handled"] = repr(sys.exc_info()[1])
    return result


def load(path: Path, changed: bool) -> dict[str, Any]:
    """The namespace of a file, executed as it is or round-tripped."""
    code = compile(path.read_text(encoding="utf-8", errors="surrogatepass"), str(path), "exec", dont_inherit=True)
    namespace: dict[str, Any] = {"__name__": path.stem, "__builtins__": __builtins__}
    exec(round_trip(code) if changed else code, namespace)
    return namespace


def compare_file(path: Path) -> tuple[int, list[str]]:
    """(number of cases, sentences about those that differ)."""
    original, changed = load(path, False), load(path, True)
    names = [name for name in original if name.startswith("case_")]
    failures = []
    for name in names:
        assert changed[name].__code__.co_code is not original[name].__code__.co_code
        expected, got = outcome(original[name]), outcome(changed[name])
        if expected != got:
            failures.append(f"{path.stem}.{name}: expected {expected}, got {got}")
    return len(names), failures


def main() -> None:
    """Compare all files that this Python can read."""
    warnings.simplefilter("ignore")
    count, failures = 0, []
    for path in sorted([*PROGRAMS.glob("*.py"), *PROGRAMS.glob("*.txt")]):
        if path.stem.startswith("since_3") and sys.version_info[:2] < (3, int(path.stem.removeprefix("since_3"))):
            continue
        cases, found = compare_file(path)
        count += cases
        failures += found
    print(json.dumps({"cases": count, "failures": failures}))


if __name__ == "__main__":
    main()
