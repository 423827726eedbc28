"""Handlers of the instructions that 3.11, 3.12 and 3.13 share; one function for each.

A handler takes the decoder and the instruction's argument, moves values on the decoder's stack and adds operations.
"""

from __future__ import annotations

import opcode
from collections.abc import Callable, Mapping
from types import CodeType, MappingProxyType
from typing import Any

from lect.dialects.pyframe import building, control, ops
from lect.dialects.pyframe.attributes import from_python
from lect.dialects.pyframe.types import OBJECT, SAVED
from lect.frontends.bytecode.decode import Decode, FrameDecoder
from lect.frontends.bytecode.reader import NAMES
from lect.ir import Operation, Value

_ONE = (OBJECT,)
_OPERATORS = tuple(symbol for _, symbol in opcode._nb_ops)  # type: ignore[attr-defined]


def nothing(d: FrameDecoder, arg: int) -> None:
    """Instructions that are the machine's alone: NOP, RESUME, PRECALL, CACHE."""


# ---- stack -----------------------------------------------------------------------------------------------------------


def pop_top(d: FrameDecoder, arg: int) -> None:
    value = d.pop()
    for other in d.stack:
        if other is value:
            return
    if value is d.last_result or (not value.users and value.owner is d.block.last):
        return  # the result of the operation just before, which has no user, is released by itself
    d.emit(ops.DropOp.create((value,), loc=d.loc))


def copy(d: FrameDecoder, arg: int) -> None:
    d.push(d.peek(arg))


def swap(d: FrameDecoder, arg: int) -> None:
    stack = d.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


def push_null(d: FrameDecoder, arg: int) -> None:
    d.push(None)


# ---- variables -------------------------------------------------------------------------------------------------------


def load_const(d: FrameDecoder, arg: int) -> None:
    constant(d, d.code.co_consts[arg])


def constant(d: FrameDecoder, value: Any) -> None:
    """Emit and push a constant."""
    kind = type(value)
    attribute = value if kind is str or value is None or kind is bool else from_python(value, d.symbol_of)
    d.produce(ops.LoadConstOp, (), {"value": attribute}, constant_hint(value))


def constant_hint(value: Any) -> str | None:
    """A name for a constant: words stand for themselves, `c3` for 3."""
    if value is None or value is True or value is False:
        return str(value)
    if type(value) is str:
        return value if value.isidentifier() and value.isascii() and len(value) <= 24 else "text"
    if type(value) is int:
        return f"c{value}" if 0 <= value < 1_000_000 else "c"
    if type(value) is CodeType:
        return "code"
    return "c"


def variable_hint(name: str) -> str:
    """A variable's name, or `it` for the argument of a comprehension."""
    return name if name[:1] != "." else "it"


def load_fast(d: FrameDecoder, arg: str) -> None:
    name = d.renamed.get(arg, arg) if d.renamed else arg
    d.produce(ops.LoadLocalOp, (), {"id": name}, name if name[:1] != "." else "it")


def store_fast(d: FrameDecoder, arg: str) -> None:
    name = d.renamed.get(arg, arg)
    value = d.pop()
    if value.type is SAVED:
        d.emit(ops.RestoreLocalOp(value, name, loc=d.loc))
        return
    if arg in d.cells and not d.is_replaced(arg):
        d.emit(ops.BindCellOp(value, arg, loc=d.loc))
        return
    if value.hint in (None, "item"):
        value.hint = name
    d.emit(ops.StoreLocalOp.create((value,), attrs={"id": name}, loc=d.loc))


def delete_fast(d: FrameDecoder, arg: str) -> None:
    d.emit(ops.DeleteLocalOp(d.renamed.get(arg, arg), loc=d.loc))


def load_closure(d: FrameDecoder, arg: str) -> None:
    d.emit_value(ops.LoadCellOp(arg, loc=d.loc, result_types=_ONE, hint="cell"))


def make_cell(d: FrameDecoder, arg: str) -> None:
    if d.before_resume():
        return  # cells are made at entry, as `cells` of the function says
    d.emit(ops.MakeCellOp(arg, loc=d.loc))


def load_deref(d: FrameDecoder, arg: str) -> None:
    d.produce(ops.LoadDerefOp, (), {"id": arg}, variable_hint(arg))


def store_deref(d: FrameDecoder, arg: str) -> None:
    d.emit(ops.StoreDerefOp(d.pop(), arg, loc=d.loc))


def delete_deref(d: FrameDecoder, arg: str) -> None:
    d.emit(ops.DeleteDerefOp(arg, loc=d.loc))


