"""Guards in native code, behind the Python predicates, which stay the reference: how they come and when they are used.

A call first asks native code.  When no table holds there, the predicates are asked as ever; one that holds may get a table for this call, so that native
code knows the next one like it.  Tables cost a few times what the predicate costs, and the checker some milliseconds once for the process, so both are
made only when guards have been asked so often that it pays.

With the option `guards` = "python" there are none.  With "both" there is a table from the first call on, and each of its answers is compared with the
predicate's; a difference raises `LectError`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from threading import RLock
from types import FunctionType
from typing import Any

from lect.backends.code_store import CodeStore
from lect.ir import LectError
from lect.runtime.guards import HOLDS, Predicate

MODES = ("native", "python", "both")
Find = Callable[[tuple[Any, ...], dict[str, Any]], Any]
REST, OTHERS = 0x04, 0x08  # flags of code with *args and **kwargs

GUARDS_BEFORE_NATIVE = 2000  # asked in Python by this process before the checker is compiled: a program that asks so many asks on
TABLES_PER_VERSION = 64  # of objects of one class that take turns, such as the layers of a model in the rest of a loop
TABLES = 64
CREDIT = 4.0  # tables of a version that may come one after another
CREDIT_PER_HIT = 1 / 8  # what a call that native code decides adds to it
CREDIT_PER_ASKED = 1 / 32  # what a call that Python decides adds to it


def nothing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The finder as long as there are no tables."""
    return None


class Meter:
    """How much of this process's time went into guards in Python, and whether there is a checker."""

    def __init__(self) -> None:
        self.asked = 0
        self.refused: str | None = None  # why there is no checker
        self.checker: Any = None
        self._lock = RLock()

    def ready(self, guards: int, at_once: bool, store: CodeStore | None) -> bool:
        """True when tables may be made; `guards` more were asked in Python.  `store` may have the checker's code."""
        self.asked += guards
        if self.refused is not None or (self.asked < GUARDS_BEFORE_NATIVE and not at_once):
            return False
        if self.checker is None:
            with self._lock:  # a second one in its place would take the code away from tables that another thread has made
                self._make(store)
        return self.refused is None

    def _make(self, store: CodeStore | None) -> None:
        """Make the checker, unless another thread has tried."""
        if self.checker is None and self.refused is None:
            try:
                self.checker = make_checker(store)
            except LectError as error:
                self.refused = error.message


@cache
def meter() -> Meter:
    """The meter of this process."""
    return Meter()


def make_checker(store: CodeStore | None = None) -> Any:
    """A checker that has passed its test.  Raises `LectError` when there can be none here."""
    from lect.backends.native_guards.checker import Checker
    from lect.backends.native_guards.layout import layout
    from lect.backends.native_guards.selftest import test

    made = Checker(layout(), store)
    test(made)
    return made


