"""What tells a backward the sizes that nothing else does: an empty tensor that the forward keeps, whose sizes they are.

The gradient of `x.sum(0)` has as many rows as x, of which the backward is given nothing.  So a joint graph gets

    %sizes = functional.full() {shape = [#lect.size<s0>, 0], value = 0, element = i8} : !functional.tensor<s0x0xi8>

with the symbols that its arguments tell, and one behind each operation that finds a size.  It has no elements, costs no memory, and is nobody's input, so
that a program may write to whatever it likes between forward and backward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lect.dialects.functional.creation import FullOp
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.symbols import found_in, inputs_tell, symbols_in, told_by
from lect.ir import Operation, Value
from lect.ir.symbolic import Expr, symbol
from lect.ir.types import i8

HINT = "sizes"


def state_sizes(func: FuncOp) -> bool:
    """Let a joint graph state its sizes; False when it has no symbols, or does already."""
    if not func.symbols or sizes_stated(func):
        return False
    found = found_in(func)
    numbers = sorted(inputs_tell(func))
    first = func.body.first
    if numbers and first is not None:
        func.body.insert_before(first, _stating(numbers, func))
    for number, (op, _, _) in sorted(found.items()):
        func.body.insert_before(op.next, _stating([number], func))
    return True


def _stating(numbers: list[int], func: FuncOp) -> FullOp:
    device = next((value.type.device for op in func.body for value in op.results), "cpu")
    made = FullOp(shape=(*[symbol(number) for number in numbers], 0), value=0, element=i8, device=device, loc=func.loc)
    made.output.hint = HINT
    return made


def sizes_stated(func: FuncOp) -> dict[int, Value]:
    """For each symbol the value of a joint graph that states it."""
    found: dict[int, Value] = {}
    for op in func.body if func.symbols else ():
        if isinstance(op, FullOp) and op.shape and op.shape[-1] == 0 and op.output.hint == HINT:
            found.update((number, op.output) for size in op.shape if type(size) is Expr for number in symbols_in(size))
    return found


def tellers(given: Iterable[Value], ops: Iterable[Operation], stated: Mapping[int, Value]) -> list[Value]:
    """Of the values that state sizes those that a backward needs for the symbols that occur in it and that nothing that it is `given` tells."""
    if not stated:
        return []
    used: set[int] = set()
    told: set[int] = set()
    for op in ops:
        used.update(symbols_in(tuple(op.attrs.values())))
        for value in op.results:
            used.update(symbols_in(value.type))
    for value in given:
        used.update(symbols_in(value.type))
        told.update(told_by(value.type))
    return list(dict.fromkeys(stated[number] for number in sorted(used - told) if number in stated))


__all__ = ["sizes_stated", "state_sizes", "tellers"]
