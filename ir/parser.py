"""Parsing: text of either form to IR.

The callbacks in `syntax` make plain tuples and attribute values of the text, and `Builder` makes operations of them with names resolved.  What is
wrong is a `ParseError` with file, line and column; nothing else leaves `parse_module`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from .attributes import Attribute, SymbolRef
from .block import Block, Region
from .context import Context
from .define import SEGMENTS, OpDefinition, Operand
from .diagnostics import ParseError, source_excerpt
from .lalr import Token
from .location import UNKNOWN, Location
from .operation import Operation, UnregisteredOp
from .syntax import Syntax, load_syntax
from .traits import FuncLike, IsolatedFromAbove
from .types import Type
from .value import Value

PLACEHOLDER = "forward reference"
MAX_NESTING = 100  # of regions; whatever walks the IR may use the Python stack
_NEWLINE = re.compile(r"\n")


def parse_module(text: str, ctx: Context, filename: str = "-") -> Operation:
    """The `builtin.module` that `text` describes; loose operations are wrapped in one.  Raises `ParseError`."""
    ops = parse_ops(text, ctx, filename)
    if len(ops) == 1 and ops[0].name == "builtin.module":
        return ops[0]
    module_class = ctx.op_class("builtin.module")
    assert module_class is not None, "the context has no builtin dialect"
    block = Block()
    for op in ops:
        block.append(op)
    return module_class.create(regions=[Region([block])])


def parse_ops(text: str, ctx: Context, filename: str = "-") -> list[Operation]:
    """The top-level operations of `text`."""
    syntax = load_syntax()
    try:
        tree = syntax.parse(text, ctx)
        return Builder(ctx, filename, text).build(tree)
    except ParseError as error:
        _locate(error, text, filename)
        raise
    except RecursionError:
        raise ParseError("the text is nested too deeply", Location(filename, 1, 0)) from None


def parse_attribute(text: str, ctx: Context) -> Any:
    """One attribute value.  Raises `ParseError`."""
    module = parse_ops(f'"lect.attribute"() {{value = {text}}} : () -> ()', _permissive(ctx), "-")
    return module[0].attrs["value"]


def _permissive(ctx: Context) -> Context:
    twin = Context({}, allow_unregistered=True)
    twin.dialect = ctx.dialect  # type: ignore[method-assign]
    return twin


def _locate(error: ParseError, text: str, filename: str) -> None:
    """Turn the offset that the syntax left on the error into a location with an excerpt."""
    if error.position is not None and not error.loc.known:
        line, column = Lines(text).place(error.position)
        error.loc = Location(filename, line, column)
    if error.loc.known and error.excerpt is None and error.loc.file == filename:
        error.excerpt = source_excerpt(text, error.loc.line, error.loc.column or 0)


class Lines:
    """Offsets of a text to lines (from 1) and columns (from 0)."""

    __slots__ = ("starts",)

    def __init__(self, text: str) -> None:
        self.starts = [0, *[match.end() for match in _NEWLINE.finditer(text)]]

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column at an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1]


class Scope:
    """Names of one isolated region tree: `values` visible now, `pending` forward references with where they stand, `checks` left for the end."""

    __slots__ = ("checks", "pending", "values")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.pending: dict[str, tuple[Value, Any]] = {}
        self.checks: list[tuple[Operation, list[Type], Any]] = []


class Builder:
    """Makes operations of the tuples that the syntax gives."""

    def __init__(self, ctx: Context, filename: str, text: str) -> None:
        self.ctx = ctx
        self.filename = filename
        self.text = text
        self.lines = Lines(text)
        self.scope = Scope()
        self.labels: dict[str, Block] = {}
        self.depth = 0

    def build(self, tree: list[Any]) -> list[Operation]:
        """The top-level operations."""
        self.depth = -1 if len(tree) == 1 and tree[0].name == "builtin.module" else 0  # the module may be left out of the text
        ops = [self.op(node) for node in tree]
        self.close_scope()
        return ops

    def fail(self, message: str, token: Token) -> ParseError:
        """An error at a token; the caller raises it.  Values in a plain list of operands have the offset of the list."""
        name, offset = token
        found = re.compile(re.escape(name) + r"(?![\w$])").search(self.text, offset)
        return ParseError(message, self.place(found.start() if found else offset))

    def place(self, offset: int) -> Location:
        """The location of an offset in the text."""
        line, column = self.lines.place(offset)
        return Location(self.filename, line, column)

    # ---- names -------------------------------------------------------------------------------------------------------

    def define(self, token: Any, value: Value, undo: list[str]) -> None:
        """Bind a name to a value in the open scope."""
        name = token[0]
        scope = self.scope
        if name in scope.values:
            raise self.fail(f"{name} is defined twice", token)
        scope.values[name] = value
        undo.append(name)
        if not name[1].isdigit():
            value.hint = name[1:]
        if name in scope.pending:
            placeholder, _ = scope.pending.pop(name)
            value.users.update(placeholder.users)
            for user in placeholder.users:
                user.operands[:] = [value if operand is placeholder else operand for operand in user.operands]

    def use(self, token: Any) -> Value:
        """The value of a name; one that comes later gets a placeholder."""
        name = token[0]
        found = self.scope.values.get(name)
        if found is not None:
            return found
        pending = self.scope.pending.get(name)
        if pending is None:
            placeholder = Value(_NO_TYPE, Block(), 0, PLACEHOLDER)
            pending = self.scope.pending[name] = (placeholder, token)
        return pending[0]

    def close_scope(self) -> None:
        """All forward references must have been met; operand types written in the text must be those of the values."""
        for name, (_, token) in self.scope.pending.items():
            raise self.fail(f"{name} is used but never defined", token)
        for op, types, token in self.scope.checks:
            if len(types) != len(op.operands):
                raise self.fail(f"'{op.name}' has {len(op.operands)} operands but {len(types)} operand types", token)
            for value, type in zip(op.operands, types):
                if value.type is not type:
                    raise self.fail(f"operand of '{op.name}' has the type {value.type}, but {type} is written", token)

    # ---- operations --------------------------------------------------------------------------------------------------

    def op(self, node: Any, undo: list[str] | None = None) -> Operation:
        """Build one operation; the names it defines are noted in `undo`."""
        undo = [] if undo is None else undo
        token, name = node.token, node.name
        cls = self.ctx.op_class(name)
        if cls is None and not (self.ctx.allow_unregistered and self.ctx.dialect(name.partition(".")[0]) is None):
            raise self.fail(self._unknown(name), token)
        attrs = node.attrs
        groups, header = self._operands(node, cls)
        operands = [self.use(t) for group in groups for t in group]
        successors = [self._label(t) for t, _ in node.successors]
        passed = [[self.use(t) for t in group] for _, group in node.successors]
        for group in passed:
            operands += group
        definition = cls.definition if cls is not None else None
        if definition is not None and definition.needs_segments and not node.generic:
            attrs[SEGMENTS] = self._segments(definition, groups, passed, token)
        if node.symbol is not None:
            attrs = {"sym_name": node.symbol, **attrs}
        regions = self._regions(node, cls, header)
        loc = node.loc if node.loc is not None else self.place(token[1])
        if cls is None:
            op: Operation = UnregisteredOp.create(operands, node.result_types, attrs, regions, successors, loc)
            op.name = name  # type: ignore[misc]
        else:
            op = cls.create(operands, node.result_types, attrs, regions, successors, loc)
        if len(node.results) != len(node.result_types):
            raise self.fail(f"'{name}' has {len(node.result_types)} result types for {len(node.results)} result names", token)
        for result_token, value in zip(node.results, op.results):
            self.define(result_token, value, undo)
        if node.operand_types is not None:
            self.scope.checks.append((op, node.operand_types, token))
        return op

    def _unknown(self, name: str) -> str:
        dialect = name.partition(".")[0]
        if self.ctx.dialect(dialect) is None:
            known = ", ".join(sorted(self.ctx.dialect_names))
            return f"unknown dialect '{dialect}'; known are {known}"
        import difflib

        close = difflib.get_close_matches(name, self.ctx.dialect(dialect).ops, 1)  # type: ignore[union-attr]
        return f"unknown operation '{name}'" + (f"; did you mean '{close[0]}'?" if close else "")

    def _operands(self, node: Any, cls: type[Operation] | None) -> tuple[list[list[Any]], list[Any] | None]:
        """Operand tokens by group, or the parameters in the header of a function."""
        if cls is not None and FuncLike in cls.traits and not node.generic:
            header = [item for group in node.operands for item in group]
            for token, type in header:
                if type is None:
                    raise self.fail(f"the parameter {token[0]} needs a type", token)
            return [], header
        for group in node.operands:
            for token, type in group:
                if type is not None:
                    raise self.fail(f"only parameters of functions have types in the operand list, but {token[0]} has one", token)
        return [[token for token, _ in group] for group in node.operands], None

    def _segments(self, definition: OpDefinition, groups: list[list[Any]], passed: list[list[Value]], token: Any) -> tuple[int, ...]:
        """Sizes of the operand groups from the `;` separated parts: each optional or variadic field after the first opens a part."""
        counts = [len(group) for group in groups]
        fields = definition.operands
        parts: list[list[int]] = [[]]
        sizes = [0] * len(fields)
        open_part = False
        for number, field in enumerate(fields):
            if field.kind is not Operand:
                if open_part:
                    parts.append([])
                open_part = True
            parts[-1].append(number)
        if len(counts) > len(parts):
            raise self.fail(f"'{definition.name}' has {len(parts)} operand groups, got {len(counts)}", token)
        for number, part in enumerate(parts):
            left = counts[number] if number < len(counts) else 0
            fixed = sum(fields[i].kind is Operand for i in part)
            for i in part:
                if fields[i].kind is Operand:
                    sizes[i] = 1
                else:
                    sizes[i] = max(left - fixed, 0)
            if sum(sizes[i] for i in part) != left:
                raise self.fail(f"'{definition.name}' takes at least {fixed} operands in group {number + 1}, got {left}", token)
        absent = len(definition.successors) - len(passed)
        return (*sizes, *[len(group) for group in passed], *[0] * absent)

    # ---- regions -----------------------------------------------------------------------------------------------------

    def _label(self, token: Any) -> Block:
        block = self.labels.get(token[0])
        if block is None:
            raise self.fail(f"there is no block {token[0]} in this region", token)
        return block

    def _regions(self, node: Any, cls: type[Operation] | None, header: list[Any] | None) -> list[Region]:
        if not node.regions:
            if header is not None:
                raise self.fail(f"'{node.name}' needs a body", node.token)
            return []
        if self.depth == MAX_NESTING:
            raise self.fail(f"regions are nested more than {MAX_NESTING} deep", node.token)
        self.depth += 1
        outer = self.scope
        isolated = cls is not None and IsolatedFromAbove in cls.traits
        out = []
        for number, parsed in enumerate(node.regions):
            if isolated:
                self.scope = Scope()
            out.append(self._region(parsed, header if number == 0 else None))
            if isolated:
                self.close_scope()
                self.scope = outer
        self.depth -= 1
        return out

    def _region(self, parsed: tuple[list[Any], list[Any]], header: list[Any] | None) -> Region:
        loose, labelled = parsed
        saved = self.labels
        self.labels = {}
        undo: list[str] = []
        region = Region()
        bodies: list[tuple[Block, list[Any], list[Any]]] = []
        if loose or header is not None or not labelled:
            bodies.append((region.append(Block()), header or [], loose))
        for token, args, ops in labelled:
            if token[0] in self.labels:
                raise self.fail(f"block {token[0]} is defined twice", token)
            name = token[0][1:]
            block = region.append(Block(hint=None if name.startswith("bb") and name[2:].isdigit() else name))
            self.labels[token[0]] = block
            bodies.append((block, args, ops))
        for block, args, _ in bodies:
            for token, type in args:
                if type is None:
                    raise self.fail(f"the block argument {token[0]} needs a type", token)
                self.define(token, block.add_arg(type), undo)
        for block, _, ops in bodies:
            for node in ops:
                block.append(self.op(node, undo))
        for name in undo:
            del self.scope.values[name]
        self.labels = saved
        return region


class _NoType(Type):
    """The type of a forward reference until it is met."""

    __slots__ = ()

    def __str__(self) -> str:
        return "?"


_NO_TYPE = _NoType()

__all__ = ["Attribute", "Builder", "SymbolRef", "Syntax", "UNKNOWN", "parse_attribute", "parse_module", "parse_ops"]
