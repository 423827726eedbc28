"""Attributes of the loop level: index spaces, strided views of buffers, and the decisions of passes with their reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lect.ir import Attribute, Operation, ParseError, Scanner, Value, attr, quote, require
from lect.ir.index_map import contiguous_strides, space_dims, strided
from lect.ir.symbolic import Expr, Ranges, Size, as_size, constant, product, ranges_of
from lect.ir.symbolic_text import parse_size

_NAME = re.compile(r"@[A-Za-z_][\w$.]*")
FUSIONS = frozenset({"inline", "vertical", "reductions", "horizontal", "epilogue"})


def _body(scanner: Scanner | None, example: str) -> Scanner:
    if scanner is None:
        raise ParseError(f"write <{example}>")
    return scanner


def _list_text(values: Sequence[Size]) -> str:
    return f"[{', '.join(map(str, values))}]"


@attr("loop.space")
class SpaceAttr(Attribute):
    """The index space of a nest: dim d<k> runs over 0 <= d<k> < sizes[k], `#loop.space<d0: 8192, d1: 768>`."""

    sizes: tuple

    @classmethod
    def normalize(cls, sizes: Sequence[Size]) -> dict[str, object]:
        return {"sizes": tuple(sizes)}

    @property
    def ranges(self) -> Ranges:
        """The ranges of the dims."""
        return ranges_of(self.sizes)

    @property
    def dims(self) -> tuple[Expr, ...]:
        """The dims as expressions; 0 where the size is 1."""
        return space_dims(self.sizes)

    @property
    def points(self) -> Size:
        """Number of points."""
        return product(self.sizes)

    def print_body(self) -> str:
        return ", ".join([f"d{k}: {size}" for k, size in enumerate(self.sizes)])

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> SpaceAttr:
        scanner = _body(scanner, "d0: 8192, d1: 768")
        sizes: list[Size] = []
        scanner.skip()
        while scanner.pos < len(scanner.text):
            if sizes:
                scanner.expect(",")
            scanner.expect(f"d{len(sizes)}")
            scanner.expect(":")
            sizes.append(parse_size(scanner))
            scanner.skip()
        return cls(tuple(sizes))


@attr("loop.view")
class ViewAttr(Attribute):
    """A buffer seen as a strided tensor: element (i, j, ...) lies `offset + i * strides[0] + j * strides[1] + ...` elements into it.

    `#loop.view<4x8, strides [1, 4], offset 2>`; row-major strides and an offset of 0 are left out, a tensor without dims is `scalar`.
    """

    sizes: tuple
    strides: tuple | None = None
    offset: int = 0

    @classmethod
    def normalize(cls, sizes: Sequence[Size], strides: Sequence[Size] | None, offset: Size) -> dict[str, object]:
        sizes = tuple(sizes)
        strides = contiguous_strides(sizes) if strides is None else tuple(strides)
        if len(strides) != len(sizes):
            raise ValueError(f"{len(sizes)} sizes but {len(strides)} strides")
        return {"sizes": sizes, "strides": strides, "offset": offset}

    @property
    def map(self) -> Expr:
        """The flat offset of element (d0, d1, ...)."""
        assert self.strides is not None
        return strided(space_dims(self.sizes), self.strides, self.offset)

    @property
    def span(self) -> Size:
        """How many elements of the buffer lie between offset 0 and the last element of the view, both counted; 0 when it is empty."""
        return _span(self)

    def print_body(self) -> str:
        text = "x".join([str(size) if constant(size).is_leaf else f"({size})" for size in self.sizes]) or "scalar"
        if self.strides != contiguous_strides(self.sizes):
            text += f", strides {_list_text(self.strides or ())}"
        return text + (f", offset {self.offset}" if self.offset != 0 else "")

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> ViewAttr:
        scanner = _body(scanner, "4x8, strides [8, 1], offset 0")
        sizes: list[Size] = []
        if not scanner.accept_word("scalar"):
            sizes = _parse_sizes(scanner)
        strides: tuple[Size, ...] | None = None
        offset: Size = 0
        while scanner.accept(","):
            if strides is None and not offset and scanner.accept_word("strides"):
                strides = tuple(scanner.list_of(lambda: parse_size(scanner)))
            else:
                if not scanner.accept_word("offset"):
                    raise scanner.fail("'strides' or 'offset'")
                offset = parse_size(scanner)
        return cls(tuple(sizes), strides, offset)


def verify_view(operation: Operation, buffer: Value, view: object) -> None:
    """Raise `VerifyError` unless `view` is one and ends inside of the buffer, as far as sizes are known."""
    require(isinstance(view, ViewAttr), operation, "a view is written #loop.view<...>, got {}", view)
    assert isinstance(view, ViewAttr)
    numel = buffer.type.numel  # type: ignore[attr-defined]
    if type(view.span) is int and type(numel) is int and type(view.offset) is int:
        require(view.offset >= 0 and view.span <= numel, operation, "the view {} reaches beyond the {} elements of its buffer", view, numel)


@lru_cache(maxsize=4096)
def _span(view: ViewAttr) -> Size:
    assert view.strides is not None
    if any(size == 0 for size in view.sizes):
        return 0
    return as_size(view.offset + 1 + sum((size - 1) * stride for size, stride in zip(view.sizes, view.strides)))


_ONE_SIZE = re.compile(r"(\d+|s\d+)(?=x|\s*,|\s*$)")


def _parse_sizes(scanner: Scanner) -> list[Size]:
    sizes: list[Size] = []
    while not sizes or scanner.accept("x"):
        if scanner.accept("("):
            sizes.append(parse_size(scanner))
            scanner.expect(")")
        else:
            text = scanner.regex(_ONE_SIZE, "a size")[1]
            sizes.append(int(text) if text.isdigit() else parse_size(Scanner(text)))
    return sizes


@attr("loop.operand")
class OperandAttr(Attribute):
    """Stands in the written-out arguments of a library call for the operand with this number."""

    number: int

    def print_body(self) -> str:
        return str(self.number)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> OperandAttr:
        return cls(_body(scanner, "0").integer())


def operand_numbers(value: object) -> list[int]:
    """The numbers of the operands that written-out arguments name."""
    if isinstance(value, OperandAttr):
        return [value.number]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [number for item in value for number in operand_numbers(item)] if isinstance(value, tuple) else []


def _parse_name(scanner: Scanner) -> str:
    return scanner.regex(_NAME, "the name of a nest, @name")[0][1:]


@attr("loop.fuse")
class FuseAttr(Attribute):
    """A fusion that was done: how, which two nests, and the bytes of memory traffic it saves, `#loop.fuse<vertical @n0, @n1 saves 4096>`."""

    kind: str
    first: str
    second: str
    saves: int

    def print_body(self) -> str:
        return f"{self.kind} @{self.first}, @{self.second} saves {self.saves}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> FuseAttr:
        scanner = _body(scanner, "vertical @n0, @n1 saves 4096")
        kind = scanner.word()
        if kind not in FUSIONS:
            raise scanner.fail(f"one of {', '.join(sorted(FUSIONS))} before this")
        first = _parse_name(scanner)
        scanner.expect(",")
        second = _parse_name(scanner)
        scanner.expect("saves")
        return cls(kind, first, second, scanner.integer())


def _parse_remark(scanner: Scanner | None, example: str) -> tuple[str, str]:
    """Another operation and a text about it."""
    scanner = _body(scanner, example)
    other = _parse_name(scanner)
    scanner.expect("by")
    return other, scanner.string()


@attr("loop.blocked")
class BlockedAttr(Attribute):
    """A fusion that was not done: the other operation, the buffer between the two, and why, `#loop.blocked<@n0 by "%b6: several users">`."""

    other: str
    reason: str

    def print_body(self) -> str:
        return f"@{self.other} by {quote(self.reason)}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> BlockedAttr:
        return cls(*_parse_remark(scanner, '@n0 by "%b6: several users"'))


@attr("loop.depends")
class DependsAttr(Attribute):
    """What a nest reads of another operation: its name, the result and the point that wrote the element, `#loop.depends<@n0 by "result 0 at (d0, 0)">`."""

    other: str
    place: str

    def print_body(self) -> str:
        return f"@{self.other} by {quote(self.place)}"

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> DependsAttr:
        return cls(*_parse_remark(scanner, '@n0 by "result 0 at (d0, 0)"'))
