"""One block of `pyframe` to symbolic instructions.

The stack is simulated: operands are brought into place, an operation consumes and pushes.  In code that came from a stack machine everything lies
right most of the time.  Two measures keep it so.  Before the first instruction of an operand's expression, the operands that must lie below it are
put there (`prepare`), and so is the NULL that a call wants below its callee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lect.backends.bytecode.encode import CACHE_UNITS, Cover, Instr, Label
from lect.backends.bytecode.rules import CONTAINER, EMIT, KEPT, OLDER_THAN_312, SINCE_313, consumed
from lect.backends.bytecode.stack import Entry, Null, Stack
from lect.dialects.pyframe.control import NEVER_RAISES, PyTerminator
from lect.dialects.pyframe.types import PLACE
from lect.ir import UNKNOWN, Block, LectError, Location, Operation, Value

if TYPE_CHECKING:
    from lect.backends.bytecode.frame import FrameAssembler

CALLS = ("pyframe.call", "pyframe.call_ex")
MOST_ARGUMENTS = 255  # of a call in 3.11, whose quick forms jump behind a CALL as if it had no EXTENDED_ARG; Python's own compiler writes none with more
_ENTERS = frozenset({"CALL_FUNCTION_EX", "CALL_KW"})  # a Python function, as some instructions with a cache do
PAIRING = ("pyframe.load_global", "pyframe.load_attr", "pyframe.load_super_attr")  # instructions that push the NULL or its like themselves


def only_user(value: Value) -> Operation | None:
    """The one operation that takes a value, once; an operation that only adds to the value while it is being built does not count."""
    users = value.users
    if len(users) == 1:
        user, times = next(iter(users.items()))
        return user if times == 1 else None
    real = [user for user in users if user.name not in CONTAINER and user.name != "pyframe.dict_merge"]
    return real[0] if len(real) == 1 and users[real[0]] == 1 else None


class BlockAssembler:
    """Assembles one block into `frame.instrs`; the terminator is left to `edges`."""

    def __init__(self, frame: FrameAssembler, block: Block) -> None:
        self.frame = frame
        self.block = block
        self.out = frame.instrs
        self.loc: Location = frame.start
        self.stack = Stack(self.emit, block.args)
        self.left: dict[Value, int] = {}  # uses of a value that are still to come
        self.nulls: dict[Value, Null] = {}  # the NULL on the stack beside a callee
        self.early: set[Value] = set()  # values copied ahead of their use
        self.fused: set[Operation] = set()  # operations whose work the next one does as well
        self.cover: Cover | None = None
        self.kept: list[Value] = []
        terminator = block.last
        assert isinstance(terminator, PyTerminator), "the verifier lets no other operation end a block"
        self.terminator = terminator
        handler = terminator.handler
        if handler is not None:
            self.kept = terminator.unwind_operands  # type: ignore[attr-defined]
            place = len(handler.args) >= 2 and handler.args[-2].type is PLACE
            self.cover = Cover(frame.label(handler), len(self.kept), place)
        self.covering = False
        self.last_raising = self._last_raising() if handler is not None else None
        self.begin = len(self.out)

    def run(self) -> None:
        """Assemble all operations but the terminator."""
        if self.cover is not None and self.last_raising is None:
            self.end_cover()
        op = self.block.first
        while op is not self.terminator:
            assert op is not None
            self.step(op)
            if self.early:
                self._drop_early_copies()
            if op is self.last_raising:
                self.end_cover()
            op = op.next
        self.loc = self.terminator.loc

    def _drop_early_copies(self) -> None:
        for value in list(self.early):
            if not self.alive(value):
                self.early.discard(value)
                while value in self.stack.entries:
                    self.stack.drop(value)

    def _last_raising(self) -> Operation | None:
        """The last operation for which the handler matters; a jump backward lets a signal handler run, and so may raise."""
        op: Operation | None = self.terminator
        if any(self.frame.is_placed(successor) for successor in self.terminator.successors):
            return op
        while op is not None and op.name in NEVER_RAISES:
            op = op.prev
        return op

    def end_cover(self) -> None:
        """From here on nothing raises: what the handler would keep may go."""
        self.use(self.kept)
        self.covering = False
        self.cover = None
        self.kept = []

    # ---- for the rules -----------------------------------------------------------------------------------------------

    def emit(self, name: str, arg: int | Label) -> None:
        """Add an instruction.

        3.13 looks up the handler of an exception out of a Python function, which an instruction has entered, in front of that instruction.
        """
        instr = Instr(name, arg, self.loc)
        if self.covering:
            instr.cover = self.cover
        if SINCE_313 and self.out and self.out[-1].cover is not instr.cover and (CACHE_UNITS[name] or name in _ENTERS):
            first = Instr("NOP", 0, UNKNOWN)
            first.cover = instr.cover
            self.out.append(first)
        self.out.append(instr)

    def is_fused(self, op: Any) -> bool:
        """True when the work of `op` is done by the operation that uses it."""
        return op in self.fused

    def pairs_with_null(self, op: Any) -> int:
        """1 when the instruction for `op` shall push the NULL of the call whose callee `op` gives (for an attribute: make a method call)."""
        if op.name not in PAIRING:
            return 0
        call = self.call_of(op.results[0])
        return int(call is not None and (op.name == "pyframe.load_global" or call.name == "pyframe.call"))

    def call_of(self, value: Value) -> Operation | None:
        """The call in this block whose callee `value` is and that is its only use."""
        user = only_user(value)
        return user if user is not None and user.name in CALLS and user.operands[0] is value else None

    def tested_at_once(self, op: Operation) -> bool:
        """True when the only use of a comparison is the test of the conditional branch right behind it."""
        users = op.results[0].users
        terminator = self.terminator
        return op.next is terminator and terminator.name == "pyframe.cond_branch" and users == {terminator: 1} and terminator.operands[0] is op.results[0]

    # ---- one operation -----------------------------------------------------------------------------------------------

    def step(self, op: Operation) -> None:
        """Assemble one operation."""
        if self.cover is not None and not self.covering and op.name not in NEVER_RAISES:
            self.begin_cover()
        if self._fuse(op):
            self.fused.add(op)
            return
        self.loc = op.loc
        custom = CUSTOM.get(op.name)
        if custom is not None:
            custom(self, op)
            return
        wanted = self._operands(op)
        if not wanted and op.results:
            self.prepare(op)
        staying = KEPT.get(op.name)
        if staying is not None:
            self._step_over_kept(op, staying(op), wanted)
            return
        if wanted:
            if not self.lies_ready(op, wanted):
                self.take(op, wanted)
            del self.stack.entries[-len(wanted) :]
        else:
            self.use(op.operands)
        EMIT[op.name](self, op)
        self.give(op)

    def lies_ready(self, op: Operation, wanted: Sequence[Value]) -> bool:
        """True when the operands are the top of the stack and `op` is their only use, once each: the common case, in which there is nothing to do."""
        if self.stack.entries[-len(wanted) :] != wanted:
            return False
        return all(len(value.users) == 1 and value.users.get(op) == 1 for value in wanted)

    def _step_over_kept(self, op: Operation, below: list[Value], wanted: list[Value]) -> None:
        """An operation that looks at values below its operands and leaves them."""
        stack = self.stack
        self.use(op.operands)
        stack.bring([*below, *wanted], lambda entry: entry in self.kept or (entry not in below and self.alive(entry)))
        if wanted:
            del stack.entries[-len(wanted) :]
        EMIT[op.name](self, op)
        self.give(op)
        for value in below:
            if not self.alive(value) or stack.entries.count(value) > 1:
                stack.drop(value)

    def _operands(self, op: Operation) -> list[Value]:
        """Operands to lie on the stack, those of fused operations in their place."""
        wanted = consumed(op)
        if not self.fused or not any(value.owner in self.fused for value in wanted):
            return wanted
        out: list[Value] = []
        for value in wanted:
            out += value.owner.operands if value.owner in self.fused else [value]  # type: ignore[union-attr]
        return out

    def _fuse(self, op: Operation) -> bool:
        """True when the next operation can do the work of `op`, its only operand in question, too."""
        name, user = op.name, op.next
        if name == "pyframe.build_slice":
            fits = not OLDER_THAN_312 and len(op.operands) == 2 and user is not None and user.name in ("pyframe.load_item", "pyframe.store_item")
            return fits and op.results[0].users == {user: 1} and user.operands[1] is op.results[0]  # type: ignore[union-attr]
        if name == "pyframe.convert_value":
            fits = not SINCE_313 and user is not None and user.name == "pyframe.format_value"
            return fits and op.results[0].users == {user: 1} and user.operands[0] is op.results[0]  # type: ignore[union-attr]
        if name == "pyframe.load_locals":
            fits = OLDER_THAN_312 and user is not None and user.name == "pyframe.load_from_dict_or_deref"
            return fits and op.results[0].users == {user: 1}
        return False

    def begin_cover(self) -> None:
        """From here on exceptions go to the handler; what it keeps lies at the bottom."""
        kept, entries = self.kept, self.stack.entries
        if any(a is not b for a, b in zip(kept, entries)) or len(entries) < len(kept):
            rest: list[Entry] = list(entries)
            for value in kept:
                rest.remove(value)
            self.stack.permute([*kept, *rest])
        self.covering = True

    def uses_left(self, value: Value) -> int:
        """How many operands to come are this value."""
        found = self.left.get(value)
        return sum(value.users.values()) if found is None else found

    def alive(self, entry: Entry) -> bool:
        """True when a value has uses to come."""
        return isinstance(entry, Value) and self.uses_left(entry) > 0

    def use(self, values: Sequence[Value]) -> None:
        """Count uses off."""
        for value in values:
            self.left[value] = self.uses_left(value) - 1

    def take(self, op: Operation, wanted: Sequence[Value]) -> None:
        """Bring operands to the top of the stack, where they still are when this returns; all uses by `op` are counted off."""
        self.use(op.operands)
        if self.fused:
            for value in op.operands:
                if value.owner in self.fused:
                    self.use(value.owner.operands)  # type: ignore[union-attr]
        self.stack.bring(wanted, self.alive)

    def give(self, op: Operation) -> None:
        """Note the results on the stack; unused ones are released."""
        results = op.results
        if not results:
            return
        if len(results) == 1:
            value = results[0]
            self.stack.push(value)
            if not value.users:
                self.stack.pop_top()
            elif SINCE_313 and self.call_of(value) is not None:
                self._push_null_above(op, value)
            return
        unpacks = op.name in ("pyframe.unpack_sequence", "pyframe.unpack_ex")
        self.stack.push(*(reversed(results) if unpacks else results))
        for value in results:
            if not value.users:
                self.stack.drop(value)

    def _push_null_above(self, op: Operation, callee: Value) -> None:
        null = self.nulls[callee] = Null()
        if not self.pairs_with_null(op):
            self.emit("PUSH_NULL", 0)
        self.stack.push(null)

    def prepare(self, leaf: Operation) -> None:
        """Before the first instruction of an expression: put what its user wants below it into place, and the NULLs of calls that it is the callee of."""
        value = leaf.results[0]
        calls: list[Operation] = []
        while True:
            user = only_user(value)
            if user is None or user is self.terminator:
                break
            wanted = consumed(user) if user.name != "pyframe.call_graph" else user.operands
            position = next((i for i, other in enumerate(wanted) if other is value), None)
            if position is None:
                break
            if position:
                self._prepare_prefix(user, wanted[:position])
                break
            if user.name in CALLS or user.name == "pyframe.call_graph":
                calls.append(user)
            if len(user.results) != 1:
                break
            value = user.results[0]
        for call in reversed(calls):
            self._begin_call(call)

    def _begin_call(self, call: Operation) -> None:
        """Push the NULL of a call below its callee (the callee too for a compiled graph), unless the callee's own instruction does it."""
        if call.name == "pyframe.call_graph":
            push_graph(self, call)
            return
        callee = call.operands[0]
        if SINCE_313 or self.pairs_with_null(callee.owner):
            return
        null = self.nulls[callee] = Null()
        self.emit("PUSH_NULL", 0)
        self.stack.push(null)

    def _prepare_prefix(self, user: Operation, prefix: Sequence[Value]) -> None:
        entries = self.stack.entries
        wanted: list[Entry] = []
        for value in prefix:
            if not any(entry is value for entry in entries):
                return
            null = self.nulls.get(value)
            if null is not None and any(entry is null for entry in entries):
                wanted += [value, null] if SINCE_313 else [null, value]
            else:
                wanted.append(value)
        taken = {value: sum(other is value for other in user.operands) for value in prefix}
        self.stack.bring(wanted, lambda entry: isinstance(entry, Value) and only_user(entry) is not user and self.uses_left(entry) > taken[entry])
        self.early.update(value for value in prefix if entries.count(value) > 1)


