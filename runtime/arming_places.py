"""From a guard set and the objects of a call to the rows of a table that holds as long as nothing that the guards depend on has changed.

The Python predicate decides whether a call fits; a table remembers that decision.  It is sound because it notices every change that could turn it:

- An object is *pinned* when its address is compared, or follows from a dictionary, class or tuple that is known to be unchanged.  What is read from a
  pinned object comes behind the row that shows that it is the same and alive, so no row reads memory that was freed.
- An address alone can be that of a new object.  So what is pinned by its address only is watched by a weak reference whose death ends the table, or is
  kept alive when it cannot change (numbers, texts), or its content is compared too (lists, tuples, and dictionaries, whose version is unique).
- Arguments that differ from call to call (tensors, numbers, lists of them) are compared by what the guards say of them.

A guard for which there is no such row is `left` to Python.  The versions of dictionaries and classes are read before what is in them, and the predicate
runs between that and the first use of the table, so a change by another thread is seen as well.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any

import torch

from lect.backends.native_guards.layout import Layout, dict_offset, dict_tag, type_tag, word
from lect.backends.native_guards.table import Memory, Row, slot
from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.containers import results_of
from lect.ir import Value, literal_key
from lect.runtime import guard_checks as checks

HEAP_TYPE = 1 << 9
LONGEST = 4096  # elements of a list that are compared one by one
IMMUTABLE = frozenset(
    {int, float, complex, str, bytes, bool, type(None), type(...), torch.dtype, torch.layout, torch.memory_format, torch.device, torch.Size}
    | {BuiltinFunctionType}
)
SINGLE = frozenset({bool, type(None), type(...), torch.dtype, torch.layout, torch.memory_format})  # of which equal ones are one object
DICTS = frozenset({dict, OrderedDict, defaultdict})
TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
# What a class gives when it is asked for such an attribute is the same object each time.
_FROM_CLASS = frozenset(
    {FunctionType, type(object.__init__), type(str.join), BuiltinFunctionType, property, type(FunctionType.__code__), type(FunctionType.__globals__)}
)
ABSENT = object()


class Unarmed(Exception):
    """There is no row for this guard and these objects."""


class Place:
    """Where an object is found while a table is asked: at an address, when it is pinned, else in a slot."""

    __slots__ = ("operand", "pinned", "value")

    def __init__(self, value: Any, operand: int, pinned: bool) -> None:
        self.value = value
        self.operand = operand
        self.pinned = pinned


class Members:
    """The row of a dictionary, whose entries become known as guards read them."""

    def __init__(self, head: Sequence[int], kind: str, members: dict[Any, Any], where: Layout) -> None:
        self.kind = kind
        self.head = head
        self.members = members
        self.tag = dict_tag(members, where)
        self.entries: dict[str, tuple[bool, Any]] = {}
        self.by_entries = True  # false when a guard depends on more than entries under names

    def entry(self, key: Any) -> Any:
        """The value under a key.  Raises `KeyError`."""
        value = dict.__getitem__(self.members, key)
        self._depend(key, True, value)
        return value

    def absent(self, key: Any) -> None:
        """There is nothing under this key."""
        if dict.__contains__(self.members, key):
            raise Unarmed
        self._depend(key, False, None)

    def _depend(self, key: Any, present: bool, value: Any) -> None:
        if type(key) is str:
            self.entries[key] = (present, value)
        else:
            self.by_entries = False


class Arming:
    """The rows for the guards of one version and one call.  `names` and `values` are the parameters, `kept` finds the objects that the set names."""

    def __init__(self, function: FunctionType, names: Sequence[str], values: Sequence[Any], kept: Callable[[str, Any], Any], where: Layout) -> None:
        self.function = function
        self.where = where
        self.kept = kept
        self.rows: list[Row | Members] = []
        self.keep: list[Any] = []
        self.watched: dict[int, Any] = {}
        self.slots = len(names)
        self.sizes: Any = None  # `SizeRows`
        self.arguments = {name: Place(value, slot(number), False) for number, (name, value) in enumerate(zip(names, values))}
        self.loose: frozenset[Any] = frozenset()  # paths of numbers of run time, which are other objects each time
        self._places: dict[Any, Place] = {}
        self._dicts: dict[int, Members] = {}
        self._lists: set[int] = set()
        self._versions: set[int] = set()

    # ---- the whole -----------------------------------------------------------------------------------------------------

    def signature(self) -> None:
        """The defaults of the function are those that native code fills in."""
        function = self.function
        for name in ("__defaults__", "__kwdefaults__"):
            value = getattr(function, name)
            self.add("member", id(function), self.where.members[name], id(value) if value is not None else 0)
            self.keep.append(value)
        if function.__code__.co_kwonlyargcount and function.__kwdefaults__:
            row = self.members_of(Place(function.__kwdefaults__, id(function.__kwdefaults__), True))
            for name in function.__kwdefaults__:
                row.entry(name)

    def finished(self) -> list[Row]:
        """The rows, all written out.  Raises `Unarmed` when a dictionary can be followed neither by its version nor by its entries."""
        rows = [self._finish(row) if isinstance(row, Members) else row for row in self.rows]
        return [row for row, following in zip(rows, [*rows[1:], ("end", ())]) if not _asked_again(row, following)]

    def _finish(self, row: Members) -> Row:
        safe = row.by_entries and all(not present or self._same_when_at_one_address(value) for present, value in row.entries.values())
        if not safe and not self.where.dict_tag_mask:
            raise Unarmed
        entries = [part for key, (present, value) in row.entries.items() for part in (id(key), hash(key), id(value) if present else 0)]
        self.keep.append(list(row.entries))
        return row.kind, [*row.head, row.tag, len(row.entries) if safe else -1, Memory(entries)]

    def _same_when_at_one_address(self, value: Any) -> bool:
        """True when another object at the address of this one, which may have gone, would be noticed."""
        if type(value) in IMMUTABLE:
            self.keep.append(value)
            return True
        if issubclass(type(value), torch.Tensor) and self.where.dict_tag_mask:
            return False  # the version of the dictionary tells it too, and `torch.utils.swap_tensors` takes no tensor with a weak reference to it
        return id(value) in self._dicts or id(value) in self._lists or self.watch(value)

    # ---- rows ----------------------------------------------------------------------------------------------------------

    def add(self, kind: str, *operands: Any) -> None:
        """One more row."""
        self.rows.append((kind, operands))

    def new_slot(self) -> int:
        """The operand of a slot that is free."""
        self.slots += 1
        return slot(self.slots - 1)

    def watch(self, value: Any) -> bool:
        """End the table when the object dies; False when it cannot be watched."""
        if id(value) in self.watched:
            return True
        try:
            weakref.ref(value)
        except TypeError:
            return False
        self.watched[id(value)] = value
        return True

    def fix(self, value: Any) -> None:
        """The address of this object stands for it from now on: it is watched, or kept alive where that is not possible."""
        if not self.watch(value):
            self.keep.append(value)

    def pin(self, place: Place) -> Place:
        """The object is the same in each call."""
        if not place.pinned:
            kind = type(place.value)
            if kind in IMMUTABLE or kind in DICTS or kind in (list, tuple) or issubclass(kind, torch.Tensor) or not self.watch(place.value):
                raise Unarmed
            self.add("is", place.operand, id(place.value))
            place.operand, place.pinned = id(place.value), True
        return place

    def follow(self, value: Any) -> Place:
        """An object that is pinned by its address alone."""
        place = Place(value, id(value), True)
        kind = type(value)
        if kind in IMMUTABLE:
            self.keep.append(value)
        elif kind in DICTS:
            self.members_of(place)
        elif kind is list or kind is tuple:
            self.content(place)
        elif not self.watch(value):
            raise Unarmed
        return place

    def content(self, place: Place) -> None:
        """A pinned list or tuple has the elements that it has."""
        value = place.value
        if id(value) in self._lists:
            return
        if len(value) > LONGEST:
            raise Unarmed
        items = list(value)
        self._lists.add(id(value))
        self.add("list" if type(value) is list else "tuple", place.operand, len(items), Memory([id(item) for item in items]))
        for item in items:
            self.follow(item)

    def unchanged(self, cls: type) -> None:
        """Neither the class nor a base of it has changed."""
        if not cls.__flags__ & HEAP_TYPE or id(cls) in self._versions:
            return
        tag = type_tag(cls, self.where)
        if not tag:
            raise Unarmed
        self.add("version", id(cls), tag)
        self._versions.add(id(cls))

    def members_of(self, place: Place) -> Members:
        """The row of a dictionary that is pinned."""
        members = place.value
        if not place.pinned or not issubclass(type(members), dict):
            raise Unarmed
        row = self._dicts.get(id(members))
        if row is None:
            row = self._dicts[id(members)] = Members([id(members)], "dict", members, self.where)
            self.rows.append(row)
        return row

    def instance(self, place: Place) -> Members:
        """The row of an object with an instance dictionary: class, dictionary and entries."""
        value = self.pin(place).value
        members = object.__getattribute__(value, "__dict__")
        if type(members) is not dict:
            raise Unarmed
        row = self._dicts.get(id(members))
        if row is None or row.kind != "instance":
            offset = dict_offset(value, members)
            if offset is None or row is not None:
                raise Unarmed
            cls = type(value)
            row = self._dicts[id(members)] = Members([place.operand, id(cls), offset, id(members)], "instance", members, self.where)
            self.rows.append(row)
            self.fix(cls)
        return row

    # ---- paths ---------------------------------------------------------------------------------------------------------

    def place(self, value: Value) -> Place:
        """Where the object of an operand is found."""
        source = value.owner
        if not isinstance(source, guard.SourceOp):
            raise Unarmed
        path = source.path
        return self.at(path.root, path.key, path.steps)

    def at(self, root: str, key: Any, steps: tuple[Any, ...]) -> Place:
        """Where the object at the end of a path is found."""
        name = (root, key, literal_key(steps))
        found = self._places.get(name)
        if found is None:
            if steps:
                kind, last = steps[-1]
                base = self.at(root, key, steps[:-1])
                found = self._step(base, kind, self.kept("O", last.number) if type(last) is ObjectRef else last, name in self.loose)
            else:
                found = self._root(root, key)
            self._places[name] = found
        return found

    def _root(self, root: str, key: Any) -> Place:
        if root == "L":
            return self.arguments[key]
        value = self.function if root == "R" else self.kept(root, key)
        self.fix(value)
        return Place(value, id(value), True)

    def _step(self, base: Place, kind: str, key: Any, loose: bool) -> Place:
        value = base.value
        if kind == "attr":
            return self._attribute(base, key, loose)
        if kind == "type":
            self.add("type", base.operand, id(type(value)))
            self.fix(type(value))
            return Place(type(value), id(type(value)), True)
        if kind == "dict":
            row = self.instance(base)
            return Place(row.members, id(row.members), True)
        if kind == "results" and base.pinned:
            results = results_of(value)
            return Place(results, id(results), True)
        if kind == "part":
            return self._part(self.instance(base), key, loose)
        if kind in ("item", "own"):
            if issubclass(type(value), dict) and (kind == "own" or type(value).__getitem__ is dict.__getitem__):
                return self._entry(base, key, loose)
            return self._element(base, key, loose)
        if kind in ("nth", "key", "value"):
            return self._nth(base, kind, key, loose)
        raise Unarmed

    def _entry(self, base: Place, key: Any, loose: bool) -> Place:
        """The value in a dictionary."""
        value = dict.__getitem__(base.value, key)
        if base.pinned and not loose:
            value = self.members_of(base).entry(key)
            return Place(value, id(value), True)
        if type(base.value) is not dict or type(key) is not str:
            raise Unarmed
        if base.pinned:
            self.members_of(base)
        made = self.new_slot()
        self.keep.append(key)
        self.add("dict_item", base.operand, id(key), hash(key), made)
        return Place(value, made, False)

    def _element(self, base: Place, number: Any, loose: bool) -> Place:
        """The element of a list or tuple."""
        kind = type(base.value)
        if kind not in (list, tuple) or type(number) is not int:
            raise Unarmed
        value = base.value[number]
        if base.pinned and not loose:
            if kind is list:
                self.content(base)
            return Place(value, id(value), True)
        made = self.new_slot()
        if number < 0:  # a row counts from the front
            number += len(base.value)
            self.add("length", base.operand, id(kind), len(base.value))
        self.add(f"{kind.__name__}_item", base.operand, number, made)
        return Place(value, made, False)

    def _nth(self, base: Place, kind: str, number: int, loose: bool) -> Place:
        """An element by its number in iteration order."""
        container = base.value
        if type(container) in (list, tuple):
            return self._element(base, number, loose)
        if type(container) not in DICTS or (type(container) is OrderedDict and len(container) > 1):  # an order of its own has no version
            raise Unarmed
        self.whole(base)
        value = (checks.nth if kind != "value" else checks.value_at)(container, number)
        return Place(value, id(value), True)

    def whole(self, base: Place) -> None:
        """A pinned dictionary is as it is."""
        if not self.where.dict_tag_mask:
            raise Unarmed
        self.members_of(base).by_entries = False

    def _part(self, members: Members, name: str, loose: bool) -> Place:
        """A parameter, buffer or child of a module."""
        for part in checks.MODULE_PARTS:
            table = members.entry(part)
            base = Place(table, id(table), True)
            if name in table:
                return self._entry(base, name, loose)
            self.members_of(base).absent(name)
        raise Unarmed

    def _attribute(self, base: Place, name: str, loose: bool) -> Place:
        value = base.value
        kind = type(value)
        if issubclass(kind, type):
            return self._of_class(self.pin(base).value, name)
        if kind is FunctionType and name in self.where.members:
            return self._member(base, name)
        if kind is CellType and name == "cell_contents":
            return self._member(base, name)
        if kind in TENSORS and name == "grad":
            made = self.new_slot()
            self.add("grad", base.operand, id(kind), made, self.where.no_grad)
            return Place(value.grad, made, False)
        if kind.__getattribute__ not in (object.__getattribute__, ModuleType.__getattribute__) or issubclass(kind, torch.Tensor):
            raise Unarmed
        found = static(kind, name)
        if _takes_over(found):
            raise Unarmed
        row = self.instance(base)
        self.unchanged(kind)
        if name in row.members:
            return self._entry(Place(row.members, id(row.members), True), name, loose)
        row.absent(name)
        if found is ABSENT and issubclass(kind, torch.nn.Module) and kind.__getattr__ is torch.nn.Module.__getattr__:
            return self._part(row, name, loose)
        if found is ABSENT or hasattr(type(found), "__get__"):
            raise Unarmed
        return Place(found, id(found), True)

    def _member(self, base: Place, name: str) -> Place:
        """What a function or cell refers to."""
        value = getattr(self.pin(base).value, name)
        if word(id(base.value) + self.where.members[name]) != id(value):
            raise Unarmed
        self.add("member", base.operand, self.where.members[name], id(value))
        if name in ("__closure__", "__globals__"):  # a function has them for good
            return Place(value, id(value), True)
        return self.follow(value)

    def _of_class(self, cls: type, name: str) -> Place:
        """The attribute of a class."""
        meta = type(cls)
        if meta.__getattribute__ is not type.__getattribute__ or _takes_over(static(meta, name)):
            raise Unarmed
        found = static(cls, name)
        if type(found) is staticmethod:
            found = found.__func__
        elif found is ABSENT or (type(found) not in _FROM_CLASS and hasattr(type(found), "__get__")):
            raise Unarmed
        if getattr(cls, name) is not found:
            raise Unarmed
        self.unchanged(cls)
        self.unchanged(meta)
        return Place(found, id(found), True)


def _asked_again(row: Row, following: Row) -> bool:
    """True for a row about the class of an object that the next row asks for as well."""
    return row[0] == "type" and following[0] == "instance" and list(row[1][:2]) == list(following[1][:2])


def static(cls: type, name: str) -> Any:
    """What the class or a base defines under the name; `ABSENT` when none does."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, ABSENT)
        if found is not ABSENT:
            return found
    return ABSENT


def _takes_over(found: Any) -> bool:
    """True for what a class defines that goes before what an object itself has."""
    return hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")


def path_key(path: Any) -> Any:
    """A path as a key of a table."""
    return (path.root, path.key, literal_key(path.steps))
