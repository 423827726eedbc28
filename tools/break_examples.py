"""One small program for each reason of a graph break or fallback, for the documentation; a test runs them.

A program has the name of its reason and gets a tensor of shape (2, 3).
"""

# ruff: noqa: T201

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

import lect


def lb0001(x: Any) -> Any:
    unbound = super(dict)
    return x + (unbound is None)


def lb0002(x: Any) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


def lb0003(x: Any) -> Any:
    return x + len(memoryview(bytes(3)))


_SHARED = bytearray(3)


def lb0004(x: Any) -> Any:
    _SHARED[0] = 2
    return x * 2


class _Subclass(torch.Tensor):
    pass


def lb0005(x: Any) -> Any:
    return x.as_subclass(_Subclass) + 1


class _Value:
    pass


def lb0006(x: Any) -> Any:
    return torch.is_tensor(x), torch.add(x, _Value())  # type: ignore[call-overload]


def lb0008(x: Any) -> Any:
    return x * 2, ValueError("kept")


_ROWS = iter(range(1_000_000))


def lb0009(x: Any) -> Any:
    return x + next(_ROWS)


class _Ordered(type):
    def mro(cls) -> list[type]:
        return super().mro()


def lb0010(x: Any) -> Any:
    class Local(metaclass=_Ordered):
        factor = 2

    return x * Local.factor


def lb0011(x: Any) -> Any:
    import mailbox as _unused  # noqa: F401

    return x + 1


def lb0012(x: Any) -> Any:
    if x.dim() == 2:
        raise ValueError("a matrix")
    return x + 1


def lb0013(x: Any) -> Any:
    y = x * 2
    print(end="")
    return y + 1


class _Released:
    def __del__(self) -> None:
        pass


def lb0018(x: Any) -> Any:
    thing = _Released()
    return x + 1, thing


def lb0019(x: Any) -> Any:
    return x + 1, str([x])


def lb0021(x: Any) -> Any:
    weight = torch.ones(3, requires_grad=True)
    return x * weight


def lb0022(x: Any) -> Any:
    return tuple(x.shape)


@lect.disable  # type: ignore[operator]
def _disabled(x: Any) -> Any:
    return x * 3


def lb0028(x: Any) -> Any:
    return _disabled(x) + 1


def lb0030(x: Any) -> Any:
    try:
        raise ValueError(1)
    except ValueError:
        lines = traceback.format_exc()
    return x + len(lines)


EXAMPLES: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {name.upper(): value for name, value in sorted(vars(sys.modules[__name__]).items()) if name.startswith("lb0")}
)