# ---- operations with their own way -----------------------------------------------------------------------------------


def call(a: BlockAssembler, op: Any) -> None:
    """CALL.  Without a NULL in place the first argument takes the position of `self` in a method call, which means the same."""
    callee, arguments = op.operands[0], op.operands[1:]
    count = len(arguments)
    null = a.nulls.pop(callee, None)
    a.use(op.operands)
    if null is not None:
        wanted: list[Entry] = [callee, null, *arguments] if SINCE_313 else [null, callee, *arguments]
    elif 0 < count <= MOST_ARGUMENTS:
        wanted = [callee, *arguments]
        count -= 1
    else:
        a.stack.bring([callee], a.alive)
        null = Null()
        a.emit("PUSH_NULL", 0)
        a.stack.push(null)
        wanted = [callee, null, *arguments] if SINCE_313 else [null, callee, *arguments]
    a.stack.bring(wanted, a.alive)
    emit_call(a, count, op.keywords)
    del a.stack.entries[-len(wanted) :]
    a.give(op)


def emit_call(a: BlockAssembler, count: int, keywords: tuple[str, ...]) -> None:
    """The instructions of a call with the stack ready."""
    a.stack.reach(1)
    if keywords:
        number = a.frame.constant_index(keywords)
        if SINCE_313:
            a.emit("LOAD_CONST", number)
            a.emit("CALL_KW", count)
            return
        a.emit("KW_NAMES", number)
    if OLDER_THAN_312 and count > MOST_ARGUMENTS and not keywords:
        a.emit("BUILD_TUPLE", count)
        a.emit("CALL_FUNCTION_EX", 0)
        return
    if OLDER_THAN_312:
        a.emit("PRECALL", count)
    a.emit("CALL", count)


