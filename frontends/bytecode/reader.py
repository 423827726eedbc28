"""From a code object to a list of instructions that are easy to decode.

Jump targets are places in the list, variables are names, inline caches and EXTENDED_ARG are gone, and combined instructions are split.  Of each
instruction the source position and the entry of the exception table that covers it are known.  Nothing here depends on what an instruction means.
"""

from __future__ import annotations

import dis
import opcode
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

VERSION = sys.version_info[:2]

# Two instructions in one, made by the compiler of 3.13; each half takes four bits of the argument.
COMBINED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
        "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
        "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
    }
)

# Instructions that neither raise nor let a signal handler run: a handler may or may not cover them.
NEVER_RAISING = frozenset(
    {"COPY", "IS_OP", "JUMP_FORWARD", "KW_NAMES", "LOAD_CLOSURE", "LOAD_CONST", "NOP", "POP_EXCEPT", "POP_TOP", "PUSH_EXC_INFO", "PUSH_NULL"}
    | {"RETURN_CONST", "RETURN_VALUE", "STORE_FAST", "SWAP"}
)

NEVER_FALLS_THROUGH = frozenset({"JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_FORWARD", "RAISE_VARARGS", "RERAISE", "RETURN_CONST", "RETURN_VALUE"})

STOPITERATION_ERROR = 3  # of CALL_INTRINSIC_1
EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]


class Handler(NamedTuple):
    """Where an exception goes: the handler's position, how much of the stack survives, and whether the place of the raise is pushed."""

    target: int
    depth: int
    place: bool


class Instruction:
    """One instruction.

    `arg` is the target's position for a jump and a name for a variable, else CPython's argument.  `position` is (line, end line, column, end
    column), each None when unknown.
    """

    __slots__ = ("arg", "handler", "name", "position")

    def __init__(self, name: str, arg: Any, position: tuple[int | None, ...], handler: Handler | None = None) -> None:
        self.name = name
        self.arg = arg
        self.position = position
        self.handler = handler

    def __repr__(self) -> str:
        return f"<{self.name} {self.arg!r}>"


def _cache_sizes() -> tuple[int, ...]:
    entries = opcode._inline_cache_entries  # type: ignore[attr-defined]
    if isinstance(entries, Mapping):  # by name since 3.13, a list by opcode before
        return tuple(entries.get(dis.opname[number], 0) for number in range(256))
    return tuple(entries[:256])


_CACHES = _cache_sizes()
NAMES = tuple(dis.opname[:256])  # of instructions, by opcode
_JUMPS = frozenset(number for number in dis.hasjrel if number < 256)
_BACKWARD = frozenset(number for number in _JUMPS if "BACKWARD" in NAMES[number])
_VARIABLES = frozenset(number for number in (*dis.haslocal, *dis.hasfree, dis.opmap["MAKE_CELL"]) if number < 256) - {dis.opmap["COPY_FREE_VARS"]}


def numbers_of(names: Iterable[str]) -> frozenset[int]:
    """The opcodes of those of these instructions that the running Python has."""
    return frozenset(dis.opmap[name] for name in names if dis.opmap.get(name, 256) < 256)


_COMBINED = numbers_of(COMBINED)
NEVER_RAISES_NUMBERS = numbers_of(NEVER_RAISING)
_LEAVES = numbers_of(NEVER_FALLS_THROUGH)
CACHE = dis.opmap["CACHE"]
assert CACHE == 0


def _any_of(numbers: Iterable[int]) -> re.Pattern[bytes]:
    return re.compile(b"[" + b"".join([b"\\x%02x" % number for number in sorted(numbers)]) + b"]")


_FIND_JUMPS = _any_of(_JUMPS)
_FIND_LEAVES = _any_of(_LEAVES - _JUMPS)
_FIND_VARIABLES = _any_of(_VARIABLES - _COMBINED)


