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

from .diagnostics import require
from .interning import literal_key
from .operation import Operation
from .types import Type

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

    __slots__ = ("attrs", "groups", "infer", "name", "needs_segments", "operands", "regions", "results", "successors")

    def __init__(self, name: str, fields: list[FieldSpec], infer: Callable[..., Any] | None) -> None:
        self.name = name
        self.operands = [f for f in fields if f.kind in (Operand, OptionalOperand, Variadic)]
        self.attrs = {f.name: f for f in fields if f.kind is Attr}
        self.results = [f for f in fields if f.kind in (Result, VariadicResult)]
        self.regions = [f for f in fields if f.kind in (RegionField, VariadicRegion)]
        self.successors = [f for f in fields if f.kind is Successor]
        self.groups = len(self.operands) + len(self.successors)
        flexible = sum(f.kind is not Operand for f in self.operands) + len(self.successors)
        self.needs_segments = flexible > 1
        self.infer = infer

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
    body["__init__"] = _constructor(definition)
    bases = cls.__bases__ if issubclass(cls, Operation) else (Operation,)
    made = type(cls.__name__, bases, body)
    made.__qualname__ = cls.__qualname__
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
        out[field.name] = _successor_at(number)
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


def _constructor(definition: OpDefinition) -> Callable[..., None]:
    """`__init__(operands..., attributes..., *, successors and their operands, regions=, result_types=, loc=, hint=)`.

    Compiled once for each distinct signature: the eighty pointwise operations of a dialect share one.
    """
    source, defaults = _constructor_source(definition)
    make = _CONSTRUCTORS.get(source)
    if make is None:
        namespace: dict[str, Any] = {"Value": _value_class(), "UNKNOWN": _unknown(), "KEY": literal_key}
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
        params += [field.name, f"{field.name}_operands=()"]
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
    successors = ", ".join(f.name for f in definition.successors)
    body = [
        "MISSING = object()",
        "def make(D, K):",
        f"  def __init__(self, {', '.join(params)}):",
        "    attrs = self.attrs = {}",
        *lines,
        "    for value in self.operands:",
        "      users = value.users",
        "      users[self] = users.get(self, 0) + 1",
        f"    self.successors = [{successors}]",
        "    self.regions = tuple(regions)",
        "    for region in regions: region.parent = self",
        "    self.parent = self.prev = self.next = None",
        "    self.loc = loc",
    ]
    if not definition.results and definition.infer is None:
        body.append("    self.results = ()")
    else:
        body += [
            "    if result_types is None: result_types = self.infer()",
            "    if len(result_types) == 1: self.results = (Value(result_types[0], self, 0, hint),)",
            "    else: self.results = tuple([Value(t, self, i) for i, t in enumerate(result_types)])",
        ]
    body.append("  return __init__")
    return "\n".join(body)


def _value_class() -> type:
    from .value import Value

    return Value


def _unknown() -> Any:
    from .location import UNKNOWN

    return UNKNOWN


# ---- structural verification -----------------------------------------------------------------------------------------


def verify_structure(op: Operation) -> None:
    """Check `op` against its definition: counts, operand types, attribute kinds, result types by `infer`.  Raises `VerifyError`."""
    definition = op.definition
    if definition is None:
        return
    _verify_operands(op, definition)
    _verify_counts(op, definition)
    for name, field in definition.attrs.items():
        if name in op.attrs:
            _verify_attribute(op, field, op.attrs[name])
        else:
            require(field.has_default, op, "'{}' needs the attribute '{}'", op.name, name)
    if definition.infer is not None:
        _verify_results(op)


def _verify_operands(op: Operation, definition: OpDefinition) -> None:
    count = len(op.operands)
    if definition.needs_segments:
        sizes = op.attrs.get(SEGMENTS)
        good = isinstance(sizes, tuple) and all(type(n) is int and n >= 0 for n in sizes)
        require(good, op, "'{}' needs '{}', the sizes of its operand groups", op.name, SEGMENTS)
        assert sizes is not None
        require(len(sizes) == definition.groups and sum(sizes) == count, op, "'{}' has {} operand groups over {} operands, got sizes {}", op.name, definition.groups, count, sizes)
    else:
        fixed = sum(f.kind is Operand for f in definition.operands)
        flexible = definition.groups - fixed
        optional = any(f.kind is OptionalOperand for f in definition.operands)
        if not flexible:
            require(count == fixed, op, "'{}' takes {}, got {}", op.name, _plural(fixed, "operand"), count)
        require(count >= fixed, op, "'{}' takes at least {}, got {}", op.name, _plural(fixed, "operand"), count)
        require(not optional or count <= fixed + 1, op, "'{}' takes at most {}, got {}", op.name, _plural(fixed + 1, "operand"), count)
    position = 0
    for field, size in zip(definition.operands, definition.segments(op)):
        if field.kind is Operand:
            require(size == 1, op, "'{}' takes one operand '{}', got {}", op.name, field.name, size)
        elif field.kind is OptionalOperand:
            require(size <= 1, op, "'{}' takes at most one operand '{}', got {}", op.name, field.name, size)
        if field.constraint is not None:
            for value in op.operands[position : position + size]:
                require(fits(value.type, field.constraint), op, "operand '{}' of '{}' must be {}, got {}", field.name, op.name, describe(field.constraint), value.type)
        position += size


