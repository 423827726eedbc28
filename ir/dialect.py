"""Dialects: a named set of operations, types and attributes, found by scanning the modules that define them."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from .attributes import Attribute
from .operation import Operation
from .types import Type


class Dialect:
    """What belongs to one dialect: `ops`, `types` and `attrs` by their full names, `patterns` for canonicalization, and `doc`, its semantics in prose."""

    __slots__ = ("attrs", "doc", "name", "ops", "patterns", "types")

    def __init__(
        self,
        name: str,
        ops: Iterable[type[Operation]] = (),
        types: Iterable[type[Type]] = (),
        attrs: Iterable[type[Attribute]] = (),
        doc: str = "",
        patterns: Iterable[Any] = (),
    ) -> None:
        self.name = name
        self.ops = {cls.name: cls for cls in ops}
        self.types = {cls.name: cls for cls in types}
        self.attrs = {cls.name: cls for cls in attrs}
        self.doc = doc
        self.patterns = tuple(patterns)

    @classmethod
    def collect(cls, name: str, *modules: ModuleType, attrs: Iterable[type[Attribute]] = (), patterns: Iterable[Any] = ()) -> Dialect:
        """Every class in `modules` whose name starts with `name.`; `attrs` adds attribute classes that live in `ir`."""
        prefix = name + "."
        ops: list[type[Operation]] = []
        types: list[type[Type]] = []
        others: list[type[Attribute]] = list(attrs)
        for module in modules:
            for value in vars(module).values():
                if isinstance(value, type) and str(getattr(value, "name", None)).startswith(prefix):
                    kind: list[Any] = ops if issubclass(value, Operation) else types if issubclass(value, Type) else others
                    kind.append(value)
        doc = next((m.__doc__ for m in modules if m.__doc__), "") or ""
        return cls(name, ops, types, others, doc, patterns)
