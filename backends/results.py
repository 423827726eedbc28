"""What an operator of torch returns, as the list of tensors that an operation has results for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch


class OtherSize(RuntimeError):
    """A call has found a size for which the program was not compiled."""


def tensors_of(returned: Any, count: int) -> list[Any]:
    """The `count` tensors of what an operator returned, lists flattened.

    Operations have no results for what was None when they were made.  Where nobody looks at a result, an operator may give None for it now.  Raises
    `RuntimeError` when there are neither `count` items nor `count` tensors.
    """
    items = list(_items(returned))
    if len(items) != count:
        items = [item for item in items if item is not None]
    if len(items) != count:
        raise RuntimeError(f"an operator gave {len(items)} tensors, compiled for {count}")
    return items


def _items(returned: Any) -> Iterator[Any]:
    if isinstance(returned, list | tuple):
        for item in returned:
            yield from _items(item)
    elif returned is None or isinstance(returned, torch.Tensor):
        yield returned


def single(overload: Callable[..., Any]) -> Callable[..., Any]:
    """`overload` with its only tensor as result, if it returns several things."""
    schema = getattr(overload, "_schema", None)
    if schema is not None and len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor":
        return overload

    def call(*args: Any, **kwargs: Any) -> Any:
        returned = overload(*args, **kwargs)
        return returned if isinstance(returned, torch.Tensor) else tensors_of(returned, 1)[0]

    return call
