"""Functions of torch's C++ code that ask a tensor for its sizes as plain integers, where these are known only at run time.

Up to torch 2.11 `matmul` does so, among others.  torch has Python forms of such operators, which take sizes as they are; its dispatcher uses them when told.
Of `FORMS` torch has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.frontends.tensors.quiet_symbols import without_symbols
from lect.ir import SymbolicSizeError

ASKED: Final = re.compile(  # how torch says that a tensor has no plain ones
    r"aten::(?:size|stride|storage_offset|numel) does not exist|Cannot call \w+\(\) on tensor with symbolic sizes|expected to contain only concrete integers"
    r"|dispatch_on_subclass called with NO overloaded args"  # ours is no subclass to what asks it for its sizes from C++
)


def call(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`, run again with the Python forms of operators when it asks for plain sizes of what has none.

    Raises what the function raises.
    """
    before = _versions(args, kwargs)
    try:
        return function(*args, **kwargs)
    except RuntimeError as error:
        if ASKED.search(str(error)) is None or _versions(args, kwargs) != before:  # what it has written would be written twice
            raise
    import torch._decomp.decompositions  # noqa: F401  # where the forms are told to the dispatcher

    with without_symbols(), torch._C._EnablePythonDispatcher():
        return FORMS.get(function, function)(*args, **kwargs)


def _cov(input: torch.Tensor, *, correction: int = 1, fweights: torch.Tensor | None = None, aweights: torch.Tensor | None = None) -> torch.Tensor:
    """`torch.cov`, by the formula of its documentation.  Raises `SymbolicSizeError` with weights."""
    if fweights is not None or aweights is not None or input.dim() != 2 or not (input.is_floating_point() or input.is_complex()):
        raise SymbolicSizeError("cov with weights, of integers or of one variable asks for plain sizes")
    centred = input - (input.sum(1) / input.shape[1]).unsqueeze(1)
    left = input.shape[1] - correction
    if left <= 0:
        raise SymbolicSizeError("cov of so few observations asks for plain sizes")
    return centred @ centred.t().conj() / left


def _vander(x: torch.Tensor, N: int | None = None, increasing: bool = False) -> torch.Tensor:
    """`torch.vander`: powers of the elements, as products of all in front."""
    count = x.shape[0] if N is None else N
    if x.dim() != 1 or count < 2:
        raise SymbolicSizeError("vander of so few powers asks for plain sizes")
    powers = x.unsqueeze(-1).expand(x.shape[0], count - 1).cumprod(-1)
    powers = torch.cat([torch.ones_like(powers[:, :1]), powers], -1)
    return powers if increasing else powers.flip(-1)


FORMS: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType({torch.cov: _cov, torch.vander: _vander})


def _versions(args: Any, kwargs: dict[str, Any]) -> list[int]:
    """How often each tensor among the arguments was written to."""
    values = [item for value in (*args, *kwargs.values()) for item in (value if isinstance(value, list | tuple) else (value,))]
    return [value._version for value in values if isinstance(value, torch.Tensor) and not value.is_inference()]
