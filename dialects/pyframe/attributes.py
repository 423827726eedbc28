"""Attributes of the pyframe dialect: the Python constants that a plain attribute cannot hold.

`None`, bools, ints, floats, strings and tuples stand for themselves and a code object is the symbol of its function.  The rest have the classes
below.  `from_python` and `to_python` convert; both are exact: the sign of a zero, the bits of a NaN, and int against bool are kept.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from types import CodeType
from typing import Any

from lect.ir import Attribute, LectError, Scanner, SymbolRef, attr, attribute_text, quote

LONG_INT_BITS = 10_000  # Python refuses to convert much longer ones to or from decimal text
_PLAIN_NAN = struct.pack("<d", math.nan)


@attr("pyframe.bytes")
class BytesAttr(Attribute):
    """A `bytes` constant, `#pyframe.bytes<"ab00ff">` with two hexadecimal digits a byte behind a readable form when it is ASCII."""

    value: bytes

    def print_body(self) -> str:
        text = self.value
        if text.isascii() and all(32 <= byte < 127 for byte in text):
            return quote(text.decode("ascii"))
        return f"hex {quote(text.hex())}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> BytesAttr:
        scanner = scanner or Scanner("")
        if scanner.accept_word("hex"):
            return cls(bytes.fromhex(scanner.string()))
        return cls(scanner.string().encode("ascii"))


@attr("pyframe.number")
class NumberAttr(Attribute):
    """A number without a plain text: a complex, a NaN with its bits, or an integer too long for decimal digits.

    `kind` is 'complex', 'float' or 'int'; `bits` are the IEEE doubles in hexadecimal (two for a complex) or the integer's hexadecimal digits.
    """

    kind: str
    bits: str

    def print_body(self) -> str:
        if self.kind == "complex":
            value = self.python
            if math.isfinite(value.real) and math.isfinite(value.imag):
                return f"complex {value.real!r}, {value.imag!r}"
        return f"{self.kind} bits {quote(self.bits)}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> NumberAttr:
        scanner = scanner or Scanner("")
        kind = scanner.word()
        if kind not in ("complex", "float", "int"):
            raise scanner.fail("complex, float or int in front")
        if scanner.accept_word("bits"):
            made = cls(kind, scanner.string())
            _ = made.python  # refuses wrong bits
            return made
        real = scanner.number()
        scanner.expect(",")
        return cls.of(complex(real, scanner.number()))

    @classmethod
    def of(cls, value: complex | float | int) -> NumberAttr:
        """The attribute that holds `value`."""
        if type(value) is complex:
            return cls("complex", struct.pack("<dd", value.real, value.imag).hex())
        if type(value) is float:
            return cls("float", struct.pack("<d", value).hex())
        return cls("int", hex(value))  # type: ignore[arg-type]

    @property
    def python(self) -> Any:
        """The number itself.  Raises ValueError when `bits` are none."""
        if self.kind == "int":
            return int(self.bits, 16)
        raw = bytes.fromhex(self.bits)
        if len(raw) != (16 if self.kind == "complex" else 8):
            raise ValueError(f"{self.kind} takes {16 if self.kind == 'complex' else 8} bytes, got {len(raw)}")
        if self.kind == "complex":
            return complex(*struct.unpack("<dd", raw))
        return struct.unpack("<d", raw)[0]


@attr("pyframe.ellipsis")
class EllipsisAttr(Attribute):
    """The constant `...`."""


@attr("pyframe.frozenset")
class FrozensetAttr(Attribute):
    """A `frozenset` constant (from `x in {1, 2}`); numbers stand in the order of iteration, anything else in the order of its text."""

    members: tuple[Any, ...]

    def print_body(self) -> str:
        return attribute_text(self.members)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> FrozensetAttr:
        scanner = scanner or Scanner("")
        return cls(tuple(scanner.list_of(lambda: _member(scanner))))


def _member(scanner: Scanner) -> Any:
    """One attribute value inside a body."""
    if scanner.at('"'):
        return scanner.string()
    if scanner.at("["):
        return tuple(scanner.list_of(lambda: _member(scanner)))
    if scanner.accept("#"):
        return _nested(scanner)
    word = scanner.peek_word()
    words = {"none": None, "true": True, "false": False, "inf": math.inf, "nan": math.nan}
    if word in words:
        scanner.word()
        return words[word]
    return _plain_number(scanner)


def _plain_number(scanner: Scanner) -> int | float:
    import re

    text = scanner.regex(re.compile(r"-?(?:inf|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"), "a constant")[0]
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _nested(scanner: Scanner) -> Any:
    name = scanner.word()
    for cls in (BytesAttr, NumberAttr, EllipsisAttr, FrozensetAttr):
        if cls.name == name:
            if not scanner.accept("<"):
                return cls.parse_body(None)
            value = cls.parse_body(scanner)
            scanner.expect(">")
            return value
    raise scanner.fail("a constant of the pyframe dialect")


CONSTANT = (None, bool, int, float, str, tuple, BytesAttr, NumberAttr, EllipsisAttr, FrozensetAttr, SymbolRef)


def from_python(value: Any, code_symbol: Callable[[CodeType], str] | None = None) -> Any:
    """The attribute for a constant; `code_symbol` names code objects.  Raises LectError for an object that is no constant of a code object."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        return value if value.bit_length() < LONG_INT_BITS else NumberAttr.of(value)
    if kind is float:
        return value if value == value or struct.pack("<d", value) == _PLAIN_NAN else NumberAttr.of(value)
    if kind is tuple:
        return tuple([from_python(item, code_symbol) for item in value])
    if kind is bytes:
        return BytesAttr(value)
    if kind is complex:
        return NumberAttr.of(value)
    if value is ...:
        return EllipsisAttr()
    if kind is frozenset:
        return _frozenset(value, code_symbol)
    if kind is CodeType and code_symbol is not None:
        return SymbolRef(code_symbol(value))
    raise LectError(f"a {kind.__name__} cannot be a constant in text; pass it as a resource")


def _frozenset(value: frozenset[Any], code_symbol: Callable[[CodeType], str] | None) -> FrozensetAttr:
    members = [from_python(item, code_symbol) for item in value]
    if not all(isinstance(item, (int, float, complex)) for item in value):
        members.sort(key=attribute_text)  # hashes of strings differ from run to run, and the text must not
    return FrozensetAttr(tuple(members))


def to_python(value: Any, code_of: Callable[[SymbolRef], Any] | None = None) -> Any:
    """The Python constant of an attribute, the inverse of `from_python`; `code_of` gives the code object of a symbol."""
    kind = type(value)
    if kind is tuple:
        return tuple([to_python(item, code_of) for item in value])
    if kind is BytesAttr:
        return value.value
    if kind is NumberAttr:
        return value.python
    if kind is EllipsisAttr:
        return ...
    if kind is FrozensetAttr:
        return frozenset([to_python(item, code_of) for item in value.members])
    if kind is SymbolRef:
        if code_of is None:
            raise LectError(f"{value} names a code object, which cannot stand here")
        return code_of(value)
    return value


def is_constant(value: Any) -> bool:
    """True when an attribute value can be a Python constant (all the way down)."""
    if isinstance(value, tuple):
        return all(map(is_constant, value))
    if isinstance(value, FrozensetAttr):
        return all(map(is_constant, value.members))
    return value is None or isinstance(value, tuple(kind for kind in CONSTANT if kind is not None))
