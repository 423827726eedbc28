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

from collections.abc import Callable, Sequence
from typing import Any

from lect.dialects.pyframe import building, control
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.control import FuncOp
from lect.dialects.pyframe.types import OBJECT
from lect.frontends.capture.resume import INNER, Cuttable, NotResumable, Place, Resume, handled_names, make_function, resume_at, stack_names, take
from lect.ir import Block, Operation, Value


class Step:
    """The step at `place` of a function whose variables `bound` have values.

    `stack` are the values of the stack that it takes, `handled` says how many exceptions the function handles there, `shown` are the variables that it
    takes.  With `calls`, the operation is a call that is replaced by one of its last parameter.  Variables in `held` are kept alive though nothing
    reads them.  Raises `NotResumable`.
    """

    def __init__(self, base: Cuttable, place: Place, bound: Sequence[str], calls: bool, held: frozenset[str] = frozenset()) -> None:
        self.base = base
        self.place = place
        self.calls = calls
        self.held = held
        self.op: Any = base.operation(place)
        self.ends_block = self.op is base.blocks[place.block].last
        if calls and self.ends_block:
            raise NotResumable("a terminator calls nothing")
        if base.compares_tracebacks:
            raise NotResumable("except* looks at the tracebacks of what is raised, to which the parts of a function would add")
        if calls:
            after = base.stack_at(Place(place.block, place.op + 1))
            self.values = [value for value in after if value not in self.op.results]
        else:
            self.values = base.stack_at(place)
        if any(value.type is not OBJECT for value in self.values):
            raise NotResumable("a value of the machine is on the stack")
        self.stack = [value for value in self.values if value not in base.previous]
        self.handled = len(self.values) - len(self.stack)
        terminator: Any = base.blocks[place.block].last
        if self.handled and terminator.handler is None:
            raise NotResumable("an exception is handled and nothing would put it back")
        live = base.live_variables(place)
        self.shown = tuple([name for name in bound if base.looks_around or name in live or name in held])
        self.blocks: list[Block] = []

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters; cells come in through the closure."""
        return (*self.shown, *stack_names(self.stack), *handled_names(self.handled), *((INNER,) if self.calls else ()))

    def write(self, symbol: str, name_of: Callable[[Resume], str]) -> FuncOp:
        """The function, called `symbol`; `name_of` gives the symbol of a resume function to which it leads."""
        entry, work = Block(), Block()
        self.blocks = [entry, work]
        mapping: dict[Any, Any] = {value: work.add_arg(value.type, value.hint) for value in self.values}
        kept: list[Value] = []
        stack, handled = iter(stack_names(self.stack)), iter(handled_names(self.handled))
        for value in self.values:
            set_aside = value in self.base.previous
            name = next(handled) if set_aside else next(stack)
            loaded = entry.append(py.LoadLocalOp(name)).results[0]
            if not set_aside:
                entry.append(py.DeleteLocalOp(name))
            if value in self.base.iterators:
                loaded = take(entry, loaded)
            kept.append(entry.append(control.PushExcOp(loaded)).results[0] if set_aside else loaded)
        entry.append(control.BranchOp(target=work, target_operands=kept))
        if self.ends_block:
            self._leave(work, mapping, name_of)
        else:
            self._go_on(work, mapping, name_of)
        return make_function(self.base, symbol, self.parameters, self.blocks)

    def _leave(self, work: Block, mapping: dict[Any, Any], name_of: Callable[[Resume], str]) -> None:
        """The operation is a terminator: each way on is the start of a block."""
        for successor in self.op.successors:
            place = Place(self.base.numbers[successor], 0, self.op.unwind is successor)
            mapping[successor] = self._way(place, list(successor.args), name_of)
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
        ways: dict[str, Any] = {"target": self._way(after, live, name_of, self._bound_behind()), "target_operands": [mapping[value] for value in live]}
        terminator: Any = base.blocks[self.place.block].last
        if terminator.handler is not None:
            handler = terminator.handler
            ways["unwind"] = self._way(Place(base.numbers[handler], 0, True), list(handler.args), name_of)
            ways["unwind_operands"] = [mapping[value] for value in terminator.unwind_operands]
        work.append(control.BranchOp(loc=op.loc, **ways))

    def _bound_behind(self) -> tuple[str, ...]:
        """The variables that are bound when the operation has run."""
        name = self.op.attrs.get("id")
        others = tuple([each for each in self.shown if each != name])
        if self.op.name == "pyframe.delete_local":
            return others
        return self.base.ordered({*others, name}) if self.op.name == "pyframe.store_local" else self.shown

    def _way(self, place: Place, args: list[Value], name_of: Callable[[Resume], str], bound: tuple[str, ...] | None = None) -> Block:
        """A block that takes the stack at `place` and hands everything, with the variables `bound`, to the resume function."""
        base = self.base
        block = Block()
        self.blocks.append(block)
        taken = {value: block.add_arg(value.type, value.hint) for value in args}
        for value in reversed(args):
            if value in base.previous:
                block.append(control.PopExcOp(taken[value]))
        live = base.live_variables(place)
        resume = resume_at(base, place, [name for name in (self.shown if bound is None else bound) if base.looks_around or name in live or name in self.held])
        if resume.handled != sum(value in base.previous for value in args) or resume.handled != self.handled:
            raise NotResumable("the function handles other exceptions behind the cut than in front of it")
        point = block.append(py.LoadResourceOp(f"resume.{name_of(resume)}")).results[0]
        given = [block.append(py.LoadLocalOp(name)).results[0] for name in resume.variables]
        for value in resume.stack:
            given.append(block.append(building.BuildListOp([taken[value]])).results[0] if value in base.iterators else taken[value])
        given += [block.append(py.LoadLocalOp(name)).results[0] for name in handled_names(self.handled)]
        if place.raises:
            given.append(taken[args[-1]])
        given += [block.append(py.LoadCellOp(name)).results[0] for name in base.shared]
        going_on = block.append(py.CallOp(point, given)).results[0]
        block.append(control.ReturnOp(going_on))
        return block
