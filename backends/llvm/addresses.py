"""Index maps as instructions: where a load or store goes, and how its address moves along lanes and rows."""

from __future__ import annotations

from collections.abc import Sequence

from lect.backends.llvm.values import IndexTile, Tile, typed
from lect.backends.llvm.writer import Writer
from lect.ir import LectError, Operation
from lect.ir.index_map import IndexMap
from lect.ir.symbolic import ZERO as NOTHING
from lect.ir.symbolic import Atom, Expr
from lect.ir.types import index

Index = IndexTile | Tile
ZERO = IndexTile("0")


def evaluate(writer: Writer, op: Operation, map: IndexMap, operands: Sequence[Index]) -> Index:
    """The map's only result, its dims and loaded indices given by `operands`."""
    return _expression(writer, op, map.offset, (operands[: map.num_dims], operands[map.num_dims :]))


def _expression(writer: Writer, op: Operation, value: Expr, leaves: tuple[Sequence[Index], Sequence[Index]]) -> Index:
    total: Index = IndexTile(str(value.const))
    for atoms, factor in value.terms:
        product = _atom(writer, op, atoms[0], leaves)
        for atom in atoms[1:]:
            product = _multiply(writer, product, _atom(writer, op, atom, leaves))
        total = add(writer, total, scale(writer, product, factor))
    return total


def _atom(writer: Writer, op: Operation, atom: Atom, leaves: tuple[Sequence[Index], Sequence[Index]]) -> Index:
    if atom.kind == "d":
        return leaves[0][atom.index]
    if atom.kind == "i":
        return leaves[1][atom.index]
    if atom.kind == "s":
        if atom.index >= len(writer.symbols):
            raise LectError(f"the size {atom} is no parameter of the kernel", op=op)
        return IndexTile(writer.symbols[atom.index])
    left, right = [_expression(writer, op, argument, leaves) for argument in atom.args]
    if atom.kind in ("min", "max"):
        return _combine(writer, atom.kind, left, right)
    if _natural(atom.args[0]) and _natural(atom.args[1]) and atom.args[1] is not NOTHING:
        return _combine(writer, "udiv" if atom.kind == "floordiv" else "urem", left, right)
    return _floor_division(writer, left, right, atom.kind)


def _natural(value: Expr) -> bool:
    """Whether no value of the dims makes the expression negative."""
    if value.const < 0:
        return False
    for atoms, factor in value.terms:
        if factor < 0 or any(not (atom.kind in ("d", "s") or atom.args and all(map(_natural, atom.args))) for atom in atoms):
            return False
    return True


def add(writer: Writer, left: Index, right: Index) -> Index:
    """The sum, still linear where both are."""
    if left == ZERO:
        return right
    if isinstance(left, Tile) or isinstance(right, Tile):
        return _combine(writer, "add", left, right)
    base = writer.add_indices(left.base, right.base)
    lane_step, row_step = writer.sum_of_steps(left.lane_step, right.lane_step), writer.sum_of_steps(left.row_step, right.row_step)
    return IndexTile(base, lane_step, row_step, max(left.width, right.width), max(left.rows, right.rows))


def scale(writer: Writer, value: Index, factor: int) -> Index:
    """The product with a constant."""
    if factor == 1:
        return value
    if isinstance(value, Tile):
        return _combine(writer, "mul", value, IndexTile(str(factor)))
    lane_step, row_step = writer.scaled_step(value.lane_step, factor), writer.scaled_step(value.row_step, factor)
    return value._replace(base=writer.scale_index(value.base, factor), lane_step=lane_step, row_step=row_step)


def _multiply(writer: Writer, left: Index, right: Index) -> Index:
    """The product, still linear where one factor is one number."""
    for linear, single in ((left, right), (right, left)):
        if isinstance(linear, IndexTile) and isinstance(single, IndexTile) and not single.lane_step and not single.row_step:
            steps = [writer.multiply_indices(str(step), single.base) if step else 0 for step in (linear.lane_step, linear.row_step)]
            return linear._replace(base=writer.multiply_indices(linear.base, single.base), lane_step=_step(steps[0]), row_step=_step(steps[1]))
    return _combine(writer, "mul", left, right)


def _step(text: int | str) -> int | str:
    """A step as a number where it is one."""
    return int(text) if isinstance(text, str) and not text.startswith("%") else text


def _aligned(writer: Writer, values: Sequence[Index]) -> tuple[list[Tile], int, int]:
    tiles = [as_index(writer, value) for value in values]
    width, count = max(t.width for t in tiles), max(len(t.rows) for t in tiles)
    return [writer.widen(tile, width) for tile in tiles], width, count


def _combine(writer: Writer, opcode: str, left: Index, right: Index) -> Index:
    tiles, width, count = _aligned(writer, (left, right))
    type = typed("i64", width)
    rows = []
    for number in range(count):
        a, b = tiles[0].row(number), tiles[1].row(number)
        if opcode in ("min", "max"):
            rows.append(writer.intrinsic(f"s{opcode}", index, width, a, b))
        else:
            rows.append(writer.emit(f"{opcode} {type} {a}, {b}"))
    if width == 0 and count == 1:
        return IndexTile(rows[0])
    return Tile(rows, width, index)


def _floor_division(writer: Writer, left: Index, right: Index, kind: str) -> Index:
    """Quotient or remainder of a division that rounds down; the divisor is positive."""
    tiles, width, count = _aligned(writer, (left, right))
    type, mask = typed("i64", width), typed("i1", width)
    zero = "zeroinitializer" if width else "0"
    rows = []
    for number in range(count):
        a, b = tiles[0].row(number), tiles[1].row(number)
        rest = writer.emit(f"srem {type} {a}, {b}")
        below = writer.emit(f"icmp slt {type} {rest}, {zero}")
        if kind == "mod":
            fixed = writer.emit(f"add {type} {rest}, {b}")
            rows.append(writer.emit(f"select {mask} {below}, {type} {fixed}, {type} {rest}"))
        else:
            quotient = writer.emit(f"sdiv {type} {a}, {b}")
            borrow = writer.emit(f"sext {mask} {below} to {type}")
            rows.append(writer.emit(f"add {type} {quotient}, {borrow}"))
    return Tile(rows, width, index) if width or count > 1 else IndexTile(rows[0])


def as_index(writer: Writer, value: Index) -> Tile:
    """An index of any integer type as a tile of i64."""
    tile = writer.as_tile(value)
    if tile.element.bits == 64:
        return tile
    opcode = "zext" if tile.element.kind == "unsigned" else "sext"
    rows = [writer.emit(f"{opcode} {tile.type} {row} to {typed('i64', tile.width)}") for row in tile.rows]
    return Tile(rows, tile.width, index)


def as_offset(writer: Writer, value: Index) -> Index:
    """An index operand as offsets are computed: linear ones stay, others become i64; a scalar is linear with no steps."""
    if isinstance(value, IndexTile):
        return value
    tile = as_index(writer, value)
    return IndexTile(tile.rows[0]) if not tile.width and len(tile.rows) == 1 else tile
