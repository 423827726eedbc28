"""Sizes with symbols as plain data, and what a lowering decided by the sizes at hand.

Such decisions are guards of the version, so a graph out of the cache brings them along.
"""

from __future__ import annotations

from typing import Any

from lect.dialects.guard.ops import SymbolicOp
from lect.ir import Operation
from lect.ir.symbolic import Expr, Size, constant
from lect.ir.symbolic_text import read_size


def size_to_json(size: Size) -> int | str:
    """A size as what JSON can hold."""
    return str(size) if type(size) is Expr else size  # type: ignore[return-value]


def size_from_json(told: Any) -> Size:
    """The size that `size_to_json` told of.  Raises TypeError, ValueError or `ParseError` for anything else."""
    return read_size(told) if type(told) is str else int(told)


def symbolic_guards(guards: Operation | None) -> list[SymbolicOp]:
    """The guards about sizes with symbols."""
    return [op for op in guards.body if isinstance(op, SymbolicOp)] if guards is not None else []  # type: ignore[attr-defined]


def decisions_to_json(ops: list[SymbolicOp]) -> list[Any]:
    """What these guards say, as what JSON can hold."""
    return [[str(op.size), op.low, op.high, op.differs] for op in ops]


def decisions_from_json(told: Any, graph: Operation) -> list[SymbolicOp]:
    """The guards that `decisions_to_json` told of, at the line of a graph.  Raises TypeError, ValueError or `ParseError` for anything else."""
    found = []
    for size, low, high, differs in told:
        bounds = [None if bound is None else int(bound) for bound in (low, high)]
        found.append(SymbolicOp(constant(read_size(size)), low=bounds[0], high=bounds[1], differs=bool(differs), loc=graph.loc))
    return found
