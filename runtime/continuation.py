"""Going on behind a graph break: resume points, and the loop that runs them one after the other.

A residual function with a cut ends by leaving for a step.  The step runs one operation as Python does and calls a resume point.  Neither runs below the
other: what leaves or resumes returns a `Continuation`, which is the next function and what is alive.  `finish` calls one after the other until a value
comes back, so a loop with a break in it needs no deeper stack than one without, and what the program lets go of is released.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from lect.backends.bytecode import assemble
from lect.dialects.guard.types import PathAttr
from lect.dialects.pyframe import control
from lect.dialects.pyframe import ops as py
from lect.frontends.capture.api import Rest, rest_parameters
from lect.frontends.capture.cut import Code, Cut
from lect.frontends.capture.numbers import NumberPolicy
from lect.frontends.capture.resume import Resume, resume_function
from lect.ir import Block, Region

# Versions of one rest of a function: it may run once for each module of a list, say.
REST_VERSIONS = 4


class Continuation:
    """What is left to do: call `function` with `values`."""

    __slots__ = ("function", "values")

    def __init__(self, function: Callable[..., Any], *values: Any) -> None:
        self.function = function
        self.values = values


def finish(function: Callable[..., Any], *values: Any) -> Any:
    """Call a step and go on until the function that was cut returns."""
    first = Continuation(function, *values)
    del values
    return _go_on([first])


def _go_on(left: list[Continuation]) -> Any:
    """Do what is left, which nothing but the running function may hold."""
    while True:
        going = left.pop()
        function, values = going.function, [going.values]
        del going
        result = function(*values.pop())
        if type(result) is not Continuation:
            return result
        left.append(result)
        del result


class Arming(NamedTuple):
    """How functions run such that those below them are seen: `call(fn, *values)`, and `mark(code)` for code that is no function of the program."""

    call: Callable[..., Any]
    mark: Callable[[CodeType], None]


def _armed(arming: Arming) -> tuple[Callable[..., Continuation], Callable[..., Any]]:
    """`Continuation` and `finish` for steps below which functions are seen."""
    call = arming.call

    def leave(function: Callable[..., Any], *values: Any) -> Continuation:
        return Continuation(call, function, *values)

    def finish_armed(function: Callable[..., Any], *values: Any) -> Any:
        first = Continuation(call, function, *values)
        del values
        return _go_on([first])

    return leave, finish_armed


def going_on(residual: Callable[..., Any]) -> Callable[..., Any]:
    """A function of which a residual function is the first part."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return _go_on([residual(*args, **kwargs)])

    return run


class PointReference:
    """What the code of a step holds of a resume point.  Code objects are unknown to the garbage collector, so it must not be the point itself."""

    __slots__ = ("point",)

    def __init__(self, point: ResumePoint) -> None:
        self.point = weakref.ref(point)

    def __call__(self, *values: Any) -> Continuation:
        point = self.point()
        assert point is not None, "the compiled function, which runs, keeps its resume points"
        return Continuation(point.enter, *values)


class ResumePoint:
    """A place in a function where it goes on.  `enter` runs the rest; `frame` holds its versions."""

    def __init__(self, rest: Rest, frame: Any) -> None:
        self.rest = rest
        self.frame = frame

    def enter(self, *values: Any) -> Any:
        """The rest of the function, or the next continuation."""
        try:
            version = self.frame.cache.find(values, {})
            if version is None:
                return self.frame.miss(values, {})
            try:
                return version.run(*values)
            except Exception as error:
                if not version.may_repeat(error):
                    raise
                raised = f"{type(error).__name__}: {error}"
            return self.frame.repeat(raised, values, {})
        finally:
            values = ()  # an exception that leaves may be one of them, and its traceback holds this frame


