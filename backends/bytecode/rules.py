"""How each straight-line operation is assembled: the order in which its operands lie on the stack, and the instructions that it becomes.

`ORDER` gives the operands that instructions consume, bottom first; `KEPT` the ones that must lie right below and stay (the subject of a pattern, the
module of `from m import a`); an operand in neither is found wherever it lies (the list that an item is appended to).  `EMIT` adds the instructions,
with the operands in place.
"""

from __future__ import annotations

import opcode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lect.backends.bytecode.encode import VERSION
from lect.dialects.pyframe.attributes import to_python
from lect.ir import LectError, Operation, Value

if TYPE_CHECKING:
    from lect.backends.bytecode.blocks import BlockAssembler

Emit = Callable[["BlockAssembler", Any], None]

_OPERATORS: Mapping[str, int] = MappingProxyType({symbol: number for number, (_, symbol) in enumerate(opcode._nb_ops)})  # type: ignore[attr-defined]
_COMPARISONS: Mapping[str, int] = MappingProxyType({symbol: number for number, symbol in enumerate(opcode.cmp_op)})
_CONVERSIONS: Mapping[str, int] = MappingProxyType({"str": 1, "repr": 2, "ascii": 3})
_INTRINSICS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "typevar": ("CALL_INTRINSIC_1", 7),
        "paramspec": ("CALL_INTRINSIC_1", 8),
        "typevartuple": ("CALL_INTRINSIC_1", 9),
        "subscript_generic": ("CALL_INTRINSIC_1", 10),
        "typealias": ("CALL_INTRINSIC_1", 11),
        "typevar_with_bound": ("CALL_INTRINSIC_2", 2),
        "typevar_with_constraints": ("CALL_INTRINSIC_2", 3),
        "set_function_type_params": ("CALL_INTRINSIC_2", 4),
        "set_typeparam_default": ("CALL_INTRINSIC_2", 5),
    }
)
OLDER_THAN_312 = VERSION < (3, 12)
SINCE_313 = VERSION >= (3, 13)


# ---- what lies where -------------------------------------------------------------------------------------------------


def _make_function_order(op: Any) -> list[Value]:
    parts = (op.defaults, op.keyword_defaults, op.annotations, op.closure)
    return [*(part for part in parts if part is not None), op.code]


ORDER: Mapping[str, Callable[[Any], list[Value]]] = MappingProxyType(
    {
        "pyframe.store_attr": lambda op: [op.value, op.object],
        "pyframe.store_item": lambda op: [op.value, op.container, op.key],
        "pyframe.make_function": _make_function_order,
        "pyframe.list_append": lambda op: [op.item],
        "pyframe.list_extend": lambda op: [op.iterable],
        "pyframe.set_add": lambda op: [op.item],
        "pyframe.set_update": lambda op: [op.iterable],
        "pyframe.map_add": lambda op: [op.key, op.value],
        "pyframe.dict_update": lambda op: [op.other],
        "pyframe.dict_merge": lambda op: [op.other],
        "pyframe.get_len": lambda op: [],
        "pyframe.match_mapping": lambda op: [],
        "pyframe.match_sequence": lambda op: [],
        "pyframe.match_keys": lambda op: [],
        "pyframe.match_exc": lambda op: [op.pattern],
        "pyframe.import_from": lambda op: [],
        "pyframe.with_exit": lambda op: [],
        "pyframe.push_exc": lambda op: [],
    }
)

KEPT: Mapping[str, Callable[[Any], list[Value]]] = MappingProxyType(
    {
        "pyframe.get_len": lambda op: [op.subject],
        "pyframe.match_mapping": lambda op: [op.subject],
        "pyframe.match_sequence": lambda op: [op.subject],
        "pyframe.match_keys": lambda op: [op.subject, op.keys],
        "pyframe.match_exc": lambda op: [op.exception],
        "pyframe.import_from": lambda op: [op.module],
    }
)

# Operations that change a container which lies anywhere on the stack; the instruction counts how deep.
CONTAINER: Mapping[str, str] = MappingProxyType(
    {
        "pyframe.list_append": "LIST_APPEND",
        "pyframe.list_extend": "LIST_EXTEND",
        "pyframe.set_add": "SET_ADD",
        "pyframe.set_update": "SET_UPDATE",
        "pyframe.map_add": "MAP_ADD",
        "pyframe.dict_update": "DICT_UPDATE",
    }
)


