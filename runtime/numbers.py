"""Which numbers have changed between two calls: they are constants of the first version, and numbers of run time from then on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.types import PathAttr
from lect.ir import literal_key
from lect.runtime.guard_checks import read_path
from lect.runtime.guards import Predicate, failing_numbers

NUMBERS = (int, float)


def changed_numbers(predicate: Predicate, args: tuple[Any, ...], kwargs: dict[str, Any], function: Any, bound: Mapping[str, Any]) -> set[PathAttr]:
    """The paths of numbers that have another value than a version wants, when all its other guards hold and there are numbers still.

    Paths with kept objects in them are left out: their numbers are those of one trace.
    """
    found = set()
    for op in failing_numbers(predicate, args, kwargs):
        path: PathAttr = op.operands[0].owner.path  # type: ignore[union-attr]
        if path.root == "O" or any(isinstance(key, ObjectRef) for _, key in path.steps):
            continue
        value = read_path(path, function, bound, ())
        changed = _changed_items(op, path, value) if isinstance(op, guard.ItemsOp) else {path} if type(value) in NUMBERS else None
        if changed is None:
            return set()
        found |= changed
    return found


def value_that_differs(predicate: Predicate, failed: int) -> tuple[PathAttr, bool] | None:
    """The path of the number, text or container of which the first guard that fails wants a value or a length, and whether it is a number."""
    op = predicate.conditions[failed] if failed >= 0 else None
    if not isinstance(op, guard.EqualsOp | guard.LengthOp | guard.KeysOp | guard.ItemsOp):
        return None
    source = op.operands[0].owner
    if not isinstance(source, guard.SourceOp) or source.path.root == "O" or any(isinstance(key, ObjectRef) for _, key in source.path.steps):
        return None
    return source.path, isinstance(op, guard.EqualsOp) and type(op.value) in NUMBERS


def _changed_items(op: guard.ItemsOp, path: PathAttr, value: Any) -> set[PathAttr] | None:
    """The paths of the elements that differ from those wanted; None when it is not a matter of numbers."""
    if type(value) not in (list, tuple) or len(value) != len(op.items):
        return None
    found = set()
    for number, (wanted, item) in enumerate(zip(op.items, value)):
        if type(wanted) is type(item) and literal_key(wanted) == literal_key(item):
            continue
        if type(wanted) not in NUMBERS or type(item) not in NUMBERS:
            return None
        found.add(PathAttr(path.root, path.key, (*path.steps, ("item", number))))
    return found
