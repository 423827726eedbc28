"""The symbolic interpreter: runs `pyframe` functions on boxes.

`CodeTable` decodes code objects and binds every operation to its rule once; it outlives traces.  `Frame` is one activation.  `run` goes from block
to block; an exception of the program goes to the block's handler, a `GraphBreak` or an error of lect leaves everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from opcode import opmap
from threading import RLock
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from lect.dialects.pyframe.control import FuncOp
from lect.dialects.pyframe.types import PLACE
from lect.frontends.bytecode.decode import FrameDecoder, Symbols, UnsupportedCode, begin_function, decode_function, instruction_handlers
from lect.frontends.capture.arguments import Signature, bind_arguments, keeps_its_code
from lect.frontends.capture.breaks import FrameState, GraphBreak, Reached, Stop, UserError
from lect.frontends.capture.effects import store_cell
from lect.frontends.capture.generators import TracedGenerator
from lect.frontends.capture.iteration import acts_when_released
from lect.frontends.capture.modes import current_modes
from lect.frontends.capture.optimizers import MADE_BY_TORCH
from lect.frontends.capture.recursive_reprs import RECURSIVE_REPRS
from lect.frontends.capture.replay import make_replay
from lect.frontends.capture.resume import Clone, Cuttable, NotResumable, Place, twins
from lect.frontends.capture.rules import RESUMED, RULES
from lect.frontends.capture.specials import special_table
from lect.frontends.capture.tracebacks import note_raise
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.capture.weak_references import check_alive
from lect.ir import UNKNOWN, Block, Operation, Value

Step = tuple[Callable[["Frame", Any], Any], Operation]
_SPLIT_GROUPS = opmap["CHECK_EG_MATCH"]
MAX_BLOCKS = 150_000  # blocks entered in one trace: some seconds
MAX_BLOCKS_WITHOUT_CALLS = 30_000  # of torch functions: about a second


class Program:
    """A decoded function with its operations bound to rules, block by block; `codes` are the code objects among its constants, by symbol.

    With a `decoder`, a block is decoded when it is first entered, and the others when somebody asks for the function.  The program of a resume function
    is a `part` of another one: `values` sends its values to those of the function that was cut.
    """

    __slots__ = (
        *("_cuttable", "_decoder", "_func", "_lock", "_origin", "code", "codes", "entry", "steps", "values"),
        *("cells", "free", "is_generator", "of_rest", "signature", "splits_groups"),
    )

    def __init__(  # raises `UnsupportedCode`
        self,
        func: FuncOp,
        codes: Mapping[str, CodeType],
        code: CodeType,
        part: Clone | None = None,
        whole: Cuttable | None = None,
        decoder: FrameDecoder | None = None,
    ) -> None:
        self._func = func
        self._decoder = decoder
        self._lock = RLock()  # several threads may follow the function
        self.codes = codes
        self.code = code
        self.values: Mapping[Value, Value] = part.values if part is not None else {}
        self._origin = part.origin if part is not None else None
        self._cuttable = whole
        self.of_rest = part is not None
        self.signature = Signature(func)
        self.cells: tuple[str, ...] = func.cells
        self.free: tuple[str, ...] = func.free
        self.is_generator = "generator" in func.flags
        self.splits_groups = _SPLIT_GROUPS in code.co_code[::2]  # where it is not sure, a trace stops too often
        if self.is_generator and self._decoder is not None:
            self._decoder.complete()  # what a suspended frame would do when it is released can be seen only in the whole function
            self._decoder = None
        self.entry: Block = func.region.blocks[0]
        self.steps: dict[Block, list[Step]] = {}

    @property
    def func(self) -> FuncOp:
        """The whole function.  Breaks when a part of it cannot be decoded."""
        with self._lock:
            if self._decoder is not None:
                try:
                    self._decoder.complete()
                except UnsupportedCode as error:
                    raise GraphBreak("LB0009", error.message, error.loc) from None
                self._decoder = None
        return self._func

    def steps_of(self, block: Block) -> list[Step]:
        """The steps of a block.  Raises `UnsupportedCode`."""
        found = self.steps.get(block)
        if found is None:
            with self._lock:
                if self._decoder is not None:
                    self._decoder.decode(block)
                found = self.steps[block] = [(RULES.get(type(op).name, _no_rule), op) for op in block]
        return found

    def cuttable(self) -> Cuttable:
        """The function to cut for a cut in this one; it outlives the operations of this program."""
        if self._cuttable is None:
            copied = self.func.clone()
            assert isinstance(copied, FuncOp)
            self._cuttable = Cuttable(copied)
            self._origin, self.values = twins(self.func, copied)
        return self._cuttable

    def place_of(self, op: Operation) -> Place:
        """The place of an operation in the function to cut.  Raises `NotResumable` for operations that are not of the program."""
        whole = self.cuttable()
        origin = self._origin.get(op) if self._origin is not None else None
        if origin is None:
            raise NotResumable("the function stops before it has begun")
        return whole.place_of(origin)


def _no_rule(frame: Frame, op: Operation) -> None:
    raise frame.t.stop("LB0001", op.name)


class CodeTable:
    """What is known of code objects, kept between traces while they live: decoded programs, and the rules for special functions."""

    def __init__(self) -> None:
        self.programs: WeakKeyDictionary[CodeType, Program] = WeakKeyDictionary()
        self.called_early: WeakKeyDictionary[Any, Counter[Any]] = WeakKeyDictionary()  # see `cached_functions`, as for the next
        self.raised: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()
        self.scripted: WeakKeyDictionary[Any, FunctionType | None] = WeakKeyDictionary()  # see `scripted`
        self.specials: Mapping[Any, Any] = special_table()
        instruction_handlers()
        self.made_by_torch = MappingProxyType({**MADE_BY_TORCH, **RECURSIVE_REPRS})
        self.make_replay = make_replay

    def program(self, t: Tracer, code: CodeType) -> Program:
        """The program of a code object; breaks when it cannot be decoded."""
        found = self.programs.get(code)
        if found is None:
            try:
                symbols = Symbols()
                decoder = begin_function(code, symbols.of)
                found = self.programs[code] = Program(decoder.func, symbols.codes, code, decoder=decoder)
            except UnsupportedCode as error:
                raise t.stop("LB0009", error.message) from None
        return found

    def inline(self, t: Tracer, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Box:
        """Run a Python function inside of the trace."""
        t.guards.called.add((t.guards.loc, callee[0].__code__))
        program = self.program(t, callee[0].__code__)
        keeps_its_code(t, callee)
        if t.weakly:
            check_alive(t, callee[0], args)
        if program.is_generator or not t.memo.on:
            return self._follow(t, program, callee, args, kwargs)
        asked = t.memo.ask(callee, args, kwargs)
        if asked is None:
            return self._follow(t, program, callee, args, kwargs)
        returned = t.memo.give(asked)
        if returned is None:
            returned = self._follow(t, program, callee, args, kwargs)
            t.memo.learn(asked, callee, args, kwargs, returned)
        return returned

    def _follow(self, t: Tracer, program: Program, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Box:
        bound = bind_arguments(t, callee, program.signature, args, kwargs)
        frame = Frame(t, program, callee, bound)
        if program.is_generator:
            frame.generator = TracedGenerator(t, frame)
            return t.made(frame.generator)
        returned = call_frame(t, frame)
        assert returned is not None
        return returned

    def run_body(self, t: Tracer, callee: Box, namespace: Box) -> Box:
        """Run the body of a class, whose names go to `namespace`."""
        keeps_its_code(t, callee)
        frame = Frame(t, self.program(t, callee[0].__code__), callee, {})
        frame.namespace = namespace
        returned = call_frame(t, frame)
        assert returned is not None
        return returned

    def resume(self, t: Tracer, generator: TracedGenerator, op: Any) -> Box | None:
        """Run a suspended frame on from the terminator `op`, or from its start; None when it is suspended again."""
        return call_frame(t, generator.frame, op)


def decode_code(code: CodeType) -> tuple[FuncOp, dict[str, CodeType]]:
    """The `pyframe.func` of a code object, and the code objects that it names by symbols.  Raises `UnsupportedCode`."""
    symbols = Symbols()
    return decode_function(code, symbols.of), symbols.codes


def call_frame(t: Tracer, frame: Frame, op: Any = None) -> Box | None:
    """`run`; location and handled exception are the caller's again behind it."""
    if t.depth > t.deepest:
        raise t.stop("LB0031", f"calls nested deeper than {t.deepest}")
    outer, loc, caught = t.frame, t.guards.loc, t.caught
    t.depth += 1
    t.calls += 1
    frame.caller, frame.called_at = outer, loc
    try:
        return run(frame, op)
    finally:
        t.depth -= 1
        if frame.generator is not None:
            frame.generator.handled = t.caught
        t.frame, t.guards.loc, t.caught = outer, loc, caught


