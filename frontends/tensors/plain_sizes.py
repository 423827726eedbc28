"""Functions of torch's C++ code that ask a tensor for its sizes as plain integers, where these are known only at run time.

Up to torch 2.11 `matmul` does so, among others.  torch has Python forms of such operators, which take sizes as they are; its dispatcher uses them when told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import torch

from lect.frontends.tensors.quiet_symbols import without_symbols

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
        return function(*args, **kwargs)


def _versions(args: Any, kwargs: dict[str, Any]) -> list[int]:
    """How often each tensor among the arguments was written to."""
    values = [item for value in (*args, *kwargs.values()) for item in (value if isinstance(value, list | tuple) else (value,))]
    return [value._version for value in values if isinstance(value, torch.Tensor) and not value.is_inference()]
