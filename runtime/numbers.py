"""Which numbers have changed between two calls: they are constants of the first version, and numbers of run time from then on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard.types import PathAttr
from lect.runtime.guard_checks import read_path
from lect.runtime.guards import Predicate, failing_numbers


def changed_numbers(predicate: Predicate, args: tuple[Any, ...], kwargs: dict[str, Any], function: Any, bound: Mapping[str, Any]) -> set[PathAttr]:
    """The paths of numbers that have another value than a version wants, when all its other guards hold and there are numbers still.

    Paths with kept objects in them are left out: their numbers are those of one trace.
    """
    found = set()
    for op in failing_numbers(predicate, args, kwargs):
        path = op.operands[0].owner.path  # type: ignore[union-attr]
        if path.root == "O" or any(isinstance(key, ObjectRef) for _, key in path.steps):
            continue
        if type(read_path(path, function, bound, ())) not in (int, float):
            return set()
        found.add(path)
    return found
