"""Calls of torch functions whose answer hangs on the elements of tensors, where those are known while tracing (see `known_values`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from lect.dialects.fx.python_values import short_name
from lect.frontends.capture import policy
from lect.frontends.capture.known_values import Unknown, literal_of
from lect.frontends.capture.scalars import SCALAR_TYPES, map_leaves
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT, meta_of

Call = Callable[[Tracer, Any, list[Box], dict[str, Box]], Box]


def known_call(t: Tracer, function: Any, name: str, raw: list[Any], raw_kwargs: dict[str, Any], record: Call, why: str = "") -> Box:
    """The answer of a function that reads elements.  A tensor among the results stands in the graph as a literal, made by `record`.  Breaks when
    an operand is not known; `why` is added to the reason."""
    short = short_name(name)
    if short in policy.NEEDS_ELEMENTS and short not in policy.READS:
        raise t.stop("LB0002", name)
    try:
        returned = t.known.call(function, raw, raw_kwargs)
    except Unknown:
        raise t.stop("LB0002", f"{name}{why}") from None
    except Exception as error:
        raise t.stop("LB0012", f"{name} raised {type(error).__name__}: {str(error).partition(chr(10))[0][:200]}") from None
    return _boxed(t, returned, name, record)


def _boxed(t: Tracer, value: Any, name: str, record: Call) -> Box:
    kind = type(value)
    if kind in SCALAR_TYPES:
        return (value, None)
    if kind is list:
        return t.made([_boxed(t, item, name, record)[0] for item in value])
    if kind is tuple:
        return t.make_tuple([_boxed(t, item, name, record) for item in value])
    if kind is not torch.Tensor or value.requires_grad:
        raise t.stop("LB0002", name)
    flat = literal_of(value)
    if flat is None:
        raise t.stop("LB0002", name)
    made = record(t, torch.tensor, [t.made(flat)], {"dtype": (value.dtype, None)})
    if made[0].shape == value.shape and made[0].stride() == value.stride():
        return made
    return record(t, torch.Tensor.as_strided, [made, (tuple(value.shape), None), (value.stride(), None)], {})


def with_numbers(value: Any, numbers: Mapping[int, Any]) -> Any:
    """An argument with the numbers that torch has read in the place of the tensors that it read them from."""
    return map_leaves(value, lambda leaf: numbers.get(id(leaf), leaf) if type(leaf) is LT else leaf)


def alike(first: Any, second: Any) -> bool:
    """True when two results of a call have the same structure and metadata."""
    if type(first) is not type(second):
        return False
    if issubclass(type(first), torch.Tensor):
        return meta_of(first) == meta_of(second)
    if issubclass(type(first), list | tuple):
        return len(first) == len(second) and all(alike(a, b) for a, b in zip(first, second))
    return first is second or first == second


def known_number(t: Tracer, tensor: LT) -> Any:
    """The number in a traced tensor of one element.  Breaks when it is not known."""
    if tensor.numel() != 1:
        raise t.stop("LB0002", "a number is made of a tensor with other than one element")
    number = t.known.element(tensor)
    if number is None:
        raise t.stop("LB0002", "the number in a tensor")
    return number
