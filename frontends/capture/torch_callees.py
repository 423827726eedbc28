"""What torch's own Python functions call: a graph that holds one of them as a whole stands for all of that, down to C code.

A program may put something else in the place of a callee (`torch.nn.functional._pad`, `torch.layer_norm`).  Then the function is followed like any other
one in Python, and a graph that holds it whole is guarded: what is found below it is what was there when lect was loaded.  Callees are read from the
bytecode: chains of attributes that begin at a global variable and lead through modules, and the methods of tensors that are called by name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from opcode import opmap
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import torch

from lect.frontends.capture.policy import LEAF_MODULES
from lect.frontends.capture.targets import name_of
from lect.frontends.capture.tensor_methods import OWN as OF_TENSORS
from lect.frontends.capture.tracer import Tracer

ABSENT = object()
_LOAD_GLOBAL, _LOAD_ATTR, _EXTENDED = opmap["LOAD_GLOBAL"], opmap["LOAD_ATTR"], opmap["EXTENDED_ARG"]
_LOAD_METHOD = opmap.get("LOAD_METHOD", -1)
_BETWEEN = frozenset({opmap["CACHE"], opmap["PUSH_NULL"]})
_SHORTER = 1 if sys.version_info >= (3, 12) else 0  # the lowest bit of the argument says whether it is a method
_NAMESPACES = ("torch", "torch._C", "torch._C._nn", "torch._C._linalg", "torch._C._special", "torch._C._fft", "torch.overrides", *LEAF_MODULES)
_MODULES = (ModuleType, type(torch._VF))


def _loaded() -> Mapping[str, Mapping[str, Any]]:
    """What the modules of torch hold."""
    return MappingProxyType({name: MappingProxyType(dict(vars(sys.modules[name]))) for name in _NAMESPACES if name in sys.modules})


OWN: Mapping[str, Mapping[str, Any]] = _loaded()


class Callees(NamedTuple):
    """What is below a function: entries as pairs of a module's name and a name in it, and the names of tensor methods."""

    entries: frozenset[tuple[str, str]]
    methods: frozenset[str]

    def are_own(self) -> bool:
        """True when everything is what it was when lect was loaded."""
        of_tensors = all(getattr(torch.Tensor, name, None) is OF_TENSORS[name] for name in self.methods)
        return of_tensors and all(vars(sys.modules[module]).get(name, ABSENT) is value for module, name, value in self.values())

    def values(self) -> Iterator[tuple[str, str, Any]]:
        """The entries with what they held, `ABSENT` for nothing."""
        for module, name in sorted(self.entries):
            yield module, name, OWN[module].get(name, ABSENT)


def _chains(code: CodeType) -> Iterator[list[str]]:
    """The chains of attributes in a code object and those inside of it; a chain that begins at no global variable has an empty text in front."""
    chain: list[str] = []
    high = 0
    units = code.co_code
    for place in range(0, len(units), 2):
        op, argument = units[place], units[place + 1] | high
        high = argument << 8 if op == _EXTENDED else 0
        if op == _LOAD_GLOBAL:
            if len(chain) > 1 or (chain and chain[0]):
                yield chain
            chain = [code.co_names[argument >> 1]]
        elif op == _LOAD_ATTR or op == _LOAD_METHOD:
            chain = chain or [""]
            chain.append(code.co_names[argument >> _SHORTER])
        elif op not in _BETWEEN and op != _EXTENDED and chain:
            yield chain
            chain = []
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _chains(constant)


class _Search:
    """The callees of a function, found by looking through it and the Python functions of torch below it."""

    def __init__(self) -> None:
        self.entries: set[tuple[str, str]] = set()
        self.methods: set[str] = set()
        self.seen: set[FunctionType] = set()

    def look(self, function: Any) -> None:
        if type(function) is not FunctionType or function in self.seen or not _is_looked_through(function):
            return
        self.seen.add(function)
        for cell in function.__closure__ or ():
            self.look(cell.cell_contents)
        of_function = OWN.get(function.__globals__["__name__"])
        for chain in _chains(function.__code__):
            if not chain[0]:
                self.methods.update(name for name in chain if callable(OF_TENSORS.get(name)))
            elif of_function is not None:
                self._follow(function.__globals__["__name__"], chain)

    def _follow(self, module: str, chain: list[str]) -> None:
        """Take down where a chain that begins in a module leads."""
        for number, name in enumerate(chain):
            value = OWN[module].get(name, ABSENT)
            if value is ABSENT and module != "torch._VF":  # a builtin, or a module that torch imports when it needs it
                return
            self.entries.add((module, name))
            if type(value) not in _MODULES or value.__name__ not in OWN:
                if value is torch.Tensor:
                    self.methods.update(rest for rest in chain[number + 1 :] if callable(OF_TENSORS.get(rest)))
                self.look(value)
                return
            module = value.__name__


def _is_looked_through(function: FunctionType) -> bool:
    """True for a Python function of torch, but for those that hand calls to overrides, which there are none of in a trace."""
    module = function.__globals__.get("__name__") or ""
    return module.partition(".")[0] == "torch" and module != "torch.overrides"


@cache
def callees_of(function: FunctionType) -> Callees:
    """What is below a Python function of torch."""
    search = _Search()
    search.look(function)
    return Callees(frozenset(search.entries), frozenset(search.methods))


def stands_whole(t: Tracer, function: FunctionType) -> bool:
    """True for a Python function of torch that a graph may hold as one call: what is below it is torch's own, and that it stays so is guarded."""
    name = name_of(function)
    if name is None:
        return False
    if name not in t.guards.whole:
        callees = callees_of(function)
        if not callees.are_own():
            return False
        if callees.entries or callees.methods:
            t.guards.whole[name] = t.loc
    return True
