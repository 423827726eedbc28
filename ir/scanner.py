"""A small scanner for the bodies of types and attributes, `<8x16xf32, strides [16, 1], "cuda:0">`.

The grammar hands over such a body as one balanced piece of text; the class it belongs to reads it with the few methods here.  What is
wrong is a `ParseError` that says what was expected and what was found, with the offset inside the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from .diagnostics import ParseError

T = TypeVar("T")

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_INTEGER = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(?:([0-9a-fA-F]{2})|(.))", re.S)
_PLAIN = re.compile(r'[^\x00-\x1f"\\\x7f-\x9f\ud800-\udfff]*')


def unescape(body: str) -> str:
    """The string whose escaped form (between the quotes) is `body`: `\\n \\t \\" \\\\` and two hexadecimal digits for a UTF-8 byte."""
    if "\\" not in body:
        return body

    def replace(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes((int(match[1], 16),))
        return {b"n": b"\n", b"t": b"\t"}.get(match[2], match[2])

    raw = _ESCAPE.sub(replace, body.encode("utf-8", "surrogatepass"))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ParseError(f"string is not UTF-8: {error.reason}") from None


def quote(text: str) -> str:
    """`text` between quotes, with control characters, quotes and lone surrogates escaped (the inverse of `unescape`)."""
    match = _PLAIN.match(text)
    if match is not None and match.end() == len(text):
        return f'"{text}"'
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif char == "\t":
            out.append("\\t")
        elif char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff":
            out += [f"\\{byte:02X}" for byte in char.encode("utf-8", "surrogatepass")]
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


class Scanner:
    """Reads `text` from `pos` on; every method skips white space first."""

    __slots__ = ("pos", "text")

    def __init__(self, text: str, pos: int = 0) -> None:
        self.text = text
        self.pos = pos

    def skip(self) -> None:
        """Move over white space."""
        match = _SPACE.match(self.text, self.pos)
        assert match is not None
        self.pos = match.end()

    def fail(self, expected: str) -> ParseError:
        """The error 'expected X, found Y'; the caller raises it."""
        self.skip()
        rest = self.text[self.pos : self.pos + 20]
        error = ParseError(f"expected {expected}, found {quote(rest) if rest else 'the end'}")
        error.offset = self.pos
        return error

    def at(self, literal: str) -> bool:
        """True when `literal` comes next; nothing is consumed."""
        self.skip()
        return self.text.startswith(literal, self.pos)

    def accept(self, literal: str) -> bool:
        """Consume `literal` if it comes next."""
        if self.at(literal):
            self.pos += len(literal)
            return True
        return False

    def expect(self, literal: str) -> None:
        """Consume `literal` or raise."""
        if not self.accept(literal):
            raise self.fail(f"'{literal}'")

    def _match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        self.skip()
        match = pattern.match(self.text, self.pos)
        if match is None:
            raise self.fail(what)
        self.pos = match.end()
        return match

    def word(self) -> str:
        """An identifier, dots allowed."""
        return self._match(_WORD, "a name")[0]

    def peek_word(self) -> str | None:
        """The identifier that comes next, or None."""
        self.skip()
        match = _WORD.match(self.text, self.pos)
        return match[0] if match else None

    def accept_word(self, word: str) -> bool:
        """Consume the identifier `word` if it comes next as a whole."""
        if self.peek_word() == word:
            self.pos += len(word)
            return True
        return False

    def integer(self) -> int:
        """A decimal integer."""
        return int(self._match(_INTEGER, "an integer")[0])

    def number(self) -> float:
        """A float, `inf` and `nan` included."""
        return float(self._match(_NUMBER, "a number")[0])

    def string(self) -> str:
        """A quoted string."""
        return unescape(self._match(_STRING, "a string")[1])

    def regex(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Any pattern; `what` names it in the error."""
        return self._match(pattern, what)

    def list_of(self, item: Callable[[], T], opening: str = "[", closing: str = "]") -> list[T]:
        """`[a, b, c]` with `item` reading one element."""
        self.expect(opening)
        out: list[T] = []
        if self.accept(closing):
            return out
        out.append(item())
        while self.accept(","):
            out.append(item())
        self.expect(closing)
        return out

    def end(self) -> None:
        """Raise unless nothing is left."""
        self.skip()
        if self.pos != len(self.text):
            raise self.fail("the end")
