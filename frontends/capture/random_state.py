"""The state of torch's random generator: setting and reading it are calls of the graph, made when it runs and never while tracing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.torch_calls import lower_box
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.tensors import LT, make_lt, meta_of

Kwargs = dict[str, Box]


def _check_place(t: Tracer, name: str) -> None:
    """A function that torch calls is followed by running its operations on traced tensors, which must leave the generator alone."""
    if t.graph.scopes:
        raise t.stop("LB0004", f"{name} in a function that torch calls")
    t.mode.draws += 1


def manual_seed(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.manual_seed(seed)`."""
    _check_place(t, "torch.manual_seed")
    given = [*args, *kwargs.values()]
    seed = lower_box(t, given[0]) if len(given) == 1 else None
    if type(seed) is not int:
        raise t.stop("LB0004", "torch.manual_seed with something else than an int")
    t.graph.record("torch.manual_seed", [seed], {}, None, t.loc)
    return t.static(torch.default_generator)


def get_rng_state(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.get_rng_state()`."""
    _check_place(t, "torch.get_rng_state")
    with torch._C._DisableTorchDispatch():
        state = torch.get_rng_state()
    returned = make_lt(meta_of(state))
    t.graph.record("torch.get_rng_state", [], {}, returned, t.loc)
    return (returned, None)


def set_rng_state(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.set_rng_state(state)`."""
    _check_place(t, "torch.set_rng_state")
    given = [lower_box(t, box) for box in [*args, *kwargs.values()]]
    if len(given) != 1 or not issubclass(type(given[0]), LT):
        raise t.stop("LB0004", "torch.set_rng_state with something else than a tensor")
    t.graph.record("torch.set_rng_state", given, {}, None, t.loc)
    return NONE


RANDOM_STATE: Mapping[Any, Any] = MappingProxyType({torch.manual_seed: manual_seed, torch.get_rng_state: get_rng_state, torch.set_rng_state: set_rng_state})
