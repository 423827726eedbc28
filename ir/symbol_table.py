"""Symbols: looking operations up by their `sym_name`, and making names that are free."""

from __future__ import annotations

from .attributes import SymbolRef
from .operation import Operation


class SymbolTable:
    """The symbols directly inside one operation.  Kept up to date by its own `insert` and `remove` only."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.symbols: dict[str, Operation] = {}
        for block in op.region.blocks:
            for inner in block:
                if inner.symbol is not None:
                    self.symbols.setdefault(inner.symbol, inner)

    def lookup(self, name: str | SymbolRef) -> Operation | None:
        """The operation called `name`, also through nested tables (`@a::@b`); None when there is none."""
        path = name.path if isinstance(name, SymbolRef) else (name,)
        found = self.symbols.get(path[0])
        for part in path[1:]:
            if found is None or not found.regions:
                return None
            found = SymbolTable(found).symbols.get(part)
        return found

    def unique(self, wish: str) -> str:
        """`wish`, or `wish_1`, `wish_2`, ... whichever is free."""
        name, number = wish, 0
        while name in self.symbols:
            number += 1
            name = f"{wish}_{number}"
        return name

    def insert(self, op: Operation, before: Operation | None = None) -> str:
        """Add `op` to the table's block under a free name, and return the name."""
        name = self.unique(op.attrs["sym_name"])
        op.attrs["sym_name"] = name
        self.op.body.insert_before(before, op)
        self.symbols[name] = op
        return name

    def remove(self, op: Operation) -> None:
        """Erase `op` from block and table."""
        self.symbols.pop(op.attrs["sym_name"], None)
        op.erase()


def nearest_symbol_table(op: Operation) -> Operation | None:
    """The closest operation around `op` that is a symbol table."""
    from .traits import SymbolTable as SymbolTableTrait

    cursor = op.parent_op
    while cursor is not None and not cursor.has_trait(SymbolTableTrait):
        cursor = cursor.parent_op
    return cursor
