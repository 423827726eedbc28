"""Code objects to `pyframe`: an abstract interpretation of the operand stack, one block at a time.

Each block is decoded once, when an edge first reaches it; the values on the stack become its arguments.  NULLs that CPython pushes for calls are
kept as None on the decoder's stack and never become values.  Unreachable instructions vanish.

    code = function.__code__
    module = decode(code, ctx)            # builtin.module: the function, then the functions nested in it
    func = decode_function(code)          # the function alone
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from opcode import opmap
from types import CodeType
from typing import Any

from lect.dialects.builtin.ops import ModuleOp
from lect.dialects.pyframe.control import NEVER_RAISES, BranchOp, FuncOp
from lect.dialects.pyframe.types import OBJECT, PLACE
from lect.frontends.bytecode.reader import NAMES, NEVER_RAISES_NUMBERS, VERSION, Handler, read_listing
from lect.ir import UNKNOWN, Block, Context, LectError, Location, Operation, Region, Value
from lect.ir.location import location_of, locations_of

Decode = Callable[["FrameDecoder", Any], None]

CO_OPTIMIZED, CO_NEWLOCALS, CO_VARARGS, CO_VARKEYWORDS, CO_NESTED = 0x1, 0x2, 0x4, 0x8, 0x10
CO_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200
MAX_THREADED_JUMPS = 100
_NOP, _JUMP_FORWARD = opmap["NOP"], opmap["JUMP_FORWARD"]
_THREADED = frozenset({_NOP, _JUMP_FORWARD, opmap["JUMP_BACKWARD"]})


class UnsupportedCode(LectError):
    """A code object that `pyframe` does not express; `number` identifies the reason."""

    def __init__(self, number: str, message: str, code: CodeType, loc: Location | None = None) -> None:
        place = loc if loc is not None else Location(code.co_filename, code.co_firstlineno, None, code.co_qualname)
        super().__init__(f"{number}: {message}", place)
        self.number = number


def unsupported_kind(code: CodeType) -> tuple[str, str] | None:
    """(number, sentence) when `code` is not the body of a synchronous function, generator, class or module; else None."""
    flags = code.co_flags
    if flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE):
        return "LB0102", f"'{code.co_qualname}' is a coroutine"
    if flags & CO_ASYNC_GENERATOR:
        return "LB0103", f"'{code.co_qualname}' is an asynchronous generator"
    both = set(code.co_cellvars).intersection(code.co_freevars)
    if both:
        return "LB0108", f"'{code.co_qualname}' has the variable '{min(both)}' of its own and another of that name from around"
    return None


def decode(code: CodeType, ctx: Context, skip_unsupported: bool = False) -> Operation:
    """A `builtin.module` with the function of `code` first and those of its nested code objects behind it.

    Raises UnsupportedCode, for a nested coroutine too unless `skip_unsupported`, which leaves those out.
    """
    names = Symbols()
    body = Block()
    first = names.of(code)
    for symbol, each in names:
        if skip_unsupported and symbol is not first and unsupported_kind(each) is not None:
            continue
        body.append(decode_function(each, names.of))
    return ModuleOp(regions=[Region([body])])


class Symbols:
    """Symbol names of code objects: the qualified name, made unique.  Iteration gives those that were asked for, also while it goes on."""

    def __init__(self) -> None:
        self._by_code: dict[int, tuple[str, CodeType]] = {}
        self.codes: dict[str, CodeType] = {}  # those asked for so far, by symbol
        self._taken: set[str] = set()

    def of(self, code: CodeType) -> str:
        """The symbol of `code`, the same each time."""
        known = self._by_code.get(id(code))
        if known is not None:
            return known[0]
        symbol, number = code.co_qualname or "_", 0
        while symbol in self._taken:
            number += 1
            symbol = f"{code.co_qualname}_{number}"
        self._taken.add(symbol)
        self._by_code[id(code)] = (symbol, code)
        self.codes[symbol] = code
        return symbol

    def __iter__(self):  # type: ignore[no-untyped-def]
        done = 0
        while done < len(self._by_code):
            for pair in list(self._by_code.values())[done:]:
                done += 1
                yield pair


def decode_function(code: CodeType, symbol_of: Callable[[CodeType], str] | None = None) -> FuncOp:
    """The `pyframe.func` of one code object; `symbol_of` names it and the code objects among its constants (by default their qualified names).

    Raises UnsupportedCode.
    """
    decoder = begin_function(code, symbol_of if symbol_of is not None else Symbols().of)
    decoder.complete()
    return decoder.func


def begin_function(code: CodeType, symbol_of: Callable[[CodeType], str]) -> FrameDecoder:
    """A decoder whose `func` is complete but for blocks that are not decoded.  Raises UnsupportedCode."""
    reason = unsupported_kind(code)
    if reason is not None:
        raise UnsupportedCode(*reason, code)
    return FrameDecoder(code, symbol_of, instruction_handlers())


def instruction_handlers() -> Sequence[Decode | None]:
    """The handlers of the running Python by opcode, imported at the first call."""
    if VERSION == (3, 11):
        from lect.frontends.bytecode.py311 import BY_NUMBER
    elif VERSION == (3, 12):
        from lect.frontends.bytecode.py312 import BY_NUMBER
    elif VERSION == (3, 13):
        from lect.frontends.bytecode.py313 import BY_NUMBER
    else:
        raise LectError(f"bytecode of Python {sys.version.split()[0]} is not known; lect reads 3.11, 3.12 and 3.13")
    return BY_NUMBER


class Entry:
    """A block and the stack at its entry: its arguments, with None for each NULL."""

    __slots__ = ("block", "place", "stack")

    def __init__(self, place: int, stack: list[Value | None]) -> None:
        self.place = place
        self.block = Block()
        self.stack = [value if value is None else self.block.add_arg(value.type, value.hint) for value in stack]

    def agrees_with(self, stack: list[Value | None]) -> bool:
        """True when another edge may come in with `stack`."""
        if len(stack) != len(self.stack):
            return False
        return all((a is None) == (b is None) and (a is None or a.type is b.type) for a, b in zip(self.stack, stack))  # type: ignore[union-attr]


class FrameDecoder:
    """Decodes one code object, block by block, into `func`.  Handlers of instructions use `pop`, `push`, `emit`, `edge` and `finish`.

    `decode(block)` fills in a block to which another one leads.  `complete()` does that for all that are left and puts the blocks in their order; before
    that, `func` holds its first block alone.
    """

    def __init__(self, code: CodeType, symbol_of: Callable[[CodeType], str], table: Sequence[Decode | None]) -> None:
        self.code = code
        self.symbol_of = symbol_of
        self.table = table
        self.listing = listing = read_listing(code)
        self.targets, self.leaders = listing.targets, listing.leaders
        self.cells = frozenset(code.co_cellvars + code.co_freevars)
        shown = local_names(code)
        self.renamed = {name: other for name, other in zip(code.co_varnames, shown) if name != other} if shown is not code.co_varnames else {}
        self.entries: dict[int, Entry] = {}
        self.waiting: list[int] = []
        self.places: dict[Block, int] = {}  # of the blocks that are not decoded
        self.failure: UnsupportedCode | None = None
        self.keywords: tuple[str, ...] = ()  # left by KW_NAMES for the next call
        self.stack: list[Value | None] = []
        self.block = Block()
        self.place = 0
        self.done = False
        self.loc = UNKNOWN
        self.locations = locations_of(code.co_filename, code.co_qualname)
        self.last_result: Value | None = None
        self._kept: list[Value | None] | None = None
        self._handler: Handler | None = None
        self._position: tuple[int | None, ...] | None = None
        start = self._enter(self._start(), [])
        attrs = {"sym_name": symbol_of(code), **frame_attributes(code)}
        self.func = FuncOp.create((), (), _without_defaults(attrs), [Region([start.block])])

    # ---- the walk ----------------------------------------------------------------------------------------------------

    def _enter(self, place: int, stack: list[Value | None]) -> Entry:
        """A new block at `place`, to be decoded."""
        entry = self.entries[place] = Entry(place, stack)
        self.places[entry.block] = place
        heappush(self.waiting, place)
        return entry

    def decode(self, block: Block) -> None:
        """Fill in a block, unless that has been done.  Raises UnsupportedCode."""
        if self.failure is not None:
            raise self.failure
        place = self.places.get(block)
        if place is not None:
            try:
                self._decode_block(self.entries[place])
            except UnsupportedCode as error:
                self.failure = error
                raise
            del self.places[block]

    def complete(self) -> None:
        """Decode everything reachable.  Raises UnsupportedCode."""
        while self.waiting:
            self.decode(self.entries[heappop(self.waiting)].block)
        blocks = [entry.block for _, entry in sorted(self.entries.items())]
        self._name_blocks(blocks)
        region = self.func.region
        region.blocks = []
        for block in blocks:
            region.append(block)

    def _start(self) -> int:
        """The first instruction of the body: that of a generator lies behind the one that makes the suspended frame and the one that drops it."""
        if not self.code.co_flags & CO_GENERATOR:
            return 0
        return self.listing.numbers.index(opmap["RETURN_GENERATOR"]) + 2

    def _decode_block(self, entry: Entry) -> None:
        listing, leaders, table = self.listing, self.leaders, self.table
        numbers, args, positions = listing.numbers, listing.args, listing.positions()
        place = entry.place
        self.block = entry.block
        self.stack = list(entry.stack)
        self._kept = None
        handler = self._handler = listing.handler(place)
        self.last_result = None
        self.done = False
        while True:
            number = numbers[place]
            self.place = place
            position = positions[place]
            if position != self._position:
                self._locate(position)
            if handler is not None and self._kept is None and number not in NEVER_RAISES_NUMBERS:
                self._kept = self.stack[: handler.depth]
            decode_one = table[number]
            if decode_one is None:
                raise self.fail("LB0104", f"no handler for the instruction {NAMES[number]}")
            decode_one(self, args[place])
            if self.done:
                return
            place += 1
            if place in leaders:
                self.jump(place)
                return

    def _locate(self, position: tuple[int | None, ...]) -> None:
        self._position = position
        line, _, column, end_column = position
        if line is None:
            self.loc = UNKNOWN
        elif column is None or end_column is None:
            self.loc = Location(self.code.co_filename, line, None, self.code.co_qualname)
        else:
            self.loc = location_of(self.locations, self.code.co_filename, self.code.co_qualname, position)

    def _name_blocks(self, blocks: list[Block]) -> None:
        taken: dict[str, int] = {}
        for block in blocks:
            hint = block.hint
            if hint is not None:
                number = taken[hint] = taken.get(hint, 0) + 1
                block.hint = f"{hint}_{number}"

    # ---- for the handlers of instructions ----------------------------------------------------------------------------

    def fail(self, number: str, message: str) -> UnsupportedCode:
        """The error about the current instruction; the caller raises it."""
        return UnsupportedCode(number, message, self.code, self.loc)

    def before_resume(self) -> bool:
        """True in the prologue that CPython puts in front of a function's own instructions."""
        return opmap["RESUME"] not in self.listing.numbers[: self.place]

    def is_replaced(self, name: str) -> bool:
        """True when an inlined comprehension may hold a plain value where the cell `name` was."""
        clears = opmap.get("LOAD_FAST_AND_CLEAR")  # new in 3.12
        return any(number == clears and arg == name for number, arg in zip(self.listing.numbers, self.listing.args))

    def pop(self) -> Value:
        """The top of the stack.  Raises UnsupportedCode on a NULL or an empty stack."""
        value = self.stack.pop() if self.stack else None
        if value is None:
            raise self.fail("LB0105", f"{self.listing.name(self.place)} finds no value on the stack")
        return value

    def pop_many(self, count: int) -> list[Value]:
        """The top `count` values, bottom first."""
        if not count:
            return []
        values = self.stack[-count:]
        del self.stack[-count:]
        if len(values) != count or None in values:
            raise self.fail("LB0105", f"{self.listing.name(self.place)} finds no value on the stack")
        return values  # type: ignore[return-value]

    def peek(self, depth: int) -> Value:
        """The value `depth` entries down (1 is the top)."""
        value = self.stack[-depth] if depth <= len(self.stack) else None
        if value is None:
            raise self.fail("LB0105", f"{self.listing.name(self.place)} finds no value on the stack")
        return value

    def push(self, value: Value | None) -> None:
        """Put a value, or None for NULL, on the stack."""
        self.stack.append(value)

    def emit(self, op: Operation) -> None:
        """Add an operation that leaves nothing on the stack."""
        self.block.append(op)
        self.last_result = None

    def produce(self, kind: type[Operation], operands: Sequence[Value], attrs: dict[str, Any], hint: str | None = None) -> None:
        """Add an operation of this kind with one object as its result, and push that; for the kinds that are frequent."""
        value = self.last_result = self.block.make(kind, operands, OBJECT, attrs, self.loc, hint)
        self.stack.append(value)

    def emit_value(self, op: Operation) -> Value:
        """Add an operation with one result and push the result."""
        self.block.append(op)
        (value,) = op.results
        self.last_result = value
        self.stack.append(value)
        return value

    def edge(self, place: int, stack: list[Value | None] | None = None, produced: int = 0, hint: str | None = None) -> tuple[Block, list[Value]]:
        """The block at `place` for an edge with `stack` (by default the current one), and the operands to pass.

        The last `produced` entries of `stack` come from the terminator itself and are not among the operands.
        """
        stack = self.stack if stack is None else stack
        place = self.thread(place)
        entry = self.entries.get(place)
        if entry is None:
            entry = self._enter(place, stack)
        elif not entry.agrees_with(stack):
            raise self.fail("LB0106", "the stack at a jump target depends on where the jump comes from")
        if hint is not None and entry.block.hint is None:
            entry.block.hint = hint
        passed = [value for value in (stack[:-produced] if produced else stack) if value is not None]
        return entry.block, passed

    def thread(self, place: int) -> int:
        """The place where a jump to `place` ends, past instructions that only jump on."""
        listing = self.listing
        for _ in range(MAX_THREADED_JUMPS):
            number = listing.numbers[place]
            if number not in _THREADED:
                break
            if number == _NOP:
                place += 1
            elif number == _JUMP_FORWARD or listing.handler(place) == self._handler:
                place = listing.args[place]
            else:
                break
        return place

    def finish(self, make: Callable[..., Operation], *operands: Any, **keywords: Any) -> None:
        """End the block with a terminator; `unwind` is added when a handler covers the block and something in it may raise."""
        if self._handler is not None and self._may_raise(make):
            keywords["unwind"], keywords["unwind_operands"] = self._unwind(self._handler)
        self.block.append(make(*operands, loc=self.loc, **keywords))
        self.done = True

    def leave(self, kind: type[Operation], operands: Sequence[Value], ways: Sequence[tuple[Block, list[Value]]], attrs: dict[str, Any]) -> None:
        """`finish` for the kinds that are frequent: terminators of plain operands, with ways on and `unwind` behind them."""
        sizes = [1] * len(operands)
        blocks: list[Block] = []
        values = list(operands)
        if self._handler is not None and self._may_raise(kind):
            ways = [*ways, self._unwind(self._handler)]
        for block, passed in ways:
            blocks.append(block)
            values += passed
            sizes.append(len(passed))
        if len(kind.definition.successors) > len(ways):  # type: ignore[union-attr]
            sizes.append(0)
        if kind.definition.needs_segments:  # type: ignore[union-attr]
            attrs["operand_segments"] = tuple(sizes)
        self.block.append(kind.create(values, (), attrs, (), blocks, self.loc))
        self.done = True

    def jump(self, place: int) -> None:
        """End the block with a branch to `place`."""
        self.leave(BranchOp, (), [self.edge(place)], {})

    def _may_raise(self, make: Callable[..., Operation]) -> bool:
        if getattr(make, "name", "") not in NEVER_RAISES or "BACKWARD" in self.listing.name(self.place):
            return True
        return any(op.name not in NEVER_RAISES for op in self.block)

    def _unwind(self, handler: Handler) -> tuple[Block, list[Value]]:
        kept = self._kept if self._kept is not None else self.stack[: handler.depth]
        if len(kept) < handler.depth:
            raise self.fail("LB0107", "an exception handler keeps more of the stack than there is")
        pushed = [Value(PLACE, self.block, 0, "place")] if handler.place else []
        stack = [*kept, *pushed, Value(OBJECT, self.block, 0, "exc")]
        return self.edge(handler.target, stack, len(pushed) + 1, "except")


