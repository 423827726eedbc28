"""No ambient state: module-level tables are frozen, and environment variables are read in one place.

The rule, in the packages PURE: a list, dict or set bound at module level (as a display, a comprehension or a
constructor call) must be wrapped in `MappingProxyType`, `tuple` or `frozenset`, or be annotated with `Final`
and never changed after its module has been imported. No function may rebind a module-level name through
`global`, and none may change a module-level container through a subscript or a mutating method.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.meta.tree import PRODUCT, dotted_name, python_files, syntax

PURE = ("dialects", "passes", "frontends", "backends")
MUTABLE_CONSTRUCTORS = frozenset(
    {"list", "dict", "set", "bytearray", "defaultdict", "deque", "OrderedDict", "Counter", "count"}
    | {"WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "ContextVar", "local"}
)
MUTATING_METHODS = frozenset(
    {"append", "extend", "insert", "add", "update", "pop", "popitem", "clear", "setdefault", "remove", "discard"}
)
MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
# The runtime, and the command that is started without it, as torch takes seconds to load.
ENVIRONMENT_FILES = frozenset({"runtime/entry.py", "tools/completion.py", "tools/lect_cache.py", "tools/lect_tune.py"})


def is_mutable(value: ast.expr | None) -> bool:
    """True when an expression makes a new list, dict or set."""
    if isinstance(value, ast.Call):
        return dotted_name(value.func).rpartition(".")[2] in MUTABLE_CONSTRUCTORS
    return isinstance(value, MUTABLE_DISPLAYS)


def module_bindings(tree: ast.Module) -> Iterator[tuple[ast.stmt, str, ast.expr | None, str]]:
    """(statement, name, value, annotation text) of each assignment at module level."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id != "__all__":
                    yield node, target.id, node.value, ""
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node, node.target.id, node.value, ast.unparse(node.annotation)


def local_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Names a function binds itself, which therefore are not the module's."""
    arguments = function.args
    names = {arg.arg for arg in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    names |= {arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def changed_name(node: ast.AST) -> str:
    """The name of the container that a node changes: `X[..] = `, `del X[..]`, `X.append(..)`; else empty."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del) and isinstance(node.value, ast.Name):
        return node.value.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING_METHODS:
        return node.func.value.id if isinstance(node.func.value, ast.Name) else ""
    return ""


def violations(tree: ast.Module) -> list[tuple[int, str]]:
    """(line, sentence) of each breach of the rule in one module."""
    found = []
    names = set()
    for statement, name, value, annotation in module_bindings(tree):
        names.add(name)
        if is_mutable(value) and "Final" not in annotation:
            found.append((statement.lineno, f"{name} is a mutable container at module level"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        local = local_names(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                found.append((node.lineno, f"global {', '.join(node.names)}"))
            name = changed_name(node)
            if name in names and name not in local:
                found.append((node.lineno, f"{name} of the module is changed in a function"))
    return found


def test_no_module_level_mutables():
    found = []
    for name in python_files(*PURE):
        found += [f"{name}:{line} {what}" for line, what in violations(syntax(name))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "CACHE = {}",
        "CACHE = dict(a=1)",
        "SEEN: set[int] = set()",
        "from typing import Final\nTABLE: Final = {}\ndef handles(f):\n    TABLE[f.__name__] = f",
        "TABLE = make()\ndef add(x):\n    TABLE.append(x)",
        "n = 0\ndef f():\n    global n\n    n += 1",
    ],
)
def test_the_check_finds_state(source):
    assert violations(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "TABLE = MappingProxyType({'a': 1})",
        "NAMES = ('a', 'b')",
        "NAMES = frozenset({'a'})",
        "TABLE: Final[Mapping[str, int]] = {'a': 1}",
        "def f():\n    table = {}\n    table['a'] = 1",
        "TABLE = make()\ndef f(TABLE):\n    TABLE['a'] = 1",
    ],
)
def test_the_check_accepts_tables(source):
    assert not violations(ast.parse(source))


def test_environment_is_read_where_a_process_starts():
    found = []
    for name in python_files(*PRODUCT):
        if str(name) in ENVIRONMENT_FILES:
            continue
        for node in ast.walk(syntax(name)):
            if isinstance(node, ast.Attribute | ast.Name) and dotted_name(node) in {"os.environ", "os.getenv", "environ"}:
                found.append(f"{name}:{node.lineno} reads the environment")
    assert not found, "\n".join(found)
