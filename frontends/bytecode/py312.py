"""The instructions of CPython 3.12."""

from __future__ import annotations

import opcode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.pyframe import building, control, ops
from lect.frontends.bytecode import handlers, py311
from lect.frontends.bytecode.decode import Decode, FrameDecoder
from lect.frontends.bytecode.handlers import COMMON, pop_jump


def load_attr(d: FrameDecoder, arg: int) -> None:
    """LOAD_ATTR, whose lowest bit makes a method call."""
    if arg & 1:
        owner = d.pop()
        d.push(None)
        d.push(owner)
    handlers.attribute(d, d.code.co_names[arg >> 1])


def super_attr(d: FrameDecoder, arg: int) -> ops.LoadSuperAttrOp:
    """The operation of LOAD_SUPER_ATTR: bit 0 for a method call, bit 1 for `super` with two arguments."""
    name = d.code.co_names[arg >> 2]
    super_class, cls, owner = d.pop_many(3)
    return ops.LoadSuperAttrOp(super_class, cls, owner, name, bool(arg & 2), loc=d.loc, hint=name)


def load_super_attr(d: FrameDecoder, arg: int) -> None:
    made = super_attr(d, arg)
    if arg & 1:
        d.push(None)
    d.emit_value(made)


def load_fast_and_clear(d: FrameDecoder, arg: str) -> None:
    d.emit_value(ops.SaveLocalOp(d.renamed.get(arg, arg), loc=d.loc, hint="saved"))


def load_locals(d: FrameDecoder, arg: int) -> None:
    d.emit_value(ops.LoadLocalsOp(loc=d.loc, hint="namespace"))


def load_from_dict_or_deref(d: FrameDecoder, arg: str) -> None:
    d.emit_value(ops.LoadFromDictOrDerefOp(d.pop(), arg, loc=d.loc, hint=handlers.variable_hint(arg)))


def load_from_dict_or_globals(d: FrameDecoder, arg: int) -> None:
    name = d.code.co_names[arg]
    d.emit_value(ops.LoadFromDictOrGlobalsOp(d.pop(), name, loc=d.loc, hint=name))


def binary_slice(d: FrameDecoder, arg: int) -> None:
    handlers.build_slice(d, 2)
    handlers.operands(2, ops.LoadItemOp)(d, 0)


def store_slice(d: FrameDecoder, arg: int) -> None:
    handlers.build_slice(d, 2)
    handlers.store_subscr(d, 0)


def compare_op(d: FrameDecoder, arg: int) -> None:
    handlers.compare(d, opcode.cmp_op[arg >> 4])


def return_const(d: FrameDecoder, arg: int) -> None:
    handlers.load_const(d, arg)
    handlers.return_value(d, 0)


def intrinsic(name: str, count: int) -> Decode:
    """A call of an interpreter's helper for type parameters."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.emit_value(ops.IntrinsicOp(d.pop_many(count), name, loc=d.loc))

    return handle


def import_star(d: FrameDecoder, arg: int) -> None:
    result_of_effect(d, building.ImportStarOp)


def print_expr(d: FrameDecoder, arg: int) -> None:
    result_of_effect(d, building.PrintExprOp)


def result_of_effect(d: FrameDecoder, make: Callable[..., Any]) -> None:
    """An intrinsic whose result is always None and popped at once."""
    d.emit(make(d.pop(), loc=d.loc))
    handlers.constant(d, None)


# By the number that the instruction's argument gives.
INTRINSICS_OF_ONE: Mapping[int, Decode] = MappingProxyType(
    {
        1: print_expr,
        2: import_star,
        5: handlers.unary("+"),
        6: handlers.operands(1, building.ListToTupleOp),
        7: intrinsic("typevar", 1),
        8: intrinsic("paramspec", 1),
        9: intrinsic("typevartuple", 1),
        10: intrinsic("subscript_generic", 1),
        11: intrinsic("typealias", 1),
    }
)
INTRINSICS_OF_TWO: Mapping[int, Decode] = MappingProxyType(
    {
        1: handlers.operands(2, control.CombineExcGroupOp),
        2: intrinsic("typevar_with_bound", 2),
        3: intrinsic("typevar_with_constraints", 2),
        4: intrinsic("set_function_type_params", 2),
        5: intrinsic("set_typeparam_default", 2),
    }
)


def call_intrinsic(table: Mapping[int, Decode]) -> Decode:
    """CALL_INTRINSIC_1 and _2."""

    def handle(d: FrameDecoder, arg: int) -> None:
        found = table.get(arg)
        if found is None:
            raise d.fail("LB0104", f"no handler for the intrinsic {arg} of {d.listing.name(d.place)}")
        found(d, arg)

    return handle


HANDLERS: Mapping[str, Decode] = MappingProxyType(
    {
        **COMMON,
        "BINARY_SLICE": binary_slice,
        "CALL": handlers.call_callee_above_null,
        "CALL_INTRINSIC_1": call_intrinsic(INTRINSICS_OF_ONE),
        "CALL_INTRINSIC_2": call_intrinsic(INTRINSICS_OF_TWO),
        "COMPARE_OP": compare_op,
        "FORMAT_VALUE": py311.format_value,
        "FOR_ITER": handlers.for_iter(1),
        "GET_YIELD_FROM_ITER": handlers.yield_from(1),
        "KW_NAMES": handlers.kw_names,
        "LOAD_ATTR": load_attr,
        "LOAD_CLOSURE": handlers.load_closure,
        "LOAD_FAST_AND_CLEAR": load_fast_and_clear,
        "LOAD_FAST_CHECK": handlers.load_fast,
        "LOAD_FROM_DICT_OR_DEREF": load_from_dict_or_deref,
        "LOAD_FROM_DICT_OR_GLOBALS": load_from_dict_or_globals,
        "LOAD_GLOBAL": py311.load_global,
        "LOAD_LOCALS": load_locals,
        "LOAD_SUPER_ATTR": load_super_attr,
        "MAKE_FUNCTION": handlers.make_function_with_parts,
        "POP_JUMP_IF_FALSE": pop_jump("true", False),
        "POP_JUMP_IF_NONE": pop_jump("none", True),
        "POP_JUMP_IF_NOT_NONE": pop_jump("none", False),
        "POP_JUMP_IF_TRUE": pop_jump("true", True),
        "RETURN_CONST": return_const,
        "STORE_SLICE": store_slice,
    }
)
BY_NUMBER = handlers.by_number(HANDLERS)
