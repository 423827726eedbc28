"""Slots: attributes that a class keeps in the object itself, behind descriptors in C."""

from __future__ import annotations

import types
from typing import Any, NoReturn

from lect.frontends.capture.breaks import UserError

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def is_slot(entry: Any) -> bool:
    """True for the descriptor of a slot of a class that Python code has made."""
    return type(entry) is types.MemberDescriptorType and bool(entry.__objclass__.__flags__ & _HEAP_TYPE)


def empty_slot(value: Any, name: str, slot: Any) -> NoReturn:
    """Raise what reading a slot raises in which nothing is."""
    try:
        slot.__get__(object.__new__(slot.__objclass__), slot.__objclass__)
    except AttributeError as error:
        error.name, error.obj = name, value
        raise UserError(error) from None
    raise AssertionError("a new object has an empty slot")
