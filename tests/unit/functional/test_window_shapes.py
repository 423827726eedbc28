"""Shape functions of layers on images against the real kernels: strides of the sizes 1 count here, as the next layer goes by them."""

import pytest
import torch

from lect.frontends.tensors import make_lt, propagating
from lect.frontends.tensors.metadata import read_meta

aten = torch.ops.aten
NO, ONE = [0, 0], [1, 1]


def statistics(x):
    """Parameters of a normalisation of `x`: weight, bias, mean and variance."""
    return [torch.ones(x.shape[1], dtype=x.dtype) for _ in range(4)]


CALLS = {
    "conv": lambda x: (aten.convolution, x, torch.randn(4, x.shape[1], 1, 1, dtype=x.dtype), None, ONE, NO, ONE, False, NO, 1),
    "transposed conv": lambda x: (aten.convolution, x, torch.randn(x.shape[1], 4, 2, 2, dtype=x.dtype), None, ONE, NO, ONE, True, NO, 1),
    "batch_norm": lambda x: (aten.native_batch_norm, x, *statistics(x), True, 0.1, 1e-5),
    "batch_norm in evaluation": lambda x: (aten.native_batch_norm, x, *statistics(x), False, 0.1, 1e-5),
    "max_pool": lambda x: (aten.max_pool2d_with_indices, x, ONE),
    "avg_pool": lambda x: (aten.avg_pool2d, x, ONE),
    "adaptive_avg_pool": lambda x: (aten._adaptive_avg_pool2d, x, [2, 2]),
    "nearest": lambda x: (aten.upsample_nearest2d, x, [9, 10]),
    "nearest-exact": lambda x: (aten._upsample_nearest_exact2d, x, [9, 10]),
    "bilinear": lambda x: (aten.upsample_bilinear2d, x, [9, 10], False),
    "bicubic": lambda x: (aten.upsample_bicubic2d, x, [9, 10], True),
    "replication_pad": lambda x: (aten.replication_pad2d, x, [1, 0, 2, 1]),
    "reflection_pad": lambda x: (aten.reflection_pad2d, x, NO + NO),
    "gradient of a pad": lambda x: (aten.replication_pad2d_backward, torch.zeros(*x.shape[:2], x.shape[2] + 3, x.shape[3] + 1, dtype=x.dtype), x, [1, 0, 2, 1]),
}
SHAPES = ((2, 3, 4, 5), (2, 1, 8, 8), (1, 1, 8, 8), (2, 3, 1, 1), (2, 3, 8, 1), (2, 3, 1, 8), (2, 1, 8, 1), (2, 1, 1, 1))


def metadata(call):
    """Of the results of a call: by the real kernel, and by propagation."""
    function, *args = call
    real = function(*args)
    with propagating():
        made = function(*[make_lt(read_meta(value)) if isinstance(value, torch.Tensor) else value for value in args])
    both = [values if isinstance(values, tuple) else (values,) for values in (real, made)]
    return [[(tuple(value.shape), value.stride(), value.dtype) for value in values] for values in both]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_layouts_are_those_of_the_real_kernels(name, dtype):
    for shape in SHAPES:
        row_major = torch.randn(shape).to(dtype)
        for x in (row_major, row_major.to(memory_format=torch.channels_last)):
            real, made = metadata(CALLS[name](x))
            assert made == real, (shape, x.stride())


@pytest.mark.parametrize("parameters", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("last", [True, False], ids=["channels_last", "row_major"])
def test_group_norm_of_halves_and_its_gradients(parameters, last):
    for shape in SHAPES:
        x = torch.randn(shape).bfloat16()
        x = x.to(memory_format=torch.channels_last) if last else x
        weight, sizes = torch.ones(shape[1], dtype=parameters), (shape[0], shape[1], shape[2] * shape[3], 1)
        real, made = metadata((aten.native_group_norm, x, weight, weight, *sizes, 1e-5))
        assert made == real, shape
        saved = torch.ones(shape[0], 1, dtype=parameters)
        real, made = metadata((aten.native_group_norm_backward, x, x, saved, saved, weight, *sizes, [True] * 3))
        assert made == real, shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_norms_of_weight_norm(dtype):
    for dim, sizes in ((0, (4, 1)), (1, (1, 3))):
        real, made = metadata((aten._weight_norm_interface, torch.randn(4, 3).to(dtype), torch.randn(sizes).to(dtype), dim))
        assert made == real
