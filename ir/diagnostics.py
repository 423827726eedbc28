"""Errors as a person reads them: one sentence, the place it is about, and the ten lines of IR around it.

`LectError` is the only exception that lect raises on purpose for wrong input.  Everything else that leaves a pass is a bug of lect and is
turned into a reproducer by the pass manager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .location import UNKNOWN, Location

if TYPE_CHECKING:
    from .operation import Operation

CONTEXT_LINES = 5


class LectError(Exception):
    """A located error: `message` is one sentence, `loc` the place in a source or IR file, `op` the operation it is about, `hint` what to do."""

    def __init__(self, message: str, loc: Location = UNKNOWN, op: Operation | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.hint = hint
        self.loc = op.loc if loc is UNKNOWN and op is not None else loc
        self.excerpt: str | None = None

    def __str__(self) -> str:
        return self.render()

    def about(self, op: Operation) -> None:
        """Name the operation that an error is about, unless it names one itself."""
        if self.op is None:
            self.op = op
            if not self.loc.known:
                self.loc = op.loc

    def render(self, ir: bool = True) -> str:
        """`file:line:column: error: sentence`, the hint, and (when `ir`) the operation's neighbourhood."""
        place = f"{self.loc}: " if self.loc.known else ""
        lines = [f"{place}error: {self.message}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        if ir:
            around = self.excerpt or (excerpt(self.op) if self.op is not None else None)
            if around:
                lines.append(around)
        return "\n".join(lines)


class ParseError(LectError):
    """The text is not lect IR; `loc` names the file, line and column.

    While it travels to where the file is known, `position` is the offset in the text, or `offset` that in the body of a type or attribute.
    """

    position: int | None = None
    offset: int = 0


class VerifyError(LectError):
    """An invariant of the IR does not hold; `op` is the operation that breaks it."""


class PassFailure(LectError):
    """A pass cannot do what it was asked for (a missing precondition, a wrong option)."""


class SymbolicSizeError(LectError, ValueError):
    """A number was needed where a size is known only at run time.  Whoever compiles may compile again with the sizes at hand.

    `sizes` are the expressions of which one was needed, as far as that is known.
    """

    sizes: tuple[Any, ...] = ()

    def of(self, *sizes: Any) -> SymbolicSizeError:
        """The error itself, which says that these sizes were needed."""
        self.sizes = sizes
        return self


def require(condition: object, op: Operation, message: str, *values: object) -> None:
    """Raise `VerifyError` about `op` unless `condition`; `message` is formatted with `values` only when it fails."""
    if not condition:
        raise VerifyError(message.format(*values) if values else message, op=op)


def source_excerpt(text: str, line: int, column: int) -> str:
    """The lines of `text` around 1-based `line`, with a caret under 0-based `column`."""
    lines = text.split("\n")
    first = max(0, line - 1 - CONTEXT_LINES)
    out = []
    for number, content in enumerate(lines[first : line + CONTEXT_LINES], first + 1):
        out.append(f"{number:5} | {content[:200]}")
        if number == line:
            out.append(f"      | {' ' * column}^")
    return "\n".join(out)


def excerpt(op: Operation) -> str | None:
    """The text of the isolated operation around `op`, cut to the lines next to it; None when it cannot be printed."""
    from .printer import print_op

    top = op
    while top.parent_op is not None:
        top = top.parent_op
    try:
        text, lines = print_op(top, mark=op)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None  # the operation is too broken to print; the sentence has to do
    rows = text.split("\n")
    if lines is None:
        return None
    first = max(0, lines - CONTEXT_LINES)
    return "\n".join(f"{'  -->' if number == lines else '     '} {row[:200]}" for number, row in enumerate(rows[first : lines + CONTEXT_LINES + 1], first))
