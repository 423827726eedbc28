"""Size symbols of a graph: what it declares of them (`ir/facts.py`), and where the value of each comes from at run time.

    functional.func @f(%x: !functional.tensor<s0x(s1 * 4)xf32>, %n: !functional.tensor<i64>)
        {symbols = {s0 = {hint = 17, min = 2, max = 64}, s1 = {hint = 6, min = 2}, s2 = {hint = 30, min = 2, argument = 1}}}

A symbol with an `argument` is the element of that argument, a 0-d tensor of i64.  Every other one is found where it stands by itself or times an integer as
a size of an argument, the first such size counts: s1 is the size of dim 1 of %x, divided by 4.  A symbol that no argument tells is one that an opaque
call finds, whose result has a size that is the symbol by itself; what is said of it is checked there when the graph runs.

    %2 = functional.opaque(%mask) {target = @aten.nonzero.default, args = [#functional.operand<0>]} : !functional.tensor<s2x1xi64, strides [1, s2]>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from lect.dialects.functional.types import TensorType
from lect.ir import Operation, SymbolicSizeError, require
from lect.ir.facts import Facts, problem_of, symbols_of
from lect.ir.symbolic import Expr, Size
from lect.ir.types import i64

LEAST = 2  # sizes 0 and 1 are never symbols


class Place(NamedTuple):
    """Where a symbol is found: the size of `dim` of an argument (its element where `dim` is None), divided by `divisor`, which leaves no rest."""

    argument: int
    dim: int | None
    divisor: int = 1


def places_of(func: Operation) -> dict[int, Place]:
    """Where each symbol of a graph is found, by its number; those that are nowhere are left out."""
    found: dict[int, Place] = {}
    declared = func.attrs.get("symbols") or {}
    for name, entries in declared.items():
        if "argument" in entries:
            found[int(name[1:])] = Place(entries["argument"], None)
    for number, argument in enumerate(func.body.args if declared else ()):  # type: ignore[attr-defined]
        for dim, size in enumerate(getattr(argument.type, "shape", ())):  # a number has none
            symbol = _alone(size)
            if symbol is not None:
                found.setdefault(symbol[0], Place(number, dim, symbol[1]))
    return found


def found_in(func: Operation) -> dict[int, tuple[Operation, int, int]]:
    """The symbols of a graph that an operation of it finds, by number: the operation, the number of its result, and the dim of that."""
    found: dict[int, tuple[Operation, int, int]] = {}
    declared = func.attrs.get("symbols") or {}
    wanted = {int(name[1:]) for name in declared}.difference(inputs_tell(func)) if declared else ()
    for op in func.body if wanted else ():  # type: ignore[attr-defined]
        if op.name != "functional.opaque":
            continue
        for result in op.results:
            for dim, size in enumerate(result.type.shape):
                symbol = _alone(size)
                if symbol is not None and symbol[1] == 1 and symbol[0] in wanted:
                    found.setdefault(symbol[0], (op, result.index, dim))
    return found


def inputs_tell(func: Operation) -> set[int]:
    """The symbols that the arguments of a graph tell, those of a joint graph that are no tangents: what is read off a tangent is known to a backward alone."""
    training = func.attrs.get("training") or {}
    count = training.get("inputs", len(func.body.args))  # type: ignore[attr-defined]
    return {number for number, place in places_of(func).items() if place.argument < count}


def told_by(type: TensorType) -> Iterator[int]:
    """The symbols that a tensor of a type tells: those that stand by themselves, or times an integer, as a size."""
    for size in type.shape:
        symbol = _alone(size)
        if symbol is not None:
            yield symbol[0]


def _alone(size: Size) -> tuple[int, int] | None:
    """(number, factor) of a size that is one symbol times an integer."""
    if isinstance(size, int) or size.const or len(size.terms) != 1:
        return None
    atoms, factor = size.terms[0]
    return (atoms[0].index, factor) if len(atoms) == 1 and atoms[0].kind == "s" else None


def values_of(func: Operation, inputs: Sequence[Any]) -> dict[int, int]:
    """The value of each symbol for these tensors."""
    found = {}
    for number, place in places_of(func).items():
        tensor = inputs[place.argument]
        whole = int(tensor.item()) if place.dim is None else int(tensor.shape[place.dim])
        found[number] = whole // place.divisor
    return found


def declare_used(func: Operation, source: Operation, same_arguments: bool = False) -> None:
    """Let a part of a graph declare the size symbols that occur in it; `same_arguments` says that it has those of the graph.

    Raises `SymbolicSizeError` for a symbol that its arguments do not tell.
    """
    known = source.attrs.get("symbols")
    if not known:
        return
    used: set[int] = set()
    for value in func.body.args:  # type: ignore[attr-defined]
        used.update(symbols_in(value.type))
    for op in func.body:  # type: ignore[attr-defined]
        for result in op.results:
            used.update(symbols_in(result.type))
        for each in op.attrs.values():
            used.update(symbols_in(each))
    names = {f"s{number}" for number in used}
    left_out = () if same_arguments else ("argument",)
    declared = {name: {key: value for key, value in entries.items() if key not in left_out} for name, entries in known.items() if name in names}
    if declared:
        func.attrs["symbols"] = declared
    found = {*places_of(func), *found_in(func)}
    missing = sorted(number for number in used if number not in found)
    if missing:
        raise SymbolicSizeError(f"no argument of @{func.attrs['sym_name']} tells what the size s{missing[0]} is", op=source)


def verify_symbols(func: Operation) -> None:
    """Raise `VerifyError` unless every symbol that occurs in a graph is declared, and is known from its arguments or an operation in front."""
    declared = func.attrs.get("symbols") or {}
    problem = problem_of(declared)
    require(problem is None, func, "{}", problem)
    arguments = func.body.args  # type: ignore[attr-defined]
    for name, fact in Facts.of(declared).symbols.items():
        require(fact.min >= LEAST, func, "s{} is at least {}, not {}", name, LEAST, fact.min)
        if fact.argument is not None:
            good = fact.argument < len(arguments) and arguments[fact.argument].type.rank == 0 and arguments[fact.argument].type.element is i64
            require(good, func, "s{} is the element of argument {}, which is no 0-d tensor of i64", name, fact.argument)
    _verify_declared(func, set(places_of(func)), {number: place[0] for number, place in found_in(func).items()})


def _verify_declared(func: Operation, places: set[int], found: dict[int, Operation]) -> None:
    seen: set[Any] = set()

    def check(op: Operation, value: Any) -> None:
        for number in symbols_in(value):
            require(number in places, op, "s{} is not declared by '{}', or is no size of an argument and of no operation in front", number, func.name)

    for argument in func.body.args:  # type: ignore[attr-defined]
        check(func, argument.type)
    for op in func.body:  # type: ignore[attr-defined]
        places.update([number for number, finder in found.items() if finder is op])
        for result in op.results:
            if result.type not in seen:
                seen.add(result.type)
                check(op, result.type)
        for value in op.attrs.values():
            if type(value) is tuple or type(value) is Expr or type(value) is dict:
                check(op, value)


def symbols_in(value: Any) -> Iterator[int]:
    """The numbers of the symbols in a size, in a list or dictionary with sizes, or in a type; some maybe several times."""
    if type(value) is Expr:
        yield from symbols_of(value)
    elif type(value) is tuple:
        for item in value:
            yield from symbols_in(item)
    elif type(value) is dict:
        for item in value.values():
            yield from symbols_in(item)
    elif type(value) is TensorType:
        yield from _symbols_of_type(value)


@lru_cache(maxsize=4096)
def _symbols_of_type(type: TensorType) -> tuple[int, ...]:
    return (*symbols_in(type.shape), *symbols_in(type.strides))
