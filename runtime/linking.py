"""A lowered graph as something to call: native code, or the reference interpreter of the level it has reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lect.dialects.builtin.ops import ModuleOp
from lect.frontends.tensors.torch_warnings import told_before
from lect.ir import Block, Context, Operation, Region


def module_of(op: Operation) -> Operation:
    """A module with one function or graph, which belongs to no other."""
    block = Block()
    block.append(op)
    return ModuleOp(regions=[Region([block])])


def link_graph(module: Operation, ctx: Context, code: Any = None, consuming: bool = False, seen: int | None = None) -> tuple[Any, Callable[..., list[Any]]]:
    """What keeps the code alive, and the function from a graph's inputs to its results, at the level that the option `level` says.

    `code` are the kernels of a module out of the cache, where they were compiled before.  With `consuming` the function takes one list of the inputs and
    may empty it, so that what nobody else has is freed behind its last use.  The first `seen` results go to the program, of all when that is None.
    """
    if ctx.options.get("level", "native") != "native":
        run = interpreted(module)
        return None, (lambda inputs: run(*inputs)) if consuming else run
    from lect.runtime.executable import build, find_host_function
    from lect.runtime.machines import on_device
    from lect.runtime.residual import shared_outputs, with_own_outputs

    executable, func = build(module, ctx, code=code), find_host_function(module, None)
    if not may_be_recorded(ctx.options.get("graphs", "auto"), func):
        fastest = executable.consuming if consuming else executable.fastest
    else:
        from lect.runtime.graphs.attach import recorded

        fastest = recorded(executable, module, func, ctx, consuming, seen)
    return executable, with_own_outputs(on_device(fastest, func), shared_outputs(func))


def may_be_recorded(graphs: str, func: Operation) -> bool:
    """Whether the option `graphs` lets a host program be recorded: those on the CPU alone are not by themselves, for which nothing of that is loaded."""
    from lect.runtime.machines import devices_of

    return graphs in ("device", "simulated") or (graphs == "auto" and any(device != "cpu" for device in devices_of(func)))


def interpreted(module: Operation) -> Callable[..., list[Any]]:
    """The graph of a module at the level it has reached, run by that level's reference interpreter."""
    from lect.runtime.levels import find_program, run_reference

    program = find_program(module)
    return told_before(lambda *tensors: run_reference(program, tensors))
