"""Cutting a trace: where the program cannot be followed on, and what is alive there.

A `GraphBreak` leaves the interpreter through all frames of the trace, and each adds its state.  `chain_of` picks the frames in which the cut is
made: the function itself, and those below it that are plain calls, each the only thing that the operation of the frame above does.  What C code or a
rule of lect called in between runs natively as a whole.

The trace changes nothing, so the call is then traced again up to `Stop`, in front of the operation.  There `write_cut` ends the residual code: what is
alive is made real, then the innermost step runs the operation, and the steps of the frames above call the one below in the place of their call.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from lect.dialects.pyframe import building
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.control import FuncOp
from lect.frontends.capture.attributes import MISSING, find_in_type, instance_dict
from lect.frontends.capture.breaks import FrameState, GraphBreak
from lect.frontends.capture.calls import is_leaf
from lect.frontends.capture.disabled import is_disabled
from lect.frontends.capture.generators import TracedGenerator
from lect.frontends.capture.module_calls import MODULE_CALL, hooks_of
from lect.frontends.capture.residual import ResidualBuilder
from lect.frontends.capture.resume import Cuttable, NotResumable, Resume
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.search_tensors import mentions_tensors
from lect.frontends.capture.steps import Step
from lect.frontends.capture.tracebacks import as_raised
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.capture.weak_references import is_watched, within_reach
from lect.frontends.tensors import LT
from lect.ir import Value

SEARCH_DEPTH, SEARCHED = 4, 64  # how far tensors are looked for in what a call is given
_CALLS = ("pyframe.call", "pyframe.call_ex")
FINISH, LEAVE = "finish", "leave"


class Code(NamedTuple):
    """What functions made from a step or resume function need: the function that was cut, its globals, and the code objects named by its IR."""

    code: CodeType
    globals: dict[str, Any]
    codes: Mapping[str, CodeType]


class Cut(NamedTuple):
    """What a residual function with a cut refers to: steps and resume functions by symbol.

    `root` is the symbol of the compiled function, `reason` the break, `frames` are the names of the functions that were cut.
    """

    root: str
    reason: GraphBreak
    steps: dict[str, tuple[FuncOp, Code]]
    resumes: dict[str, tuple[Resume, Code]]
    frames: tuple[str, ...]


def chain_of(t: Tracer, states: list[FrameState]) -> tuple[list[FrameState], bool]:
    """The frames to cut, outermost first, of the states that a break has collected, innermost first; and whether frames below them were left out."""
    outermost = states[::-1]
    chain = outermost[:1]
    for state in outermost[1:]:
        caller = chain[-1]
        if state.frame.generator is not None or _called_by(t, caller) is not state.frame.function[0] or not _takes_tensors(t, caller):
            return chain, True
        chain.append(state)
    return chain, False


def _takes_tensors(t: Tracer, state: FrameState) -> bool:
    """True when a call is given tensors or modules.  One that is not runs natively as a whole: it may log or count, but there is nothing to capture."""
    values = [state.frame.env[value][0] for value in state.op.operands]
    return any(type(value) is TracedGenerator for value in values) or mentions_tensors(values, SEARCH_DEPTH, SEARCHED)


def _called_by(t: Tracer, state: FrameState) -> FunctionType | None:
    """The function whose return value is the result of the frame's operation, when the operation is a call and does nothing else."""
    if state.op.name not in _CALLS:
        return None
    value = state.frame.env[state.op.operands[0]][0]
    while True:
        kind = type(value)
        if kind is FunctionType:
            original = value.__dict__.get("_lect_original")
            if original is None:
                ruled = value in t.code_table.specials or value.__code__ in t.code_table.made_by_torch
                plain = not ruled and not is_disabled(value) and not is_leaf(value)
                return value if plain else None
            value = original
        elif kind is MethodType:
            value = value.__func__
        elif kind is functools.partial:
            value = value.func
        else:
            value = _call_of_object(t, value, kind)
            if value is None:
                return None


def _call_of_object(t: Tracer, value: Any, kind: type) -> Any:
    """What calling an object calls; None when that is more than one function."""
    found = find_in_type(kind, "__call__")
    if found is not MODULE_CALL:
        return found if type(found) is FunctionType else None
    if hooks_of(t, (value, None)):
        return None
    names = instance_dict(t, value) or {}
    forward = names.get("forward", find_in_type(kind, "forward"))
    return None if forward is MISSING else forward


# ---- the end of the residual code ------------------------------------------------------------------------------------


class _Prepared(NamedTuple):
    """One frame of a cut: its step and the values for the parameters of the step."""

    symbol: str
    step: Step
    arguments: list[Value]
    closure: Value | None
    code: Code


