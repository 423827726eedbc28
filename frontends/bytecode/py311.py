"""The instructions of CPython 3.11."""

from __future__ import annotations

import opcode
from collections.abc import Mapping
from types import MappingProxyType

from lect.dialects.pyframe import building, control, ops
from lect.frontends.bytecode import handlers
from lect.frontends.bytecode.decode import Decode, FrameDecoder
from lect.frontends.bytecode.handlers import COMMON, effect, operands, pop_jump, unary

_CONVERSIONS = ("", "str", "repr", "ascii")


_load_global = handlers.load_named(ops.LoadGlobalOp)


def load_global(d: FrameDecoder, arg: int) -> None:
    if arg & 1:
        d.push(None)
    _load_global(d, arg >> 1)


def load_attr(d: FrameDecoder, arg: int) -> None:
    handlers.attribute(d, d.code.co_names[arg])


def load_method(d: FrameDecoder, arg: int) -> None:
    owner = d.pop()
    d.push(None)
    d.push(owner)
    handlers.attribute(d, d.code.co_names[arg])


def load_classderef(d: FrameDecoder, arg: str) -> None:
    namespace = d.emit_value(ops.LoadLocalsOp(loc=d.loc, hint="namespace"))
    d.stack.pop()
    d.emit_value(ops.LoadFromDictOrDerefOp(namespace, arg, loc=d.loc, hint=handlers.variable_hint(arg)))


def compare_op(d: FrameDecoder, arg: int) -> None:
    handlers.compare(d, opcode.cmp_op[arg])


def format_value(d: FrameDecoder, arg: int) -> None:
    """Conversion and format in one, the specification on top."""
    spec = d.pop() if arg & 4 else None
    conversion = _CONVERSIONS[arg & 3]
    if conversion:
        value = d.pop()
        d.emit_value(building.ConvertValueOp(value, conversion, loc=d.loc))
    d.emit_value(building.FormatValueOp(d.pop(), spec, loc=d.loc))


def jump_or_pop(jumps_when: bool) -> Decode:
    """JUMP_IF_..._OR_POP: the value stays on the stack for the jump, and is popped otherwise."""

    def handle(d: FrameDecoder, arg: int) -> None:
        condition = d.peek(1)
        target, target_passed = d.edge(arg)
        d.pop()
        fallthrough, passed = d.edge(d.place + 1)
        edges = {"then": target, "then_operands": target_passed, "otherwise": fallthrough, "otherwise_operands": passed}
        if not jumps_when:
            edges = {"then": fallthrough, "then_operands": passed, "otherwise": target, "otherwise_operands": target_passed}
        d.finish(control.CondBranchOp, condition, **edges)

    return handle


HANDLERS: Mapping[str, Decode] = MappingProxyType(
    {
        **COMMON,
        "CALL": handlers.call_callee_above_null,
        "COMPARE_OP": compare_op,
        "FORMAT_VALUE": format_value,
        "FOR_ITER": handlers.for_iter(0),
        "GET_YIELD_FROM_ITER": handlers.yield_from(0),
        "IMPORT_STAR": effect(1, building.ImportStarOp),
        "JUMP_IF_FALSE_OR_POP": jump_or_pop(False),
        "JUMP_IF_TRUE_OR_POP": jump_or_pop(True),
        "KW_NAMES": handlers.kw_names,
        "LIST_TO_TUPLE": operands(1, building.ListToTupleOp),
        "LOAD_ATTR": load_attr,
        "LOAD_CLASSDEREF": load_classderef,
        "LOAD_CLOSURE": handlers.load_closure,
        "LOAD_GLOBAL": load_global,
        "LOAD_METHOD": load_method,
        "MAKE_FUNCTION": handlers.make_function_with_parts,
        "POP_JUMP_BACKWARD_IF_FALSE": pop_jump("true", False),
        "POP_JUMP_BACKWARD_IF_NONE": pop_jump("none", True),
        "POP_JUMP_BACKWARD_IF_NOT_NONE": pop_jump("none", False),
        "POP_JUMP_BACKWARD_IF_TRUE": pop_jump("true", True),
        "POP_JUMP_FORWARD_IF_FALSE": pop_jump("true", False),
        "POP_JUMP_FORWARD_IF_NONE": pop_jump("none", True),
        "POP_JUMP_FORWARD_IF_NOT_NONE": pop_jump("none", False),
        "POP_JUMP_FORWARD_IF_TRUE": pop_jump("true", True),
        "PRECALL": handlers.nothing,
        "PREP_RERAISE_STAR": operands(2, control.CombineExcGroupOp),
        "PRINT_EXPR": effect(1, building.PrintExprOp),
        "UNARY_POSITIVE": unary("+"),
    }
)
BY_NUMBER = handlers.by_number(HANDLERS)
