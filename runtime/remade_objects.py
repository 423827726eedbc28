"""Classes and functions that a program makes anew for each call: a version does not hold for those of another call, though they have the same names."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from lect.dialects.guard import ops as guard
from lect.dialects.guard.class_shapes import Names, names_of_class, names_of_function
from lect.frontends.capture.objects import describe
from lect.ir import Operation
from lect.runtime.guard_checks import read_path
from lect.runtime.guards import Predicate
from lect.runtime.kept_objects import Gone

LASTING = frozenset({"O", "M"})  # what is reached through kept objects and globals is not of one call, but was replaced


def remade(predicate: Predicate, failed: int, function: FunctionType, bound: Mapping[str, Any] | None) -> set[Names]:
    """The names of the classes and functions for which a guard fails, when the first that does, number `failed`, is one that expects another of its name."""
    if bound is None or failed < 0:
        return set()
    found = _met(predicate.conditions[failed], predicate, function, bound)
    for op in predicate.conditions[failed + 1 :] if found else ():
        found |= _met(op, predicate, function, bound)
    return found


def _met(op: Operation, predicate: Predicate, function: FunctionType, bound: Mapping[str, Any]) -> set[Names]:
    """The name of the class or function that a guard asks for and that is another one now; else nothing."""
    if not isinstance(op, guard.TypeIsOp | guard.IsOp):
        return set()
    wanted = op.type if isinstance(op, guard.TypeIsOp) else op.is_object
    path = op.object.owner.path  # type: ignore[union-attr]
    if path.root in LASTING:
        return set()
    try:
        found = read_path(path, function, bound, predicate.objects)
    except Exception:  # whatever reading raises
        return set()
    met = type(found) if isinstance(op, guard.TypeIsOp) else found
    if not issubclass(type(met), type | FunctionType) or describe(met) != wanted.what:
        return set()
    try:
        if predicate.objects[wanted.number] is met:
            return set()
    except (Gone, KeyError):
        pass
    if type(met) is not FunctionType:
        return {names_of_class(met)}
    module, name = names_of_function(met)
    return {(module, name), (module, name.rpartition(".")[0])}  # it may be a method of such a class
