"""Traits: properties of operations that passes ask for instead of naming operations.

A trait is a class (`Pure`) or, with parameters, an instance (`Reads("buffer")`).  `verify` of a trait is run by the verifier on each operation
that declares it.  Memory effects: an operation without any effect trait and without `Pure` may do anything.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .diagnostics import require

if TYPE_CHECKING:
    from .operation import Operation
    from .value import Value


class Trait:
    """Base of traits."""

    @staticmethod
    def verify(op: Operation) -> None:
        """Raise `VerifyError` when `op` lacks what the trait promises."""

    @classmethod
    def checks(cls) -> bool:
        """True when the trait has something to verify."""
        return cls.verify is not Trait.verify


class Pure(Trait):
    """No memory effect, no exception, result depends on operands and attributes alone: may be moved, merged and dropped."""


class Terminator(Trait):
    """Ends a block."""

    @staticmethod
    def verify(op: Operation) -> None:
        require(op.next is None, op, "'{}' must be the last operation of its block", op.name)


class IsolatedFromAbove(Trait):
    """Regions use no value defined outside of the operation."""


class NoTerminator(Trait):
    """Blocks of the regions need no terminator."""


class SingleBlock(Trait):
    """Each region has exactly one block."""

    @staticmethod
    def verify(op: Operation) -> None:
        for region in op.regions:
            require(len(region.blocks) == 1, op, "'{}' needs exactly one block in each region, got {}", op.name, len(region.blocks))


class FuncLike(Trait):
    """A symbol whose entry block arguments are its parameters; printed in the header, `name @symbol(%x: type) { ... }`."""

    @staticmethod
    def verify(op: Operation) -> None:
        require(isinstance(op.attrs.get("sym_name"), str), op, "'{}' needs a symbol name", op.name)
        require(len(op.regions) == 1, op, "'{}' needs one region", op.name)


class SymbolTable(Trait):
    """The operations in the first region have unique symbol names and are looked up there."""

    @staticmethod
    def verify(op: Operation) -> None:
        seen: set[str] = set()
        for region in op.regions:
            for block in region.blocks:
                for inner in block:
                    name = inner.attrs.get("sym_name")
                    if isinstance(name, str):
                        require(name not in seen, inner, "symbol @{} is defined twice", name)
                        seen.add(name)


class Commutative(Trait):
    """The first two operands may be swapped."""

    @staticmethod
    def verify(op: Operation) -> None:
        require(len(op.operands) >= 2, op, "'{}' is commutative and needs two operands", op.name)


class SameOperandsAndResultType(Trait):
    """All operands and results have one type."""

    @staticmethod
    def verify(op: Operation) -> None:
        types = {value.type for value in op.operands} | {value.type for value in op.results}
        require(len(types) <= 1, op, "'{}' needs operands and results of one type, got {}", op.name, ", ".join(sorted(map(str, types))))


class RecursiveEffects(Trait):
    """Has the effects of the operations inside its regions, and no other."""


class HasParent(Trait):
    """Stands directly inside one of the named operations."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def verify(self, op: Operation) -> None:  # type: ignore[override]
        parent = op.parent_op
        require(
            parent is not None and parent.name in self.names,
            op,
            "'{}' must stand inside {}, found it in {}",
            op.name,
            " or ".join(f"'{name}'" for name in self.names),
            f"'{parent.name}'" if parent is not None else "no operation",
        )


class Effect(Trait):
    """A memory effect on the operands and results of the named fields; without names, on memory that is not named by any value."""

    kind = ""

    def __init__(self, *fields: str) -> None:
        self.fields = fields


class Reads(Effect):
    """Reads memory."""

    kind = "read"


class Writes(Effect):
    """Writes memory."""

    kind = "write"


class Allocates(Effect):
    """Makes new memory that nothing else refers to."""

    kind = "allocate"


class Frees(Effect):
    """Ends the life of memory."""

    kind = "free"


@cache
def is_pure_class(cls: Any) -> bool:
    """True when no operation of a class has an effect, whatever its operands and regions."""
    return Pure in cls.traits and not any(isinstance(trait, Effect) or trait is RecursiveEffects for trait in cls.traits)


@cache
def _is_removable_class(cls: Any) -> bool | None:
    """What `is_removable` says of all operations of a class that are no symbols; None when each has to be asked."""
    if Terminator in cls.traits:
        return False
    if is_pure_class(cls):
        return True
    if any(isinstance(trait, Effect) or trait is RecursiveEffects for trait in cls.traits):
        return None
    return False  # may do anything


def effects_of(op: Operation) -> list[tuple[str, Value | None]] | None:
    """The memory effects of `op` as (kind, value or None for unnamed memory); empty when pure, None when unknown."""
    cls: Any = type(op)
    if is_pure_class(cls):
        return []
    effects: list[tuple[str, Value | None]] = []
    known = False
    for trait in op.traits:
        if trait is Pure:
            known = True
        elif isinstance(trait, Effect):
            known = True
            if not trait.fields:
                effects.append((trait.kind, None))
            for field in trait.fields:
                found = getattr(op, field)
                values = found if isinstance(found, (list, tuple)) else () if found is None else (found,)
                effects += [(trait.kind, value) for value in values]
        elif trait is RecursiveEffects:
            known = True
            for region in op.regions:
                for block in region.blocks:
                    for inner in block:
                        nested = effects_of(inner)
                        if nested is None:
                            return None
                        effects += nested
    return effects if known else None


def is_pure(op: Operation) -> bool:
    """True when `op` surely has no effect."""
    if Pure in op.traits:
        return True
    effects = effects_of(op)
    return effects is not None and not effects


def is_removable(op: Operation) -> bool:
    """True when `op` may be erased once its results are unused: it writes and frees nothing, and is no terminator or symbol."""
    cls: Any = type(op)
    known = _is_removable_class(cls)
    if known is not None:
        return known and "sym_name" not in op.attrs
    if "sym_name" in op.attrs:
        return False
    effects = effects_of(op)
    return effects is not None and all(kind in ("read", "allocate") for kind, _ in effects)
