"""Why a frame cannot be captured: numbered reasons, each with an explanation and a hint.

`GraphBreak` leaves the interpreter through user code, so it derives from BaseException: no `except Exception` of the program may see it.
`UserError` carries an exception that the program itself raised; everything else that is raised inside the interpreter is an error of lect.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from lect.ir import UNKNOWN, Location, Operation, PassFailure


class Reason(NamedTuple):
    """`title` names the obstacle, `explanation` says why it is one, `hint` what a person can do."""

    title: str
    explanation: str
    hint: str


REASONS: Mapping[str, Reason] = MappingProxyType(
    {
        "LB0001": Reason("operation without rule", "the interpreter has no rule for this step of a Python frame", "move the step out of the compiled function"),
        "LB0002": Reason(
            "value of a tensor",
            "the program asks for the elements of a tensor, which exist only when the graph runs",
            "use torch.where or keep the value a tensor",
        ),
        "LB0003": Reason("unknown C function", "what this function reads and writes is not known", "call it outside of the compiled function"),
        "LB0004": Reason(
            "write to shared state", "this kind of write to an object that exists before the call cannot be replayed", "return the new value instead"
        ),
        "LB0005": Reason("tensor subclass", "a subclass of torch.Tensor may redefine any operation", "pass plain tensors"),
        "LB0006": Reason("user object given to torch", "a torch function may call back into the object", "pass tensors and plain numbers"),
        "LB0007": Reason(
            "object of unknown origin",
            "the object was not reached by a path that can be checked again",
            "reach it through an argument, a global or an attribute",
        ),
        "LB0008": Reason(
            "result cannot be rebuilt", "a value that outlives the call cannot be made again by the compiled frame", "return tensors and builtin containers"
        ),
        "LB0009": Reason(
            "generator or coroutine",
            "a frame that is suspended before or after the call is not captured",
            "make, use up and close the generator inside of the compiled function",
        ),
        "LB0010": Reason("class definition", "making this class runs code that cannot be followed", "define the class outside"),
        "LB0011": Reason("import of a module", "a module that is not loaded would run its code", "import it at the top of the file"),
        "LB0012": Reason("exception", "the program raises out of the frame", "nothing to do: the frame runs eagerly and raises the same"),
        "LB0013": Reason(
            "input or output",
            "the program acts on the outside world or asks it something, such as the time, between two operations",
            "call it outside of the compiled function",
        ),
        "LB0014": Reason(
            "context manager", "entering this context manager has effects that are not known", "enter it around the call of the compiled function"
        ),
        "LB0015": Reason("torch function without a public name", "the graph names what it calls", "call the public function"),
        "LB0016": Reason("attribute of a tensor", "this attribute of a tensor is not part of its metadata", "pass what it holds as an argument"),
        "LB0017": Reason("module with hooks", "hooks run around the module's forward", "remove the hooks or call forward yourself"),
        "LB0018": Reason(
            "object with a finaliser",
            "the moment would change when the object is released, which a finaliser or a weak reference sees",
            "make the object outside",
        ),
        "LB0019": Reason("containers of tensors compared or printed", "C code would compare or print the tensors inside", "compare the tensors one by one"),
        "LB0020": Reason("internal error", "lect failed, which is a bug of lect", "please report it together with the file that replays it"),
        "LB0021": Reason("training", "autograd records here what no compiled backward can stand for", "see docs/training.md for what is compiled"),
        "LB0022": Reason("nothing to compile", "the frame calls no torch function on a tensor", "compile a function that computes with tensors"),
        "LB0023": Reason("overlapping inputs are written", "two inputs share memory and the graph writes to one", "pass tensors that do not overlap"),
        "LB0024": Reason("refused by a later stage", "a lowering does not support an operation of the graph", "see the message of the stage"),
        "LB0025": Reason("state of torch", "a mode is active under which functions do something else", "call outside of the mode"),
        "LB0026": Reason("no Python code", "the callable has no bytecode", "compile a Python function or a module"),
        "LB0027": Reason(
            "too many versions", "one function was compiled again and again because its guards failed", "see the recompile events for what changes"
        ),
        "LB0028": Reason("disabled function", "the function is marked so that it is never compiled", "remove lect.disable or torch.compiler.disable"),
        "LB0029": Reason(
            "place that cannot be cut",
            "the frame cannot be left and entered again here",
            "move the statement that breaks the graph into a function of its own",
        ),
        "LB0030": Reason(
            "traceback", "the frames of a trace are not those that the program would be shown", "look at tracebacks outside of the compiled function"
        ),
        "LB0031": Reason(
            "too long to follow",
            "the frame does so much in Python, keeps so many objects or nests calls so deep that following it would take longer than running it",
            "compile what computes with tensors",
        ),
        "LB0032": Reason(
            "another value in each turn",
            "in a loop with a break in it the program looks at a number, text or container that is another one in each turn",
            "nothing to do: what looks at it runs as it is written, and one version stands for all further values",
        ),
    }
)


class Stop(NamedTuple):
    """A moment of a trace: in front of operation `number` of the block that is entered as number `position` of the trace."""

    position: int
    number: int


class FrameState(NamedTuple):
    """A frame that a break leaves: the operation that runs, the moment, and the exception that is being handled."""

    frame: Any
    op: Operation
    stop: Stop
    handled: BaseException | None


class GraphBreak(BaseException):
    """The frame cannot be captured: `number` (a key of `REASONS`), `detail` (what exactly), `loc` (the user's line).

    `frames` are the frames that the break has left on its way, innermost first; `values` are the objects that cannot be made again, when that is why.
    """

    def __init__(self, number: str, detail: str, loc: Location = UNKNOWN) -> None:
        super().__init__(f"{number}: {detail}")
        self.number = number
        self.detail = detail
        self.loc = loc
        self.frames: list[FrameState] = []
        self.values: list[Any] = []
        self._calls: tuple[str, ...] = ()

    def calls(self) -> tuple[str, ...]:
        """The calls by which the outermost of the frames came to the innermost, in words."""
        names = [state.frame.program.code.co_qualname for state in self.frames]
        found = [f"{caller} calls {callee} at {state.op.loc}" for callee, caller, state in zip(names, names[1:], self.frames[1:])]
        return tuple(reversed(found)) or self._calls

    def instead(self, detail: str) -> GraphBreak:
        """The same break with more to say, and without the frames."""
        made = GraphBreak(self.number, detail, self.loc)
        made._calls = self.calls()
        return made

    def let_go(self) -> None:
        """Forget all objects of the program and all frames."""
        self._calls = self.calls()
        self.frames = []
        self.values = []
        self.__traceback__ = self.__context__ = None

    @property
    def reason(self) -> Reason:
        """The entry of the table."""
        return REASONS[self.number]

    def render(self) -> str:
        """Location, number, title, detail and hint in one readable text."""
        place = f"{self.loc}: " if self.loc.known else ""
        return f"{place}{self.number} {self.reason.title}: {self.detail}\n  {self.reason.explanation}\n  hint: {self.reason.hint}"


class Reached(GraphBreak):
    """A trace that was to end at this moment is there."""


class UserError(BaseException):
    """An exception of the program, on its way to a handler of the program."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error: Any = error
        self.loc = UNKNOWN


class Crossing(BaseException):
    """An error of lect on its way through C code that runs for the program, which must not take it for the program's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class Refused(PassFailure):
    """What the pass raises for a frame that it cannot capture: `number` is a key of `REASONS`, `detail` says what exactly, `calls` how the frame came to
    the place, outermost first."""

    def __init__(self, stop: GraphBreak) -> None:
        super().__init__(f"{stop.number} {stop.reason.title}: {stop.detail}", stop.loc, hint=stop.reason.hint)
        self.number = stop.number
        self.detail = stop.detail
        self.calls = stop.calls()

