"""Do two code objects behave the same?  A lockstep symbolic execution that does not use the decoder or the assembler.

Both machines run side by side.  What only moves things about (COPY, SWAP, NULLs, jumps, constants) is silent; every other instruction is an event
with its operands, its position and its handler, and the events must agree.  Stack entries are numbers that both sides share, so agreeing operands are
the same values.  States that were compared before, up to renaming of numbers, are not compared again: loops end.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from lect.frontends.bytecode.reader import Instruction, read_instructions

VERSION = sys.version_info[:2]
NULL = "null"
MAX_STATES = 50_000
SINCE_313 = VERSION >= (3, 13)
OLD = VERSION < (3, 12)

# name -> (operands, results); variable ones are in `Machine.shape`.
FIXED = {
    "BEFORE_WITH": (1, 2),
    "BINARY_OP": (2, 1),
    "BINARY_SLICE": (3, 1),
    "BINARY_SUBSCR": (2, 1),
    "GET_YIELD_FROM_ITER": (1, 1),
    "RETURN_GENERATOR": (0, 1),
    "CALL_INTRINSIC_1": (1, 1),
    "CALL_INTRINSIC_2": (2, 1),
    "CHECK_EG_MATCH": (2, 2),
    "COMPARE_OP": (2, 1),
    "CONTAINS_OP": (2, 1),
    "CONVERT_VALUE": (1, 1),
    "DELETE_ATTR": (1, 0),
    "DELETE_DEREF": (0, 0),
    "DELETE_FAST": (0, 0),
    "DELETE_GLOBAL": (0, 0),
    "DELETE_NAME": (0, 0),
    "DELETE_SUBSCR": (2, 0),
    "FORMAT_SIMPLE": (1, 1),
    "FORMAT_WITH_SPEC": (2, 1),
    "GET_ITER": (1, 1),
    "IMPORT_NAME": (2, 1),
    "IMPORT_STAR": (1, 0),
    "IS_OP": (2, 1),
    "LIST_TO_TUPLE": (1, 1),
    "LOAD_ASSERTION_ERROR": (0, 1),
    "LOAD_ATTR": (1, 1),
    "LOAD_BUILD_CLASS": (0, 1),
    "LOAD_CLASSDEREF": (0, 1),
    "LOAD_CLOSURE": (0, 1),
    "LOAD_DEREF": (0, 1),
    "LOAD_FAST": (0, 1),
    "LOAD_FAST_AND_CLEAR": (0, 1),
    "LOAD_FROM_DICT_OR_DEREF": (1, 1),
    "LOAD_FROM_DICT_OR_GLOBALS": (1, 1),
    "LOAD_GLOBAL": (0, 1),
    "LOAD_LOCALS": (0, 1),
    "LOAD_NAME": (0, 1),
    "LOAD_SUPER_ATTR": (3, 1),
    "MATCH_CLASS": (3, 1),
    "POP_EXCEPT": (1, 0),
    "PREP_RERAISE_STAR": (2, 1),
    "PRINT_EXPR": (1, 0),
    "RETURN_VALUE": (1, 0),
    "SETUP_ANNOTATIONS": (0, 0),
    "MAKE_CELL": (0, 0),
    "STORE_ATTR": (2, 0),
    "STORE_DEREF": (1, 0),
    "STORE_FAST": (1, 0),
    "STORE_GLOBAL": (1, 0),
    "STORE_NAME": (1, 0),
    "STORE_SLICE": (4, 0),
    "STORE_SUBSCR": (3, 0),
    "UNARY_INVERT": (1, 1),
    "UNARY_NEGATIVE": (1, 1),
    "UNARY_NOT": (1, 1),
    "UNARY_POSITIVE": (1, 1),
}
LOOKS_AT = {"CHECK_EXC_MATCH": (1, 1), "GET_LEN": (0, 1), "IMPORT_FROM": (0, 1), "MATCH_KEYS": (0, 2), "MATCH_MAPPING": (0, 1), "MATCH_SEQUENCE": (0, 1)}
INTO = {"LIST_APPEND": 1, "LIST_EXTEND": 1, "SET_ADD": 1, "SET_UPDATE": 1, "MAP_ADD": 2, "DICT_UPDATE": 1}
COUNTED = {"BUILD_LIST": 1, "BUILD_MAP": 2, "BUILD_SET": 1, "BUILD_SLICE": 1, "BUILD_STRING": 1, "BUILD_TUPLE": 1}
NAMED = {"DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME", "IMPORT_FROM", "IMPORT_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_NAME", "STORE_ATTR", "STORE_GLOBAL"}
NAMED |= {"STORE_NAME"}
BOOLS = {"CONTAINS_OP", "IS_OP", "UNARY_NOT", "CHECK_EXC_MATCH", "MATCH_MAPPING", "MATCH_SEQUENCE", "bool"}
TESTS = {"POP_JUMP_IF_TRUE": ("bool", True), "POP_JUMP_IF_FALSE": ("bool", False), "POP_JUMP_IF_NONE": ("none", True), "POP_JUMP_IF_NOT_NONE": ("none", False)}
SILENT_JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
NEVER_RAISES = {"STORE_FAST", "LOAD_CLOSURE", "IS_OP", "POP_EXCEPT", "RETURN_VALUE", "release", "push_exc", "LOAD_FAST_AND_CLEAR", "MAKE_CELL", "spin"}


class Different(Exception):
    """The two code objects do not behave alike; the message says where."""


class Event:
    """One instruction with an effect: what it is, what it takes, how many results it pushes, and where it stands."""

    def __init__(self, key: tuple[Any, ...], operands: list[Any], results: int, instruction: Instruction) -> None:
        self.key = key
        self.operands = operands
        self.results = results
        self.instruction = instruction


class Machine:
    """One of the two sides: instructions, place, stack."""

    def __init__(self, code: CodeType, hidden: bool) -> None:
        self.code = code
        self.instructions = read_instructions(code)
        self.hidden = hidden
        self.place = 0
        self.stack: list[Any] = []
        self.keywords: tuple[str, ...] = ()
        self.bools: set[Any] = set()
        self.queue: list[str] = []
        self.jumped_back = False

    def constant(self, value: Any) -> tuple[str, Any]:
        """A constant as a stack entry that names itself."""
        if isinstance(value, CodeType):
            return ("code", value.co_qualname, value.co_firstlineno)
        shown = sorted(map(repr, value)) if isinstance(value, frozenset) else value
        return ("const", repr(shown), type(value).__name__)  # type: ignore[return-value]

    def next_event(self) -> Event:
        """Run silent instructions, then give the next event with its operands taken from the stack."""
        if self.queue:
            self.queue.pop()
            instruction = self.instructions[self.place - 1]
            return Event(("bool",), [self.stack.pop()], 1, instruction)
        jumps = 0
        while True:
            instruction = self.instructions[self.place]
            jumps += instruction.name in SILENT_JUMPS
            if jumps > len(self.instructions):
                return Event(("spin",), [], 0, Instruction("NOP", 0, ()))  # `while True: pass`
            name, arg = instruction.name, instruction.arg
            name = name.replace("BACKWARD_IF", "IF").replace("FORWARD_IF", "IF")
            self.place += 1
            if not self._silent(name, arg):
                event = self._event(name, arg, instruction)
                if event is not None:
                    return event

    def _silent(self, name: str, arg: Any) -> bool:
        stack = self.stack
        if name in ("NOP", "RESUME", "PRECALL", "COPY_FREE_VARS"):
            return True
        if name == "MAKE_CELL":
            return all(i.name != "RESUME" for i in self.instructions[: self.place])
        if name in SILENT_JUMPS:
            self.jumped_back |= arg < self.place
            self.place = arg
        elif name == "PUSH_NULL":
            stack.append(NULL)
        elif name == "COPY":
            stack.append(stack[-arg])
        elif name == "SWAP":
            stack[-1], stack[-arg] = stack[-arg], stack[-1]
        elif name == "LOAD_CONST":
            stack.append(self.constant(self.code.co_consts[arg]))
        elif name == "KW_NAMES":
            self.keywords = self.code.co_consts[arg]
        elif name == "POP_TOP":
            return self._release()
        elif name == "TO_BOOL":
            return stack[-1] in self.bools
        else:
            return False
        return True

    def _release(self) -> bool:
        value = self.stack[-1]
        if value in self.stack[:-1] or (isinstance(value, tuple) and value[0] in ("const", "code")):
            self.stack.pop()
            return True
        return False

    def take(self, count: int) -> list[Any]:
        """Pop `count` entries, bottom first."""
        if count > len(self.stack):
            raise Different("the stack is empty")
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def variable(self, name: str) -> str:
        """A variable's name, without the dot that hides it from a namespace."""
        return name[1:] if self.hidden and name[:1] == "." else name

    def _event(self, name: str, arg: Any, ins: Instruction) -> Event | None:
        names = self.code.co_names
        if name == "POP_TOP":
            return Event(("release",), self.take(1), 0, ins)
        if name == "TO_BOOL":
            return Event(("bool",), self.take(1), 1, ins)
        if name in ("CALL", "CALL_KW"):
            return self._call(name, arg, ins)
        if name == "CALL_FUNCTION_EX":
            rest = self.take(1 + (arg & 1))
            pair = [entry for entry in self.take(2) if entry != NULL]
            return Event(("call_ex", len(rest)), [*pair, *rest], 1, ins)
        if name in ("LOAD_GLOBAL", "LOAD_METHOD", "LOAD_ATTR", "LOAD_SUPER_ATTR"):
            return self._load_with_null(name, arg, ins)
        if name == "LOAD_FAST_CHECK":
            name = "LOAD_FAST"
        if name == "LOAD_FAST" and arg in (*self.code.co_cellvars, *self.code.co_freevars):
            name = "LOAD_CLOSURE"
        if name == "RETURN_CONST":
            return Event(("RETURN_VALUE", 0), [self.constant(self.code.co_consts[arg])], 0, ins)
        if name == "MAKE_FUNCTION":
            count = bin(arg).count("1") + 1
            return Event((name, arg), self.take(count), 1, ins)
        if name == "SET_FUNCTION_ATTRIBUTE":
            return Event((name, arg), self.take(2), 1, ins)
        if name in NAMED:
            arg = names[arg]
        if isinstance(arg, str):
            arg = self.variable(arg)
        if name == "COMPARE_OP" and SINCE_313 and arg & 16:
            self.queue.append("bool")
            arg &= ~16
        if name in FIXED:
            count, results = FIXED[name]
            return Event((name, arg), self.take(count), results, ins)
        if name in COUNTED:
            return Event((name, arg), self.take(arg * COUNTED[name]), 1, ins)
        if name in LOOKS_AT:
            count, looks = LOOKS_AT[name]
            taken = self.take(count)
            return Event((name, arg), [*self.stack[-looks:], *taken], 1, ins)
        if name in INTO:
            taken = self.take(INTO[name])
            return Event((name,), [self.stack[-arg], *taken], 0, ins)
        return self._rare(name, arg, ins)

    def _load_with_null(self, name: str, arg: int, ins: Instruction) -> Event:
        names = self.code.co_names
        null = False
        operands: list[Any] = []
        if name == "LOAD_GLOBAL":
            key: tuple[Any, ...] = (name, names[arg >> 1])
            null = bool(arg & 1)
        elif name == "LOAD_SUPER_ATTR":
            operands = self.take(3)
            key = (name, names[arg >> 2], arg & 2)
            null = bool(arg & 1)
        else:
            operands = self.take(1)
            null = name == "LOAD_METHOD" or (not OLD and bool(arg & 1))
            key = ("LOAD_ATTR", names[arg] if OLD else names[arg >> 1])
        event = Event(key, operands, 1, ins)
        if null:
            event.results = -1  # a result and a NULL
        return event

    def _call(self, name: str, count: int, ins: Instruction) -> Event:
        keywords = self.keywords
        self.keywords = ()
        if name == "CALL_KW":
            (constant,) = self.take(1)
            keywords = constant[1]
        elif keywords:
            keywords = repr(keywords)  # type: ignore[assignment]
        operands = [entry for entry in self.take(count + 2) if entry != NULL]
        return Event(("call", keywords, len(operands)), operands, 1, ins)

    def _rare(self, name: str, arg: Any, ins: Instruction) -> Event | None:
        stack = self.stack
        if name == "BUILD_CONST_KEY_MAP":
            return Event((name, arg), self.take(arg + 1), 1, ins)
        if name == "FORMAT_VALUE":
            return Event((name, arg), self.take(2 if arg & 4 else 1), 1, ins)
        if name == "UNPACK_SEQUENCE":
            return Event((name, arg), self.take(1), arg, ins)
        if name == "UNPACK_EX":
            return Event((name, arg), self.take(1), (arg & 255) + 1 + (arg >> 8), ins)
        if name == "DICT_MERGE":
            taken = self.take(1)
            return Event((name,), [stack[-arg - 2 - SINCE_313], stack[-arg], *taken], 0, ins)
        if name == "WITH_EXCEPT_START":
            return Event((name,), [stack[-4], stack[-1]], 1, ins)
        if name == "PUSH_EXC_INFO":
            return Event(("push_exc",), [stack[-1]], 0, ins)
        if name == "RAISE_VARARGS":
            return Event((name, arg), self.take(arg), 0, ins)
        if name == "RERAISE":
            taken = self.take(1)
            return Event((name, bool(arg)), [*taken, *([stack[-arg]] if arg else [])], 0, ins)
        if name == "FOR_ITER":
            return Event((name,), [stack[-1]], 0, ins)
        if name in TESTS:
            return Event(("cond", TESTS[name][0]), [stack[-1]], 0, ins)
        if name in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
            return Event(("cond", "bool"), [stack[-1]], 0, ins)
        return self._suspension(name, arg, ins)

    def _suspension(self, name: str, arg: Any, ins: Instruction) -> Event:
        """Instructions of generators.  What `close` looks at is the argument of YIELD_VALUE or of the RESUME behind it."""
        if name == "YIELD_VALUE":
            resume = self.instructions[self.place]
            if resume.name != "RESUME" or resume.position != ins.position:
                raise Different("no RESUME stands behind YIELD_VALUE")
            closes_at_once = arg == 1 if VERSION == (3, 12) else arg
            return Event((name, closes_at_once, resume.arg), self.take(1), 1, ins)
        if name == "SEND":
            return Event((name,), self.stack[-2:], 0, ins)
        if name == "END_SEND":
            value = self.stack.pop()
            return Event((name,), [*self.take(1), value], 0, ins)
        if name == "CLEANUP_THROW":
            return Event((name,), self.take(3), 0, ins)
        raise Different(f"unknown instruction {name}")


