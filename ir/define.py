"""`@op`: turn a class of annotated fields into an operation class.

    @op("loop.load")
    class LoadOp(Operation):
        '''Read one element.'''
        buffer: Operand[BufferType]
        indices: Variadic[Index]
        map: Attr[IndexMap]
        mask: OptionalOperand
        value: Result
        traits = (Reads("buffer"),)

        def infer(self) -> tuple[Type, ...]:
            return (self.buffer.type.element,)

Fields become accessors and constructor parameters in their order (results excepted); `infer` gives the result types when the constructor is not
told them (`result_types=`), and the verifier compares it with what is there.  An attribute with a default is left out of `attrs` while it has
that value.  Optional and variadic operands: with more than one such group the sizes stand in the attribute `operand_segments`, which the pretty
form hides (it separates the groups by `;`).  Successor operands form one variadic group for each successor, behind all other operands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from .construct import interpreted
from .interning import literal_key
from .operation import Operation

if TYPE_CHECKING:
    from .block import Block, Region
    from .value import Value

T = TypeVar("T")
SEGMENTS = "operand_segments"


class Field:
    """Base of the field markers; `Operand[X]` keeps `X` as the constraint."""

    def __class_getitem__(cls, constraint: Any) -> Any:
        return _Marked(cls, constraint)


class _Marked:
    __slots__ = ("constraint", "kind")

    def __init__(self, kind: type, constraint: Any) -> None:
        self.kind = kind
        self.constraint = constraint


if TYPE_CHECKING:  # what a field's accessor gives; the constraint is for the verifier alone
    Operand = Annotated[Value, T]
    OptionalOperand = Annotated[Value | None, T]
    Variadic = Annotated[list[Value], T]
    Attr = Annotated[Any, T]
    Result = Annotated[Value, T]
    VariadicResult = Annotated[tuple[Value, ...], T]
    RegionField = Annotated[Region, T]
    VariadicRegion = Annotated[tuple[Region, ...], T]
    Successor = Annotated[Block, T]
    OptionalSuccessor = Annotated[Block | None, T]
else:

    class Operand(Field):
        """One operand; the accessor gives a `Value`."""

    class OptionalOperand(Field):
        """None or one operand."""

    class Variadic(Field):
        """Any number of operands; the accessor gives a list."""

    class Attr(Field):
        """An attribute, required unless the class gives a default."""

    class Result(Field):
        """One result."""

    class VariadicResult(Field):
        """Any number of results (last among the results)."""

    class RegionField(Field):
        """A region."""

    class VariadicRegion(Field):
        """Any number of regions (last among the regions)."""

    class Successor(Field):
        """A successor block, with its operands under `<name>_operands`."""

    class OptionalSuccessor(Field):
        """None or a successor block (last among the successors, at most one)."""


class FieldSpec:
    """One declared field: `name`, `kind` (the marker class), `constraint` (a type, a tuple of types, or None) and `default`."""

    __slots__ = ("constraint", "default", "has_default", "kind", "name")

    def __init__(self, name: str, kind: type, constraint: Any, default: Any, has_default: bool) -> None:
        self.name = name
        self.kind = kind
        self.constraint = constraint
        self.default = default
        self.has_default = has_default


class OpDefinition:
    """What `@op` found: the fields by kind, and whether operand groups need `operand_segments`."""

    __slots__ = (
        "attrs",
        "checked_traits",
        "groups",
        "has_verify",
        "infer",
        "name",
        "needs_segments",
        "operands",
        "regions",
        "results",
        "successors",
        "well_formed",
    )

    def __init__(self, name: str, fields: list[FieldSpec], infer: Callable[..., Any] | None) -> None:
        self.name = name
        self.operands = [f for f in fields if f.kind in (Operand, OptionalOperand, Variadic)]
        self.attrs = {f.name: f for f in fields if f.kind is Attr}
        self.results = [f for f in fields if f.kind in (Result, VariadicResult)]
        self.regions = [f for f in fields if f.kind in (RegionField, VariadicRegion)]
        self.successors = [f for f in fields if f.kind in (Successor, OptionalSuccessor)]
        self.groups = len(self.operands) + len(self.successors)
        flexible = sum(f.kind is not Operand for f in self.operands) + len(self.successors)
        self.needs_segments = flexible > 1
        self.infer = infer
        self.has_verify = False
        self.checked_traits: tuple[Any, ...] = ()
        self.well_formed: Callable[[Operation], bool] | None = None  # made by `structure` when first verified

    def segments(self, op: Operation) -> list[int]:
        """The number of operands in each group, the successors' groups last."""
        if self.needs_segments:
            return list(op.attrs.get(SEGMENTS, ()))
        fixed = self.groups - 1
        sizes = [1 if f.kind is Operand else len(op.operands) - fixed for f in self.operands]
        return sizes + [len(op.operands) - fixed for _ in self.successors]