class Frame:
    """One activation: `env` holds the values of the current block, `locals` and `cells` the variables, `namespace` the names of a class body."""

    __slots__ = (
        *("called_at", "caller", "cells", "env", "function", "generator", "globals", "globals_source", "locals", "namespace", "now", "position", "program"),
        *("returned", "t"),
    )

    def __init__(self, t: Tracer, program: Program, callee: Box, bound: dict[str, Box], cells: Mapping[str, Box] | None = None) -> None:
        self.t = t
        self.program = program
        self.function = callee
        self.globals = callee[0].__globals__
        self.globals_source: Box | None = None
        self.env: dict[Value, Box] = {}
        self.locals = bound
        self.cells: dict[str, Box] = {}
        self.returned: Box | None = None
        self.caller: Frame | None = None
        self.called_at = UNKNOWN
        self.generator: TracedGenerator | None = None
        self.namespace: Box | None = None
        self.position = 0
        self.now = 0
        if cells is None:
            self._make_cells(callee, bound)
        else:
            self.cells.update(cells)

    def _make_cells(self, callee: Box, bound: dict[str, Box]) -> None:
        t, program = self.t, self.program
        for name in program.cells:
            cell = t.made(CellType())
            if name in bound:
                store_cell(t, cell, bound.pop(name))
            self.cells[name] = cell
        if not program.free:
            return
        function, source = callee
        if source is None and not t.is_fresh(function):
            source = t.static_source(function)
        for number, name in enumerate(program.free):
            cell = function.__closure__[number]
            place = None if source is None else source.attr("__closure__").item(number)  # the cells of a function made in the trace were seen there
            self.cells[name] = (cell, None) if t.is_fresh(cell) else t.wrap(cell, place)


