"""What each kind of guard asks of the objects of a call, as rows; the objects are found by `Arming`."""

from __future__ import annotations

import builtins
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

import torch

from lect.backends.native_guards.selftest import apart_row, modes_row, tensor_row
from lect.dialects.fx.python_values import dtype_of
from lect.dialects.guard import ops as guard
from lect.dialects.guard.containers import redefines
from lect.frontends.capture.torch_callees import ABSENT
from lect.ir import Operation
from lect.ir.types import f64
from lect.runtime import guard_checks as checks
from lect.runtime.arming_places import DICTS, HEAP_TYPE, IMMUTABLE, SINGLE, TENSORS, Arming, Place, Unarmed, path_key
from lect.runtime.arming_sizes import SizeRows
from lect.runtime.guard_sizes import has_symbols


def _immutable(place: Place) -> None:
    """A pinned object has the value that it has."""
    if type(place.value) not in IMMUTABLE and type(place.value).__module__ != "numpy":
        raise Unarmed


def _equals(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if place.pinned:
        _immutable(place)
    else:
        _equal(a, place)


def _equal(a: Arming, place: Place) -> None:
    """The object of a slot has the value that it has."""
    value, kind = place.value, type(place.value)
    if kind in SINGLE:
        a.keep.append(value)
        a.add("is", place.operand, id(value))
    elif kind is int and -(2**63) <= value < 2**63:
        a.add("int", place.operand, value, value)
    elif kind is float and value == value and value != 0.0:
        a.add("float", place.operand, struct.unpack("<q", struct.pack("<d", value))[0])
    elif kind in (str, bytes, torch.device):
        a.keep.append(value)
        a.add("text", place.operand, id(value))
    else:
        raise Unarmed


def _number(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if place.pinned and op.size is None:
        _immutable(place)
        return
    if op.element is f64:
        if op.fits is not None and checks.range_of(op.fits)[1] != float("inf"):
            raise Unarmed
        a.add("type", place.operand, id(float))
        return
    low, high = checks.range_of(op.element)
    if op.fits is not None:
        narrow = checks.range_of(op.fits)
        if op.fits.is_float:
            raise Unarmed
        low, high = max(low, narrow[0]), min(high, narrow[1])
    if op.size is not None:
        a.sizes.number(op, place, max(low, -checks.LARGEST_SIZE), min(high, checks.LARGEST_SIZE))
        return
    a.add("int", place.operand, low, high)


def _type_is(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    cls = type(place.value)
    if place.pinned and not cls.__flags__ & HEAP_TYPE and not issubclass(cls, ModuleType):
        return
    a.add("type", place.operand, id(cls))
    a.fix(cls)


def _is(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if not place.pinned:
        a.fix(place.value)
        a.add("is", place.operand, id(place.value))


def _tensor(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    value = place.value
    if type(value) not in TENSORS:
        raise Unarmed
    if has_symbols((op.sizes, op.strides)):
        a.sizes.tensor(op, place)
    else:
        a.rows.append(tensor_row(place.operand, value, a.where))
    if value.device.type != "cpu":
        a.add("device", place.operand, value.device.index)


def _symbolic(a: Arming, op: Any) -> None:
    a.sizes.condition(op)


def _same(a: Arming, op: Any) -> None:
    first, second = a.place(op.first), a.place(op.second)
    if not (first.pinned and second.pinned):
        a.add("is", first.operand, second.operand)


def _apart(a: Arming, places: Iterable[tuple[Place, Place]]) -> None:
    for first, second in places:
        if not (first.pinned and second.pinned):
            a.add("is_not", first.operand, second.operand)


def _distinct(a: Arming, op: Any) -> None:
    first = a.place(op.first)
    _apart(a, [(first, a.place(other)) for other in op.others])


def _all_distinct(a: Arming, op: Any) -> None:
    places = [a.place(each) for each in op.objects]
    if sum(not place.pinned for place in places) > 8:
        raise Unarmed
    _apart(a, [(one, other) for number, one in enumerate(places) for other in places[:number]])


def _not_none(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if not place.pinned:
        a.add("is_not", place.operand, id(None))


def _present(a: Arming, op: Any) -> None:
    a.place(op.object)


def _truth(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if place.pinned and type(place.value) not in IMMUTABLE:
        _content(a, place)
    elif not place.pinned:
        if type(place.value) is not bool:
            raise Unarmed
        a.add("is", place.operand, id(place.value))


def _content(a: Arming, place: Place) -> None:
    """A pinned builtin container has the elements that it has."""
    kind = type(place.value)
    if kind is list:
        a.content(place)
    elif issubclass(kind, dict) and not redefines(kind, "__len__") and not redefines(kind, "__bool__"):
        a.whole(place)
    elif kind is not tuple:
        raise Unarmed


def _length(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    kind = type(place.value)
    if not place.pinned:
        if kind not in (list, tuple, dict):
            raise Unarmed
        a.add("length", place.operand, id(kind), len(place.value))
    elif issubclass(kind, dict):
        a.whole(place)
    else:
        _content(a, place)


def _elements(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    kind = type(place.value)
    if place.pinned and kind in DICTS and (kind is not OrderedDict or len(place.value) < 2):
        a.whole(place)
        return
    if kind not in (list, tuple):
        raise Unarmed
    if place.pinned:
        _content(a, place)
        for item in place.value:
            _immutable(Place(item, 0, True))
        return
    a.add("length", place.operand, id(kind), len(place.value))
    for number in range(len(place.value)):
        _equal(a, a._element(place, number, True))


def _has_key(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if type(place.value) not in DICTS:
        raise Unarmed
    a.whole(place)


def _no_overlap(a: Arming, op: Any) -> None:
    a.rows.append(apart_row([a.place(tensor).operand for tensor in op.tensors]))


def _no_keys(a: Arming, op: Any) -> None:
    path = op.object.owner.path
    if path.steps and path.steps[-1] == ("attr", "__dict__"):
        owner = a.at(path.root, path.key, path.steps[:-1])
        if owner.pinned and issubclass(type(owner.value), type):  # a class, whose entries are as they are as long as it is unchanged
            a.unchanged(owner.value)
            return
    row = a.members_of(a.place(op.object))
    for key in op.keys:
        row.absent(key)


def _mro(a: Arming, op: Any) -> None:
    place = a.place(op.object)
    if not place.pinned:
        raise Unarmed
    a.unchanged(place.value)


def _tensor_class(a: Arming, op: Any) -> None:
    a.unchanged(torch.Tensor)


def _torch_callees(a: Arming, op: Any) -> None:
    entries, methods = checks.below_torch(op.functions)
    for members, name, value in entries:
        row = a.members_of(Place(members, id(members), True))
        row.absent(name) if value is ABSENT else row.entry(name)
    if methods:
        a.unchanged(torch.Tensor)


def _builtins(a: Arming, op: Any) -> None:
    entries = vars(builtins)
    row = a.members_of(Place(entries, id(entries), True))
    for name in op.names:
        row.entry(name)


def _no_attr(a: Arming, op: Any) -> None:
    row = a.instance(a.place(op.object))
    for name in op.names:
        row.absent(name)
    if op.parts:
        for part in checks.MODULE_PARTS:
            if part not in row.members:
                row.absent(part)
                continue
            table = row.entry(part)
            inner = a.members_of(Place(table, id(table), True))
            for name in op.names:
                inner.absent(name)


def _no_hooks(a: Arming, op: Any) -> None:
    row = a.instance(a.place(op.object))
    for name in checks.OWN_CALLS:
        row.absent(name)
    _empty(a, [row.entry(name) for name in checks.HOOK_TABLES])


def _empty(a: Arming, tables: Sequence[Any]) -> None:
    """Pinned dictionaries are empty, whatever else happens to them."""
    if any(type(table) not in DICTS or table for table in tables):
        raise Unarmed
    a.add("empty", len(tables), *[id(table) for table in tables])


def _global_state(a: Arming, op: Any) -> None:
    if op.autocast or op.overrides:
        raise Unarmed
    a.rows.append(modes_row(bool(op.grad), bool(op.inference), dtype_of(op.default_dtype), bool(op.deterministic), a.where))
    if op.no_exception:
        a.add("calm")
    if not op.module_hooks:
        module = sys.modules["torch.nn.modules.module"]
        row = a.instance(Place(module, id(module), True))
        _empty(a, [row.entry(name) for name in checks.GLOBAL_HOOKS])


RULES: Mapping[type, Callable[[Arming, Any], None]] = MappingProxyType(
    {
        guard.EqualsOp: _equals,
        guard.NumberOp: _number,
        guard.TypeIsOp: _type_is,
        guard.IsOp: _is,
        guard.TensorOp: _tensor,
        guard.SymbolicOp: _symbolic,
        guard.SameOp: _same,
        guard.DistinctOp: _distinct,
        guard.AllDistinctOp: _all_distinct,
        guard.NotNoneOp: _not_none,
        guard.PresentOp: _present,
        guard.TruthOp: _truth,
        guard.NoAttrOp: _no_attr,
        guard.NoHooksOp: _no_hooks,
        guard.LengthOp: _length,
        guard.KeysOp: _elements,
        guard.ItemsOp: _elements,
        guard.HasKeyOp: _has_key,
        guard.NoOverlapOp: _no_overlap,
        guard.NoKeysOp: _no_keys,
        guard.MroOp: _mro,
        guard.BuiltinsOp: _builtins,
        guard.TensorClassOp: _tensor_class,
        guard.TorchCalleesOp: _torch_callees,
        guard.GlobalStateOp: _global_state,
    }
)


def arm(arming: Arming, conditions: Sequence[Operation]) -> frozenset[int]:
    """Write the rows of all guards; the numbers of those that are left to Python."""
    numbers = [op.operands[0].owner for op in conditions if isinstance(op, guard.NumberOp)]
    arming.loose = frozenset(path_key(owner.path) for owner in numbers if isinstance(owner, guard.SourceOp))
    arming.signature()
    arming.sizes = SizeRows(arming)
    left = set()
    for number, op in enumerate(conditions):
        rule = RULES.get(type(op))
        try:
            if rule is None:
                raise Unarmed
            rule(arming, op)
        except Exception:  # whatever reading it raises, Python decides
            left.add(number)
    arming.sizes = None  # a cycle, which would hold what the call was given
    return frozenset(left)
