"""Functions of torch that look at elements to know how large something has to be: they are recorded as calls of which one finds the size.

    F.ctc_loss(scores, targets, lengths, target_lengths)
=>
    losses, table = torch.ops.aten._ctc_loss.Tensor(scores, targets, lengths, target_lengths)
    (losses / target_lengths.clamp_min(1)).mean()

    F.one_hot(x)
=>
    counts = torch.bincount(x.reshape(-1))
    (x.unsqueeze(-1) == torch.arange(counts.shape[0])).to(torch.int64)

The first is made of these calls in torch too; the table is what its backward reads.  `bincount` raises for what the second raises for.
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from lect.frontends.capture.found_sizes import may_find
from lect.frontends.capture.known_values import Unknown
from lect.frontends.tensors import LT
from lect.frontends.tensors.lt import layout_of

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer

NONE: Any = (None, None)
TAKEN_APART = frozenset({F.ctc_loss, F.one_hot})

_SIGNATURE = inspect.signature(F.ctc_loss)


def taken_apart(t: Tracer, function: Any, args: list[Box], kwargs: dict[str, Box]) -> Box | None:
    """The result of a call of one of these functions; None for other functions, other arguments, and where the frame is to be cut in front of it."""
    if function is F.ctc_loss:
        return _ctc_loss(t, args, kwargs)
    return _one_hot(t, args, kwargs) if function is F.one_hot else None


def _one_hot(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box | None:
    from lect.frontends.capture.attributes import load_attr
    from lect.frontends.capture.operators import load_item
    from lect.frontends.capture.torch_calls import torch_call

    x, classes = args[0] if args else NONE, [*args[1:], *kwargs.values()]
    counted = not classes or (len(classes) == 1 and set(kwargs) <= {"num_classes"} and type(classes[0][0]) is int and t.leak(classes[0]) == -1)
    if not counted or len(args) > 2 or type(x[0]) is not LT or x[0].dtype is not torch.int64 or not may_find(t) or _is_known(t, x[0]):
        return None
    flat = torch_call(t, torch.Tensor.reshape, [x, (-1, None)], {})
    size = load_item(t, load_attr(t, torch_call(t, torch.bincount, [flat], {}), "shape"), (0, None))
    numbers = torch_call(t, torch.arange, [size], {"device": (x[0].device, None)})
    found = torch_call(t, torch.eq, [torch_call(t, torch.Tensor.unsqueeze, [x, (-1, None)], {}), numbers], {})
    return torch_call(t, torch.Tensor.to, [found, (torch.int64, None)], {})


def _is_known(t: Tracer, tensor: LT) -> bool:
    """True where the elements are those of constants, so that the size is one too."""
    try:
        t.known.real(tensor)
    except Unknown:
        return False
    return True


def _ctc_loss(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box | None:
    if not may_find(t):
        return None
    try:
        bound = _SIGNATURE.bind(*args, **kwargs)
    except TypeError:  # which the call raises itself
        return None
    given = dict(bound.arguments)
    scores, targets = given["log_probs"], given["targets"]
    defaults: dict[str, Any] = {"blank": 0, "reduction": "mean", "zero_infinity": False}
    blank, reduction, quiet = [t.leak(given[name]) if name in given else default for name, default in defaults.items()]
    lengths = [_as_tensor(t, given[name]) for name in ("input_lengths", "target_lengths")]
    tensors = [scores, targets, *[each for each in lengths if each is not None]]
    if len(tensors) < 4 or any(type(box[0]) is not LT or box[0].device.type != "cpu" for box in tensors) or type(blank) is not int:
        return None
    if len(layout_of(scores[0]).shape) != 3 or any(len(layout_of(box[0]).shape) != 1 for box in tensors[2:]) or reduction not in ("mean", "sum", "none"):
        return None
    return _losses(t, tensors, blank, str(reduction), bool(quiet))


def _as_tensor(t: Tracer, box: Box) -> Box | None:
    """Lengths as a tensor; None for what is neither one nor whole numbers."""
    from lect.frontends.capture.torch_calls import torch_call

    if type(box[0]) is LT:
        return box
    if type(box[0]) not in (list, tuple) or not box[0] or any(type(item) is not int for item in t.now(box)):
        return None
    return torch_call(t, torch.tensor, [box], {"dtype": (torch.int64, None)})


def _losses(t: Tracer, tensors: list[Box], blank: int, reduction: str, quiet: bool) -> Box:
    from lect.frontends.capture.torch_calls import torch_call

    def call(function: Any, *args: Any) -> Box:
        return torch_call(t, function, [value if type(value) is tuple else (value, None) for value in args], {})

    tensors[1] = call(torch.Tensor.to, tensors[1], torch.int64)
    losses, _ = call(torch.ops.aten._ctc_loss.Tensor, *tensors, blank, quiet)[0]
    if quiet:
        losses = call(torch.masked_fill, losses, call(torch.eq, losses, math.inf), 0.0)[0]
    if reduction == "none":
        return t.wrap(losses)
    if reduction == "sum":
        return call(torch.sum, losses)
    lengths = call(torch.Tensor.to, call(torch.clamp_min, tensors[3], 1), losses.dtype)
    return call(torch.mean, call(torch.div, losses, lengths))
