"""From characters to tuples: the Lark parser with its callbacks.

Callbacks turn each grammar rule into a small Python value: an attribute value, a type, or a `Node` for an operation.  Names are left as tokens;
`parser.Builder` resolves them.
"""

from __future__ import annotations

import hashlib
import math
import threading
from functools import cache
from pathlib import Path
from typing import Any

import lark
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from .attributes import SymbolRef
from .context import Context
from .diagnostics import ParseError
from .location import UNKNOWN, Location
from .scanner import Scanner, unescape
from .types import SCALARS

GRAMMAR = Path(__file__).with_name("grammar.lark")

TERMINALS = {
    "VALUE": "a value (%name)", "BLOCK": "a block (^name)", "SYMBOL": "a symbol (@name)", "OP_NAME": "an operation (dialect.name)",
    "WORD": "a word", "STRING": "a string", "NUMBER": "a number", "COMPLEX": "a type", "DIALECT_TYPE": "a type", "DIALECT_ATTR": "an attribute",
    "TYPE_ALIAS": "a type", "ATTR_ALIAS": "an attribute", "$END": "the end", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'",
    "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "COLON": "':'", "EQUAL": "'='", "LESSTHAN": "'<'", "MORETHAN": "'>'", "SEMICOLON": "';'",
    "LOC": "'loc'", "__ANON_0": "'->'", "__ANON_1": "'::'",
}  # fmt: skip


class Node:
    """An operation as written: tokens for names, values for attributes, nested nodes for regions."""

    __slots__ = ("attrs", "generic", "loc", "name", "operand_types", "operands", "regions", "result_types", "results", "successors", "symbol", "token")

    def __init__(self, token: Any, name: str, generic: bool) -> None:
        self.token = token
        self.name = name
        self.generic = generic
        self.results: Any = ()
        self.symbol: str | None = None
        self.operands: Any = ()
        self.successors: Any = ()
        self.attrs: dict[str, Any] = {}
        self.operand_types: Any = None
        self.result_types: Any = ()
        self.regions: Any = ()
        self.loc: Location | None = None


def _at(error: ParseError, token: Any) -> ParseError:
    """Attach the position of a token to an error that has none."""
    if not hasattr(error, "position"):
        error.position = (token.line, token.column - 1)  # type: ignore[attr-defined]
    return error


