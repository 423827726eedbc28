"""Operations with wrong attributes and operands: the verifier says so, and nothing else happens."""

from __future__ import annotations

import pytest

from lect.dialects.functional.types import TensorType
from lect.ir import Operation, VerifyError, verify
from lect.ir import types as scalars
from tests.unit.functional.test_every_op import functions

VALUES = [
    0,
    -1,
    7,
    10**20,
    1.5,
    "a",
    True,
    None,
    (),
    (0,),
    (1, 1),
    (-1, 2),
    ("a",),
    (None, None),
    ((1, 2), (0, 0)),
    {},
    {"a": 1},
    scalars.i1,
    scalars.complex64,
]
TYPES = [
    TensorType((), scalars.f32),
    TensorType((0,), scalars.f32),
    TensorType((8, 16), scalars.i64),
    TensorType((8, 16), scalars.i1),
    TensorType((2, 3, 4, 5), scalars.bf16),
    TensorType((8, 16), scalars.f32, (1, 8)),
    TensorType((8, 16), scalars.f32, device="cuda:0"),
    TensorType((1, 1, 1, 1, 1, 1), scalars.complex64),
]


def accepts(func: Operation) -> bool:
    """Verify, with no other exception than the verifier's."""
    try:
        verify(func)
    except VerifyError:
        return False
    return True


@pytest.mark.parametrize("func", functions(), ids=lambda func: func.sym_name)
def test_any_value_of_an_attribute_is_accepted_or_refused(func):
    refused = 0
    for op in list(func.body):
        for name in [*op.definition.attrs, "strides"]:
            before = dict(op.attrs)
            for value in VALUES:
                op.attrs[name] = value
                refused += not accepts(func)
            op.attrs.clear()
            op.attrs.update(before)
    assert accepts(func)
    assert refused > 50


@pytest.mark.parametrize("func", functions(), ids=lambda func: func.sym_name)
def test_any_type_of_an_operand_is_accepted_or_refused(func):
    strange = [func.body.add_arg(type) for type in TYPES]
    refused = 0
    for op in list(func.body):
        for position, right in enumerate(list(op.operands)):
            for wrong in strange:
                op.set_operand(position, wrong)
                refused += not accepts(func)
            op.set_operand(position, right)
    assert accepts(func)
    assert refused > 5


@pytest.mark.parametrize("func", functions(), ids=lambda func: func.sym_name)
def test_any_number_of_operands_is_accepted_or_refused(func):
    for op in list(func.body):
        right = list(op.operands)
        for operands in ([], right[:-1], [*right, *right], [*right, func.body.args[0]]):
            op.set_operands(operands)
            accepts(func)
        op.set_operands(right)
    assert accepts(func)
