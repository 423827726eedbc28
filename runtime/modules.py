"""A compiled `nn.Module`: an object of a subclass that shares the instance dictionary of the original.

So parameters, buffers, children, hooks, `training` and every other attribute are one and the same, `state_dict` has the original's keys, and
`isinstance` holds.  Only calling it is different.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import torch

from lect.runtime.tracebacks import hide_own_frames

Run = Callable[..., Any]


class _Shield:
    """Keeps a user's `__init_subclass__` from seeing the class made here."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        return None


def wrap_module(module: torch.nn.Module, run: Run, recompile: Callable[[torch.nn.Module], Any]) -> torch.nn.Module:
    """The module whose call is `run(module, *args, **kwargs)`; a copy of it is `recompile` of a copy of the original."""
    cls = type(module)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return run(module, *args, **kwargs)
        except BaseException as error:
            hide_own_frames(error)
            raise

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        return recompile(copy.deepcopy(module, memo))

    def __copy__(self: Any) -> Any:
        return recompile(copy.copy(module))

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return operator.getitem, ((module,), 0)  # what is loaded is the original, and needs no lect

    body = {
        "__call__": __call__,
        "__deepcopy__": __deepcopy__,
        "__copy__": __copy__,
        "__reduce_ex__": __reduce_ex__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_lect_original": module,
    }
    metaclass: Any = type(cls)
    made = object.__new__(metaclass(cls.__name__, (_Shield, cls), body))
    object.__setattr__(made, "__dict__", module.__dict__)
    return made