class CutWriter:
    """Ends a residual function at a cut.  `prepare` makes the values, which are read before effects are replayed; `finish` emits the calls."""

    def __init__(self, builder: ResidualBuilder, chain: list[FrameState], reason: GraphBreak, name: str) -> None:
        self.builder = builder
        self.t = builder.t
        self.chain = chain
        self.name = name
        self.cut = Cut(name, reason, {}, {}, tuple([state.frame.function[0].__qualname__ for state in chain]))
        self._names: dict[Any, str] = {}
        self._given: set[int] = set()  # the identities of what the operations at the cut are given
        self._prepared: list[_Prepared] = []

    def prepare(self) -> None:
        """Make everything real that is alive in the frames.  Breaks when something cannot be made again."""
        self._given = within_reach([state.frame.env[value][0] for state in self.chain for value in state.op.operands])
        for number, state in enumerate(self.chain):
            calls = number < len(self.chain) - 1
            self._prepared.append(self._frame(state, calls))

    def _frame(self, state: FrameState, calls: bool) -> _Prepared:
        builder, frame = self.builder, state.frame
        program = frame.program
        base: Cuttable = program.cuttable()
        code = Code(program.code, frame.globals, program.codes)
        try:
            place = program.place_of(state.op)
            boxes = {program.values.get(value, value): box for value, box in frame.env.items()}
            if any(name not in frame.cells for name in base.shared):
                raise NotResumable("a comprehension has taken the place of a variable that nested functions share")
            step = Step(base, place, base.ordered(frame.locals), calls, self._held(frame.locals), {value for value in base.saved if _is_empty(boxes, value)})
            symbol = self._unique("step", base, place)
            func = step.write(symbol, lambda resume: self._name(resume, base, code))
        except NotResumable as error:
            raise GraphBreak("LB0029", str(error), state.op.loc) from None
        self.cut.steps[symbol] = (func, code)
        builder.loc = state.op.loc
        arguments = [builder.constant(None) for _ in base.first]
        arguments += [builder.value_of_box(frame.locals[name]) for name in step.shown]
        for value in step.stack.passed:
            made = builder.value_of_box(boxes[value][0] if value in base.saved else boxes[value])
            arguments.append(builder.emit(building.BuildListOp([made])) if value in base.iterators else made)
        arguments += [self._raised(error) for error in _handled(step, boxes, state.handled)]
        closure = None
        if base.shared:
            closure = builder.emit(building.BuildTupleOp([builder.value(frame.cells[name][0]) for name in base.shared]))
        return _Prepared(symbol, step, arguments, closure, code)

    def _held(self, variables: Mapping[str, Box]) -> frozenset[str]:
        """Variables whose release might be seen: passing on what came from outside of the trace and is no tensor costs nothing, for others see `is_watched`."""
        return frozenset(
            name
            for name, (value, source) in variables.items()
            if (source is not None and type(value) is not LT and type(value) not in SCALAR_TYPES) or is_watched(value, self._given)
        )

    def _raised(self, error: BaseException | None) -> Value:
        """An exception that is being handled; one that the trace has raised gets a traceback."""
        value = self.builder.value(error)
        found = self.t.tracebacks.get(id(error))
        return value if found is None else self.builder.call(as_raised, value, self.builder.constant(found.loc.line))

    def finish(self) -> Value:
        """Leave for the steps, innermost as the last argument of the one around it; what the residual function returns."""
        builder = self.builder
        inner: Value | None = None
        for number in range(len(self._prepared) - 1, -1, -1):
            each = self._prepared[number]
            function = self._function(each)
            arguments = [*each.arguments, *([inner] if inner is not None else [])]
            if number == 0:
                return builder.emit(py.CallOp(builder.emit(py.LoadResourceOp(LEAVE)), [function, *arguments]))
            finish = builder.emit(py.LoadResourceOp(FINISH))
            inner = builder.call(functools.partial, finish, function, *arguments)
        raise AssertionError("a cut has at least one frame")

    def _function(self, each: _Prepared) -> Value:
        builder = self.builder
        if each.closure is None:
            return builder.emit(py.LoadResourceOp(f"step.{each.symbol}"))
        code = builder.emit(py.LoadResourceOp(f"code.{each.symbol}"))
        name = builder.constant(each.code.code.co_name)
        return builder.call(FunctionType, code, builder.resource(each.code.globals), name, builder.constant(None), each.closure)

    # ---- names -------------------------------------------------------------------------------------------------------

    def _name(self, resume: Resume, base: Cuttable, code: Code) -> str:
        key = (id(base), resume.key)
        found = self._names.get(key)
        if found is None:
            kind = "handler" if resume.place.raises else "resume"
            found = self._names[key] = self._unique(kind, base, resume.place)
            self.cut.resumes[found] = (resume, code)
        return found

    def _unique(self, kind: str, base: Cuttable, place: Any) -> str:
        line = next((op.loc.line for op in list(base.blocks[place.block])[place.op :] if op.loc.known), base.func.first_line)
        stem = f"{self.name}.{kind}_{base.func.code_name}_{line}" if base.func.code_name != self.name else f"{self.name}.{kind}_{line}"
        taken = {self.builder.func.attrs["sym_name"], *self.cut.steps, *self.cut.resumes}  # a rest in a loop may lead to a rest from its own line
        number, name = 1, stem
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        return name


def _is_empty(boxes: Mapping[Value, Box], value: Value) -> bool:
    """True for what a variable held when it was saved, if it had no value."""
    return value in boxes and boxes[value][0] is None


def _handled(step: Step, boxes: Mapping[Value, Box], innermost: BaseException | None) -> list[BaseException | None]:
    """The exceptions that the function handles, outermost first: each is what the next one has put aside."""
    aside = [boxes[value][0] for value in step.stack.values if value in step.base.previous]
    return [*aside[1:], innermost] if aside else []
