"""`x[:, n]` with a number that is a symbol: torch's own indexing asks for its value, `select` takes it as it is.

    x[:, n]            select(x, 1, n)
    x[n, 2:]           select(x, 0, n)[2:]
    x[:, n] = y        select(x, 1, n)[...] = y

torch selects before it looks at the tensors of an index, so what is left of the index means the same.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.size_symbols import is_size
from lect.frontends.tensors import LT

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

SELECTS = frozenset({operator.getitem, torch.Tensor.__getitem__})
SETS = frozenset({operator.setitem, torch.Tensor.__setitem__})


def with_selections(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box], call: Any) -> tuple[Any, list[Box], dict[str, Box]]:
    """The call without numbers that are symbols in an index; `call` records a function.  Other calls are left as they are."""
    if not t.symbols:
        return function, args, kwargs
    sets = function in SETS and len(args) == 3
    if not (sets or (function in SELECTS and len(args) == 2)) or kwargs or type(args[0][0]) is not LT:
        return function, args, kwargs
    key = args[1][0]
    parts: list[Any] = list(key) if type(key) is tuple else [key]
    places = _places(parts, args[0][0].dim()) if any(map(is_size, parts)) else None
    if places is None:
        return function, args, kwargs
    chosen, rest = args[0], [part for part in parts if not is_size(part)]
    selections = [(place, part) for place, part in zip(places, parts) if is_size(part)]
    for place, part in reversed(selections[1:]):
        chosen = call(t, torch.select, [chosen, (place, None), (part, None)], {})
    first: list[Box] = [chosen, (selections[0][0], None), (selections[0][1], None)]
    if not sets and all(map(_is_whole, rest)):
        return torch.select, first, {}
    chosen = call(t, torch.select, first, {})
    index = t.make_tuple([t.wrap(part) if type(part) is LT else (part, None) for part in rest or [Ellipsis]])
    return function, [chosen, index, *args[2:]], {}


def _places(parts: list[Any], rank: int) -> list[int] | None:
    """The dim of the tensor at which each part of an index stands; None for parts of other kinds, or too many of them."""
    if any(type(part) not in _KINDS and not is_size(part) for part in parts) or sum(part is Ellipsis for part in parts) > 1:
        return None
    widths = [0 if part is None or part is Ellipsis else max(1, part.dim()) if type(part) is LT and part.dtype in _MASKS else 1 for part in parts]
    left = rank - sum(widths)
    if left < 0 or any(type(part) is LT and part.dtype in _MASKS and not part.dim() for part in parts):
        return None
    places, place = [], 0
    for part, width in zip(parts, widths):
        places.append(place)
        place += left if part is Ellipsis else width
    return places


def _is_whole(part: Any) -> bool:
    return part is Ellipsis or (type(part) is slice and part.start is part.stop is part.step is None)


_KINDS = frozenset({int, slice, LT, type(None), type(Ellipsis)})
_MASKS = frozenset({torch.bool, torch.uint8})
