"""Every operation of the closed set, as the dialect's lit test shows it, run by the reference: types that `infer` gives are those of torch's results."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.backends.reference.functional_table import REFERENCES
from lect.dialects import make_context
from lect.dialects.functional import DIALECT
from lect.dialects.functional.python_values import dtype_of
from lect.ir import parse_module

NOT_COUNTED = {"functional.func", "functional.return", "functional.opaque", "functional.write"}
FILE = Path(__file__).parents[2] / "lit/dialects/functional/ops.mlir"
CLOSED_SET = """
abs neg sign reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv
erfcx ndtri log_ndtr lgamma digamma sigmoid floor ceil round trunc bitwise_not logical_not isnan isinf signbit frexp
add sub mul div remainder fmod pow atan2 hypot copysign nextafter maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor shift_left shift_right
eq ne lt le gt ge logical_and logical_or logical_xor where clamp gcd zeta igamma igammac bessel orthopoly
cast copy together full iota undefined rand randn randint
reshape permute expand slice diagonal as_strided reverse cat pad
sum prod amax amin argmax argmin any all max_with_index min_with_index var_mean xor_sum cumsum cumprod cummax_with_index logcumsumexp sort topk
index gather index_put scatter slice_scatter diagonal_scatter as_strided_scatter searchsorted within
mm bmm addmm baddbmm addmv addbmm attention attention_backward convolution convolution_backward window_sum window_max_with_index
relu leaky_relu elu gelu silu mish hardswish hardsigmoid hardtanh softplus threshold hardshrink softshrink log_sigmoid logit glu lerp addcmul addcdiv
xlogy entr logaddexp nan_to_num heaviside frac sinc ldexp sgn polygamma masked_fill
sigmoid_backward tanh_backward threshold_backward gelu_backward silu_backward mish_backward hardswish_backward hardsigmoid_backward hardtanh_backward
elu_backward leaky_relu_backward softplus_backward log_sigmoid_backward glu_backward shrink_backward
mean vector_norm logsumexp softmax log_softmax softmax_backward log_softmax_backward
layer_norm layer_norm_backward group_norm group_norm_backward batch_norm batch_norm_backward weight_norm weight_norm_backward
mse huber bce bce_with_logits soft_margin nll nll_backward
upsample upsample_backward grid_sample grid_sample_backward avg_pool_backward max_pool_backward
embedding_backward embedding_bag embedding_bag_backward segment_reduce
""".split()


def functions():
    """The functions of the lit test whose inputs can be made here."""
    module = parse_module(FILE.read_text(encoding="utf-8"), make_context(), str(FILE))
    return [func for func in module.body if func.sym_name != "types" and all(value.type.device == "cpu" for value in func.body.args)]


def random_input(type, name: str) -> torch.Tensor:
    """Numbers in (0, 1), in order where an operation wants boundaries; small indices, lengths and seeds."""
    dtype = dtype_of(type.element)
    if name == "b":
        return torch.linspace(0, 1, type.count, dtype=dtype).reshape(type.shape)
    if name in ("o", "l"):  # offsets of bags in three rows, lengths of two runs of eight
        return torch.tensor([0, 2] if name == "o" else [3, 5], dtype=dtype)
    if dtype is torch.bool:
        return torch.rand(type.shape) < 0.5
    if dtype.is_floating_point:
        return torch.empty_strided(type.shape, type.strides, dtype=dtype).copy_(torch.rand(type.shape))
    return torch.randint(0, 2, type.shape, dtype=dtype)


def test_the_closed_set_is_the_one_that_was_counted():
    names = {name.removeprefix("functional.") for name in DIALECT.ops} - {"func", "write", "return", "opaque"}
    assert len(CLOSED_SET) == 215
    assert names == set(CLOSED_SET)


def test_every_op_has_a_reference():
    assert set(REFERENCES) == set(DIALECT.ops) - NOT_COUNTED


def test_the_lit_test_shows_every_op():
    shown = {op.name for func in functions() for op in func.body}
    assert shown >= set(DIALECT.ops) - {"functional.func"}


@pytest.mark.parametrize("func", functions(), ids=lambda func: func.sym_name)
def test_types_are_those_of_the_results(func):
    torch.manual_seed(0)
    for op in func.body:  # without a user a result is not looked at
        if op.name != "functional.return":
            for result in op.results:
                func.body.last.set_operands([*func.body.last.operands, result])
    inputs = [random_input(value.type, value.hint or "") for value in func.body.args]
    results = run_functional(func, inputs)
    assert len(results) == len(func.body.last.operands)
