"""Round trips of the standard library's code objects, as a program: `python stdlib.py STEP OFFSET` prints one line of JSON.

For every STEP-th source file from OFFSET on, each code object of it is decoded, printed with locations, parsed, verified, printed again, and
assembled; the result is compared with the original by lockstep symbolic execution (`equivalence`), its attributes one by one, and its stack size
with what `dis.stack_effect` says.
It imports nothing but `lect.ir`, the dialect, the decoder and the assembler, so that it runs under a bare Python.
"""

from __future__ import annotations

import dis
import json
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType

ROOT = Path(__file__).resolve().parents[3]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

from equivalence import Different, compare  # noqa: E402

from lect.backends.bytecode import assemble  # noqa: E402
from lect.backends.bytecode.frame import LAMBDAS_TURN_STOP_ITERATION  # noqa: E402
from lect.dialects import make_context  # noqa: E402
from lect.frontends.bytecode import Symbols, decode_function, unsupported_kind  # noqa: E402
from lect.ir import LectError, Operation, parse_module, print_module, verify  # noqa: E402

SKIPPED = {"site-packages", "__pycache__", "lib2to3", "bad_coding", "idlelib"}
OPTIMIZED, CO_GENERATOR = 0x1, 0x20
STOPITERATION_ERROR = 3  # of CALL_INTRINSIC_1
NEVER_FALLS_THROUGH = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
CHECKED = ("co_name", "co_qualname", "co_filename", "co_firstlineno", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_freevars", "co_cellvars")


def source_files() -> list[str]:
    """Paths of the standard library's modules, its tests among them, in a fixed order."""
    found = []
    for folder, folders, files in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        found += [os.path.join(folder, name) for name in sorted(files) if name.endswith(".py")]
    return found


def code_objects(code: CodeType) -> Iterator[CodeType]:
    """A code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def round_trip(code: CodeType, text: bool = True) -> CodeType:
    """decode -> print -> parse -> assemble; nested code objects are taken over as they are.  Raises AssertionError, LectError."""
    names = Symbols()
    func = through_text(code, names) if text else decode_function(code, names.of)
    return assemble(func, None, names.codes)


def through_text(code: CodeType, names: Symbols | None = None) -> Operation:
    """decode -> print -> parse -> print, which must be the same text.  Raises AssertionError, LectError."""
    func = decode_function(code, (names or Symbols()).of)
    verify(func)
    printed = print_module(func, locations=True)
    module = parse_module(printed, make_context())
    verify(module)
    assert print_module(module, locations=True) == printed, "the text is not a fixed point"
    return module.body.first


def deepest_stack(code: CodeType) -> int:
    """The greatest height of the operand stack on any path, by `dis.stack_effect`.  Raises AssertionError where two paths disagree."""
    instructions = list(dis.get_instructions(code))
    at = {instruction.offset: position for position, instruction in enumerate(instructions)}
    handlers = list(dis._parse_exception_table(code))  # type: ignore[attr-defined]
    heights = {0: int(bool(code.co_flags & CO_GENERATOR) and sys.version_info < (3, 13))}  # until then `dis` knows nothing of what RETURN_GENERATOR pushes
    waiting = [0]
    while waiting:
        position = waiting.pop()
        instruction = instructions[position]
        edges = [(at[h.target], h.depth + 1 + h.lasti) for h in handlers if h.start <= instruction.offset < h.end]
        argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
        jumps = [False] if instruction.opname not in NEVER_FALLS_THROUGH else []
        if instruction.opcode in dis.hasjrel:
            jumps.append(True)
        for jump in jumps:
            reached = heights[position] + dis.stack_effect(instruction.opcode, argument, jump=jump)
            edges.append((at[instruction.argval] if jump else position + 1, reached))
        for target, reached in edges:
            known = heights.get(target)
            assert known in (None, reached), f"the stack is {known} or {reached} high at {instructions[target]}"
            if known is None:
                heights[target] = reached
                waiting.append(target)
    return max(heights.values())


def check(code: CodeType) -> int:
    """Round-trip one code object; the number of compared events.  Raises AssertionError, Different or LectError."""
    made = round_trip(code)
    events = compare(code, made)
    for name in CHECKED:
        assert getattr(made, name) == getattr(code, name), f"{name} is {getattr(made, name)!r}, was {getattr(code, name)!r}"
    assert made.co_flags == code.co_flags, f"flags are {made.co_flags:#x}, were {code.co_flags:#x}"
    assert [name.lstrip(".") for name in made.co_varnames] == [name.lstrip(".") for name in code.co_varnames], "names of locals differ"
    if code.co_flags & OPTIMIZED:
        shared = tuple([CellType() for _ in code.co_freevars])
        docs = [FunctionType(each, {}, None, None, shared).__doc__ for each in (made, code)]
        assert docs[0] == docs[1], f"the docstring is {docs[0]!r}, was {docs[1]!r}"
    assert deepest_stack(made) <= made.co_stacksize, "the stack is deeper than co_stacksize"
    if code.co_flags & CO_GENERATOR and sys.version_info >= (3, 12) and (code.co_name != "<lambda>" or LAMBDAS_TURN_STOP_ITERATION):
        assert turns_stop_iteration(made), "a StopIteration may leave the generator as it is"
    return events


def turns_stop_iteration(code: CodeType) -> bool:
    """True when every exception out of a generator's body, RESUME included, reaches a handler, the last of which is that for StopIteration."""
    instructions = list(dis.get_instructions(code))
    last = next(i for i in reversed(instructions) if i.opname == "CALL_INTRINSIC_1" and i.arg == STOPITERATION_ERROR)
    handlers = list(dis._parse_exception_table(code))  # type: ignore[attr-defined]
    begin = next(i.offset for i in instructions if i.opname == "RESUME")
    covered = {offset: entry for entry in handlers for offset in range(entry.start, entry.end, 2)}
    return all(_reaches(covered, i.offset, last.offset) for i in instructions if begin <= i.offset < last.offset)


def _reaches(covered: dict, offset: int, last: int) -> bool:
    """True when `offset` has a handler, and if that is the last one, it empties the stack and keeps the place of the raise."""
    entry = covered.get(offset)
    return entry is not None and (entry.target != last or (entry.depth == 0 and entry.lasti))


def waits(code: CodeType) -> bool:
    """True for a generator expression over an asynchronous iterable: its flags do not say so, its instructions do."""
    return any(instruction.opname in ("GET_AITER", "GET_AWAITABLE") for instruction in dis.get_instructions(code))


def main() -> None:
    """Check a sample and print what was found."""
    step, offset = int(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")
    counts = {"files": 0, "codes": 0, "events": 0, "refused": 0, "generators": 0}
    failures: list[str] = []
    for path in source_files()[offset::step]:
        try:
            top = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue  # files that are wrong on purpose
        counts["files"] += 1
        for code in code_objects(top):
            if unsupported_kind(code) is not None or waits(code):
                counts["refused"] += 1
                continue
            counts["codes"] += 1
            try:
                counts["generators"] += bool(code.co_flags & CO_GENERATOR)
                counts["events"] += check(code)
            except (AssertionError, Different, LectError) as error:
                failures.append(f"{path}:{code.co_firstlineno} {code.co_qualname}: {type(error).__name__} {str(error)[:300]}")
    print(json.dumps({**counts, "failures": failures}))


if __name__ == "__main__":
    main()
