"""`--verify-diagnostics`: comments in IR text that say which errors and remarks must appear.

    // expected-error @+1 {{takes 2 operands}}        one line below the comment
    // expected-error {{...}}                         on the comment's line; @below and @above mean @+1 and @-1
    // expected-error @+2 2 {{...}}                   twice
    // expected-error @unknown {{...}}                has no place in this file
    // expected-remark @+1 {{stored since it has two users}}

The text in braces is a part of the message.  Each error must be expected by one comment, and each comment must be met.  Remarks that no comment
expects are fine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lect.ir import UNKNOWN, LectError, Location, Operation

_COMMENT = re.compile(r"expected-(error|remark)\s*(@(?:[+-]?\d+|below|above|unknown))?\s*(\d+)?\s*\{\{(.*?)\}\}")
_STARTS = re.compile(r"//.*expected-(?:error|remark)")


@dataclass
class Expectation:
    """One comment: a message of `kind` containing `text` on `line` (None: outside of the file), `left` more times; `at` is the comment's line."""

    kind: str
    line: int | None
    text: str
    left: int
    at: int


def read_expectations(text: str, filename: str) -> list[Expectation]:
    """All expectations in `text`.  Raises `LectError` at a comment that is none but looks like one."""
    out = []
    for number, line in enumerate(text.split("\n"), 1):
        if not _STARTS.search(line):
            continue
        found = list(_COMMENT.finditer(line))
        if not found:
            raise LectError("an expectation is written `expected-error @+1 {{text}}`", Location(filename, number, line.index("expected-")))
        for match in found:
            kind, place, count, message = match.groups()
            out.append(Expectation(kind, _line(place, number), message, int(count or 1), number))
    return out


def _line(place: str | None, number: int) -> int | None:
    if place is None:
        return number
    if place == "@unknown":
        return None
    word = {"@below": "+1", "@above": "-1"}.get(place, place[1:])
    return number + int(word) if word[0] in "+-" else int(word)


def check(expectations: list[Expectation], errors: list[LectError], remarks: list[tuple[str, Operation | None]], filename: str) -> list[LectError]:
    """What differs from the expectations, as errors of its own: messages that none expects, and expectations that none meets."""
    wrong = []
    for error in errors:
        if not _meet(expectations, "error", error.message, _place(error.loc, filename)):
            unexpected = LectError(f"unexpected error: {error.message}", error.loc, hint=error.hint)
            unexpected.excerpt = error.excerpt
            wrong.append(unexpected)
    for message, op in remarks:
        _meet(expectations, "remark", message, _place(op.loc if op is not None else UNKNOWN, filename))
    for each in expectations:
        if each.left:
            times = f" {each.left} more times" if each.left > 1 else ""
            where = f"on line {each.line}" if each.line is not None else "without a place"
            wrong.append(LectError(f"expected {each.kind} '{each.text}' {where} did not appear{times}", Location(filename, each.at, 0)))
    return wrong


def _place(loc: Location, filename: str) -> int | None:
    return loc.line if loc.known and loc.file == filename else None


def _meet(expectations: list[Expectation], kind: str, message: str, line: int | None) -> bool:
    for each in expectations:
        if each.left and each.kind == kind and each.line == line and each.text in message:
            each.left -= 1
            return True
    return False
