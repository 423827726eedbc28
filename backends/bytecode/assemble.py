"""Entry points of the assembler: `pyframe.func` to a code object, for the CPython that runs.

    code = assemble(func, ctx, {"f.graph": compiled})      # resources by name, symbols without the @
    function = types.FunctionType(code, globals, ...)

A code object has the docstring, flags, line table (columns included) and exception table that the function's text says.  Code constants are
symbols: a code object among the resources, else the function of that name in the same module, which is assembled in turn.

Decoded code comes back the same but for this: dead code, NOPs and jumps to jumps are gone (so a tracer sees no event for a line that does nothing),
names and constants are numbered in the order of their use, a NULL that a call wants is pushed in the block of the call, and a handler covers only
from the first to the last instruction that can raise.  Most code objects of the standard library of
3.11 and 3.12 come back with identical bytes, about a quarter of those of 3.13.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any

from lect.backends.bytecode.encode import VERSION
from lect.backends.bytecode.frame import FrameAssembler
from lect.dialects.pyframe.control import FuncOp
from lect.ir import Context, LectError, Operation, SymbolRef, SymbolTable, nearest_symbol_table

SUPPORTED = ((3, 11), (3, 12), (3, 13))


def assemble(func: Operation, ctx: Context | None = None, resources: Mapping[str, Any] | None = None) -> CodeType:
    """The code object of a verified `pyframe.func`.

    `resources` maps names of live objects (compiled graphs, code objects, what `load_resource` asks for) to them; those of `ctx` are looked at
    next.  Raises LectError when a name is missing or an operation cannot be expressed in this CPython.
    """
    return Assembler(func, ctx, resources).code(func)


def assemble_module(module: Operation, ctx: Context | None = None, resources: Mapping[str, Any] | None = None) -> dict[str, CodeType]:
    """The code objects of all functions in a module, by symbol; what is a code object among the resources is taken over as it is."""
    assembler = Assembler(module, ctx, resources, module)
    return {op.symbol: assembler.code_of(SymbolRef(op.symbol)) for op in module.body if isinstance(op, FuncOp) and op.symbol is not None}


class Assembler:
    """Code objects of one module, each made once."""

    def __init__(self, origin: Operation, ctx: Context | None, resources: Mapping[str, Any] | None, module: Operation | None = None) -> None:
        if VERSION not in SUPPORTED:
            raise LectError(f"bytecode of Python {sys.version.split()[0]} is not known; lect writes 3.11, 3.12 and 3.13")
        self.resources: dict[str, Any] = {**(ctx.resources if ctx is not None else {}), **(resources or {})}
        table = module if module is not None else nearest_symbol_table(origin)
        self.symbols = SymbolTable(table) if table is not None else None
        self.made: dict[Operation, CodeType] = {}

    def code(self, func: Operation) -> CodeType:
        """The code object of a function.  Raises LectError."""
        found = self.made.get(func)
        if found is None:
            if not isinstance(func, FuncOp):
                raise LectError(f"'{func.name}' is no function of pyframe", op=func)
            found = self.made[func] = FrameAssembler(func, self.code_of, self.resources).run()
        return found

    def code_of(self, symbol: SymbolRef) -> CodeType:
        """The code object that a symbol names.  Raises LectError."""
        given = self.resources.get(symbol.leaf)
        if isinstance(given, CodeType):
            return given
        func = self.symbols.lookup(symbol) if self.symbols is not None else None
        if func is None:
            raise LectError(f"there is no function or code object {symbol}")
        return self.code(func)
