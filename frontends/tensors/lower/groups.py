"""Which results of a joint graph share something in the backward.

Eager lets a program differentiate two losses one after the other where no step of autograd that keeps a tensor stands behind both.  So results are in one
group when such a step does, and also when an operation behind the gradients of both gives something else for their sum than for each.  Sums of
gradients, views and casts are neither: where groups meet there, each has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.functional.ops import FuncOp, ReturnOp
from lect.ir import Operation, Value

# Applied to a sum of gradients they give the sum of what they give for each.
LINEAR = frozenset(f"functional.{name}" for name in ("cast", "cat", "copy", "diagonal", "expand", "neg", "permute", "reshape", "reverse", "slice", "sum"))
# These do with so many operands, and without an attribute `value`, which is what a pad puts around.
LINEAR_IN = MappingProxyType({"functional.add": 2, "functional.sub": 2, "functional.mul": 1, "functional.div": 1, "functional.pad": 1})
RAW = "_raw_saved_"  # in front of the names under which autograd's nodes show what they keep
Groups = list[tuple[int, ...]]


class Union:
    """A partition of the numbers from 0 to `count`."""

    def __init__(self, count: int) -> None:
        self.above = list(range(count))

    def find(self, number: int) -> int:
        """The least number that is together with this one."""
        while self.above[number] != number:
            number = self.above[number]
        return number

    def join(self, numbers: Iterable[int]) -> None:
        """Put the groups of these numbers together."""
        groups = [self.find(number) for number in numbers]
        for group in groups:
            self.above[group] = min(groups)


def groups_of_results(func: FuncOp, results: Sequence[torch.Tensor] = ()) -> Groups:
    """The results of a joint graph that have tangents, by group; with `results`, tensors that autograd has recorded, also by what its nodes keep.

    Groups are in the order in which the forward comes to the last result of each: the engine goes through what was made last first.
    """
    numbers = func.training["tangents"]
    union = Union(len(numbers))
    _join_by_operations(func, union)
    if results:
        _join_by_nodes([results[number] for number in numbers], union)
    last = func.body.last
    assert last is not None
    order = {value: position for position, op in enumerate(func.body) for value in op.results}
    found: dict[int, list[int]] = {}
    for place, number in enumerate(numbers):
        found.setdefault(union.find(place), []).append(number)
    return [tuple(group) for group in sorted(found.values(), key=lambda group: max(order.get(last.operands[number], -1) for number in group))]


def _join_by_operations(func: FuncOp, union: Union) -> None:
    masks = {value: 1 << place for place, value in enumerate(func.body.args[func.training["inputs"] :])}
    for op in func.body:
        mask = 0
        for operand in op.operands:
            mask |= masks.get(operand, 0)
        if mask and not isinstance(op, ReturnOp):
            masks.update(dict.fromkeys(op.results, mask))
            if mask & (mask - 1) and not _is_linear(op, masks):
                union.join([place for place in range(mask.bit_length()) if mask >> place & 1])


def _is_linear(op: Operation, masks: dict[Value, int]) -> bool:
    """True for an operation on gradients alone that distributes over their sums."""
    if any(operand not in masks for operand in op.operands):
        return False
    return op.name in LINEAR or (LINEAR_IN.get(op.name) == len(op.operands) and not op.attrs.get("value"))


def _join_by_nodes(results: Sequence[torch.Tensor], union: Union) -> None:
    first: dict[Any, int] = {}
    for place, tensor in enumerate(results):
        for node in nodes_behind(tensor):
            if node not in first:
                first[node] = place
            elif union.find(place) != union.find(first[node]) and keeps_tensors(node):
                union.join([place, first[node]])


def nodes_behind(tensor: torch.Tensor) -> list[Any]:
    """The nodes of autograd that a backward of this tensor goes through."""
    found = {} if tensor.grad_fn is None else {tensor.grad_fn: None}
    pending = list(found)
    while pending:
        for node, _ in pending.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                pending.append(node)
    return list(found)


def keeps_tensors(node: Any) -> bool:
    """True for a node that cannot be gone through twice unless the graph is retained."""
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return bool(node.saved_tensors)
    kept = [getattr(node, name.replace(RAW, "_saved_")) for name in dir(node) if name.startswith(RAW)]
    return any(item is not None for item in kept)


def reads_nothing(func: FuncOp, group: Sequence[int]) -> bool:
    """True when no operation behind the gradients of these results reads anything of the forward."""
    stated = func.training
    behind = {value for value, number in zip(func.body.args[stated["inputs"] :], stated["tangents"]) if number in group}
    for op in func.body:
        if not behind.isdisjoint(op.operands) and not isinstance(op, ReturnOp):
            behind.update(op.results)
            if any(operand not in behind for operand in op.operands):
                return False
    return True
