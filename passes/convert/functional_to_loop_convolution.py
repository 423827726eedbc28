"""Gradients of convolutions: by nests where the library is slow.

Where each channel has a filter of its own, a convolution moves little and multiplies little, and so do its gradients.  On a GPU, with the channels of f32
images together, the library is slow at two of them (on an H200, in microseconds; reading and writing takes a tenth to a fourth of it):

* that of the input where filters take steps of more than one element (128 x 64 x 112 x 112, 3 x 3, steps of 2: 490).  A nest gathers it, each element from
  the outputs that it went into, and what reads it may join.
* that of the filters (128 x 960 x 7 x 7, 5 x 5: 149).  A nest walks the outputs once and adds up all elements of the filters beside each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

from lect.dialects.functional.contraction import ConvolutionBackwardOp
from lect.dialects.loop.attributes import SpaceAttr
from lect.ir import Operation
from lect.ir.index_map import space_dims
from lect.ir.symbolic import ZERO, constant, loaded
from lect.ir.types import f32
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen
from lect.passes.convert.functional_to_loop_extern import call, gradients_of_convolution
from lect.passes.convert.functional_to_loop_gather import affine, read_at
from lect.passes.convert.functional_to_loop_window import WRITTEN_OUT, Strided, all_of


def is_gathered(op: Any) -> bool:
    """Whether the gradient of the input is a nest: that of a depthwise convolution with longer steps."""
    return is_depthwise(op) and max(op.stride) > 1


def is_depthwise(op: Any) -> bool:
    """Whether this is about f32 images on a GPU, channels together, with one small filter a channel."""
    gradient, x, weight = op.gradient.type, op.x.type, op.weight.type
    sizes = (*x.shape, *gradient.shape, *weight.shape)
    if not all(type(size) is int and size > 0 for size in sizes) or op.transposed or x.element is not f32 or not x.device.startswith("cuda"):
        return False
    alone = op.groups > 1 and x.shape[1] == op.groups == weight.shape[0] and weight.shape[1] == 1
    return alone and x.strides[1] == gradient.strides[1] == 1 and prod(weight.shape[2:]) <= WRITTEN_OUT


def _convolution_backward(lowering: Lowering, op: Any) -> list[Seen]:
    wanted = [bool(value.users) for value in op.results]
    found: dict[int, Seen] = {}
    if wanted[0] and is_gathered(op):
        (found[0],) = _gathered(lowering, op)
    if wanted[1] and is_depthwise(op):
        found[1] = _folded(lowering, op)
    if not found:
        return call(lowering, op)
    left = tuple([asked and number not in found for number, asked in enumerate(wanted)])
    made = lowering.extern(op, *gradients_of_convolution(op, left)) if any(left) else [next(iter(found.values()))] * len(wanted)  # nobody reads the others
    return [found.get(number, each) for number, each in enumerate(made)]


def _gathered(lowering: Lowering, op: Any) -> list[Seen]:
    """For each element of the input the sum over the filter's elements of the outputs that it went into, each times the element of the filter."""
    x, weight = op.x_gradient.type, affine(lowering, op.weight)
    gradient = affine(lowering, op.gradient)
    body = lowering.body(x, op.loc)
    batch, channel, *at = body.indices
    total = body.const(0.0, f32)
    steps = [_steps(body, op, axis, place) for axis, place in enumerate(at)]
    for taps in product(*[range(size) for size in op.weight.type.shape[2:]]):
        found = [steps[axis][tap] for axis, tap in enumerate(taps)]
        masks = [mask for _, given in found for mask in given]
        point = (batch, channel, *[loaded(axis) for axis in range(len(found))])
        number = read_at(body, gradient, point, [place.value for place, _ in found], masks)
        factor = read_at(body, weight, (channel, ZERO, *[constant(tap) for tap in taps]), ())
        inside = all_of(body, masks)
        assert inside is not None
        total = inside.choose(total + number * factor, total)
    body.store(total, x)
    return body.finish()


def _steps(body: Body, op: Any, axis: int, at: Any) -> list[tuple[Num, list[Num]]]:
    """For each element of the filter along a dim: the output that the input at `at` goes into by it, and the masks that say that there is one."""
    stride, padding, dilation = op.stride[axis], op.padding[axis], op.dilation[axis]
    count = op.gradient.type.shape[2 + axis]
    found = []
    for tap in range(op.weight.type.shape[2 + axis]):
        reach = body.index(at + padding - tap * dilation)
        place = reach.op("trunc_div", stride)
        found.append((place, [(place * stride).equals(reach), place >= 0, place < count]))
    return found


def _folded(lowering: Lowering, op: Any) -> Seen:
    """The gradient of the filters: for each of their elements the sum over all outputs of the input that went into it by that element, times its gradient."""
    weight, gradient, x = op.weight.type, affine(lowering, op.gradient), affine(lowering, op.x)
    batch, channels, *spatial = op.gradient.type.shape
    space = SpaceAttr((batch, *spatial, channels))
    image, *at, channel = space_dims(space.sizes)
    body = Body(lowering, space, (image, channel, *at), op.loc)
    given = read_at(body, gradient, (image, channel, *at), ())
    windows = [Strided(*numbers) for numbers in zip(op.x.type.shape[2:], spatial, weight.shape[2:], op.stride, op.padding, op.dilation)]
    for taps in product(*[range(size) for size in weight.shape[2:]]):
        steps = [window.step(body, place, tap) for window, place, tap in zip(windows, at, taps)]
        masks = [mask for step in steps for mask in step.masks]
        number = read_at(body, x, (image, channel, *[step.place for step in steps]), (), masks) * given
        inside = all_of(body, masks)
        number = number if inside is None else inside.choose(number, 0.0)
        body.store(number.reduce("sum", tuple(range(len(space.sizes) - 1))), weight.like((channels,)), (channel,))
    sums = body.finish()
    body = lowering.body(weight, op.loc)
    channel, _, *at = body.indices
    element = body.const(0.0, f32)
    for number, taps in enumerate(product(*[range(size) for size in weight.shape[2:]])):
        here = all_of(body, [body.index(place).equals(tap) for place, tap in zip(at, taps)])
        assert here is not None
        element = here.choose(body.read(sums[number], (channel,)), element)
    body.store(element, weight)
    return body.finish()[0]


RULES: Mapping[type[Operation], Rule] = MappingProxyType({ConvolutionBackwardOp: _convolution_backward})
