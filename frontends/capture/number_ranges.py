"""Constants that do not fit the type of a tensor: torch refuses many of them, and neither a traced call nor a compiled one would.

    x.clone().fill_(1e300)          RuntimeError: value cannot be converted to type float without overflow

Which functions refuse which numbers is torch's business.  So a call with such a constant is made once for real, on zeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.known_values import Evaluation
from lect.frontends.tensors import LT

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Tracer

SMALL, LARGE = -1, 127  # what lies between fits every type but for a negative number in an unsigned one
MOST_ELEMENTS = 1 << 22  # of the zeros


def check_numbers(t: Tracer, function: Any, name: str, raw: list[Any], raw_kwargs: dict[str, Any], tensors: list[LT], returned: Any) -> None:
    """Break where the call raises because of a number that does not fit `tensors` or what was `returned`."""
    numbers = [value for value in _numbers([raw, raw_kwargs]) if not SMALL <= value <= LARGE and math.isfinite(value)]
    if not numbers:
        return
    made = returned if isinstance(returned, list | tuple) else [returned]
    involved = [*tensors, *(value for value in made if type(value) is LT)]
    if all(_fits(value, dtype) for dtype in {tensor.dtype for tensor in involved} for value in numbers):
        return
    if any(tensor.device.type != "cpu" for tensor in involved) or sum(tensor.numel() for tensor in involved) > MOST_ELEMENTS:
        return
    text = _refusal(function, raw, raw_kwargs)
    if text:
        raise t.stop("LB0012", f"{name} raised RuntimeError: {text}")


def _numbers(value: Any) -> Iterator[int | float]:
    kind = type(value)
    if kind is int or kind is float:
        yield value
    elif kind is list or kind is tuple:
        for item in value:
            yield from _numbers(item)
    elif kind is dict:
        for item in value.values():
            yield from _numbers(item)


def _fits(value: int | float, dtype: torch.dtype) -> bool:
    if dtype is torch.bool or dtype.is_complex:
        return True
    info: Any = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return bool(info.min <= value <= info.max)


def _refusal(function: Any, raw: list[Any], raw_kwargs: dict[str, Any]) -> str:
    """What torch says when it refuses a number; empty when the call is fine, or fails for another reason, which zeros may be."""
    try:
        args, kwargs = _with_zeros(raw), _with_zeros(raw_kwargs)
        with torch.no_grad(), Evaluation():
            function(*args, **kwargs)
    except Exception as error:
        text = str(error).partition("\n")[0][:200]
        return text if "overflow" in text else ""
    return ""


def _with_zeros(value: Any) -> Any:
    kind = type(value)
    if kind is LT:
        with torch._C._DisableTorchDispatch():
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).zero_()
    if kind is list or kind is tuple:
        return kind([_with_zeros(item) for item in value])
    return {key: _with_zeros(item) for key, item in value.items()} if kind is dict else value
