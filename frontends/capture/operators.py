"""Operators, truth, membership and items: on plain values for real, on tensors as torch calls, on user objects through their methods."""

from __future__ import annotations

import enum
import operator
import types
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import torch

from lect.dialects.guard.containers import count, has, own_item
from lect.frontends.capture.attributes import find_in_type, load_attr, lookup, python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.effects import mutate, run_real, stored_key, tensor_key
from lect.frontends.capture.identities import check_nan, identify, pin
from lect.frontends.capture.keys import check_compared, check_held, key_of
from lect.frontends.capture.known_calls import known_number
from lect.frontends.capture.numbers import RunTimeNumber, apply, decide, plain
from lect.frontends.capture.numpy_values import run_numpy
from lect.frontends.capture.places import entry, guard_has_key, place_now
from lect.frontends.capture.policy import MUTATORS
from lect.frontends.capture.scalars import DICT_VIEWS, NUMPY_NUMBERS, SCALAR_TYPES
from lect.frontends.capture.torch_calls import MAX_NESTING, torch_call
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.capture.value_objects import is_known, is_value, value_call
from lect.frontends.tensors import LT

Function = Callable[..., Any]
_SYMBOLS = MappingProxyType(
    {
        "+": "add",
        "&": "and",
        "//": "floordiv",
        "<<": "lshift",
        "@": "matmul",
        "*": "mul",
        "%": "mod",
        "|": "or",
        "**": "pow",
        ">>": "rshift",
        "-": "sub",
        "/": "truediv",
        "^": "xor",
    }
)


def _operator(name: str) -> Function:
    return getattr(operator, name + "_" if name in ("and", "or", "not") else name)


BINARY: Mapping[str, Function] = MappingProxyType(
    {symbol: _operator(name) for symbol, name in _SYMBOLS.items()} | {f"{symbol}=": getattr(operator, f"i{name}") for symbol, name in _SYMBOLS.items()}
)
COMPARE: Mapping[str, Function] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}
)
UNARY: Mapping[str, Function] = MappingProxyType({"-": operator.neg, "+": operator.pos, "~": operator.invert})
_IN_PLACE = frozenset(value for symbol, value in BINARY.items() if symbol.endswith("="))
_COMPARISONS = frozenset(COMPARE.values())
_MODULO = (operator.mod, operator.imod)
_SIZED: tuple[type, ...] = (list, dict, set, tuple, frozenset, deque, range, *DICT_VIEWS)
# As CPython writes them in messages.
_WRITTEN: Mapping[Function, str] = MappingProxyType(
    {function: symbol for symbol, function in (*BINARY.items(), *COMPARE.items()) if symbol != "**"} | {operator.pow: "** or pow()"}
)
_REFLECTED = MappingProxyType({"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"})
_NUMERIC = (RunTimeNumber, int, float)
_PLAIN_SCALARS = frozenset({int, float, bool, str, bytes, type(None)})
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_KEYED = (dict, set, frozenset, *DICT_VIEWS)
_MUTABLE = (list, dict, set, deque)
_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_KNOWN = (*_IN_C, str, bytes, int, float, complex, tuple, frozenset, range, slice, type, types.UnionType, types.GenericAlias, types.FunctionType, *_MUTABLE)
_WITHOUT_PYTHON = frozenset({list, tuple, dict, set, frozenset, LT, torch.Size, range})
_OPERATOR_NAMES = tuple(f"__{prefix}{name}__" for name in _SYMBOLS.values() for prefix in ("", "r", "i"))
_OPERATORS_AND_COMPARISONS = (*_OPERATOR_NAMES, *(f"__{name}__" for name in _REFLECTED))


def _asked_for(function: Function) -> tuple[str, ...]:
    """The special methods that an operator may call."""
    name = function.__name__.rstrip("_")
    if function in (operator.eq, operator.ne):  # `object.__ne__` asks `__eq__`
        return ("__eq__", "__ne__")
    if function in _COMPARISONS:
        return (f"__{name}__", f"__{_REFLECTED[name]}__")
    base = name[1:] if function in _IN_PLACE else name
    return (f"__{name}__", f"__{base}__", f"__r{base}__") if function in _IN_PLACE else (f"__{base}__", f"__r{base}__")


_ASKED_FOR: Mapping[Function, tuple[str, ...]] = MappingProxyType({function: _asked_for(function) for function in (*BINARY.values(), *COMPARE.values())})


