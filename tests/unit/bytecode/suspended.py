"""Suspended generators made again, as a program: `python suspended.py` prints one line of JSON.

Each generator of `programs/generators.py` is brought to a place by some actions.  A second one, brought to the same place, gives its variables, cells and
stack to its resume generator, and the two are compared under pairs of further actions: values, exceptions with their tracebacks, lines, variables,
delegates, and what the program logs.  The stack of a real generator is read through the garbage collector, which visits it behind the variables.
"""

from __future__ import annotations

import dis
import gc
import itertools
import json
import sys
from pathlib import Path
from types import CellType, CodeType, FunctionType, GeneratorType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("programs") / "generators.py"
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

from stdlib import deepest_stack, turns_stop_iteration  # noqa: E402

from lect.backends.bytecode import assemble  # noqa: E402
from lect.dialects import make_context  # noqa: E402
from lect.dialects.pyframe.control import SUSPENDS, FuncOp  # noqa: E402
from lect.dialects.pyframe.types import PLACE  # noqa: E402
from lect.frontends.bytecode import Symbols, decode_function  # noqa: E402
from lect.frontends.capture.suspended import Resumption, resume_generator  # noqa: E402
from lect.ir import Operation, parse_module, print_module, verify  # noqa: E402

PREFIXES = [("next",) * count for count in range(7)]
PREFIXES += [("next", *rest) for rest in (("send",), ("value",), ("value", "next"), ("next", "value"), ("key",), ("value", "key"), ("next", "next", "value"))]
SECOND = ("next", "value", "close")
NOT_SEEN = ("in_method_call",)  # there the stack holds a function and its `self`, where pyframe has a bound method


class Decoded:
    """A generator's code object with its function, and the resume generators made of it."""

    def __init__(self, code: CodeType) -> None:
        symbols = Symbols()
        self.code = code
        self.func = decode_function(code, symbols.of)
        self.codes = symbols.codes
        self.made: dict[Any, tuple[Resumption, CodeType]] = {}

    def resumption(self, at: Operation | None, bound: frozenset[str], handling: bool) -> tuple[Resumption, CodeType]:
        """The resume generator of a place, and its code object."""
        key = (at, bound, handling)
        if key not in self.made:
            made = resume_generator(self.func, at, bound, handling)
            self.made[key] = made, assembled(made.func, self.codes)
        return self.made[key]


class Snapshot:
    """A real generator and what it is made of."""

    def __init__(self, generator: GeneratorType, decoded: Decoded) -> None:
        self.generator = generator
        self.decoded = decoded
        code = self.code = generator.gi_code
        self.func = decoded.func
        shown = dict(generator.gi_frame.f_locals)
        visited = gc.get_referents(generator)
        start = max(place for place, each in enumerate(visited) if each is code) + 1
        tail = visited[start:]
        names = (*code.co_varnames, *(name for name in code.co_cellvars if name not in code.co_varnames), *code.co_freevars)
        shared = [name for name in names if name in (*code.co_cellvars, *code.co_freevars)]
        self.cells = dict(zip(shared, [each for each in tail if type(each) is CellType]))
        self.values = {name: value for name, value in shown.items() if name not in self.cells}
        self.at = self._operation()
        count = len(self.values) + len(self.cells)
        height = 0 if self.at is None else len(self.at.then_operands) + (self.at.name == "pyframe.yield_from")  # type: ignore[attr-defined]
        self.stack, rest = tail[count : count + height], tail[count + height :]
        assert len(rest) <= 1 and all(isinstance(each, BaseException | None) for each in rest), f"unexpected: {rest}"
        self.handled = rest[0] if rest else None

    def _operation(self) -> Operation | None:
        """The suspension at which the generator stands: instructions and operations come in the same order."""
        last = self.generator.gi_frame.f_lasti
        offsets = [instruction.offset for instruction in dis.get_instructions(self.code) if instruction.opname == "YIELD_VALUE"]
        before = [offset for offset in offsets if offset <= last]
        if not before:
            return None
        positions = list(self.code.co_positions())
        here = positions[before[-1] // 2]
        same = [offset for offset in offsets if positions[offset // 2] == here]
        line, end_line, column, end_column = here
        found = [op for op in self.func.region.walk() if op.name in SUSPENDS and (op.loc.line, op.loc.end_line, op.loc.column, op.loc.end_column) == here]
        assert len(found) == len(same), f"{len(found)} operations for {len(same)} instructions at {here}"
        return found[same.index(before[-1])]

    def again(self) -> GeneratorType:
        """A generator that stands where this one does."""
        handling = self.handled is not None
        made, code = self.decoded.resumption(self.at, frozenset(self.values), handling)
        arguments = [self.cells[name] if name in made.func.cells else self.values.get(name, "unbound") for name in made.variables]
        if self.at is not None:
            places = dict(zip(self.at.then_operands, self.stack))  # type: ignore[attr-defined]
            assert all(isinstance(place, int) for value, place in places.items() if value.type is PLACE)
            arguments += [places[value] for value in made.stack]
            arguments += self.stack[-1:] if made.delegates else []
            arguments += [self.handled] if handling else []
        closure = tuple([self.cells[name] for name in code.co_freevars])
        function = FunctionType(code, self.generator.gi_frame.f_globals, self.code.co_name, None, closure)
        generator = function(*arguments)
        if self.at is not None:
            assert next(generator) is None
        return generator


def assembled(func: FuncOp, codes: dict[str, CodeType]) -> CodeType:
    """The code object, by way of the text."""
    verify(func)
    text = print_module(func, locations=True)
    module = parse_module(text, make_context())
    verify(module)
    assert print_module(module, locations=True) == text
    code = assemble(module.body.first, None, codes)
    assert deepest_stack(code) <= code.co_stacksize
    assert sys.version_info < (3, 12) or turns_stop_iteration(code)
    return code


def compare(program: dict[str, Any], known: dict[CodeType, Decoded], make: Any, prefix: tuple[str, ...], suffix: tuple[str, ...]) -> str | None:
    """None when the two go on alike, or when there is nothing to go on with; else a sentence."""
    act, finish = program["act"], program["finish"]
    original, given = make(), make()
    for action in prefix:
        act(original, action)
        act(given, action)
    if given.gi_frame is None:
        finish(original)
        return ""
    code = given.gi_code
    if code not in known:
        known[code] = Decoded(code)
    resumed = Snapshot(given, known[code]).again()
    expected = [act(original, action) for action in suffix]
    found = [act(resumed, action) for action in suffix]
    names = [(g.__name__, g.__qualname__, g.gi_running) for g in (original, resumed)]
    for generator in (original, resumed, given):
        finish(generator)
    return None if (expected, names[0]) == (found, names[1]) else f"{names} after {prefix}, {suffix}: expected {expected}, got {found}"


def main() -> None:
    """Compare everything."""
    code = compile(PROGRAM.read_text(encoding="utf-8"), str(PROGRAM), "exec", dont_inherit=True)
    program: dict[str, Any] = {"__name__": "generators", "__builtins__": __builtins__}
    exec(code, program)
    compared, failures = 0, []
    known: dict[CodeType, Decoded] = {}
    for make in program["SUSPENDING"]:
        if getattr(make, "__name__", "") in NOT_SEEN:
            continue
        for prefix in PREFIXES:
            for suffix in itertools.product(program["ACTIONS"], SECOND):
                outcome = compare(program, known, make, prefix, suffix)
                if outcome == "":
                    break
                compared += 1
                if outcome is not None:
                    failures.append(outcome)
    print(json.dumps({"compared": compared, "failures": failures[:20]}))


if __name__ == "__main__":
    main()