def load_named(make: type[Operation]) -> Decode:
    """Loads of a name in `co_names` without operand."""

    def handle(d: FrameDecoder, arg: int) -> None:
        name = d.code.co_names[arg]
        d.produce(make, (), {"id": name}, name)

    return handle


def store_named(make: Callable[..., Any]) -> Decode:
    """Stores to a name in `co_names`."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.emit(make(d.pop(), d.code.co_names[arg], loc=d.loc))

    return handle


def delete_named(make: Callable[..., Any]) -> Decode:
    """Deletions of a name in `co_names`."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.emit(make(d.code.co_names[arg], loc=d.loc))

    return handle


# ---- attributes and items --------------------------------------------------------------------------------------------


def attribute(d: FrameDecoder, name: str) -> None:
    """Emit and push an attribute of the top of the stack."""
    d.produce(ops.LoadAttrOp, (d.pop(),), {"attr": name}, name)


def store_attr(d: FrameDecoder, arg: int) -> None:
    target = d.pop()
    d.emit(ops.StoreAttrOp.create((target, d.pop()), attrs={"attr": d.code.co_names[arg]}, loc=d.loc))


def delete_attr(d: FrameDecoder, arg: int) -> None:
    d.emit(ops.DeleteAttrOp(d.pop(), d.code.co_names[arg], loc=d.loc))


def store_subscr(d: FrameDecoder, arg: int) -> None:
    value, container, key = d.pop_many(3)
    d.emit(ops.StoreItemOp(container, key, value, loc=d.loc))


# ---- operators -------------------------------------------------------------------------------------------------------


def operands(count: int, kind: type[Operation]) -> Decode:
    """An operation of `count` operands in stack order with one result and no attribute."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.produce(kind, d.pop_many(count), {})

    return handle


def effect(count: int, make: Callable[..., Any]) -> Decode:
    """An operation of `count` operands in stack order without result."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.emit(make(*d.pop_many(count), loc=d.loc))

    return handle


def binary_op(d: FrameDecoder, arg: int) -> None:
    left, right = d.pop_many(2)
    d.produce(ops.BinaryOp, (left, right), {"operator": _OPERATORS[arg]})


