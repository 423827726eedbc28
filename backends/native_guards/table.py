"""A guard set in memory: rows of words for the checker, and what must stay alive or be told of when it dies."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from lect.backends.native_guards.checker import STATE_WORDS, TABLE_WORDS
from lect.backends.native_guards.rows import NUMBERS

WORD = 8
DEAD, HITS = 1, 4
COUNT, SLOTS, ACTIVE = 1, 6, 7
HOLDS = -1

Row = tuple[str, Sequence[Any]]


class Memory:
    """Words that lie together, at an address that stays."""

    def __init__(self, words: Sequence[int]) -> None:
        self.given = tuple(words)
        self.words = (ctypes.c_uint64 * max(len(words), 1))(*[word % 2**64 for word in words])
        self.address = ctypes.addressof(self.words)


class Named(int):
    """An address that has a name, which is printed instead."""

    name: str

    def __new__(cls, address: int, name: str) -> Named:
        made = super().__new__(cls, address)
        made.name = name
        return made


class Table:
    """The rows of one guard set.  `keep` stays alive with it; when one of `watched` dies, the table holds for nothing any more.

    `piece` decides the rest (a Python function, or None), `result` is what a finder gives where the table holds.
    """

    def __init__(self, rows: Sequence[Row], keep: Sequence[Any], watched: Sequence[Any], piece: Any, result: Any) -> None:
        self.text_rows = rows
        words: list[int] = []
        for kind, operands in rows:
            words += [NUMBERS[kind], *[operand.address if isinstance(operand, Memory) else int(operand) for operand in operands]]
        self.rows = Memory([*words, 0])
        self.keep = (keep, [operand for _, operands in rows for operand in operands if isinstance(operand, Memory)])
        self.piece = piece
        self.result = result
        self.header = Memory([self.rows.address, 0, id(piece) if piece is not None else 0, id(result), 0])
        assert len(self.header.words) == TABLE_WORDS

        def died(_: Any, words: Any = self.header.words, place: int = DEAD) -> None:
            words[place] = 1  # by names of its own: it also runs when the process ends and modules are gone

        self.watches = [weakref.ref(each, died) for each in watched]
        self.slots = 0  # that the rows write to, with those of the arguments in front

    @property
    def dead(self) -> bool:
        """True when something that the table is about has gone."""
        return bool(self.header.words[DEAD])

    @property
    def hits(self) -> int:
        """How many calls it was right for."""
        return int(self.header.words[HITS])

    def forget_hits(self) -> None:
        """Count from zero again."""
        self.header.words[HITS] = 0

    def text(self) -> str:
        """The rows, one a line, for people."""
        return rows_text(self.text_rows)


def slot(number: int) -> int:
    """The operand for `flat[number]`."""
    return WORD * number + 1


def rows_text(rows: Sequence[Row]) -> str:
    """Rows as text, one a line; memory shows its words."""
    return "\n".join([f"{kind} {' '.join([_operand_text(each) for each in operands])}".rstrip() for kind, operands in rows])


def _operand_text(operand: Any) -> str:
    if isinstance(operand, Memory):
        return f"[{' '.join([str(word) for word in operand.given])}]"
    return operand.name if isinstance(operand, Named) else str(operand)


class State:
    """What a finder works on: the tables of all versions of one function, and the function's parameters.

    `names` are the parameters in order, `positional` of which a call may give by position, `defaults` their default values where they have one.  Behind
    them are the slots of further arguments, by position where `rest` and by name where `others`.
    """

    def __init__(self, names: Sequence[str], positional: int, defaults: Mapping[str, Any], rest: bool = False, others: bool = False) -> None:
        self.names = tuple(names)
        count = len(names)
        self.tables: list[Table] = []
        self._keep = (names, defaults, HOLDS)
        self._defaults = Memory([id(defaults[name]) if name in defaults else 0 for name in names])
        self._names = Memory([word for name in names for word in (id(name), hash(name))])
        self._pointers = Memory([])
        self._retired: list[Any] = []
        parts = [self._pointers.address, 0, count, positional, self._defaults.address, self._names.address, count + rest + others, 0, id(HOLDS)]
        parts += [count if rest else -1, count + rest if others else -1]
        self.memory = Memory(parts)
        assert len(parts) == STATE_WORDS

    def set(self, tables: Sequence[Table], slots: int) -> None:
        """Work on these tables from now on, which need that many slots."""
        words = self.memory.words
        if words[ACTIVE]:  # a call in progress goes on with what it has
            self._retired += [self._pointers, self.tables]
        else:
            self._retired.clear()
        pointers = Memory([table.header.address for table in tables])
        words[COUNT] = 0
        words[SLOTS] = max(slots, words[SLOTS])
        words[0] = pointers.address
        words[COUNT] = len(tables)
        self._pointers, self.tables = pointers, list(tables)

    def in_order(self) -> list[Table]:
        """The tables, the one that held last in front."""
        by_address = {table.header.address: table for table in self.tables}
        return [by_address[word] for word in self._pointers.words[: len(self.tables)]]
