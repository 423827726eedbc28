"""Records of tuning, as the passes that choose see them: which text names a kernel, and what a record says of it.

The *canonical text* of a nest is a function of that nest alone, without names, places and what was decided for its neighbours.  That of a product is the
library call with the nest behind it, if one nest is all that reads it; that of a fusion is the two nests.  Its SHA-256 is the name of the kernel in records.
What has sizes that are known only at run time has no text, and so no record.

    records = records_of(ctx)                    None where nobody gave any
    records is not None and records.decide(nest) writes `tiles`, `warps` and `stages` on a nest, and says whether there was a record
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol

from lect.dialects.loop.attributes import ViewAttr
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp, ReturnOp, ScanOp
from lect.ir import Block, Context, LectError, Operation, PassFailure, Region, Value, print_op
from lect.ir.types import index
from lect.passes.convert.loop_to_kernel_sweeps import PRODUCT, check_tiles
from lect.passes.loop.forms import forms_of
from lect.passes.loop.gpu_products import OWN, is_tile_product
from lect.passes.loop.nests import readers

TUNING = "tuning"  # the resource of a context that holds the records
NAME = "kernel"
DECISIONS = ("tiles", "warps", "stages")
MOST_LANES = 1 << 17
LEAST_MOVED = 1 << 20  # bytes that two nests move, below which one start less is what counts
DOUBT = 0.15  # of these, up to which it is not sure that one nest is faster
FEWEST = 16  # elements that hardware multiplies at least, in each direction


class Source(Protocol):
    """Where records come from."""

    def find(self, kernel: str) -> Mapping[str, Any] | None:
        """The choices for the kernel of this name."""

    def refuse(self, kernel: str, error: LectError) -> None:
        """The choices do not fit the kernel.  Raises where a person is to be told at once."""

    def asked(self, kernel: str, pair: FuncOp) -> None:
        """Two nests may be one or not: the name of their kernel, and its canonical form."""


class Records:
    """The records of one compile: looked up once for each form of a nest."""

    def __init__(self, source: Source, ctx: Context) -> None:
        self.source = source
        self.forms = forms_of(ctx)

    def decide(self, nest: NestOp) -> bool:
        """Write what the record of a nest's kernel says on the nest; False when there is none, or it does not fit."""
        if not is_tunable(nest):
            return False
        kernel = kernel_of_nest(nest) if nest.in_place else self.forms.ask(nest, kernel_of_nest)
        choices = None if kernel is None else self.source.find(kernel)
        if kernel is None or choices is None:
            return False
        try:
            check_choices(nest, choices)
        except LectError as error:
            self.source.refuse(kernel, error)
            return False
        nest.attrs.update({name: choices[name] for name in DECISIONS if name in choices})
        return "tiles" in choices

    def product(self, call: ExternOp) -> Mapping[str, Any] | None:
        """Who is to multiply, as `product` "library" or "own", and in how many `parts` an own product is to be added up; None where no record says it."""
        kernel = name_of(product_alone(call))
        choices = None if kernel is None else self.source.find(kernel)
        return None if choices is None or "product" not in choices else choices


    def apart(self, producer: NestOp, consumer: NestOp) -> bool:
        """Whether a record says that two nests are not to be one.  It is looked for where being one saves little of what both move, so that time may differ
        either way."""
        moved, saved = traffic_of(producer, consumer)
        if moved < LEAST_MOVED or saved > moved * DOUBT:
            return False
        pair = pair_alone(producer, consumer)
        kernel = name_of(pair)
        if pair is None or kernel is None:
            return False
        self.source.asked(kernel, pair)
        choices = self.source.find(kernel)
        return choices is not None and choices.get("fused") is False


def records_of(ctx: Context) -> Records | None:
    """The records that a pass may use."""
    source = ctx.resources.get(TUNING)
    return None if source is None else Records(source, ctx)


def is_tunable(nest: NestOp) -> bool:
    """Whether how a nest is cut is a matter of speed alone: what has an order or runs along a dim is cut in one way."""
    return bool(nest.space.sizes) and not nest.updates and not any(isinstance(op, ScanOp) for op in nest.body)