def unary(operator: str) -> Decode:
    """A unary operator."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.emit_value(ops.UnaryOp(d.pop(), operator, loc=d.loc, result_types=_ONE))

    return handle


def compare(d: FrameDecoder, operator: str) -> None:
    """Emit and push a comparison."""
    left, right = d.pop_many(2)
    d.produce(ops.CompareOp, (left, right), {"operator": operator})


def contains_op(d: FrameDecoder, arg: int) -> None:
    item, container = d.pop_many(2)
    d.produce(ops.ContainsOp, (item, container), {"invert": True} if arg else {})


def is_op(d: FrameDecoder, arg: int) -> None:
    left, right = d.pop_many(2)
    d.produce(ops.IsOp, (left, right), {"invert": True} if arg else {})


# ---- building and taking apart ---------------------------------------------------------------------------------------


def build(kind: type[Operation], each: int = 1) -> Decode:
    """A container of `arg * each` values."""

    def handle(d: FrameDecoder, arg: int) -> None:
        d.produce(kind, d.pop_many(arg * each), {})

    return handle


def build_const_key_map(d: FrameDecoder, arg: int) -> None:
    keys = pop_constant(d)
    d.emit_value(building.BuildConstKeyMapOp(d.pop_many(arg), keys, loc=d.loc, result_types=_ONE))


def pop_constant(d: FrameDecoder) -> Any:
    """The attribute of the constant on top of the stack, whose operation is taken back."""
    value = d.pop()
    op = value.owner
    if not isinstance(op, ops.LoadConstOp) or op.parent is not d.block or value.users or any(value is other for other in d.stack):
        raise d.fail("LB0109", f"{d.listing.name(d.place)} needs a constant on the stack")
    op.erase()
    return op.value


def build_slice(d: FrameDecoder, arg: int) -> None:
    parts: list[Any] = d.pop_many(arg)
    d.emit_value(building.BuildSliceOp(*parts, loc=d.loc, result_types=_ONE))


def into(make: Callable[..., Any], count: int = 1) -> Decode:
    """Add the top `count` values to a container `arg` entries below them."""

    def handle(d: FrameDecoder, arg: int) -> None:
        values = d.pop_many(count)
        d.emit(make(d.peek(arg), *values, loc=d.loc))

    return handle


def dict_merge(d: FrameDecoder, arg: int) -> None:
    other = d.pop()
    d.emit(building.DictMergeOp(d.peek(arg + 2 + CALLEE_SHIFT), d.peek(arg), other, loc=d.loc))


CALLEE_SHIFT = 0 if opcode.opmap.get("CALL_KW") is None else 1  # 3.13 keeps a NULL between the callee and its arguments


def unpack_sequence(d: FrameDecoder, arg: int) -> None:
    push_targets(d, building.UnpackSequenceOp(d.pop(), arg, loc=d.loc))


def unpack_ex(d: FrameDecoder, arg: int) -> None:
    push_targets(d, building.UnpackExOp(d.pop(), arg & 0xFF, arg >> 8, loc=d.loc))


def push_targets(d: FrameDecoder, op: Any) -> None:
    """Emit an unpacking; the first target comes to lie on top."""
    d.emit(op)
    d.stack.extend(reversed(op.results))


def get_len(d: FrameDecoder, arg: int) -> None:
    d.emit_value(building.GetLenOp(d.peek(1), loc=d.loc, result_types=_ONE))


def match_mapping(d: FrameDecoder, arg: int) -> None:
    d.emit_value(building.MatchMappingOp(d.peek(1), loc=d.loc, result_types=_ONE))


def match_sequence(d: FrameDecoder, arg: int) -> None:
    d.emit_value(building.MatchSequenceOp(d.peek(1), loc=d.loc, result_types=_ONE))


def match_keys(d: FrameDecoder, arg: int) -> None:
    d.emit_value(building.MatchKeysOp(d.peek(2), d.peek(1), loc=d.loc, result_types=_ONE))


def match_class(d: FrameDecoder, arg: int) -> None:
    subject, cls, names = d.pop_many(3)
    d.emit_value(building.MatchClassOp(subject, cls, names, arg, loc=d.loc, result_types=_ONE))


def import_name(d: FrameDecoder, arg: int) -> None:
    level, fromlist = d.pop_many(2)
    name = d.code.co_names[arg]
    d.emit_value(building.ImportNameOp(level, fromlist, name, loc=d.loc, result_types=_ONE, hint=name))


def import_from(d: FrameDecoder, arg: int) -> None:
    name = d.code.co_names[arg]
    d.emit_value(building.ImportFromOp(d.peek(1), name, loc=d.loc, result_types=_ONE, hint=name))


def setup_annotations(d: FrameDecoder, arg: int) -> None:
    d.emit(building.SetupAnnotationsOp(loc=d.loc))


# ---- calls -----------------------------------------------------------------------------------------------------------


def kw_names(d: FrameDecoder, arg: int) -> None:
    d.keywords = d.code.co_consts[arg]


def call_callee_above_null(d: FrameDecoder, arg: int) -> None:
    """CALL of 3.11 and 3.12: NULL, callee, arguments; or a callee in place of the NULL and one argument more."""
    arguments = d.pop_many(arg)
    upper = d.pop()
    lower = d.stack.pop() if d.stack else None
    if lower is not None:
        arguments.insert(0, upper)
        upper = lower
    keywords, d.keywords = d.keywords, ()
    d.produce(ops.CallOp, (upper, *arguments), {"keywords": keywords} if keywords else {})


def call_callee_below_null(d: FrameDecoder, arg: int) -> None:
    """CALL of 3.13: callee, NULL or one more argument, arguments."""
    arguments = d.pop_many(arg)
    first = d.stack.pop() if d.stack else None
    if first is not None:
        arguments.insert(0, first)
    keywords, d.keywords = d.keywords, ()
    d.produce(ops.CallOp, (d.pop(), *arguments), {"keywords": keywords} if keywords else {})


def call_function_ex(d: FrameDecoder, arg: int) -> None:
    kwargs = d.pop() if arg & 1 else None
    args = d.pop()
    if CALLEE_SHIFT:
        d.stack.pop()
        callee = d.pop()
    else:
        callee = d.pop()
        d.stack.pop()
    d.emit_value(ops.CallExOp(callee, args, kwargs, loc=d.loc, result_types=_ONE))


def make_function_with_parts(d: FrameDecoder, arg: int) -> None:
    """MAKE_FUNCTION of 3.11 and 3.12, with flags for what lies below the code object."""
    code = d.pop()
    closure = d.pop() if arg & 8 else None
    annotations = d.pop() if arg & 4 else None
    keyword_defaults = d.pop() if arg & 2 else None
    defaults = d.pop() if arg & 1 else None
    d.emit_value(ops.MakeFunctionOp(code, defaults, keyword_defaults, annotations, closure, loc=d.loc, result_types=_ONE))


# ---- control ---------------------------------------------------------------------------------------------------------


def return_value(d: FrameDecoder, arg: int) -> None:
    d.leave(control.ReturnOp, (d.pop(),), (), {})


def jump(d: FrameDecoder, arg: int) -> None:
    d.jump(arg)


def conditional(d: FrameDecoder, test: str, then: int, otherwise: int) -> None:
    """End the block with a conditional branch on the value just taken from the stack."""
    condition = d.pop()
    jump_target = d.listing.args[d.place]
    fallthrough = d.place + 1
    keeps = d.stack and d.stack[-1] is condition and d.listing.name(fallthrough) == "POP_TOP" and fallthrough not in d.targets
    stacks = {jump_target: d.stack, fallthrough: d.stack}
    if keeps:  # `a and b`: the value goes to the join, and is popped on the way to `b`
        moved = fallthrough + 1
        then, otherwise = (moved if place == fallthrough else place for place in (then, otherwise))
        stacks = {jump_target: d.stack, moved: d.stack[:-1]}
    ways = [d.edge(then, stacks[then]), d.edge(otherwise, stacks[otherwise])]
    d.leave(control.CondBranchOp, (condition,), ways, {} if test == "true" else {"test": test})


def pop_jump(test: str, jumps_when: bool) -> Decode:
    """POP_JUMP_IF_...: jump when the test's outcome is `jumps_when`."""

    def handle(d: FrameDecoder, arg: int) -> None:
        fallthrough = d.place + 1
        if jumps_when:
            conditional(d, test, arg, fallthrough)
        else:
            conditional(d, test, fallthrough, arg)

    return handle


