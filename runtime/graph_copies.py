"""Captured graphs that outlive their compile: backwards, replays of failures and searches for a wrong pass lower them again.

What is decided by a size while a graph is lowered is a guard of its version.  A copy has these guards beside it, or the same question would be a new one,
which nothing checks any more.
"""

from __future__ import annotations

from lect.dialects.guard.ops import SetOp
from lect.ir import Block, Operation, Region, SymbolicSizeError
from lect.runtime.linking import module_of
from lect.runtime.stored_sizes import symbolic_guards


def keep_with_sizes(graph: Operation, guards: Operation | None) -> None:
    """Put a graph with size symbols, which is in no module yet or in one that this function made, beside what these guards say of its sizes."""
    if not graph.attrs.get("symbols"):
        return
    if graph.parent_op is not None:
        graph.detach()
    _with_sizes(graph, guards)


def copied(graph: Operation) -> Operation:
    """A module with a copy of a graph or function, and of the guards beside it that are about sizes."""
    own = graph.clone({})
    return _with_sizes(own, _set_beside(graph)) if graph.attrs.get("symbols") else module_of(own)


def refuse_new_sizes(module: Operation, graph: Operation) -> None:
    """Raise `SymbolicSizeError` when passes over a copy of a graph decided more by sizes than its version checks."""
    told = symbolic_guards(_set_in(module))
    if len(told) > len(symbolic_guards(_set_beside(graph))):
        raise SymbolicSizeError(f"the size {told[-1].size} decides about the backward, which no guard can check any more", op=graph)


def _with_sizes(graph: Operation, guards: Operation | None) -> Operation:
    module = module_of(graph)
    beside = SetOp("sizes", regions=[Region([Block()])], loc=graph.loc)
    for op in symbolic_guards(guards):
        beside.body.append(op.clone({}))
    module.body.append(beside)
    return module


def _set_beside(graph: Operation) -> Operation | None:
    return None if graph.parent_op is None else _set_in(graph.parent_op)


def _set_in(module: Operation) -> Operation | None:
    return next((op for op in module.body if isinstance(op, SetOp)), None)  # type: ignore[attr-defined]