def check_choices(nest: NestOp, choices: Mapping[str, Any]) -> None:
    """Raise `PassFailure` for choices that a nest cannot have."""
    tiles = choices.get("tiles")
    if tiles is None:
        return
    check_tiles(nest, tiles)
    if prod([axis.block for axis in tiles.axes if tiles.variant != PRODUCT or axis.role == "grid"]) > MOST_LANES:
        raise PassFailure(f"a tile of @{nest.sym_name} has more than {MOST_LANES} elements", op=nest)
    roles = {axis.role for axis in tiles.axes if axis.dim in nest.reduced}
    if tiles.variant == PRODUCT and not (nest.products and roles == {"loop"} and min(axis.block for axis in tiles.axes) >= FEWEST):
        raise PassFailure(f"@{nest.sym_name} is no product of tiles, of {FEWEST} elements at least in each direction", op=nest)


def kernel_of_nest(nest: NestOp) -> str | None:
    """The name of a nest's kernel."""
    return name_of(nest_alone(nest))


def name_of(func: FuncOp | None) -> str | None:
    """The name of the kernel of which this is the canonical form."""
    return None if func is None else hashlib.sha256(text_of(func).encode()).hexdigest()


def text_of(func: FuncOp) -> str:
    """The canonical text of a function that `nest_alone` or `product_alone` made."""
    return print_op(func)[0]


def nest_alone(nest: NestOp) -> FuncOp | None:
    """A function of one nest, with its inputs as parameters.  None when a size is known only at run time."""
    return _alone([nest], list(nest.results))


def product_alone(call: ExternOp) -> FuncOp | None:
    """A function of one library call, and of the nest behind it when that is all that reads the result."""
    users = readers(call.results[0]) if len(call.results) == 1 else []
    if len(users) == 1 and isinstance(users[0], NestOp):
        return _alone([call, users[0]], list(users[0].results))
    return _alone([call], list(call.results))


def pair_alone(producer: NestOp, consumer: NestOp) -> FuncOp | None:
    """A function of two nests, of which the second reads results of the first, with all that others read of both."""
    kept = [value for value in producer.results if readers(value) != [consumer]]
    return _alone([producer, consumer], [*kept, *consumer.results])


def traffic_of(producer: NestOp, consumer: NestOp) -> tuple[int, int]:
    """The bytes that two nests move when they stay two, and those of them that one saves: what both read, and what passes from the first to the second.

    Zero for sizes that are known only at run time.
    """
    values = [*producer.inputs, *producer.results, *consumer.inputs, *consumer.results]
    if not all(type(value.type.bytes) is int for value in values):
        return 0, 0
    shared = [value for value in dict.fromkeys(consumer.inputs) if value in producer.inputs]
    passed = [value for value in dict.fromkeys(consumer.inputs) if value in producer.results]
    saved = sum(value.type.bytes for value in shared) + sum(value.type.bytes * (2 if readers(value) == [consumer] else 1) for value in passed)
    return sum(value.type.bytes for value in values), saved


def _alone(ops: Sequence[NestOp | ExternOp], returned: Sequence[Value]) -> FuncOp | None:
    made = {value for op in ops for value in op.results}
    inputs = list(dict.fromkeys(value for op in ops for value in op.operands if value not in made))
    sizes = [size for value in (*inputs, *made) for size in value.type.sizes]  # type: ignore[attr-defined]
    sizes += [size for op in ops if isinstance(op, NestOp) for size in op.space.sizes]
    if not all(type(size) is int for size in sizes):
        return None
    body = Block([value.type for value in inputs])
    mapping: dict[Any, Any] = dict(zip(inputs, body.args))
    for number, op in enumerate(ops):
        body.append(_plain(op.clone(mapping), NAME if number == 0 else f"{NAME}{number}"))
    views = tuple([ViewAttr(value.type.sizes) for value in returned])  # type: ignore[attr-defined]
    body.append(ReturnOp.create([mapping[value] for value in returned], (), {"views": views}))
    return FuncOp.create((), (), {"sym_name": NAME}, [Region([body])])


def _plain(op: Operation, name: str) -> Operation:
    """A copy without the names and the decisions of its program."""
    kept = ("space", "in_place") if isinstance(op, NestOp) else ("callee", "views", "args", "kwargs", "result_views")
    own = isinstance(op, NestOp) and is_tile_product(op)
    op.attrs = {"sym_name": name, **{key: op.attrs[key] for key in kept if key in op.attrs}, **({"chosen": OWN} if own else {})}
    for value in op.results:
        value.hint = None
    for inner in op.walk():
        for value in inner.results:
            value.hint = None
        for region in inner.regions:
            for block in region.blocks:
                for number, value in enumerate(block.args):
                    value.hint = f"d{number}" if value.type == index else None
    return op
