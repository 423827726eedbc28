"""Writes to objects.  What the trace made is changed for real; what existed before the call gets a shadow, and the write goes to the effect list.

Reads ask `Tracer.now` for the shadow, so the trace sees its own writes while the program's objects stay as they are.  The residual code replays
the list in order.
"""

from __future__ import annotations

import copy
import operator
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.guard.containers import base_of, compares_in_c, elements, is_hashed_in_c
from lect.frontends.capture.attributes import MISSING, Found, find_in_type, forget_lookups, instance_dict, load_attr, lookup, python_method
from lect.frontends.capture.breaks import Crossing, GraphBreak, UserError
from lect.frontends.capture.class_guards import guard_no_descriptor
from lect.frontends.capture.data_aliases import store_data
from lect.frontends.capture.gradients import store_grad, switch
from lect.frontends.capture.identities import pin, tell_tensor
from lect.frontends.capture.keys import check_compared, check_held, key_of, keys_added
from lect.frontends.capture.places import guard_lookup
from lect.frontends.capture.policy import MUTATORS
from lect.frontends.capture.shadows import may_wait, replaced
from lect.frontends.capture.slots import is_slot
from lect.frontends.capture.tracebacks import set_traceback
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer
from lect.frontends.tensors import LT, DataDependent
from lect.ir import LectError

_DEFAULT_FACTORY: Any = defaultdict.__dict__["default_factory"]
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made by Python code, whose attributes can be set
_NAMES_OF_FUNCTIONS = frozenset({"__name__", "__qualname__"})
_KEYED = frozenset({"__setitem__", "__delitem__", "pop", "setdefault"})
_SET_OPERATORS = frozenset({"__ior__", "__iand__", "__isub__", "__ixor__"})
_BULK = _SET_OPERATORS | {"extend", "update", "__iadd__", "extendleft", "difference_update", "intersection_update", "symmetric_difference_update"}


# The argument that only goes into the container.
_KEPT_ARGUMENT = MappingProxyType({"append": 0, "appendleft": 0, "insert": 1, "__setitem__": 1, "setdefault": 1})
_TAKES_OUT = frozenset(
    set.__dict__[name]
    for name in "remove discard pop clear difference_update intersection_update symmetric_difference_update __iand__ __isub__ __ixor__".split()
)
# They compare items; those of sets and dictionaries hash what they are given.
_COMPARES = frozenset({"remove", "sort", "__contains__", "index", "count", "intersection_update", "difference_update", "symmetric_difference_update"}) | (
    _SET_OPERATORS
)
_INDEXED = frozenset({"pop", "insert", "rotate", "__setitem__", "__delitem__", "__imul__"})
_LOOKS_UP = frozenset({"pop", "popitem", "setdefault", "__delitem__", "move_to_end"})  # of the methods of a dictionary
_ONE_BY_ONE = frozenset({"extend", "update", "__iadd__", "extendleft", "difference_update"})


