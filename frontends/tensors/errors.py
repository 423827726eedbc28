"""What a tensor without elements cannot answer."""

from __future__ import annotations

from lect.ir import LectError


class DataDependent(LectError):
    """The program asked for the elements of a tensor that has none: `.item()`, `bool(t)`, `nonzero`, `.numpy()`.  Capture falls back to eager."""


class NumberNeeded(LectError):
    """The value of a run-time number decides something: it has to be a constant.  `arguments` are the numbers of the graph's arguments meant."""

    arguments: tuple[int, ...] = ()


class UnsupportedTensor(LectError):
    """A tensor or an operation on one that propagation cannot stand in for: sparse layouts, `resize_`, `set_`, absent devices."""


def internal(error: Exception) -> Exception | None:
    """The cause of a refusal, when it is one of lect: what torch itself refuses, as it does for a backward that does not exist, is no cause to report."""
    return None if type(error) in (RuntimeError, NotImplementedError) else error
