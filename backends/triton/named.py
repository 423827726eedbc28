"""Kernels of a graph by the names of their machine code in a store, with what a launch has to know: a graph that was compiled before needs no more.

Their text is read when memory lies otherwise than that machine code was compiled for, which is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lect.backends.code_store import NamedCode
from lect.backends.triton.compile import CompiledKernels, KeptKernel, Kernel
from lect.ir import UNKNOWN, Location


class KernelFacts(NamedTuple):
    """What is known of a kernel: the name of its code for aligned memory, how many addresses it takes, how many programs it is, how many addresses come in a
    table (0: there is none), and its place in the program."""

    code: str
    pointers: int
    programs: int
    addresses: int
    file: str
    line: int


class NamedKernel:
    """A kernel of which only facts and machine code are there; `others` gives the kernel itself, of its text."""

    def __init__(self, symbol: str, facts: KernelFacts, code: KeptKernel, others: Callable[[], Mapping[str, Any]]) -> None:
        self.symbol = symbol
        self.facts = facts
        self.code = code
        self.others = others
        self.pointers, self.programs, self.addresses = facts.pointers, facts.programs, facts.addresses
        self.loc = Location(facts.file, facts.line) if facts.file else UNKNOWN

    @property
    def grouped(self) -> bool:
        """Whether it stands for several launches, whose addresses come in a table."""
        return self.addresses > 0

    @property
    def title(self) -> str:
        """The name and the place of the kernel, for people."""
        return f"{self.symbol} of {self.loc}" if self.loc.known else self.symbol

    def version(self, aligned: tuple[bool, ...] | None = None) -> Any:
        """The compiled kernel for pointers aligned as given, all if left out.  Raises what `Kernel.version` does."""
        if aligned is None or all(aligned):
            return self.code
        return self.others()[self.symbol].version(aligned)


def facts_of_kernels(compiled: CompiledKernels, store: NamedCode) -> dict[str, KernelFacts] | None:
    """The facts about all kernels of a graph, whose code is in the store then; None where it cannot be, and where a kernel has sizes as parameters."""
    found: dict[str, KernelFacts] = {}
    for symbol, kernel in compiled.kernels.items():
        name = kernel.kept_in(store) if isinstance(kernel, Kernel) else None
        if name is None or type(kernel.programs) is not int:  # type: ignore[union-attr]
            return None
        place = (kernel.loc.file, kernel.loc.line) if kernel.loc.known else ("", 0)
        found[symbol] = KernelFacts(name, kernel.pointers, kernel.programs, kernel.addresses, *place)  # type: ignore[union-attr]
    return found


def named_kernels(facts: Mapping[str, KernelFacts], store: NamedCode, others: Callable[[], Mapping[str, Any]]) -> CompiledKernels | None:
    """The kernels with these facts; None when the code of one is not in the store any more."""
    known: dict[KernelFacts, NamedKernel] = {}
    found: dict[str, Any] = {}
    for symbol, each in facts.items():
        if each not in known:
            kept = store.named(each.code)
            code = KeptKernel.unpack(kept) if kept is not None else None
            if code is None:
                return None
            known[each] = NamedKernel(symbol, each, code, others)
        found[symbol] = known[each]
    return CompiledKernels(found)
