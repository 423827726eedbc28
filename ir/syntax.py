"""From characters to tuples: the callbacks of the grammar.

They turn each rule into a small Python value: an attribute value, a type, or a `Node` for an operation.  Names are left as tokens, `(text, offset)`;
`parser.Builder` resolves them.
"""

from __future__ import annotations

import math
import struct
import threading
from functools import cache
from typing import Any

from .attributes import SymbolRef
from .context import Context
from .diagnostics import ParseError
from .lalr import Parser, SyntaxProblem, Token
from .location import UNKNOWN, Location
from .one_line import Line, Lines
from .scanner import Scanner, unescape
from .symbolic_text import parse_size
from .tables import load_tables
from .types import SCALARS, ScalarType

TERMINALS = {
    "VALUE": "a value (%name)", "VALUES": "values", "BLOCK": "a block (^name)", "SYMBOL": "a symbol (@name)", "OP_NAME": "an operation (dialect.name)",
    "WORD": "a word", "STRING": "a string", "NUMBER": "a number", "COMPLEX": "a type", "DIALECT_TYPE": "a type", "DIALECT_ATTR": "an attribute",
    "TYPE_ALIAS": "a type", "ATTR_ALIAS": "an attribute", "$END": "the end", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'",
    "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "COLON": "':'", "EQUAL": "'='", "LESSTHAN": "'<'", "MORETHAN": "'>'", "SEMICOLON": "';'",
    "LOC": "'loc'", "TO": "'to'", "__ANON_0": "'->'", "__ANON_1": "'::'",
}  # fmt: skip


ANY = "lect.any"  # stands in front of the end of an operation
MAX_NESTING = 100  # of lists and dictionaries


class Node:
    """An operation as written: tokens for names, values for attributes, nested nodes for regions."""

    __slots__ = ("attrs", "generic", "loc", "name", "operand_types", "operands", "regions", "result_types", "results", "successors", "symbol", "token")

    def __init__(self, token: Any, name: str, generic: bool) -> None:
        self.token: Token = token
        self.name = name
        self.generic = generic
        self.symbol: str | None = None
        self.results: Any
        self.operands: Any
        self.successors: Any
        self.attrs: dict[str, Any]
        self.operand_types: Any
        self.result_types: Any
        self.regions: Any
        self.loc: Location | None


def _at(error: ParseError, token: Token) -> ParseError:
    """Attach the offset of a token to an error that has none."""
    if error.position is None:
        error.position = token[1]
    return error