def python_operator(t: Tracer, kind: type, function: Function) -> bool:
    """True when this operator, or of a class that derives from none of C's also another one, is Python code."""
    if kind in SCALAR_TYPES or kind in _WITHOUT_PYTHON:
        return False
    key = (kind, function if issubclass(kind, _KNOWN) else None)  # of the others nothing is known when one of their operators is odd
    found = t.operators.get(key)
    if found is None:
        names = _OPERATORS_AND_COMPARISONS if key[1] is None else _ASKED_FOR.get(function, _OPERATORS_AND_COMPARISONS)
        found = any(lookup(t, kind, name).kind == "function" for name in names)
        if not t.class_attrs:
            t.operators[key] = found
    return found


def binary(t: Tracer, function: Function, left: Box, right: Box) -> Box:
    """`function(left, right)` for one of the operators, comparisons included."""
    a, b = left[0], right[0]
    kind_a, kind_b = type(a), type(b)
    if kind_a in SCALAR_TYPES and kind_b in SCALAR_TYPES:
        t.leak(left)
        t.leak(right)
        foreign = kind_a in NUMPY_NUMBERS or kind_b in NUMPY_NUMBERS
        return (run_numpy(t, function, a, b) if foreign else run_real(function, a, b), None)
    if t.numbers and (kind_a is RunTimeNumber or kind_b is RunTimeNumber):
        return _number_binary(t, function, left, right)
    if kind_a is str and function in _MODULO:
        filled = _percent(t, left, right)
        if filled is not None:
            return filled
    if python_operator(t, kind_a, function) or python_operator(t, kind_b, function):
        return _user_binary(t, function, left, right)
    if kind_a is LT or kind_b is LT:
        if function in (operator.mod,) and kind_a is str:
            raise t.stop("LB0019", "text of a tensor")
        return torch_call(t, function, [left, right], {})
    t.guard_type(left)
    t.guard_type(right)
    if is_value(a) or is_value(b):
        return value_call(t, function, [left, right])
    if function in (operator.eq, operator.ne) and _never_equal(kind_a, kind_b):
        return (function is operator.ne, None)
    check_known(t, kind_a)
    check_known(t, kind_b)
    check_index(t, b)
    check_index(t, a)
    if function in _IN_PLACE and issubclass(type(a), _MUTABLE):
        found = lookup(t, kind_a, f"__{function.__name__}__")
        if found.kind != "missing":
            if found.value not in MUTATORS:
                raise t.stop("LB0004", f"{kind_a.__name__}.{found.value.__name__}")
            changed = mutate(t, found.value, [left, right], {})
            if changed[0] is not NotImplemented:
                return changed
    for box in (left, right):
        t.leak(box) if type(box[0]) in SCALAR_TYPES else t.register(box)
        if function in _COMPARISONS and issubclass(type(box[0]), list | tuple | dict | set):
            _check_plain_items(t, t.now(box))
    if kind_a is str or kind_a is bytes:
        _check_plain_items(t, t.now(right))
    if function in (operator.eq, operator.ne) and (
        kind_a in _IN_C or lookup(t, kind_a, f"__{function.__name__}__").value is object.__dict__[f"__{function.__name__}__"]
    ):
        _guard_identity(t, left, right)
    if issubclass(kind_a, _KEYED) or issubclass(kind_b, _KEYED):
        check_compared(t, [t.now(left), t.now(right)])
    return t.result(run_real(function, t.now(left), t.now(right)), 0)


def _percent(t: Tracer, template: Box, values: Box) -> Box | None:
    from lect.frontends.capture.texts import percent

    return percent(t, template, values)


def _never_equal(first: type, second: type) -> bool:
    """True for a scalar and a container that is compared in C: neither knows the other."""
    for one, other in ((first, second), (second, first)):
        if one in _PLAIN_SCALARS and issubclass(other, _CONTAINERS):
            return True
    return False


def _number_binary(t: Tracer, function: Function, left: Box, right: Box) -> Box:
    """`binary` where an operand is a number of run time."""
    if type(left[0]) is LT or type(right[0]) is LT:
        return torch_call(t, function, [left, right], {})
    found = apply(t, function, [left, right])
    if found is not None:
        return found
    if function in (operator.eq, operator.ne) and any(type(box[0]) is str or box[0] is None for box in (left, right)):
        return (function is operator.ne, None)  # no number equals these
    return binary(t, function, plain(left), plain(right))


