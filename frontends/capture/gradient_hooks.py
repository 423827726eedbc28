"""Hooks that run in the backward: of tensors, and of modules.

A hook is registered behind the graph, in the order of the effects: what it hangs on, a tensor of the program or the node of autograd that has made a
result, is there then, and no backward has run.  The function itself runs when autograd calls it, as written.  A graph in which hooks look at the
gradients of what it makes itself is recorded by torch, call by call: the compiled backward of a whole graph has no such gradients.

In the trace a handle is an empty object; the residual code fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.nn.modules._functions import BackwardHookFunction
from torch.utils.hooks import BackwardHook, RemovableHandle

from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.gradients import switch
from lect.frontends.capture.module_hooks import remove_hook
from lect.frontends.capture.torch_calls import torch_call
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer
from lect.frontends.tensors import LT

_NODE_OF_MODULES = "BackwardHookFunctionBackward"


def register(tensor: torch.Tensor, method: Callable[..., RemovableHandle], hook: Any, handle: RemovableHandle) -> None:
    """Register a hook on a tensor; `handle` becomes what the program was given for that."""
    handle.__dict__.update(method(tensor, hook).__dict__)


def hook_node(tensors: tuple[torch.Tensor, ...], hook_it: Callable[[Any], None]) -> None:
    """Hand the node that has made these tensors to `hook_it`."""
    nodes = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    hook_it(next(node for node in nodes if node.name() == _NODE_OF_MODULES))


def _registers(method: Callable[..., RemovableHandle], leaves: bool) -> Callable[[Tracer, list[Box], dict[str, Box]], Box]:
    """The rule for a method that registers a hook on a tensor, which must be a leaf if `leaves`."""

    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        given = [*args, *kwargs.values()]
        if len(given) != 2 or type(given[0][0]) is not LT or set(kwargs) - {"hook"}:
            raise t.stop("LB0004", f"{method.__name__} with other arguments than a hook")
        tensor = given[0][0]
        if not tensor.requires_grad:
            raise UserError(RuntimeError("cannot register a hook on a tensor that doesn't require gradient"))
        real = t.real_of.get(id(tensor))
        if leaves and tensor.grad_fn is not None:
            raise UserError(RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors"))
        if real is None and tensor.is_leaf:
            raise t.stop("LB0021", "a hook on a leaf that is made in the frame")
        if real is None:
            t.graph.gradients = True
            t.graph.note_write(t.loc)
        t.memo.switch_off()
        return _registered(t, tensor, method, given[1])

    return rule


def _registered(t: Tracer, tensor: LT, method: Any, hook: Box) -> Box:
    t.stored(hook)
    handle = t.made(object.__new__(RemovableHandle))
    t.effects.append(Effect(register, t.seen.get(id(tensor), (tensor, None)), [method, hook[0], handle[0]], {}, t.loc))
    t.hooked.append((tensor, tensor._version, t.loc))
    return handle


def _remove(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`handle.remove()` of a handle that the frame was given."""
    handle = args[0]
    done = remove_hook(t, handle)
    if done is not None:
        return done
    if not _is_of_frame(t, handle):
        return t.code_table.inline(t, t.static(RemovableHandle.remove), args, kwargs)  # type: ignore[no-any-return]
    t.effects.append(Effect(RemovableHandle.remove, handle, [], {}, t.loc))
    return NONE


def _is_of_frame(t: Tracer, handle: Box) -> bool:
    return t.is_fresh(handle[0]) and not handle[0].__dict__


def check_hooked(t: Tracer) -> None:
    """Break when a tensor with a hook was written to behind it: autograd would call the hook with the gradient of what the tensor was before."""
    for tensor, version, loc in t.hooked:
        if tensor._version != version:
            stop = t.stop("LB0021", "a tensor is written to in place behind the registration of a hook on it")
            stop.loc = loc
            raise stop


def _apply_on_tensors(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
    """`BackwardHook._apply_on_tensors(hook_it, args)`: the tensors go through a node of autograd, which is handed to `hook_it` behind the graph."""
    from lect.frontends.capture.iteration import iterate

    if len(args) != 3 or kwargs:
        raise t.stop("LB0017", "hooks on a backward with other arguments than torch gives")
    hook_it, values = args[1], iterate(t, args[2])
    places = [number for number, box in enumerate(values) if type(box[0]) is LT]
    if not (torch.is_grad_enabled() and any(values[number][0].requires_grad for number in places)):
        return t.make_tuple([args[2], NONE])
    t.graph.gradients = True
    t.memo.switch_off()
    made = iterate(t, torch_call(t, BackwardHookFunction.apply, [values[number] for number in places], {}))
    t.effects.append(Effect(hook_node, t.make_tuple(made), [hook_it[0]], {}, t.loc))
    t.hooked += [(box[0], box[0]._version, t.loc) for box in made]
    for number, box in zip(places, made):
        values[number] = box
    if type(args[2][0]) is not tuple:
        raise t.stop("LB0017", f"hooks on the backward of a module that is given or returns a {type(args[2][0]).__name__}")
    return t.make_tuple([t.make_tuple(values), t.made(places)])


GRADIENT_HOOKS: Mapping[Any, Any] = MappingProxyType(
    {
        torch.Tensor.register_hook: _registers(torch.Tensor.register_hook, leaves=False),
        torch.Tensor.register_post_accumulate_grad_hook: _registers(torch.Tensor.register_post_accumulate_grad_hook, leaves=True),
        torch.Tensor.requires_grad_: switch,
        RemovableHandle.remove: _remove,
        BackwardHook._apply_on_tensors: _apply_on_tensors,
    }
)
