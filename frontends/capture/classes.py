"""Class statements and `type(name, bases, namespace)`: the class is made for real while tracing, and made again by residual code when it escapes.

What CPython does in C around the code of the program is done here by hand, in its order: bases that stand for others (`__mro_entries__`), the metaclass,
`__prepare__`, the body, the metaclass's call, the names of descriptors, `__init_subclass__`.  The class then is an object that the trace has made: it is
written to for real, and nothing about it is guarded but what it inherits.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import builtins
import functools
import gc
import sys
import types
from _collections import _tuplegetter  # type: ignore[import-not-found]
from collections.abc import Mapping
from types import CellType, FunctionType, MappingProxyType
from typing import Any, NoReturn

import torch

from lect.dialects.guard.containers import base_of
from lect.frontends.capture.attributes import MISSING, find_in_type, forget_lookups, load_attr, lookup
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call, call_function, call_pure
from lect.frontends.capture.class_objects import bare_class
from lect.frontends.capture.effects import run_real, store_item
from lect.frontends.capture.iteration import iterate
from lect.frontends.capture.keys import key_of
from lect.frontends.capture.supers import super_attr
from lect.frontends.capture.tracer import NONE, Box, Tracer

Kwargs = dict[str, Box]
FUNCTION_META = type(torch.autograd.Function)
_PREPARE = type.__dict__["__prepare__"]
# What C code may take for the function of a descriptor: it reads the attributes of these in C too.
_FUNCTIONS = (FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type(None))
_FUNCTIONS_AND_OTHERS = (*_FUNCTIONS, staticmethod, classmethod, functools.partial, str, int, property)


# ---- the statement ---------------------------------------------------------------------------------------------------


def build_class(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`__build_class__(body, name, *bases, metaclass=..., **keywords)`, which a class statement calls."""
    if len(args) < 2 or type(args[0][0]) is not FunctionType or not issubclass(type(args[1][0]), str):
        run_real(builtins.__build_class__, *[box[0] for box in args])
        raise t.stop("LB0010", "a class whose body is no function")
    t.memo.switch_off()
    body, name, given = args[0], args[1], args[2:]
    bases = _resolved(t, given)
    keywords = dict(kwargs)
    meta = keywords.pop("metaclass", None) or t.static(type(bases[0][0]) if bases else type)
    if issubclass(type(meta[0]), type):
        meta = _most_derived(t, meta, [base[0] for base in bases])
    all_bases = t.make_tuple(bases)
    namespace = _prepared(t, meta, name, all_bases, keywords)
    cell = t.code_table.run_body(t, body, namespace)[0]
    if bases is not given:
        store_item(t, namespace, ("__orig_bases__", None), t.make_tuple(given))
    made = call(t, meta, [name, all_bases, namespace], keywords)
    if issubclass(type(made[0]), type) and type(cell) is CellType:
        _check_cell(name[0], made[0], cell)
    return made


def _resolved(t: Tracer, given: list[Box]) -> list[Box]:
    """The bases, with those that `__mro_entries__` gives in the place of what is no class; the list itself when all are classes."""
    found: list[Box] = []
    changed = False
    for box in given:
        if not issubclass(type(box[0]), type):
            try:
                entries = load_attr(t, box, "__mro_entries__")
            except UserError as raised:
                if not issubclass(type(raised.error), AttributeError):
                    raise
            else:
                replaced = call(t, entries, [t.make_tuple(given)], {})
                if not issubclass(type(replaced[0]), tuple):
                    raise UserError(TypeError("__mro_entries__ must return a tuple"))
                found += [_fixed(t, base) for base in iterate(t, replaced)]
                changed = True
                continue
        found.append(_fixed(t, box))
    return found if changed else given


def _fixed(t: Tracer, base: Box) -> Box:
    """A base, guarded to be this class."""
    if base[1] is not None:
        t.guards.is_object(base[1], base[0])
    return base


def _most_derived(t: Tracer, meta: Box, bases: list[Any]) -> Box:
    """The metaclass of a class with these bases: `meta`, or that of a base that derives from it."""
    found: type = meta[0]
    for kind in map(type, bases):
        if kind in found.__mro__:
            continue
        if found not in kind.__mro__:
            text = "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the metaclasses of all its bases"
            raise UserError(TypeError(text))
        found = kind
    return meta if found is meta[0] else t.static(found)