def consumed(op: Operation) -> list[Value]:
    """The operands that leave the stack, bottom first."""
    order = ORDER.get(op.name)
    return op.operands if order is None else order(op)


# ---- instructions ----------------------------------------------------------------------------------------------------


def plain(name: str, argument: int = 0) -> Emit:
    """One instruction with a fixed argument."""
    return lambda a, op: a.emit(name, argument)


def counted(name: str) -> Emit:
    """One instruction whose argument is the number of operands."""
    return lambda a, op: a.emit(name, len(op.operands))


def named(name: str) -> Emit:
    """One instruction that takes a name of the code object."""
    return lambda a, op: a.emit(name, a.frame.name_index(op.attrs["id"]))


def slot(name: str) -> Emit:
    """One instruction that takes a variable of the frame."""
    return lambda a, op: a.emit(name, a.frame.slot_index(op.attrs["id"]))


def since_312(name: str, argument: int = 0) -> Emit:
    """An instruction that 3.11 lacks.  Raises LectError there."""

    def emit(a: BlockAssembler, op: Operation) -> None:
        if OLDER_THAN_312:
            raise LectError(f"'{op.name}' cannot be assembled for Python 3.11", op=op)
        a.emit(name, argument)

    return emit


def load_local(a: BlockAssembler, op: Any) -> None:
    checked = not OLDER_THAN_312 and op not in a.frame.unchecked
    a.emit("LOAD_FAST_CHECK" if checked else "LOAD_FAST", a.frame.slot_index(op.id))


def save_local(a: BlockAssembler, op: Any) -> None:
    since_312("LOAD_FAST_AND_CLEAR", a.frame.slot_index(op.id))(a, op)


def load_global(a: BlockAssembler, op: Any) -> None:
    a.emit("LOAD_GLOBAL", a.frame.name_index(op.id) << 1 | a.pairs_with_null(op))


def load_const(a: BlockAssembler, op: Any) -> None:
    a.emit("LOAD_CONST", a.frame.constant_index(to_python(op.value, a.frame.code_object)))


def load_place(a: BlockAssembler, op: Any) -> None:
    a.emit("LOAD_CONST", a.frame.constant_index(0))  # the number of the frame's first instruction


def load_resource(a: BlockAssembler, op: Any) -> None:
    a.emit("LOAD_CONST", a.frame.constant_index(a.frame.resource(op.id, op)))


def load_attr(a: BlockAssembler, op: Any) -> None:
    index = a.frame.name_index(op.attr)
    method = a.pairs_with_null(op)
    if not OLDER_THAN_312:
        a.emit("LOAD_ATTR", index << 1 | method)
    else:
        a.emit("LOAD_METHOD" if method else "LOAD_ATTR", index)


def load_super_attr(a: BlockAssembler, op: Any) -> None:
    since_312("LOAD_SUPER_ATTR", a.frame.name_index(op.attr) << 2 | op.explicit << 1 | a.pairs_with_null(op))(a, op)


def load_from_dict_or_deref(a: BlockAssembler, op: Any) -> None:
    a.emit("LOAD_CLASSDEREF" if OLDER_THAN_312 else "LOAD_FROM_DICT_OR_DEREF", a.frame.slot_index(op.id))


def attribute(name: str) -> Emit:
    """An instruction that takes the name of an attribute."""
    return lambda a, op: a.emit(name, a.frame.name_index(op.attr))


def load_item(a: BlockAssembler, op: Any) -> None:
    a.emit("BINARY_SLICE" if a.is_fused(op.key.op) else "BINARY_SUBSCR", 0)


def store_item(a: BlockAssembler, op: Any) -> None:
    a.emit("STORE_SLICE" if a.is_fused(op.key.op) else "STORE_SUBSCR", 0)


