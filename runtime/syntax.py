"""Nodes of Python's syntax tree, each made with its position, so that no pass over the tree has to fill positions in."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

_LOAD, _STORE = ast.Load(), ast.Store()
_OR, _AND, _NOT = ast.Or(), ast.And(), ast.Not()
_NOT_ABOVE = ast.LtE()
LESS, GREATER = ast.Lt(), ast.Gt()
IS, IS_NOT, EQUAL, NOT_EQUAL, IN, NOT_IN = ast.Is(), ast.IsNot(), ast.Eq(), ast.NotEq(), ast.In(), ast.NotIn()


def name(text: str) -> ast.Name:
    """A variable."""
    return ast.Name(text, _LOAD, lineno=1, col_offset=0)


def const(value: Any) -> ast.expr:
    """A literal."""
    return ast.Constant(value, lineno=1, col_offset=0)


def attribute(base: ast.expr, text: str) -> ast.expr:
    """`base.text`."""
    return ast.Attribute(base, text, _LOAD, lineno=1, col_offset=0)


def item(base: ast.expr, key: ast.expr) -> ast.expr:
    """`base[key]`."""
    return ast.Subscript(base, key, _LOAD, lineno=1, col_offset=0)


def call(function: ast.expr, args: Sequence[ast.expr] = ()) -> ast.expr:
    """`function(*args)`."""
    return ast.Call(function, list(args), [], lineno=1, col_offset=0)


def compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    """`left operator right`."""
    return ast.Compare(left, [operator], [right], lineno=1, col_offset=0)


def binary(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
    """`left operator right`."""
    return ast.BinOp(left, operator, right, lineno=1, col_offset=0)


def either(test: ast.expr, one: ast.expr, other: ast.expr) -> ast.expr:
    """`one if test else other`."""
    return ast.IfExp(test, one, other, lineno=1, col_offset=0)


def any_of(tests: Sequence[ast.expr]) -> ast.expr:
    """`a or b or ...`."""
    return tests[0] if len(tests) == 1 else ast.BoolOp(_OR, list(tests), lineno=1, col_offset=0)


def all_of(tests: Sequence[ast.expr]) -> ast.expr:
    """`a and b and ...`."""
    return tests[0] if len(tests) == 1 else ast.BoolOp(_AND, list(tests), lineno=1, col_offset=0)


def between(low: ast.expr, value: ast.expr, high: ast.expr) -> ast.expr:
    """`low <= value <= high`."""
    return ast.Compare(low, [_NOT_ABOVE, _NOT_ABOVE], [value, high], lineno=1, col_offset=0)


def negated(value: ast.expr) -> ast.expr:
    """`not value`."""
    return ast.UnaryOp(_NOT, value, lineno=1, col_offset=0)


def assign(text: str, value: ast.expr) -> ast.stmt:
    """`text = value`."""
    return ast.Assign([ast.Name(text, _STORE, lineno=1, col_offset=0)], value, lineno=1, col_offset=0)


def give(value: Any) -> ast.stmt:
    """`return value` for a literal."""
    return ast.Return(const(value), lineno=1, col_offset=0)


def give_if(test: ast.expr, value: Any) -> ast.stmt:
    """`if test: return value` for a literal."""
    return ast.If(test, [give(value)], [], lineno=1, col_offset=0)


def parameter(text: str) -> ast.arg:
    """A parameter of a function."""
    return ast.arg(text, lineno=1, col_offset=0)


def function(text: str, arguments: ast.arguments, body: list[ast.stmt], otherwise: ast.stmt) -> ast.Module:
    """A module with one function that runs `body`, and `otherwise` when that raises an `Exception` (a name that the caller binds)."""
    handler = ast.ExceptHandler(name("Exception"), None, [otherwise], lineno=1, col_offset=0)
    guarded = ast.Try(body, [handler], [], [], lineno=1, col_offset=0)
    definition = ast.FunctionDef(text, arguments, [guarded], [], None, lineno=1, col_offset=0)
    vars(definition)["type_params"] = []  # Python 3.12 and later look for it
    return ast.Module([definition], [])