def _verify_counts(op: Operation, definition: OpDefinition) -> None:
    for what, fields, found, flexible in (
        ("result", definition.results, op.results, VariadicResult),
        ("region", definition.regions, op.regions, VariadicRegion),
        ("successor", definition.successors, op.successors, None),
    ):
        fixed = sum(f.kind is not flexible for f in fields)
        if fixed == len(fields):
            require(len(found) == fixed, op, "'{}' has {}, got {}", op.name, _plural(fixed, what), len(found))
        else:
            require(len(found) >= fixed, op, "'{}' has at least {}, got {}", op.name, _plural(fixed, what), len(found))
    for number, field in enumerate(definition.results):
        if field.constraint is not None:
            for value in op.results[number:] if field.kind is VariadicResult else op.results[number : number + 1]:
                require(fits(value.type, field.constraint), op, "result '{}' of '{}' must be {}, got {}", field.name, op.name, describe(field.constraint), value.type)


def _verify_attribute(op: Operation, field: FieldSpec, value: Any) -> None:
    if field.constraint is not None and not fits_attribute(value, field.constraint):
        require(False, op, "attribute '{}' of '{}' must be {}, got {}", field.name, op.name, describe(field.constraint), _attribute_text(value))


def _verify_results(op: Operation) -> None:
    inferred = op.infer()  # type: ignore[attr-defined]
    require(len(inferred) == len(op.results), op, "'{}' has {}, got {}", op.name, _plural(len(inferred), "result"), len(op.results))
    for value, expected in zip(op.results, inferred):
        require(value.type is expected, op, "result of '{}' must be {}, got {}", op.name, expected, value.type)


def _attribute_text(value: Any) -> str:
    from .printer import attribute_text

    return attribute_text(value)


def _plural(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def fits(type: Type, constraint: Any) -> bool:
    """True when a type satisfies a constraint: an instance of `Type` (identity), a class of types, or a tuple of constraints."""
    if isinstance(constraint, Type):
        return type is constraint
    if isinstance(constraint, tuple):
        return any(fits(type, c) for c in constraint)
    return isinstance(type, constraint)


_NUMBERS = {int: (int,), float: (float, int), str: (str,), bool: (bool,), tuple: (tuple,), dict: (dict,)}


def fits_attribute(value: Any, constraint: Any) -> bool:
    """True when an attribute value satisfies a constraint: a class, None, a literal type, or a tuple or frozenset of choices."""
    if isinstance(constraint, frozenset):
        return any(literal_key(value) == literal_key(choice) for choice in constraint)
    if isinstance(constraint, tuple):
        return any(fits_attribute(value, c) for c in constraint)
    if constraint is None:
        return value is None
    if constraint is int:
        return type(value) is int
    if constraint is float:
        return type(value) is float or type(value) is int
    return isinstance(value, _NUMBERS.get(constraint, constraint))


def describe(constraint: Any) -> str:
    """A constraint in words."""
    if isinstance(constraint, frozenset):
        return "one of " + ", ".join(sorted(map(str, constraint)))
    if isinstance(constraint, tuple):
        return " or ".join(describe(c) for c in constraint)
    if isinstance(constraint, Type):
        return str(constraint)
    if constraint is None:
        return "none"
    words = {int: "an integer", float: "a number", str: "a string", bool: "true or false", tuple: "a list", dict: "a dictionary"}
    if constraint in words:
        return words[constraint]
    dialect_name = getattr(constraint, "name", "")
    if isinstance(constraint, type) and issubclass(constraint, Operation):
        return f"'{dialect_name}'"
    sigil = getattr(constraint, "sigil", "")
    return f"{sigil}{dialect_name}" if dialect_name else getattr(constraint, "__name__", str(constraint))