def branches(machine: Machine, name: str, arg: int, kind: str) -> tuple[tuple[int, list[Any]], tuple[int, list[Any]]]:
    """(place, stack) when the test holds, and when it does not."""
    popped = machine.stack[:-1]
    if name.endswith("_OR_POP"):
        stays = (arg, machine.stack)
        goes = (machine.place, popped)
        return (stays, goes) if "TRUE" in name else (goes, stays)
    plain = name.replace("BACKWARD_IF", "IF").replace("FORWARD_IF", "IF")
    jump, fall = (arg, popped), (machine.place, popped)
    return (jump, fall) if TESTS[plain][1] else (fall, jump)


class Comparison:
    """Compares two code objects; `releases` is False to ignore when temporaries are released."""

    def __init__(self, first: CodeType, second: CodeType) -> None:
        hidden = not first.co_flags & 1
        self.machines = (Machine(first, hidden), Machine(second, hidden))
        self.seen: set[Any] = set()
        self.waiting: list[tuple[tuple[int, list[Any]], tuple[int, list[Any]]]] = []
        self.fresh = 0

    def run(self) -> int:
        """Compare everything reachable; the number of events.  Raises Different."""
        self.waiting.append(((0, []), (0, [])))
        events = 0
        while self.waiting:
            left, right = self.waiting.pop()
            key = self._key(left, right)
            if key in self.seen:
                continue
            self.seen.add(key)
            if len(self.seen) > MAX_STATES:
                raise Different("too many states")
            for machine, (place, stack) in zip(self.machines, (left, right)):
                machine.place, machine.stack, machine.keywords, machine.queue = place, list(stack), (), []
            while self._step():
                events += 1
                if self.machines[0].jumped_back and self._was_here():
                    break
        return events

    def _was_here(self) -> bool:
        """Note the state behind a jump backward; True when it was noted before (a loop without a branch)."""
        a, b = self.machines
        a.jumped_back = False
        key = self._key((a.place, a.stack), (b.place, b.stack))
        known = key in self.seen
        self.seen.add(key)
        return known

    def _key(self, left: tuple[int, list[Any]], right: tuple[int, list[Any]]) -> Any:
        renamed: dict[Any, int] = {}

        def rename(stack: list[Any]) -> tuple[Any, ...]:
            return tuple([renamed.setdefault(entry, len(renamed)) if isinstance(entry, int) else entry for entry in stack])

        return (left[0], rename(left[1]), right[0], rename(right[1]))

    def _new(self) -> int:
        self.fresh += 1
        return self.fresh

    def _step(self) -> bool:
        a, b = self.machines
        ea, eb = a.next_event(), b.next_event()
        if ea.key != eb.key or ea.operands != eb.operands:
            raise Different(f"{ea.key}{ea.operands} at {ea.instruction.position} against {eb.key}{eb.operands} at {eb.instruction.position}")
        if ea.instruction.position != eb.instruction.position and ea.key[0] != "release":
            raise Different(f"{ea.key} stands at {ea.instruction.position} and at {eb.instruction.position}")
        if ea.key[0] not in NEVER_RAISES:
            self._handlers(ea, eb)
        name = ea.key[0]
        if name in ("RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "spin"):
            return False
        if name == "cond":
            sides = [branches(m, e.instruction.name, e.instruction.arg, ea.key[1]) for m, e in ((a, ea), (b, eb))]
            self.waiting += [(sides[0][0], sides[1][0]), (sides[0][1], sides[1][1])]
            return False
        if name in ("FOR_ITER", "SEND"):
            (self._loop if name == "FOR_ITER" else self._delegation)(ea, eb)
            return False
        if name in ("END_SEND", "CLEANUP_THROW"):
            for machine, event in ((a, ea), (b, eb)):
                machine.stack += ["none", self._cleaned(event)] if name == "CLEANUP_THROW" else event.operands[1:]
            return True
        if name == "push_exc":
            previous = self._new()
            for machine in (a, b):
                machine.stack.insert(len(machine.stack) - 1, previous)
            return True
        results = [self._new() for _ in range(abs(ea.results))]
        for machine, event in ((a, ea), (b, eb)):
            if event.results < 0:
                machine.stack += [*results, NULL] if SINCE_313 else [NULL, *results]
            else:
                machine.stack += results
            if name in BOOLS:
                machine.bools.update(results)
        return True

    def _loop(self, ea: Event, eb: Event) -> None:
        item = self._new()
        skipped = 0 if OLD else 2 if SINCE_313 else 1
        bodies, exits = [], []
        for machine, event in zip(self.machines, (ea, eb)):
            bodies.append((machine.place, [*machine.stack, item]))
            exits.append((event.instruction.arg + skipped, machine.stack[:-1]))
        self.waiting += [(bodies[0], bodies[1]), (exits[0], exits[1])]

    def _delegation(self, ea: Event, eb: Event) -> None:
        """SEND: the delegate hands out a value and stays, or returns one; since 3.12 it stays then too, for END_SEND."""
        given = self._new()
        stays, ends = [], []
        for machine, event in zip(self.machines, (ea, eb)):
            stays.append((machine.place, [*machine.stack[:-1], given]))
            ends.append((event.instruction.arg, [*machine.stack[: -2 if OLD else -1], given]))
        self.waiting += [(stays[0], stays[1]), (ends[0], ends[1])]

    def _cleaned(self, event: Event) -> Any:
        """The value of the StopIteration that CLEANUP_THROW takes, the same on both sides for the same exception."""
        return ("value of", event.operands[-1])

    def _handlers(self, ea: Event, eb: Event) -> None:
        ha, hb = ea.instruction.handler, eb.instruction.handler
        if ha is None or hb is None:
            if ha is not hb:
                raise Different(f"{ea.key} at {ea.instruction.position}: handlers {ha} and {hb}")
            return
        place, exception = self._new(), self._new()
        sides = []
        for machine, handler, event in ((self.machines[0], ha, ea), (self.machines[1], hb, eb)):
            whole = machine.stack if event.key[0] in ("cond", "FOR_ITER") or handler.depth <= len(machine.stack) else [*machine.stack, *event.operands]
            kept = whole[: handler.depth]
            if len(kept) < handler.depth:
                raise Different(f"{event.key} at {event.instruction.position}: the stack is lower than its handler's depth")
            sides.append((handler.target, [*kept, *([place] if handler.place else []), exception]))
        self.waiting.append((sides[0], sides[1]))


def compare(first: CodeType, second: CodeType) -> int:
    """The number of events compared.  Raises Different when behaviour differs."""
    return Comparison(first, second).run()
