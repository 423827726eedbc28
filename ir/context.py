"""The context: all that a pass or parser may know besides the IR, passed explicitly.

It holds the table of dialects (loaded on first use), the options of the compile, the description of the target, live objects that text cannot
hold (`resources`), what passes have found out about the program (`analyses`), and the sink for counts and remarks.  There is no global context.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from .dialect import Dialect
from .operation import Operation

Remark = Callable[[str, Operation | None], None]


class Context:
    """`dialects` maps a dialect's name to the module that holds its `DIALECT`; `options` and `target` are plain mappings."""

    def __init__(
        self,
        dialects: Mapping[str, str | Dialect],
        options: Mapping[str, Any] | None = None,
        target: Mapping[str, Any] | None = None,
        allow_unregistered: bool = False,
    ) -> None:
        self._modules = dict(dialects)
        self._loaded: dict[str, Dialect] = {}
        self._op_classes: dict[str, type[Operation] | None] = {}
        self.options = dict(options or {})
        self.target = dict(target or {})
        self.allow_unregistered = allow_unregistered
        self.resources: dict[str, Any] = {}
        self.analyses: dict[str, Any] = {}
        self.statistics: dict[str, int] = {}
        self.remarks: list[tuple[str, Operation | None]] = []

    @property
    def dialect_names(self) -> tuple[str, ...]:
        """Names of all dialects, loaded or not."""
        return tuple(self._modules)

    def dialect(self, name: str) -> Dialect | None:
        """The dialect called `name`, imported if need be; None when there is none."""
        found = self._loaded.get(name)
        if found is None:
            entry = self._modules.get(name)
            if entry is None:
                return None
            found = importlib.import_module(entry).DIALECT if isinstance(entry, str) else entry
            self._loaded[name] = found
        return found

    def op_class(self, name: str) -> type[Operation] | None:
        """The class of the operation `name`, or None."""
        try:
            return self._op_classes[name]
        except KeyError:
            dialect = self.dialect(name.partition(".")[0])
            found = self._op_classes[name] = dialect.ops.get(name) if dialect is not None else None
            return found

    def count(self, what: str, number: int = 1) -> None:
        """Add to a statistic of the running pass."""
        self.statistics[what] = self.statistics.get(what, 0) + number

    def remark(self, message: str, op: Operation | None = None) -> None:
        """Note something a person may want to know; the manager shows it when asked to."""
        self.remarks.append((message, op))
