"""functional-to-loop on operations that become library calls: the right overload with the right arguments, against the meaning of the operation."""

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects.functional import contraction, gather, normalization, reduction, window
from lect.dialects.functional.ops import OpaqueOp, OperandRef
from lect.dialects.loop.ops import ExternOp
from lect.ir import LectError, SymbolRef
from lect.ir.types import i32
from tests.unit.loop.programs import assert_same, execute, functional_module, lowered, random_tensor


def floats(*shapes, seed=0, positive=False):
    made = [random_tensor(shape, torch.float32, seed + k, special=False) for k, shape in enumerate(shapes)]
    return [tensor.abs() + 0.1 for tensor in made] if positive else made


def indices(shape, limit, seed=0):
    return torch.randint(limit, shape, generator=torch.Generator().manual_seed(seed))


def check(build, tensors, calls=1):
    """The lowered program has at least `calls` library calls and gives what the functional program means."""
    wanted = run_functional(functional_module(build, tensors).body.first, tensors)
    module = lowered(build, tensors)
    assert sum(isinstance(op, ExternOp) for op in module.body.first.body) >= calls
    for found, value in zip(execute(module, tensors), wanted, strict=True):
        assert_same(found, value)


X = (3, 4, 8, 8)
CASES = {
    "mm": (contraction.MmOp, floats((3, 4), (4, 5)), {}),
    "bmm": (contraction.BmmOp, floats((2, 3, 4), (2, 4, 5)), {}),
    "addmv": (contraction.AddmvOp, floats((3,), (3, 4), (4,)), {"beta": 0.5, "alpha": 2}),
    "addbmm": (contraction.AddbmmOp, floats((3, 5), (2, 3, 4), (2, 4, 5)), {"alpha": 2}),
    "addmm": (contraction.AddmmOp, floats((5,), (3, 4), (4, 5)), {"beta": 0.5, "alpha": 2}),
    "baddbmm": (contraction.BaddbmmOp, floats((2, 3, 5), (2, 3, 4), (2, 4, 5)), {"beta": 0}),
    "sort of long rows": (reduction.SortOp, floats((4, 200)), {"dim": 1, "descending": True, "stable": True}),
    "topk": (reduction.TopkOp, floats((4, 9)), {"k": 3, "dim": 1}),
    "convolution": (contraction.ConvolutionOp, floats(X, (6, 4, 3, 3), (6,)), {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}),
    "convolution 1d": (contraction.ConvolutionOp, floats((2, 4, 9), (6, 2, 3)), {"stride": (1,), "padding": (0,), "dilation": (2,), "groups": 2}),
    "transposed convolution": (
        contraction.ConvolutionOp,
        floats(X, (4, 6, 3, 3)),
        {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "transposed": True, "output_padding": (1, 1)},
    ),
    "grid_sample": (window.GridSampleOp, [*floats(X), torch.rand(3, 5, 5, 2) * 2 - 1], {}),
    "weight_norm": (normalization.WeightNormOp, floats((5, 4), (5, 1)), {"dim": 0}),
    "group norm backward of another layout": (
        normalization.GroupNormBackwardOp,
        [*[each.to(memory_format=torch.channels_last) for each in floats(X, X)], torch.zeros(3, 2), torch.ones(3, 2), torch.ones(4)],
        {"groups": 2},
    ),
    "long layer norm backward": (
        normalization.LayerNormBackwardOp,
        [*floats((300, 256), (300, 256)), torch.zeros(300, 1), torch.ones(300, 1), torch.ones(256)],
        {"normalized": (256,)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_library_call(name):
    cls, tensors, attrs = CASES[name]
    check(lambda emit, *values: emit(cls(*values, **attrs)), tensors)


def test_an_index_out_of_range_raises_as_in_eager():
    x, i = torch.randn(7, 4), torch.tensor([1, 7])
    for negative in (True, False):
        module = lowered(lambda emit, x, i, n=negative: emit(gather.IndexOp(x, [i], (0,), n)), [x, i])
        with pytest.raises((IndexError, RuntimeError)):
            execute(module, [x, i])


def test_attention_leaves_eager_strides():
    q, k, v = (torch.randn(2, 5, 3, 8).transpose(1, 2) for _ in range(3))
    check(lambda emit, q, k, v: emit(contraction.AttentionOp(q, k, v)), [q, k, v])
    mask = torch.randn(2, 1, 5, 5)
    check(lambda emit, q, k, v, m: emit(contraction.AttentionOp(q, k, v, m, False, 0.3)), [q, k, v, mask])


def test_opaque_operators_are_called_by_name():
    def typed(emit, x):
        types = [x.type.with_strides((1, 4)), x.type.like((), i32)]
        return emit(OpaqueOp([x], SymbolRef("aten.linalg_inv_ex.default"), (OperandRef(0),), {"check_errors": False}, result_types=types))

    check(typed, [torch.randn(4, 4)])


def test_what_has_no_form_is_a_located_error():
    with pytest.raises(LectError, match="'functional.layer_norm_backward' has neither a loop form nor a library call"):
        lowered(lambda emit, *values: emit(normalization.LayerNormBackwardOp(*values, normalized=(256,))), floats((300, 256), (300, 256), (300, 1), (300, 1)))