def check_known(t: Tracer, kind: type) -> None:
    """Break for an instance of a C type whose operators may read or write more than the tables know (arrays, files, ...)."""
    if kind in SCALAR_TYPES or issubclass(kind, _KNOWN):
        return
    if kind.__eq__ is not object.__eq__ or any(lookup(t, kind, name).kind != "missing" for name in _OPERATOR_NAMES):
        raise t.stop("LB0003", f"an operator of {kind.__module__}.{kind.__qualname__}")


def _guard_identity(t: Tracer, left: Box, right: Box) -> None:
    for value, source in (left, right):
        if source is not None and type(value) is not LT:
            t.guards.equals(source, value) if type(value) in SCALAR_TYPES else identify(t, source, value)


_COMPARED_AND_SHOWN = tuple(f"__{name}__" for name in "eq ne lt le gt ge hash str repr format".split())


def check_plain(t: Tracer, value: Any, around: frozenset[int] = frozenset()) -> None:
    """Break unless C code may compare or print `value`: no tensors, user objects or shadowed containers inside.

    `around` are the ids of the containers in which it stands.
    """
    kind = type(value)
    if kind in SCALAR_TYPES or kind in (range, torch.Size) or (is_value(value) and is_known(t, value)):
        return
    if kind is RunTimeNumber:
        value.needed()
        return
    if len(around) > MAX_NESTING:
        raise t.stop("LB0019", "containers nested deeper than C code can be trusted with")
    if around and id(value) in t.shadows:
        raise t.stop("LB0019", "a changed container inside another one")
    if kind in (list, tuple, set, frozenset, deque, *DICT_VIEWS):
        if id(value) not in around:
            inside = around | {id(value)}
            for item in value:
                check_plain(t, item, inside)
    elif kind is dict:
        if id(value) not in around:
            inside = around | {id(value)}
            for key, item in value.items():
                check_plain(t, key, inside)
                check_plain(t, item, inside)
    elif issubclass(type(value), torch.Tensor):
        raise t.stop("LB0019", "a container with tensors")
    elif not issubclass(type(value), type | FunctionType) and kind.__module__ not in ("enum", "typing") and not _is_plain_member(t, value):
        raise t.stop("LB0019", f"a {kind.__name__} compared or printed by C code")
    else:
        pin(t, value)


def _is_plain_member(t: Tracer, value: Any) -> bool:
    """True for a member of an enum with a plain value whose class leaves comparing and showing it to `enum` and to C code."""
    if not issubclass(type(value), enum.Enum) or type(value._value_) not in SCALAR_TYPES:
        return False
    methods = [python_method(t, type(value), name) for name in _COMPARED_AND_SHOWN]
    return all(method is None or method.__module__ == "enum" for method in methods)


def _check_plain_items(t: Tracer, value: Any) -> None:
    """`check_plain` for an operand: of a named tuple, whose text C code does not ask for, and which has no operators in Python, the items count."""
    if isinstance(value, tuple) and type(value) not in (tuple, torch.Size):
        value = tuple(tuple.__iter__(value))
    check_plain(t, value)


def _user_binary(t: Tracer, function: Function, left: Box, right: Box) -> Box:
    from lect.frontends.capture.calls import call_function

    name = function.__name__.rstrip("_")
    if function in _COMPARISONS:
        tries = [(left, right, name), (right, left, _REFLECTED[name])]
    else:
        base = name[1:] if function in _IN_PLACE else name
        tries = [(left, right, base), (right, left, f"r{base}")]
        if type(right[0]) is type(left[0]):
            tries.pop()
    if type(right[0]) is not type(left[0]) and issubclass(type(right[0]), type(left[0])):
        own = lookup(t, type(right[0]), f"__{tries[-1][2]}__").value
        if function in _COMPARISONS or own is not lookup(t, type(left[0]), f"__{tries[-1][2]}__").value:
            tries.reverse()
    if function in _IN_PLACE:
        tries.insert(0, (left, right, name))
    t.guard_type(left)
    t.guard_type(right)
    for me, other, method in tries:
        found = lookup(t, type(me[0]), f"__{method}__")
        if found.kind == "missing":
            continue
        if found.kind != "function":
            if found.value is object.__eq__ or (type(me[0]) in SCALAR_TYPES and _refuses(t, function, me)):
                continue
            if type(me[0]) in _CONTAINERS and function in (operator.eq, operator.ne) and not issubclass(type(other[0]), type(me[0])):
                continue
            if found.value is object.__ne__:
                equal = _equal_of_class(t, me, other)
                if equal is None:
                    continue
                return equal
            raise t.stop("LB0003", f"{type(me[0]).__name__}.__{method}__ with a user object")
        returned = call_function(t, t.static(found.value), [me, other], {})
        if returned[0] is not NotImplemented:
            return returned
    if function in (operator.eq, operator.ne):
        _guard_identity(t, left, right)
        return ((left[0] is right[0]) == (function is operator.eq), None)
    kinds = f"'{type(left[0]).__name__}' and '{type(right[0]).__name__}'"
    if function in _COMPARISONS:
        raise UserError(TypeError(f"'{_WRITTEN[function]}' not supported between instances of {kinds}"))
    raise UserError(TypeError(f"unsupported operand type(s) for {_WRITTEN[function]}: {kinds}"))