def run_real(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Run C code for the program; what it raises is the program's exception."""
    try:
        return function(*args, **kwargs)
    except Crossing as crossing:
        raise crossing.error from None
    except DataDependent as error:
        raise GraphBreak("LB0002", error.message) from None
    except LectError as error:
        raise GraphBreak("LB0005", error.message) from None
    except (Exception, GeneratorExit) as error:
        raise UserError(error) from None


def shadow_of(t: Tracer, box: Box, given_up: Collection[Any] = ()) -> Any:
    """The copy of a container that takes the trace's writes; what lies under the keys or indices `given_up` is overwritten at once."""
    value, source = box
    shadow = t.shadows.get(id(value))
    if shadow is None:
        if not _can_be_copied(value):
            raise t.stop("LB0004", f"a write to a {type(value).__name__}")
        if source is not None:
            t.guard_type(box)
            t.register(box, deep=False, replaced=given_up)
        shadow = t.shadows.get(id(value))  # one with run-time numbers
        if shadow is None:
            shadow = _copy_of(value)
            if issubclass(type(value), set) and (shadow.__sizeof__() != value.__sizeof__() or any(map(operator.is_not, shadow, value))):
                t.dented.add(id(shadow))
            t.shadows[id(value)] = shadow
            t.made(shadow)
            t.keep.append(value)
    return shadow


_COPIED = (list, dict, set, deque, OrderedDict, defaultdict)


def _can_be_copied(value: Any) -> bool:
    """True for a builtin container that can be written to, and for one of a derived class (a `Counter`) whose keys C code compares."""
    kind = type(value)
    if kind in _COPIED:
        return True
    base = base_of(kind)
    return base in _COPIED and (base in (list, deque) or all(is_hashed_in_c(key) for key in elements(value)))


def _copy_of(value: Any) -> Any:
    """A container of the same class with the same items; no code of the program runs."""
    kind = type(value)
    if kind in _COPIED:
        return copy.copy(value)
    base = base_of(kind)
    made = base.__new__(kind)
    if base is deque:
        deque.__init__(made, (), value.maxlen)
    if base in (list, deque):
        base.extend(made, base.__iter__(value))
    elif base is set:
        set.update(made, set.__iter__(value))
    else:
        for key in base.__iter__(value):
            base.__setitem__(made, key, base.__getitem__(value, key))
    if issubclass(kind, defaultdict):
        _DEFAULT_FACTORY.__set__(made, _DEFAULT_FACTORY.__get__(value, kind))
    return made


def mutate(t: Tracer, function: Any, boxes: list[Box], kwargs: dict[str, Box]) -> Box:
    """Call a mutating method descriptor such as `list.append` on its first argument."""
    from lect.frontends.capture.iteration import is_lazy

    if not boxes or not issubclass(type(boxes[0][0]), function.__objclass__):
        run_real(function, *[box[0] for box in boxes[:1]])
        raise t.stop("LB0003", f"{function.__qualname__} of something else")
    target = boxes[0]
    value = target[0]
    name = function.__name__
    _check_call(t, function, boxes)
    if name in _BULK and issubclass(type(value), set | dict):
        check_compared(t, [t.now(box) for box in boxes])
    if name in _ONE_BY_ONE and len(boxes) == 2 and not kwargs and is_lazy(t, type(boxes[1][0])):
        return _add_one_by_one(t, name, target, boxes[1])
    if name in _BULK and len(boxes) > 1:
        args = [_copied(t, box) if issubclass(type(box[0]), dict) else items_to_add(t, value, box, name) for box in boxes[1:]]
    else:
        kept = _KEPT_ARGUMENT.get(name)
        args = [t.stored(box) if number == kept else t.leak(box) for number, box in enumerate(boxes[1:])]
    raw_kwargs = {key: t.leak(box) for key, box in kwargs.items()}
    waits = not raw_kwargs and may_wait(function, value, args) and not t.is_fresh(value)
    if args and issubclass(type(value), dict | set) and name not in _BULK and not (waits and t.shadows.waits(value)):
        if type(args[0]) is LT:
            args[0] = stored_key(t, t.now(target), args[0])
        else:
            key_of(t, boxes[1])
            check_held(t, t.now(target))
    _check_comparisons(t, function, target, args, kwargs)
    _pin_compared(t, name, target, args)
    if function is set.pop:
        t.in_order(target)
    if t.is_fresh(value):
        if function in _TAKES_OUT:
            t.dented.add(id(value))
        returned = run_real(function, value, *args, **raw_kwargs)
    else:
        if target[1] is None and id(value) not in t.seen:
            raise t.stop("LB0007", f"{name} on a {type(value).__name__}")
        t.mutated[id(value)] = target
        if waits and t.shadows.defer(value, lambda given_up: shadow_of(t, target, given_up), function, args):
            t.guard_type(target)
            t.effects.append(Effect(function, target, args, raw_kwargs, t.loc))
            return NONE
        shadow = shadow_of(t, target, replaced(function, value, args, raw_kwargs))
        if name in _LOOKS_UP and target[1] is not None and issubclass(type(value), dict):
            guard_lookup(t, value, target[1], args[0]) if args and type(args[0]) is str else t.register(target, deep=False)
        if name in _KEYED and args:
            t.written.add((id(value), args[0])) if issubclass(type(value), dict) else None
        returned = run_real(function, shadow, *args, **raw_kwargs)
        if returned is NotImplemented:
            return (returned, None)
        t.effects.append(Effect(function, target, args, raw_kwargs, t.loc))
        if returned is shadow:
            return target
    return target if returned is value else t.result(returned, 1)


def _pin_compared(t: Tracer, name: str, target: Box, args: list[Any]) -> None:
    """Guard which objects they are that a method compares."""
    kind = type(target[0])
    if name in _COMPARES:
        for each in (t.now(target), *args):
            pin(t, each)
    elif name in _BULK and issubclass(kind, set | dict):
        for each in args:
            pin(t, list(dict.keys(each)) if issubclass(type(each), dict) else [tuple(pair)[:1] for pair in each] if issubclass(kind, dict) else each)


def _check_comparisons(t: Tracer, function: Any, target: Box, args: list[Any], kwargs: Mapping[str, Box]) -> None:
    """Break when code of the program would compare or hash keys of a dictionary, compare the items of a list, or what is looked for with them."""
    if function.__name__ == "sort" and (kwargs or any(type(item) is LT or python_method(t, type(item), "__lt__") for item in t.now(target))):
        raise t.stop("LB0003", "list.sort with a key, or of objects that are no plain values")
    kind = type(target[0])
    if function.__name__ in _BULK and issubclass(kind, dict):  # dictionaries were looked at before they were copied
        check_compared(t, map(keys_added, args))
    elif function.__name__ == "remove" and issubclass(kind, list | deque):
        kinds = {type(item) for item in (*t.now(target), *args)}
        if not all(compares_in_c(kind) or issubclass(kind, torch.Tensor) for kind in kinds):
            raise t.stop("LB0003", f"{function.__qualname__} of objects that Python code compares")


_ASKING_NOTHING = frozenset({"__setitem__", "__delitem__", "clear", "move_to_end"})  # of the methods of an OrderedDict
_ASKED_IN_C = ("__setitem__", "__getitem__", "__delitem__", "__contains__", "__iter__", "__len__", "__missing__", "keys", "pop")


def _check_call(t: Tracer, function: Any, boxes: list[Box]) -> None:
    """Break for a method that would leave an OrderedDict without its order, or call methods of the program."""
    from lect.frontends.capture.operators import check_index

    value = boxes[0][0]
    if function.__name__ in _INDEXED and issubclass(type(value), list | deque):
        for box in boxes[1:2]:
            check_index(t, box[0])
    if not issubclass(type(value), OrderedDict):
        return
    if function.__objclass__ is dict:
        raise t.stop("LB0003", f"{function.__qualname__} of an {type(value).__name__}")
    if type(value) is OrderedDict or function.__name__ in _ASKING_NOTHING:
        return
    if any(python_method(t, type(value), name) is not None for name in _ASKED_IN_C):
        raise t.stop("LB0003", f"{function.__qualname__} of an {type(value).__name__} with methods of its own")


def items_to_add(t: Tracer, target: Any, box: Box, name: str = "") -> Any:
    """What `update` and its like add: the items of a mapping that is no dict, or those of an iterable.  Operators of sets take sets alone."""
    from lect.frontends.capture.iteration import iterate_raw, mapping_items

    if issubclass(type(target), set) and name in _SET_OPERATORS:
        return frozenset(iterate_raw(t, box)) if issubclass(type(box[0]), set | frozenset) else t.leak(box)
    if issubclass(type(target), dict) and lookup(t, type(box[0]), "keys").kind != "missing":
        return {key: t.stored(item) for key, item in mapping_items(t, box).items()}
    return iterate_raw(t, box)


def _add_one_by_one(t: Tracer, name: str, target: Box, items: Box) -> Box:
    """Add what a generator of the program gives, which may look at the container in between."""
    from lect.frontends.capture.iteration import each, iterate, mapping_items

    value = target[0]
    if issubclass(type(value), dict):
        store = OrderedDict.__setitem__ if issubclass(type(value), OrderedDict) else dict.__setitem__
        if lookup(t, type(items[0]), "keys").kind != "missing":
            for key, item in mapping_items(t, items).items():
                mutate(t, store, [target, t.wrap(key), item], {})
        else:
            for pair in each(t, items):
                parts = iterate(t, pair, 2)
                if len(parts) != 2:
                    raise t.stop("LB0003", "a dictionary updated with items that are no pairs")
                mutate(t, store, [target, *parts], {})
    else:
        left = name == "extendleft"
        add = list.append if issubclass(type(value), list) else set.add if issubclass(type(value), set) else deque.appendleft if left else deque.append
        for item in each(t, items):
            mutate(t, set.discard if name == "difference_update" else add, [target, item], {})
    return target if name in ("__iadd__", "__ior__") else (None, None)


def _copied(t: Tracer, box: Box) -> dict[Any, Any]:
    """A dictionary as it is at this moment; later changes of the original must not reach the replay."""
    t.register(box)
    copied = dict(t.now(box))
    t.made(copied)
    return copied


def tensor_key(t: Tracer, container: Any, tensor: LT) -> Any:
    """The key of a dictionary or set made in the trace that is this tensor; None when there is none.  Tensors are hashed by identity."""
    real = t.real_of.get(id(tensor))
    held = elements(container) if issubclass(type(container), set | frozenset) else ()  # of a dictionary the keys were told when they were put in
    for each in (real, *held):
        known = t.seen.get(id(each)) if each is not None and each is not tensor else None
        if known is not None and type(known[0]) is LT and known[1] is not None:
            tell_tensor(t, known[1], each)
    return next((each for each in (tensor, real) if each is not None and each in container), None)


def stored_key(t: Tracer, container: Any, tensor: LT) -> Any:
    """The object under which a dictionary or set has, or will have, this tensor: outside of the trace there are only real tensors."""
    there = tensor_key(t, container, tensor)
    if there is not None:
        return there
    return t.real_of.get(id(tensor), tensor)


def store_attr(t: Tracer, box: Box, name: str, item: Box) -> None:
    """`value.name = item`."""
    from lect.frontends.capture.calls import call_c, call_function

    kind = type(box[0])
    if kind is LT and name == "requires_grad":
        switch(t, [box, item], {})
        return
    if kind is LT and name == "grad":
        store_grad(t, box, item)
        return
    if kind is LT and name == "data":
        store_data(t, box, item)
        return
    if kind is LT:
        raise t.stop("LB0016", f"assignment to {name}")
    if kind.__module__.startswith("lect.frontends."):
        raise t.stop("LB0009", f"assignment to {name} of what stands for a generator or traceback")
    t.guard_type(box)
    setter = python_method(t, kind, "__setattr__")
    other = lookup(t, kind, "__setattr__").value
    if setter is not None:
        call_function(t, t.static(setter), [box, (name, None), item], {})
    elif getattr(other, "__name__", "") != "__setattr__":  # a method of another name
        call_c(t, other, [box, (name, None), item], {})
    else:
        generic_store_attr(t, box, name, item)


def generic_store_attr(t: Tracer, box: Box, name: str, item: Box) -> None:
    """`object.__setattr__`."""
    value, source = box
    kind = type(value)
    if name == "__traceback__" and issubclass(type(value), BaseException):
        set_traceback(t, value, item[0])
        return
    if issubclass(type(value), types.ModuleType):
        if find_in_type(kind, "__dict__") is not vars(types.ModuleType)["__dict__"]:
            raise t.stop("LB0004", f"attribute {name} of a {kind.__name__}, which says itself what its names are")
        if name == "__class__":
            raise t.stop("LB0004", "the class of a module is changed")
        store_global(t, t.wrap(value.__dict__, (source or t.static_source(value)).step("dict")), name, item)
        return
    if issubclass(type(value), type):
        _store_class_attr(t, box, name, item)
        return
    if kind is types.CellType and name == "cell_contents":
        store_cell(t, box, item)
        return
    if kind is types.FunctionType and name in _NAMES_OF_FUNCTIONS and source is not None and type(item[0]) is str and getattr(value, name) == item[0]:
        t.guards.equals(source.attr(name), t.leak(item))  # it has that name, as the functions that `total_ordering` shares get it each time
        return
    found = lookup(t, kind, name)
    if _set_by_descriptor(t, found, box, item):
        return
    guard_no_descriptor(t, kind, name, found.kind, found.value)
    if t.is_fresh(value):
        raw = t.stored(item)
        run_real(object.__setattr__ if not issubclass(type(value), types.FunctionType) else setattr, value, name, raw)
        return
    if source is None and id(value) not in t.seen:
        raise t.stop("LB0007", f"attribute write on a {kind.__name__}")
    raw = t.stored(item)
    if is_slot(found.value):
        t.shadows[id(value), name] = t.wrap(raw)
        t.keep.append(raw)
    else:
        t.shadows[id(_own_dict(t, box, name, found.kind))][name] = raw
    t.written.add((id(value), name))
    t.mutated[id(value)] = box
    t.effects.append(Effect(object.__setattr__, box, [name, raw], {}, t.loc))


def _store_class_attr(t: Tracer, box: Box, name: str, item: Box) -> None:
    """`cls.name = item`: on a class from outside for a plain value, which reads through the class and its instances then find."""
    cls = box[0]
    of_meta = lookup(t, type(cls), name)
    if t.is_fresh(cls):
        if not _set_by_descriptor(t, of_meta, box, item):
            run_real(type.__setattr__, cls, name, t.stored(item))
            forget_lookups(t)
        return
    entry = lookup(t, cls, name)
    plain = entry.kind in ("plain", "missing", "written") and find_in_type(type(item[0]), "__get__") is MISSING and not name.startswith("__")
    if not plain or of_meta.kind != "missing" or not cls.__flags__ & _HEAP_TYPE:
        raise t.stop("LB0004", f"attribute {name} of the class {cls.__name__}")
    raw = t.leak(item)
    t.class_attrs[cls, name] = item
    forget_lookups(t)
    t.keep.append(raw)
    t.effects.append(Effect(type.__setattr__, t.static(cls), [name, raw], {}, t.loc))


def _set_by_descriptor(t: Tracer, found: Found, box: Box, item: Box) -> bool:
    """Hand `item` to a property or another data descriptor in Python that a class holds; False when it holds none."""
    from lect.frontends.capture.calls import call

    if found.kind == "property":
        if found.value.fset is None:
            run_real(property.__set__, found.value, box[0], None)  # which raises
        call(t, t.static(found.value.fset), [box, item], {})
    elif found.kind == "python_data":
        call(t, load_attr(t, t.static(found.value), "__set__"), [box, item], {})
    else:
        return False
    return True


def _own_dict(t: Tracer, box: Box, name: str, kind: str) -> dict[str, Any]:
    """The real instance dictionary of an object from outside, its shadow made."""
    try:
        names = object.__getattribute__(box[0], "__dict__")
    except AttributeError:
        names = None
    if type(names) is not dict or kind == "c_data":
        raise t.stop("LB0004", f"slot {name} of a {type(box[0]).__name__}")
    if id(names) not in t.shadows:
        t.shadows[id(names)] = t.made(dict(names))[0]
        t.keep.append(names)
    return names


def delete_attr(t: Tracer, box: Box, name: str) -> None:
    """`del value.name`."""
    from lect.frontends.capture.calls import call_function

    value = box[0]
    kind = type(value)
    t.guard_type(box)
    deleter = python_method(t, kind, "__delattr__")
    if deleter is not None:
        call_function(t, t.static(deleter), [box, (name, None)], {})
        return
    generic_delete_attr(t, box, name)


def generic_delete_attr(t: Tracer, box: Box, name: str) -> None:
    """`object.__delattr__`."""
    from lect.frontends.capture.calls import call, call_function

    value = box[0]
    if type(value) is types.CellType and name == "cell_contents":
        store_cell(t, box, None)
        return
    found = lookup(t, type(value), name)
    if found.kind == "property":
        if found.value.fdel is None:
            run_real(property.__delete__, found.value, value)  # which raises
        call(t, t.static(found.value.fdel), [box], {})
        return
    if found.kind in ("python_data", "python_other"):
        deleter = find_in_type(type(found.value), "__delete__")
        if type(deleter) is not types.FunctionType:
            raise t.stop("LB0004", f"deletion of attribute {name}")
        call_function(t, t.static(deleter), [t.static(found.value), box], {})
        return
    if t.is_fresh(value):
        run_real(type.__delattr__ if issubclass(type(value), type) else object.__delattr__, value, name)
        if issubclass(type(value), type):
            forget_lookups(t)
        return
    if is_slot(found.value):
        _delete_slot(t, box, name)
        return
    if type(value) is LT or issubclass(type(value), type | types.ModuleType) or found.kind == "c_data":
        raise t.stop("LB0004", f"deletion of attribute {name}")
    names = instance_dict(t, value)
    if names is None or name not in names:
        if names is not None and box[1] is not None and t.as_before(object.__getattribute__(value, "__dict__"), name):
            t.guards.no_attr(box[1], name)
        raise UserError(AttributeError(name))
    own = _own_dict(t, box, name, lookup(t, type(value), name).kind)
    del t.shadows[id(own)][name]
    t.written.add((id(value), name))
    t.mutated[id(value)] = box
    t.effects.append(Effect(object.__delattr__, box, [name], {}, t.loc))


def _delete_slot(t: Tracer, box: Box, name: str) -> None:
    """`del value.name` of a slot of an object from outside."""
    load_attr(t, box, name)  # which raises when there is nothing to delete
    t.shadows[id(box[0]), name] = MISSING
    t.written.add((id(box[0]), name))
    t.mutated[id(box[0])] = box
    t.effects.append(Effect(object.__delattr__, box, [name], {}, t.loc))


def store_item(t: Tracer, container: Box, key: Box, item: Box) -> None:
    """`container[key] = item`."""
    _change_item(t, "__setitem__", [container, key, item])


def delete_item(t: Tracer, container: Box, key: Box) -> None:
    """`del container[key]`."""
    _change_item(t, "__delitem__", [container, key])


def _change_item(t: Tracer, name: str, boxes: list[Box]) -> None:
    import operator

    from lect.frontends.capture.calls import call_function
    from lect.frontends.capture.torch_calls import torch_call

    kind = t.guard_type(boxes[0])
    if kind is LT:
        torch_call(t, getattr(operator, name.strip("_")), boxes, {})
        return
    found = lookup(t, kind, name)
    if found.kind == "function":
        call_function(t, t.static(found.value), boxes, {})
    elif found.kind == "missing":
        verb = "assignment" if name == "__setitem__" else "deletion"
        raise UserError(TypeError(f"'{kind.__name__}' object does not support item {verb}"))
    elif found.value in MUTATORS:
        mutate(t, found.value, boxes, {})
    else:
        raise t.stop("LB0004", f"item of a {kind.__name__}")


def load_cell(t: Tracer, cell: Box) -> Box | None:
    """The contents of a cell, None when it is empty."""
    value, source = cell
    if id(value) in t.cells:
        if not t.is_fresh(value):
            t.memo.disturb()
        return t.cells[id(value)]
    try:
        contents = value.cell_contents
    except ValueError:
        if source is not None and not t.is_fresh(value):
            raise t.stop("LB0007", "a variable without a value, of a function around") from None  # no guard looks into empty cells
        return None
    if t.is_fresh(value):
        return t.wrap(contents)
    return t.wrap(contents, source.attr("cell_contents") if source is not None else None)


def read_cell_contents(t: Tracer, cell: Box) -> Box:
    """`cell.cell_contents`."""
    found = load_cell(t, cell)
    if found is None:
        raise UserError(ValueError("Cell is empty"))
    return found


def store_cell(t: Tracer, cell: Box, item: Box | None) -> None:
    """Set or empty a cell."""
    value = cell[0]
    if t.is_fresh(value):
        if item is None:
            del value.cell_contents
        else:
            value.cell_contents = item[0]
    else:
        if item is None:
            raise t.stop("LB0004", "a variable of an enclosing function is deleted")
        t.mutated[id(value)] = cell
        t.effects.append(Effect(_set_cell, cell, [t.stored(item)], {}, t.loc))
    t.cells[id(value)] = item
    t.keep.append(value)


def _set_cell(cell: types.CellType, value: Any) -> None:
    cell.cell_contents = value


def globals_box(t: Tracer, names: dict[str, Any], source: Box | None) -> Box:
    """The box of a module's namespace."""
    found = t.seen.get(id(names))
    if found is not None:
        return found
    return t.wrap(names, source[1] if source is not None else t.sources.kept(t.objects.number(names)))


def store_global(t: Tracer, names: Box, name: str, item: Box) -> None:
    """Bind a global variable."""
    value = names[0]
    raw = t.stored(item)
    _namespace_to_write(t, value)[name] = raw
    if not t.is_fresh(value):
        t.written.add((id(value), name))
        t.effects.append(Effect(dict.__setitem__, names, [name, raw], {}, t.loc))


def delete_global(t: Tracer, names: Box, name: str) -> None:
    """Unbind a global variable that is bound."""
    value = names[0]
    if t.as_before(value, name) and not t.is_fresh(value):
        assert names[1] is not None
        t.guards.has_key(names[1], name, True)
    del _namespace_to_write(t, value)[name]
    if not t.is_fresh(value):
        t.written.add((id(value), name))
        t.effects.append(Effect(dict.__delitem__, names, [name], {}, t.loc))


def _namespace_to_write(t: Tracer, names: dict[str, Any]) -> Any:
    """The dictionary that takes the trace's writes to global variables."""
    if t.is_fresh(names):  # given to `exec`
        return names
    if id(names) not in t.shadows:
        t.shadows[id(names)] = t.made(dict(names))[0]
        t.keep.append(names)
    return t.shadows[id(names)]
