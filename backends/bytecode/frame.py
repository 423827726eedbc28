"""One `pyframe.func` to a code object: the tables of names and constants, the order of blocks, stubs, and the prologue."""

from __future__ import annotations
import __future__

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, Final, NamedTuple

from lect.backends.bytecode.blocks import BlockAssembler
from lect.backends.bytecode.bound import unchecked_loads
from lect.backends.bytecode.edges import finish
from lect.backends.bytecode.encode import Cover, Instr, Label, encode
from lect.backends.bytecode.rules import OLDER_THAN_312, SINCE_313
from lect.backends.bytecode.stack import Entry, Stack
from lect.dialects.pyframe.control import FuncOp
from lect.dialects.pyframe.types import OBJECT
from lect.ir import UNKNOWN, Block, LectError, Location, Operation, SymbolRef, Value, literal_key

_FLAGS: Final = {"optimized": 0x1, "newlocals": 0x2, "nested": 0x10, "generator": 0x20}
_VARARGS, _VARKEYWORDS = 0x4, 0x8
_NEVER_FALLS_THROUGH = frozenset({"JUMP_BACKWARD", "JUMP_FORWARD", "RAISE_VARARGS", "RERAISE", "RETURN_CONST", "RETURN_VALUE"})
_STOPITERATION_ERROR = 3  # of CALL_INTRINSIC_1
LAMBDAS_TURN_STOP_ITERATION = bool((lambda: (yield)).__code__.co_exceptiontable)
_PAIRS: Final = {
    ("LOAD_FAST", "LOAD_FAST"): "LOAD_FAST_LOAD_FAST",
    ("STORE_FAST", "LOAD_FAST"): "STORE_FAST_LOAD_FAST",
    ("STORE_FAST", "STORE_FAST"): "STORE_FAST_STORE_FAST",
}


class Stub:
    """Code at the end of the function that brings a stack into order on the way to a block."""

    __slots__ = ("after_loop", "cover", "entries", "goal", "label", "loc", "target")

    def __init__(self, entries: list[Entry], goal: list[Value], target: Block, cover: Cover | None, loc: Location, after_loop: bool) -> None:
        self.label = Label()
        self.entries = entries
        self.goal = goal
        self.target = target
        self.cover = cover
        self.loc = loc
        self.after_loop = after_loop


class CleanupThrow(NamedTuple):
    """Code at the end of the function, since 3.12, for an exception out of the delegate of `yield from`: a StopIteration ends the delegation."""

    label: Label
    done: Label
    cover: Cover | None
    loc: Location


