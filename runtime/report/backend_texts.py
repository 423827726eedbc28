"""What the backends make of a lowered module, with the place of the program that each line comes from.

LLVM IR and Triton source say it themselves, in comments that the backends write; the lines of PTX name lines of the Triton source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lect.dialects import make_context
from lect.ir import UNKNOWN, Context, LectError, Location, Operation
from lect.ir.located_text import LocatedLines

_COMMENT = re.compile(r"\s*[;#] (?P<file>\S.*?):(?P<line>\d+)(?:  .*)?$")
_PTX_LINE = re.compile(r"\s*\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\b")
_PTX_FILE = re.compile(r'\s*\.file\s+(?P<number>\d+)\s+"(?P<name>.*)"')
_PTX_NOISE = re.compile(r"\s*\.section\s+\.debug")


def backend_texts(module: Operation, target: Mapping[str, Any]) -> dict[str, LocatedLines]:
    """Name of a text -> its lines and their places.  In the place of one that a backend refuses to make stands why."""
    ctx = make_context()
    ctx.target.update(target)
    kernels = [op for op in module.body if op.name == "kernel.func"]
    on_gpu = [op for op in kernels if op.attrs.get("target") == "cuda"]
    found: dict[str, LocatedLines] = {}
    for op in module.body:
        if op.name == "host.func":
            from lect.backends import python_host

            _put(found, "host.py", lambda: _plain(python_host.source_text(op, ctx), op.loc))  # noqa: B023  # called at once
    for op in on_gpu:
        _put(found, "triton", lambda: triton_text(op))  # noqa: B023
        _put(found, "ptx", lambda: ptx_text(op, int(target.get("arch", 90))))  # noqa: B023
    if kernels and not on_gpu:
        _put(found, "llvm", lambda: llvm_text(kernels, ctx))
    return found


def _put(found: dict[str, LocatedLines], name: str, make: Any) -> None:
    """Add a text to those of the same name."""
    try:
        lines, places = make()
    except Exception as error:  # one text less is no reason to have no report
        lines, places = [f"this text cannot be made: {type(error).__name__}: {' '.join(str(error).split())}"], [UNKNOWN]
    before = found.setdefault(name, ([], []))
    before[0].extend([""] * bool(before[0]) + lines)
    before[1].extend([UNKNOWN] * (len(before[0]) - len(before[1]) - len(lines)) + places)


def _plain(text: str, loc: Location) -> LocatedLines:
    lines = text.splitlines()
    return lines, [loc] * len(lines)


def commented(text: str) -> LocatedLines:
    """A text in which a comment names the place of all lines up to the next such comment, or to the end of the function."""
    lines, places, place = text.splitlines(), [], UNKNOWN
    for line in lines:
        said = _COMMENT.match(line)
        if said is not None:
            place = Location(said["file"], int(said["line"]))
        elif line.startswith(("}", "define", "def ", "@")) or not line.strip():
            place = UNKNOWN
        places.append(place)
    return lines, places


def llvm_text(kernels: list[Operation], ctx: Context) -> LocatedLines:
    """The LLVM module of all kernels of a graph, as it is given to LLVM."""
    from lect.backends.llvm.kernels import module_text

    return commented(module_text(kernels, ctx))


def triton_text(kernel: Operation) -> LocatedLines:
    """The Triton source of a kernel."""
    from lect.backends.triton import triton_source

    return commented(triton_source(kernel).text)


def ptx_text(kernel: Operation, arch: int) -> LocatedLines:
    """The PTX of a kernel for pointers that are multiples of 16 bytes, without the sections for debuggers.

    Triton is asked once more and answers from its own cache where the compile was just made.
    """
    from lect.backends import triton
    from lect.backends.triton.compile import compile_source

    reason = triton.available()
    if reason is not None:
        raise LectError(reason)
    source = triton.triton_source(kernel)
    try:
        compiled = compile_source(source, arch, (True,) * len(source.signature))
    except Exception as error:  # what Triton raises for a kernel that it refuses
        raise LectError(f"Triton refuses the kernel: {type(error).__name__}", op=kernel) from error
    return ptx_places(str(compiled.asm["ptx"]), commented(source.text)[1])


def ptx_places(text: str, source: list[Location]) -> LocatedLines:
    """The lines of a PTX text; a line `.loc 1 8 0` says that what follows comes from line 8 of the source, whose lines have these places."""
    files = {said["number"]: said["name"] for said in map(_PTX_FILE.match, text.splitlines()) if said is not None}
    lines: list[str] = []
    places: list[Location] = []
    place = UNKNOWN
    for line in text.splitlines():
        if _PTX_NOISE.match(line):
            break
        said = _PTX_LINE.match(line)
        if said is not None:
            number = int(said["line"])
            own = "<lect kernel" in files.get(said["file"], "<lect kernel")
            place = source[number - 1] if own and 0 < number <= len(source) else UNKNOWN
        elif line.startswith("}"):
            place = UNKNOWN
        lines.append(line.replace("\t", "    "))
        places.append(place)
    return lines, places