def variable_names(code: CodeType) -> tuple[str, ...]:
    """Names of the frame's slots: parameters and locals, cells that are not among them, free variables."""
    if not code.co_cellvars:
        return code.co_varnames + code.co_freevars
    return (*code.co_varnames, *(name for name in code.co_cellvars if name not in code.co_varnames), *code.co_freevars)


class Listing:
    """The instructions of a code object, dead ones included, in columns by their place: most are looked at once, and many never.

    `numbers` are opcodes, `args` as in `Instruction`, `units` where they stand among CPython's.  `targets` are places that jumps and handlers lead to,
    `leaders` those where a block begins.
    """

    __slots__ = ("_positions", "args", "code", "handlers", "leaders", "numbers", "targets", "units")

    def __init__(self, code: CodeType, numbers: bytes, args: list[Any], units: list[int]) -> None:
        self.code = code
        self.numbers = numbers
        self.args = args
        self.units = units
        self.targets: set[int] = set()
        self.leaders: set[int] = set()
        self.handlers: list[Handler | None] | None = None  # None when there are none
        self._positions: list[tuple[int | None, ...]] | None = None

    def positions(self) -> list[tuple[int | None, ...]]:
        """The positions of all instructions."""
        if self._positions is None:
            units = self.units
            wanted = bytearray(units[-1] + 1)
            for unit in units:
                wanted[unit] = 1
            # those of inline caches, more than half of all, are not kept
            found: list[tuple[int | None, ...]] = list(compress(self.code.co_positions(), wanted))
            if len(found) != len(units):  # several instructions have one unit
                of_units = dict(zip(dict.fromkeys(units), found))
                found = [of_units[unit] for unit in units]
            self._positions = found
        return self._positions

    def handler(self, place: int) -> Handler | None:
        """The handler of an instruction."""
        return self.handlers[place] if self.handlers is not None else None

    def name(self, place: int) -> str:
        """The name of an instruction.  Raises IndexError behind the last."""
        return NAMES[self.numbers[place]]

    def names(self, begin: int, end: int) -> list[str]:
        """The names of the instructions from `begin` to before `end`, of which fewer may be left."""
        return [NAMES[number] for number in self.numbers[begin:end]]

    def position(self, place: int) -> tuple[int | None, ...]:
        """The position of an instruction."""
        return self.positions()[place]

    def instruction(self, place: int) -> Instruction:
        """An instruction with all that is known of it."""
        return Instruction(self.name(place), self.args[place], self.position(place), self.handler(place))


def read_instructions(code: CodeType) -> list[Instruction]:
    """The instructions of `code`, dead ones included."""
    listing = read_listing(code)
    return [listing.instruction(place) for place in range(len(listing.numbers))]


def read_listing(code: CodeType) -> Listing:
    """The instructions of `code` and where its blocks begin."""
    raw = code.co_code
    numbers = raw[::2]
    units = list(compress(range(len(numbers)), numbers))  # the number of CACHE is 0, and `co_code` shows inline caches as empty
    args: list[Any] = list(compress(raw[1::2], numbers))
    numbers = numbers.replace(_CACHE_BYTE, b"")
    starts = units
    if EXTENDED_ARG in numbers:
        numbers, args, units, starts = _with_wide_arguments(numbers, args, units)
    if not _COMBINED.isdisjoint(numbers):
        numbers, args, units, starts = _split(numbers, args, units, starts)
    listing = Listing(code, numbers, args, units)
    variables = variable_names(code)
    for found in _FIND_VARIABLES.finditer(numbers):
        place = found.start()
        args[place] = variables[args[place]]
    leaders, targets = listing.leaders, listing.targets
    leaders.update([found.end() for found in _FIND_LEAVES.finditer(numbers)])
    jumps = [found.start() for found in _FIND_JUMPS.finditer(numbers)]
    if jumps or code.co_exceptiontable:
        place_of = dict(zip(reversed(starts), range(len(starts) - 1, -1, -1)))
        for place in jumps:
            number = numbers[place]
            behind = units[place] + 1 + _CACHES[number]
            args[place] = place_of[behind - args[place] if number in _BACKWARD else behind + args[place]]
            targets.add(args[place])
            leaders.add(place + 1)
        _attach_handlers(listing, starts, place_of)
        leaders |= targets
    return listing


