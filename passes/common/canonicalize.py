"""Apply folds and canonicalization patterns until none matches, and drop what becomes dead.

    %1 = builtin.unrealized_conversion_cast(%0) : f32        // %0 is of type f64
    %2 = builtin.unrealized_conversion_cast(%1) : f64        =>     every use of %2 is a use of %0
    %3 = d.use(%2) : f64

An operation's `fold` gives existing values that its results always equal; a dialect lists its patterns in its `Dialect`.  Only dialects that
occur in the module take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from lect.ir import Context, Dialect, Operation, Pattern, PatternSet, Rewriter, Value, apply_greedily, is_removable
from lect.passes.base import Pass


class Fold(Pattern):
    """op(x) => v, where v = op.fold()"""

    benefit = 1000  # folding first leaves less for patterns to look at

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        foldable = [cls for dialect in dialects for cls in dialect.ops.values() if cls.fold is not Operation.fold]
        self.root = tuple(foldable)

    def rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        """Replace the results; the operation itself goes too, unless it has an effect that must stay."""
        found = op.fold()
        if found is None:
            return False
        values = [found] if isinstance(found, Value) else list(found)
        if is_removable(op):
            rewriter.replace(op, values)
            return True
        used = [(old, new) for old, new in zip(op.results, values) if old.users and new is not old]
        for old, new in used:
            rewriter.replace_all_uses(old, new)
        return bool(used)


@dataclass(frozen=True)
class Canonicalize(Pass):
    """Folds, dialect patterns and removal of dead operations, to a fixpoint."""

    name: ClassVar[str] = "canonicalize"

    def run(self, op: Operation, ctx: Context) -> None:
        """Rewrite everything inside `op`."""
        classes = {type(each): each for each in op.walk()}  # a dialect is taken part in by its registered operations
        names = dict.fromkeys(each.name.partition(".")[0] for each in classes.values())
        dialects = [dialect for name in names if (dialect := ctx.dialect(name)) is not None]
        patterns = [pattern for dialect in dialects for pattern in dialect.patterns]
        ctx.count("changes", apply_greedily(op, PatternSet([Fold(dialects), *patterns])))