class NativeGuards:
    """The tables of one function.  `find(args, kwargs)` gives the version that native code knows to be right, or None."""

    def __init__(self, function: FunctionType, mode: str, refused: Callable[[str], None] | None = None, store: CodeStore | None = None) -> None:
        self.function = function
        self.mode = mode
        self.find: Find = nothing
        self.armed = 0  # how many tables were made
        self.failed = 0  # how many tables did not hold for their own call
        self._refused = refused
        self._store = store
        self._credit: dict[int, float] = {}
        self._pieces: dict[int, tuple[frozenset[int], Any]] = {}
        self._state: Any = None
        self._lock = RLock()
        self._forgotten = 0  # how often all tables were forgotten
        self._usable = mode != "python"

    def clear(self) -> None:
        """Forget all tables."""
        with self._lock:
            self._forgotten += 1
            self.find = nothing
            self._state = None
            self._credit.clear()
            self._pieces.clear()

    def learn(self, version: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The predicate of `version` holds for this call: make a table for it if that pays."""
        if not self._usable:
            return
        both = self.mode == "both"
        if not meter().ready(version.predicate.length, both, self._store):
            self._tell()
            return
        credit = self._credit.get(version.number, CREDIT)
        if credit < 1 and not both:
            self._credit[version.number] = credit + CREDIT_PER_ASKED
            return
        self._credit[version.number] = credit - 1
        forgotten = self._forgotten
        try:
            table = self._table(version, args, kwargs)
        except Exception as error:  # an error of lect, which must not be the program's: the predicates are right without tables
            if both:
                raise
            self._stay_python(f"{type(error).__name__}: {error}")
            return
        with self._lock:
            if table is not None and forgotten == self._forgotten:  # no other thread has forgotten the version in between
                self.armed += 1
                self._install(table)

    def _tell(self) -> None:
        """Say once for this function that there is no native code."""
        if meter().refused is not None:
            self._stay_python(str(meter().refused))

    def _stay_python(self, reason: str) -> None:
        self._usable = False
        if self._refused is not None:
            self._refused(reason)

    def _table(self, version: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A table for this call, or None when there can be none."""
        from lect.backends.native_guards.table import Table
        from lect.runtime.arming_places import Arming, Unarmed
        from lect.runtime.arming_rules import arm

        names = all_names(self.function)
        values = bound(self.function, args, kwargs)
        if values is None:
            return None
        predicate: Predicate = version.predicate
        checker = meter().checker
        arming = Arming(self.function, names, values, predicate.object, checker.layout)
        try:
            left = arm(arming, predicate.conditions)
            rows = arming.finished()
            piece = self._piece(version, left)
            table = Table(rows, arming.keep, list(arming.watched.values()), piece, version)
        except Unarmed:
            return None
        table.slots = arming.slots
        if version.holds(*args, **kwargs) != HOLDS:  # again, now that the versions of dictionaries have been read
            return None
        flat = (ctypes.c_uint64 * (arming.slots + 1))(*[id(value) for value in values])
        if not checker.holds(table.rows.words, flat):
            self.failed += 1
            return None
        return table

    def _piece(self, version: Any, left: frozenset[int]) -> Any:
        """The predicate of the guards that are left to Python."""
        from lect.runtime.arming_places import Unarmed

        known = self._pieces.get(version.number)
        if known is None or not left <= known[0]:
            if len(left) == version.predicate.length:
                raise Unarmed
            known = self._pieces[version.number] = (left, version.predicate.piece(left))
        return known[1]

    def _install(self, table: Any) -> None:
        from lect.backends.native_guards.table import State

        if self._state is None:
            code = self.function.__code__
            flags = code.co_flags
            self._state = State(named(self.function), code.co_argcount, _defaults(self.function), bool(flags & REST), bool(flags & OTHERS))
            find = meter().checker.finder(self._state)
            self.find = self._compared(find) if self.mode == "both" else find
        known = [each for each in self._state.in_order() if not each.dead]
        for each in known:
            self._earn(each)
        of_version = [each for each in known if each.result is table.result]
        dropped = of_version[TABLES_PER_VERSION - 1 :]
        kept = [each for each in known if each not in dropped][: TABLES - 1]
        self._state.set([table, *kept], table.slots)

    def _earn(self, table: Any) -> None:
        """What a table has been good for pays for others of its version."""
        number, hits = table.result.number, table.hits
        self._credit[number] = min(CREDIT, self._credit.get(number, CREDIT) + CREDIT_PER_HIT * hits)
        table.forget_hits()

    def _compared(self, find: Find) -> Find:
        """`find`, with each answer compared with the predicate's."""

        def both(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            version = find(args, kwargs)
            if version is not None:
                failed = version.holds(*args, **kwargs)
                if failed != HOLDS:
                    guard = version.predicate.conditions[failed] if failed >= 0 else "a read that raises"
                    raise LectError(f"native guards hold where the guard number {failed} does not: {guard}")
            return version

        return both


def _defaults(function: FunctionType) -> Mapping[str, Any]:
    """The default values of parameters by name."""
    code = function.__code__
    values = function.__defaults__ or ()
    last = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return {**dict(zip(last, values)), **(function.__kwdefaults__ or {})}


def named(function: FunctionType) -> tuple[str, ...]:
    """The parameters but for *args and **kwargs."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def all_names(function: FunctionType) -> tuple[str, ...]:
    """All parameters, as the slots of a table have them."""
    flags = function.__code__.co_flags
    return function.__code__.co_varnames[: len(named(function)) + bool(flags & REST) + bool(flags & OTHERS)]


def bound(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """The arguments of a call in the order of the parameters, as native code binds them; None when they do not fit, or not in native code."""
    names, positional, flags = named(function), function.__code__.co_argcount, function.__code__.co_flags
    extra = args[positional:]
    given = dict(zip(names, args[:positional]))
    known = kwargs.keys() & set(names)
    wanted = set() if flags & OTHERS else kwargs.keys()  # native code makes no dictionary of the others without the known ones
    if (extra and not flags & REST) or known & given.keys() or known != wanted:
        return None
    found = {**_defaults(function), **given, **{name: kwargs[name] for name in known}}
    if len(found) != len(names):
        return None
    values = [found[name] for name in names]
    return [*values, *([extra] if flags & REST else []), *([kwargs] if flags & OTHERS else [])]