class Callbacks:
    """One method for each rule of the grammar.  `ctx` is set for the length of one parse."""

    def __init__(self) -> None:
        self.ctx: Context | None = None
        self.types: dict[str, Any] = {}
        self.aliases: dict[str, Any] = {}

    # ---- file --------------------------------------------------------------------------------------------------------

    def start(self, children: list[Any]) -> list[Any]:
        return [child for child in children if child is not None]

    def type_alias(self, children: list[Any]) -> None:
        self._alias(children)

    def attr_alias(self, children: list[Any]) -> None:
        self._alias(children)

    def _alias(self, children: list[Any]) -> None:
        token, value = children
        if str(token) in self.aliases:
            raise _at(ParseError(f"alias {token} is defined twice"), token)
        self.aliases[str(token)] = value

    # ---- operations --------------------------------------------------------------------------------------------------

    def pretty(self, children: list[Any]) -> Node:
        results, token, symbol, operands, successors, attrs, signature, regions, loc = children
        node = Node(token, str(token), False)
        if symbol is not None:
            node.symbol = "::".join(symbol.path)
        return self._fill(node, results, operands, successors, attrs, None, signature, regions, loc)

    def generic(self, children: list[Any]) -> Node:
        results, token, operands, successors, properties, regions, attrs, signature, loc = children
        name = self.text(token)
        if "." not in name:
            raise _at(ParseError(f"operation name '{name}' needs a dialect in front, as in 'dialect.name'"), token)
        return self._fill(Node(token, name, True), results, operands, successors, attrs, properties, signature, regions, loc)

    def _fill(self, node: Node, results: Any, operands: Any, successors: Any, attrs: Any, properties: Any, signature: Any, regions: Any, loc: Any) -> Node:
        node.results = results or ()
        node.operands = operands or ()
        node.successors = successors or ()
        node.attrs = {**(properties or {}), **(attrs or {})}
        if signature is not None:
            node.operand_types, node.result_types = signature
        node.regions = regions or ()
        node.loc = loc
        return node

    def results(self, children: list[Any]) -> list[Any]:
        return children

    def operands(self, children: list[Any]) -> list[Any]:
        return [child if child is not None else [] for child in children]

    def group(self, children: list[Any]) -> list[Any]:
        return children

    def operand(self, children: list[Any]) -> tuple[Any, Any]:
        return children[0], children[1]

    def successors(self, children: list[Any]) -> list[Any]:
        return children

    def successor(self, children: list[Any]) -> tuple[Any, list[Any]]:
        token, operands = children
        passed = [item for group in operands or () for item in group]
        for value, type in passed:
            if type is not None:
                raise _at(ParseError(f"operands of a successor have no types, but {value} has one"), value)
        return token, [value for value, _ in passed]

    def one_result(self, children: list[Any]) -> tuple[Any, list[Any]]:
        return None, children

    def results_only(self, children: list[Any]) -> tuple[Any, list[Any]]:
        return None, children[0]

    def function_one(self, children: list[Any]) -> tuple[Any, list[Any]]:
        return children[0], [children[1]]

    def function_many(self, children: list[Any]) -> tuple[Any, list[Any]]:
        return children[0], children[1]

    def types_(self, children: list[Any]) -> list[Any]:
        return [] if children == [None] else children

    def regions(self, children: list[Any]) -> list[Any]:
        return children

    def region(self, children: list[Any]) -> tuple[list[Any], list[Any]]:
        return [c for c in children if type(c) is Node], [c for c in children if type(c) is not Node]

    def block(self, children: list[Any]) -> tuple[Any, list[Any], list[Any]]:
        token, args = children[0], children[1]
        return token, [item for group in args or () for item in group], children[2:]

    # ---- attributes --------------------------------------------------------------------------------------------------

    def attributes(self, children: list[Any]) -> dict[str, Any]:
        return self._dict(children)

    def dictionary(self, children: list[Any]) -> tuple[dict[str, Any]]:
        return (self._dict([child for child in children if child is not None]),)

    def _dict(self, entries: list[Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for token, name, value in entries:
            if name in out:
                raise _at(ParseError(f"attribute '{name}' is given twice"), token)
            out[name] = value
        return out

    def entry(self, children: list[Any]) -> tuple[Any, str, Any]:
        token, value = children
        name = self.text(token) if token.type == "STRING" else str(token)
        return token, name, True if value is None else value[0]

    # an attribute value travels in a 1-tuple, so that the value None differs from an absent one

    def number(self, children: list[Any]) -> tuple[Any]:
        token, type = children
        text = str(token)
        try:
            if "0x" in text:
                return (self._hexadecimal(text, type),)
            if any(c in text for c in ".en") or (type is not None and type.kind == "float"):
                return (float(text),)
            return (int(text),)
        except ValueError:
            raise _at(ParseError(f"{text[:30]} is no number"), token) from None

    def _hexadecimal(self, text: str, type: Any) -> int | float:
        import struct

        bits = int(text, 16)
        if type is None or type.kind != "float":
            return bits
        if type.bits != 64 or not 0 <= bits < 2**64:
            raise ValueError(text)
        return struct.unpack("<d", struct.pack("<Q", bits))[0]

    def string(self, children: list[Any]) -> tuple[str]:
        return (self.text(children[0]),)

    def text(self, token: Any) -> str:
        """The contents of a string token."""
        try:
            return unescape(str(token)[1:-1])
        except ParseError as error:
            raise _at(error, token) from None

    WORDS = {"true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan}

    def word(self, children: list[Any]) -> tuple[Any]:
        text = str(children[0])
        if text in self.WORDS:
            return (self.WORDS[text],)
        scalar = SCALARS.get(text)
        if scalar is None:
            raise _at(ParseError(f"'{text}' is no attribute; strings stand in quotes"), children[0])
        return (scalar,)

    def type_attribute(self, children: list[Any]) -> tuple[Any]:
        return (children[0],)

    def dialect_attribute(self, children: list[Any]) -> tuple[Any]:
        token = children[0]
        text = str(token)
        found = self.types.get(text)
        if found is None:
            found = self.types[text] = self._integer(token, text) if text.startswith("#lect.int<") else self._dialect(token, "attrs", "attribute")
        return (found,)

    def _integer(self, token: Any, text: str) -> int:
        try:
            return int(text[len('#lect.int<"') : -2])
        except ValueError:
            raise _at(ParseError("#lect.int holds a quoted decimal integer"), token) from None

    def attribute_alias(self, children: list[Any]) -> tuple[Any]:
        value = self._aliased(children[0])
        return value if type(value) is tuple else (value,)

    def symbol(self, children: list[Any]) -> SymbolRef:
        return SymbolRef(tuple([self._symbol(part) for part in children]))

    def _symbol(self, token: Any) -> str:
        text = str(token)[1:]
        if not text.startswith('"'):
            return text
        try:
            return unescape(text[1:-1])
        except ParseError as error:
            raise _at(error, token) from None

    def symbol_attribute(self, children: list[Any]) -> tuple[SymbolRef]:
        return (children[0],)

    def array(self, children: list[Any]) -> tuple[tuple[Any, ...]]:
        return (tuple([child[0] for child in children if child is not None]),)

    # ---- types -------------------------------------------------------------------------------------------------------

    def builtin_type(self, children: list[Any]) -> Any:
        found = SCALARS.get(str(children[0]))
        if found is None:
            raise _at(ParseError(f"'{children[0]}' is no type"), children[0])
        return found

    def dialect_type(self, children: list[Any]) -> Any:
        token = children[0]
        text = str(token)
        found = self.types.get(text)
        if found is None:
            found = self.types[text] = self._dialect(token, "types", "type")
        return found

    def aliased_type(self, children: list[Any]) -> Any:
        return self._aliased(children[0])

    def _aliased(self, token: Any) -> Any:
        try:
            return self.aliases[str(token)]
        except KeyError:
            raise _at(ParseError(f"alias {token} is not defined"), token) from None

    def type_(self, children: list[Any]) -> Any:
        return children[0]

    def _dialect(self, token: Any, table: str, what: str) -> Any:
        text = str(token)
        head, bracket, body = text[1:].partition("<")
        dialect = self.ctx.dialect(head.partition(".")[0]) if self.ctx is not None else None
        cls = getattr(dialect, table).get(head) if dialect is not None else None
        if cls is None:
            raise _at(ParseError(f"unknown {what} '{text[0]}{head}'"), token)
        scanner = Scanner(body[:-1]) if bracket else None
        try:
            value = cls.parse_body(scanner)
            if scanner is not None:
                scanner.end()
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:  # the class did not expect such a body
            raise _at(ParseError(f"{text[0]}{head} cannot have the body <{body} ({error})"), token) from None
        except ParseError as error:
            offset = getattr(error, "offset", 0) + len(head) + 2
            error.position = (token.line, token.column - 1 + offset)  # type: ignore[attr-defined]
            error.message = f"in {text[0]}{head}: {error.message}"
            raise
        return value

    # ---- locations ---------------------------------------------------------------------------------------------------

    def place(self, children: list[Any]) -> tuple[str, int, int, int | None, int | None]:
        file, line, column, end_line, end_column = children
        try:
            end = (None, None) if end_line is None else (int(end_line), int(end_column))
            return self.text(file), int(line), int(column), *end
        except ValueError:
            raise _at(ParseError("line and column are integers"), line) from None

    def location(self, children: list[Any]) -> Location:
        file, line, column, end_line, end_column = children[0]
        return Location(file, line, column, None, end_line, end_column)

    def named_location(self, children: list[Any]) -> Location:
        file, line, column, end_line, end_column = children[1]
        return Location(file, line, column, self.text(children[0]), end_line, end_column)

    def unknown_location(self, children: list[Any]) -> Location:
        if str(children[0]) != "unknown":
            raise _at(ParseError(f"a location is unknown or names a file, got '{children[0]}'"), children[0])
        return UNKNOWN


# `type` and `types` are words of Python, so their methods are called `type_` and `types_`.
_RENAMED = {"types_": "types", "type_": "type"}


class _Transformer(lark.Transformer):  # type: ignore[type-arg]
    """Hands the callbacks to Lark under the names of the rules."""

    def __init__(self, callbacks: Callbacks) -> None:
        super().__init__(visit_tokens=False)
        for name in dir(Callbacks):
            if not name.startswith("_") and name not in ("text", "WORDS"):
                setattr(self, _RENAMED.get(name, name), getattr(callbacks, name))


class Syntax:
    """The parser tables with their callbacks."""

    def __init__(self, lark_parser: lark.Lark, callbacks: Callbacks) -> None:
        self.lark = lark_parser
        self.callbacks = callbacks
        self.lock = threading.Lock()

    def parse(self, text: str, ctx: Context) -> list[Node]:
        """The nodes of the top-level operations.  Raises `ParseError`."""
        callbacks = self.callbacks
        with self.lock:  # the callbacks hold the state of one parse
            callbacks.ctx, callbacks.types, callbacks.aliases = ctx, {}, {}
            try:
                return self.lark.parse(text)  # type: ignore[return-value]
            except UnexpectedInput as error:
                raise self._explain(error, text) from None
            finally:
                callbacks.ctx = None

    def _explain(self, error: UnexpectedInput, text: str) -> ParseError:
        names = sorted(
            {TERMINALS.get(name, name) for name in getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", None) or ()}
        )
        expected = " or ".join(names) if len(names) <= 4 else ", ".join(names[:6]) + (" or other text" if len(names) > 6 else "")
        if isinstance(error, UnexpectedToken) and error.token.type != "$END":
            found, line, column = f"'{str(error.token)[:40]}'", error.token.line, error.token.column
        elif isinstance(error, UnexpectedCharacters):
            found, line, column = f"'{text[error.pos_in_stream]}'", error.line, error.column
        else:
            assert isinstance(error, (UnexpectedEOF, UnexpectedToken))
            lines = text.split("\n")
            found, line, column = "the end of the text", len(lines), len(lines[-1]) + 1
        problem = ParseError(f"expected {expected or 'something else'}, found {found}")
        problem.position = (line, column - 1)  # type: ignore[attr-defined]
        return problem


@cache
def load_syntax() -> Syntax:
    """The parser, made once in a process."""
    callbacks = Callbacks()
    parser = lark.Lark(GRAMMAR.read_text(), parser="lalr", lexer="contextual", transformer=_Transformer(callbacks), maybe_placeholders=True)
    return Syntax(parser, callbacks)


def grammar_hash() -> str:
    """Names the grammar in caches."""
    return hashlib.sha256(GRAMMAR.read_bytes()).hexdigest()[:16]