def call_ex(a: BlockAssembler, op: Any) -> None:
    callee, rest = op.operands[0], op.operands[1:]
    null = a.nulls.pop(callee, None)
    a.use(op.operands)
    if null is None:
        a.stack.bring(op.operands, a.alive)
        null = Null()
        a.emit("PUSH_NULL", 0)
        a.stack.push(null)
    wanted: list[Entry] = [callee, null, *rest] if SINCE_313 else [null, callee, *rest]
    a.stack.bring(wanted, a.alive)
    a.emit("CALL_FUNCTION_EX", int(op.kwargs is not None))
    del a.stack.entries[-len(wanted) :]
    a.give(op)


def push_graph(a: BlockAssembler, op: Any) -> None:
    """The NULL and the callable of a compiled graph."""
    graph, null = a.frame.graph_value(op), Null()
    a.nulls[graph] = null
    number = a.frame.constant_index(a.frame.resource(op.graph.leaf, op))
    for step in ("callee", "null") if SINCE_313 else ("null", "callee"):
        if step == "callee":
            a.emit("LOAD_CONST", number)
            a.stack.push(graph)
        else:
            a.emit("PUSH_NULL", 0)
            a.stack.push(null)


def call_graph(a: BlockAssembler, op: Any) -> None:
    graph = a.frame.graph_value(op)
    if graph not in a.nulls:
        push_graph(a, op)
    null = a.nulls.pop(graph)
    a.use(op.operands)
    wanted: list[Entry] = [graph, null, *op.operands] if SINCE_313 else [null, graph, *op.operands]
    a.stack.bring(wanted, lambda entry: entry is not graph and a.alive(entry))
    emit_call(a, len(op.operands), ())
    del a.stack.entries[-len(wanted) :]
    a.give(op)


