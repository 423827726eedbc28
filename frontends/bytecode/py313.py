"""The instructions of CPython 3.13."""

from __future__ import annotations

import opcode
from collections.abc import Mapping
from types import MappingProxyType

from lect.dialects.pyframe import building, ops
from lect.frontends.bytecode import handlers, py312
from lect.frontends.bytecode.decode import Decode, FrameDecoder
from lect.frontends.bytecode.handlers import pop_jump

_CONVERSIONS = ("", "str", "repr", "ascii")
_PARTS = MappingProxyType({1: "defaults", 2: "keyword_defaults", 4: "annotations", 8: "closure"})


def load_fast(d: FrameDecoder, arg: str) -> None:
    """LOAD_FAST, which also takes the place of LOAD_CLOSURE."""
    if arg in d.cells and (not d.is_replaced(arg) or _goes_into_closure(d)):
        handlers.load_closure(d, arg)
    else:
        handlers.load_fast(d, arg)


def _goes_into_closure(d: FrameDecoder) -> bool:
    """True when the instructions behind build the tuple of cells of a function."""
    place = d.place
    while d.listing.name(place) == "LOAD_FAST":
        place += 1
    names = d.listing.names(place, place + 4)
    return names == ["BUILD_TUPLE", "LOAD_CONST", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"] and d.listing.args[place + 3] == 8


_load_global = handlers.load_named(ops.LoadGlobalOp)


def load_global(d: FrameDecoder, arg: int) -> None:
    _load_global(d, arg >> 1)
    if arg & 1:
        d.push(None)


def load_attr(d: FrameDecoder, arg: int) -> None:
    handlers.attribute(d, d.code.co_names[arg >> 1])
    if arg & 1:
        d.push(None)


def load_super_attr(d: FrameDecoder, arg: int) -> None:
    d.emit_value(py312.super_attr(d, arg))
    if arg & 1:
        d.push(None)


def compare_op(d: FrameDecoder, arg: int) -> None:
    """COMPARE_OP; bit 4 asks for the truth value of the outcome."""
    handlers.compare(d, opcode.cmp_op[arg >> 5])
    if arg & 16:
        to_bool(d, 0)


def to_bool(d: FrameDecoder, arg: int) -> None:
    """A truth value; not shown when the next instruction, at the same position, tests it anyway."""
    following = d.place + 1
    tested = d.listing.name(following) in ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "UNARY_NOT") and following not in d.leaders
    if not tested or d.listing.position(d.place) != d.listing.position(following):
        handlers.unary("bool")(d, 0)


def call_kw(d: FrameDecoder, arg: int) -> None:
    d.keywords = handlers.pop_constant(d)
    handlers.call_callee_below_null(d, arg)


def convert_value(d: FrameDecoder, arg: int) -> None:
    d.emit_value(building.ConvertValueOp(d.pop(), _CONVERSIONS[arg], loc=d.loc))


def format_simple(d: FrameDecoder, arg: int) -> None:
    d.emit_value(building.FormatValueOp(d.pop(), loc=d.loc))


def format_with_spec(d: FrameDecoder, arg: int) -> None:
    value, spec = d.pop_many(2)
    d.emit_value(building.FormatValueOp(value, spec, loc=d.loc))


def set_function_attribute(d: FrameDecoder, arg: int) -> None:
    """One part of a function made just before, which becomes an operand of its `make_function`."""
    function = d.pop()
    part = d.pop()
    made = function.owner
    if not isinstance(made, ops.MakeFunctionOp) or made.parent is not d.block or function.users:
        raise d.fail("LB0109", "SET_FUNCTION_ATTRIBUTE needs the function made just before")
    parts = {name: getattr(made, name) for name in _PARTS.values()}
    parts[_PARTS[arg]] = part
    code, loc = made.code, made.loc
    made.erase()
    d.emit_value(ops.MakeFunctionOp(code, **parts, loc=loc))


HANDLERS: Mapping[str, Decode] = MappingProxyType(
    {
        **{name: handler for name, handler in py312.HANDLERS.items() if name not in ("FORMAT_VALUE", "KW_NAMES", "LOAD_CLOSURE")},
        "CALL": handlers.call_callee_below_null,
        "CALL_KW": call_kw,
        "COMPARE_OP": compare_op,
        "CONVERT_VALUE": convert_value,
        "FORMAT_SIMPLE": format_simple,
        "FORMAT_WITH_SPEC": format_with_spec,
        "FOR_ITER": handlers.for_iter(2),
        "LOAD_ATTR": load_attr,
        "LOAD_FAST": load_fast,
        "LOAD_GLOBAL": load_global,
        "LOAD_SUPER_ATTR": load_super_attr,
        "MAKE_FUNCTION": handlers.make_function_with_parts,
        "POP_JUMP_IF_FALSE": pop_jump("true", False),
        "POP_JUMP_IF_TRUE": pop_jump("true", True),
        "SET_FUNCTION_ATTRIBUTE": set_function_attribute,
        "TO_BOOL": to_bool,
    }
)
BY_NUMBER = handlers.by_number(HANDLERS)
