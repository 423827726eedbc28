"""The IR core: data structure, types, attributes, locations, text in and out, verification and rewriting.

`ir` knows no dialect, no pass and no tensor library.  This package root is the import path for everything in it.
"""

from __future__ import annotations

from .attributes import Attribute, SymbolRef, attr, same_attribute
from .block import Block, Region
from .builder import Builder
from .context import Context
from .define import (
    SEGMENTS,
    Attr,
    Operand,
    OptionalOperand,
    OptionalSuccessor,
    RegionField,
    Result,
    Successor,
    Variadic,
    VariadicRegion,
    VariadicResult,
    op,
)
from .diagnostics import LectError, ParseError, PassFailure, SymbolicSizeError, VerifyError, require
from .dialect import Dialect
from .dominance import Dominance, reverse_postorder
from .interning import interned, literal_key
from .location import UNKNOWN, Location
from .operation import Operation, UnregisteredOp
from .printer import attribute_text, print_module, print_op
from .rewriter import Pattern, PatternSet, Rewriter, apply_greedily
from .scanner import Scanner, quote
from .symbol_table import SymbolTable, nearest_symbol_table
from .template import BlockTemplate, PendingBlock
from .traits import (
    Allocates,
    Commutative,
    Frees,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    NoTerminator,
    Pure,
    Reads,
    RecursiveEffects,
    SameOperandsAndResultType,
    SingleBlock,
    Terminator,
    Trait,
    Writes,
    effects_of,
    is_pure,
    is_pure_class,
    is_removable,
)
from .traits import SymbolTable as SymbolTableTrait
from .types import SCALARS, ScalarType, Type, type_
from .value import Value
from .verifier import verify

__all__ = [
    "SCALARS", "SEGMENTS", "UNKNOWN", "Allocates", "Attr", "Attribute", "Block", "BlockTemplate",
    "PendingBlock", "Builder", "Commutative", "Context", "Dialect", "Dominance",
    "Frees", "FuncLike", "HasParent", "IsolatedFromAbove", "LectError", "Location", "NoTerminator", "Operand", "Operation", "OptionalOperand",
    "OptionalSuccessor", "ParseError", "PassFailure", "Pattern", "PatternSet", "Pure", "Reads", "RecursiveEffects", "Region", "RegionField", "Result",
    "Rewriter", "SameOperandsAndResultType", "ScalarType", "Scanner", "SingleBlock", "Successor", "SymbolRef", "SymbolTable", "SymbolTableTrait",
    "SymbolicSizeError", "Terminator", "Trait", "Type", "UnregisteredOp", "Value", "Variadic", "VariadicRegion", "VariadicResult", "VerifyError", "Writes",
    "apply_greedily", "attr", "attribute_text", "effects_of", "interned", "is_pure", "is_pure_class", "is_removable", "literal_key", "nearest_symbol_table",
    "op",     "parse_attribute", "parse_module", "parse_ops", "print_module", "print_op", "quote", "require", "reverse_postorder", "same_attribute", "type_",
    "verify",
]  # fmt: skip


def __getattr__(name: str):  # type: ignore[no-untyped-def]
    """The parser is loaded on first use: a compile in memory never needs it."""
    if name in ("parse_module", "parse_ops", "parse_attribute"):
        from . import parser

        return getattr(parser, name)
    raise AttributeError(f"module 'lect.ir' has no attribute '{name}'")
