"""What the propagation cache remembers of an op: the shape of its results, without the results."""

from __future__ import annotations

from typing import Any, NamedTuple

from lect.frontends.tensors.lt import make_lt
from lect.frontends.tensors.metadata import TensorMeta


class Alias(NamedTuple):
    """The result is the argument at this position, or of this name."""

    argument: int | str


Template = Any
"""A `TensorMeta`, an `Alias`, a list or tuple of templates, or a value that is no tensor."""


def instantiate(template: Template, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Fresh LTs in the place of metadata."""
    kind = type(template)
    if kind is TensorMeta:
        return make_lt(template)
    if kind is Alias:
        place = template.argument
        return args[place] if isinstance(place, int) else kwargs[place]
    if kind is tuple or kind is list:
        return kind([instantiate(item, args, kwargs) for item in template])
    return template