class FrameAssembler:
    """Assembles one function.  `code_of` gives the code object of a symbol, `resources` the live objects by name."""

    def __init__(self, func: FuncOp, code_of: Callable[[SymbolRef], CodeType], resources: Mapping[str, Any]) -> None:
        self.func = func
        self.code_object = code_of
        self.resources = resources
        self.start = Location(func.file, func.first_line)
        self.instrs: list[Instr] = []
        self.unchecked = frozenset() if OLDER_THAN_312 else unchecked_loads(func)
        self.local_names = self._local_names()
        cells, free = func.cells, func.free
        self.slots = {name: number for number, name in enumerate(self.local_names)}
        for name in (*(cell for cell in cells if cell not in self.slots), *free):
            self.slots[name] = len(self.slots)
        self.names: dict[str, int] = {}
        self.constants: dict[Any, int] = {}
        self.constant_values: list[Any] = []
        self.labels: dict[Block, Label] = {}
        self.placed: set[Block] = set()
        self.stubs: list[Stub] = []
        self.cleanups: list[CleanupThrow] = []
        self.loop_exits: dict[Block, Label] = {}
        self.graphs: dict[Operation, Value] = {}
        self.deepest = 1

    def _local_names(self) -> tuple[str, ...]:
        func = self.func
        return (*func.parameters, *func.locals)

    # ---- tables ------------------------------------------------------------------------------------------------------

    def name_index(self, name: str) -> int:
        """Position of a global or attribute name."""
        return self.names.setdefault(name, len(self.names))

    def slot_index(self, name: str) -> int:
        """Position of a variable in the frame."""
        return self.slots[name]

    def constant_index(self, value: Any) -> int:
        """Position of a constant; equal ones of equal type share it."""
        key = _constant_key(value)
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = len(self.constant_values)
            self.constant_values.append(value)
        return found

    def resource(self, name: str, op: Operation) -> Any:
        """A live object.  Raises LectError when it was not given."""
        try:
            return self.resources[name]
        except KeyError:
            raise LectError(f"there is no resource '{name}' for '{op.name}'", op=op) from None

    def graph_value(self, op: Operation) -> Value:
        """What stands for the callable of a compiled graph on the simulated stack."""
        found = self.graphs.get(op)
        if found is None:
            found = self.graphs[op] = Value(OBJECT, op, 0, "graph")
        return found

    # ---- labels and stubs --------------------------------------------------------------------------------------------

    def label(self, block: Block) -> Label:
        """The label of a block."""
        found = self.labels.get(block)
        if found is None:
            found = self.labels[block] = Label()
        return found

    def place(self, label: Label) -> None:
        """Put a label in front of the next instruction."""
        label.index = len(self.instrs)

    def is_placed(self, block: Block) -> bool:
        """True when the code of a block stands already, so that a jump to it goes backward."""
        return block in self.placed

    def stub(self, a: BlockAssembler, entries: Sequence[Entry], goal: list[Value], target: Block, after_loop: bool = False) -> Label:
        """The label of a stub that makes `goal` of the stack `entries` and goes to `target`."""
        covered = a.cover if a.covering and all(x is y for x, y in zip(a.kept, goal)) and len(goal) >= len(a.kept) else None
        stub = Stub(list(entries), goal, target, covered, a.loc, after_loop)
        self.stubs.append(stub)
        return stub.label

    def cleanup_throw(self, a: BlockAssembler, done: Label) -> Label:
        """The label of the handler around a delegation that ends at `done`."""
        cleanup = CleanupThrow(Label(), done, a.cover if a.covering else None, a.loc)
        self.cleanups.append(cleanup)
        return cleanup.label

    def loop_exit(self, block: Block) -> Label:
        """The label to which FOR_ITER goes on its way to `block`: since 3.12 that of an END_FOR in front of it."""
        if OLDER_THAN_312:
            return self.label(block)
        return self.loop_exits.setdefault(block, Label())

    # ---- assembly ----------------------------------------------------------------------------------------------------

    def run(self) -> CodeType:
        """The code object."""
        func = self.func
        if "optimized" in func.flags:
            self.constant_index(func.doc)  # the first constant, if it is a string, is the docstring
        self._prologue()
        blocks = func.region.blocks
        for block, following in zip(blocks, [*blocks[1:], None]):
            self._place_block(block)
            assembler = BlockAssembler(self, block)
            assembler.run()
            finish(assembler, following)
            self.deepest = max(self.deepest, assembler.stack.deepest)
        for stub in self.stubs:
            self._assemble_stub(stub)
        for cleanup in self.cleanups:
            self._assemble_cleanup(cleanup)
        if self.turns_stop_iteration:
            self._turn_stop_iteration()
        if SINCE_313:
            self._combine_pairs()
        return self._code()

    def _prologue(self) -> None:
        """What the compiler puts in front of the body, with the positions it gives: a signal may interrupt a frame at RESUME."""
        func = self.func
        if func.free:
            self.instrs.append(Instr("COPY_FREE_VARS", len(func.free), UNKNOWN))
        for name in func.cells:
            self.instrs.append(Instr("MAKE_CELL", self.slots[name], UNKNOWN))
        if "generator" in func.flags:  # it makes the suspended frame, which begins by dropping what is first sent in
            self.instrs.append(Instr("RETURN_GENERATOR", 0, self.start))
            self.instrs.append(Instr("POP_TOP", 0, self.start if OLDER_THAN_312 or SINCE_313 else UNKNOWN))
        line = func.first_line if func.code_name != "<module>" else 0
        self.instrs.append(Instr("RESUME", 0, Location(func.file, line, 0, None, func.first_line, 0)))

    def _place_block(self, block: Block) -> None:
        exit_label = self.loop_exits.get(block)
        if exit_label is not None:
            loc = block.first.loc if block.first is not None else self.start
            if self.instrs[-1].name in _NEVER_FALLS_THROUGH:
                self.place(exit_label)
                self._end_loop(loc)
            else:  # the block before runs on into this one and must not meet END_FOR
                stub = Stub(list(block.args), list(block.args), block, None, loc, True)
                stub.label = exit_label
                self.stubs.append(stub)
        self.place(self.label(block))
        self.placed.add(block)

    def _end_loop(self, loc: Location) -> None:
        """What stands where FOR_ITER jumps to, and is skipped by it."""
        if OLDER_THAN_312:
            return
        self.instrs.append(Instr("END_FOR", 0, loc))
        if SINCE_313:
            self.instrs.append(Instr("POP_TOP", 0, loc))

    def _assemble_stub(self, stub: Stub) -> None:
        self.place(stub.label)
        if stub.after_loop:
            self._end_loop(stub.loc)
        begin = len(self.instrs)
        stack = Stack(lambda name, arg: self.instrs.append(Instr(name, arg, stub.loc)), stub.entries)
        stack.settle(stub.goal)
        self.instrs.append(Instr("JUMP_BACKWARD", self.label(stub.target), stub.loc))
        if stub.cover is not None:
            for instr in self.instrs[begin:]:
                instr.cover = stub.cover
        self.deepest = max(self.deepest, stack.deepest)

    def _assemble_cleanup(self, cleanup: CleanupThrow) -> None:
        self.place(cleanup.label)
        jump = "JUMP_BACKWARD_NO_INTERRUPT" if SINCE_313 else "JUMP_BACKWARD"
        for instr in (Instr("CLEANUP_THROW", 0, cleanup.loc), Instr(jump, cleanup.done, cleanup.loc)):
            instr.cover = cleanup.cover
            self.instrs.append(instr)

    @property
    def turns_stop_iteration(self) -> bool:
        """Whether a StopIteration out of the body becomes a RuntimeError by a handler of the code; the compilers of 3.12 and 3.13 put none into a lambda."""
        return "generator" in self.func.flags and not OLDER_THAN_312 and (LAMBDAS_TURN_STOP_ITERATION or self.func.code_name != "<lambda>")

    def _turn_stop_iteration(self) -> None:
        """Since 3.12: what stands around the body of a generator, so that a StopIteration leaves it as the cause of a RuntimeError."""
        handler = Label()
        around = Cover(handler, 0, True)
        begin = next(place for place, instr in enumerate(self.instrs) if instr.name == "RESUME")
        for instr in self.instrs[begin:]:
            if instr.cover is None:
                instr.cover = around
        self.place(handler)
        self.instrs.append(Instr("CALL_INTRINSIC_1", _STOPITERATION_ERROR, UNKNOWN))
        self.instrs.append(Instr("RERAISE", 1, UNKNOWN))
        self.deepest = max(self.deepest, 2)

    def _combine_pairs(self) -> None:
        """3.13: two variable instructions in one, as its compiler does.  A pair has one position, so only instructions of one position are joined."""
        targets = {instr.arg.index for instr in self.instrs if isinstance(instr.arg, Label)}
        targets.update(instr.cover.target.index for instr in self.instrs if instr.cover is not None)
        out: list[Instr] = []
        moved: list[int] = []
        position = 0
        while position < len(self.instrs):
            instr = self.instrs[position]
            moved.append(len(out))
            combined = _PAIRS.get((instr.name, self.instrs[position + 1].name)) if position + 1 < len(self.instrs) else None
            if combined is not None and position + 1 not in targets and self._fit_together(instr, self.instrs[position + 1]):
                assert isinstance(instr.arg, int)
                pair = Instr(combined, instr.arg << 4 | self.instrs[position + 1].arg, instr.loc)  # type: ignore[operator]
                pair.cover = instr.cover
                out.append(pair)
                moved.append(len(out) - 1)
                position += 2
                continue
            out.append(instr)
            position += 1
        moved.append(len(out))
        for label in self._all_labels():
            label.index = moved[label.index]
        self.instrs[:] = out

    def _fit_together(self, first: Instr, second: Instr) -> bool:
        small = isinstance(first.arg, int) and isinstance(second.arg, int) and first.arg < 16 and second.arg < 16
        return small and first.loc is second.loc and first.cover is second.cover

    def _all_labels(self) -> list[Label]:
        found = {id(instr.arg): instr.arg for instr in self.instrs if isinstance(instr.arg, Label)}
        found.update({id(instr.cover.target): instr.cover.target for instr in self.instrs if instr.cover is not None})
        return list(found.values())

    def _code(self) -> CodeType:
        func = self.func
        raw, lines, exceptions = encode(self.instrs, func.first_line)
        return CodeType(
            len(func.args),
            func.positional_only,
            len(func.keyword_only),
            len(self.local_names),
            self.deepest + 1,
            self._flags(),
            raw,
            tuple(self.constant_values),
            tuple(self.names),
            self._shown_local_names(),
            func.file,
            func.code_name,
            func.qualified_name,
            func.first_line,
            lines,
            exceptions,
            func.free,
            func.cells,
        )

    def _shown_local_names(self) -> tuple[str, ...]:
        """In a class body or module the variables of inlined comprehensions get a dot in front, so that `locals()` does not take them for names."""
        if "optimized" in self.func.flags:  # there a dot only tells a variable of a comprehension from a free one
            return tuple([name[1:] if name[:1] == "." and name[1:] in self.func.free else name for name in self.local_names])
        return tuple([name if name[:1] == "." else f".{name}" for name in self.local_names])

    def _flags(self) -> int:
        func = self.func
        bits = (_VARARGS if func.varargs is not None else 0) | (_VARKEYWORDS if func.varkw is not None else 0)
        for flag in func.flags:
            bits |= _FLAGS[flag] if flag in _FLAGS else getattr(__future__, flag).compiler_flag
        return bits


def _constant_key(value: Any) -> Any:
    """Equal for constants that one entry can serve; live objects and code objects are compared by identity."""
    kind = type(value)
    if kind in (str, int, float, complex, bool) or value is None:
        return (kind, literal_key(value))
    if kind is bytes:
        return (bytes, value)
    if kind is tuple:
        return (tuple, tuple([_constant_key(item) for item in value]))
    if kind is frozenset:
        return (frozenset, tuple([_constant_key(item) for item in value]))
    return (object, id(value))