def unary(a: BlockAssembler, op: Any) -> None:
    operator = op.operator
    if operator == "+":
        a.emit(*(("UNARY_POSITIVE", 0) if OLDER_THAN_312 else ("CALL_INTRINSIC_1", 5)))
    elif operator == "bool":
        if SINCE_313:
            a.emit("TO_BOOL", 0)
        else:
            a.emit("UNARY_NOT", 0)
            a.emit("UNARY_NOT", 0)
    elif operator == "not":
        if SINCE_313 and not gives_bool(op.operand):
            a.emit("TO_BOOL", 0)
        a.emit("UNARY_NOT", 0)
    else:
        a.emit({"-": "UNARY_NEGATIVE", "~": "UNARY_INVERT"}[operator], 0)


BOOLS = frozenset({"pyframe.contains", "pyframe.is", "pyframe.match_exc", "pyframe.match_mapping", "pyframe.match_sequence"})


def gives_bool(value: Value) -> bool:
    """True when a value is surely True or False."""
    op = value.op
    return op is not None and (op.name in BOOLS or (op.name == "pyframe.unary" and op.attrs["operator"] in ("not", "bool")))


def compare(a: BlockAssembler, op: Any) -> None:
    number = _COMPARISONS[op.operator]
    if SINCE_313:
        a.emit("COMPARE_OP", number << 5 | _COMPARISON_MASKS[number] | a.tested_at_once(op) << 4)
    elif not OLDER_THAN_312:
        a.emit("COMPARE_OP", number << 4 | _COMPARISON_MASKS[number])
    else:
        a.emit("COMPARE_OP", number)


# What the specialised comparisons of 3.12 and 3.13 look at: unordered 1, less 2, greater 4, equal 8.
_COMPARISON_MASKS = (2, 2 | 8, 8, 1 | 2 | 4, 4, 4 | 8)


def convert_value(a: BlockAssembler, op: Any) -> None:
    a.emit("CONVERT_VALUE" if SINCE_313 else "FORMAT_VALUE", _CONVERSIONS[op.conversion])


def format_value(a: BlockAssembler, op: Any) -> None:
    if SINCE_313:
        a.emit("FORMAT_SIMPLE" if op.spec is None else "FORMAT_WITH_SPEC", 0)
        return
    conversion = _CONVERSIONS[op.value.owner.conversion] if a.is_fused(op.value.op) else 0
    a.emit("FORMAT_VALUE", conversion | (4 if op.spec is not None else 0))


def build_const_key_map(a: BlockAssembler, op: Any) -> None:
    a.stack.reach(1)
    a.emit("LOAD_CONST", a.frame.constant_index(to_python(op.keys)))
    a.emit("BUILD_CONST_KEY_MAP", len(op.values))


