"""Every declared operation has a constructor that compiles, although it is compiled on first use only."""

import pytest

from lect.dialects import TABLE, make_context
from lect.ir import Block, Operand
from lect.ir.define import _constructor
from lect.ir.types import f32
from tests.unit.passes import cf


@pytest.mark.parametrize("name", TABLE)
def test_all_constructors_compile(name):
    dialect = make_context().dialect(name)
    assert dialect is not None
    for cls in dialect.ops.values():
        assert callable(_constructor(cls.definition)), cls.name


def test_constructor_replaces_its_stub_on_first_use():
    stub = cf.AllocOp.__init__
    op = cf.AllocOp()
    assert cf.AllocOp.__init__ is not stub
    assert op.results[0].type is f32
    stub(cf.AllocOp.create())  # a stub that is still held somewhere works as well


def test_missing_arguments_are_an_error_at_the_first_use_too():
    (x,) = Block([f32]).args
    with pytest.raises(TypeError, match="rhs"):
        cf.SubOp(x)
    assert [field.kind for field in cf.SubOp.definition.operands] == [Operand, Operand]
