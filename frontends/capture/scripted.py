"""Functions of `torch.jit.script`: the Python function that one was made of is followed in its place, where TorchScript means the same by it.

TorchScript compiles the text of a function once and for all.  Where its language differs from Python (a power of integers is a float, `round` gives a
float, an error is a `torch.jit.Error`, code may ask whether it is scripted), and where a function that it calls is not the one that was compiled, the call
is an unknown function in C.  So is a function that was made by `torch.jit.trace`: it holds one path through its function.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.tracer import Box, Tracer

KIND = torch.jit.ScriptFunction
_VALUES: Mapping[str, type] = MappingProxyType({"int": int, "float": float, "bool": bool, "str": str})
_ASKING = frozenset({"is_scripting", "is_tracing", "round", "pow"})
_OF_SCRIPTS = frozenset({"prim::RaiseException", "prim::Print", "prim::PythonOp", "prim::CreateObject", "prim::fork", "aten::warn"})
_OF_TENSORS = frozenset({"aten::pow", "aten::round"})  # of numbers they give other types than in Python


def function_of(t: Tracer, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """The Python function to follow.  Breaks where that would be another one, and for arguments that TorchScript converts or refuses."""
    value = callee[0]
    known = t.code_table.scripted
    if value not in known:
        known[value] = _followed(value)
    function = known[value]
    if function is None:
        raise t.stop("LB0003", f"the scripted function {value.name}")
    given = {argument.name: argument.type for argument in value.schema.arguments}
    for name, box in (*zip(given, args), *kwargs.items()):
        if name in given and not _fits(box[0], given[name]):
            raise t.stop("LB0003", f"the scripted function {value.name}, which gets a {type(box[0]).__name__} for {name}")
    if callee[1] is not None:
        t.guards.is_object(callee[1], value)
    return t.static(function)


def _followed(value: Any) -> FunctionType | None:
    function = value.__dict__.get("_torchdynamo_inline")  # torch notes it for whoever compiles
    if type(function) is not FunctionType or not _is_script_of(value, function):
        return None
    results = value.schema.returns
    if not all(map(_is_plain, (result.type for result in results))) or any(map(_differs, _nodes(value.inlined_graph))):
        return None
    return function if _reads_what_was_compiled(function, set()) else None


def _is_script_of(value: Any, function: FunctionType) -> bool:
    """True when the function was scripted, and `value` is what came of that."""
    compiled = torch.jit._state._try_get_jit_cached_function(function)
    return compiled is not None and str(compiled.graph) == str(value.graph)


def _is_plain(kind: Any) -> bool:
    """True for the types of results that are in Python what they are in a script."""
    name = kind.kind()
    if name in ("TupleType", "OptionalType"):
        inner = kind.elements() if name == "TupleType" else [kind.getElementType()]
        return (name != "TupleType" or kind.str().startswith(("(", "Tuple["))) and all(map(_is_plain, inner))
    return name in ("TensorType", "IntType", "FloatType", "BoolType", "StringType", "NoneType")


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.nodes():
        yield node
        for block in node.blocks():
            yield from _nodes(block)


def _differs(node: Any) -> bool:
    kind = node.kind()
    return kind in _OF_SCRIPTS or (kind in _OF_TENSORS and next(node.outputs()).type().kind() != "TensorType")


def _reads_what_was_compiled(function: FunctionType, seen: set[FunctionType]) -> bool:
    """True when the function and those of the program that it calls are what was compiled, and say nothing that Python and TorchScript read differently."""
    if function in seen or function.__module__.partition(".")[0] == "torch":
        return True
    seen.add(function)
    if function.__closure__ is not None or torch.jit._state._try_get_jit_cached_function(function) is None:
        return False
    names = set(_names(function.__code__))
    if names & _ASKING or _has_power_of_literals(function):
        return False
    called = [function.__globals__.get(name) for name in names]
    called = [each.__dict__.get("_torchdynamo_inline") if type(each) is KIND else each for each in called]
    return all(_reads_what_was_compiled(each, seen) for each in called if type(each) is FunctionType)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _names(constant)


def _has_power_of_literals(function: FunctionType) -> bool:
    """True for `2 ** 3`, which is folded before anybody sees it; without its source a function cannot be scripted."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    powers = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    return any(isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant) for node in powers)


def _fits(value: Any, kind: Any) -> bool:
    """True for a value that a script takes as it is."""
    name = kind.kind()
    if name == "OptionalType":
        return value is None or _fits(value, kind.getElementType())
    if name == "TensorType":
        return issubclass(type(value), torch.Tensor)
    if type(value) is RunTimeNumber:
        value = value.value
    return type(value) is _VALUES.get(str(kind))


__all__ = ["KIND", "function_of"]