class Callbacks:
    """One method for each rule of the grammar.  `ctx` is set for the length of one parse."""

    def __init__(self) -> None:
        self.ctx: Context | None = None
        self.dialect_values: dict[str, Any] = {}
        self.aliases: dict[str, Any] = {}
        self.depths: dict[int, int] = {}

    # ---- file --------------------------------------------------------------------------------------------------------

    def start(self, children: Any) -> list[Any]:
        return [child for child in children if child is not None]

    def type_alias(self, children: Any) -> None:
        self._alias(children)

    def attr_alias(self, children: Any) -> None:
        self._alias(children)

    def _alias(self, children: Any) -> None:
        token, value = children
        if token[0] in self.aliases:
            raise _at(ParseError(f"alias {token[0]} is defined twice"), token)
        if type(value) is tuple:
            self._check_depth(value[0], token)
        self.aliases[token[0]] = value

    # ---- operations --------------------------------------------------------------------------------------------------

    def pretty(self, children: Any) -> Node:
        results, token, symbol, operands, successors, attrs, signature, regions, loc = children
        node = Node(token, token[0], False)
        if symbol is not None:
            node.symbol = "::".join(symbol.path)
        return self._fill(node, results, operands, successors, attrs, None, signature, regions, loc)

    def generic(self, children: Any) -> Node:
        results, token, operands, successors, properties, regions, attrs, signature, loc = children
        name = self.text(token)
        if "." not in name:
            raise _at(ParseError(f"operation name '{name}' needs a dialect in front, as in 'dialect.name'"), token)
        return self._fill(Node(token, name, True), results, operands, successors, attrs, properties, signature, regions, loc)

    def one_line(self, line: Line) -> Node:
        """An operation of which `Lines` knows how it ends."""
        node, end = Node(line.name, line.name[0], False), line.end
        node.results, node.operands, node.successors, node.regions, node.loc = line.results, line.operands, (), (), None
        node.attrs = dict(end.attrs)  # whoever makes the operation may add to them
        node.operand_types, node.result_types = end.operand_types, end.result_types
        return node

    def _fill(self, node: Node, results: Any, operands: Any, successors: Any, attrs: Any, properties: Any, signature: Any, regions: Any, loc: Any) -> Node:
        node.results = results or ()
        node.operands = operands or ()
        node.successors = successors or ()
        node.attrs = attrs or {} if properties is None else {**properties, **(attrs or {})}
        node.operand_types, node.result_types = signature or (None, ())
        node.regions = regions or ()
        node.loc = loc
        return node

    def results(self, children: Any) -> Any:
        return children

    def plain_operands(self, children: Any) -> list[Any]:
        text, offset = children[0]
        return [[((name.strip(), offset), None) for name in text[1:-1].split(",")]]  # `Builder.fail` finds the exact place

    def operands(self, children: Any) -> list[Any]:
        return [child if child is not None else [] for child in children]

    def group(self, children: Any) -> Any:
        return children

    def operand(self, children: Any) -> tuple[Any, Any]:
        return children[0], children[1]

    def successors(self, children: Any) -> list[Any]:
        return children

    def successor(self, children: Any) -> tuple[Any, list[Any]]:
        token, operands = children
        passed = [item for group in operands or () for item in group]
        for value, type in passed:
            if type is not None:
                raise _at(ParseError(f"operands of a successor have no types, but {value[0]} has one"), value)
        return token, [value for value, _ in passed]

    def one_result(self, children: Any) -> tuple[Any, list[Any]]:
        return None, children

    def results_only(self, children: Any) -> tuple[Any, list[Any]]:
        return None, children[0]

    def function_one(self, children: Any) -> tuple[Any, list[Any]]:
        return children[0], [children[1]]

    def function_many(self, children: Any) -> tuple[Any, list[Any]]:
        return children[0], children[1]

    def types(self, children: Any) -> Any:
        return () if children[0] is None else children

    def regions(self, children: Any) -> Any:
        return children

    def region(self, children: Any) -> tuple[list[Any], list[Any]]:
        return [c for c in children if type(c) is Node], [c for c in children if type(c) is not Node]

    def block(self, children: Any) -> tuple[Any, list[Any], list[Any]]:
        token, args = children[0], children[1]
        return token, [item for group in args or () for item in group], children[2:]

    # ---- attributes --------------------------------------------------------------------------------------------------

    def attributes(self, children: Any) -> dict[str, Any]:
        return self._dict(children)

    def dictionary(self, children: Any) -> tuple[dict[str, Any]]:
        made = self._dict([child for child in children if child is not None])
        self._note_depth(made, made.values())
        return (made,)

    def _note_depth(self, made: Any, members: Any) -> None:
        self.depths[id(made)] = 1 + max([self.depths.get(id(member), 0) for member in members], default=0)

    def _check_depth(self, value: Any, token: Token) -> None:
        if self.depths.get(id(value), 0) > MAX_NESTING:
            raise _at(ParseError(f"lists are nested more than {MAX_NESTING} deep"), token)

    def _dict(self, entries: list[Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for token, name, value in entries:
            if name in out:
                raise _at(ParseError(f"attribute '{name}' is given twice"), token)
            out[name] = value
        return out

    def entry(self, children: Any) -> tuple[Any, str, Any]:
        token, value = children
        name = token[0]
        if name.startswith('"'):
            name = self.text(token)
        if value is None:
            return token, name, True
        self._check_depth(value[0], token)
        return token, name, value[0]

    # an attribute value travels in a 1-tuple, so that the value None differs from an absent one

    def number(self, children: Any) -> tuple[Any]:
        token, type = children
        text = token[0]
        if type is not None and not isinstance(type, ScalarType):
            raise _at(ParseError(f"a number has a builtin type, not {type}"), token)
        try:
            if "0x" in text:
                return (self._hexadecimal(text, type),)
            if any(c in text for c in ".en") or (type is not None and type.kind == "float"):
                if type is not None and type.kind != "float":
                    raise ValueError(text)
                return (float(text),)
            return (int(text),)
        except ValueError:
            kind = "number" if type is None else f"number of type {type}"
            raise _at(ParseError(f"{text[:30]} is no {kind}"), token) from None

    def _hexadecimal(self, text: str, type: Any) -> int | float:
        bits = int(text, 16)
        if type is None or type.kind != "float":
            return bits
        if type.bits != 64 or not 0 <= bits < 2**64:
            raise ValueError(text)
        return struct.unpack("<d", struct.pack("<Q", bits))[0]

    def string(self, children: Any) -> tuple[str]:
        return (self.text(children[0]),)

    def text(self, token: Any) -> str:
        """The contents of a string token."""
        try:
            return unescape(token[0][1:-1])
        except ParseError as error:
            raise _at(error, token) from None

    WORDS = {"true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan}

    def word(self, children: Any) -> tuple[Any]:
        text = children[0][0]
        if text in self.WORDS:
            return (self.WORDS[text],)
        scalar = SCALARS.get(text)
        if scalar is None:
            raise _at(ParseError(f"'{text}' is no attribute; strings stand in quotes"), children[0])
        return (scalar,)

    def type_attribute(self, children: Any) -> tuple[Any]:
        return (children[0],)

    def dialect_attribute(self, children: Any) -> tuple[Any]:
        token = children[0]
        text = token[0]
        found = self.dialect_values.get(text)
        if found is None:
            found = self.dialect_values[text] = self._builtin(token, text) if text.startswith("#lect.") else self._dialect(token, "attrs", "attribute")
        return (found,)

    def _builtin(self, token: Any, text: str) -> Any:
        """A large integer, or a size that is known only at run time."""
        if text.startswith("#lect.int<"):
            return self._integer(token, text)
        if not text.startswith("#lect.size<"):
            return self._dialect(token, "attrs", "attribute")
        scanner = Scanner(text[len("#lect.size<") : -1])
        try:
            size = parse_size(scanner)
            scanner.end()
        except ParseError as error:
            error.position = token[1] + error.offset + len("#lect.size<")
            raise
        return size

    def _integer(self, token: Any, text: str) -> int:
        try:
            return int(text[len('#lect.int<"') : -2])
        except ValueError:
            raise _at(ParseError("#lect.int holds a quoted decimal integer"), token) from None

    def attribute_alias(self, children: Any) -> tuple[Any]:
        value = self._aliased(children[0])
        return value if type(value) is tuple else (value,)

    def symbol(self, children: Any) -> SymbolRef:
        return SymbolRef(tuple([self._symbol(part) for part in children]))

    def _symbol(self, token: Any) -> str:
        text = token[0][1:]
        if not text.startswith('"'):
            return text
        try:
            return unescape(text[1:-1])
        except ParseError as error:
            raise _at(error, token) from None

    def symbol_attribute(self, children: Any) -> tuple[SymbolRef]:
        return (children[0],)

    def array(self, children: Any) -> tuple[tuple[Any, ...]]:
        made = tuple([child[0] for child in children if child is not None])
        if made:  # the empty tuple is one object
            self._note_depth(made, made)
        return (made,)

    # ---- types -------------------------------------------------------------------------------------------------------

    def builtin_type(self, children: Any) -> Any:
        found = SCALARS.get(children[0][0])
        if found is None:
            raise _at(ParseError(f"'{children[0][0]}' is no type"), children[0])
        return found

    def dialect_type(self, children: Any) -> Any:
        token = children[0]
        text = token[0]
        found = self.dialect_values.get(text)
        if found is None:
            found = self.dialect_values[text] = self._dialect(token, "types", "type")
        return found

    def aliased_type(self, children: Any) -> Any:
        return self._aliased(children[0])

    def _aliased(self, token: Any) -> Any:
        try:
            return self.aliases[token[0]]
        except KeyError:
            raise _at(ParseError(f"alias {token[0]} is not defined"), token) from None

    def type(self, children: Any) -> Any:
        return children[0]

    def _dialect(self, token: Any, table: str, what: str) -> Any:
        text = token[0]
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
            error.position = token[1] + error.offset + len(head) + 2
            error.message = f"in {text[0]}{head}: {error.message}"
            raise
        return value

    # ---- locations ---------------------------------------------------------------------------------------------------

    def place(self, children: Any) -> tuple[str, int, int, int | None, int | None]:
        file, line, column, end_line, end_column = children
        try:
            end = (None, None) if end_line is None else (int(end_line[0]), int(end_column[0]))
            return self.text(file), int(line[0]), int(column[0]), *end
        except ValueError:
            raise _at(ParseError("line and column are integers"), line) from None

    def location(self, children: Any) -> Location:
        file, line, column, end_line, end_column = children[0]
        return Location(file, line, column, None, end_line, end_column)

    def named_location(self, children: Any) -> Location:
        file, line, column, end_line, end_column = children[1]
        return Location(file, line, column, self.text(children[0]), end_line, end_column)

    def unknown_location(self, children: Any) -> Location:
        if children[0][0] != "unknown":
            raise _at(ParseError(f"a location is unknown or names a file, got '{children[0][0]}'"), children[0])
        return UNKNOWN


class Syntax:
    """The parser with its callbacks.  One parse at a time: the callbacks hold its state."""

    def __init__(self) -> None:
        self.callbacks = Callbacks()
        self.parser = Parser(load_tables(), lambda name: getattr(self.callbacks, name))
        self.lock = threading.Lock()

    def parse(self, text: str, ctx: Context) -> list[Node]:
        """The nodes of the top-level operations.  Raises `ParseError`."""
        callbacks = self.callbacks
        with self.lock:
            callbacks.ctx, callbacks.dialect_values, callbacks.aliases, callbacks.depths = ctx, {}, {}, {}
            lines = Lines(lambda end: self.parser.parse(f"{ANY}{end}")[0])

            def whole(text: str, offset: int) -> tuple[Node, int] | None:
                found = lines.at(text, offset)
                return None if found is None else (callbacks.one_line(found), found.next)

            try:
                return self.parser.parse(text, whole)
            except SyntaxProblem as problem:
                raise _explain(problem) from None
            finally:
                callbacks.ctx = None


def _explain(problem: SyntaxProblem) -> ParseError:
    names = sorted({TERMINALS.get(name, name) for name in problem.expected})
    expected = " or ".join(names) if len(names) <= 4 else ", ".join(names[:6]) + (" or other text" if len(names) > 6 else "")
    found = f"'{problem.found[:40]}'" if problem.found else "the end of the text"
    error = ParseError(f"expected {expected or 'something else'}, found {found}")
    error.position = problem.offset
    return error


@cache
def load_syntax() -> Syntax:
    """The syntax, made once in a process."""
    return Syntax()
