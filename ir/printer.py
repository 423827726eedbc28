"""Printing: one syntax for every dialect, in two forms.

The pretty form is for people (`%2 = functional.add(%0, %1) {alpha = 2.0} : !t`), the generic form is MLIR's.  Both parse back to the same IR, and
printing what was parsed gives the same text.  Value names are stable: the hint where it is free, else a number, counted anew in each isolated
operation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

from .attributes import Attribute, symbol_text
from .block import Block, Region
from .define import SEGMENTS, OpDefinition, Operand
from .location import UNKNOWN, Location
from .operation import Operation, UnregisteredOp
from .scanner import quote
from .symbolic import Expr
from .traits import FuncLike, IsolatedFromAbove
from .value import Value

if TYPE_CHECKING:
    from .text_form import Form

_IDENTIFIER = re.compile(r"[A-Za-z_](?:[\w$]*|\w*\.[\w$.]+)\Z", re.ASCII)
_NOT_NAME = re.compile(r"[^A-Za-z0-9_$]")
_I64 = range(-(2**63), 2**63)


def print_module(op: Operation, generic: bool = False, locations: bool = False) -> str:
    """The text of a module (or any operation), ending in a newline.  A module without symbol and attributes prints as its contents alone."""
    if not generic and op.name == "builtin.module" and not op.attrs and op.regions[0].blocks:
        printer = Printer(generic, locations)
        for inner in op.body:
            if printer.lines and (inner.regions or printer.lines[-1] == "}"):
                printer.lines.append("")
            printer.op(inner, "")
        return "\n".join(printer.lines) + "\n" if printer.lines else ""
    return print_op(op, generic=generic, locations=locations)[0] + "\n"


def print_op(op: Operation, generic: bool = False, locations: bool = False, mark: Operation | None = None) -> tuple[str, int | None]:
    """The text of one operation, and the number of the line on which `mark` begins (None when it is not inside)."""
    printer = Printer(generic, locations, mark)
    printer.op(op, "")
    return "\n".join(printer.lines), printer.marked


def attribute_text(value: Any, generic: bool = False) -> str:
    """The text of an attribute value.  Raises TypeError for what is no attribute."""
    kind = type(value)
    if kind is int:
        if generic:
            return f"{value} : i64" if value in _I64 else f'#lect.int<"{value}">'
        return str(value)
    if kind is str:
        return quote(value)
    if isinstance(value, Attribute):
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "none"
    if kind is float:
        return float_text(value, generic)
    if kind is tuple or kind is list:
        if not generic and set(map(type, value)) <= {int}:
            return str(list(value))
        return "[" + ", ".join([attribute_text(item, generic) for item in value]) + "]"
    if kind is dict:
        return "{" + _entries(value, generic) + "}"
    if kind is Expr:
        return f"#lect.size<{value}>"
    raise TypeError(f"{value!r} is no attribute value")


def float_text(value: float, generic: bool = False) -> str:
    """The shortest text that reads back as the same double."""
    if math.isfinite(value):
        text = repr(value)
        if "." not in text:
            mantissa, exponent = text.split("e")
            text = f"{mantissa}.0e{exponent}"
        return f"{text} : f64" if generic else text
    if generic:
        bits = {math.inf: "0x7FF0000000000000", -math.inf: "0xFFF0000000000000"}.get(value, "0x7FF8000000000000")
        return f"{bits} : f64"
    return "nan" if value != value else "inf" if value > 0 else "-inf"


@lru_cache(1024)
def _key_text(name: str) -> str:
    return name if _IDENTIFIER.match(name) else quote(name)


def _entries(attrs: dict[str, Any], generic: bool, hidden: tuple[str, ...] = ()) -> str:
    return ", ".join([f"{_key_text(name)} = {attribute_text(value, generic)}" for name, value in attrs.items() if name not in hidden])


def location_text(loc: Location) -> str:
    """`loc("file":line:column to line:column)`, with the function's name around it; the end and the function only when known."""
    if loc is UNKNOWN:
        return "loc(unknown)"
    place = f"{quote(loc.file)}:{loc.line}:{loc.column or 0}"
    if loc.end_line is not None:
        place += f" to {loc.end_line}:{loc.end_column}"
    return f"loc({place})" if loc.function is None else f"loc({quote(loc.function)}({place}))"