def get_iter(d: FrameDecoder, arg: int) -> None:
    d.produce(control.GetIterOp, (d.pop(),), {}, "iter")


def for_iter(skipped: int) -> Decode:
    """FOR_ITER; `skipped` is how many instructions at its target only tidy the stack after the loop."""

    def handle(d: FrameDecoder, arg: int) -> None:
        iterator = d.peek(1)
        ways = [d.edge(d.place + 1, [*d.stack, Value(OBJECT, d.block, 0, "item")], 1), d.edge(arg + skipped, d.stack[:-1])]
        if d.block.hint is None:
            d.block.hint = "for"
        d.leave(control.ForIterOp, (iterator,), ways, {})

    return handle


# ---- generators ----------------------------------------------------------------------------------------------------


def yield_value(d: FrameDecoder, arg: int) -> None:
    value = d.pop()
    block, passed = d.edge(d.place + 1, [*d.stack, Value(OBJECT, d.block, 0, "sent")], 1, "resume")
    d.finish(control.YieldOp, value, then=block, then_operands=passed)


def yield_from(skipped: int) -> Decode:
    """GET_YIELD_FROM_ITER and the loop of SEND and YIELD_VALUE behind it; `skipped` is how many instructions at its end only tidy the stack."""

    def handle(d: FrameDecoder, arg: int) -> None:
        if d.listing.names(d.place + 1, d.place + 6) != ["LOAD_CONST", "SEND", "YIELD_VALUE", "RESUME", "JUMP_BACKWARD_NO_INTERRUPT"]:
            raise d.fail("LB0109", "GET_YIELD_FROM_ITER needs the loop that delegates behind it")
        iterable = d.pop()
        block, passed = d.edge(d.listing.args[d.place + 2] + skipped, [*d.stack, Value(OBJECT, d.block, 0, "returned")], 1, "resume")
        d.finish(control.YieldFromOp, iterable, then=block, then_operands=passed)

    return handle


# ---- exceptions ------------------------------------------------------------------------------------------------------


def push_exc_info(d: FrameDecoder, arg: int) -> None:
    exception = d.pop()
    d.emit_value(control.PushExcOp(exception, loc=d.loc, result_types=_ONE, hint="previous"))
    d.push(exception)


def pop_except(d: FrameDecoder, arg: int) -> None:
    d.emit(control.PopExcOp(d.pop(), loc=d.loc))


def check_exc_match(d: FrameDecoder, arg: int) -> None:
    pattern = d.pop()
    d.emit_value(control.MatchExcOp(d.peek(1), pattern, loc=d.loc, result_types=_ONE, hint="matches"))


def check_eg_match(d: FrameDecoder, arg: int) -> None:
    exception, pattern = d.pop_many(2)
    op = control.MatchExcGroupOp(exception, pattern, loc=d.loc)
    d.emit(op)
    d.stack.extend(op.results)


def raise_varargs(d: FrameDecoder, arg: int) -> None:
    d.finish(control.RaiseOp, *d.pop_many(arg))


def reraise(d: FrameDecoder, arg: int) -> None:
    exception = d.pop()
    d.finish(control.ReraiseOp, exception, d.peek(arg) if arg else None)


