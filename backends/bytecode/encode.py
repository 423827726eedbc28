"""Symbolic instructions to the tables of a code object: bytes, line table, exception table.

An instruction's argument is a number, or a `Label` for a jump.  Jumps are relative and count in units of two bytes from behind the instruction and
its inline caches; arguments over 255 need EXTENDED_ARG, which moves everything behind, so sizes grow until nothing changes.
"""

from __future__ import annotations

import dis
import opcode
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from lect.ir import LectError, Location

VERSION = sys.version_info[:2]
OPCODES: Final = {**dis.opmap, "STORE_FAST_MAYBE_NULL": dis.opmap["STORE_FAST"]}  # under a name of its own it is not joined with another instruction
EXTENDED_ARG = OPCODES["EXTENDED_ARG"]
_CACHE_TABLE = opcode._inline_cache_entries  # type: ignore[attr-defined]


def _cache_units(name: str) -> int:
    """How many units of inline cache follow an instruction."""
    if isinstance(_CACHE_TABLE, Mapping):
        return _CACHE_TABLE.get(name, 0)
    return int(_CACHE_TABLE[OPCODES[name]]) if OPCODES[name] < len(_CACHE_TABLE) else 0


CACHE_UNITS: Mapping[str, int] = MappingProxyType({name: _cache_units(name) for name in OPCODES})


class Label:
    """A place that jumps go to; `index` is the position of the instruction behind it, set when the label is placed."""

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index = -1


class Cover(NamedTuple):
    """A handler for a range of instructions: where to go, how much of the stack survives, and whether the place of the raise is pushed."""

    target: Label
    depth: int
    place: bool


class Instr:
    """One symbolic instruction; `cover` is the handler for exceptions it raises."""

    __slots__ = ("arg", "cover", "loc", "name")

    def __init__(self, name: str, arg: int | Label, loc: Location) -> None:
        self.name = name
        self.arg = arg
        self.loc = loc
        self.cover: Cover | None = None

    def __repr__(self) -> str:
        return f"<{self.name} {self.arg}>"


def encode(instrs: list[Instr], first_line: int) -> tuple[bytes, bytes, bytes]:
    """(bytecode, line table, exception table).  Raises LectError when a jump goes in a direction its instruction cannot."""
    numbers, offsets, prefixes = _resolve(instrs)
    raw = bytearray()
    for instr, number, count in zip(instrs, numbers, prefixes):
        for shift in range(8 * count, 0, -8):
            raw += bytes((EXTENDED_ARG, number >> shift & 0xFF))
        raw += bytes((OPCODES[instr.name], number & 0xFF))
        raw += bytes(2 * CACHE_UNITS[instr.name])
    return bytes(raw), _line_table(instrs, offsets, first_line), _exception_table(instrs, offsets)


def _resolve(instrs: list[Instr]) -> tuple[list[int], list[int], list[int]]:
    """Final arguments, offsets in units (one more than there are instructions), and the number of EXTENDED_ARGs of each instruction."""
    sizes = [1 + CACHE_UNITS[instr.name] for instr in instrs]
    numbers = [instr.arg if isinstance(instr.arg, int) else 0 for instr in instrs]
    prefixes = [_prefix_count(number) for number in numbers]
    jumps = [(position, instr.arg.index) for position, instr in enumerate(instrs) if isinstance(instr.arg, Label)]
    while True:
        offsets = [0]
        for size, count in zip(sizes, prefixes):
            offsets.append(offsets[-1] + size + count)
        grown = False
        for position, target in jumps:
            distance = offsets[target] - offsets[position + 1]
            if "BACKWARD" in instrs[position].name:
                distance = -distance
            if distance < 0:
                raise LectError(f"{instrs[position].name} cannot jump that way", instrs[position].loc)
            numbers[position] = distance
            needed = _prefix_count(distance)
            if needed > prefixes[position]:
                prefixes[position] = needed
                grown = True
        if not grown:
            return numbers, offsets, prefixes


def _prefix_count(number: int) -> int:
    return 0 if number < 0x100 else 1 if number < 0x10000 else 2 if number < 0x1000000 else 3


# ---- line table ------------------------------------------------------------------------------------------------------

_NO_LINE, _NO_COLUMNS, _LONG, _ONE_LINE = 15, 13, 14, 10
_MAX_UNITS = 8


def _line_table(instrs: list[Instr], offsets: list[int], first_line: int) -> bytes:
    """Entries of at most eight units; equal neighbours share one."""
    out = bytearray()
    line = first_line
    position, count = 0, len(instrs)
    while position < count:
        loc = instrs[position].loc
        end = position + 1
        while end < count and instrs[end].loc is loc:
            end += 1
        units = offsets[end] - offsets[position]
        while units > 0:
            length = min(units, _MAX_UNITS)
            units -= length
            line = _line_entry(out, loc, length, line)
        position = end
    return bytes(out)


def _line_entry(out: bytearray, loc: Location, length: int, line: int) -> int:
    """Append one entry and return the line it leaves off at."""
    if not loc.known:
        out.append(0x80 | _NO_LINE << 3 | length - 1)
        return line
    delta = loc.line - line
    if loc.end_line is None or loc.end_column is None or loc.column is None:
        out.append(0x80 | _NO_COLUMNS << 3 | length - 1)
        out += _signed(delta)
        return loc.line
    if loc.end_line == loc.line and 0 <= delta < 3 and loc.column < 128 and loc.end_column < 128:
        out += bytes((0x80 | _ONE_LINE + delta << 3 | length - 1, loc.column, loc.end_column))
        return loc.line
    out.append(0x80 | _LONG << 3 | length - 1)
    out += _signed(delta)
    out += _unsigned(loc.end_line - loc.line)
    out += _unsigned(loc.column + 1)
    out += _unsigned(loc.end_column + 1)
    return loc.line


def _unsigned(number: int) -> bytes:
    """Six bits a byte, least significant first; 64 marks that more follow."""
    out = bytearray()
    while number >= 64:
        out.append(64 | number & 63)
        number >>= 6
    out.append(number)
    return bytes(out)


def _signed(number: int) -> bytes:
    return _unsigned(-number << 1 | 1 if number < 0 else number << 1)


# ---- exception table -------------------------------------------------------------------------------------------------


def _exception_table(instrs: list[Instr], offsets: list[int]) -> bytes:
    out = bytearray()
    for start, end, cover in _covered_ranges(instrs):
        packed = cover.depth << 1 | cover.place
        numbers = (offsets[start], offsets[end] - offsets[start], offsets[cover.target.index], packed)
        first = 0x80
        for number in numbers:
            digits = _most_significant_first(number)
            digits[0] |= first
            first = 0
            out += digits
    return bytes(out)


def _covered_ranges(instrs: list[Instr]) -> Iterator[tuple[int, int, Cover]]:
    start = 0
    for end in range(1, len(instrs) + 1):
        cover = instrs[start].cover
        if end == len(instrs) or not _same_cover(instrs[end].cover, cover):
            if cover is not None:
                yield start, end, cover
            start = end


def _same_cover(a: Cover | None, b: Cover | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.target.index == b.target.index and a.depth == b.depth and a.place == b.place


def _most_significant_first(number: int) -> bytearray:
    digits = [number & 63]
    while number >= 64:
        number >>= 6
        digits.append(number & 63)
    digits.reverse()
    return bytearray([digit | 64 for digit in digits[:-1]] + digits[-1:])
