"""Metadata of propagation against eager's, over torch's own samples of all its functions: sizes, strides and dtypes are equal, or nothing is said."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from lect.frontends.tensors import make_lt, meta_of, propagating

DTYPES = (torch.float32, torch.bfloat16, torch.int64)
SAMPLES = 4
# In training their statistics are also written to their operands, which the lowering refuses before anybody looks at the results.
TRAINING = {"native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"}


def stand_in(value: Any) -> Any:
    """LTs in the place of tensors."""
    if isinstance(value, torch.Tensor):
        return make_lt(meta_of(value)._replace(requires_grad=False))
    if type(value) in (list, tuple):
        return type(value)([stand_in(item) for item in value])
    return value


def metadata(result: Any) -> list[Any]:
    """Metadata of all tensors in a result."""
    if isinstance(result, torch.Tensor):
        return [meta_of(result)._replace(storage_offset=0)]
    if isinstance(result, list | tuple):
        return [meta for item in result for meta in metadata(item)]
    return []


def compared(op: Any, dtype: torch.dtype) -> tuple[int, list[str]]:
    """How many samples were compared, and what differs."""
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    count, wrong = 0, []
    for sample in samples[:: max(1, len(samples) // SAMPLES)]:
        try:
            expected = metadata(op.op(sample.input, *sample.args, **sample.kwargs))
            with propagating():
                arguments = stand_in((sample.input, *sample.args))
                found = metadata(op.op(*arguments, **{name: stand_in(value) for name, value in sample.kwargs.items()}))
        except Exception:
            continue  # eager refuses the sample, or propagation does
        count += 1
        if found != expected:
            wrong.append(f"{op.name} of {dtype}: {found} instead of {expected}")
    return count, wrong


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_propagation_says_is_what_eager_does(dtype):
    count, wrong = 0, []
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            if dtype in op.dtypes and op.name not in TRAINING and not op.name.startswith("jiterator"):
                compared_here, wrong_here = compared(op, dtype)
                count += compared_here
                wrong += wrong_here
    assert not wrong, "\n".join(wrong)
    assert count > 1000
