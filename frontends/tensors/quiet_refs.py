"""Keeps torch's Python meta kernels from importing torch's own compiler.

Many meta kernels are Python functions that torch wraps so that its compiler leaves them alone; the wrapper imports that compiler at its first call,
which takes longer than a whole compile of ours.  The wrapper keeps the function it will call in an attribute, so setting the attribute to the
plain function beforehand has the effect of the wrapper without the import.  When a torch release changes the wrapper nothing is set, and a test
notices the import.
"""

from __future__ import annotations

from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

_ATTRIBUTE = "__dynamo_disable"


@cache
def keep_refs_quiet() -> int:
    """Do it once in a process; the number of functions that were prepared."""
    wrapper = torch._compile._disable_dynamo(_example)
    code = wrapper.__code__ if isinstance(wrapper, FunctionType) else None
    if code is None or "fn" not in code.co_freevars:
        return 0
    return sum(_prepare(function, code) for function in _reachable(_roots()))


def _example() -> None:
    """Wrapped to learn the wrapper's code object."""


def _roots() -> list[Any]:
    import torch._decomp.decompositions
    import torch._meta_registrations
    import torch._prims
    import torch._refs
    import torch._refs.fft
    import torch._refs.linalg
    import torch._refs.nn.functional
    import torch._refs.special

    refs: Any = torch._refs
    modules: tuple[ModuleType, ...] = (
        refs, refs.nn.functional, refs.linalg, refs.special, refs.fft, torch._decomp.decompositions, torch._meta_registrations, torch._prims,
    )  # fmt: skip
    registered = [function for table in torch._decomp.global_decomposition_table.values() for function in table.values()]
    return registered + [value for module in modules for value in vars(module).values()]


def _reachable(functions: list[Any]) -> list[FunctionType]:
    """Those among the functions, and among those that they wrap or close over, that have a closure."""
    pending = list(functions)
    seen: dict[int, FunctionType] = {}
    while pending:
        function = pending.pop()
        if type(function) is not FunctionType or id(function) in seen:
            continue
        closure = function.__closure__
        if closure is None:  # nothing that wraps another function
            continue
        seen[id(function)] = function
        pending.append(getattr(function, "__wrapped__", None))
        for cell in closure:
            try:
                pending.append(cell.cell_contents)
            except ValueError:  # the variable has no value
                continue
    return list(seen.values())


def _prepare(function: FunctionType, wrapper_code: CodeType) -> bool:
    if function.__code__ is not wrapper_code:
        return False
    cell = (function.__closure__ or ())[wrapper_code.co_freevars.index("fn")]
    inner = cell.cell_contents
    if _ATTRIBUTE in inner.__dict__:
        return False
    setattr(inner, _ATTRIBUTE, inner)
    return True
