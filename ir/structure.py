"""Structural verification: an operation against its definition.

`verify_structure` first runs a check written as straight-line code for the definition (made on first use, shared by definitions of one shape);
only when that fails does it look again, slowly, for the sentence that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .define import SEGMENTS, FieldSpec, OpDefinition, Operand, OptionalOperand, OptionalSuccessor, VariadicRegion, VariadicResult
from .diagnostics import require
from .interning import literal_key
from .operation import Operation
from .types import Type


def verify_structure(op: Operation) -> None:
    """Check `op` against its definition: counts, operand types, attribute kinds, result types by `infer`.  Raises `VerifyError`."""
    definition = op.definition
    if definition is None:
        return
    check = definition.well_formed
    if check is None:
        check = definition.well_formed = _compile_check(definition)
    if not check(op):
        _explain(op, definition)


_CHECKS: dict[str, Any] = {}


def _compile_check(definition: OpDefinition) -> Callable[[Operation], bool]:
    """The fast check: True only when `op` surely fits; False asks for the slow one."""
    constraints = [f.constraint for f in definition.operands]
    lines = ["def make(C, R, A, fits, fits_attribute):", "  def check(op):", "    operands, results, attrs = op.operands, op.results, op.attrs"]
    if definition.needs_segments:
        lines.append("    return False")
    else:
        lines += _operand_tests(definition)
        plain = all(f.kind is not VariadicResult for f in definition.results)
        lines.append(f"    if len(results) != {len(definition.results)}: return False" if plain else "    return False")
        for number, field in enumerate(definition.results):
            if field.constraint is not None:
                lines.append(f"    if not {_type_test(f'results[{number}]', field.constraint, f'R[{number}]')}: return False")
        if definition.regions or definition.successors:
            lines.append("    return False")
        lines.append("    if op.regions or op.successors: return False")
        for name, field in definition.attrs.items():
            if not field.has_default:
                lines.append(f"    if {name!r} not in attrs: return False")
        lines.append("    for name, value in attrs.items():")
        lines.append("      if name in A and not fits_attribute(value, A[name]): return False")
        if definition.infer is not None:
            lines.append("    types = op.infer()")
            lines.append(f"    if len(types) != {len(definition.results)}: return False")
            lines += [f"    if results[{i}].type is not types[{i}]: return False" for i in range(len(definition.results))]
        lines.append("    return True")
    source = "\n".join([*lines, "  return check"])
    make = _CHECKS.get(source)
    if make is None:
        namespace: dict[str, Any] = {}
        exec(compile(source, "<structural check>", "exec"), namespace)
        make = _CHECKS[source] = namespace["make"]
    attributes = {name: f.constraint for name, f in definition.attrs.items() if f.constraint is not None}
    return make(constraints, [f.constraint for f in definition.results], attributes, fits, fits_attribute)


def _operand_tests(definition: OpDefinition) -> list[str]:
    """Lines that count the operands and look at their types; at most one group is flexible, and what stands behind it is counted from the end."""
    fields = definition.operands
    flexible = next((number for number, field in enumerate(fields) if field.kind is not Operand), None)
    if flexible is None:
        lines = [f"    if len(operands) != {len(fields)}: return False"]
    else:
        most = f" or len(operands) > {len(fields)}" if fields[flexible].kind is OptionalOperand else ""
        lines = [f"    if len(operands) < {len(fields) - 1}{most}: return False"]
    for number, field in enumerate(fields):
        if field.constraint is None:
            continue
        behind = number - len(fields)
        if number == flexible:
            lines.append(f"    for value in operands[{number}:{behind + 1 or ''}]:")
            lines.append(f"      if not {_type_test('value', field.constraint, f'C[{number}]')}: return False")
        else:
            at = number if flexible is None or number < flexible else behind
            lines.append(f"    if not {_type_test(f'operands[{at}]', field.constraint, f'C[{number}]')}: return False")
    return lines


def _type_test(value: str, constraint: Any, name: str) -> str:
    """An expression that is true when the type of `value` satisfies the constraint found under `name`."""
    return f"isinstance({value}.type, {name})" if isinstance(constraint, type) else f"fits({value}.type, {name})"


def _explain(op: Operation, definition: OpDefinition) -> None:
    """The slow check, with sentences."""
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
        require(
            len(sizes) == definition.groups and sum(sizes) == count,
            op,
            "'{}' has {} operand groups over {} operands, got sizes {}",
            op.name,
            definition.groups,
            count,
            sizes,
        )
    else:
        fixed = sum(f.kind is Operand for f in definition.operands)
        flexible = definition.groups - fixed
        optional = any(f.kind is OptionalOperand for f in definition.operands)
        if not flexible or (fixed == len(definition.operands) and not op.successors):
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
                require(
                    fits(value.type, field.constraint),
                    op,
                    "operand '{}' of '{}' must be {}, got {}",
                    field.name,
                    op.name,
                    describe(field.constraint),
                    value.type,
                )
        position += size


def _verify_counts(op: Operation, definition: OpDefinition) -> None:
    for what, fields, found, flexible in (
        ("result", definition.results, op.results, VariadicResult),
        ("region", definition.regions, op.regions, VariadicRegion),
        ("successor", definition.successors, op.successors, OptionalSuccessor),
    ):
        fixed = sum(f.kind is not flexible for f in fields)
        if fixed == len(fields):
            require(len(found) == fixed, op, "'{}' has {}, got {}", op.name, _plural(fixed, what), len(found))
        else:
            require(len(found) >= fixed, op, "'{}' has at least {}, got {}", op.name, _plural(fixed, what), len(found))
            most = len(fields) if flexible is OptionalSuccessor else len(found)
            require(len(found) <= most, op, "'{}' has at most {}, got {}", op.name, _plural(most, what), len(found))
    for number, field in enumerate(definition.results):
        if field.constraint is not None:
            for value in op.results[number:] if field.kind is VariadicResult else op.results[number : number + 1]:
                require(
                    fits(value.type, field.constraint),
                    op,
                    "result '{}' of '{}' must be {}, got {}",
                    field.name,
                    op.name,
                    describe(field.constraint),
                    value.type,
                )


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
