"""Where a backend looks for object code before it makes it: the kernel level of a cache, as far as a backend sees it."""

from __future__ import annotations

from typing import Protocol


class CodeStore(Protocol):
    """Object code by the text that it is made of, and all else it depends on."""

    def find(self, key: str) -> bytes | None:
        """The object code that was kept under this key, or None."""

    def keep(self, key: str, code: bytes) -> None:
        """Keep object code; nothing happens when that is not possible."""