def into_container(a: BlockAssembler, op: Any) -> None:
    """LIST_APPEND and its like: the container lies below, as deep as the argument says."""
    container = op.operands[0]
    wanted = consumed(op)
    a.take(op, wanted)
    del a.stack.entries[-len(wanted) :]
    a.emit(CONTAINER[op.name], a.stack.depth(container))
    if not a.alive(container):
        a.stack.drop(container)


CALLEE_DEPTH = 4 if SINCE_313 else 3  # of a call's callee when the dict of keyword arguments is the top


def dict_merge(a: BlockAssembler, op: Any) -> None:
    """DICT_MERGE, which finds the callee, for its message, at a fixed depth below the dict."""
    a.take(op, [op.other])
    entries = a.stack.entries
    lies_right = len(entries) > CALLEE_DEPTH and entries[-2] is op.map and entries[-1 - CALLEE_DEPTH] is op.callee
    if not lies_right:
        a.stack.bring([*[op.callee] * (CALLEE_DEPTH - 1), op.map, op.other], lambda entry: entry is op.map or entry is op.callee)
    a.stack.entries.pop()
    a.emit("DICT_MERGE", 1)
    if not lies_right:
        for _ in range(CALLEE_DEPTH):
            a.stack.pop_top()
    for value in (op.map, op.callee):
        if not a.alive(value):
            a.stack.drop(value)


