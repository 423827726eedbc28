"""Questions that the loop passes ask of nests and buffers, and small changes they share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Final

from lect.dialects.loop.attributes import SpaceAttr
from lect.dialects.loop.building import Inlining, NestBuilder, copy_block
from lect.dialects.loop.library import may_share_memory
from lect.dialects.loop.ops import CastOp, ConstOp, ExternOp, FuncOp, IndexOp, LoadOp, NestOp, ReturnOp, ScanOp, StoreOp, UpdateOp, WriteOp, variance
from lect.dialects.loop.types import BufferType
from lect.dialects.scalars import HEAVY
from lect.ir import Block, Operation, Value
from lect.ir.facts import NOTHING, facts_of
from lect.ir.index_map import coefficient, delinearize, dims_of, is_affine, linearize
from lect.ir.symbolic import Expr, Ranges, Size, as_size

INLINE = "inline"
COLUMN_BYTES = 128  # of neighbouring columns that a program on a GPU folds
FEW = 8  # what is computed once for so many points, or more, is no cost of each
HEAVY_OPS: Final = frozenset({f"loop.{name}" for name in HEAVY | {"div", "floor_div", "trunc_div", "remainder", "fmod", "sqrt", "rsqrt", "reciprocal"}})


def functions(module: Operation) -> list[FuncOp]:
    """The loop functions of a module."""
    return [op for op in module.body if isinstance(op, FuncOp)]


def fresh_name(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: this one, or this one with a number."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}{number}"
    return found


def nests_of(module: Operation) -> list[NestOp]:
    """All nests of the loop functions of a module."""
    return [op for func in functions(module) for op in func.body if isinstance(op, NestOp)]


def readers(buffer: Value) -> list[Operation]:
    """Nests, library calls, writes and returns that read a buffer, each once; the loads inside of nests are left out."""
    return [user for user in buffer.users if isinstance(user, (NestOp, ExternOp, WriteOp, ReturnOp))]


def readers_of_memory(buffer: Value) -> list[Operation]:
    """The readers of a buffer, and those of results of library calls that may lie in its memory."""
    found, work = [], [buffer]
    while work:
        for user in readers(work.pop()):
            found.append(user)
            if isinstance(user, ExternOp) and may_share_memory(user.callee.leaf):
                work += user.results
    return found


def nbytes(buffer: Value) -> int:
    """Bytes of a buffer, to weigh with: where its size is known only at run time, those of the captured call."""
    found = _bytes(buffer.type)
    return found if type(found) is int else weight(found, buffer.owner)


@lru_cache(maxsize=4096)
def _bytes(type: BufferType) -> Size:
    return type.bytes


def points(nest: NestOp) -> int:
    """Points of the index space, to weigh with."""
    found = nest.space.points
    return found if type(found) is int else weight(found, nest)


def weight(size: Size, about: Operation | Block) -> int:
    """A size to weigh with: where it is known only at run time, that of the captured call, which the function around `about` declares."""
    if type(size) is int:
        return size
    op = about if isinstance(about, Operation) else about.parent_op
    return (facts_of(op) if op is not None else NOTHING).hint(size)


def weights(nest: NestOp) -> tuple[int, ...]:
    """The sizes of a nest's dims, to weigh with."""
    sizes: tuple[Size, ...] = nest.space.sizes
    for size in sizes:
        if type(size) is not int:
            hint = facts_of(nest).hint
            return tuple([hint(size) for size in sizes])
    return sizes  # type: ignore[return-value]


def body_size(nest: NestOp) -> int:
    """Number of operations in the block."""
    return len(nest.body)


def heavy_ops(nest: NestOp) -> int:
    """Number of operations that cost more than a memory access, of those that are computed for most points.

    What varies over few of them (a row's norm, a mean's divisor) is computed once for many and costs nothing to repeat.
    """
    heavy = [op for op in nest.body if op.name in HEAVY_OPS]
    if not heavy:
        return 0
    sizes = weights(nest)
    varying = variance(nest)
    total = prod(sizes)
    return sum(prod([size for k, size in enumerate(sizes) if varying[op.results[0]] >> k & 1]) * FEW >= total > 1 for op in heavy)


def own_point(nest: NestOp) -> Expr:
    """The offset at which a nest stores when every point has its own element, in order."""
    return _own_point(nest.space)


@lru_cache(maxsize=4096)
def _own_point(space: SpaceAttr) -> Expr:
    return linearize(space.dims, space.sizes)


def reduced(nest: NestOp) -> tuple[int, ...]:
    """The dims that a nest folds."""
    return nest.reduced


def has_scan(nest: NestOp) -> bool:
    """True when some value or element depends on points before it along a dim: such a nest is bound to its dims."""
    return any(type(op) in (ScanOp, UpdateOp) for op in nest.body)


def gathers(nest: NestOp) -> bool:
    """True when some address depends on loaded numbers."""
    return any(type(op) is LoadOp and op.indices for op in nest.body)


