"""Classes, functions and objects that a program makes anew for each call: a version does not hold for those of another call, though they are alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.class_shapes import names_of_class, names_of_function
from lect.dialects.guard.containers import compares_identity, elements
from lect.frontends.capture.numbers import NumberPolicy
from lect.frontends.capture.objects import describe
from lect.ir import Operation
from lect.runtime.guard_checks import read_path
from lect.runtime.guards import Predicate
from lect.runtime.kept_objects import Gone

LASTING = frozenset({"O", "M"})  # what is reached through kept objects and globals is not of one call, but was replaced


def learn(policy: NumberPolicy, predicate: Predicate, failed: int, function: FunctionType, bound: Mapping[str, Any] | None) -> None:
    """Tell the policy of what a call brought another one, when the first guard that fails, number `failed`, is one that expects a certain object."""
    if bound is None or failed < 0 or not _asks_for_object(predicate.conditions[failed]):
        return
    for met in [met for op in predicate.conditions[failed:] for met in _met(op, predicate, function, bound)]:
        if issubclass(type(met), type):
            policy.remade.add(names_of_class(met))
        elif type(met) is FunctionType:
            module, name = names_of_function(met)
            policy.remade |= {(module, name), (module, name.rpartition(".")[0])}  # it may be a method of such a class
        elif compares_identity(type(met)):
            policy.instances.add(names_of_class(type(met)))


def _asks_for_object(op: Operation) -> bool:
    """True for a guard that asks for a class or an object, or that reads below a key that is one."""
    if isinstance(op, guard.TypeIsOp | guard.IsOp):
        return True
    named = (*getattr(op, "keys", ()), getattr(op, "key", None)) if isinstance(op, guard.KeysOp | guard.HasKeyOp) else ()
    below = [key for _, key in op.object.owner.path.steps] if isinstance(op, guard.PresentOp) else []  # type: ignore[union-attr]
    return any(type(key) is ObjectRef for key in (*named, *below))


def _met(op: Operation, predicate: Predicate, function: FunctionType, bound: Mapping[str, Any]) -> list[Any]:
    """The classes or objects that stand where a guard asks for others that are described alike."""
    if not isinstance(op, guard.TypeIsOp | guard.IsOp | guard.KeysOp):
        return []
    path = op.object.owner.path  # type: ignore[union-attr]
    if path.root in LASTING:
        return []
    try:
        found = read_path(path, function, bound, predicate.objects)
        if isinstance(op, guard.KeysOp):
            pairs = [(key, wanted) for key, wanted in zip(elements(found), op.keys) if type(wanted) is ObjectRef]
        else:
            pairs = [(type(found), op.type) if isinstance(op, guard.TypeIsOp) else (found, op.is_object)]
    except Exception:  # whatever reading raises
        return []
    return [met for met, wanted in pairs if describe(met) == wanted.what and not _is_kept(predicate, wanted.number, met)]


def _is_kept(predicate: Predicate, number: int, met: Any) -> bool:
    try:
        return predicate.objects[number] is met
    except (Gone, KeyError):
        return False
