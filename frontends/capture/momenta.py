"""Batch normalisations whose momentum is a number of run time, such as the `1 / count` of one that averages all batches alike (`momentum=None`).

The operator takes its momentum as a constant.  So it is called for the statistics of the batch alone, with momentum 1 on tensors of its own, and the running
ones are moved by calls behind it:

    F.batch_norm(x, mean, var, training=True, momentum=m)
=>
    one, other = torch.zeros_like(mean), torch.zeros_like(var)
    y = F.batch_norm(x, one, other, training=True, momentum=1.0)
    mean.data.mul_(1 - m).add_(one * m)
    var.data.mul_(1 - m).add_(other * m)

The operator writes to running statistics behind autograd's back, so these calls do too: no version is counted.
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from lect.frontends.capture.numbers import RunTimeNumber, apply
from lect.frontends.tensors import LT

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

_SIGNATURE = inspect.signature(F.batch_norm)


def with_moved_statistics(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> Box | None:
    """The result of a `batch_norm` in training whose momentum is a number of run time, recorded as above; None for other calls."""
    if function is not F.batch_norm:
        return None
    try:
        given = dict(_SIGNATURE.bind(*args, **kwargs).arguments)
    except TypeError:  # which the call raises itself
        return None
    momentum = given.get("momentum")
    running = [given["running_mean"], given["running_var"]]
    if momentum is None or type(momentum[0]) is not RunTimeNumber or momentum[0].is_pinned or given.get("training", (False, None))[0] is not True:
        return None
    if not all(type(box[0]) is LT and box[0].is_floating_point() and not box[0].requires_grad for box in running):
        return None
    rest = apply(t, operator.sub, [(1.0, None), momentum])
    return None if rest is None else _moved(t, given, running, momentum, rest)


def _moved(t: Tracer, given: dict[str, Box], running: list[Box], momentum: Box, rest: Box) -> Box:
    from lect.frontends.capture.torch_calls import torch_call

    own = [torch_call(t, torch.zeros_like, [box], {}) for box in running]
    result = torch_call(t, F.batch_norm, [], {**given, "running_mean": own[0], "running_var": own[1], "momentum": (1.0, None)})
    for box, batch in zip(running, own):
        data = torch_call(t, getattr, [box, ("data", None)], {})
        torch_call(t, torch.Tensor.mul_, [data, rest], {})
        torch_call(t, torch.Tensor.add_, [data, torch_call(t, torch.mul, [batch, momentum], {})], {})
    return result
