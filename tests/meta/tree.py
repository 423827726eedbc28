"""What the meta tests share: the files of the repository, their syntax trees, and the ops and passes they declare."""

import ast
import functools
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("ir", "dialects", "passes", "frontends", "backends", "runtime", "tools", "src")
NEWER = re.compile(r"since_(\d)(\d+)")
SKIPPED_PARTS = frozenset({"__pycache__", "build", "dist"})


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """The files git knows (or, outside a git checkout, all files that are not build output), relative to ROOT."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        names = [Path(line) for line in listing.stdout.splitlines()]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if not path.is_symlink()]
    return tuple(sorted(name for name in names if is_source(name)))


def is_source(name: Path) -> bool:
    """True for a regular file outside hidden folders and build output."""
    path = ROOT / name
    hidden = any(part.startswith(".") and part != ".ci" for part in name.parts[:-1])
    return path.is_file() and not path.is_symlink() and not hidden and SKIPPED_PARTS.isdisjoint(name.parts)


def python_files(*folders: str) -> Iterator[Path]:
    """The Python files under the given top-level folders, relative to ROOT; all of the tree when none is given.

    A file for newer Pythons than this one says so by its name, `since_312.py`, and is left out.
    """
    for name in tracked_files():
        since = NEWER.fullmatch(name.stem)
        readable = since is None or sys.version_info >= (int(since[1]), int(since[2]))
        if name.suffix == ".py" and readable and (not folders or name.parts[0] in folders):
            yield name


@functools.cache
def syntax(name: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse((ROOT / name).read_text(encoding="utf-8"), filename=str(name))


def imported_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything a file imports, also inside functions; `from a import b` gives a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` for a chain of attribute reads on a name, and the empty string for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def dialect_names() -> list[str]:
    """The dialects in the order of their table."""
    return list(importlib.import_module("lect.dialects").TABLE)


def pass_table() -> dict[str, str]:
    """The table of passes: name -> "module:Class"."""
    return dict(importlib.import_module("lect.passes").PASSES)


def load_pass(target: str) -> type:
    """The pass class behind a "module:Class" entry."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)