def build_map(a: BlockAssembler, op: Any) -> None:
    a.emit("BUILD_MAP", len(op.operands) // 2)


def make_function(a: BlockAssembler, op: Any) -> None:
    parts = ((1, op.defaults), (2, op.keyword_defaults), (4, op.annotations), (8, op.closure))
    bits = [bit for bit, part in parts if part is not None]
    if not SINCE_313:
        a.emit("MAKE_FUNCTION", sum(bits))
        return
    a.emit("MAKE_FUNCTION", 0)
    for bit in reversed(bits):
        a.emit("SET_FUNCTION_ATTRIBUTE", bit)


def unpack_ex(a: BlockAssembler, op: Any) -> None:
    a.emit("UNPACK_EX", op.before | op.after << 8)


def intrinsic(a: BlockAssembler, op: Any) -> None:
    since_312(*_INTRINSICS[op.function])(a, op)


def import_star(a: BlockAssembler, op: Any) -> None:
    if OLDER_THAN_312:
        a.emit("IMPORT_STAR", 0)
    else:
        a.emit("CALL_INTRINSIC_1", 2)
        a.emit("POP_TOP", 0)


def print_expr(a: BlockAssembler, op: Any) -> None:
    if OLDER_THAN_312:
        a.emit("PRINT_EXPR", 0)
    else:
        a.emit("CALL_INTRINSIC_1", 1)
        a.emit("POP_TOP", 0)


def list_to_tuple(a: BlockAssembler, op: Any) -> None:
    a.emit(*(("LIST_TO_TUPLE", 0) if OLDER_THAN_312 else ("CALL_INTRINSIC_1", 6)))


def combine_exc_group(a: BlockAssembler, op: Any) -> None:
    a.emit(*(("PREP_RERAISE_STAR", 0) if OLDER_THAN_312 else ("CALL_INTRINSIC_2", 1)))


def load_cell(a: BlockAssembler, op: Any) -> None:
    a.emit("LOAD_FAST" if SINCE_313 else "LOAD_CLOSURE", a.frame.slot_index(op.id))


def load_locals(a: BlockAssembler, op: Any) -> None:
    since_312("LOAD_LOCALS")(a, op)


EMIT: Mapping[str, Emit] = MappingProxyType(
    {
        f"pyframe.{name}": emit
        for name, emit in {
            "load_local": load_local,
            "store_local": slot("STORE_FAST"),
            "delete_local": slot("DELETE_FAST"),
            "save_local": save_local,
            "restore_local": slot("STORE_FAST_MAYBE_NULL"),
            "load_global": load_global,
            "store_global": named("STORE_GLOBAL"),
            "delete_global": named("DELETE_GLOBAL"),
            "load_name": named("LOAD_NAME"),
            "store_name": named("STORE_NAME"),
            "delete_name": named("DELETE_NAME"),
            "load_deref": slot("LOAD_DEREF"),
            "store_deref": slot("STORE_DEREF"),
            "delete_deref": slot("DELETE_DEREF"),
            "load_cell": load_cell,
            "make_cell": slot("MAKE_CELL"),
            "bind_cell": slot("STORE_FAST"),
            "load_locals": load_locals,
            "load_from_dict_or_deref": load_from_dict_or_deref,
            "load_from_dict_or_globals": named("LOAD_FROM_DICT_OR_GLOBALS"),
            "load_const": load_const,
            "load_resource": load_resource,
            "load_build_class": plain("LOAD_BUILD_CLASS"),
            "load_assertion_error": plain("LOAD_ASSERTION_ERROR"),
            "load_attr": load_attr,
            "load_super_attr": load_super_attr,
            "store_attr": attribute("STORE_ATTR"),
            "delete_attr": attribute("DELETE_ATTR"),
            "load_item": load_item,
            "store_item": store_item,
            "delete_item": plain("DELETE_SUBSCR"),
            "binary": lambda a, op: a.emit("BINARY_OP", _OPERATORS[op.operator]),
            "unary": unary,
            "compare": compare,
            "contains": lambda a, op: a.emit("CONTAINS_OP", int(op.invert)),
            "is": lambda a, op: a.emit("IS_OP", int(op.invert)),
            "make_function": make_function,
            "intrinsic": intrinsic,
            "build_tuple": counted("BUILD_TUPLE"),
            "build_list": counted("BUILD_LIST"),
            "build_set": counted("BUILD_SET"),
            "build_map": build_map,
            "build_const_key_map": build_const_key_map,
            "build_string": counted("BUILD_STRING"),
            "build_slice": counted("BUILD_SLICE"),
            "list_to_tuple": list_to_tuple,
            "unpack_sequence": lambda a, op: a.emit("UNPACK_SEQUENCE", op.count),
            "unpack_ex": unpack_ex,
            "format_value": format_value,
            "convert_value": convert_value,
            "get_len": plain("GET_LEN"),
            "match_mapping": plain("MATCH_MAPPING"),
            "match_sequence": plain("MATCH_SEQUENCE"),
            "match_keys": plain("MATCH_KEYS"),
            "match_class": lambda a, op: a.emit("MATCH_CLASS", op.count),
            "import_name": named("IMPORT_NAME"),
            "import_from": named("IMPORT_FROM"),
            "import_star": import_star,
            "setup_annotations": plain("SETUP_ANNOTATIONS"),
            "print_expr": print_expr,
            "pop_exc": plain("POP_EXCEPT"),
            "load_place": load_place,
            "match_exc": plain("CHECK_EXC_MATCH"),
            "match_exc_group": plain("CHECK_EG_MATCH"),
            "combine_exc_group": combine_exc_group,
            "with_enter": plain("BEFORE_WITH"),
            "get_iter": plain("GET_ITER"),
        }.items()
    }
)
