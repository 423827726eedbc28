"""functional-to-loop on reductions, softmax and normalisations: eager's values, NaN, inf and empties included."""

import pytest
import torch
import torch.nn.functional as F

from lect.dialects.functional import normalization, reduction
from lect.ir.types import f32, f64, i32
from tests.unit.loop.programs import INF, NAN, assert_same, execute, lowered, random_tensor
from tests.unit.loop.test_pointwise import FLOATS, INTS, check

SHAPES = [((5, 6, 7), (0,), False), ((5, 6, 7), (1, 2), True), ((5, 6, 7), (0, 1, 2), False), ((4, 1, 3), (1,), False), ((9,), (0,), True), ((), (), False)]


@pytest.mark.parametrize("dtype", FLOATS + (torch.int64, torch.int32, torch.uint8, torch.bool))
@pytest.mark.parametrize(("shape", "dims", "keepdim"), SHAPES)
def test_sums_and_extrema(shape, dims, keepdim, dtype):
    x = random_tensor(shape, dtype, special=False)
    check(lambda emit, x: emit(reduction.SumOp(x, dims, keepdim)), lambda x: x.sum(dims, keepdim), [x])
    check(lambda emit, x: emit(reduction.AmaxOp(x, dims, keepdim)), lambda x: x.amax(dims, keepdim), [x])
    check(lambda emit, x: emit(reduction.AminOp(x, dims, keepdim)), lambda x: x.amin(dims, keepdim), [x])
    if dims:
        check(lambda emit, x: emit(reduction.AnyOp(x, dims, keepdim)), lambda x: x.bool().any(dims, keepdim), [x])
        check(lambda emit, x: emit(reduction.AllOp(x, dims, keepdim)), lambda x: x.bool().all(dims, keepdim), [x])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "dims", "keepdim"), SHAPES)
def test_means_variances_and_norms(shape, dims, keepdim, dtype):
    x = random_tensor(shape, dtype, special=False)
    check(lambda emit, x: emit(reduction.MeanOp(x, dims, keepdim)), lambda x: x.mean(dims, keepdim), [x])
    for correction in (0, 1, 100):
        check(
            lambda emit, x: emit(reduction.VarMeanOp(x, dims, correction, keepdim)),
            lambda x: torch.var_mean(x, dims, correction=correction, keepdim=keepdim),
            [x],
        )
    for order in (2, 1, 0, INF, -INF, 3.5):
        check(
            lambda emit, x: emit(reduction.VectorNormOp(x, dims, order, keepdim)),
            lambda x: torch.linalg.vector_norm(x, order, dims, keepdim),
            [x],
        )
    check(lambda emit, x: emit(reduction.LogsumexpOp(x, dims, keepdim)), lambda x: x.logsumexp(dims, keepdim), [x])


def test_sums_take_another_type():
    x, n = random_tensor((6, 50), torch.float32), random_tensor((6, 50), torch.int64)
    check(lambda emit, x: emit(reduction.SumOp(x, (1,), element=f64)), lambda x: x.sum(1, dtype=torch.float64), [x])
    check(lambda emit, x: emit(reduction.SumOp(x, (1,), element=i32)), lambda x: x.sum(1, dtype=torch.int32), [n])
    check(lambda emit, x: emit(reduction.MeanOp(x, (1,), element=f32)), lambda x: x.mean(1, dtype=torch.float32), [n])


def test_halves_accumulate_in_full_precision():
    x = torch.ones(70000, dtype=torch.float16)
    check(lambda emit, x: emit(reduction.SumOp(x, (0,))), torch.sum, [x], exact=True)
    check(lambda emit, x: emit(reduction.MeanOp(x, (0,))), torch.mean, [x], exact=True)
    x = torch.ones(512, dtype=torch.bfloat16)
    check(lambda emit, x: emit(reduction.SumOp(x, (0,))), torch.sum, [x], exact=True)


@pytest.mark.parametrize("dtype", FLOATS + INTS + (torch.bool,))
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_positions_of_extrema(dim, dtype):
    x = random_tensor((8, 9), dtype, 5)
    check(lambda emit, x: emit(reduction.ArgmaxOp(x, dim)), lambda x: first_position(x, dim, True), [x])
    check(lambda emit, x: emit(reduction.ArgminOp(x, dim)), lambda x: first_position(x, dim, False), [x])
    if dim is not None:
        check(lambda emit, x: emit(reduction.MaxWithIndexOp(x, dim)), lambda x: (x.max(dim).values, first_position(x, dim, True)), [x])
        check(lambda emit, x: emit(reduction.MinWithIndexOp(x, dim, True)), lambda x: tuple(x.min(dim, True)), [x])


def first_position(x, dim, largest):
    """argmax and argmin, which eager does not have for bools."""
    x = x.to(torch.int32) if x.dtype == torch.bool else x
    return x.argmax(dim) if largest else x.argmin(dim)