_CACHE_BYTE = bytes([CACHE])
_Columns = tuple[bytes, list[Any], list[int], list[int]]


def _with_wide_arguments(numbers: bytes, args: list[Any], units: list[int]) -> _Columns:
    """The columns without EXTENDED_ARG, and the unit at which each instruction begins with those in front of it."""
    out: _Columns = b"", [], [], []
    kept = bytearray()
    extended, start = 0, None
    for number, arg, unit in zip(numbers, args, units):
        start = unit if start is None else start
        if number == EXTENDED_ARG:
            extended = (arg | extended) << 8
            continue
        kept.append(number)
        out[1].append(arg | extended)
        out[2].append(unit)
        out[3].append(start)
        extended, start = 0, None
    return bytes(kept), *out[1:]


def _split(numbers: bytes, args: list[Any], units: list[int], starts: list[int]) -> _Columns:
    """The columns with each combined instruction in two."""
    out: _Columns = b"", [], [], []
    kept = bytearray()
    for number, arg, unit, start in zip(numbers, args, units, starts):
        halves = [(number, arg)]
        if number in _COMBINED:
            halves = [(dis.opmap[name], half) for name, half in zip(COMBINED[NAMES[number]], (arg >> 4, arg & 15))]
        for each, its_arg in halves:
            kept.append(each)
            out[1].append(its_arg)
            out[2].append(unit)
            out[3].append(start)
    return bytes(kept), *out[1:]


def _attach_handlers(listing: Listing, starts: list[int], place_of: dict[int, int]) -> None:
    """Give instructions their handlers; blocks begin where the handler changes."""
    table = listing.code.co_exceptiontable
    if not table:
        return
    handlers: list[Handler | None] = [None] * len(starts)
    place = 0
    for start, end, target, depth, pushes_place in _exception_table(table):
        if _turns_stop_iteration(listing, place_of[target]):
            continue
        handler = Handler(place_of[target], depth, pushes_place)
        listing.targets.add(handler.target)
        while starts[place] < start:
            place += 1
        while place < len(starts) and starts[place] < end:
            handlers[place] = handler
            place += 1
    _extend_over_ends(listing.numbers, handlers, listing.targets)
    listing.handlers = handlers
    before = handlers[0]
    for position, found in enumerate(handlers):
        if found is not before and found != before:
            listing.leaders.add(position)
            before = found


def _turns_stop_iteration(listing: Listing, place: int) -> bool:
    """True for the handler around the body of a generator that 3.12 and later spell out."""
    return listing.name(place) == "CALL_INTRINSIC_1" and listing.args[place] == STOPITERATION_ERROR


def _extend_over_ends(numbers: bytes, handlers: list[Handler | None], targets: set[int]) -> None:
    """Instructions that cannot raise, up to the end of their block, count to the handler of those before, so that they need no block of their own."""
    place = 1
    while place < len(numbers):
        end = place
        while end < len(numbers) and numbers[end] in NEVER_RAISES_NUMBERS and end not in targets:
            end += 1
            if numbers[end - 1] in _LEAVES:
                break
        if end > place and (end in targets or numbers[end - 1] in _LEAVES) and numbers[place - 1] not in _LEAVES:
            for each in range(place, end):
                handlers[each] = handlers[place - 1]
        place = max(end, place + 1)


def _exception_table(table: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """(start, end, target, depth, place) in units, in order of their starts."""
    numbers = iter(_varints(table))
    for start in numbers:
        length, target, packed = next(numbers), next(numbers), next(numbers)
        yield start, start + length, target, packed >> 1, bool(packed & 1)


def _varints(table: bytes) -> Iterator[int]:
    """Numbers of six bits a byte, most significant first, with 64 as the mark that more follow."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0
