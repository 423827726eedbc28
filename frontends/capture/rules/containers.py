"""Rules for building containers and strings, and for taking them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.pyframe.attributes import to_python
from lect.frontends.capture.attributes import MISSING, find_in_type
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call
from lect.frontends.capture.effects import mutate, run_real
from lect.frontends.capture.iteration import iterate, mapping_items, mapping_pairs
from lect.frontends.capture.keys import key_of
from lect.frontends.capture.numbers import RunTimeNumber, plain
from lect.frontends.capture.operators import contains
from lect.frontends.capture.tracer import Box

_CONVERSIONS = MappingProxyType({"str": str, "repr": repr, "ascii": ascii})


def _boxes(frame: Any, op: Any) -> list[Box]:
    return [frame.env[value] for value in op.operands]


def build_tuple(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = frame.t.make_tuple(_boxes(frame, op))


def build_list(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = frame.t.made(frame.t.stored_all(_boxes(frame, op)))


def build_set(frame: Any, op: Any) -> None:
    items = [key_of(frame.t, box) for box in _boxes(frame, op)]
    frame.env[op.results[0]] = frame.t.made(run_real(set, items))


def build_map(frame: Any, op: Any) -> None:
    boxes = _boxes(frame, op)
    keys = [key_of(frame.t, box) for box in boxes[::2]]
    frame.env[op.results[0]] = frame.t.made(run_real(dict, list(zip(keys, frame.t.stored_all(boxes[1::2])))))


def build_const_key_map(frame: Any, op: Any) -> None:
    keys = to_python(op.attrs["keys"])
    frame.env[op.results[0]] = frame.t.made(dict(zip(keys, frame.t.stored_all(_boxes(frame, op)))))


def build_string(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = ("".join(frame.t.leak_all(_boxes(frame, op))), None)


def build_slice(frame: Any, op: Any) -> None:
    """Numbers of run time stay what they are: whoever takes the slice asks for their values."""
    frame.env[op.results[0]] = (slice(*[box[0] if type(box[0]) is RunTimeNumber else frame.t.leak(box) for box in _boxes(frame, op)]), None)


def list_append(frame: Any, op: Any) -> None:
    target, item = _boxes(frame, op)
    _change(frame, list.append, target, item)


def _change(frame: Any, function: Any, target: Box, *items: Box) -> None:
    """Change a container under construction, which was begun outside of the trace when the frame was entered in the middle."""
    if frame.t.is_fresh(target[0]):
        run_real(function, target[0], *frame.t.stored_all(list(items)))
    else:
        mutate(frame.t, function, [target, *items], {})


def list_extend(frame: Any, op: Any) -> None:
    target, items = _boxes(frame, op)
    for item in iterate(frame.t, items):
        _change(frame, list.append, target, item)


def set_add(frame: Any, op: Any) -> None:
    target, item = _boxes(frame, op)
    _add(frame, target, item)


def _add(frame: Any, target: Box, item: Box) -> None:
    if frame.t.is_fresh(target[0]):
        run_real(set.add, target[0], key_of(frame.t, item))
    else:
        mutate(frame.t, set.add, [target, item], {})


def set_update(frame: Any, op: Any) -> None:
    target, items = _boxes(frame, op)
    for item in iterate(frame.t, items):
        _add(frame, target, item)


def map_add(frame: Any, op: Any) -> None:
    target, key, item = _boxes(frame, op)
    _put(frame, target, key, item)


def _put(frame: Any, target: Box, key: Box, item: Box) -> None:
    if frame.t.is_fresh(target[0]):
        run_real(dict.__setitem__, target[0], key_of(frame.t, key), frame.t.stored(item))
    else:
        mutate(frame.t, dict.__setitem__, [target, key, item], {})


def dict_update(frame: Any, op: Any) -> None:
    target, other = _boxes(frame, op)
    for key, item in mapping_items(frame.t, other).items():
        _put(frame, target, (key, None), item)


def dict_merge(frame: Any, op: Any) -> None:
    callee, target, other = _boxes(frame, op)
    for key, item in mapping_pairs(frame.t, other):
        if contains(frame.t, (key, None), target):
            run_real(_twice, plain(callee)[0], {key: None})
        _put(frame, target, (key, None), item)


def _twice(function: Any, names: dict[Any, Any]) -> None:
    """Give a function an argument twice, which CPython refuses in front of the call."""
    function(**names, **names)


def list_to_tuple(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = frame.t.make_tuple(iterate(frame.t, frame.env[op.operands[0]]))


def _unpacked(frame: Any, op: Any, limit: int | None = None) -> list[Box]:
    """The items of what is unpacked; the error for what is no iterable says so in other words than that of `iter`."""
    box = frame.env[op.operands[0]]
    kind = type(box[0])
    if kind not in (tuple, list) and find_in_type(kind, "__iter__") is MISSING and find_in_type(kind, "__getitem__") is MISSING:
        frame.t.guard_type(box)
        raise UserError(TypeError(f"cannot unpack non-iterable {type(plain(box)[0]).__name__} object"))
    return iterate(frame.t, box, limit)


def unpack_sequence(frame: Any, op: Any) -> None:
    count = op.attrs["count"]
    boxes = _unpacked(frame, op, count)
    if len(boxes) < count:
        raise UserError(ValueError(f"not enough values to unpack (expected {count}, got {len(boxes)})"))
    if len(boxes) > count:
        raise UserError(ValueError(f"too many values to unpack (expected {count})"))
    frame.env.update(zip(op.results, boxes))


def unpack_ex(frame: Any, op: Any) -> None:
    before, after = op.attrs["before"], op.attrs["after"]
    boxes = _unpacked(frame, op)
    if len(boxes) < before + after:
        raise UserError(ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(boxes)})"))
    end = len(boxes) - after
    middle = frame.t.made(frame.t.stored_all(boxes[before:end]))
    frame.env.update(zip(op.results, [*boxes[:before], middle, *boxes[end:]]))


def format_value(frame: Any, op: Any) -> None:
    value = frame.env[op.value]
    spec = frame.env[op.spec] if op.spec is not None else ("", None)
    frame.env[op.results[0]] = call(frame.t, (format, None), [value, spec], {})


def convert_value(frame: Any, op: Any) -> None:
    frame.env[op.results[0]] = call(frame.t, (_CONVERSIONS[op.attrs["conversion"]], None), _boxes(frame, op), {})


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "pyframe.build_tuple": build_tuple,
        "pyframe.build_list": build_list,
        "pyframe.build_set": build_set,
        "pyframe.build_map": build_map,
        "pyframe.build_const_key_map": build_const_key_map,
        "pyframe.build_string": build_string,
        "pyframe.build_slice": build_slice,
        "pyframe.list_append": list_append,
        "pyframe.list_extend": list_extend,
        "pyframe.set_add": set_add,
        "pyframe.set_update": set_update,
        "pyframe.map_add": map_add,
        "pyframe.dict_update": dict_update,
        "pyframe.dict_merge": dict_merge,
        "pyframe.list_to_tuple": list_to_tuple,
        "pyframe.unpack_sequence": unpack_sequence,
        "pyframe.unpack_ex": unpack_ex,
        "pyframe.format_value": format_value,
        "pyframe.convert_value": convert_value,
    }
)
