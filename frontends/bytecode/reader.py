"""From a code object to a list of instructions that are easy to decode.

Jump targets are positions in the list, variables are names, inline caches and EXTENDED_ARG are gone, and combined instructions are split.  Each
instruction knows its source position and the entry of the exception table that covers it.  Nothing here depends on what an instruction means.
"""

from __future__ import annotations

import dis
import opcode
import sys
from collections.abc import Iterator, Mapping
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

    def __init__(self, name: str, arg: Any, position: tuple[int | None, ...]) -> None:
        self.name = name
        self.arg = arg
        self.position = position
        self.handler: Handler | None = None

    def __repr__(self) -> str:
        return f"<{self.name} {self.arg!r}>"


def _cache_sizes() -> tuple[int, ...]:
    entries = opcode._inline_cache_entries  # type: ignore[attr-defined]
    if isinstance(entries, Mapping):  # by name since 3.13, a list by opcode before
        return tuple(entries.get(dis.opname[number], 0) for number in range(256))
    return tuple(entries[:256])


_CACHES = _cache_sizes()
_NAMES = tuple(dis.opname[:256])
_JUMPS = frozenset(dis.hasjrel)
_PLAIN, _VARIABLE, _JUMP, _LEAVES, _COMBINED = range(5)
_VARIABLES = frozenset(number for number in (*dis.haslocal, *dis.hasfree, dis.opmap["MAKE_CELL"]) if number < 256) - {dis.opmap["COPY_FREE_VARS"]}


def variable_names(code: CodeType) -> tuple[str, ...]:
    """Names of the frame's slots: parameters and locals, cells that are not among them, free variables."""
    return (*code.co_varnames, *(name for name in code.co_cellvars if name not in code.co_varnames), *code.co_freevars)


class Listing:
    """The instructions of a code object, dead ones included; `targets` are positions that jumps and handlers lead to, `leaders` those where a block begins."""

    __slots__ = ("instructions", "leaders", "targets")

    def __init__(self, instructions: list[Instruction], targets: set[int], leaders: set[int]) -> None:
        self.instructions = instructions
        self.targets = targets
        self.leaders = leaders


def read_instructions(code: CodeType) -> list[Instruction]:
    """The instructions of `code`, dead ones included."""
    return read_listing(code).instructions


def read_listing(code: CodeType) -> Listing:
    """The instructions of `code` and where its blocks begin."""
    variables = variable_names(code)
    positions = list(code.co_positions())
    raw, facts = code.co_code, _FACTS
    out: list[Instruction] = []
    starts: list[int] = []  # offset at which each instruction begins, its EXTENDED_ARGs included
    jumps: list[tuple[Instruction, int]] = []
    leaders: set[int] = set()
    offset = start = extended = 0
    size = len(raw)
    while offset < size:  # one pass without calls: this is a good part of the time of decoding
        number, arg = raw[offset], raw[offset + 1] | extended
        if number == EXTENDED_ARG:
            extended = arg << 8
            offset += 2
            continue
        name, kind, step = facts[number]
        position = positions[offset >> 1]
        extended = 0
        offset += step
        starts.append(start)
        if not kind:
            out.append(Instruction(name, arg, position))
        elif kind == _VARIABLE:
            out.append(Instruction(name, variables[arg], position))
        elif kind == _LEAVES:
            out.append(Instruction(name, arg, position))
            leaders.add(len(out))
        elif kind == _JUMP:
            instruction = Instruction(name, arg, position)
            jumps.append((instruction, offset + 2 * (-arg if "BACKWARD" in name else arg)))
            out.append(instruction)
            leaders.add(len(out))
        else:
            first, second = COMBINED[name]
            out += [Instruction(first, variables[arg >> 4], position), Instruction(second, variables[arg & 15], position)]
            starts.append(start)
        start = offset
    targets: set[int] = set()
    if jumps or code.co_exceptiontable:
        place_of = dict(zip(reversed(starts), range(len(starts) - 1, -1, -1)))
        for instruction, target in jumps:
            instruction.arg = place_of[target]
            targets.add(instruction.arg)
        _attach_handlers(code, out, starts, place_of, targets, leaders)
        leaders |= targets
    return Listing(out, targets, leaders)


def _attach_handlers(code: CodeType, out: list[Instruction], starts: list[int], place_of: dict[int, int], targets: set[int], leaders: set[int]) -> None:
    """Give instructions their handlers; blocks begin where the handler changes."""
    table = code.co_exceptiontable
    if not table:
        return
    place = 0
    for start, end, target, depth, pushes_place in _exception_table(table):
        if _turns_stop_iteration(out[place_of[target]]):
            continue
        handler = Handler(place_of[target], depth, pushes_place)
        targets.add(handler.target)
        while starts[place] < start:
            place += 1
        while place < len(starts) and starts[place] < end:
            out[place].handler = handler
            place += 1
    _extend_over_ends(out, targets)
    before = out[0].handler
    for position, instruction in enumerate(out):
        if instruction.handler is not before and instruction.handler != before:
            leaders.add(position)
            before = instruction.handler


def _turns_stop_iteration(instruction: Instruction) -> bool:
    """True for the handler around the body of a generator that 3.12 and later spell out."""
    return instruction.name == "CALL_INTRINSIC_1" and instruction.arg == STOPITERATION_ERROR


def _extend_over_ends(out: list[Instruction], targets: set[int]) -> None:
    """Instructions that cannot raise, up to the end of their block, count to the handler of those before, so that they need no block of their own."""
    place = 1
    while place < len(out):
        end = place
        while end < len(out) and out[end].name in NEVER_RAISING and end not in targets:
            end += 1
            if out[end - 1].name in NEVER_FALLS_THROUGH:
                break
        if end > place and (end in targets or out[end - 1].name in NEVER_FALLS_THROUGH) and out[place - 1].name not in NEVER_FALLS_THROUGH:
            for instruction in out[place:end]:
                instruction.handler = out[place - 1].handler
        place = max(end, place + 1)


_KINDS = tuple(
    _COMBINED
    if _NAMES[number] in COMBINED
    else _VARIABLE
    if number in _VARIABLES
    else _JUMP
    if number in _JUMPS
    else _LEAVES
    if _NAMES[number] in NEVER_FALLS_THROUGH
    else _PLAIN
    for number in range(256)
)
_FACTS = tuple((name, kind, 2 + 2 * caches) for name, kind, caches in zip(_NAMES, _KINDS, _CACHES))  # of an opcode: name, kind, and bytes
_JUMP_NAMES = frozenset(_NAMES[number] for number in _JUMPS if number < 256)


def is_jump(instruction: Instruction) -> bool:
    """True when `arg` is the position of a target."""
    return instruction.name in _JUMP_NAMES


def _exception_table(table: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """(start, end, target, depth, place) with offsets in bytes, in order of their starts."""
    numbers = iter(_varints(table))
    for start in numbers:
        length, target, packed = next(numbers), next(numbers), next(numbers)
        yield 2 * start, 2 * (start + length), 2 * target, packed >> 1, bool(packed & 1)


def _varints(table: bytes) -> Iterator[int]:
    """Numbers of six bits a byte, most significant first, with 64 as the mark that more follow."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0