class Printer:
    """Collects lines; names of values live in `names`, names taken in the current isolated operation in `taken`."""

    def __init__(self, generic: bool = False, locations: bool = False, mark: Operation | None = None) -> None:
        self.generic = generic
        self.locations = locations
        self.mark = mark
        self.short = not (generic or locations or mark is not None)  # a line has nothing but what `_short` prints
        self.marked: int | None = None
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.blocks: dict[Block, str] = {}
        self.taken: set[str] = set()
        self.next_number = 0
        self.places: dict[Location, str] = {}
        self.known: Known | None = None

    # ---- names -------------------------------------------------------------------------------------------------------

    def define(self, value: Value) -> str:
        """Give `value` its name."""
        name = self.names[value] = self.new_name(value.hint)
        return name

    def new_name(self, hint: str | None) -> str:
        """A name that is free: the hint, else a number."""
        if hint is None:  # no hint gives a number, so nobody else has the name
            name = f"%{self.next_number}"
            self.next_number += 1
            return name
        name = self._from_hint(hint)
        self.taken.add(name)
        return name

    def new_numbers(self, count: int) -> list[str]:
        """So many names without hints."""
        first = self.next_number
        self.next_number = first + count
        return [f"%{number}" for number in range(first, first + count)]

    def _from_hint(self, hint: str) -> str:
        base = "%" + (_NOT_NAME.sub("_", hint) or "_")
        if base[1].isdigit():  # a number is no hint to the parser
            base = "%_" + base[1:]
        name, suffix = base, 0
        while name in self.taken:
            suffix += 1
            name = f"{base}_{suffix}"
        return name

    def use(self, value: Value) -> str:
        """The name of an operand; values that are defined later (loops in the block graph) or nowhere are named on first sight."""
        name = self.names.get(value)
        return name if name is not None else self.define(value)

    def label(self, block: Block) -> str:
        """The name of a block."""
        name = self.blocks.get(block)
        if name is None:
            name = self.blocks[block] = f"^unknown{len(self.blocks)}"
        return name

    def place(self, loc: Location) -> str:
        """The text of a location, behind a blank: many operations share one."""
        text = self.places.get(loc)
        if text is None:
            text = self.places[loc] = " " + location_text(loc)
        return text

    # ---- operations --------------------------------------------------------------------------------------------------

    def op(self, op: Operation, indent: str) -> None:
        """Print `op` and what it contains."""
        if op is self.mark:
            self.marked = len(self.lines)
        names = self.names
        out = indent
        results = op.results
        if results:
            if len(results) == 1:
                value = results[0]
                out += (names.get(value) or self.define(value)) + " = "
            else:
                out += ", ".join([names.get(value) or self.define(value) for value in results]) + " = "
        if self.generic or isinstance(op, UnregisteredOp):
            self._generic(op, out, indent)
        else:
            self._pretty(op, out, indent)

    def _pretty(self, op: Operation, out: str, indent: str) -> None:
        attrs = op.attrs
        definition = op.definition
        names = self.names
        out += op.name
        header = op.regions and FuncLike in op.traits and op.regions[0].blocks
        if header:
            saved = self._enter(op)
            args = ", ".join([f"{self.define(value)}: {value.type}" for value in op.regions[0].blocks[0].args])
            out += f" {symbol_text(op.attrs.get('sym_name', ''))}({args})"
        else:
            if "sym_name" in attrs:
                out += " " + symbol_text(attrs["sym_name"])
            operands = op.operands
            if definition is not None and definition.needs_segments:
                out += self._grouped(op, definition)
            elif op.successors:
                out += self._with_successors(op, definition)
            elif operands:
                out += "(" + ", ".join([names.get(value) or self.define(value) for value in operands]) + ")"
            elif not op.regions:
                out += "()"
        out += _end(op) if self.known is None or not attrs else _known_end(op, self.known.ends)
        if op.regions:
            self._regions(op, out, indent, bool(header))
            if header:
                self._leave(saved)
        else:
            self.lines.append(out + (self.place(op.loc) if self.locations else ""))

    def _grouped(self, op: Operation, definition: OpDefinition) -> str:
        sizes = definition.segments(op)
        position = 0
        parts: list[list[str]] = [[]]
        open_part = False
        for field, size in zip(definition.operands, sizes):
            if field.kind is not Operand:
                if open_part:
                    parts.append([])
                open_part = True
            parts[-1] += [self.use(value) for value in op.operands[position : position + size]]
            position += size
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        text = "(" + "; ".join([", ".join(part) for part in parts]) + ")"
        return text + self._successor_list(op, sizes[len(definition.operands) :], position)

    def _with_successors(self, op: Operation, definition: OpDefinition | None) -> str:
        count = len(definition.operands) if definition is not None else 0
        text = "(" + ", ".join([self.use(value) for value in op.operands[:count]]) + ")"
        return text + self._successor_list(op, [len(op.operands) - count] * len(op.successors), count)

    def _successor_list(self, op: Operation, sizes: list[int], position: int) -> str:
        if not op.successors:
            return ""
        out = []
        for block, size in zip(op.successors, sizes):
            passed = [self.use(value) for value in op.operands[position : position + size]]
            position += size
            out.append(self.label(block) + (f"({', '.join(passed)})" if passed else ""))
        return "[" + ", ".join(out) + "]"

    def _generic(self, op: Operation, out: str, indent: str) -> None:
        out += quote(op.name) + "(" + ", ".join([self.use(value) for value in op.operands]) + ")"
        if op.successors:
            out += "[" + ", ".join([self.label(block) for block in op.successors]) + "]"
        types = [str(value.type) for value in op.operands]
        results = [str(value.type) for value in op.results]
        tail = f" {{{_entries(op.attrs, True)}}}" if op.attrs else ""
        tail += f" : ({', '.join(types)}) -> " + (results[0] if len(results) == 1 else f"({', '.join(results)})")
        if self.locations:
            tail += self.place(op.loc)
        if not op.regions:
            self.lines.append(out + tail)
            return
        saved = self._enter(op)
        self.lines.append(out + " ({")
        for number, region in enumerate(op.regions):
            if number:
                self.lines.append(indent + "}, {")
            self.region(region, indent, False)
            self._release_arguments(region)
        self.lines.append(indent + "})" + tail)
        self._leave(saved)

    # ---- regions -----------------------------------------------------------------------------------------------------

    def _enter(self, op: Operation) -> tuple[set[str], int] | None:
        if IsolatedFromAbove not in op.traits:
            return None
        saved = (self.taken, self.next_number)
        if self.generic:  # a reader that does not know the operation to be isolated sees the names around it
            self.taken = set(self.taken)
        else:
            self.taken, self.next_number = set(), 0
        return saved

    def _leave(self, saved: tuple[set[str], int] | None) -> None:
        if saved is not None:
            self.taken, self.next_number = saved

    def _regions(self, op: Operation, out: str, indent: str, header: bool) -> None:
        saved = None if header else self._enter(op)
        for number, region in enumerate(op.regions):
            if number:
                out = indent + "},"
            if not region.blocks:
                self.lines.append(out + " {")
                continue
            self.lines.append(out + " {")
            self.region(region, indent, header)
            self._release_arguments(region)
        self.lines.append(indent + "}" + (self.place(op.loc) if self.locations else ""))
        if not header:
            self._leave(saved)

    def _release_arguments(self, region: Region) -> None:
        """Nothing behind a region sees its block arguments, so the next region may give their names to its own."""
        for block in region.blocks:
            if block.pending is not None:
                continue
            self.release([self.names[value] for value in block.args])

    def release(self, names: Sequence[str]) -> None:
        """Let others have these names."""
        self.taken.difference_update(names)

    def region(self, region: Region, indent: str, header: bool) -> None:
        """Print the blocks of a region; the entry's label is left out when it has no arguments to show."""
        used: set[str] = set()
        for number, block in enumerate(region.blocks):
            name = "^" + (_NOT_NAME.sub("_", block.hint) if block.hint else f"bb{number}")
            while name in used:
                name += "_"
            used.add(name)
            self.blocks[block] = name
        inner = indent + "  "
        for number, block in enumerate(region.blocks):
            if block.pending is not None and not self.generic:
                self._pending(block, indent, inner)
                continue
            empty = block.first is None and (self.generic or len(region.blocks) > 1)  # without a label it would not be seen
            if number or ((block.args or empty) and not header):
                args = ", ".join([f"{self.names.get(value) or self.define(value)}: {value.type}" for value in block.args])
                self.lines.append(indent + self.blocks[block] + (f"({args}):" if args else ":"))
            op = block.first
            short = self.short
            known = self.known if header else None
            while op is not None:
                if op.regions:
                    if known is None or not self._remembered(op, known.form(op)):
                        self.op(op, inner)
                elif not short or not self._short(op, inner):
                    self.op(op, inner)
                op = op.next

    def _pending(self, block: Block, indent: str, inner: str) -> None:
        """Print a block whose operations are not written down, and leave it so."""
        template, places, arg_types, hints = block.pending
        names = [self.use(value) for value in block.parent_op.operands]  # type: ignore[union-attr]
        arguments = [self.new_name(hint) for _, hint in zip(arg_types, hints)]
        if arguments:
            self.lines.append(f"{indent}{self.blocks[block]}({', '.join([f'{name}: {type}' for name, type in zip(arguments, arg_types)])}):")
        names += arguments
        body = template.body(len(names) - len(arguments), arg_types, forms_of_lines)
        names += self.new_numbers(body.results)
        if self.locations:
            for form, numbers, place in body.lines:
                self.lines.append(inner + form % tuple([names[number] for number in numbers]) + self.place(places[place]))
        elif body.lines:
            self.lines.append(body.text(inner) % tuple(body.pick(names)))
        self.release(arguments)

    def _short(self, op: Operation, indent: str) -> bool:
        """Print an operation that is operands, attributes and results, as most are, as `op` does; False for others."""
        definition = op.definition
        attrs = op.attrs
        if definition is None or definition.needs_segments or op.successors or "sym_name" in attrs:
            return False
        names = self.names
        results = op.results
        if len(results) == 1:
            indent += (names.get(results[0]) or self.define(results[0])) + " = "
        elif results:
            indent += ", ".join([names.get(value) or self.define(value) for value in results]) + " = "
        operands = op.operands
        if len(operands) == 1:
            read = names.get(operands[0]) or self.define(operands[0])
        else:
            read = ", ".join([names.get(value) or self.define(value) for value in operands])
        self.lines.append(f"{indent}{op.name}({read}){_end(op) if self.known is None or not attrs else _known_end(op, self.known.ends)}")
        return True

    def _remembered(self, op: Operation, form: Form | None) -> bool:
        """Print an operation in the body of a function as it was printed before; False when that is not known."""
        if form is None:
            return False
        names: list[Any] = [self.names.get(value) for value in form.outer]
        if None in names:
            return False
        first, taken = len(names), self.taken
        for event in form.hints:
            if type(event) is int:
                taken.discard(names[first + event])
            else:
                names.append(self.new_name(event))  # type: ignore[arg-type]
        names += self.new_numbers(form.numbers)
        for value, place in zip(op.results, form.results):
            self.names[value] = names[place]
        self.lines.append(form.text % form.pick(names))
        return True


