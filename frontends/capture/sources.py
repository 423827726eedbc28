"""Sources: the paths by which objects that exist before the call are found again.

Sources form an interned tree: two reads along one path give one node, so a source is compared and hashed by identity.  A node remembers the
type that was last guarded on it, so that a guard is asked for once.
"""

from __future__ import annotations

from typing import Any

from lect.dialects.guard.types import PathAttr

_PLAIN_KEYS = frozenset({str, int, type(None)})


class Source:
    """One node; `kind` is a root ('L', 'R', 'M', 'O') or a step of `guard.path`, `key` its key.

    `chain` are the steps from the root, `plain` says that all keys are strings, ints and None.  `part` names the table of a module (`_parameters`,
    `_buffers`, `_modules`) in which an attribute was found, when it was.  `run_time` says that a number there is one of run time.
    """

    __slots__ = ("base", "children", "chain", "guarded_type", "key", "kind", "part", "plain", "run_time")

    def __init__(self, base: Source | None, kind: str, key: Any) -> None:
        self.base = base
        self.kind = kind
        self.key = key
        self.children: dict[Any, Source] | None = None
        self.chain: tuple[tuple[str, Any], ...] = () if base is None else (*base.chain, (kind, key))  # the steps from the root
        self.plain: bool = type(key) in _PLAIN_KEYS and (base is None or base.plain)
        self.guarded_type: type | None = None
        self.part: str | None = None
        self.run_time = False

    def step(self, kind: str, key: Any = None) -> Source:
        """The node one step further; keys that are equal but of different types are different steps."""
        children = self.children
        if children is None:
            children = self.children = {}
        name = (kind, type(key), key)
        found = children.get(name)
        if found is None:
            found = children[name] = Source(self, kind, key)
        return found

    def attr(self, name: str) -> Source:
        """The attribute `name` of this object."""
        return self.step("attr", name)

    def item(self, key: Any) -> Source:
        """The item under a literal key."""
        return self.step("item", key)

    def path(self) -> PathAttr:
        """This source as an attribute."""
        root = self.root
        if self.plain:
            return PathAttr.canonical(root.kind, root.key, self.chain)
        return PathAttr(root.kind, root.key, self.chain)

    @property
    def root(self) -> Source:
        """The first node of the path."""
        node = self
        while node.base is not None:
            node = node.base
        return node

    def __repr__(self) -> str:
        return self.path().print_body()


class SourceTable:
    """The roots of one trace: parameters by name, the function itself, modules by name, and kept objects by number."""

    def __init__(self) -> None:
        self.roots: dict[tuple[str, Any], Source] = {}
        self.function = self._root("R", None)

    def _root(self, kind: str, key: Any) -> Source:
        found = self.roots.get((kind, key))
        if found is None:
            found = self.roots[kind, key] = Source(None, kind, key)
        return found

    def local(self, name: str) -> Source:
        """The parameter `name` of the compiled function."""
        return self._root("L", name)

    def module(self, name: str) -> Source:
        """A loaded module by its name."""
        return self._root("M", name)

    def at(self, path: PathAttr) -> Source:
        """The source that a path names; its root is no kept object."""
        node = self.function if path.root == "R" else self._root(path.root, path.key)
        for kind, key in path.steps:
            node = node.step(kind, key)
        return node

    def kept(self, number: int) -> Source:
        """A kept object by its number."""
        return self._root("O", number)