def gathered_ranges(nest: NestOp, load: LoadOp) -> Ranges:
    """What is known of the dims of a nest and of the loaded indices of a load: those that are brought into a dim, `min(max(i, 0), size - 1)`, have a size."""
    return Ranges(nest.space.ranges.dims, tuple([_size_of(value) for value in load.indices]))


def _size_of(value: Value) -> Size:
    """Size of the range that a number is brought into, beginning with 0; so much that it is no size where that is not known."""
    least = value.op
    if least is not None and least.name == "loop.minimum":
        most, floor = uniform(least.operands[1]), least.operands[0].op
        if most is not None and floor is not None and floor.name == "loop.maximum" and isinstance(floor.operands[1].op, ConstOp):
            return as_size(most + 1) if floor.operands[1].op.value >= 0 else 1 << 62
    return 1 << 62


def uniform(value: Value) -> Size | None:
    """The integer, or the size, that a value is at every point; None where it is neither."""
    op = value.op
    if isinstance(op, CastOp):
        op = op.value.op
    if isinstance(op, ConstOp):
        return int(op.value) if op.value == op.value and abs(op.value) < 1 << 62 and op.value == int(op.value) else None
    if isinstance(op, IndexOp) and not dims_of(op.map.offset):
        return as_size(op.map.offset)
    return None


def is_gathered_inline(producer: NestOp, reader: NestOp, load: LoadOp) -> bool:
    """Whether a load at loaded indices can be replaced by what computes the element: few points do so, and bounds tell which dims the indices are."""
    if points(reader) > points(producer) or any(type(op) is IndexOp or (type(op) is LoadOp and op.indices) for op in producer.body):
        return False
    return all(is_affine(index) for index in delinearize(load.map.offset, producer.space.sizes, gathered_ranges(reader, load)))


def narrowest_bytes(nest: NestOp) -> int:
    """Bytes of the narrowest element that is read along the folded dims."""
    folded = set(nest.reduced)
    return min([load.buffer.type.element.bytes for load in nest.loads if dims_of(load.map.offset) & folded], default=4)


def near_columns(nest: NestOp) -> int:
    """How many neighbouring columns a program on a GPU folds."""
    return max(COLUMN_BYTES // narrowest_bytes(nest), 1)


def unit_stride_bytes(nest: NestOp) -> list[int]:
    """For each dim the bytes that loads and stores move along it with stride 1."""
    sizes = weights(nest)
    votes = [0] * len(sizes)
    for op in nest.body:
        if isinstance(op, (LoadOp, StoreOp, UpdateOp)):
            element = op.buffer.type.element if isinstance(op, LoadOp) else op.value.type
            steps = [coefficient(op.map.offset, k) for k in range(len(sizes))]
            touched = element.bytes
            for size, step in zip(sizes, steps):
                touched *= size if step != 0 else 1
            for k, step in enumerate(steps):
                if step == 1:
                    votes[k] += touched
    return votes


def rebuild(nest: NestOp, builder: NestBuilder, how: Inlining, keep: Iterable[int]) -> dict[int, int]:
    """Copy a nest's block to a builder and store the results in `keep`; gives the new number of each."""
    made = copy_block(how)
    out: dict[int, int] = {}
    for number in keep:
        value, offset = made[number]
        builder.loc = nest.store_of(number).loc
        out[number] = builder.store(value, nest.results[number].type, offset)
    return out


def without_results(nest: NestOp, kept: Sequence[int]) -> NestOp:
    """A nest, not in a graph, that takes over the block of another and stores only some of its results, computing no more than they need."""
    for store in nest.stores:
        if store.to in kept:
            store.to = kept.index(store.to)
        else:
            store.erase()
    remove_dead(nest)
    inputs, regions = nest.needed_inputs, nest.regions
    nest.regions = ()
    return NestOp.create(inputs, [nest.results[k].type for k in kept], {"sym_name": nest.sym_name, "space": nest.space}, regions, (), nest.loc)


def put_in_place(old: NestOp, new: NestOp) -> None:
    """A new nest, with the same results, takes the place of an old one."""
    assert old.parent is not None
    old.parent.insert_before(old, new)
    for before, after in zip(old.results, new.results):
        after.hint = before.hint
    old.replace(new.results)
    release(old)


def release(nest: NestOp) -> None:
    """Take an erased nest apart: nothing in it holds the rest any more, so its memory is there for the next one at once and not after a collection."""
    if nest.regions:
        take_apart(nest.body)
        nest.regions = ()


def take_apart(block: Block) -> None:
    """Leave a block, whose operations have no operands any more, without operations and arguments."""
    if block.pending is not None:
        block.give_up()
    op = block.first
    while op is not None:
        following = op.next
        for value in op.results:
            value.owner = None
        op.parent = op.prev = op.next = None
        op = following
    block.first = block.last = None
    block.args.clear()


def remove_dead(nest: NestOp) -> None:
    """Erase scalar operations whose value nothing uses."""
    op = nest.body.last
    while op is not None:
        before = op.prev
        if op.results and not op.results[0].users:
            op.erase()
        op = before
