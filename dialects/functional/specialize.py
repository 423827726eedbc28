"""A graph for given values of its size symbols: the same operations with integers in the place of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.types import TensorType
from lect.ir import Block, Operation, Region, Value
from lect.ir.facts import value_of
from lect.ir.symbolic import Expr


def specialized(func: FuncOp, values: Mapping[int, int]) -> FuncOp:
    """A copy of `func`, inserted nowhere, without symbols: `values` has the integer of each (`symbols.values_of`)."""
    block = Block([at_values(argument.type, values) for argument in func.body.args])
    known: dict[Value, Value] = {}
    for argument, copy in zip(func.body.args, block.args):
        copy.hint = argument.hint
        known[argument] = copy
    for op in func.body:
        made = _copied(op, known, values)
        block.append(made)
        for result, copy in zip(op.results, made.results):
            copy.hint = result.hint
            known[result] = copy
    return FuncOp(func.sym_name, training=func.training, regions=[Region([block])], loc=func.loc)


def _copied(op: Operation, known: Mapping[Value, Value], values: Mapping[int, int]) -> Operation:
    attrs = {name: at_values(value, values) for name, value in op.attrs.items()}
    return type(op).create([known[value] for value in op.operands], [at_values(result.type, values) for result in op.results], attrs, (), (), op.loc)


def at_values(value: Any, values: Mapping[int, int]) -> Any:
    """An attribute or a type for given values of the symbols in it."""
    kind = type(value)
    if kind is Expr:
        return value_of(value, values)
    if kind is tuple:
        return tuple([at_values(item, values) for item in value])
    if kind is dict:
        return {name: at_values(item, values) for name, item in value.items()}
    if kind is TensorType:
        return TensorType(at_values(value.shape, values), value.element, at_values(value.strides, values), value.device)
    return value
