"""`index` and `count` of lists, tuples and deques whose items are compared by code of the program or of the library."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.attributes import python_method
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.calls import call_pure
from lect.frontends.capture.iteration import each_compared, iterate
from lect.frontends.capture.operators import binary, truth
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT


def _compared_in_python(t: Tracer, value: Any) -> bool:
    kind = type(value)
    return kind not in SCALAR_TYPES and kind is not LT and python_method(t, kind, "__eq__") is not None


def _search(function: Any) -> Any:
    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        if len(args) != 2 or kwargs or not issubclass(type(args[0][0]), list | tuple | deque):
            return call_pure(t, function, args, kwargs)
        items = iterate(t, args[0])
        if type(args[0][0]) in (list, tuple, deque) and not any(_compared_in_python(t, box[0]) for box in (args[1], *items)):
            return call_pure(t, function, args, kwargs)
        found = 0
        for number, item in enumerate(each_compared(t, args[0])):
            if item[0] is args[1][0] or truth(t, binary(t, operator.eq, item, args[1])):
                if function.__name__ == "index":
                    return (number, None)
                found += 1
        if function.__name__ == "index":
            name = type(args[0][0]).__name__
            raise UserError(ValueError(f"{name}.index(x): x not in {name}"))
        return (found, None)

    return rule


SEARCHES: Mapping[Any, Any] = MappingProxyType(
    {method: _search(method) for cls in (list, tuple, deque) for method in (cls.index, cls.count)}  # type: ignore[attr-defined]
)
