"""Gradients of convolutions: by nests where the library is slow.

The gradient of the input of a convolution in which each channel has a filter of its own moves little and multiplies little: a nest gathers it, each element
from the outputs that it went into, and what reads it may join.  It is done where filters take steps of more than one element, on a GPU with the channels of
an image together: there the library is slow (f32 on an H200, 128 x 64 x 112 x 112, 3 x 3, steps of 2: 490 us, where reading and writing takes 125).  The
gradient of the filters stays the library's.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

from lect.dialects.functional.contraction import ConvolutionBackwardOp
from lect.ir import Operation
from lect.ir.symbolic import ZERO, constant, loaded
from lect.ir.types import f32
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen
from lect.passes.convert.functional_to_loop_extern import call, gradients_of_convolution
from lect.passes.convert.functional_to_loop_gather import affine, read_at
from lect.passes.convert.functional_to_loop_window import WRITTEN_OUT, all_of


def is_gathered(op: Any) -> bool:
    """Whether the gradient of the input is a nest: that of f32 images on a GPU, channels together, with one filter a channel and longer steps."""
    x, weight = op.x_gradient.type, op.weight.type
    sizes = (*x.shape, *weight.shape)
    if not all(type(size) is int and size > 0 for size in sizes) or op.transposed or x.element is not f32 or not x.device.startswith("cuda"):
        return False
    taps = 1
    for size in weight.shape[2:]:
        taps *= size
    depthwise = op.groups > 1 and x.shape[1] == op.groups == weight.shape[0] and weight.shape[1] == 1
    return depthwise and x.strides[1] == 1 and max(op.stride) > 1 and taps <= WRITTEN_OUT


def _convolution_backward(lowering: Lowering, op: Any) -> list[Seen]:
    if not op.x_gradient.users or not is_gathered(op):
        return call(lowering, op)
    (gathered,) = _gathered(lowering, op)
    wanted = (False, *[bool(value.users) for value in op.results[1:]])
    if not any(wanted):
        return [gathered] * 3  # of which nobody reads the last two
    callee, args, kwargs = gradients_of_convolution(op, wanted)
    return [gathered, *lowering.extern(op, callee, args, kwargs)[1:]]


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


RULES: Mapping[type[Operation], Rule] = MappingProxyType({ConvolutionBackwardOp: _convolution_backward})