def run(frame: Frame, suspended: Any = None) -> Box | None:
    """Interpret until the function returns; None when it is suspended.  An exception that no block handles leaves as `UserError`.

    A frame that stands at the terminator `suspended` goes on from there.
    """
    t = frame.t
    guards = t.guards
    program = frame.program
    block: Block | None = program.entry
    steps: Iterable[Step] | None = None
    if suspended is not None:
        block, steps = suspended.parent, [(RESUMED[suspended.name], suspended)]
    while block is not None:
        following: Block | None = None
        now: Iterable[Step]
        try:
            now, steps = steps or program.steps_of(block), None
        except UnsupportedCode as error:
            raise t.stop("LB0009", error.message) from None
        t.entered += 1
        if t.entered > t.horizon:
            _look_ahead(t)
        frame.position = t.entered
        if t.births is not None:
            now = _watched(t, frame, now)
        try:
            for rule, op in now:
                guards.loc = op.loc
                following = rule(frame, op)
            block = following
        except UserError as raised:
            if raised.loc is UNKNOWN:
                raised.loc = guards.loc
            try:
                block = _unwind(frame, block, op, raised)  # type: ignore[arg-type]
            except GraphBreak as stop:
                _left(frame, op, stop)
                raise
            if block is None:
                raise  # from here, where no variable is left to refer to it: its traceback would keep all frames below alive
        except GraphBreak as stop:
            _left(frame, op, stop)
            raise
    return frame.returned


def _look_ahead(t: Tracer) -> None:
    """Let the trace enter more blocks when it has called torch in those behind it."""
    if t.entered > MAX_BLOCKS:
        raise t.stop("LB0031", f"more than {MAX_BLOCKS} basic blocks")
    if t.horizon and t.graph.calls == t.calls_seen:
        raise t.stop("LB0031", f"more than {MAX_BLOCKS_WITHOUT_CALLS} basic blocks without a call of torch")
    t.calls_seen = t.graph.calls
    t.horizon = min(t.entered + MAX_BLOCKS_WITHOUT_CALLS, MAX_BLOCKS)


def _left(frame: Frame, op: Operation, stop: GraphBreak) -> None:
    """Note that a break leaves the frame at `op`."""
    if not stop.loc.known:
        stop.loc = op.loc
    stop.frames.append(FrameState(frame, op, Stop(frame.position, _index(frame.program.steps, op)), frame.t.caught))


def _index(of_block: Mapping[Block, list[Step]], op: Operation) -> int:
    """The number of an operation in its block."""
    return next((number for number, (_, each) in enumerate(of_block.get(op.parent, ())) if each is op), 0)  # type: ignore[arg-type]


def _watched(t: Tracer, frame: Frame, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps of a block in a trace that notes where each object is made, and ends at `t.stop_at`."""
    for number, step in enumerate(steps):
        t.frame = frame
        frame.now = number
        if t.stop_at == (frame.position, number):
            t.left_modes = current_modes()
            yield (_reached, step[1])
        yield step


def _reached(frame: Frame, op: Any) -> None:
    raise Reached("LB0029", "the cut is reached", op.loc)


def _unwind(frame: Frame, block: Block, op: Any, raised: UserError) -> Block | None:
    """Hand an exception that `op` raises to the handler of `block`; None when it has none."""
    terminator: Any = block.last
    handler = terminator.handler
    t = frame.t
    again = op.name == "pyframe.reraise" or (op.name == "pyframe.raise" and op.exception is None)
    if not again and frame.program.splits_groups and id(raised.error) in t.seen and not t.is_fresh(raised.error):
        raise t.stop("LB0030", "except* looks at the tracebacks of exceptions from outside of the frame")
    note_raise(t, raised.error, again)
    if handler is None:
        return None
    error = raised.error
    kept = [frame.env[value] for value in terminator.unwind_operands]
    if any(acts_when_released(t, box) for value, box in frame.env.items() if value not in terminator.unwind_operands):
        raise t.stop("LB0009", "a generator made outside of the compiled frame is left by an exception")
    if len(handler.args) >= 2 and handler.args[-2].type is PLACE:
        kept.append((None, None))
    kept.append(t.seen.get(id(error)) or t.made(error))
    frame.env = dict(zip(handler.args, kept))
    return handler


def enter(frame: Frame, block: Block, values: list[Box]) -> Block:
    """Go to `block` with these values for its arguments."""
    frame.env = dict(zip(block.args, values))
    return block
