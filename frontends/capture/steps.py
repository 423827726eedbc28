"""Steps: `pyframe` functions that run the one operation at which a function is cut, and then hand over to resume functions (see `resume.py`).

pyframe.func @f.step(...) {args = ["x", "stack.0"], ...} {
  ...                                                       take the stack, make the handled exceptions those again
^work(%callee, %iter):
  %r = pyframe.call(%callee, ...)                           the operation, or with `calls` a call of its last parameter
  pyframe.branch()[^after(%r, %iter), ^raised(%iter)]
^after(...):
  %point = pyframe.load_resource() {id = "resume.f.resume_4_2"}
  %going_on = pyframe.call(%point, ...)                     variables, stack, handled exceptions, cells
  pyframe.return(%going_on)
...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from lect.dialects.pyframe import control
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.control import FuncOp
from lect.frontends.capture.resume import INNER, Cuttable, NotResumable, Place, Resume, Stack, edges, make_function, resume_at
from lect.ir import Block, Operation, Value


class Step:
    """The step at `place` of a function whose variables `bound` have values.

    `stack` is what it takes of the stack, `shown` are the variables that it takes.  With `calls`, the operation is a call that is replaced by one of its
    last parameter.  Variables in `held` are kept alive though nothing reads them; saved ones in `empty` had no value.  Raises `NotResumable`.
    """

    def __init__(
        self, base: Cuttable, place: Place, bound: Sequence[str], calls: bool, held: frozenset[str] = frozenset(), empty: Collection[Value] = ()
    ) -> None:
        self.base = base
        self.place = place
        self.calls = calls
        self.held = held
        self.op: Any = base.operation(place)
        self.ends_block = self.op is base.blocks[place.block].last
        if calls and self.ends_block:
            raise NotResumable("a terminator calls nothing")
        if base.takes_first and not base.first and base.func.args[:1] != tuple(bound[:1]):
            raise NotResumable("super() looks at a first parameter that has no value any more")
        values = base.stack_at(place)
        if calls:
            values = [value for value in base.stack_at(Place(place.block, place.op + 1)) if value not in self.op.results]
        self.stack = Stack(base, values, empty)
        terminator: Any = base.blocks[place.block].last
        if self.stack.handled and terminator.handler is None:
            raise NotResumable("an exception is handled and nothing would put it back")
        if self.op.name == "pyframe.save_local" and self.op.attrs["id"] in base.shared:
            raise NotResumable("a comprehension takes the place of a variable that nested functions share")
        live = base.live_variables(place)
        self.shown = tuple([name for name in bound if base.looks_around or name in live or name in held])
        self.blocks: list[Block] = []

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters; cells come in through the closure."""
        return (*self.base.first, *self.shown, *self.stack.parameters, *((INNER,) if self.calls else ()))

    def write(self, symbol: str, name_of: Callable[[Resume], str]) -> FuncOp:
        """The function, called `symbol`; `name_of` gives the symbol of a resume function to which it leads."""
        entry, work = Block(), Block()
        self.blocks = [entry, work]
        mapping: dict[Any, Any] = {value: work.add_arg(value.type, value.hint) for value in self.stack.values}
        kept = self.stack.enter(entry, self.shown, True)
        entry.append(control.BranchOp(target=work, target_operands=kept))
        if self.ends_block:
            self._leave(work, mapping, name_of)
        else:
            self._go_on(work, mapping, name_of)
        return make_function(self.base, symbol, self.parameters, self.blocks)

    def _leave(self, work: Block, mapping: dict[Any, Any], name_of: Callable[[Resume], str]) -> None:
        """The operation is a terminator: each way on is the start of a block."""
        for successor, operands in edges(self.op):
            place = Place(self.base.numbers[successor], 0, self.op.unwind is successor)
            empty = {arg for arg, value in zip(successor.args, operands) if value in self.stack.empty}
            mapping[successor] = self._way(place, list(successor.args), name_of, empty=empty)
        work.append(self.op.clone(mapping))

    def _go_on(self, work: Block, mapping: dict[Any, Any], name_of: Callable[[Resume], str]) -> None:
        base, op = self.base, self.op
        if self.calls:
            inner = work.append(py.LoadLocalOp(INNER, loc=op.loc)).results[0]
            work.append(py.DeleteLocalOp(INNER, loc=op.loc))
            twin: Operation = work.append(py.CallOp(inner, [], loc=op.loc))
        else:
            twin = work.append(op.clone(mapping))
        mapping.update(zip(op.results, twin.results))
        after = Place(self.place.block, self.place.op + 1)
        live = base.stack_at(after)
        empty = set(self.stack.empty)
        if op.name == "pyframe.save_local" and op.attrs["id"] not in self.shown:
            empty.add(op.results[0])
        ways: dict[str, Any] = {"target": self._way(after, live, name_of, self._bound_behind(), empty), "target_operands": [mapping[value] for value in live]}
        terminator: Any = base.blocks[self.place.block].last
        if terminator.handler is not None:
            handler = terminator.handler
            empty = {arg for arg, value in zip(handler.args, terminator.unwind_operands) if value in empty}
            ways["unwind"] = self._way(Place(base.numbers[handler], 0, True), list(handler.args), name_of, empty=empty)
            ways["unwind_operands"] = [mapping[value] for value in terminator.unwind_operands]
        work.append(control.BranchOp(loc=op.loc, **ways))

    def _bound_behind(self) -> tuple[str, ...]:
        """The variables that are bound when the operation has run."""
        name = self.op.attrs.get("id")
        others = tuple([each for each in self.shown if each != name])
        gone = self.op.name in ("pyframe.delete_local", "pyframe.save_local") or (
            self.op.name == "pyframe.restore_local" and self.op.operands[0] in self.stack.empty
        )
        if gone:
            return others
        return self.base.ordered({*others, name}) if self.op.name in ("pyframe.store_local", "pyframe.restore_local") else self.shown

    def _way(
        self, place: Place, args: list[Value], name_of: Callable[[Resume], str], bound: tuple[str, ...] | None = None, empty: Collection[Value] = ()
    ) -> Block:
        """A block that takes the stack at `place` and hands everything, with the variables `bound`, to the resume function."""
        base = self.base
        block = Block()
        self.blocks.append(block)
        taken = {value: block.add_arg(value.type, value.hint) for value in args}
        split = self.op.name == "pyframe.match_exc_group" and not place.raises
        handled = block.append(control.LoadExcOp()).results[0] if split else None  # the operation has changed it
        for value in reversed(args):
            if value in base.previous:
                block.append(control.PopExcOp(taken[value]))
        live = base.live_variables(place)
        variables = [name for name in (self.shown if bound is None else bound) if base.looks_around or name in live or name in self.held]
        resume = resume_at(base, place, variables, empty)
        if resume.stack.handled != sum(value in base.previous for value in args) or resume.stack.handled != self.stack.handled:
            raise NotResumable("the function handles other exceptions behind the cut than in front of it")
        point = block.append(py.LoadResourceOp(f"resume.{name_of(resume)}")).results[0]
        given = [block.append(py.LoadConstOp(None)).results[0] for _ in base.first]
        given += [block.append(py.LoadLocalOp(name)).results[0] for name in resume.variables]
        cells = [block.append(py.LoadCellOp(name)).results[0] for name in base.shared]
        given += resume.stack.leave(block, taken)
        names = resume.stack.handled_names
        given += [block.append(py.LoadLocalOp(name)).results[0] for name in (names if handled is None else names[:-1])]
        given += [handled] if handled is not None else []
        if place.raises:
            given.append(taken[args[-1]])
        going_on = block.append(py.CallOp(point, [*given, *cells])).results[0]
        block.append(control.ReturnOp(going_on))
        return block
