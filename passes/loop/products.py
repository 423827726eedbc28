"""Matrix products as nests: what a library call multiplies, and the nests that do the same.

A product is one nest, `sum over k of a[i, k] * b[k, j]`, plus what the call adds.  Its lanes lie along j, so b must lie along j in memory, and the
part of it that one program reads should stay in the first cache; where it does not, a nest in front copies b into panels of as many columns as a
program takes, in which it reads on and on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from types import MappingProxyType
from typing import Any

from lect.dialects.loop.attributes import OperandAttr, SpaceAttr, ViewAttr
from lect.dialects.loop.building import NestBuilder
from lect.dialects.loop.ops import ExternOp, NestOp
from lect.dialects.loop.types import BufferType
from lect.ir import Value
from lect.ir.index_map import contiguous_strides, strided
from lect.ir.symbolic import Expr

LINE = 64
WAYS = 8
# Library function -> how many dims in front of the matrices, and whether the first argument is added to the product.
CALLS: Mapping[str, tuple[int, bool]] = MappingProxyType(
    {"aten.mm.default": (0, False), "aten.addmm.default": (0, True), "aten.bmm.default": (1, False), "aten.baddbmm.default": (1, True)}
)


@dataclass(frozen=True)
class Product:
    """`batch` products of (rows, inner) and (inner, columns) matrices; `a`, `b` and `added` are numbers of the call's operands."""

    op: ExternOp
    batch: Any
    rows: Any
    columns: Any
    inner: Any
    a: int
    b: int
    added: int | None

    @classmethod
    def of(cls, op: ExternOp, elements: tuple[str, ...] = ("f32", "f64")) -> Product | None:
        """What a library call multiplies; None when it is no product, or one with factors or other elements than these.  Sizes may be expressions."""
        leaf = op.callee.leaf
        if leaf not in CALLS or any(op.kwargs.get(name, 1) != 1 for name in op.kwargs) or set(op.kwargs) - {"beta", "alpha"}:
            return None
        if not all(isinstance(value, OperandAttr) for value in op.args):
            return None
        types = tuple([value.type for value in (*op.operands, *op.results)])
        found = _sizes(leaf, tuple([value.number for value in op.args]), op.views, op.result_views, types, elements)
        return None if found is None else cls(op, *found)

    @property
    def is_symbolic(self) -> bool:
        """Whether some size is known only at run time."""
        return not all(type(size) is int for view in (*self.op.views, *self.op.result_views) for size in (*view.sizes, *(view.strides or ()), view.offset))

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.batch * self.rows * self.columns * self.inner

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return int(self.op.results[0].type.element.bytes)

    def needs_panels(self, lanes: int, l1_bytes: int) -> bool:
        """Whether b should be copied: its rows do not lie on, or the columns of one program do not stay in the first cache until the next needs them.

        Lines that lie a power of two apart share few places of the cache.
        """
        across, along = self.op.views[self.b].strides[-2:]
        if along != 1 and self.columns > 1:
            return True
        if self.rows <= WAYS:
            return False
        sets = max(l1_bytes // LINE // WAYS, 1)
        lines = -(-min(lanes, self.columns) * self.element_bytes // LINE)
        apart = sets * LINE // gcd(across * self.element_bytes, sets * LINE)  # rows until one lies where another lay
        return self.inner * lines > min(apart * lines, sets) * WAYS


@lru_cache(maxsize=4096)
def _sizes(
    leaf: str,
    numbers: tuple[int, ...],
    given: tuple[ViewAttr, ...],
    results: tuple[ViewAttr, ...],
    types: tuple[BufferType, ...],
    elements: tuple[str, ...],
) -> tuple[int, int, int, int, int, int, int | None] | None:
    """The fields of a `Product` behind its operation; None when it is none."""
    kind = CALLS[leaf]
    if len(numbers) != 2 + kind[1]:
        return None
    views = [given[number] for number in numbers]
    element = types[-1].element
    if str(element) not in elements or any(types[number].element is not element for number in numbers):
        return None
    first, second = views[-2:]
    sizes = (first.sizes[0] if kind[0] else 1, first.sizes[-2], second.sizes[-1], first.sizes[-1])
    if 0 in sizes or not _is_dense(results[0], types[-1]):
        return None
    return *sizes, numbers[-2], numbers[-1], numbers[0] if kind[1] else None


def _is_dense(view: ViewAttr, type: BufferType) -> bool:
    """Whether the library's result lies row by row in memory of its own."""
    return view.offset == 0 and view.strides == contiguous_strides(view.sizes) and view.span == type.numel


class ProductNests:
    """Builds the nests of one product; `name` makes names for those in front."""

    def __init__(self, product: Product, lanes: int, name: Callable[[str], str]) -> None:
        self.product = product
        self.op = product.op
        self.lanes = min(lanes, product.columns)
        self.name = name

    def view(self, number: int) -> tuple[Value, ViewAttr]:
        """An operand and its view as (batch, rows, columns)."""
        view = self.op.views[number]
        missing = 3 - len(view.sizes)
        return self.op.operands[number], ViewAttr((1,) * missing + view.sizes, (0,) * missing + tuple(view.strides), view.offset)

    def panels(self) -> NestOp:
        """b as (batch, panels, inner, lanes); the columns must be whole panels."""
        product, lanes = self.product, self.lanes
        buffer, view = self.view(product.b)
        count = product.columns // lanes
        sizes = (product.batch, count, product.inner, lanes)
        builder = NestBuilder(SpaceAttr(sizes), self.op.loc)
        d0, d1, d2, d3 = builder.space.dims
        value = builder.load(buffer, offset_of(view, (d0, d2, d1 * lanes + d3)))
        builder.store(value, BufferType(sizes, buffer.type.element), strided(SpaceAttr(sizes).dims, contiguous_strides(sizes)))  # type: ignore[attr-defined]
        return builder.finish(self.name(self.op.sym_name + "_panels"), {"realize": (f"panels of {lanes} columns for @{self.op.sym_name}",)})

    def product_nest(self, panels: Value | None, realize: str, chosen: str) -> NestOp:
        """The product; from panels if they are given."""
        product = self.product
        if panels is None:
            sizes = (product.batch, product.rows, 1, product.columns, product.inner)
        else:
            sizes = (product.batch, product.rows, product.columns // self.lanes, self.lanes, product.inner)
        space = SpaceAttr(sizes)
        builder = NestBuilder(space, self.op.loc)
        batch, row, panel, lane, inner = space.dims
        column = panel * self.lanes + lane if panels is not None else lane
        a, seen = self.view(product.a)
        left = builder.load(a, offset_of(seen, (batch, row, inner)))
        if panels is None:
            b, seen = self.view(product.b)
            right = builder.load(b, offset_of(seen, (batch, inner, column)))
        else:
            strides = contiguous_strides((product.batch, sizes[2], product.inner, self.lanes))
            right = builder.load(panels, strided((batch, panel, inner, lane), strides))
        total = builder.reduce("sum", builder.op("mul", left, right), (4,), contract=True)
        if product.added is not None:
            added, seen = self.view(product.added)
            total = builder.op("add", total, builder.load(added, broadcast(seen, (batch, row, column))))
        result = self.op.results[0].type
        place = strided((batch, row, column), contiguous_strides((product.batch, product.rows, product.columns)))
        builder.store(total, result, place)  # type: ignore[arg-type]
        return builder.finish(self.op.sym_name, {"realize": (realize,), "chosen": chosen})


def broadcast(view: ViewAttr, indices: tuple[Expr, ...]) -> Expr:
    """The offset of what is added, whose dims of size 1 stand for all rows or columns."""
    strides = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides or ())]
    return strided(indices, strides, view.offset)


def offset_of(view: ViewAttr, indices: tuple[Expr, ...]) -> Expr:
    """The offset of an element of a view."""
    assert view.strides is not None
    return strided(indices, view.strides, view.offset)
