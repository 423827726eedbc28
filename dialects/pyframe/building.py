"""Operations of pyframe that build containers and strings, take them apart, match patterns and import."""

from lect.dialects.pyframe.attributes import is_constant
from lect.dialects.pyframe.ops import CONVERSIONS, Producer
from lect.dialects.pyframe.types import OBJECT, ObjectType
from lect.ir import Attr, Operand, Operation, OptionalOperand, Result, Type, Variadic, VariadicResult, op, require

# ---- building and taking apart ---------------------------------------------------------------------------------------


@op("pyframe.build_tuple")
class BuildTupleOp(Producer):
    """A tuple of the operands."""

    items: Variadic[ObjectType]
    value: Result


@op("pyframe.build_list")
class BuildListOp(Producer):
    """A new list of the operands."""

    items: Variadic[ObjectType]
    value: Result


@op("pyframe.build_set")
class BuildSetOp(Producer):
    """A new set of the operands, added in order."""

    items: Variadic[ObjectType]
    value: Result


@op("pyframe.build_map")
class BuildMapOp(Producer):
    """A new dict; the operands are key, value, key, value, ..."""

    items: Variadic[ObjectType]
    value: Result

    def verify(self) -> None:
        require(len(self.items) % 2 == 0, self, "'pyframe.build_map' takes keys and values in pairs, got {} operands", len(self.items))


@op("pyframe.build_const_key_map")
class BuildConstKeyMapOp(Producer):
    """A new dict of the operands under constant keys."""

    values: Variadic[ObjectType]
    keys: Attr[tuple]
    value: Result

    def verify(self) -> None:
        require(len(self.keys) == len(self.values), self, "'pyframe.build_const_key_map' has {} keys for {} values", len(self.keys), len(self.values))
        require(is_constant(self.keys), self, "'pyframe.build_const_key_map' holds a key that is no Python constant")


@op("pyframe.build_string")
class BuildStringOp(Producer):
    """The operands, which are strings, joined."""

    parts: Variadic[ObjectType]
    value: Result


@op("pyframe.build_slice")
class BuildSliceOp(Producer):
    """`slice(start, stop)` or `slice(start, stop, step)`."""

    start: Operand[ObjectType]
    stop: Operand[ObjectType]
    step: OptionalOperand[ObjectType]
    value: Result


@op("pyframe.list_append")
class ListAppendOp(Operation):
    """Append to a list under construction."""

    list: Operand[ObjectType]
    item: Operand[ObjectType]


@op("pyframe.list_extend")
class ListExtendOp(Operation):
    """Extend a list under construction by an iterable."""

    list: Operand[ObjectType]
    iterable: Operand[ObjectType]


@op("pyframe.set_add")
class SetAddOp(Operation):
    """Add to a set under construction."""

    set: Operand[ObjectType]
    item: Operand[ObjectType]


@op("pyframe.set_update")
class SetUpdateOp(Operation):
    """Add all items of an iterable to a set under construction."""

    set: Operand[ObjectType]
    iterable: Operand[ObjectType]


@op("pyframe.map_add")
class MapAddOp(Operation):
    """Set one item of a dict under construction."""

    map: Operand[ObjectType]
    key: Operand[ObjectType]
    value: Operand[ObjectType]


@op("pyframe.dict_update")
class DictUpdateOp(Operation):
    """Update a dict under construction by a mapping (`{**other}`)."""

    map: Operand[ObjectType]
    other: Operand[ObjectType]


@op("pyframe.dict_merge")
class DictMergeOp(Operation):
    """Merge a mapping into the keyword arguments of a call; TypeError on a repeated key, which names `callee`."""

    callee: Operand[ObjectType]
    map: Operand[ObjectType]
    other: Operand[ObjectType]


@op("pyframe.list_to_tuple")
class ListToTupleOp(Producer):
    """A tuple of the items of a list."""

    list: Operand[ObjectType]
    value: Result


@op("pyframe.unpack_sequence")
class UnpackSequenceOp(Operation):
    """`a, b = iterable`: one result for each target, first target first."""

    iterable: Operand[ObjectType]
    count: Attr[int]
    values: VariadicResult

    def infer(self) -> tuple[Type, ...]:
        return (OBJECT,) * self.count


@op("pyframe.unpack_ex")
class UnpackExOp(Operation):
    """`a, *b, c = iterable`: `before` items, the list of the rest, `after` items."""

    iterable: Operand[ObjectType]
    before: Attr[int]
    after: Attr[int]
    values: VariadicResult

    def infer(self) -> tuple[Type, ...]:
        return (OBJECT,) * (self.before + 1 + self.after)


@op("pyframe.format_value")
class FormatValueOp(Producer):
    """`format(value, spec)`; without `spec` a string stays as it is."""

    value: Operand[ObjectType]
    spec: OptionalOperand[ObjectType]
    text: Result


@op("pyframe.convert_value")
class ConvertValueOp(Producer):
    """The `!s`, `!r` or `!a` of an f-string."""

    value: Operand[ObjectType]
    conversion: Attr[frozenset(CONVERSIONS)]
    text: Result


# ---- pattern matching, imports and the rest --------------------------------------------------------------------------


@op("pyframe.get_len")
class GetLenOp(Producer):
    """`len(subject)` in a pattern."""

    subject: Operand[ObjectType]
    value: Result


@op("pyframe.match_mapping")
class MatchMappingOp(Producer):
    """True when the subject is a mapping for `match`.  Does not raise."""

    subject: Operand[ObjectType]
    value: Result


@op("pyframe.match_sequence")
class MatchSequenceOp(Producer):
    """True when the subject is a sequence for `match`.  Does not raise."""

    subject: Operand[ObjectType]
    value: Result


@op("pyframe.match_keys")
class MatchKeysOp(Producer):
    """The tuple of the subject's values under the keys of a tuple, or None when one is missing."""

    subject: Operand[ObjectType]
    keys: Operand[ObjectType]
    value: Result


@op("pyframe.match_class")
class MatchClassOp(Producer):
    """The tuple of the subject's attributes for a class pattern of `count` positional parts and a tuple of names, or None when it does not match."""

    subject: Operand[ObjectType]
    cls: Operand[ObjectType]
    names: Operand[ObjectType]
    count: Attr[int]
    value: Result


@op("pyframe.import_name")
class ImportNameOp(Producer):
    """`__import__(id, globals, locals, fromlist, level)`."""

    level: Operand[ObjectType]
    fromlist: Operand[ObjectType]
    id: Attr[str]
    value: Result


@op("pyframe.import_from")
class ImportFromOp(Producer):
    """`from module import id`; ImportError when there is none."""

    module: Operand[ObjectType]
    id: Attr[str]
    value: Result


@op("pyframe.import_star")
class ImportStarOp(Operation):
    """`from module import *`."""

    module: Operand[ObjectType]


@op("pyframe.setup_annotations")
class SetupAnnotationsOp(Operation):
    """Make `__annotations__` in the namespace if there is none."""


@op("pyframe.print_expr")
class PrintExprOp(Operation):
    """What the interactive prompt does with a value."""

    value: Operand[ObjectType]
