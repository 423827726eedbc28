"""Slots: attributes that a class keeps in the object itself, behind descriptors in C."""

from __future__ import annotations

import types
from typing import Any, NoReturn

from lect.frontends.capture.breaks import UserError

NOT_MADE = 1 << 7  # Py_TPFLAGS_DISALLOW_INSTANTIATION: calling such a class raises


def is_slot(entry: Any) -> bool:
    """True for the descriptor of a slot of a class that Python code has made; members of classes in C may be read-only."""
    return type(entry) is types.MemberDescriptorType and "__slots__" in entry.__objclass__.__dict__


def empty_slot(value: Any, name: str, slot: Any) -> NoReturn:
    """Raise what reading a slot raises in which nothing is."""
    try:
        slot.__get__(object.__new__(slot.__objclass__), slot.__objclass__)
    except AttributeError as error:
        error.name, error.obj = name, value
        raise UserError(error) from None
    raise AssertionError("a new object has an empty slot")
