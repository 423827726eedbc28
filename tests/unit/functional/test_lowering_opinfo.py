"""torch's own samples of its functions, lowered to functional operations and run by the reference beside eager: values, dtypes and strides are equal.

Results that eager itself rounds by order of summation, or by an algorithm that depends on whether a gradient may be asked for, are compared closely
instead of exactly.  Names in CLOSED must be expressed without an opaque call.
"""

from __future__ import annotations

import warnings
from itertools import islice

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from lect.backends.reference.functional import run_functional
from lect.dialects.fx.python_values import resolve
from lect.ir import LectError
from tests.unit.functional.programs import GraphBuilder, compare, opaque_targets

CLOSED = """
abs acos add addbmm addcdiv addcmul addmm amax amin argmax argmin asin atan atan2 baddbmm bitwise_and bitwise_not bmm cat ceil chunk clamp clone cos cosh
cumprod cumsum diagonal div eq erf exp expand expm1 flip floor floor_divide fmod full_like gather ge gt index_select isnan le lerp log log1p
logical_and logical_not logsumexp lt masked_fill max maximum mean min minimum mm movedim mul narrow ne neg nn.functional.adaptive_avg_pool2d
nn.functional.avg_pool2d nn.functional.conv2d nn.functional.gelu nn.functional.group_norm nn.functional.hardswish
nn.functional.layer_norm nn.functional.leaky_relu nn.functional.linear nn.functional.max_pool2d nn.functional.mse_loss nn.functional.nll_loss
nn.functional.pixel_shuffle nn.functional.relu nn.functional.rms_norm nn.functional.scaled_dot_product_attention nn.functional.silu nn.functional.softplus
nn.functional.unfold permute pow prod reciprocal remainder repeat reshape roll rot90 round rsqrt rsub scatter scatter_add select sigmoid sign sin softmax
sort split sqrt square squeeze stack sub sum t tanh tile topk transpose tril triu trunc unbind unsqueeze var view xlogy zeros_like
""".split()
CLOSE = {"addbmm", "nn.functional.linear", "nn.functional.rms_norm", "prod", "var", "logsumexp", "nn.functional.scaled_dot_product_attention"}
PARTLY_OPAQUE = {"addbmm", "gather", "index_select", "nn.functional.group_norm", "nn.functional.unfold", "nn.functional.rms_norm", "scatter"}
PARTLY_OPAQUE |= {"nn.functional.scaled_dot_product_attention"}  # with dropout
SAMPLES = 4
ENTRIES = {(op.name, op.variant_test_name): op for op in op_db if op.name in CLOSED and "decimals" not in op.variant_test_name}
DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.float16, torch.int64, torch.bool)
FEW = 3  # of so many entries, one is tried with halves where there is no time for all dtypes


def function_of(name: str):
    """(public name, callable) of an entry, or None when graphs have no name for it."""
    for prefix in ("torch.", "torch.Tensor."):
        try:
            return prefix + name, resolve(prefix + name)
        except LectError:
            continue
    return None


def spread_samples(op, dtype):
    """A few samples from all over the list of an entry."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(islice(op.sample_inputs("cpu", dtype, requires_grad=False), 120))  # some have thousands
    return samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]


def test_every_name_is_found():
    found = {op.name for op in ENTRIES.values()}
    assert found == set(CLOSED)
    assert all(function_of(name) for name in found)


def cases():
    """Each entry with each dtype; with f32, and some with bf16, in the fast tests."""
    for place, key in enumerate(ENTRIES):
        for dtype in DTYPES:
            fast = dtype is torch.float32 or (dtype is torch.bfloat16 and place % FEW == 0)
            name = "-".join(filter(None, (*key, str(dtype).removeprefix("torch."))))
            yield pytest.param(key, dtype, id=name, marks=() if fast else pytest.mark.slow)


@pytest.mark.parametrize(("key", "dtype"), cases())
def test_lowered_samples_equal_eager(key, dtype):
    op = ENTRIES[key]
    if dtype not in op.dtypes:
        pytest.skip("eager has no such kernel")
    name, function = function_of(op.name)
    ran = 0
    for sample in spread_samples(op, dtype):
        graph = GraphBuilder()
        torch.manual_seed(0)
        try:
            result = graph.call(name, function, sample.input, *sample.args, **sample.kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            continue  # eager refuses this spelling of the sample
        tensors = [result] if isinstance(result, torch.Tensor) else list(result)
        func = graph.lower(tensors)
        if key[0] not in PARTLY_OPAQUE and dtype.is_floating_point:
            assert opaque_targets(func) == []
        torch.manual_seed(0)  # an opaque random op draws what eager drew
        for expected, got in zip(tensors, run_functional(func, graph.inputs)):
            compare(expected, got, exact=key[0] not in CLOSE)
        ran += 1
    assert ran
