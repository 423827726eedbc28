"""`python -m benchmarks.bytecode`: what a Python instruction costs on its way to `pyframe`, through text, and back.

The code objects of four modules of the standard library are taken. Each number is the best of five runs in microseconds
of processor time an instruction, garbage collection off. The figures beside them are what each step is held to.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType

from lect.backends.bytecode import assemble
from lect.dialects import make_context
from lect.dialects.pyframe.control import FuncOp
from lect.frontends.bytecode import Symbols, decode_function, unsupported_kind
from lect.frontends.bytecode.reader import read_instructions
from lect.ir import parse_module, print_module, verify

MODULES: tuple[ModuleType, ...] = (argparse, contextlib, dataclasses, inspect)
RUNS = 5
GENERATOR = 0x20
FIGURES = {"read": None, "decode (reading included)": 5.0, "verify": None, "print": None, "parse": None, "assemble": 10.0}


def code_objects(code: CodeType) -> Iterator[CodeType]:
    """A code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def sample() -> list[CodeType]:
    """The code objects that are measured."""
    found: list[CodeType] = []
    for module in MODULES:
        path = Path(inspect.getsourcefile(module) or "")
        found += code_objects(compile(path.read_bytes(), str(path), "exec", dont_inherit=True))
    return [code for code in found if unsupported_kind(code) is None and not code.co_flags & GENERATOR]


def best(action: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds of processor time."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def measure(codes: list[CodeType]) -> dict[str, float]:
    """Seconds of each step over all code objects."""
    names = Symbols()
    functions: list[FuncOp] = [decode_function(code, names.of) for code in codes]
    resources = names.code_objects()
    texts = [print_module(function) for function in functions]
    ctx = make_context()
    return {
        "read": best(lambda: [read_instructions(code) for code in codes]),
        "decode (reading included)": best(lambda: [decode_function(code, names.of) for code in codes]),
        "verify": best(lambda: [verify(function) for function in functions]),
        "print": best(lambda: [print_module(function) for function in functions]),
        "parse": best(lambda: [parse_module(text, ctx) for text in texts]),
        "assemble": best(lambda: [assemble(function, None, resources) for function in functions]),
    }


def main() -> int:
    """Print the table."""
    codes = sample()
    instructions = sum(len(read_instructions(code)) for code in codes)
    gc.disable()
    print(f"Python {sys.version.split()[0]}, {len(codes)} code objects, {instructions} instructions")
    for step, seconds in measure(codes).items():
        figure = FIGURES[step]
        print(f"{step:28}{seconds / instructions * 1e6:8.2f} us" + (f"   (held to {figure})" if figure is not None else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
