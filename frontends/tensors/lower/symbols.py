"""Size symbols of a graph that is lowered: what is known of them, and what is decided by the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lect.dialects.fx.ops import GraphOp
from lect.dialects.guard.ops import SetOp, SymbolicOp
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.sizes import Decision, Sizes, is_bound
from lect.ir import SymbolicSizeError
from lect.ir.facts import symbols_of


def known_sizes(graph: GraphOp) -> Sizes | None:
    """The sizes of a graph, with all that it declares and that the guards beside it say; None for a graph without symbols."""
    if not graph.symbols:
        return None
    found = Sizes.declared(graph.symbols)
    guards = guards_beside(graph)
    for op in guards.body if guards is not None else ():
        if isinstance(op, SymbolicOp):
            found.learn(Decision(op.size, op.low, op.high, op.differs))
    return found


def found_symbols(graph: GraphOp) -> set[int]:
    """The symbols of a graph that its calls find: those that no argument tells."""
    if not graph.symbols:
        return set()
    told = {number for value in graph.body.args for number in _in_sizes(value.type)}
    return {int(name[1:]) for name, facts in graph.symbols.items() if "argument" not in facts} - told


def new_symbols(types: Iterable[Any], known: set[int]) -> list[int]:
    """The symbols in the sizes of types that are not known yet, which are known from then on."""
    new = [number for number in dict.fromkeys(number for type in types for number in _in_sizes(type)) if number not in known]
    known.update(new)
    return new


def _in_sizes(type: Any) -> Iterator[int]:
    for size in getattr(type, "shape", ()):
        yield from symbols_of(size)


def guards_beside(graph: GraphOp) -> SetOp | None:
    """The guards of the module that a graph belongs to."""
    module = graph.parent_op
    return next((op for op in module.body if isinstance(op, SetOp)), None) if module is not None else None


def note_decisions(graph: GraphOp, sizes: Sizes | None) -> None:
    """Add what the lowering decided by the sizes at hand to the guards.  Raises `SymbolicSizeError` when there are none."""
    if sizes is None or not sizes.decisions:
        return
    guards = guards_beside(graph)
    if guards is None:
        raise SymbolicSizeError("a size decides about the graph, which no guard can check", op=graph)
    found = found_symbols(graph)
    for decision in sizes.decisions:
        if not found.isdisjoint(symbols_of(decision.size)):
            if not is_bound(decision):
                raise SymbolicSizeError(f"the size {decision.size}, which the graph finds, decides about the graph", op=graph)
            continue  # what the graph says of the symbol, and checks
        guards.body.append(guard_of(decision, graph.loc))


def guard_of(decision: Decision, loc: Any) -> SymbolicOp:
    """The guard that checks a decision."""
    return SymbolicOp(decision.size, low=decision.low, high=decision.high, differs=decision.differs, loc=loc)


def stated_symbols(graph: GraphOp, sizes: Sizes | None) -> dict[str, Any] | None:
    """The attribute `symbols` of what a graph becomes."""
    if sizes is None:
        return None
    out = {}
    for name, facts in (graph.symbols or {}).items():
        low, high = sizes.bounds[int(name[1:])]
        out[name] = {**facts, "min": low, **({} if high is None else {"max": high})}
    return out


def with_dims_of(meta: TensorMeta, sizes: Sizes) -> TensorMeta:
    """Metadata whose sizes with symbols are those of a trace."""
    return meta._replace(shape=sizes.dims(meta.shape), strides=sizes.dims(meta.strides))