def op(name: str) -> Callable[[type[T]], type[T]]:
    """Class decorator; see the module docstring."""

    def decorate(cls: type[T]) -> type[T]:
        return _build(cls, name)

    return decorate


def _build(cls: Any, name: str) -> Any:
    fields = []
    for field_name, marked in inspect.get_annotations(cls, eval_str=True).items():
        if not isinstance(marked, _Marked) and not (isinstance(marked, type) and issubclass(marked, Field)):
            continue
        kind, constraint = (marked.kind, marked.constraint) if isinstance(marked, _Marked) else (marked, None)
        has_default = field_name in cls.__dict__
        fields.append(FieldSpec(field_name, kind, constraint, cls.__dict__.get(field_name), has_default))
    infer = getattr(cls, "infer", None)
    definition = OpDefinition(name, fields, infer)
    body = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__", "__annotations__")}
    body.update(_accessors(definition))
    body["__slots__"] = ()
    body["name"] = name
    body["definition"] = definition
    bases = cls.__bases__ if issubclass(cls, Operation) else (Operation,)
    made = type(cls.__name__, bases, body)
    made.__qualname__ = cls.__qualname__
    _compile_when_used(made, definition)
    definition.has_verify = made.verify is not Operation.verify  # type: ignore[attr-defined]
    definition.checked_traits = tuple([trait for trait in made.traits if trait.checks()])  # type: ignore[attr-defined]
    return made


# ---- accessors -------------------------------------------------------------------------------------------------------


def _accessors(definition: OpDefinition) -> dict[str, Any]:
    out: dict[str, Any] = {}
    operands = definition.operands
    simple = not definition.needs_segments
    flexible_seen = False
    for position, field in enumerate(operands):
        if simple and not flexible_seen:
            if field.kind is Operand:
                out[field.name] = _operand_at(position)
            else:
                flexible_seen = True
                behind = definition.groups - 1 - position
                out[field.name] = (_operands_between if field.kind is Variadic else _optional_between)(position, behind)
        elif simple:
            out[field.name] = _operand_at(position - definition.groups)
        else:
            out[field.name] = _group(position, field.kind)
    for number, field in enumerate(definition.successors):
        out[field.name] = _successor_at(number) if field.kind is Successor else _optional_successor_at(number)
        position = len(operands) + number
        out[f"{field.name}_operands"] = _operands_between(position, 0) if simple else _group(position, Variadic)
    for number, field in enumerate(definition.results):
        out[field.name] = _result_at(number) if field.kind is Result else _results_from(number)
    for number, field in enumerate(definition.regions):
        out[field.name] = _region_at(number) if field.kind is RegionField else _regions_from(number)
    for field in definition.attrs.values():
        out[field.name] = _attribute(field.name, field.default) if field.has_default else _required_attribute(field.name)
    return out


def _operand_at(position: int) -> property:
    return property(lambda self: self.operands[position])