def frame_attributes(code: CodeType) -> dict[str, Any]:
    """The attributes of `pyframe.func` that describe the frame of `code`."""
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    flags = code.co_flags
    position = count + keyword_only
    varargs = names[position] if flags & CO_VARARGS else None
    position += varargs is not None
    varkw = names[position] if flags & CO_VARKEYWORDS else None
    position += varkw is not None
    local = local_names(code)[position:]
    return {
        "code_name": code.co_name,
        "qualname": code.co_qualname if code.co_qualname != code.co_name else None,
        "args": names[:count],
        "positional_only": code.co_posonlyargcount,
        "keyword_only": names[count : count + keyword_only],
        "varargs": varargs,
        "varkw": varkw,
        "locals": local,
        "cells": code.co_cellvars,
        "free": code.co_freevars,
        "flags": flag_names(flags),
        "doc": docstring(code),
        "file": code.co_filename,
        "first_line": code.co_firstlineno,
    }


def _without_defaults(attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a `pyframe.func` as the operation keeps them.  Its constructor does the same, more slowly; each function is decoded once."""
    declared = FuncOp.definition.attrs  # type: ignore[union-attr]
    return {name: value for name, value in attrs.items() if not declared[name].has_default or value != declared[name].default}


def local_names(code: CodeType) -> tuple[str, ...]:
    """The names of local variables, as `pyframe` shows them.

    Assembled class bodies and modules have a dot in front of the variables of inlined comprehensions, which only hides them from the namespace.  A
    variable of a comprehension that has the name of a free variable keeps or gets a dot, to tell the two apart.
    """
    free = code.co_freevars
    if code.co_flags & CO_OPTIMIZED:
        if not free:
            return code.co_varnames
        plain = list(code.co_varnames)
    else:
        plain = [name[1:] if name[:1] == "." and name[1:].isidentifier() else name for name in code.co_varnames]
    return tuple([f".{name}" if name in free else name for name in plain])


_FLAG_WORDS = ((CO_OPTIMIZED, "optimized"), (CO_NEWLOCALS, "newlocals"), (CO_NESTED, "nested"), (CO_GENERATOR, "generator"))


def flag_names(flags: int) -> tuple[str, ...]:
    """Words for those flags of a code object that the other attributes do not tell."""
    found = [word for bit, word in _FLAG_WORDS if flags & bit]
    if flags >> 17:
        import __future__

        found += [name for name in __future__.all_feature_names if flags & getattr(__future__, name).compiler_flag & ~0xFFFF]
    return tuple(found)


def docstring(code: CodeType) -> str | None:
    """The docstring that functions made from `code` get: the first constant, if it is a string."""
    if not code.co_consts or not code.co_flags & CO_OPTIMIZED:
        return None
    first = code.co_consts[0]
    return first if isinstance(first, str) else None
