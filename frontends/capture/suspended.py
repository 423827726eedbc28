"""A suspended generator as a function of its own: its *resume generator*.

    def g(xs):                          g's frame stands at the `yield` with its locals `xs` and `x`, and the iterator of the loop on its stack
        for x in xs:
            yield x        =>           pyframe.func @g {args = ["xs", "x", ".stack.0"], flags = [..., "generator"]} {
                                          %iter = load_local ".stack.0"; delete_local ".stack.0"
                                          branch ^standing(%iter)
                                        ^standing(%iter):
                                          %None = load_const None
                                          yield(%None)[^resume(%iter)]       # and on as in @g

Calling it and asking once for a value (`next`, which gives None) makes a generator that stands where the original stood: under the same handlers, at the
same line, handling the same exception, delegating to the same iterator.  What is sent, thrown or closed from there on does what it would have done.

Variables are parameters under their own names, the original's parameters first, so that `super()` finds its argument.  A variable that is a cell takes
the cell itself, which it goes on to share.  Nothing here knows of a trace: the caller says which variables are bound and passes the values.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from lect.dialects.pyframe import control
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.types import OBJECT, PLACE, SAVED
from lect.ir import Block, LectError, Location, Operation, Value


class Resumption(NamedTuple):
    """A resume generator and what its parameters take, in order.

    First one argument for each of `variables`: the value; for a variable among the cells of `func` the cell object; for one that is not bound anything.
    Then the values of `stack`, which are values of the original function.  Then, if the frame `delegates`, the iterator that it delegates to.  Then, if
    it is `handling` an exception, that exception.
    """

    func: control.FuncOp
    variables: tuple[str, ...]
    stack: tuple[Value, ...]
    delegates: bool
    handling: bool


class GeneratorCode:
    """Stands for the code object of a resume generator among the live objects of a trace, until the residual code is linked."""

    __slots__ = ("func",)

    def __init__(self, func: control.FuncOp) -> None:
        self.func = func


def resume_generator(func: control.FuncOp, at: Operation | None, bound: Collection[str], handling: bool = False) -> Resumption:
    """The resume generator of a frame of the generator function `func` that stands at its operation `at` (None: before its first instruction).

    `bound` are the local variables, cells aside, that have a value; `handling` says whether the frame itself handles an exception.  A frame that has not
    begun needs no priming: the generator that the call gives has not begun either.  Raises LectError when `at` is no place at which a frame stands.
    """
    if "generator" not in func.flags or not (at is None or at.name in control.SUSPENDS):
        raise LectError(f"a frame of @{func.symbol} is not suspended there", at.loc if at is not None else func.loc, op=at or func)
    variables = _variables(func, bound) if at is not None else func.parameters
    stack = _stack(at) if at is not None else ()
    extra = [value for value in stack if value.type is not PLACE]
    delegates = at is not None and at.name == "pyframe.yield_from"
    builder = _Builder(func, at, variables, stack)
    made = builder.build(bound, [f".stack.{number}" for number in range(len(extra) + delegates + handling)], delegates, handling)
    return Resumption(made, variables, tuple(extra), delegates, handling)


def _variables(func: control.FuncOp, bound: Collection[str]) -> tuple[str, ...]:
    """The original's parameters, bound or not, the other bound variables, the other cells (which a frame that has not begun makes itself)."""
    parameters, cells = func.parameters, frozenset(func.cells)
    others = [name for name in func.locals if name in bound and name not in cells]
    return (*parameters, *others, *(name for name in func.cells if name not in parameters))


def _stack(at: Operation) -> tuple[Value, ...]:
    """The values that the frame keeps while it stands at `at`, each once, in the order of the stack."""
    values = dict.fromkeys((*at.then_operands, *(at.unwind_operands if at.handler is not None else ())))  # type: ignore[attr-defined]
    if any(value.type is SAVED for value in values):
        raise LectError("a frame cannot be made again inside of an inlined comprehension", at.loc, op=at)
    return tuple(values)


