"""What a tensor without elements cannot answer."""

from __future__ import annotations

from lect.ir import LectError


class DataDependent(LectError):
    """The program asked for the elements of a tensor that has none: `.item()`, `bool(t)`, `nonzero`, `.numpy()`.  Capture falls back to eager."""


class UnsupportedTensor(LectError):
    """A tensor or an operation on one that propagation cannot stand in for: sparse layouts, `resize_`, `set_`, absent devices."""
