"""Every declared operation has a constructor that compiles, although it is compiled only when it is used often."""

import pytest

from lect.dialects import TABLE, make_context
from lect.dialects.functional import gather
from lect.dialects.functional.types import TensorType
from lect.ir import Block, Location, Operand, Region, VerifyError
from lect.ir.construct import interpreted
from lect.ir.define import _INTERPRETED, SEGMENTS, Successor, Variadic, _constructor
from lect.ir.types import f32
from tests.unit.passes import cf


@pytest.mark.parametrize("name", TABLE)
def test_all_constructors_compile(name):
    dialect = make_context().dialect(name)
    assert dialect is not None
    for cls in dialect.ops.values():
        assert callable(_constructor(cls.definition)), cls.name


def arguments_of(definition, full):
    """Positional and keyword arguments of a constructor: as many as it takes with `full`, else what it requires."""
    args, kwargs = [], {}
    block = Block([f32] * 12)
    values = iter(block.args)
    for field in definition.operands:
        if field.kind is Operand:
            args.append(next(values))
        elif full:
            kwargs[field.name] = [next(values), block.args[0]] if field.kind is Variadic else next(values)
    for field in definition.attrs.values():
        if full or not field.has_default:
            kwargs[field.name] = ("an attribute", 1.0)
        elif field.default is not None:
            kwargs[field.name] = field.default
    for field in definition.successors:
        if full or field.kind is Successor:
            kwargs[field.name] = Block()
            kwargs[f"{field.name}_operands"] = [next(values)] if full else ()
    if definition.regions:
        kwargs["regions"] = [Region([Block()])]
    if definition.results or definition.infer is not None:
        kwargs["result_types"] = [f32] * len(definition.results)
    return block, args, {**kwargs, "loc": Location("m.py", 3), "hint": "name"}


def parts_of(op, block):
    uses = [dict(value.users) for value in block.args]
    named = [{user.loc: count for user, count in each.items()} for each in uses]
    results = [(value.type, value.index, value.hint, value.owner is op, value.users) for value in op.results]
    regions_point_here = all(region.parent is op for region in op.regions)
    return op.operands, op.attrs, list(op.attrs), op.successors, op.regions, regions_point_here, results, op.loc, op.parent, op.prev, op.next, named


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("full", [False, True])
def test_reading_a_definition_makes_what_its_compiled_constructor_makes(name, full):
    dialect = make_context().dialect(name)
    assert dialect is not None
    for cls in dialect.ops.values():
        block, args, kwargs = arguments_of(cls.definition, full)
        read, compiled = object.__new__(cls), object.__new__(cls)
        assert interpreted(cls.definition, SEGMENTS)(read, tuple(args), kwargs), cls.name
        first = parts_of(read, block)
        for value in block.args:
            value.users.clear()
        _constructor(cls.definition)(compiled, *args, **kwargs)
        assert first == parts_of(compiled, block), cls.name


def test_reading_a_definition_refuses_what_does_not_fit():
    x, y = Block([f32, f32]).args
    construct = interpreted(cf.SubOp.definition, SEGMENTS)
    for args, kwargs in [((x,), {}), ((x, y, y), {}), ((x, y), {"lhs": x}), ((x, y), {"other": 1}), ((x, y), {"regions": [Region([Block()])]})]:
        assert not construct(object.__new__(cf.SubOp), args, kwargs)
        assert x.users == y.users == {}
    with pytest.raises(TypeError, match="multiple values"):
        cf.SubOp(x, y, lhs=x)


def test_constructor_is_compiled_when_it_is_used_often():
    stub = cf.AllocOp.__init__
    for _ in range(_INTERPRETED + 1):
        op = cf.AllocOp()
        assert op.results[0].type is f32
    assert cf.AllocOp.__init__ is not stub
    stub(cf.AllocOp.create())  # a stub that is still held somewhere works as well


def test_missing_arguments_are_an_error_at_the_first_use_too():
    (x,) = Block([f32]).args
    with pytest.raises(TypeError, match="rhs"):
        cf.SubOp(x)
    assert [field.kind for field in cf.SubOp.definition.operands] == [Operand, Operand]


@pytest.mark.parametrize("compiled", [False, True])
def test_an_operation_whose_types_cannot_be_inferred_is_no_user(compiled, monkeypatch):
    """What refuses it may go on without it: a rule of lowering tries one operation and takes another."""
    if compiled:
        monkeypatch.setattr(gather.IndexOp, "__init__", _constructor(gather.IndexOp.definition))
    x, by_floats = Block([TensorType((4,), f32), TensorType((2,), f32)]).args
    with pytest.raises(VerifyError):
        gather.IndexOp(x, [by_floats], dims=[0])
    assert not x.users and not by_floats.users