def _refuses(t: Tracer, function: Function, me: Box) -> bool:
    """True when the operator of a scalar gives NotImplemented for any object of another kind: numbers always, texts when they are compared."""
    t.leak(me)
    return function in _COMPARISONS or type(me[0]) in (int, float, bool, complex)


def _equal_of_class(t: Tracer, me: Box, other: Box) -> Box | None:
    """What `object.__ne__` gives: the opposite of `__eq__`, None when that is not implemented."""
    from lect.frontends.capture.calls import call_function

    found = lookup(t, type(me[0]), "__eq__")
    if found.kind != "function":
        if found.value is object.__eq__:
            return (False, None) if me[0] is other[0] else None
        raise t.stop("LB0003", f"{type(me[0]).__name__}.__eq__ with a user object")
    returned = call_function(t, t.static(found.value), [me, other], {})
    return None if returned[0] is NotImplemented else (not truth(t, returned), None)


def unary(t: Tracer, function: Function, box: Box) -> Box:
    """`-x`, `+x`, `~x`."""
    from lect.frontends.capture.calls import call_function

    if type(box[0]) is LT:
        return torch_call(t, function, [box], {})
    if type(box[0]) is RunTimeNumber:
        return apply(t, function, [box]) or unary(t, function, plain(box))
    t.guard_type(box)
    method = python_method(t, type(box[0]), f"__{function.__name__}__")
    if method is not None:
        return call_function(t, t.static(method), [box], {})
    if is_value(box[0]):
        return value_call(t, function, [box])
    check_known(t, type(box[0]))
    return t.result(run_real(function, t.now((t.leak(box), None))))


