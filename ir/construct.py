"""Making operations from their definition: what the compiled constructors of `define` do, read field by field.

One operation takes a few times as long as with a compiled constructor, but compiling one takes as long as a hundred operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .interning import literal_key
from .location import UNKNOWN
from .value import Value

if TYPE_CHECKING:
    from .define import OpDefinition
    from .operation import Operation

_MISSING: Any = object()
Construct = Callable[["Operation", tuple[Any, ...], dict[str, Any]], bool]


def interpreted(definition: OpDefinition, segments: str) -> Construct:
    """A function that fills in a new operation from the arguments of its constructor; False when they do not fit, with nothing changed outside of it."""
    required = [f.name for f in definition.attrs.values() if not f.has_default]
    defaulted = [(f.name, f.default, literal_key(f.default)) for f in definition.attrs.values() if f.has_default]
    order = (*(f.name for f in definition.operands), *required, *(name for name, _, _ in defaulted))
    plain = all(f.kind.__name__ == "Operand" for f in definition.operands) and not definition.successors
    count = len(definition.operands)
    has_results = bool(definition.results) or definition.infer is not None

    def construct(self: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        given = dict(zip(order, args))
        if len(args) > len(order) or (kwargs and not given.keys().isdisjoint(kwargs)):
            return False
        given.update(kwargs)
        loc, hint = given.pop("loc", UNKNOWN), given.pop("hint", None)
        regions, result_types = given.pop("regions", ()), given.pop("result_types", None)
        attrs: dict[str, Any] = {}
        for name in required:
            attrs[name] = given.pop(name, _MISSING)
        for name, default, key in defaulted:
            value = given.pop(name, default)
            if value is not default and literal_key(value) != key:
                attrs[name] = value
        blocks: list[Any] = []
        if plain:
            operands = [given.pop(name, _MISSING) for name in order[:count]]
        else:
            operands, sizes = _groups(definition, given, blocks)
            if definition.needs_segments:
                attrs[segments] = tuple(sizes)
        if given or _MISSING in operands or _MISSING in blocks or _MISSING in attrs.values() or (regions and not definition.regions):
            return False
        self._setup(operands, attrs, regions, blocks, loc)
        types = () if not has_results else self.infer() if result_types is None else result_types  # type: ignore[attr-defined]
        self.results = tuple([Value(each, self, number) for number, each in enumerate(types)])
        if len(self.results) == 1:
            self.results[0].hint = hint
        self._note_uses()
        return True

    return construct


def _groups(definition: OpDefinition, given: dict[str, Any], blocks: list[Any]) -> tuple[list[Any], list[int]]:
    """The operands, and how many there are in each group; the successors go to `blocks`."""
    operands: list[Any] = []
    sizes: list[int] = []
    for field in definition.operands:
        kind = field.kind.__name__
        value = given.pop(field.name, _MISSING if kind == "Operand" else () if kind == "Variadic" else None)
        before = len(operands)
        if kind == "Variadic":
            operands.extend(value)
        elif kind == "Operand" or value is not None:
            operands.append(value)
        sizes.append(len(operands) - before)
    for field in definition.successors:
        optional = field.kind.__name__ == "OptionalSuccessor"
        block = given.pop(field.name, None if optional else _MISSING)
        if block is not None:
            blocks.append(block)
        before = len(operands)
        operands.extend(given.pop(f"{field.name}_operands", ()))
        sizes.append(len(operands) - before)
    return operands, sizes