def _prepared(t: Tracer, meta: Box, name: Box, bases: Box, keywords: Kwargs) -> Box:
    """The namespace for the body."""
    if issubclass(type(meta[0]), type) and find_in_type(meta[0], "__prepare__") is _PREPARE:
        return t.made({})
    try:
        prepare = load_attr(t, meta, "__prepare__")
    except UserError as raised:
        if not issubclass(type(raised.error), AttributeError):
            raise
        return t.made({})
    namespace = call(t, prepare, [name, bases], keywords)
    kind = t.guard_type(namespace)
    if lookup(t, kind, "__getitem__").kind == "missing":
        of = meta[0].__name__ if issubclass(type(meta[0]), type) else "<metaclass>"
        raise UserError(TypeError(f"{of}.__prepare__() must return a mapping, not {kind.__name__}"))
    return namespace


def _check_cell(name: str, made: type, cell: CellType) -> None:
    """Refuse a metaclass that has not handed on the cell of `__class__`, as CPython does."""
    try:
        contents = cell.cell_contents
    except ValueError:
        raise UserError(RuntimeError(f"__class__ not set defining {name!r} as {made!r}. Was __classcell__ propagated to type.__new__?")) from None
    if contents is not made:
        raise UserError(TypeError(f"__class__ set to {contents!r} defining {name!r} as {made!r}"))


# ---- type ------------------------------------------------------------------------------------------------------------