class _Answers:
    """An object whose special methods give a fixed answer, for what CPython makes of it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __bool__(self) -> bool:
        return self.answer

    def __len__(self) -> int:
        return self.answer


def answer_of(t: Tracer, name: str, answer: Box) -> Box:
    """What `bool` or `len` makes of the answer of `__bool__` or `__len__`: errors for what is no bool, no index, or negative."""
    value, _ = answer = plain(answer)
    t.leak(answer)
    if type(value) is LT:
        raise t.stop("LB0002", f"{name} gives a tensor")
    if type(value) not in SCALAR_TYPES and python_method(t, type(value), "__index__") is not None:
        raise t.stop("LB0003", f"{name} gives a {type(value).__name__}")
    return (run_real(bool if name == "__bool__" else len, _Answers(value)), None)


def truth(t: Tracer, box: Box) -> bool:
    """`bool(x)`, guarded."""
    from lect.frontends.capture.calls import call_function

    value, source = box
    kind = type(value)
    if kind in SCALAR_TYPES:
        if source is not None:
            t.guards.equals(source, value)
        return bool(value)
    if kind is LT:
        number = t.known.element(value) if value.numel() == 1 else None
        if number is None:
            found = t.elements.number(value)
            if found is None:
                raise t.stop("LB0002", "the truth value of a tensor decides a branch")
            return truth(t, found)
        return bool(number)
    if kind is RunTimeNumber:
        return decide(t, value)
    t.guard_type(box)
    for name in ("__bool__", "__len__"):
        found, method = lookup(t, kind, name), python_method(t, kind, name)
        if method is not None:
            return bool(answer_of(t, name, call_function(t, t.static(method), [box], {}))[0])
        if found.kind != "missing":
            break
    else:
        return True
    if not issubclass(type(value), (*_SIZED, int, float, complex, str, bytes)) and not t.is_fresh(value) and not is_value(value):
        raise t.stop("LB0003", f"the truth value of a {kind.__module__}.{kind.__qualname__}")
    answer = run_real(bool, t.now(box))
    if source is not None:
        t.guards.truth(source, bool(value))
    return answer


def is_same(t: Tracer, left: Box, right: Box) -> bool:
    """`left is right`, guarded."""
    if t.numbers and left[0] is not right[0] and all(type(box[0]) in _NUMERIC for box in (left, right)):
        left, right = plain(left), plain(right)
    same = left[0] is right[0]
    for me, other in ((left, right), (right, left)):
        value, source = me
        if source is None:
            continue
        if type(value) in SCALAR_TYPES:
            t.guards.equals(source, value)
            if _may_be_two(value, other[0]):
                (t.guards.same if same else t.guards.distinct)(source, other[1]) if other[1] is not None else t.guards.is_object(source, value)
        elif other[0] is None:
            t.guards.not_none(source)
        elif other[1] is not None and type(other[0]) not in SCALAR_TYPES:
            (t.guards.same if same else t.guards.distinct)(source, other[1])
        elif type(value) is not LT and type(other[0]) is not LT and not t.is_fresh(other[0]):
            t.guards.is_object(source, value)
    return same


def _may_be_two(value: Any, other: Any) -> bool:
    """True for equal scalars of which there may be several objects, so that their values do not say whether they are one."""
    if type(value) is not type(other) or type(value) not in (int, float, complex, str, bytes):
        return False
    return value == other and not (type(value) is int and -6 < value < 257) or value != value and other != other


def contains(t: Tracer, item: Box, container: Box) -> bool:
    """`item in container`."""
    from lect.frontends.capture.calls import call_function
    from lect.frontends.capture.iteration import each_compared

    container = plain(container)
    value, source = container
    kind = t.guard_type(container)
    method = python_method(t, kind, "__contains__")
    if method is not None:
        return truth(t, call_function(t, t.static(method), [container, item], {}))
    if find_in_type(kind, "__contains__") is None:
        raise UserError(TypeError(f"'{kind.__name__}' object is not a container"))
    if kind is LT:
        return bool(torch_call(t, torch.Tensor.__contains__, [container, item], {})[0])
    if issubclass(type(value), dict | set | frozenset):
        return holds_key(t, item, container)
    if issubclass(type(value), str | bytes | range):
        return run_real(operator.contains, t.leak(container), t.leak(item))
    check_nan(t, item[0])
    for element in each_compared(t, container):
        if element[0] is item[0]:
            return True
        if type(element[0]) is LT or type(item[0]) is LT:
            raise t.stop("LB0002", "membership of a tensor by value")
        if truth(t, binary(t, operator.eq, element, item)):
            return True
    return False


def holds_key(t: Tracer, item: Box, container: Box) -> bool:
    """`item in container` for a dictionary or set, past a `__contains__` of its class."""
    value, source = container
    if type(item[0]) is LT:
        t.register(container)
        return tensor_key(t, t.now(container), item[0]) is not None
    key = key_of(t, item)
    check_held(t, t.now(container))
    held: bool = run_real(has, t.now(container), key)
    if source is not None and not issubclass(type(key), set):  # which is looked for as a frozenset
        guard_has_key(t, value, source, key)
    else:
        t.register(container)
    return held


def load_item(t: Tracer, container: Box, key: Box) -> Box:
    """`container[key]`."""
    from lect.frontends.capture.calls import call_function

    container = plain(container)
    value, source = container
    kind = type(value)
    if kind is LT:
        return torch_call(t, operator.getitem, [container, key], {})
    t.guard_type(container)
    method = python_method(t, kind, "__getitem__")
    if method is not None:
        return call_function(t, t.static(method), [container, key], {})
    if type(key[0]) is LT and not issubclass(type(value), dict | type):
        key = (_index(t, key[0]), None)
    if issubclass(type(value), type):
        return _class_item(t, container, key)
    if issubclass(type(value), dict):
        return dict_item(t, container, key)
    index = t.leak(_as_number(t, key))
    check_index(t, index)
    if kind is tuple and source is None and id(value) in t.tuples:
        boxes = run_real(operator.getitem, t.tuples[id(value)][1], index)
        return t.make_tuple(boxes) if type(index) is slice else boxes
    if type(index) in NUMPY_NUMBERS and issubclass(type(value), list | tuple | deque | str | bytes | range):
        index = run_real(operator.index, index)
    if issubclass(type(value), list | tuple | deque) and source is not None:
        if type(index) is slice:
            t.register(container)
        elif type(index) not in (int, bool) or not -count(value) <= index < count(value):
            t.guards.length(source, count(value))
    if kind in SCALAR_TYPES:
        t.leak(container)
    elif not issubclass(type(value), list | tuple | deque | range) and not t.is_fresh(value):
        raise t.stop("LB0003", f"an item of a {kind.__module__}.{kind.__qualname__}")
    read = run_real(operator.getitem, t.now(container), index)
    if source is not None and issubclass(type(value), list | tuple | deque) and type(index) in (int, bool) and id(value) not in t.shadows:
        return t.wrap(read, entry(t, value, source, int(index)))
    return t.result(read, 1)


def without_address(t: Tracer, text: str, given: Sequence[Any] = ()) -> str:
    """The text.  Breaks when C code shows where an object lies, which no text in `given` does: what is made again lies elsewhere."""
    if " at 0x" in text and not any(type(each) is str and " at 0x" in each for each in given):
        raise t.stop("LB0019", "a text with the address of an object")
    return text


def _as_number(t: Tracer, key: Box) -> Box:
    """What an object of the program is as an index of a container: what its `__index__` gives."""
    from lect.frontends.capture.calls import call_function

    kind = type(key[0])
    method = python_method(t, kind, "__index__") if kind not in SCALAR_TYPES and kind is not slice and kind is not LT else None
    if method is None:
        return key
    t.guard_type(key)
    number = call_function(t, t.static(method), [key], {})
    if not issubclass(type(number[0]), int):
        raise UserError(TypeError(f"__index__ returned non-int (type {type(number[0]).__name__})"))
    return number


def check_index(t: Tracer, value: Any) -> None:
    """Break for an index that code of the program makes a number of."""
    for part in (value.start, value.stop, value.step) if type(value) is slice else (value,):
        if type(part) not in _NUMERIC and type(part) not in SCALAR_TYPES and type(part) is not LT and python_method(t, type(part), "__index__") is not None:
            raise t.stop("LB0003", f"an index that is a {type(part).__name__}")


def _class_item(t: Tracer, cls: Box, key: Box) -> Box:
    """`cls[key]` where the metaclass has no `__getitem__`: the class's own `__class_getitem__`, which may do anything when it is the program's."""
    from lect.frontends.capture.calls import call

    held = find_in_type(cls[0], "__class_getitem__")
    function = held.__func__ if issubclass(type(held), classmethod | staticmethod) else held
    if type(function) is FunctionType and function.__module__ != "typing":
        return call(t, load_attr(t, cls, "__class_getitem__"), [key], {})
    found = run_real(operator.getitem, cls[0], t.leak(key))
    return t.static(found) if type(found).__module__ == "typing" else (found, None)


def _index(t: Tracer, tensor: LT) -> int:
    """What a traced tensor is as an index of a container."""
    if tensor.is_floating_point() or tensor.is_complex() or tensor.numel() != 1:
        raise t.stop("LB0012", "a tensor that is no whole number is used as an index")
    return int(known_number(t, tensor))


def _made_default(t: Tracer, container: Box, key: Box) -> Box:
    """A missing item of a defaultdict: the factory makes it, and it is stored."""
    from lect.frontends.capture.calls import call

    value, source = container
    factory = t.wrap(value.default_factory, source.attr("default_factory") if source is not None else None)
    made = call(t, factory, [], {})
    mutate(t, dict.__setitem__, [container, key, made], {})
    return made


def dict_item(t: Tracer, container: Box, key: Box) -> Box:
    """`container[key]` as a dictionary reads it, past a `__getitem__` of its class."""
    from lect.frontends.capture.calls import call_function

    value, source = container
    now = t.now(container)
    if type(key[0]) is LT:
        t.register(container)
        raw = stored_key(t, now, key[0])
    else:
        raw = key_of(t, key)
        check_held(t, now)
    if not run_real(has, now, raw):
        if source is not None and not issubclass(type(raw), torch.Tensor):
            guard_has_key(t, value, source, raw)
        method = python_method(t, type(value), "__missing__")
        if method is not None:
            return call_function(t, t.static(method), [container, key], {})
        if type(value) is defaultdict and value.default_factory is not None:
            return _made_default(t, container, key)
        if type(value) is not dict and lookup(t, type(value), "__missing__").kind != "missing":
            raise t.stop("LB0003", f"a missing key of a {type(value).__name__}")
        raise UserError(KeyError(raw))
    return t.wrap(own_item(now, raw), place_now(t, value, source, raw))