def push_exc(a: BlockAssembler, op: Any) -> None:
    """PUSH_EXC_INFO: the previous exception comes to lie below the new one, which stays."""
    exception = op.exception
    a.use(op.operands)
    a.stack.bring([exception], a.kept.__contains__)
    a.stack.entries.pop()
    a.emit("PUSH_EXC_INFO", 0)
    a.stack.push(op.previous, exception)
    if ends_raising(a):
        return  # the stack is left as it is
    for value in (exception, op.previous):
        if not a.alive(value):
            a.stack.drop(value)


def ends_raising(a: BlockAssembler) -> bool:
    """True when the block ends by raising, so that whatever is left on the stack goes with the frame or the handler."""
    return a.terminator.name in ("pyframe.reraise", "pyframe.raise")


def pop_exc(a: BlockAssembler, op: Any) -> None:
    """POP_EXCEPT.  A block that ends by raising leaves its stack anyway, so there a copy will do."""
    previous = op.previous
    a.use(op.operands)
    if ends_raising(a) and a.stack.depth(previous) > 1:
        a.stack.copy(previous)
    else:
        a.stack.bring([previous], a.alive)
    a.stack.entries.pop()
    a.emit("POP_EXCEPT", 0)


def with_exit(a: BlockAssembler, op: Any) -> None:
    """WITH_EXCEPT_START: `__exit__` lies four deep, the exception on top."""
    a.use(op.operands)
    entries = a.stack.entries
    lies_right = len(entries) >= 4 and entries[-1] is op.exception and entries[-4] is op.exit
    if not lies_right:
        a.stack.bring([op.exit, op.exit, op.exit, op.exception], lambda entry: entry is op.exit or entry is op.exception)
    a.emit("WITH_EXCEPT_START", 0)
    a.give(op)
    if not lies_right:
        for value in (op.exception, op.exit, op.exit, op.exit):
            a.stack.drop(value)
    for value in (op.exit, op.exception):
        if not a.alive(value):
            a.stack.drop(value)


def load_exc(a: BlockAssembler, op: Any) -> None:
    """A call of `sys.exception`, which is put among the constants."""
    import sys

    a.prepare(op)
    number = a.frame.constant_index(sys.exception)
    a.stack.reach(2)
    for name, argument in (("LOAD_CONST", number), ("PUSH_NULL", 0)) if SINCE_313 else (("PUSH_NULL", 0), ("LOAD_CONST", number)):
        a.emit(name, argument)
    emit_call(a, 0, ())
    a.give(op)


def load_callee(a: BlockAssembler, op: Any) -> None:
    """An instruction that can push the NULL for its call as well; before 3.13 that lies below the result."""
    if op.operands:
        a.take(op, op.operands)
        del a.stack.entries[-len(op.operands) :]
    else:
        a.prepare(op)
    EMIT[op.name](a, op)
    if not SINCE_313 and a.pairs_with_null(op):
        null = a.nulls[op.results[0]] = Null()
        a.stack.push(null)
    a.give(op)


def drop(a: BlockAssembler, op: Any) -> None:
    a.use(op.operands)
    if a.alive(op.operands[0]):
        raise LectError("a value is used after 'pyframe.drop' has released it", op=op)
    a.stack.drop(op.operands[0])


CUSTOM: Mapping[str, Callable[[BlockAssembler, Any], None]] = MappingProxyType(
    {
        "pyframe.call": call,
        "pyframe.call_ex": call_ex,
        "pyframe.call_graph": call_graph,
        "pyframe.dict_merge": dict_merge,
        "pyframe.drop": drop,
        "pyframe.load_attr": load_callee,
        "pyframe.load_exc": load_exc,
        "pyframe.load_global": load_callee,
        "pyframe.load_super_attr": load_callee,
        "pyframe.pop_exc": pop_exc,
        "pyframe.push_exc": push_exc,
        "pyframe.with_exit": with_exit,
        **dict.fromkeys(CONTAINER, into_container),
    }
)
