"""Effects that nobody can see: a write that a later one replaces, and a write of what was there before.

    setitem(names, "w", a); setitem(names, "w", b)   ->   setitem(names, "w", b)
    setitem(names, "w", a); setitem(names, "w", old) ->   nothing

Effects are replayed one behind the other, with no code of the program in between; so only the state behind the last one counts.  The order of the
keys of a dictionary is part of that state, so keys that were not there before are left alone.
"""

from __future__ import annotations

from collections import OrderedDict
from types import CellType
from typing import Any

from lect.frontends.capture.attributes import MISSING, find_in_type
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.slots import is_slot
from lect.frontends.capture.sources import Source
from lect.frontends.capture.tracer import Effect, Tracer

_SETS = (dict.__setitem__, OrderedDict.__setitem__)


def visible_effects(t: Tracer) -> list[Effect]:
    """The effects that must be replayed."""
    last: dict[tuple[int, Any], int] = {}  # place -> number of the write that may turn out to be replaced
    disturbed: set[int] = set()  # where something else than plain writes happened
    dropped: set[int] = set()
    for number, effect in enumerate(t.effects):
        home, key = _home(effect), _key(effect)
        if key is MISSING:
            disturbed.add(home)
        elif home not in disturbed:
            if (home, key) in last:
                dropped.add(last[home, key])
            last[home, key] = number
    for (home, _), number in last.items():
        if home not in disturbed and _is_what_was_there(t, t.effects[number]):
            dropped.add(number)
    return [effect for number, effect in enumerate(t.effects) if number not in dropped]


def _home(effect: Effect) -> int:
    """The identity of what is written to: for attributes but those in slots the instance dictionary, which may be written to as such."""
    value = effect.target[0]
    if effect.function in (object.__setattr__, object.__delattr__) and not _in_slot(effect):
        return id(object.__getattribute__(value, "__dict__"))
    return id(value)


def _key(effect: Effect) -> Any:
    """The place inside of its home that a plain write replaces; MISSING for any other effect."""
    if type(effect.target[0]) is CellType and len(effect.args) == 1:
        return None
    return MISSING if _before(effect) is MISSING else (type(effect.args[0]), effect.args[0])


def _before(effect: Effect) -> Any:
    """What stood in the place before the call, MISSING when nothing did or when the effect is no plain write."""
    value, args = effect.target[0], effect.args
    if len(args) != 2 or type(args[0]) not in SCALAR_TYPES or effect.kwargs:
        return MISSING
    if effect.function in _SETS and type(value) in (dict, OrderedDict):
        return dict.get(value, args[0], MISSING)
    if effect.function is object.__setattr__ and not _in_slot(effect):
        return object.__getattribute__(value, "__dict__").get(args[0], MISSING)
    return MISSING


def _in_slot(effect: Effect) -> bool:
    """True for a write to an attribute that is a slot."""
    return is_slot(find_in_type(type(effect.target[0]), effect.args[0]))


def _is_what_was_there(t: Tracer, effect: Effect) -> bool:
    """True when the object that is written was read from this very place: whatever is there before another call, it is there behind it.

    That it is the same object in the traced call says nothing of other calls.
    """
    if type(effect.target[0]) is CellType:
        return False
    new, old = effect.args[1], _before(effect)
    if new is not old and t.real_of.get(id(new), MISSING) is not old:
        return False
    known = t.seen.get(id(old)) if type(old) not in SCALAR_TYPES else None
    return known is not None and known[1] is not None and _is_place(known[1], effect)


def _is_place(source: Source, effect: Effect) -> bool:
    """True when a source is the place that an effect writes to."""
    owner, key = effect.target[1], effect.args[0]
    if owner is None or source.base is None or type(source.key) is not type(key) or source.key != key:
        return False
    if effect.function is object.__setattr__:
        return (source.kind == "attr" and source.base is owner) or (source.kind == "item" and source.base is owner.step("dict"))
    if source.kind in ("item", "own"):
        return source.base is owner
    tables = source.kind == "attr" and source.part is not None  # a parameter, buffer or child, read as an attribute of its module
    return tables and owner.key == source.part and source.base in (owner.base, owner.base.base if owner.base is not None else None)
