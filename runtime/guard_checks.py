"""The conditions of guards that are more than one expression, and the reading of paths when a miss is explained."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.fx.python_values import dtype_of, resolve
from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard.containers import count, elements, own_item, results_of, value_at
from lect.dialects.guard.getters import contents_of
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.tensor_methods import OWN as OF_TENSORS
from lect.frontends.capture.torch_callees import ABSENT, callees_of
from lect.ir import ScalarType, literal_key
from lect.ir.types import f64, i1
from lect.runtime.kept_objects import KeptObjects

MODULE_PARTS = ("_parameters", "_buffers", "_modules")
GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks")
HOOK_TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
OWN_CALLS = ("_compiled_call_impl", "_call_impl")  # what a call of a module runs, where the module itself has it
_module = torch.nn.modules.module
# What may be another object with the same meaning; comparing others could run the program's code.
_BY_VALUE = frozenset({int, float, str, bytes, complex, tuple, torch.Size, torch.device})


def same_number(found: Any, expected: Any) -> bool:
    """Equal type and value; 0.0 and -0.0 differ, a NaN equals itself."""
    if type(found) is not type(expected):
        return False
    return found.tobytes() == expected.tobytes() if type(found).__module__ == "numpy" else literal_key(found) == literal_key(expected)


LARGEST_SIZE = 1 << 40  # of a number of the program that is a size: products of such and strides are far from 64 bits


def range_of(element: ScalarType) -> tuple[int | float, int | float]:
    """The least and the greatest finite number of an element type; of f64, the infinities."""
    if element is f64:
        return float("-inf"), float("inf")
    if element.is_float:
        limit = torch.finfo(dtype_of(element)).max
        return -limit, limit
    info = torch.iinfo(dtype_of(element)) if element is not i1 else None
    return (info.min, info.max) if info is not None else (0, 1)


def same_items(found: Any, expected: tuple[Any, ...]) -> bool:
    """The elements (keys, for a dictionary) in iteration order are these, types included."""
    if count(found) != len(expected):
        return False
    for a, b in zip(elements(found), expected):
        if a is not b and (type(a) is not type(b) or type(a) not in _BY_VALUE or literal_key(a) != literal_key(b)):
            return False
    return True


def same_keys(found: Any, expected: tuple[tuple[bool, Any], ...]) -> bool:
    """`same_items` of keys among which are objects: each is (whether it is a weak reference to the key, it or the key)."""
    keys = tuple([value() if weak else value for weak, value in expected])
    alive = all(key is not None for (weak, _), key in zip(expected, keys) if weak)
    return alive and same_items(found, keys)


def nth(container: Any, number: int) -> Any:
    """The element of that number in iteration order.  Raises IndexError when there is none."""
    for item in islice(elements(container), number, None):
        return item
    raise IndexError(number)


def part(module: torch.nn.Module, name: str) -> Any:
    """The parameter, buffer or child of a module.  Raises KeyError when there is none."""
    members = module.__dict__
    for table in MODULE_PARTS:
        found = members[table]
        if name in found:
            return found[name]
    raise KeyError(name)


def has_member(module: Any, names: frozenset[str]) -> bool:
    """True when the instance dictionary, parameters, buffers or children have one of the names."""
    members = module.__dict__
    if not names.isdisjoint(members):
        return True
    return any(not names.isdisjoint(members.get(table) or ()) for table in MODULE_PARTS)


def all_distinct(*objects: Any) -> bool:
    """True when no two are one object."""
    return len({id(each) for each in objects}) == len(objects)


def global_hooks() -> Any:
    """True when hooks are registered on all modules."""
    return _module._global_forward_hooks or _module._global_forward_pre_hooks or _module._global_backward_hooks or _module._global_backward_pre_hooks


def below_torch(functions: Sequence[str]) -> tuple[list[tuple[dict[str, Any], str, Any]], list[tuple[str, Any]]]:
    """What these Python functions of torch call: entries of modules with what they held when lect was loaded, and the same of methods of tensors."""
    callees = [callees_of(resolve(name)) for name in functions]
    entries = {(module, name): value for each in callees for module, name, value in each.values()}
    methods = {name for each in callees for name in each.methods}
    return [(vars(sys.modules[module]), name, value) for (module, name), value in entries.items()], [(name, OF_TENSORS[name]) for name in sorted(methods)]


def differs_below(entries: Sequence[tuple[dict[str, Any], str, Any]], methods: Sequence[tuple[str, Any]]) -> bool:
    """True when one of what `below_torch` gives is something else now."""
    if any(members.get(name, ABSENT) is not value for members, name, value in entries):
        return True
    return any(getattr(torch.Tensor, name, None) is not value for name, value in methods)


def handles_exception() -> bool:
    """True when the caller of the compiled function handles an exception."""
    return sys.exc_info()[1] is not None


def overlap(*tensors: torch.Tensor) -> bool:
    """True when two of the tensors have one storage."""
    seen = set()
    for tensor in tensors:
        if tensor.numel():
            place = tensor.untyped_storage().data_ptr()
            if place in seen:
                return True
            seen.add(place)
    return False


def modes_active() -> bool:
    """True in modes under which torch functions do something else: overrides, autocast, functional transforms, tracing."""
    return bool(torch._C._is_any_autocast_enabled()) or overrides_active()


def overrides_active() -> bool:
    """True while torch functions are overridden, transformed or traced."""
    c = torch._C
    return bool(
        c._len_torch_dispatch_stack()
        or c._len_torch_function_stack()
        or c._functorch.peek_interpreter_stack() is not None
        or c._get_tracing_state() is not None
    )


def read_path(path: PathAttr, function: Any, bound: Mapping[str, Any], objects: Sequence[Any] | KeptObjects) -> Any:
    """The object at the end of a path, read step by step; raises what reading raises."""
    value = read_root(path.root, path.key, function, bound, objects)
    for kind, key in path.steps:
        value = read_step(value, kind, key, objects)
    return value


def read_step(value: Any, kind: str, key: Any, objects: Sequence[Any] | KeptObjects) -> Any:
    """What one step leads to from `value`; a key that names a kept object is that object."""
    return STEPS[kind](value, objects[key.number] if type(key) is ObjectRef else key)


def read_root(root: str, key: Any, function: Any, bound: Mapping[str, Any], objects: Sequence[Any] | KeptObjects) -> Any:
    """The object that a path starts at."""
    if root == "L":
        return bound[key]
    if root == "R":
        return function
    return sys.modules[key] if root == "M" else objects[key]


def _read_plainly(read: Callable[[Any], Any], value: Any, key: Any) -> Any:
    return read(value)


PLAIN_READS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"type": type, "results": results_of, "referent": weakref.ref.__call__, "contents": contents_of}
)

STEPS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "attr": getattr,
        "item": lambda value, key: value[key],
        "dict": lambda value, key: object.__getattribute__(value, "__dict__"),
        "nth": nth,
        "key": nth,
        "value": value_at,
        "part": part,
        **{kind: partial(_read_plainly, read) for kind, read in PLAIN_READS.items()},
        "own": own_item,
        "call": lambda value, key: value(),
        "element": lambda value, key: value.item(),
        "size": lambda value, key: value.shape[key],
    }
)