@pytest.mark.parametrize("fill", [NAN, INF, -INF])
def test_rows_of_specials(fill):
    x = random_tensor((4, 33), torch.float32, special=False)
    x[0] = fill
    x[1, 5] = fill
    x[2, 3], x[2, 4] = fill, -fill
    for cls, eager in ((reduction.SoftmaxOp, torch.softmax), (reduction.LogSoftmaxOp, torch.log_softmax)):
        check(lambda emit, x: emit(cls(x, 1)), lambda x: eager(x, 1), [x])
    check(lambda emit, x: emit(reduction.SoftmaxOp(x, 1, safe=True)), lambda x: torch.ops.aten._safe_softmax(x, 1), [x])
    check(lambda emit, x: emit(reduction.LogsumexpOp(x, (1,))), lambda x: x.logsumexp(1), [x])
    check(lambda emit, x: emit(reduction.SumOp(x, (1,))), lambda x: x.sum(1), [x])
    check(lambda emit, x: emit(reduction.AmaxOp(x, (1,))), lambda x: x.amax(1), [x])
    check(lambda emit, x: emit(reduction.ArgmaxOp(x, 1)), lambda x: x.argmax(1), [x])
    check(lambda emit, x: emit(reduction.ProdOp(x, (1,))), lambda x: x.prod(1), [x])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_reductions_of_nothing(shape):
    x = torch.empty(shape)
    dims = tuple(range(len(shape)))
    check(lambda emit, x: emit(reduction.SumOp(x, dims)), lambda x: x.sum(), [x])
    check(lambda emit, x: emit(reduction.ProdOp(x, (0,))), lambda x: x.prod(0), [x])
    check(lambda emit, x: emit(reduction.MeanOp(x, dims)), lambda x: x.mean(), [x])
    check(lambda emit, x: emit(reduction.AllOp(x, dims)), lambda x: x.bool().all(), [x])
    check(lambda emit, x: emit(reduction.AnyOp(x, dims)), lambda x: x.bool().any(), [x])
    check(lambda emit, x: emit(reduction.LogsumexpOp(x, (0,))), lambda x: x.logsumexp(0), [x])
    check(lambda emit, x: emit(reduction.SoftmaxOp(x, 0)), lambda x: x.softmax(0), [x])
    check(lambda emit, x: emit(reduction.VarMeanOp(x, dims)), lambda x: torch.var_mean(x), [x])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax(dim, dtype):
    x = random_tensor((4, 6, 40), dtype, special=False)
    g = random_tensor((4, 6, 40), dtype, 7, special=False)
    check(lambda emit, x: emit(reduction.SoftmaxOp(x, dim)), lambda x: x.softmax(dim), [x])
    check(lambda emit, x: emit(reduction.LogSoftmaxOp(x, dim)), lambda x: x.log_softmax(dim), [x])
    y = x.softmax(dim)
    backward = torch.ops.aten._softmax_backward_data
    check(lambda emit, g, y: emit(reduction.SoftmaxBackwardOp(g, y, dim)), lambda g, y: backward(g, y, dim, dtype), [g, y])
    y = x.log_softmax(dim)
    log_backward = torch.ops.aten._log_softmax_backward_data
    check(lambda emit, g, y: emit(reduction.LogSoftmaxBackwardOp(g, y, dim)), lambda g, y: log_backward(g, y, dim, dtype), [g, y])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("parameters", [True, False])
def test_layer_norm(parameters, dtype):
    x = random_tensor((5, 3, 40), dtype, special=False) * 3 + 1
    w, b = (random_tensor((3, 40), dtype, k, special=False) for k in (1, 2))
    if parameters:
        check(
            lambda emit, x, w, b: emit(normalization.LayerNormOp(x, w, b, (3, 40), 1e-5)),
            lambda x, w, b: torch.native_layer_norm(x, (3, 40), w, b, 1e-5),
            [x, w, b],
            tolerance=2e-2 if dtype.itemsize == 2 else None,
        )
    else:
        check(lambda emit, x: emit(normalization.LayerNormOp(x, None, None, (40,), 1e-5)), lambda x: torch.native_layer_norm(x, (40,), None, None, 1e-5), [x])


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_layer_norm_with_parameters_of_full_precision(dtype):
    x = random_tensor((5, 64), dtype, special=False)
    w, b = (random_tensor((64,), torch.float32, k, special=False) for k in (1, 2))
    check(
        lambda emit, x, w, b: emit(normalization.LayerNormOp(x, w, b, (64,), 1e-5)),
        lambda x, w, b: torch.native_layer_norm(x, (64,), w, b, 1e-5),
        [x, w, b],
        tolerance=2e-2,
    )


