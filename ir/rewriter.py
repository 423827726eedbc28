"""Rewriting: patterns found by the operation at their root, applied from a worklist until none matches.

A pattern is a small object with `root` (an operation class, a tuple of them, or None for any) and `rewrite(op, rewriter) -> bool`.  It changes the
IR only through the rewriter, so that the driver knows what to look at again, and returns True when it changed something.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from .builder import Builder
from .diagnostics import LectError, SymbolicSizeError
from .location import UNKNOWN
from .operation import Operation
from .traits import is_removable
from .value import Value

O = TypeVar("O", bound=Operation)

MAX_REWRITES_PER_OP = 64


class Pattern:
    """Base of rewrite patterns.  The docstring's first line is the equation, left side => right side."""

    root: Any = None
    benefit: ClassVar[int] = 1

    def rewrite(self, op: Any, rewriter: Rewriter) -> bool:
        """Try to match at `op`; change the IR through `rewriter` and return True, or leave everything as it is and return False."""
        raise NotImplementedError


class Rewriter:
    """The only hands a pattern has."""

    def __init__(self) -> None:
        self.touched: dict[Operation, None] = {}
        self.erased: set[Operation] = set()
        self.changes = 0

    # ---- what patterns call ------------------------------------------------------------------------------------------

    def insert_before(self, anchor: Operation, op: O) -> O:
        """Insert a new operation; it gets the anchor's location if it has none."""
        if op.loc is UNKNOWN:
            op.loc = anchor.loc
        Builder.before(anchor).insert(op)
        self._touch(op)
        return op

    def insert_after(self, anchor: Operation, op: O) -> O:
        """Insert a new operation behind `anchor`."""
        if op.loc is UNKNOWN:
            op.loc = anchor.loc
        Builder.after(anchor).insert(op)
        self._touch(op)
        return op

    def replace(self, op: Operation, values: Value | Operation | Sequence[Value]) -> None:
        """Replace the results of `op` and erase it."""
        if isinstance(values, Value):
            values = [values]
        elif isinstance(values, Operation):
            values = values.results
        self._touch_users(op)
        self._forget(op)
        op.replace(values)
        self.changes += 1

    def replace_with(self, op: Operation, new: O) -> O:
        """Insert `new` before `op`, and replace `op` by it."""
        self.insert_before(op, new)
        self.replace(op, new.results)
        return new

    def erase(self, op: Operation) -> None:
        """Erase an operation whose results are unused."""
        self._forget(op)
        op.erase()
        self.changes += 1

    def set_operand(self, op: Operation, position: int, value: Value) -> None:
        """Replace one operand."""
        old = op.operands[position].op
        op.set_operand(position, value)
        self._touch(op)
        if old is not None:
            self._touch(old)
        self.changes += 1

    def set_attribute(self, op: Operation, name: str, value: Any) -> None:
        """Set an attribute."""
        op.attrs[name] = value
        self._touch(op)
        self.changes += 1

    def replace_all_uses(self, old: Value, new: Value) -> None:
        """Make all users of `old` use `new`."""
        for user in old.users:
            self._touch(user)
        old.replace_all_uses(new)
        self.changes += 1

    def modified(self, op: Operation) -> None:
        """Say that `op` was changed in a way the rewriter has no method for."""
        self._touch(op)
        self.changes += 1

    # ---- bookkeeping -------------------------------------------------------------------------------------------------

    def _touch(self, op: Operation) -> None:
        self.touched[op] = None

    def _touch_users(self, op: Operation) -> None:
        for result in op.results:
            for user in result.users:
                self.touched[user] = None

    def _forget(self, op: Operation) -> None:
        """Before an operation goes: what its operands come from may be dead then."""
        for inner in op.walk() if op.regions else (op,):
            self.erased.add(inner)
            for value in inner.operands:
                owner = value.owner
                if owner.is_operation:
                    self.touched[owner] = None


class PatternSet:
    """Patterns indexed by root operation class, best benefit first."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.by_root: dict[type[Operation], list[Pattern]] = {}
        self.anywhere: list[Pattern] = []
        for pattern in sorted(patterns, key=lambda p: -p.benefit):
            roots = pattern.root if isinstance(pattern.root, tuple) else (pattern.root,)
            for root in roots:
                (self.anywhere if root is None else self.by_root.setdefault(root, [])).append(pattern)
        if self.anywhere:
            for root, found in self.by_root.items():
                self.by_root[root] = sorted([*found, *self.anywhere], key=lambda p: -p.benefit)

    def matching(self, cls: type[Operation]) -> list[Pattern]:
        """The patterns to try at an operation of class `cls`."""
        return self.by_root.get(cls, self.anywhere)


def apply_greedily(top: Operation, patterns: PatternSet | Iterable[Pattern], remove_dead: bool = True) -> int:
    """Apply patterns inside `top` until none matches; also drop operations that become dead.  Returns the number of changes.

    Raises `LectError` when one operation is rewritten more than `MAX_REWRITES_PER_OP` times, or all together are that often on average, as patterns
    that undo each other do.
    """
    table = patterns if isinstance(patterns, PatternSet) else PatternSet(patterns)
    by_root, anywhere = table.by_root, table.anywhere
    rewriter = Rewriter()
    erased, touched = rewriter.erased, rewriter.touched
    inside = list(top.walk())[1:]
    # What becomes dead only later, or is changed, is touched by that.
    work = [op for op in reversed(inside) if type(op) in by_root or anywhere or (remove_dead and _dead(op))]
    queued = set(work)
    times: dict[Operation, int] = {}
    left = MAX_REWRITES_PER_OP * (len(inside) + 16)
    while work:
        op = work.pop()
        queued.discard(op)
        if op in erased:
            continue
        if remove_dead and _dead(op):
            rewriter.erase(op)
        else:
            for pattern in by_root.get(type(op), anywhere):
                if _matches(pattern, op, rewriter):
                    times[op] = times.get(op, 0) + 1
                    left -= 1
                    if times[op] > MAX_REWRITES_PER_OP or left < 0:
                        raise LectError(f"{type(pattern).__name__} rewrites the same operation again and again", op.loc, None if op in erased else op)
                    if op not in erased:
                        touched[op] = None
                    break
        if touched:
            for each in touched:
                if each not in queued and each not in erased and each is not top:
                    work.append(each)
                    queued.add(each)
            touched.clear()
    return rewriter.changes


def _matches(pattern: Pattern, op: Operation, rewriter: Rewriter) -> bool:
    """Apply a pattern; one that asks about sizes what is not known does not match, unless it has changed something."""
    changes = rewriter.changes
    try:
        return pattern.rewrite(op, rewriter)
    except SymbolicSizeError:
        if rewriter.changes != changes:
            raise
        return False


def _dead(op: Operation) -> bool:
    for result in op.results:
        if result.users:
            return False
    return bool(op.results) and is_removable(op)
