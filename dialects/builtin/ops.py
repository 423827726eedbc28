"""builtin: the module that holds one compile, and casts between dialects.

A module is a symbol table with one block and no arguments; nothing in it sees values from outside.  An unrealized cast has no meaning of its
own: it says that a value of one type stands for a value of another, and a conversion must remove it.
"""

from lect.ir import (
    Attr,
    IsolatedFromAbove,
    NoTerminator,
    Operand,
    Operation,
    Pure,
    RegionField,
    Result,
    SingleBlock,
    SymbolTableTrait,
    Value,
    op,
    require,
)


@op("builtin.module")
class ModuleOp(Operation):
    """A list of operations with symbol names: functions, graphs, guard sets.  Other attributes have a dialect's name in front, as in `lect.version`."""

    contents: RegionField
    sym_name: Attr[str] = None
    traits = (IsolatedFromAbove, SymbolTableTrait, NoTerminator, SingleBlock)

    def verify(self) -> None:
        """MLIR's rule, so that its parser takes our modules."""
        for name in self.attrs:
            require("." in name or name == "sym_name", self, "attributes of 'builtin.module' need a dialect's name in front, as in 'lect.{}'", name)


@op("builtin.unrealized_conversion_cast")
class UnrealizedCastOp(Operation):
    """The operand seen as a value of the result's type, until a conversion makes it true."""

    value: Operand
    result_value: Result
    traits = (Pure,)

    def fold(self) -> Value | None:
        """cast(cast(x : A) : B) : A  =>  x"""
        inner = self.value
        while isinstance(inner.owner, UnrealizedCastOp):
            inner = inner.owner.value
            if inner.type is self.result.type:
                return inner
        return inner if inner.type is self.result.type else None