def before_with(d: FrameDecoder, arg: int) -> None:
    op = control.WithEnterOp(d.pop(), loc=d.loc)
    op.results[0].hint, op.results[1].hint = "exit", None
    d.emit(op)
    d.stack.extend(op.results)


def with_except_start(d: FrameDecoder, arg: int) -> None:
    d.emit_value(control.WithExitOp(d.peek(4), d.peek(1), loc=d.loc, result_types=_ONE, hint="swallow"))


def by_number(table: Mapping[str, Decode]) -> tuple[Decode | None, ...]:
    """The handlers of instructions by opcode; None where there is none."""
    return tuple([table.get(name) for name in NAMES])


COMMON: Mapping[str, Decode] = MappingProxyType(
    {
        "BEFORE_WITH": before_with,
        "BINARY_OP": binary_op,
        "BINARY_SUBSCR": operands(2, ops.LoadItemOp),
        "BUILD_CONST_KEY_MAP": build_const_key_map,
        "BUILD_LIST": build(building.BuildListOp),
        "BUILD_MAP": build(building.BuildMapOp, 2),
        "BUILD_SET": build(building.BuildSetOp),
        "BUILD_SLICE": build_slice,
        "BUILD_STRING": build(building.BuildStringOp),
        "BUILD_TUPLE": build(building.BuildTupleOp),
        "CALL_FUNCTION_EX": call_function_ex,
        "CHECK_EG_MATCH": check_eg_match,
        "CHECK_EXC_MATCH": check_exc_match,
        "CONTAINS_OP": contains_op,
        "COPY": copy,
        "COPY_FREE_VARS": nothing,
        "DELETE_ATTR": delete_attr,
        "DELETE_DEREF": delete_deref,
        "DELETE_FAST": delete_fast,
        "DELETE_GLOBAL": delete_named(ops.DeleteGlobalOp),
        "DELETE_NAME": delete_named(ops.DeleteNameOp),
        "DELETE_SUBSCR": effect(2, ops.DeleteItemOp),
        "DICT_MERGE": dict_merge,
        "DICT_UPDATE": into(building.DictUpdateOp),
        "GET_ITER": get_iter,
        "GET_LEN": get_len,
        "IMPORT_FROM": import_from,
        "IMPORT_NAME": import_name,
        "IS_OP": is_op,
        "JUMP_BACKWARD": jump,
        "JUMP_BACKWARD_NO_INTERRUPT": jump,
        "JUMP_FORWARD": jump,
        "LIST_APPEND": into(building.ListAppendOp),
        "LIST_EXTEND": into(building.ListExtendOp),
        "LOAD_ASSERTION_ERROR": operands(0, ops.LoadAssertionErrorOp),
        "LOAD_BUILD_CLASS": operands(0, ops.LoadBuildClassOp),
        "LOAD_CONST": load_const,
        "LOAD_DEREF": load_deref,
        "LOAD_FAST": load_fast,
        "LOAD_NAME": load_named(ops.LoadNameOp),
        "MAKE_CELL": make_cell,
        "MAP_ADD": into(building.MapAddOp, 2),
        "MATCH_CLASS": match_class,
        "MATCH_KEYS": match_keys,
        "MATCH_MAPPING": match_mapping,
        "MATCH_SEQUENCE": match_sequence,
        "NOP": nothing,
        "POP_EXCEPT": pop_except,
        "POP_TOP": pop_top,
        "PUSH_EXC_INFO": push_exc_info,
        "PUSH_NULL": push_null,
        "RAISE_VARARGS": raise_varargs,
        "RERAISE": reraise,
        "RESUME": nothing,
        "RETURN_VALUE": return_value,
        "SETUP_ANNOTATIONS": setup_annotations,
        "SET_ADD": into(building.SetAddOp),
        "SET_UPDATE": into(building.SetUpdateOp),
        "STORE_ATTR": store_attr,
        "STORE_DEREF": store_deref,
        "STORE_FAST": store_fast,
        "STORE_GLOBAL": store_named(ops.StoreGlobalOp),
        "STORE_NAME": store_named(ops.StoreNameOp),
        "STORE_SUBSCR": store_subscr,
        "SWAP": swap,
        "UNARY_INVERT": unary("~"),
        "UNARY_NEGATIVE": unary("-"),
        "UNARY_NOT": unary("not"),
        "UNPACK_EX": unpack_ex,
        "UNPACK_SEQUENCE": unpack_sequence,
        "WITH_EXCEPT_START": with_except_start,
        "YIELD_VALUE": yield_value,
    }
)
