"""Sizes that a library call finds when the program runs: what is made with such a size stands behind that call.

Nothing else says so: a tensor of `s1` zeros has no operand of the call that finds s1.  Passes that put operations in another order need not know of it;
`put_behind_finders` sets it right before memory is planned.
"""

from __future__ import annotations

from typing import Any

from lect.dialects.loop.attributes import ViewAttr
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp
from lect.ir import Operation, SymbolicSizeError
from lect.ir.facts import Facts, symbols_of
from lect.ir.symbolic import Expr
from lect.passes.convert.loop_to_kernel_values import symbols_in

Place = tuple[int, int, int, "int | None"]  # the result, the dim, the least and the greatest value


def finders_of(func: FuncOp) -> dict[int, tuple[Operation, Place]]:
    """The symbols that no argument tells and that a library call finds: the call, and where and what of its results each is."""
    declared = Facts.of(func.symbols)
    wanted = {number for number, fact in declared.symbols.items() if fact.argument is None}
    wanted -= {number for value in func.body.args for size in value.type.sizes for number in symbols_of(size)} if wanted else set()  # type: ignore[attr-defined]
    found: dict[int, tuple[Operation, Place]] = {}
    for op in func.body if wanted else ():
        for result, view in enumerate(op.result_views if isinstance(op, ExternOp) else ()):
            for dim, size in enumerate(view.sizes):
                atom = size.atom if isinstance(size, Expr) else None
                if atom is not None and atom.kind == "s" and atom.index in wanted:
                    fact = declared.fact(atom.index)
                    found.setdefault(atom.index, (op, (result, dim, fact.min, fact.max)))
    return found


def put_behind_finders(func: FuncOp) -> None:
    """Move operations behind the calls that find the sizes that occur in them.  Raises `SymbolicSizeError` where that cannot be."""
    finders = {number: op for number, (op, _) in finders_of(func).items()}
    if not finders:
        return
    ops = list(func.body)
    needs = {op: {finders[number] for number in symbols_of_op(op) if finders.get(number, op) is not op} for op in ops}
    order: list[Operation] = []
    done: set[Operation] = set()
    waiting = ops
    while waiting:
        left: list[Operation] = []
        for op in waiting:
            ready = needs[op] <= done and all(value.is_argument or value.owner in done for value in op.operands)
            if ready and not (_stays_in_order(op) and any(map(_stays_in_order, left))):
                order.append(op)
                done.add(op)
            else:
                left.append(op)
        if len(left) == len(waiting):
            raise SymbolicSizeError("a size is needed for what finds it", op=left[0])
        waiting = left
    if order != ops:
        func.body.move_all(order)


def _stays_in_order(op: Operation) -> bool:
    """True for what is not to come before an operation that waits: calls, which may raise, writes and the return."""
    return not isinstance(op, NestOp)


def symbols_of_op(op: Any) -> set[int]:
    """The size symbols that occur in an operation of a `loop.func`."""
    found: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Expr):
            found.update(symbols_of(value))
        elif isinstance(value, ViewAttr):
            look((value.sizes, value.strides, value.offset))
        elif isinstance(value, (tuple, list)):
            for item in value:
                look(item)
        elif isinstance(value, dict):
            look(tuple(value.values()))

    look([value.type.sizes for value in op.results])
    look(op.attrs)
    if isinstance(op, NestOp):
        found.update(symbols_in(op))
    return found


__all__ = ["finders_of", "put_behind_finders", "symbols_of_op"]