def _operands_between(start: int, behind: int) -> property:
    if behind:
        return property(lambda self: self.operands[start:-behind])
    return property(lambda self: self.operands[start:])


def _optional_between(start: int, behind: int) -> property:
    return property(lambda self: self.operands[start] if len(self.operands) - behind > start else None)


def _group(position: int, kind: type) -> property:
    def get(self: Operation) -> Any:
        sizes = self.attrs[SEGMENTS]
        start = sum(sizes[:position])
        found = self.operands[start : start + sizes[position]]
        if kind is Variadic:
            return found
        return found[0] if found else None

    return property(get)


def _successor_at(number: int) -> property:
    return property(lambda self: self.successors[number])


def _optional_successor_at(number: int) -> property:
    return property(lambda self: self.successors[number] if len(self.successors) > number else None)


def _result_at(number: int) -> property:
    return property(lambda self: self.results[number])


def _results_from(number: int) -> property:
    return property(lambda self: self.results[number:])


def _region_at(number: int) -> property:
    return property(lambda self: self.regions[number])


def _regions_from(number: int) -> property:
    return property(lambda self: self.regions[number:])


def _attribute(name: str, default: Any) -> property:
    def get(self: Operation) -> Any:
        return self.attrs.get(name, default)

    def put(self: Operation, value: Any) -> None:
        if literal_key(value) == literal_key(default):
            self.attrs.pop(name, None)
        else:
            self.attrs[name] = value

    return property(get, put)


def _required_attribute(name: str) -> property:
    def put(self: Operation, value: Any) -> None:
        self.attrs[name] = value

    return property(lambda self: self.attrs[name], put)


# ---- the constructor, written as straight-line code ------------------------------------------------------------------

_CONSTRUCTORS: dict[str, Any] = {}
_INTERPRETED = 64  # operations of a class that are made by reading its definition: as many as take the time of compiling a constructor for them


def _compile_when_used(made: Any, definition: OpDefinition) -> None:
    """Most of the declared operations are never or seldom made in a process, and compiling all their constructors would cost more than a small graph does."""
    left = _INTERPRETED
    construct: Callable[..., bool] | None = None

    def __init__(self: Operation, *args: Any, **kwargs: Any) -> None:
        nonlocal left, construct
        if construct is None:
            construct = interpreted(definition, SEGMENTS)
        left -= 1
        if left < 0 or not construct(self, args, kwargs):
            made.__init__ = _constructor(definition)
            made.__init__(self, *args, **kwargs)

    made.__init__ = __init__


def _constructor(definition: OpDefinition) -> Callable[..., None]:
    """`__init__(operands..., attributes..., *, successors and their operands, regions=, result_types=, loc=, hint=)`.

    Compiled once for each distinct signature: the eighty pointwise operations of a dialect share one.
    """
    source, defaults = _constructor_source(definition)
    make = _CONSTRUCTORS.get(source)
    if make is None:
        namespace: dict[str, Any] = {"Value": _value_class(), "UNKNOWN": _unknown(), "KEY": literal_key, "NEW": object.__new__}
        exec(compile(source, "<constructor>", "exec"), namespace)
        make = _CONSTRUCTORS[source] = namespace["make"]
    return make(defaults, [literal_key(d) for d in defaults])


