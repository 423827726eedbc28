"""Sums whose result type is stated: eager converts each element before it adds."""

import pytest
import torch

import lect

# Two elements each, whose order does not matter, and whose difference goes when they are rounded.
OPERANDS = {
    "i16": torch.tensor([32767, -32766], dtype=torch.int16),
    "i32": torch.tensor([2**31 - 1, -(2**31) + 2], dtype=torch.int32),
    "i64": torch.tensor([2**60 + 1, -(2**60)]),
    "f32": torch.tensor([2049.0, -2048.0]),
    "f64": torch.tensor([1e5 + 2**-10, -1e5], dtype=torch.float64),
    "bf16": torch.tensor([300.0, -1.125]).bfloat16(),
    "i1": torch.tensor([True, True]),
}
SUMS = {
    "sum": lambda x, dtype: x.sum(dtype=dtype),
    "sum of a dim": lambda x, dtype: x.sum(0, dtype=dtype),
    "nansum": lambda x, dtype: x.nansum(dtype=dtype),
    "mean": lambda x, dtype: x.mean(dtype=dtype),
}


@pytest.mark.parametrize("operand", OPERANDS)
def test_elements_are_converted_first(operand):
    x = OPERANDS[operand]
    dtypes = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

    def program(x):
        return [function(x, dtype) for function in SUMS.values() for dtype in dtypes]

    lect.reset()
    for found, expected in zip(lect.compile(program)(x), program(x), strict=True):
        torch.testing.assert_close(found, expected, equal_nan=True)
