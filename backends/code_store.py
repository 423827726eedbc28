"""Where a backend looks for object code before it makes it: the kernel level of a cache, as far as a backend sees it."""

from __future__ import annotations

from typing import Protocol


class CodeStore(Protocol):
    """Object code by the text that it is made of, and all else it depends on."""

    def find(self, key: str) -> bytes | None:
        """The object code that was kept under this key, or None."""

    def keep(self, key: str, code: bytes) -> None:
        """Keep object code; nothing happens when that is not possible."""


class NamedCode(CodeStore, Protocol):
    """Object code that can also be asked for by a name, which says all that its key does."""

    def name_of(self, key: str) -> str:
        """The name of what is kept under this key."""

    def named(self, name: str) -> bytes | None:
        """The object code of this name, or None."""