def _constructor_source(definition: OpDefinition) -> tuple[str, list[Any]]:
    params, lines, sizes = [], [], []
    plain = [f.name for f in definition.operands if f.kind is Operand] == [f.name for f in definition.operands]
    for field in definition.operands:
        params.append(field.name if field.kind is Operand else f"{field.name}={'()' if field.kind is Variadic else 'None'}")
    defaults: list[Any] = []
    required = [f for f in definition.attrs.values() if not f.has_default]
    flexible = any(f.kind is not Operand for f in definition.operands)
    for field in required:
        params.append(f"{field.name}=MISSING" if flexible else field.name)
        lines.append(f"    attrs[{field.name!r}] = {field.name}")
    for field in definition.attrs.values():
        if field.has_default:
            number = len(defaults)
            defaults.append(field.default)
            params.append(f"{field.name}=D[{number}]")
            lines.append(f"    if {field.name} is not D[{number}] and KEY({field.name}) != K[{number}]: attrs[{field.name!r}] = {field.name}")
    if flexible and required:
        lines.insert(0, "    if " + " or ".join(f"{f.name} is MISSING" for f in required) + ": raise TypeError(self.name + ' needs its attributes')")
    params.append("*")
    for field in definition.successors:
        params += [field.name if field.kind is Successor else f"{field.name}=None", f"{field.name}_operands=()"]
    params += ["result_types=None", "regions=()", "loc=UNKNOWN", "hint=None"]
    if plain and not definition.successors:
        lines.append(f"    self.operands = [{', '.join(f.name for f in definition.operands)}]")
    else:
        lines.append("    operands = self.operands = []")
        for field in definition.operands:
            if field.kind is Operand:
                lines.append(f"    operands.append({field.name})")
                sizes.append("1")
            elif field.kind is Variadic:
                lines.append(f"    operands.extend({field.name})")
                sizes.append(f"len({field.name})")
            else:
                lines.append(f"    if {field.name} is not None: operands.append({field.name})")
                sizes.append(f"int({field.name} is not None)")
        for field in definition.successors:
            lines.append(f"    operands.extend({field.name}_operands)")
            sizes.append(f"len({field.name}_operands)")
        if definition.needs_segments:
            lines.append(f"    attrs[{SEGMENTS!r}] = ({', '.join(sizes)},)")
    return _assemble(params, lines, definition), defaults


def _assemble(params: list[str], lines: list[str], definition: OpDefinition) -> str:
    successors = "".join(f"{f.name}, " for f in definition.successors if f.kind is Successor)
    body = [
        "MISSING = object()",
        "def make(D, K):",
        f"  def __init__(self, {', '.join(params)}):",
        "    attrs = self.attrs = {}",
        *lines,
        f"    self.successors = ({successors})",
        *[f"    if {f.name} is not None: self.successors += ({f.name},)" for f in definition.successors if f.kind is OptionalSuccessor],
        "    self.regions = regions = tuple(regions) if regions else ()",
        "    for region in regions: region.parent = self" if definition.regions else "    if regions: raise TypeError(self.name + ' has no regions')",
        "    self.parent = self.prev = self.next = None",
        "    self.loc = loc",
    ]
    uses = _note_uses(definition)  # behind `infer`: an operation whose types cannot be inferred is no user of anything
    if not definition.results and definition.infer is None:
        body += ["    self.results = ()", *uses]
    else:
        body += [
            "    if result_types is None: result_types = self.infer()",
            *uses,
            "    if len(result_types) == 1:",
            "      value = NEW(Value)",  # what Value(...) does, without the call
            "      value.type, value.owner, value.index, value.users, value.hint = result_types[0], self, 0, {}, hint",
            "      self.results = (value,)",
            "    else: self.results = tuple([Value(t, self, i) for i, t in enumerate(result_types)])",
        ]
    body.append("  return __init__")
    return "\n".join(body)


def _note_uses(definition: OpDefinition) -> list[str]:
    """Lines that enter the new operation into the use tables of its operands; unrolled for a few fixed ones."""
    names = [f.name for f in definition.operands]
    if any(f.kind is not Operand for f in definition.operands) or definition.successors or len(names) > 3:
        return ["    for value in self.operands:", "      users = value.users", "      users[self] = users.get(self, 0) + 1"]
    lines = [f"    {names[0]}.users[self] = 1"] if names else []
    for name in names[1:]:
        lines += [f"    users = {name}.users", "    users[self] = users.get(self, 0) + 1"]
    return lines


def _value_class() -> type:
    from .value import Value

    return Value


def _unknown() -> Any:
    from .location import UNKNOWN

    return UNKNOWN