class ResumePoints:
    """The resume points of one compiled function.  `make_frame(rest, eager)` gives the compiled frame of a rest.

    With `in_place`, the residual code runs in the frame of the function itself, which then goes on to the end below it.  With `arming`, the functions
    that a step or a rest calls while it runs as written are compiled on their own.
    """

    def __init__(self, make_frame: Callable[[Rest, Callable[..., Any], Callable[..., Any] | None], Any], in_place: bool = False) -> None:
        self.make_frame = make_frame
        self.in_place = in_place
        self.arming: Arming | None = None
        self.points: dict[Any, ResumePoint] = {}
        self.followed = 0  # basic blocks that were entered while rests were followed
        self.in_vain = 0  # of these in rests that call no torch function
        self.looked_at: dict[CodeType, dict[PathAttr, bool]] = {}  # variables that steps look at, by function, and whether they are numbers

    def clear(self) -> None:
        """Forget all points."""
        self.points.clear()
        self.looked_at.clear()
        self.followed = self.in_vain = 0

    def leave_to_steps(self, numbers: NumberPolicy, code: CodeType, found: Iterable[tuple[PathAttr, bool]]) -> None:
        """Steps look at these from now on; at a variable of a function they do in all rests of it."""
        variables = self.looked_at.setdefault(code, {})
        for path, is_number in found:
            numbers.leave_to_steps(path, is_number)
            if path.root == "L" and not path.steps and path.key.isidentifier():
                variables[path] = is_number

    def prepare(self, numbers: NumberPolicy, code: CodeType) -> None:
        """What other rests of a function have shown of its variables."""
        for path, is_number in self.looked_at.get(code, {}).items():
            numbers.leave_to_steps(path, is_number)

    def count(self, blocks: int, calls: int) -> None:
        """A rest was followed for so many basic blocks, in which torch was called so many times."""
        self.followed += blocks
        self.in_vain += blocks if not calls else 0

    def point(self, symbol: str, resume: Resume, code: Code, root: str) -> ResumePoint:
        """The point for a place of a function; functions with other globals have points of their own."""
        key = (code.code, id(code.globals), resume.key)
        found = self.points.get(key)
        if found is None:
            stands_for = FunctionType(_stand_in(resume, symbol), code.globals, code.code.co_name)
            stands_for.__qualname__ = f"{code.code.co_qualname} {_where(resume)}"
            rest = Rest(resume, symbol, root, stands_for, code.code, code.codes)
            armed = native(resume, symbol, code, self.arming) if self.arming is not None else None
            found = self.points[key] = ResumePoint(rest, self.make_frame(rest, native(resume, symbol, code), armed))
        return found


def _line(resume: Resume) -> int | None:
    """The line that a rest begins with."""
    block = list(resume.base.blocks[resume.place.block])
    return next((op.loc.line for op in block[resume.place.op :] if op.loc.known), None)


def _where(resume: Resume) -> str:
    """Where a rest begins, for people."""
    line = _line(resume)
    return f"({'handler' if resume.place.raises else 'rest'} from line {line})" if line else "(rest)"


def _stand_in(resume: Resume, symbol: str) -> CodeType:
    """The code of a function that has the parameters of a rest, stands where it begins, and does nothing."""
    base = resume.base.func
    block = Block()
    block.append(control.ReturnOp(block.append(py.LoadConstOp(None)).results[0]))
    line = _line(resume) or base.first_line
    func = control.FuncOp(
        regions=[Region([block])], sym_name=symbol, code_name=base.code_name, args=rest_parameters(resume), file=base.file, first_line=line
    )
    return assemble(func)


def native(resume: Resume, symbol: str, code: Code, arming: Arming | None = None) -> Callable[..., Any]:
    """The rest of a function as Python runs it, called with the parameters of a `Rest`; with `arming`, functions below it are seen."""
    cells = len(resume.base.shared)
    made: list[CodeType] = []

    def run(*values: Any) -> Any:
        if not made:
            made.append(assemble(resume_function(resume, symbol).func, resources=code.codes))
            if arming is not None:
                arming.mark(made[0])
        closure = tuple(values[len(values) - cells :]) if cells else None
        function = FunctionType(made[0], code.globals, code.code.co_name, None, closure)
        given = [values[: len(values) - cells] if cells else values]
        del values, closure  # an exception that leaves may be among them, and its traceback holds this frame
        return function(*given.pop()) if arming is None else arming.call(function, *given.pop())

    return run


def cut_resources(cut: Cut, points: ResumePoints, in_place: bool) -> dict[str, Any]:
    """The resources of a residual function with a cut: its steps, `finish`, and `leave`, which is how it leaves for the first step."""
    arming = points.arming
    leave, last = (Continuation, finish) if arming is None else _armed(arming)
    found: dict[str, Any] = {"finish": last, "leave": last if in_place else leave}
    resumes: Mapping[str, Any] = {f"resume.{name}": PointReference(points.point(name, resume, code, cut.root)) for name, (resume, code) in cut.resumes.items()}
    for symbol, (func, code) in cut.steps.items():
        assembled = assemble(func, resources={**code.codes, **resumes})
        found[f"code.{symbol}"] = assembled
        if arming is not None:
            arming.mark(assembled)
        if not func.free:
            found[f"step.{symbol}"] = FunctionType(assembled, code.globals, code.code.co_name)
    return found