End = tuple[list[Any], str]  # what the end of a line is made of, and the text


class Known(NamedTuple):
    """What is known of the body of a function that was printed before: the form of an operation with regions, and what stands behind operands."""

    form: Callable[[Operation], Form | None]
    ends: dict[Operation, End]


def _end(op: Operation) -> str:
    """What stands behind the operands of an operation: attributes and types, without any name of a value."""
    out = ""
    if op.attrs:
        for name, value in op.attrs.items():
            if name != "sym_name" and name != SEGMENTS:
                out += f"{', ' if out else ' {'}{_key_text(name)} = {attribute_text(value)}"
        if out:
            out += "}"
    results = op.results
    if results:
        if len(results) == 1:
            out += f" : {results[0].type}"
        else:
            out += " : (" + ", ".join([str(value.type) for value in results]) + ")"
    return out


def _known_end(op: Operation, ends: dict[Operation, End]) -> str:
    """The same, not made anew where it is in `ends` of the same objects."""
    attrs = op.attrs
    made = [*attrs, *attrs.values()]
    for value in op.results:
        made.append(value.type)
    known = ends.get(op)
    if known is None or len(known[0]) != len(made) or not all(map(is_, known[0], made)):
        known = ends[op] = (made, _end(op))
    return known[1]


_HOLE = re.compile(r"\0(\d+)\0")


def forms_of_lines(block: Block, given: Sequence[Value]) -> list[tuple[str, tuple[int, ...]]]:
    """The line of each operation of a block as a format for names, and which names: of `given`, arguments and results by their numbers."""
    printer = Printer()
    values = [*given, *block.args]
    made = []
    for op in block:
        values += op.results
        printer.names = {value: f"\0{number}\0" for number, value in enumerate(values)}
        printer.op(op, "")
        line = printer.lines.pop().replace("%", "%%")
        made.append((_HOLE.sub("%s", line), tuple(map(int, _HOLE.findall(line)))))
    return made