def new_class(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`type.__new__(metaclass, name, bases, namespace, **keywords)`."""
    if len(args) != 4 or not _fit(args):
        run_real(type.__new__, *[box[0] for box in args])
        raise t.stop("LB0010", "a class of unusual parts")
    t.memo.switch_off()
    meta, name, namespace = args[0], t.leak(args[1]), args[3]
    bases = [_fixed(t, base) for base in iterate(t, args[2])]
    if not all(issubclass(type(base[0]), type) for base in bases):
        _refuse_bases(t, meta[0], name, [base[0] for base in bases])
    derived = _most_derived(t, meta, [base[0] for base in bases])
    if derived is not meta:
        new = find_in_type(derived[0], "__new__")
        if issubclass(type(new), staticmethod) and type(new.__func__) is FunctionType:
            return call_function(t, t.static(new.__func__), [derived, *args[1:]], kwargs)
    if any(type(find_in_type(derived[0], each)) is FunctionType or find_in_type(derived[0], each) is None for each in ("__hash__", "__eq__")):
        raise t.stop("LB0010", f"a class whose metaclass {derived[0].__name__} compares classes")
    t.register(namespace)
    names = dict(base_of(type(t.now(namespace))).items(t.now(namespace)))
    _check_names(t, derived[0], names)
    names.setdefault("__module__", t.frame.globals.get("__name__"))
    late = {key: item for key, item in names.items() if find_in_type(type(item), "__set_name__") is not MISSING}
    made: type = run_real(bare_class, derived[0], name, tuple([base[0] for base in bases]), {**names, **dict.fromkeys(late)})
    for key, item in late.items():
        try:
            type.__setattr__(made, key, item)
        except (AttributeError, TypeError):
            raise t.stop("LB0010", f"a class with an entry {key} of its own") from None
    t.classes.append(made)
    box = t.made(made)
    for key, item in late.items():
        _tell_name(t, box, key, t.wrap(item))
    call(t, super_attr(t, (super(made, made), None), "__init_subclass__"), [], kwargs)
    return box


def _refuse_bases(t: Tracer, meta: type, name: str, bases: list[Any]) -> NoReturn:
    """Raise what `type.__new__` raises for bases that are no classes; it asks these for an attribute first, which must not run code of the program."""
    asked = [type(base) for base in bases if not issubclass(type(base), type)]
    if all(type(find_in_type(kind, method)) is not FunctionType for kind in asked for method in ("__getattribute__", "__getattr__")):
        run_real(type.__new__, meta, name, tuple(bases), {})
    raise t.stop("LB0010", "a base that is no class")


def _fit(args: list[Box]) -> bool:
    """True for arguments of the types that `type.__new__` takes."""
    kinds = (type, str, tuple, dict)
    return all(issubclass(type(box[0]), kind) for box, kind in zip(args, kinds)) and issubclass(args[0][0], type)


def _check_names(t: Tracer, meta: type, names: dict[Any, Any]) -> None:
    """Break where `type.__new__` would run code of the program: a method `mro` of the metaclass, slots that are no texts, keys of other kinds."""
    if find_in_type(meta, "mro") is not type.__dict__["mro"]:
        raise t.stop("LB0010", f"the metaclass {meta.__name__} has an mro of its own")
    slots = names.get("__slots__", ())
    if not issubclass(type(slots), str) and (type(slots) not in (tuple, list, dict) or any(type(slot) is not str for slot in slots)):
        raise t.stop("LB0010", "__slots__ that are no texts")
    if any(type(key) is not str for key in names):
        raise t.stop("LB0010", "a name of a class that is no text")


def _tell_name(t: Tracer, cls: Box, name: str, item: Box) -> None:
    """`item.__set_name__(cls, name)`."""
    kind = type(item[0])
    found = lookup(t, kind, "__set_name__")
    if found.kind == "c_method":
        run_real(found.value, item[0], cls[0], name)
        return
    if found.kind != "function":
        raise t.stop("LB0010", f"__set_name__ of a {kind.__name__}")
    try:
        call_function(t, t.static(found.value), [item, cls, (name, None)], {})
    except UserError as raised:
        text = f"Error calling __set_name__ on '{kind.__name__}' instance {name!r} in {cls[0].__name__!r}"
        if sys.version_info >= (3, 12):
            raised.error.add_note(text)
            raise
        wrapped = RuntimeError(text)
        wrapped.__cause__ = wrapped.__context__ = raised.error
        t.chained.add(id(t.made(wrapped)[0]))
        raise UserError(wrapped) from None


def make_type(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`type(name, bases, namespace, **keywords)`."""
    return new_class(t, [t.static(type), *args], kwargs)


def _init_of_type(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`type.__init__`, which looks at the number of its arguments alone."""
    if len(args) not in (2, 4) or (len(args) == 2 and kwargs):
        run_real(type.__init__, *[box[0] for box in args], **{name: box[0] for name, box in kwargs.items()})
    return NONE


def _init_abstract(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`_abc._abc_init(cls)`: which methods of a new class are abstract."""
    cls = args[0][0]
    if not t.is_fresh(cls):
        raise t.stop("LB0010", "an abstract class is initialized again")
    for item in cls.__dict__.values():
        kind = type(item)
        if kind not in _FUNCTIONS_AND_OTHERS and "__isabstractmethod__" in dir(kind) or find_in_type(kind, "__getattr__") is not MISSING:
            raise t.stop("LB0010", f"a {kind.__name__} in an abstract class")
    run_real(_abc._abc_init, cls)
    forget_lookups(t)
    return NONE


def _init_function(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """The metaclass of `torch.autograd.Function` makes a class for the nodes of autograd's graph."""
    if not t.is_fresh(args[0][0]) or len(args) != 4:
        raise t.stop("LB0010", "a class of autograd is initialized again")
    run_real(FUNCTION_META.__init__, args[0][0], t.leak(args[1]), (), {})
    forget_lookups(t)
    return NONE


# ---- what stands in classes ------------------------------------------------------------------------------------------


def _descriptor(kind: Any) -> Any:
    """`staticmethod(f)`, `classmethod(f)`, `property(...)`, and methods that give another property."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        for value, _ in (*args, *kwargs.values()):
            if type(value) not in _FUNCTIONS_AND_OTHERS and type(value) is not type:
                raise t.stop("LB0003", f"a {kind.__name__} of a {type(value).__name__}")
        return t.made(run_real(kind, *t.leak_all(args), **{name: t.leak(box) for name, box in kwargs.items()}))

    return rule


def _view(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`MappingProxyType(mapping)`."""
    if len(args) == 1 and issubclass(type(args[0][0]), Mapping):
        t.check_proxy(args[0][0])
    return call_pure(t, MappingProxyType, args, kwargs)


def _get_name(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`cls.__dict__.get(name, default)`."""
    names, source = args[0]
    t.check_proxy(*gc.get_referents(names))
    if source is None and not t.is_fresh(names):
        return call_pure(t, MappingProxyType.get, args, kwargs)
    key = key_of(t, args[1])
    found = names.get(key, MISSING)
    if source is not None:
        t.guards.has_key(source, key, found is not MISSING)
    if found is MISSING:
        return args[2] if len(args) > 2 else NONE
    return t.wrap(found, source.item(key) if source is not None else None)


CLASSES: Mapping[Any, Any] = MappingProxyType(
    {
        builtins.__build_class__: build_class,
        type.__new__: new_class,
        type.__init__: _init_of_type,
        _abc._abc_init: _init_abstract,
        MappingProxyType: _view,
        MappingProxyType.get: _get_name,
        _tuplegetter: _descriptor(_tuplegetter),
        FUNCTION_META.__init__: _init_function,
        **{kind: _descriptor(kind) for kind in (staticmethod, classmethod, property, property.getter, property.setter, property.deleter)},
    }
)
