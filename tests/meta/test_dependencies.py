"""Product code imports what `pyproject.toml` declares, and all of it; docs/dependencies.md gives the reason for each."""

import re
import sys
import tomllib

from tests.meta.tree import PRODUCT, ROOT, imported_modules, python_files, syntax

# Imported by a command for developers alone, whose result is stored; see the `test` extra.
DEVELOPMENT = {"lark": {"ir/tables.py"}}
# Imported where it is installed; see the extras `gpu`, `progress` and `completion`.
OPTIONAL = {
    "triton": {"backends/triton/compile.py", "backends/triton/edited.py"},
    "rich": {"runtime/reporting.py"},
    "argcomplete": {"tools/completion.py", "tools/lect_completion.py"},
}


def declared(group: str | None = None) -> set[str]:
    """Names of the required packages, or of those of one extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["optional-dependencies"][group] if group else project["dependencies"]
    return {re.match(r"[\w-]+", line)[0] for line in lines}


def imported() -> dict[str, set[str]]:
    """Third-party package -> files of the product that import it."""
    found: dict[str, set[str]] = {}
    for name in python_files(*PRODUCT):
        for _, module in imported_modules(syntax(name)):
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in ("lect", "__future__"):
                found.setdefault(top, set()).add(str(name))
    return found


def test_imports_are_declared():
    wrong = {}
    for package, files in imported().items():
        special = {**DEVELOPMENT, **OPTIONAL}
        allowed = special[package] if package in special else files if package in declared() else set()
        if files - allowed:
            wrong[package] = sorted(files - allowed)
    assert wrong == {}


def test_declared_packages_are_imported():
    assert declared() - set(imported()) == set()


def test_every_package_has_its_reason():
    text = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    packages = declared() | declared("test") | declared("lint")
    assert [package for package in sorted(packages) if not re.search(rf"\b{package}\b", text)] == []
