"""Forward hooks that the frame itself registers on modules, and removes again.

The number of a hook is another one in each call, so the trace has one of its own for it, below zero.  The hook itself is registered by an effect, as the
program would; a hook that the frame removes again leaves nothing.  Only torch's counter of hooks does not go on for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from lect.frontends.capture.attributes import load_attr
from lect.frontends.capture.effects import shadow_of
from lect.frontends.capture.numbers import plain
from lect.frontends.capture.tracer import NONE, Box, Effect, Tracer

Rule = Callable[[Tracer, list[Box], dict[str, Box]], Box]
_MODULE = torch.nn.Module
# For each method where its hooks are kept, and for its options where the numbers of those are that have it.
_TABLES = MappingProxyType(
    {
        _MODULE.register_forward_hook: ("_forward_hooks", {"with_kwargs": "_forward_hooks_with_kwargs", "always_call": "_forward_hooks_always_called"}),
        _MODULE.register_forward_pre_hook: ("_forward_pre_hooks", {"with_kwargs": "_forward_pre_hooks_with_kwargs"}),
    }
)


class Registered:
    """A hook that the frame has registered: the effect, and the copies of tables in which its number stands."""

    __slots__ = ("effect", "number", "tables")

    def __init__(self, number: int, tables: list[Any], effect: Effect) -> None:
        self.number = number
        self.tables = tables
        self.effect = effect


def register_on(module: torch.nn.Module, method: Callable[..., RemovableHandle], hook: Any, handle: RemovableHandle, **options: bool) -> None:
    """Register a hook on a module; `handle` becomes what the program was given for that."""
    handle.__dict__.update(method(module, hook, **options).__dict__)


def _registers(method: Any) -> Rule:
    table, extra = _TABLES[method]

    def rule(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Box:
        given = [*args, *([kwargs["hook"]] if "hook" in kwargs else [])]
        options = {name: t.leak(plain(box)) for name, box in kwargs.items() if name != "hook"}
        if len(given) != 2 or t.is_fresh(args[0][0]) or args[0][1] is None or not set(options) <= {*extra, "prepend"}:
            return t.code_table.inline(t, t.static(method), args, kwargs)  # type: ignore[no-any-return]
        t.memo.switch_off()
        number = -1 - len(t.module_hooks)
        tables = [_table(t, args[0], name) for name in (table, *(extra[name] for name in extra if options.get(name)))]
        for each in tables:
            each[number] = True
        tables[0][number] = t.stored(given[1])
        if options.get("prepend"):
            tables[0].move_to_end(number, last=False)
        handle = t.made(object.__new__(RemovableHandle))
        effect = Effect(register_on, args[0], [method, given[1][0], handle[0]], options, t.loc)
        t.effects.append(effect)
        t.module_hooks[id(handle[0])] = Registered(number, tables, effect)
        return handle

    return rule


def _table(t: Tracer, module: Box, name: str) -> Any:
    """The trace's copy of a table of hooks of a module."""
    box = load_attr(t, module, name)
    t.mutated[id(box[0])] = box
    return shadow_of(t, box)


def remove_hook(t: Tracer, handle: Box) -> Box | None:
    """`handle.remove()` where the frame has registered a hook on a module; None for other handles."""
    known = t.module_hooks.get(id(handle[0]))
    if known is None:
        return None
    for table in known.tables:
        table.pop(known.number, None)
    t.effects[:] = [effect for effect in t.effects if effect is not known.effect]
    return NONE


MODULE_HOOKS_IN_FRAMES: Mapping[Any, Rule] = MappingProxyType({method: _registers(method) for method in _TABLES})
