"""Who sees the text of kernels on its way to machine code, and may put another in its place: what writes and takes files, as far as a backend sees it."""

from __future__ import annotations

from typing import Protocol

from lect.ir import LectError


class GivenText(Protocol):
    """A text that takes the place of the backend's own; `place` is a line of it for an error, counted from 1."""

    text: str

    def refused(self, message: str, line: int = 1, hint: str | None = None) -> LectError:
        """The error for a text that cannot be used."""


class KernelTexts(Protocol):
    """Asked for each kernel of a graph.  Kernels are compiled by several threads."""

    def source(self, name: str, text: str) -> GivenText | None:
        """Told of the Triton source of a kernel; gives the one to compile instead, if there is one."""

    def ptx(self, name: str, text: str, source: str) -> GivenText | None:
        """Told of the PTX that was made of a source in use; gives the one to assemble instead, if there is one."""
