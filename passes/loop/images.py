"""Convolutions of images by channels: which of a graph may take and give images whose channels lie together, as the tensor cores of a GPU multiply them.

A library that is given images row by row copies them first, and its result back: as many bytes as one nest would move that lays its result otherwise.  So
the convolutions of a graph whose images nobody outside sees are taken together: what is found here is a set in which each image that one takes is made by
another, by a nest that can store it so, or by a nest that only copies; and each image that one gives is read by others and by nests that can follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from lect.dialects.loop.attributes import ViewAttr
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp
from lect.ir import Value
from lect.ir.index_map import contiguous_strides
from lect.ir.symbolic import Size, product
from lect.passes.loop.digits import Digits
from lect.passes.loop.nests import readers

CONVOLUTION = "aten.convolution.default"
ORDER = (0, 2, 3, 1)  # batch, rows, columns, channels


@dataclass(frozen=True)
class Images:
    """The convolutions to change, the images that nests store or calls give in the new order, and those that a nest has to copy for them."""

    calls: tuple[ExternOp, ...]
    moved: tuple[Value, ...]
    copied: tuple[Value, ...]


def images_of(func: FuncOp) -> Images:
    """The largest set of convolutions that can be changed together."""
    calls = [op for op in func.body if isinstance(op, ExternOp) and _takes_rows_of_halves(op)]
    while True:
        left = [call for call in calls if _followed(call.results[0], call.result_views[0].sizes, calls)]
        if len(left) == len(calls):
            break
        calls = left
    given = dict.fromkeys(call.operands[0] for call in calls)
    results = {call.results[0] for call in calls}
    moved = [value for value in given if value not in results and _stored_by_nest(value) and _followed(value, _sizes(value, calls), calls)]
    copied = [value for value in given if value not in results and value not in moved]
    return Images(tuple(calls), (*moved, *[call.results[0] for call in calls]), tuple(copied))


def _takes_rows_of_halves(call: ExternOp) -> bool:
    """Whether a call convolves whole images of 16-bit floats that lie row by row, all channels with all, and gives such."""
    if call.callee.leaf != CONVOLUTION or call.in_place or len(call.args) != 9:
        return False
    transposed, groups = call.args[6], call.args[8]
    alike = transposed is False and groups == 1 and call.operands[0] not in call.operands[1:]
    return alike and all(_is_image(view, value) for view, value in ((call.views[0], call.operands[0]), (call.result_views[0], call.results[0])))


def _is_image(view: ViewAttr, value: Value) -> bool:
    """Whether a view shows a whole buffer of 16-bit floats as images row by row; of one channel or one element there is only one order."""
    sizes = view.sizes
    if len(sizes) != 4 or not value.type.element.is_half or not all(type(size) is int for size in sizes):
        return False
    whole = view.offset == 0 and view.strides == contiguous_strides(sizes) and product(sizes) == value.type.numel
    return whole and 0 not in sizes and sizes[1] > 1 and sizes[2] * sizes[3] > 1


def _sizes(value: Value, calls: list[ExternOp]) -> tuple[Size, ...]:
    return next(call.views[0].sizes for call in calls if call.operands[0] is value)


def _stored_by_nest(value: Value) -> bool:
    op = value.op
    return isinstance(op, NestOp) and not op.products and not op.updates


def _followed(value: Value, sizes: tuple[Size, ...], calls: list[ExternOp]) -> bool:
    """Whether the nest that stores an image and all its readers can have it in the new order."""
    producer = value.op
    digits = Digits(sizes)
    if isinstance(producer, NestOp) and digits.moved(producer.store_of(value.index).map.offset, producer.space.ranges, ORDER) is None:
        return False
    for user in readers(value):
        if isinstance(user, NestOp):
            loads = [load for load in user.loads if load.buffer is value]
            if user.products or user.updates or any(load.indices or digits.moved(load.map.offset, user.space.ranges, ORDER) is None for load in loads):
                return False
        elif not (isinstance(user, ExternOp) and user in calls and user.operands[0] is value and user.views[0].sizes == sizes):
            return False
    return True
