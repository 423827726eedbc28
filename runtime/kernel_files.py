"""The texts of a graph's kernels for a GPU: Triton source and PTX are written to files, and edited files are taken in their place.

A source belongs to a kernel that lect prints alike, and PTX to a source: what was made of another one is refused.  PTX is written for each version of a
kernel, `n2.ptx` for memory that begins at multiples of 16 bytes and `n2.101.ptx` where the second pointer does not, when it is first needed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from lect.ir import LectError, Location
from lect.runtime.dumping import Dump
from lect.runtime.graph_texts import KERNELS, PTX, SOURCE, Known, TextError, kernel_header, kernel_of, source_digest
from lect.runtime.overrides import Overrides, read_text


@dataclass(frozen=True)
class KernelFile:
    """An edited text."""

    path: Path
    text: str

    def refused(self, message: str, line: int = 1, hint: str | None = None) -> LectError:
        """The error for a text that cannot be used, at a line of the file."""
        return TextError(message, Location(str(self.path), line, 0), hint=hint)


@dataclass
class KernelFiles:
    """What a backend asks for the texts of the kernels of one graph; `captured` names that."""

    captured: str
    dump: Dump | None
    overrides: Overrides | None
    lock: Lock = field(default_factory=Lock)

    def source(self, name: str, text: str) -> KernelFile | None:
        """Write the Triton source of a kernel; the edited one, if there is one."""
        if self.overrides is not None:
            self.overrides.kernels.add(kernel_of(f"{name}{SOURCE}"))
        return self._text(f"{name}{SOURCE}", SOURCE, f"Triton source of @{name}", text, source_digest(text))

    def ptx(self, name: str, text: str, source: str) -> KernelFile | None:
        """Write the PTX that was made of a source; the edited one, if there is one."""
        return self._text(f"{name}{PTX}", PTX, f"PTX of @{name}", text, source_digest(source))

    def _text(self, name: str, suffix: str, where: str, text: str, made: str) -> KernelFile | None:
        with self.lock:  # kernels are compiled side by side
            if self.dump is not None:
                head = kernel_header(suffix, self.dump.graph, where, self.captured, made, text)
                self.dump.write(os.path.join(KERNELS, name), head + text)
            return self._edited(name, made)

    def _edited(self, name: str, made: str) -> KernelFile | None:
        path = self.overrides.left.pop(os.path.join(KERNELS, name), None) if self.overrides is not None else None
        if path is None:
            return None
        assert self.overrides is not None
        text = read_text(path)
        known = Known.of(text)
        self.overrides.require_graph(known.captured, self.captured, path)
        found = KernelFile(path, text)
        if known.made and known.made != made:
            of = "the Triton source of its kernel" if name.endswith(PTX) else "the kernel"
            raise found.refused(f"{of} is another now than when this text was written", hint="write the texts anew with LECT_DUMP and edit those")
        self.overrides.used = True
        self.overrides.tell(path)
        return found
