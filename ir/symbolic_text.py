"""The text of integer expressions and of shapes: `d0 * 128 + d1 floordiv 4`, `8x(s0 + 1)xf32`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .diagnostics import ParseError
from .scanner import Scanner
from .symbolic import UNBOUNDED, Expr, Size, as_size, constant, dim, loaded, symbol
from .types import SCALARS, ScalarType

MAX_DEPTH = 60

_LEAF = re.compile(r"([dis])(0|[1-9]\d{0,8})(?![\w$])")
_DIGITS = re.compile(r"\d+(?![\w$])")


def parse_expr(scanner: Scanner, leaves: Mapping[str, int] | None = None, depth: int = 0) -> Expr:
    """Read an expression.  `leaves` bounds what may occur, for example {'d': 2, 's': 1000} for d0, d1 and any symbol.  Raises `ParseError`."""
    if depth > MAX_DEPTH:
        raise scanner.fail("an expression that is not nested so deep")
    out = _parse_term(scanner, leaves, depth)
    while True:
        if scanner.accept("+"):
            out = out + _parse_term(scanner, leaves, depth)
        elif scanner.at("-") and not scanner.at("->"):
            scanner.expect("-")
            out = out - _parse_term(scanner, leaves, depth)
        else:
            return out


def _parse_term(scanner: Scanner, leaves: Mapping[str, int] | None, depth: int) -> Expr:
    out = _parse_factor(scanner, leaves, depth)
    while True:
        if scanner.accept("*"):
            out = out * _parse_factor(scanner, leaves, depth)
        elif scanner.peek_word() in ("floordiv", "mod"):
            word = scanner.word()
            divisor = _parse_factor(scanner, leaves, depth)
            if divisor.is_constant and divisor.const <= 0:
                raise scanner.fail("a positive divisor before this")
            out = out // divisor if word == "floordiv" else out % divisor
        else:
            return out


def _parse_factor(scanner: Scanner, leaves: Mapping[str, int] | None, depth: int) -> Expr:
    if depth > MAX_DEPTH:
        raise scanner.fail("an expression that is not nested so deep")
    if scanner.accept("-"):
        return -_parse_factor(scanner, leaves, depth + 1)
    if scanner.accept("("):
        out = parse_expr(scanner, leaves, depth + 1)
        scanner.expect(")")
        return out
    word = scanner.peek_word()
    if word is None:
        return constant(int(scanner.regex(_DIGITS, "a number, a symbol or '('")[0]))
    if word in ("min", "max"):
        scanner.word()
        args = scanner.list_of(lambda: parse_expr(scanner, leaves, depth + 1), "(", ")")
        if not args:
            raise scanner.fail(f"the arguments of {word} before this")
        out = args[0]
        for other in args[1:]:
            out = UNBOUNDED.minimum(out, other) if word == "min" else UNBOUNDED.maximum(out, other)
        return out
    match = scanner.regex(_LEAF, "a symbol (s0), a dim (d0) or a loaded index (i0)")
    kind, position = match[1], int(match[2])
    if leaves is not None and position >= leaves.get(kind, 0):
        raise ParseError(f"'{match[0]}' is not defined here")
    return {"d": dim, "i": loaded, "s": symbol}[kind](position)


_SIZE_PIECE = re.compile(r"(\d+|s\d+)x")
_ELEMENT = re.compile(r"complex<f(?:32|64)>|[A-Za-z]\w*")


def shape_text(sizes: Iterable[Size], element: ScalarType) -> str:
    """`8x(s0 + 1)xf32`; just `f32` without sizes."""
    return "".join([f"{size}x" if type(size) is int or constant(size).is_leaf else f"({size})x" for size in sizes]) + str(element)


def parse_shape(scanner: Scanner) -> tuple[tuple[Size, ...], ScalarType]:
    """The inverse of `shape_text`.  Raises `ParseError`."""
    sizes: list[Size] = []
    while True:
        scanner.skip()
        match = _SIZE_PIECE.match(scanner.text, scanner.pos)
        if match is not None:
            scanner.pos = match.end()
            sizes.append(int(match[1]) if match[1].isdigit() else symbol(int(match[1][1:])))
        elif scanner.accept("("):
            sizes.append(parse_size(scanner))
            scanner.expect(")")
            scanner.expect("x")
        else:
            break
    name = scanner.regex(_ELEMENT, "a size or an element type")[0]
    if name not in SCALARS:
        raise ParseError(f"'{name}' is no element type")
    return tuple(sizes), SCALARS[name]


def parse_size(scanner: Scanner) -> Size:
    """A size: a number, or an expression over size symbols; never negative."""
    size = as_size(parse_expr(scanner, {"s": 1 << 30}))
    if type(size) is int and size < 0:
        raise scanner.fail(f"a size that is not negative instead of {size}")
    return size


def read_size(text: str) -> Size:
    """The size that a text such as `s0 * 8` gives, and nothing else.  Raises `ParseError`."""
    if text.isdigit():
        return int(text)
    scanner = Scanner(text)
    size = parse_size(scanner)
    scanner.end()
    return size
