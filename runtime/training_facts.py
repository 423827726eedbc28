"""What the runtime knows of a training step and of its backwards, as plain data: taken from functional functions once, and kept in the cache as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch

from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.symbols import found_in
from lect.dialects.fx.ops import GraphOp
from lect.ir.symbolic import Expr, Size
from lect.runtime.engine_order import as_edges
from lect.runtime.stored_sizes import size_from_json, size_to_json
from lect.runtime.training import Backward, Layouts, SharedResult, restored_inputs


@dataclass(frozen=True)
class GroupFacts:
    """The facts of a `Group`, under the same names; the gradients of its results lie with `strides` where they lie as the results do."""

    results: tuple[int, ...]
    kept: tuple[tuple[str, int], ...]
    inputs: tuple[int, ...]
    strides: Layouts
    again: bool

    @property
    def edges(self) -> tuple[int, ...]:
        """The inputs in the order of the node's edges, in which it gives their gradients."""
        return as_edges(self.inputs)


@dataclass(frozen=True)
class StepFacts:
    """The facts of a `TrainingStep`, under the same names; `draws` says whether the graph draws random numbers."""

    results: int
    groups: tuple[GroupFacts, ...]
    views: tuple[SharedResult, ...]
    restored: tuple[int, ...]
    draws: bool
    found: tuple[tuple[int, int, int, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The facts as what JSON can hold."""
        return told_of(self)  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, told: Any) -> StepFacts:
        """The facts that `to_json` gave.  Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            results=int(told["results"]),
            groups=tuple([_group_from_json(group) for group in told["groups"]]),
            views=tuple([_view_from_json(view) for view in told["views"]]),
            restored=_numbers(told["restored"]),
            draws=bool(told["draws"]),
            found=tuple([_numbers(each) for each in told["found"]]),  # type: ignore[misc]
        )


def _view_from_json(told: Any) -> SharedResult:
    (offset,) = _sizes([told["offset"]])
    return SharedResult(**{**told, "offset": offset, "shape": _sizes(told["shape"]), "strides": _sizes(told["strides"])})


def told_of(value: Any) -> Any:
    """A value as what JSON can hold: sizes with symbols are text."""
    if is_dataclass(value):
        return {field.name: told_of(getattr(value, field.name)) for field in fields(value)}
    if type(value) is tuple:
        return [told_of(item) for item in value]
    return size_to_json(value) if type(value) is Expr else value


def _group_from_json(told: Any) -> GroupFacts:
    strides = tuple([_sizes(strides) for strides in told["strides"]])
    return GroupFacts(_numbers(told["results"]), _places(told["kept"]), _numbers(told["inputs"]), strides, bool(told["again"]))


def facts_of(graph: GraphOp, forward: FuncOp, backwards: Sequence[FuncOp], draws: bool) -> StepFacts:
    """The facts of a forward and its backwards, which were made of the captured `graph`."""
    last, returned = forward.body.last, graph.body.last
    assert last is not None and returned is not None
    results = forward.training["results"]
    aliases = last.attrs.get("aliases") or (None,) * results
    wanted = [getattr(value.type, "requires_grad", False) for value in returned.operands]
    views = []
    for number, (alias, value) in enumerate(zip(aliases[:results], last.operands)):
        if alias is not None:
            kind, base, offset = alias
            views.append(SharedResult(number, kind, base, offset, value.type.shape, value.type.strides, wanted[number]))
    return StepFacts(
        results=results,
        groups=tuple([_facts_of_group(graph, backward) for backward in backwards]),
        views=tuple(views),
        restored=restored_inputs(forward),
        draws=draws,
        found=_found(forward),
    )


def _found(forward: FuncOp) -> tuple[tuple[int, int, int, int], ...]:
    """The symbols that a forward finds, and which of its results and kept values tells them."""
    last = forward.body.last
    wanted = set(found_in(forward))
    told: dict[int, tuple[int, int, int, int]] = {}
    for position, value in enumerate(last.operands if last is not None and wanted else ()):
        for dim, size in enumerate(value.type.shape):
            atoms, divisor = size.terms[0] if type(size) is Expr and not size.const and len(size.terms) == 1 else ((), 1)
            if len(atoms) == 1 and atoms[0].kind == "s" and atoms[0].index in wanted:
                told.setdefault(atoms[0].index, (atoms[0].index, position, dim, divisor))
    return tuple(told.values())


def _facts_of_group(graph: GraphOp, backward: FuncOp) -> GroupFacts:
    stated = backward.training
    strides = [argument.type.strides for argument in backward.body.args[len(stated["kept"]) :]]
    return GroupFacts(stated["tangents"], stated["kept"], _followed(graph, backward), tuple(strides), stated.get("again", False))


def _followed(graph: GraphOp, backward: FuncOp) -> tuple[int, ...]:
    """The inputs that autograd connects to the results of a backward, in the order in which it is done with their gradients.

    One whose elements are only read, as by `item()`, gets no gradient.  It is not connected: the engine would run through what it was computed
    from all the same, which may have been freed long ago.
    """
    asking = {n: None for n, value in enumerate(graph.body.args) if getattr(value.type, "requires_grad", False)}
    return tuple([n for n in backward.training["gradients"] if n in asking] or asking)


def backward_to_json(backward: Backward) -> dict[str, Any]:
    """All but the code of a backward."""
    layouts = [[told_of(shape), told_of(strides), str(dtype).removeprefix("torch.")] for shape, strides, dtype in backward.layouts]
    return {"kept": backward.kept, "tangents": backward.tangents, "layouts": layouts, "gradients": backward.gradients}


def backward_from_json(told: Any, run: Any) -> Backward:
    """The backward that `backward_to_json` described, with its code.  Raises KeyError, TypeError or ValueError for anything else."""
    layouts = tuple([(_sizes(shape), _sizes(strides), _dtype(name)) for shape, strides, name in told["layouts"]])
    return Backward(run, _places(told["kept"]), _numbers(told["tangents"]), layouts, _numbers(told["gradients"]))


def _numbers(told: Any) -> tuple[int, ...]:
    return tuple([int(number) for number in told])


def _sizes(told: Any) -> tuple[Size, ...]:
    return tuple([size_from_json(size) for size in told])


def _places(told: Any) -> tuple[tuple[str, int], ...]:
    return tuple([(str(kind), int(number)) for kind, number in told])


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"{name!r} is no dtype")
    return found
