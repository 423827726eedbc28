"""The objects that a guard set names by number, for those who explain why it does not hold: most of them are held weakly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Gone(LookupError):
    """An object that has been deleted since; the text says what it was."""


class KeptObjects:
    """`objects[n]` is object n.  Raises `Gone` for one that is no more, KeyError for one that is compared by value."""

    def __init__(self, kept: Mapping[tuple[str, Any], tuple[Any, bool]], texts: Mapping[int, str]) -> None:
        self._kept = kept
        self._texts = texts

    def __getitem__(self, number: int) -> Any:
        found, weakly = self._kept["O", number]
        value = found() if weakly else found
        if weakly and value is None:
            raise Gone(self._texts[number])
        return value
