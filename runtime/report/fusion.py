"""The fusion graph of a loop function: its nests and library calls, what flows between them, what became one and what was kept apart, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp
from lect.ir import Location, Operation
from lect.passes.loop.nests import functions, nbytes

# Operations that only look at memory in another way: they name a nest where nothing else does.
VIEWS = frozenset({"reshape", "permute", "slice", "expand", "squeeze", "unsqueeze", "select", "as_strided", "transpose"})


def fusion_of(module: Operation, names: Mapping[Location, Sequence[str]]) -> list[dict[str, Any]]:
    """For each loop function its nodes in the order of the program; `names` are the functional operations of each place of the program."""
    return [{"function": func.sym_name, "nodes": _nodes(func, names)} for func in functions(module)]


def _nodes(func: FuncOp, names: Mapping[Location, Sequence[str]]) -> list[dict[str, Any]]:
    made: dict[Operation, int] = {}
    nodes: list[dict[str, Any]] = []
    for op in func.body:
        if not isinstance(op, NestOp | ExternOp):
            continue
        made[op] = len(nodes)
        edges = [(made[value.op], nbytes(value)) for value in dict.fromkeys(op.operands) if value.op in made]
        inputs = sum([nbytes(value) for value in dict.fromkeys(op.operands)])
        node = {"name": op.sym_name, "in": inputs, "out": sum(map(nbytes, op.results)), "from": edges, "lines": _places(op)}
        nodes.append({**node, **(_nest(op, names) if isinstance(op, NestOp) else _extern(op))})
    return nodes


def _places(op: Operation) -> list[Location]:
    """The places of the program that an operation, and what is inside of it, comes from."""
    return list(dict.fromkeys(inner.loc for inner in op.walk() if inner.loc.known))


def _nest(nest: NestOp, names: Mapping[Location, Sequence[str]]) -> dict[str, Any]:
    count = Counter(inner.loc for inner in nest.body if inner.name != "loop.const")
    parts = [name for place, _ in count.most_common() for name in names.get(place, ())]
    parts = [name for name in parts if name not in VIEWS] or parts
    return {
        "kind": "nest",
        "ops": list(dict.fromkeys(parts)),
        "space": " x ".join(map(str, nest.space.sizes)),
        "realize": list(nest.realize),
        "fused": [{"how": each.kind, "first": each.first, "second": each.second, "saves": each.saves} for each in nest.fused],
        "blocked": [{"other": each.other, "why": each.reason} for each in nest.blocked],
        "chosen": nest.chosen,
    }


def _extern(call: ExternOp) -> dict[str, Any]:
    return {"kind": "library", "ops": [str(call.callee).lstrip("@")], "chosen": str(call.attrs.get("chosen", ""))}
