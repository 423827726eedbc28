"""Functions of the program that torch calls: followed once, and recorded as regions.

`trace_region` follows a function on tensors that stand for its parameters.  What is given to torch and what comes back are trees of plain containers,
as torch's own pytrees see them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from torch.utils import _pytree as pytree

from lect.dialects.fx.execution import Execution
from lect.dialects.fx.region_rules import RULES
from lect.dialects.fx.regions import yields
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.cached_functions import CallAgain
from lect.frontends.capture.objects import describe
from lect.frontends.capture.torch_calls import lower_box
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT
from lect.ir import LectError, Operation, Region

Body = Callable[[], Box]


def flatten(value: Any) -> tuple[list[Any], Any]:
    """Leaves and shape of a tree."""
    return pytree.tree_flatten(value)


def box_of_tree(t: Tracer, value: Any) -> Box:
    """The box of a tree of plain containers that was made just now."""
    _mark(t, value)
    return (value, None)


def _mark(t: Tracer, value: Any) -> None:
    if issubclass(type(value), list | dict):
        t.made(value)
    elif not issubclass(type(value), tuple):
        return
    t.keep.append(value)
    for item in value.values() if issubclass(type(value), dict) else value:
        _mark(t, item)


def unflatten(t: Tracer, leaves: list[Any], spec: Any) -> Box:
    """A tree with these leaves."""
    return box_of_tree(t, pytree.tree_unflatten(leaves, spec))


def trace_region(t: Tracer, parameters: list[LT], body: Body, what: str, effects: bool = False) -> tuple[Region, list[LT], Any]:
    """Follow `body` as a region; gives the region, the tensors it yields, and what it returned as a tree in which they stand.

    Breaks when it writes to the program's objects, other than to count a hit of a cache, unless `effects` says that once is right.
    """
    before = len(t.effects)
    t.graph.open_region(parameters)
    try:
        returned = lower_box(t, body())
        leaves, spec = flatten(returned)
        tensors = [leaf for leaf in leaves if issubclass(type(leaf), LT)]
        if any(not t.graph.knows(tensor) for tensor in tensors):
            raise t.stop("LB0007", f"a tensor that {what} returns and no recorded call has made")
    except BaseException:
        t.graph.drop_region()
        raise
    region = t.graph.close_region(tensors)
    if not effects and any(type(effect.function) is not CallAgain for effect in t.effects[before:]):  # hits of caches are counted once
        raise t.stop("LB0004", f"{what} writes to objects of the program")
    return region, tensors, (leaves, spec)


def replay(t: Tracer, kind: type[Operation], regions: list[Region], operands: list[LT], attrs: dict[str, Any], **extra: Any) -> list[LT]:
    """What the operation would give: its rule runs on traced tensors, torch's own code included."""
    run = Execution(t.graph.operands())
    call = SimpleNamespace(**attrs, **extra, body=regions[0].blocks[0])
    try:
        found = RULES[kind.name](call, [run.function(region.blocks[0]) for region in regions], operands)
    except GraphBreak:
        raise
    except LectError as error:
        raise t.stop("LB0012", f"{kind.name}: {error.message}") from None
    except Exception as error:
        text = str(error).partition("\n")[0][:200]
        raise t.stop("LB0012", f"{kind.name} raised {type(error).__name__}: {text}") from None
    if any(type(tensor) is not LT for tensor in found):
        raise t.stop("LB0007", f"{kind.name} gave a tensor that is not traced")
    return found


def inline_region(t: Tracer, region: Region, operands: list[LT]) -> list[LT]:
    """Call a region here: its operations are copied behind those recorded so far.  Gives what it yields."""
    block = region.blocks[0]
    given: dict[Any, Any] = dict(zip(block.args, [t.graph.value_of(tensor) for tensor in operands]))
    found = Execution(t.graph.operands()).block(block, operands)
    for op in block:
        if op is not block.last:
            t.graph.block.append(op.clone(given))
            t.graph.calls += 1
    for tensor, value in zip(found, yields(block)):
        t.graph.define(tensor, given.get(value, value))
    return found


def tree_of(t: Tracer, returned: tuple[list[Any], Any], tensors: list[LT]) -> Box:
    """The tree that a region returned, with these tensors in the place of those that it yields."""
    leaves, spec = returned
    given = iter(tensors)
    return unflatten(t, [next(given) if issubclass(type(leaf), LT) else leaf for leaf in leaves], spec)


def only_tensors(t: Tracer, returned: tuple[list[Any], Any], what: str) -> None:
    """Break when a tree has leaves that are no tensors."""
    for leaf in returned[0]:
        if not issubclass(type(leaf), LT):
            raise t.stop("LB0008", f"{what} returns a {describe(leaf) if callable(leaf) else type(leaf).__name__}")
