"""Sizes that elements of tensors decide: how many elements of a mask are true, how many different ones there are.

    y = x[x > 0]                   recorded as nonzero(x > 0), which is s1 x 2, and x[the places in it], which is s1
    return y.sum() / y.shape[0]

Such a size is a symbol like that of an input, but that it is known when the graph has come to the call that finds it.  What holds of it is checked there: it
is at least 2, and what `torch._check` says.  Where that does not hold the graph raises, having changed nothing, and the call is made again as it is written
(see `assumptions`).  A guard cannot ask for such a size, so where anything else is decided by one, the frame is followed once more and cut in front of the
call that finds it: what is behind the cut has the size as that of an argument.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from lect.dialects.fx.ops import CallOp
from lect.dialects.fx.python_values import resolve, short_name
from lect.frontends.capture.selections import SELECTS, SETS
from lect.frontends.capture.size_policy import place_of
from lect.frontends.tensors import LT
from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.sizes import Dim, size_of
from lect.ir import Location, Value, literal_key
from lect.ir.symbolic import symbol

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

SEARCHED = 4  # calls in calls that are compared when two masks are to be the same
HINT = 64  # such a size is taken for this large where speed is weighed
NONZERO = frozenset({torch.nonzero, torch.Tensor.nonzero, torch.argwhere, torch.Tensor.argwhere})
MASKED = frozenset({torch.masked_select, torch.Tensor.masked_select})


class FoundSize:
    """Where the value of a symbol comes from: the size of `dim` of `tensor`, which a call at `loc` gives; before that is known they are None."""

    __slots__ = ("dim", "function", "loc", "tensor")

    def __init__(self, function: str, loc: Location) -> None:
        self.function = function
        self.loc = loc
        self.tensor: LT | None = None
        self.dim = 0

    def read(self, builder: Any) -> Any:
        """The size as a value of the residual function."""
        return builder.call(torch.Tensor.size, builder.value(self.tensor), builder.constant(self.dim))

    @property
    def key(self) -> None:
        """Numbers of run time have names for people; this one has none."""


def found_number(t: Tracer, number: LT, call: Any) -> Box | None:
    """`number.item()` of an integer as the size of a tensor that has as many elements; None where it is no such number, or the frame is to be cut."""
    integer = not (number.dtype.is_floating_point or number.dtype.is_complex or number.dtype is torch.bool)
    if not integer or number.device.type != "cpu" or any(size != 1 for size in layout_of(number).shape) or not may_find(t):
        return None
    key = ("item", _key(t, number))
    made = t.symbols.nonzeros.get(key)
    if made is None:
        resolve("torch.ops.lect.extent.default")  # which defines it
        made = t.symbols.nonzeros[key] = call(t, torch.ops.lect.extent.default, [(number, None)], {})
    return (t.symbols.number(size_of(layout_of(made[0]).shape[0])), None)


def may_find(t: Tracer) -> bool:
    """False where the frame is to be cut in front of a call that finds a size."""
    sizes = t.policy.sizes
    if not t.policy.assumes or sizes.never or sizes.off or sizes.never_found or place_of(t.loc) in sizes.needed:
        return False
    return not (t.graph.scopes or t.inference or torch._C._functorch.peek_interpreter_stack() is not None)


def find_size(t: Tracer, func: Any) -> Dim | None:
    """A symbol for the size that a call of an operator finds; None when the frame is to be cut there."""
    if not may_find(t):
        return None
    t.memo.disturb()
    t.assumed += 1
    t.policy.sizes.in_use = t.policy.sizes.finds = True
    symbols = t.symbols
    number = len(symbols.sources)
    symbols.sizes.add(HINT)
    symbols.factors.append(1)
    symbols.sources.append(FoundSize(str(func._opname), t.loc))
    symbols.origins.append(t.loc)
    symbols.found.add(number)
    symbols.open.append(number)
    return symbols.sizes.dim(symbol(number))  # type: ignore[return-value]


def note_found(t: Tracer, returned: Any) -> bool:
    """The results of a call: where the value of each size is read that it has found.  False when it has found none."""
    symbols = t.symbols
    if not symbols.open:
        return False
    results = list(returned) if isinstance(returned, tuple | list) else [returned]
    for number in symbols.open:
        wanted, source = symbol(number), symbols.sources[number]
        for tensor in results:
            shape = size_of(layout_of(tensor).shape) if type(tensor) is LT else ()
            if wanted in shape and source.tensor is None:
                source.tensor, source.dim = tensor, shape.index(wanted)
        if source.tensor is None:
            symbols.make_break(number, "it is no size of a result")
    symbols.open.clear()
    return True


def why_not(t: Tracer) -> str:
    """Why the size that the call at this line finds is no symbol, when that was found out; else empty."""
    needed = t.policy.sizes.needed.get(place_of(t.loc))
    return f"; {needed.reason}{f' at {needed.loc}' if needed.loc.known else ''}" if needed is not None else ""


def with_places(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box], call: Any) -> tuple[Any, list[Box], dict[str, Box]]:
    """`x[mask]` as a look-up at the places where the mask is true; `call` records a function.  Other calls are left as they are."""
    if function in NONZERO and t.symbols.nonzeros:
        return *nonzero_again(t, function, args, kwargs), kwargs
    if not (function in SELECTS or function in SETS or function in MASKED) or not may_find(t):
        return function, args, kwargs
    if function in MASKED and len(args) == 2 and not kwargs and type(args[0][0]) is LT and _is_mask(args[1][0]):
        pair = call(t, torch.broadcast_tensors, args, {})[0]
        mask = (pair[1], None)
        return operator.getitem, [(pair[0], None), _places(t, mask, call)], {}
    sets = function in SETS and len(args) == 3 and type(args[2][0]) is LT and args[2][0].dim() > 0  # one number is written without looking for places
    if not (sets or (function in SELECTS and len(args) == 2)) or kwargs or type(args[0][0]) is not LT:
        return function, args, kwargs
    key = args[1][0]
    parts: list[Any] = list(key) if type(key) is tuple else [key]
    if not any(_is_mask(part) for part in parts):
        return function, args, kwargs
    found: list[Any] = []
    for part in parts:
        found += _places(t, (part, None), call)[0] if _is_mask(part) else [part]
    return function, [args[0], t.make_tuple([t.wrap(part) if not _is_plain(part) else (part, None) for part in found]), *args[2:]], kwargs


def _is_mask(value: Any) -> bool:
    return type(value) is LT and value.dtype is torch.bool and value.dim() > 0


def _is_plain(value: Any) -> bool:
    return value is None or value is Ellipsis or type(value) in (int, slice, LT)


def _places(t: Tracer, mask: Box, call: Any) -> Box:
    """The places where a mask is true, a tensor for each of its dims; the same ones for a mask that was asked for before."""
    key = _key(t, mask[0])
    found = t.symbols.places.get(key)
    if found is None:
        known = t.symbols.nonzeros.get(key)
        # The program may write to what it was given, and what is saved for the backward must stay.
        one = call(t, torch.nonzero, [mask], {}) if known is None else call(t, torch.clone, [known], {})
        found = t.symbols.places[key] = call(t, torch.Tensor.unbind, [one, (1, None)], {})
    return found


def _key(t: Tracer, mask: LT) -> Any:
    return _computed(t.graph.value_of(mask), SEARCHED), t.known.writes


def nonzero_again(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> tuple[Any, list[Box]]:
    """A call of `nonzero` for a mask that was asked for before as a copy of what that gave, of the same size; other calls as they are."""
    if function not in NONZERO or len(args) != 1 or kwargs or type(args[0][0]) is not LT or not t.graph.knows(args[0][0]):
        return function, args
    known = t.symbols.nonzeros.get(_key(t, args[0][0]))
    return (function, args) if known is None else (torch.clone, [known])


def note_nonzero(t: Tracer, function: Any, args: list[Box], made: Box) -> None:
    """A call of `nonzero` gave this."""
    if t.symbols.found and function in NONZERO and len(args) == 1 and type(made[0]) is LT:
        t.symbols.nonzeros[_key(t, args[0][0])] = made


def _computed(value: Value, depth: int) -> Any:
    """The same for two values that were computed alike: by functions that give the same for the same operands, from the same values."""
    op = value.op
    if depth == 0 or not isinstance(op, CallOp) or not _gives_the_same(op.target.leaf):
        return value
    return (op.target.leaf, literal_key(op.attrs), value.index, *[_computed(operand, depth - 1) for operand in op.operands])


def _gives_the_same(name: str) -> bool:
    short = short_name(name).strip("_")
    return name.startswith("operator.") and not short.startswith("i") or short in _PURE


_PURE = frozenset(
    "eq ne lt le gt ge logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not isnan isinf isfinite abs sum amax amin any all "
    "argmax float long bool view reshape unsqueeze squeeze flatten transpose t".split()
)

__all__ = ["FoundSize", "find_size", "found_number", "may_find", "note_found", "note_nonzero", "why_not", "with_places"]
