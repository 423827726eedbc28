"""Torch calls that a trace has made before, with arguments of the same metadata and values, as the layers of a model make them.

Such a call gives tensors of the same metadata as before, so neither torch nor the encoding of the arguments has to be gone through again.  That holds
while autograd is off and nothing else decides what a torch function does: no inference mode, autocast, dispatch or function mode, transform of
torch.func or region, and no write, draw of a random number or read of an element in the call.  A view that is made in this way is no view to torch,
which autograd and `Tensor._is_view` can tell: a trace that switches autograd on or asks that behind such a view is begun anew without repetition.
"""

from __future__ import annotations

from typing import Any

import torch

from lect.frontends.capture.graph import GraphRecorder
from lect.frontends.tensors import LT, make_lt
from lect.frontends.tensors.lt import layout_of
from lect.ir import Location, Operation

# Scalars that are equal when they compare equal and have one class.
PLAIN = frozenset({int, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format, type(...)})


class Call:
    """What a call gave: the attributes and result types of its operation, and for each result the position of the argument that it is or its metadata.

    `kind` is the class of a container of results, None when there is one result alone, and `views` says that some are views.
    """

    __slots__ = ("attrs", "kind", "results", "types", "views")

    def __init__(self, op: Operation, kind: type | None, results: list[Any], views: bool) -> None:
        self.attrs = op.attrs
        self.types = [value.type for value in op.results]
        self.kind = kind
        self.results = results
        self.views = views


class Asked:
    """A call that may be one of those made before: its key, and the tensors in it in the order in which they first stand there."""

    __slots__ = ("draws", "key", "tensors")

    def __init__(self, key: tuple[Any, ...], tensors: list[LT], draws: int) -> None:
        self.key = key
        self.tensors = tensors
        self.draws = draws


class Repeats:
    """The calls of one trace, of which `given` were repetitions.  `misjudged` says that the trace is to be begun anew with `on` false."""

    def __init__(self, graph: GraphRecorder, on: bool) -> None:
        self.graph = graph
        self.on = on and not torch.is_grad_enabled()
        self.misjudged = False
        self.given = 0
        self.calls: dict[tuple[Any, ...], Call] = {}
        self.views: set[int] = set()  # ids of tensors that are views and of which torch does not know it

    def ask(self, name: str, args: list[Any], kwargs: dict[str, Any], draws: int) -> Asked | None:
        """The key of a call of the function called `name`; None when what it gives may depend on more than that."""
        if not self.on or self.graph.scopes or not undisturbed():
            return None
        parts: list[Any] = [name, torch.get_default_dtype()]
        tensors: list[LT] = []
        values: list[Any] = []
        for value in args:
            if not self._add(value, parts, tensors, values):
                return None
        for key, value in kwargs.items():
            parts.append(key)
            if not self._add(value, parts, tensors, values):
                return None
        return Asked(tuple(parts), tensors, draws) if tensors else None

    def _add(self, value: Any, parts: list[Any], tensors: list[LT], values: list[Any]) -> bool:
        kind = type(value)
        parts.append(kind)
        if kind is LT:
            found = self.graph.values.get(id(value))
            if found is None:
                return False
            if found in values:
                parts.append(values.index(found))
            else:
                parts.append(layout_of(value))
                parts.append(value.requires_grad)
                tensors.append(value)
                values.append(found)
            return True
        if kind in PLAIN:
            parts.append(value)
            return True
        if kind is float:
            parts.append(value.hex())
            return True
        items: Any
        if kind is tuple or kind is list or kind is torch.Size:
            items = value
        elif kind is slice:
            items = (value.start, value.stop, value.step)
        else:
            return False
        parts.append(len(items))
        return all(self._add(item, parts, tensors, values) for item in items)

    def learn(self, asked: Asked, op: Operation | None, returned: Any, draws: int) -> None:
        """Remember what a call gave that wrote to nothing and read no element; `op` is its operation."""
        kind = type(returned)
        if op is None or draws != asked.draws or (kind is not LT and kind is not tuple and kind is not list):
            return
        found: list[Any] = []
        views = False
        tensors = [returned] if kind is LT else list(returned)
        for tensor in tensors:
            if type(tensor) is not LT or tensor.requires_grad or tensor.is_inference() or tensor._version:
                return
            place = next((number for number, each in enumerate(asked.tensors) if each is tensor), None)
            found.append(layout_of(tensor) if place is None else place)
            views = views or (place is None and tensor._is_view())
        if len(op.results) != len(tensors) or len({id(tensor) for tensor in tensors}) != len(tensors):
            return
        if any(tensor.is_complex() or tensor.is_inference() for tensor in (*tensors, *asked.tensors)):
            self.on = False  # such tensors have more to them than their metadata, and so may have what is made of them
            return
        self.calls[asked.key] = Call(op, None if kind is LT else kind, found, views)

    def give(self, call: Call, asked: Asked, loc: Location) -> Any:
        """Record the call once more, and give its results."""
        tensors = asked.tensors
        made = [tensors[each] if type(each) is int else make_lt(each) for each in call.results]
        if call.views:
            self.views.update(id(tensor) for tensor, each in zip(made, call.results) if type(each) is not int)
        self.given += 1
        self.graph.repeat(call.attrs, call.types, tensors, made, loc)
        return made[0] if call.kind is None else call.kind(made)

    def autograd_comes_on(self) -> None:
        """From here on autograd may record."""
        self.views_are_told_apart()

    def views_are_told_apart(self) -> None:
        """What follows depends on which tensors torch knows as views."""
        self.misjudged = self.misjudged or bool(self.views)
        self.on = False

    def clear(self) -> None:
        """Drop everything."""
        self.calls.clear()
        self.views.clear()


def undisturbed() -> bool:
    """True when what torch functions do follows from their arguments alone, but for the default dtype."""
    return not (
        torch.is_grad_enabled()
        or torch.is_inference_mode_enabled()
        or torch._C._is_any_autocast_enabled()
        or torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack() != 1
        or torch._C._functorch.peek_interpreter_stack() is not None
    )