class _Builder:
    """Writes one resume generator: a copy of the function with another beginning."""

    def __init__(self, func: control.FuncOp, at: Operation | None, variables: tuple[str, ...], stack: tuple[Value, ...]) -> None:
        self.func = func
        self.at = at
        self.variables = variables
        self.stack = stack
        self.loc: Location = at.loc if at is not None else Location(func.file, func.first_line, None, func.qualified_name)
        self.entry = Block()

    def build(self, bound: Collection[str], passed: list[str], delegates: bool, handling: bool) -> control.FuncOp:
        """The function; `passed` are the parameters for what is not a variable."""
        mapping: dict = {}
        made = self.func.clone(mapping)
        assert isinstance(made, control.FuncOp)
        self._declare(made, passed)
        self._restore_variables(bound)
        first = made.region.entry
        names = iter(passed)
        values = [self._emit(control.LoadPlaceOp(loc=self.loc)) if value.type is PLACE else self._take(next(names)) for value in self.stack]
        inner = [self._take(next(names))] if delegates else []
        if handling:
            self._emit(control.PushExcOp(self._take(next(names)), loc=self.loc))
        if self.at is not None:
            first = self._standing(mapping)
            made.region.insert(0, first)
        self.entry.append(control.BranchOp(target=first, target_operands=[*values, *inner], loc=self.loc))
        made.region.insert(0, self.entry)
        _drop_unreachable(made)
        return made

    def _declare(self, made: control.FuncOp, passed: list[str]) -> None:
        """All parameters are positional; a variable that has no value stays a local one."""
        named = (*self.variables, *passed)
        for attribute in ("positional_only", "keyword_only", "varargs", "varkw", "locals"):
            made.attrs.pop(attribute, None)
        made.attrs["args"] = named
        rest = tuple([name for name in self.func.locals if name not in named])
        if rest:
            made.attrs["locals"] = rest

    def _restore_variables(self, bound: Collection[str]) -> None:
        cells = frozenset(self.func.cells)
        for name in self.variables:
            if name in cells:  # the call has put the cell that was passed into a new one
                cell = self._emit(py.LoadDerefOp(name, loc=self.loc))
                self.entry.append(py.BindCellOp(cell, name, loc=self.loc))
            elif name not in bound:
                self.entry.append(py.DeleteLocalOp(name, loc=self.loc))

    def _take(self, name: str) -> Value:
        """The value of a parameter, which is released."""
        value = self._emit(py.LoadLocalOp(name, loc=self.loc))
        self.entry.append(py.DeleteLocalOp(name, loc=self.loc))
        return value

    def _emit(self, op: Operation) -> Value:
        self.entry.append(op)
        return op.results[0]

    def _standing(self, mapping: dict) -> Block:
        """The block at whose end the frame stands: its arguments are what the frame keeps, and the iterator that it delegates to."""
        at = self.at
        block = Block(hint="standing")
        kept = {value: block.add_arg(value.type, value.hint) for value in self.stack}
        edges = {"then": mapping[at.then], "then_operands": [kept[value] for value in at.then_operands]}  # type: ignore[union-attr]
        handler = at.handler  # type: ignore[union-attr]
        if handler is not None:
            edges |= {"unwind": mapping[handler], "unwind_operands": [kept[value] for value in at.unwind_operands]}  # type: ignore[union-attr]
        if at.name == "pyframe.yield_from":  # type: ignore[union-attr]
            block.append(control.YieldFromOp(block.add_arg(OBJECT, "delegate"), standing=True, loc=self.loc, **edges))
        else:
            none = py.LoadConstOp(None, loc=self.loc)
            block.append(none)
            block.append(control.YieldOp(none.results[0], loc=self.loc, **edges))
        return block


def _drop_unreachable(func: control.FuncOp) -> None:
    """Remove the blocks that lie only before the place where the frame stands."""
    seen: set[Block] = set()
    rest = [func.region.entry]
    while rest:
        block = rest.pop()
        if block not in seen and block.last is not None:
            seen.add(block)
            rest += block.last.successors
    for block in [block for block in func.region.blocks if block not in seen]:
        for op in reversed(list(block)):
            op.erase()
        func.region.remove(block)
