"""The size gate: a file has at most 600 lines and a function at most 60, so that each can be read in one sitting.

A table made by a program may be longer; such files are listed here by name, with how they are made.
"""

import ast

from tests.meta.tree import PRODUCT, ROOT, python_files, syntax, tracked_files

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
GENERATED = frozenset({"backends/special/tables.py"})
COUNTED_SUFFIXES = frozenset({".py", ".lark", ".mlir", ".c"})


def test_no_file_is_longer_than_600_lines():
    too_long = []
    for name in tracked_files():
        if name.suffix in COUNTED_SUFFIXES and str(name) not in GENERATED:
            lines = (ROOT / name).read_text(encoding="utf-8").count("\n")
            if lines > MAX_FILE_LINES:
                too_long.append(f"{name}: {lines} lines")
    assert not too_long, "\n".join(too_long)


def test_no_function_is_longer_than_60_lines():
    too_long = []
    for name in python_files(*PRODUCT, "benchmarks", "examples", "tests"):
        if str(name) in GENERATED:
            continue
        for node in ast.walk(syntax(name)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    too_long.append(f"{name}:{node.lineno} {node.name}: {lines} lines")
    assert not too_long, "\n".join(too_long)


def test_every_generated_file_exists():
    assert all((ROOT / name).is_file() for name in GENERATED)
