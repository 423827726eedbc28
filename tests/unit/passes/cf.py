"""A dialect for tests of passes: branches with arguments, memory effects, and pure arithmetic."""

from __future__ import annotations

import sys

from lect.ir import (
    Allocates,
    Attr,
    Commutative,
    Context,
    Dialect,
    FuncLike,
    IsolatedFromAbove,
    Operand,
    Operation,
    Pure,
    Reads,
    RecursiveEffects,
    RegionField,
    Result,
    Successor,
    Terminator,
    Type,
    Value,
    Variadic,
    Writes,
    op,
    parse_module,
    print_module,
    verify,
)
from lect.ir.types import f32


@op("cf.func")
class FuncOp(Operation):
    """A function."""

    contents: RegionField
    sym_name: Attr[str]
    traits = (FuncLike, IsolatedFromAbove)


@op("cf.add")
class AddOp(Operation):
    """lhs + rhs; adding a zero folds."""

    lhs: Operand
    rhs: Operand
    scale: Attr[(int, float, bool)] = 1
    total: Result
    traits = (Pure, Commutative)

    def infer(self) -> tuple[Type, ...]:
        return (f32,)

    def fold(self) -> Value | None:
        """add(x, zero()) => x"""
        return self.lhs if isinstance(self.rhs.owner, ZeroOp) else None


@op("cf.sub")
class SubOp(Operation):
    """lhs - rhs."""

    lhs: Operand
    rhs: Operand
    difference: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (f32,)


@op("cf.zero")
class ZeroOp(Operation):
    """0."""

    value: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (f32,)


@op("cf.alloc")
class AllocOp(Operation):
    """New memory."""

    memory: Result
    traits = (Allocates(),)

    def infer(self) -> tuple[Type, ...]:
        return (f32,)


@op("cf.load")
class LoadOp(Operation):
    """Read memory."""

    memory: Operand
    value: Result
    traits = (Reads("memory"),)

    def infer(self) -> tuple[Type, ...]:
        return (f32,)


@op("cf.store")
class StoreOp(Operation):
    """Write memory."""

    memory: Operand
    value: Operand
    traits = (Writes("memory"),)


@op("cf.loop")
class LoopOp(Operation):
    """Runs its region, whose effects it has."""

    contents: RegionField
    traits = (RecursiveEffects,)


@op("cf.branch")
class BranchOp(Operation):
    """Go to a block."""

    target: Successor
    traits = (Terminator, Pure)


@op("cf.choose")
class ChooseOp(Operation):
    """Go to one of two blocks."""

    condition: Operand
    then: Successor
    otherwise: Successor
    traits = (Terminator, Pure)


@op("cf.return")
class ReturnOp(Operation):
    """Leave the function."""

    values: Variadic
    traits = (Terminator, Pure)


def make_context() -> Context:
    """A context with this dialect and builtin."""
    return Context({"builtin": "lect.dialects.builtin", "cf": Dialect.collect("cf", sys.modules[__name__])})


def run(pass_, text: str, ctx: Context | None = None) -> str:
    """The text of a module after a pass, verified before and after."""
    ctx = ctx or make_context()
    module = parse_module(text, ctx)
    verify(module)
    pass_.run(module, ctx)
    verify(module)
    return print_module(module)
