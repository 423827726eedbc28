"""Calls that product code makes nowhere, or only where a reason is given."""

import ast
from types import MappingProxyType

from tests.meta.tree import PRODUCT, ROOT, dotted_name, python_files, syntax

WRITERS_OF_CODE = MappingProxyType(
    {
        "ir/define.py": "constructors, from declared fields",
        "ir/structure.py": "structural checks, from declared fields",
        "backends/python_source.py": "host programs, graphs as calls of torch, and kernels as Triton source, which are Python by design",
        "runtime/guards.py": "guard checks, from a syntax tree",
    }
)
SILENT = ("dialects", "passes", "frontends", "backends")


def calls(*folders: str, names: frozenset[str]) -> list[str]:
    """file:line name of each call of one of these functions."""
    found = []
    for path in python_files(*folders):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Call) and dotted_name(node.func) in names:
                found.append(f"{path}:{node.lineno} {dotted_name(node.func)}")
    return found


def test_no_text_is_evaluated():
    assert calls(*PRODUCT, names=frozenset({"eval", "builtins.eval", "yaml.load", "pickle.loads", "marshal.loads"})) == []


def test_code_is_made_in_listed_files_only():
    found = calls(*PRODUCT, names=frozenset({"exec", "builtins.exec"}))
    assert {line.partition(":")[0] for line in found} <= set(WRITERS_OF_CODE), found


def test_listed_files_exist():
    assert all((ROOT / name).is_file() for name in WRITERS_OF_CODE)


def test_passes_never_print():
    """Also nothing else below the tools: what a person shall see goes to the context, to events or into an error."""
    assert calls(*SILENT, names=frozenset({"print", "sys.stdout.write", "sys.stderr.write", "pprint.pprint"})) == []