@pytest.mark.parametrize("shape", [(3, 8, 5, 5), (2, 8), (2, 8, 7)])
def test_group_norm(shape):
    x = random_tensor(shape, torch.float32, special=False)
    w, b = (random_tensor((8,), torch.float32, k, special=False) for k in (1, 2))
    count = x[0, 0].numel()
    check(
        lambda emit, x, w, b: emit(normalization.GroupNormOp(x, w, b, 4, 1e-5)),
        lambda x, w, b: torch.native_group_norm(x, w, b, shape[0], 8, count, 4, 1e-5),
        [x, w, b],
        tolerance=1e-5,
    )


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_batch_norm_with_running_statistics(memory_format):
    x = random_tensor((3, 8, 5, 6), torch.float32, special=False).contiguous(memory_format=memory_format)
    w, b, mean = (random_tensor((8,), torch.float32, k, special=False) for k in (1, 2, 3))
    var = random_tensor((8,), torch.float32, 4, special=False).abs() + 0.1

    def build(emit, x, w, b, mean, var):
        strides = tuple(x.type.strides)
        op = normalization.BatchNormOp(x, mean, var, w, b, False, 0.1, 1e-5, result_types=[x.type.with_strides(strides), *normal_types(x, mean)])
        op.attrs["strides"] = (strides, (1,), (1,), (1,), (1,))
        return emit(op).results[0]

    def normal_types(x, mean):
        saved = mean.type.like((0,))
        return saved, saved, mean.type, mean.type

    check(build, lambda x, w, b, mean, var: F.batch_norm(x, mean, var, w, b, False, 0.1, 1e-5), [x, w, b, mean, var], tolerance=1e-5)


def test_rows_of_one_number_have_no_variance():
    x = torch.tensor([[1.0], [2.0]])
    found = execute(lowered(lambda emit, x: emit(reduction.VarMeanOp(x, (1,))), [x]), [x])
    assert found[0].isnan().all()
    assert_same(found[1], torch.tensor([1.0, 2.0]))


def test_nearly_equal_numbers_keep_their_variance():
    """Two folds around the mean: squares of large numbers must not cancel."""
    x = (torch.randn(4, 4096, dtype=torch.float64) + 1e4).float()
    found = execute(lowered(lambda emit, x: emit(reduction.VarMeanOp(x, (1,))), [x]), [x])
    torch.testing.assert_close(found[0].double(), x.double().var(1), rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("shape", "channels_last"), [((6, 8), False), ((3, 8, 5, 6), False), ((3, 8, 5, 6), True), ((1, 3, 1, 2), False)])
def test_batch_norm_in_training(shape, channels_last, affine, dtype):
    x = random_tensor(shape, dtype, special=False) * 3 + 5
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    w, b, mean, var = (random_tensor((shape[1],), dtype, k, special=False) for k in (1, 2, 3, 4))
    given = [x, mean, var, *([w, b] if affine else [])]

    def build(emit, x, mean, var, w=None, b=None):
        strides = (tuple(x.type.strides), *((1,),) * 4)
        op = normalization.BatchNormOp(x, mean, var, w, b, True, 0.2, 1e-3, result_types=[x.type, *[mean.type] * 4])
        op.attrs["strides"] = strides
        return emit(op).results

    def want(x, mean, var, w=None, b=None):
        moved = mean.clone(), var.clone()
        return *torch.native_batch_norm(x, w, b, *moved, True, 0.2, 1e-3), *moved

    for found, expected in zip(execute(lowered(build, given), given), want(*given)):
        assert found.stride() == expected.stride()
        torch.testing.assert_close(found, expected, rtol=1e-6 if dtype is torch.float32 else 1e-13, atol=1e-6 if dtype is torch.float32 else 1e-13)


@pytest.mark.parametrize("eps", [0, 1e-5])
def test_batch_norm_of_channels_without_variance_and_with_special_numbers(eps):
    x = torch.randn(5, 6)
    x[:, 1], x[2, 2], x[3, 3], x[:, 4] = 2.5, NAN, INF, 0.0
    mean, var = torch.randn(6), torch.rand(6)

    def build(emit, x, mean, var):
        return emit(normalization.BatchNormOp(x, mean, var, None, None, True, 0.1, eps)).results

    moved = mean.clone(), var.clone()
    wanted = *torch.native_batch_norm(x, None, None, *moved, True, 0.1, eps), *moved
    for found, expected in zip(execute(lowered(build, [x, mean, var]), [x, mean, var]), wanted):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("shape", "channels_last"), [((6, 8), False), ((3, 8, 5, 6), False), ((3, 8, 5, 6), True)])
def test_batch_norm_backward(shape, channels_last, affine):
    x, gradient = (random_tensor(shape, torch.float32, k, special=False) for k in (1, 2))
    x = x.contiguous(memory_format=torch.channels_last) if channels_last else x
    w = random_tensor((shape[1],), torch.float32, 3, special=False) if affine else None
    _, mean, rstd = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)

    def build(emit, gradient, x, mean, rstd, w=None):
        op = normalization.BatchNormBackwardOp(gradient, x, mean, rstd, w, True, 1e-5, result_types=[x.type, mean.type, mean.type])
        op.attrs["strides"] = (tuple(x.type.strides), (1,), (1,))
        return emit(op).results

    given = [gradient, x, mean, rstd, *([w] if affine else [])]
    ones = torch.ones(shape[1]) if w is None else w
    wanted = torch.ops.aten.native_batch_norm_backward(gradient, x, ones, None, None, mean, rstd, True, 1e-5, [True] * 3)
    for found, expected in zip(execute(lowered(build, given), given), wanted):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
