"""Live objects that IR names by number: `#fx.object<3, "function m.f">`."""

from __future__ import annotations

import types
from typing import Any

from lect.dialects.fx.types import ObjectRef


class ObjectTable:
    """Objects in the order in which they were first named; one object has one number."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._refs: dict[int, ObjectRef] = {}

    def number(self, value: Any) -> int:
        """The number of `value`, which the table keeps alive from now on."""
        found = self._numbers.get(id(value))
        if found is None:
            found = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return found

    def ref(self, value: Any) -> ObjectRef:
        """The attribute that names `value`."""
        number = self.number(value)
        found = self._refs.get(number)
        if found is None:
            found = self._refs[number] = ObjectRef(number, describe(value))
        return found


_NAMED = (
    *(type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.MethodDescriptorType, types.WrapperDescriptorType),
    *(types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, staticmethod, classmethod),
)


def describe(value: Any) -> str:
    """A short text for people: kind and qualified name, never an address and never the object's own repr."""
    kind = type(value)
    if not issubclass(kind, _NAMED) or type(kind) is not type:  # asking an object of the program might run its code
        return f"{kind.__module__}.{kind.__qualname__} object" if not issubclass(kind, type) else type.__repr__(value).partition("'")[2].rstrip("'>")
    name: Any = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        return f"{kind.__module__}.{kind.__qualname__} object"
    module = getattr(value, "__module__", None)
    full = f"{module}.{name}" if isinstance(module, str) else name
    if isinstance(value, type):
        return full
    words: Any = {"builtin_function_or_method": "function", "method_descriptor": "method", "module": "module"}
    return f"{words.get(kind.__name__, kind.__name__)} {full}"
