"""Programs for given values of their size symbols: the same operations with integers in the place of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .attributes import Attribute
from .operation import Operation
from .symbolic import UNBOUNDED, Expr, as_size, constant, symbol


def at_values(value: Any, values: Mapping[int, int]) -> Any:
    """An attribute or a type where symbol `s<n>` is `values[n]`; an expression without other leaves becomes an integer."""
    kind = type(value)
    if kind is Expr:
        return as_size(UNBOUNDED.substitute(value, {symbol(number).terms[0][0][0]: constant(size) for number, size in values.items()}))
    if kind is tuple:
        return tuple([at_values(item, values) for item in value])
    if isinstance(value, tuple):  # a named one, as a part of an attribute
        return kind(*[at_values(item, values) for item in value])
    if kind is dict:
        return {name: at_values(item, values) for name, item in value.items()}
    names = getattr(kind, "fields", ()) if isinstance(value, Attribute) else ()
    old = [getattr(value, name) for name in names]
    new = [at_values(item, values) for item in old]
    return value if all(a is b for a, b in zip(old, new)) else kind(*new)


def specialized(op: Operation, values: Mapping[int, int]) -> Operation:
    """A copy of an operation and all inside of it, inserted nowhere and without the attribute `symbols`."""
    made = op.clone({})
    for inner in made.walk():
        inner.attrs = {name: at_values(value, values) for name, value in inner.attrs.items() if name != "symbols"}
        for result in inner.results:
            result.type = at_values(result.type, values)
        for region in inner.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.type = at_values(argument.type, values)
    return made
