"""Kernels that somebody has edited: what such a Triton source may consist of, and PTX made machine code.

A source is Python, and comes from a file.  So it is looked at before Python sees it: functions for `triton.jit` and nothing else, whose bodies name what
Triton has and their own variables.  Nothing of it runs in the process that compiles it.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from lect.backends.kernel_texts import GivenText
from lect.ir import LectError

IMPORTS = frozenset(
    {"import triton", "import triton.language as tl", "from triton.language.extra import libdevice", "from triton.language.extra.cuda import gdc"}
)
BUILTINS = frozenset({"range", "float", "int", "bool", "min", "max", "len", "True", "False", "None", "abs", "tuple"})
DECORATOR = "triton.jit"
MODULES: Mapping[str, str] = MappingProxyType(
    {"tl": "triton.language", "libdevice": "triton.language.extra.libdevice", "gdc": "triton.language.extra.cuda.gdc"}
)
INNER_MODULES = frozenset({"math"})
# Statements and expressions by which a kernel could do something beside computing.
REFUSED = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef, ast.Try, ast.With, ast.Delete, ast.Raise,
           ast.FunctionDef, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.JoinedStr)  # fmt: skip


def check_source(given: GivenText, name: str, parameters: Mapping[str, str]) -> None:
    """Raise the text's error unless it is functions for Triton, one of them `name` with these parameters."""
    try:
        module = ast.parse(given.text)
    except SyntaxError as error:
        raise given.refused(f"this is no Python: {error.msg}", error.lineno or 1) from None
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    kernel = functions.get(name)
    if kernel is None:
        raise given.refused(f"the text has no function {name}")
    found = [argument.arg for argument in kernel.args.args]
    if found != list(parameters):
        raise given.refused(f"{name} takes ({', '.join(found)}), and is called with ({', '.join(parameters)})", kernel.lineno)
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef):
            _check_function(given, statement, frozenset(functions))
        elif ast.unparse(statement) not in IMPORTS:
            raise given.refused(f"a kernel's text has functions and these lines: {'; '.join(sorted(IMPORTS))}", statement.lineno)


def _check_function(given: GivenText, function: ast.FunctionDef, functions: frozenset[str]) -> None:
    if [ast.unparse(each) for each in function.decorator_list] != [DECORATOR]:
        raise given.refused(f"{function.name} is no function for Triton: each is decorated with @{DECORATOR} alone", function.lineno)
    arguments = function.args
    if arguments.defaults or arguments.kw_defaults or arguments.kwarg or arguments.vararg or function.returns is not None:
        raise given.refused(f"{function.name} takes plain arguments, without defaults", function.lineno)
    for argument in arguments.args:
        if argument.annotation is not None and ast.unparse(argument.annotation) != "tl.constexpr":
            raise given.refused("the only annotation is tl.constexpr", argument.lineno)
    own = {argument.arg for argument in arguments.args}
    own |= {node.id for node in _inside(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if found := sorted((own | functions) & {"triton", *MODULES}):
        raise given.refused(f"{found[0]} is the name of a module", function.lineno)
    bases: set[ast.AST] = {node.value for node in _inside(function) if isinstance(node, ast.Attribute)}
    for node in _inside(function):
        problem = _problem(node, own | functions, bases)
        if problem is not None:
            raise given.refused(problem, node.lineno)  # type: ignore[attr-defined]


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from ast.walk(statement)


def _problem(node: ast.AST, known: set[str] | frozenset[str], bases: set[ast.AST]) -> str | None:
    """What is wrong with a part of a function, if anything; `bases` are the expressions of which others take an attribute."""
    if isinstance(node, REFUSED):
        return f"a kernel has no {type(node).__name__}"
    if isinstance(node, ast.Attribute):
        if node.attr.startswith("_"):
            return f"a kernel has no name like {node.attr}"
        return None if node in bases else _path_problem(ast.unparse(node))
    if isinstance(node, ast.Name) and node.id not in known and node.id not in BUILTINS and not (node.id in MODULES and node in bases):
        return f"a kernel knows no {node.id}"
    return None


def _path_problem(path: str) -> str | None:
    """What is wrong with a name in a module, as `tl.math.exp`: behind a module stands no other one, for that could be any."""
    root, *parts = path.split(".")
    if root not in MODULES:
        return None
    found: Any = import_module(MODULES[root])
    for number, part in enumerate(parts):
        found = getattr(found, part, None)
        if isinstance(found, ModuleType) and (number == len(parts) - 1 or part not in INNER_MODULES):
            return f"{path} leads through a module"
    return None


def ptx_waits_first(text: str) -> bool:
    """Whether a PTX text waits for what was started before, in front of all that touches global memory."""
    code = re.sub(r"//.*", "", text)
    wait, memory = code.find("griddepcontrol.wait"), re.search(r"\b(?:ld|st|atom|red|cp|prefetch)\b[\w.:]*\.global", code)
    return wait >= 0 and (memory is None or wait < memory.start())


def assembled(given: GivenText, name: str, options: Mapping[str, Any], arch: int) -> bytes:
    """The machine code of a PTX text for the kernel called `name`.  Raises the text's error when it has no such kernel, or `ptxas` refuses it."""
    from triton.backends.compiler import GPUTarget, Language
    from triton.compiler import make_backend

    if f".entry {name}(" not in given.text:
        raise given.refused(f"the text has no kernel {name}: a line '.visible .entry {name}(' begins it")
    backend = make_backend(GPUTarget("cuda", arch, 32))
    stages: dict[str, Any] = {}
    backend.add_stages(stages, backend.parse_options(dict(options)), Language.TRITON)
    try:
        with redirect_stdout(io.StringIO()):  # where Triton tells of errors, too
            return stages["cubin"](given.text, {})  # type: ignore[no-any-return]
    except Exception as error:
        raise refused_by(given, error) from error


def refused_by(given: GivenText, error: Exception) -> LectError:
    """The text's error for what Triton or `ptxas` said."""
    text = str(error)
    said = re.search(r"line (\d+); (?:error|fatal)\s*: (.*)", text) or re.search(r"at (\d+):\d+:()", text)
    words = (said[2] if said is not None and said[2] else "") or " ".join(text.split())
    return given.refused(f"the text is refused: {words[:400]}", int(said[1]) if said is not None else 1)
