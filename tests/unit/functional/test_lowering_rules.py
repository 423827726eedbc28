"""Rules for single ATen overloads: eager's values, dtypes and strides on edge inputs, and no opaque call left."""

from __future__ import annotations

import math

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.backends.reference.loop import run as run_loop
from lect.passes.convert.functional_to_loop import lower_function
from tests.unit.functional.programs import GraphBuilder, check_call, compare, opaque_targets

aten = torch.ops.aten
SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e-40, 0.1, -1.0, 3.0, 1e30]
F32, F64, BF16, F16, I64, U8, BOOL = torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool


def numbers(dtype, *shape):
    """Special numbers, repeated to a shape."""
    count = math.prod(shape)
    values = torch.tensor((SPECIAL * (count // len(SPECIAL) + 1))[:count], dtype=F64)
    if not dtype.is_floating_point:
        values = values.nan_to_num(2, 7, -7).clamp(-100, 100)
        values = values.abs() if dtype is U8 else values
    return values.to(dtype).view(shape)


def layouts(x):
    """The tensor dense, transposed and strided."""
    yield x
    if x.dim() > 1:
        yield x.transpose(0, -1).contiguous().transpose(0, -1)
        wide = torch.zeros(*x.shape[:-1], x.shape[-1] * 2, dtype=x.dtype)
        wide[..., ::2] = x
        yield wide[..., ::2]


def check(overload, *args, exact=True, **kwargs):
    """The call is decomposed, and gives what eager gives."""
    func = check_call(f"torch.ops.{str(overload)}", overload, *args, exact=exact, **kwargs)
    assert opaque_targets(func) == []


@pytest.mark.parametrize("dtype", [F32, BF16, F16, I64, BOOL], ids=str)
def test_gradients_of_views(dtype):
    for x in layouts(numbers(dtype, 2, 4, 3)):
        check(aten.slice_backward.default, x, [2, 9, 3], 1, 2, 6, 1)
        check(aten.slice_backward.default, x, [2, 9, 3], -2, -4, 2**63 - 1, 1)
        check(aten.slice_backward.default, x, [2, 11, 3], 1, 1, 9, 2)
        check(aten.slice_backward.default, x, [2, 4, 3], 0, 0, 2**63 - 1, 1)
        check(aten.select_backward.default, x, [2, 5, 4, 3], 1, -1)
        check(aten.select_backward.default, x, [2, 4, 3, 6], -1, 2)
        check(aten.diagonal_backward.default, x, [2, 4, 3, 4], 1, -2, -1)
        check(aten.diagonal_backward.default, x, [3, 2, 4, 5], -0, 0, 3)
        check(aten.diag_embed.default, x)
        check(aten.diag_embed.default, x, -2, 0, 2)
    check(aten.slice_backward.default, numbers(dtype, 2, 0), [2, 5], 1, 3, 3, 1)
    check(aten.select_backward.default, numbers(dtype, 1)[0], [4], 0, 3)


@pytest.mark.parametrize("dtype", [F32, I64], ids=str)
def test_views_that_are_copied(dtype):
    for x in layouts(numbers(dtype, 2, 4, 3)):
        check(aten.unsqueeze_copy.default, x, 1)
        check(aten.transpose_copy.int, x, 0, -1)
        check(aten.permute_copy.default, x, [2, 0, 1])
        check(aten.expand_copy.default, x[:1], [5, 4, 3])
        check(aten.slice_copy.Tensor, x, 1, 1, 3)
        check(aten.select_copy.int, x, 1, 2)
        check(aten.diagonal_copy.default, x, 1, 0, 1)
        check(aten.narrow_copy.default, x, 1, -3, 2)
        check(aten.squeeze_copy.dim, x[:, :1], 1)
        check(aten.unbind_copy.int, x, 1)
        check(aten.split_copy.Tensor, x, 3, 1)
        check(aten.split_with_sizes_copy.default, x, [1, 3], 1)
    check(aten.view_copy.default, numbers(dtype, 2, 6), [3, 4])
    check(aten.t_copy.default, numbers(dtype, 2, 6))
    check(aten.fill.Tensor, numbers(dtype, 4, 2).t(), torch.tensor(2.7))
    check(aten.fill.Tensor, numbers(dtype, 0, 2), torch.tensor(True))


@pytest.mark.parametrize("dtype", [F32, F64, BF16, I64, BOOL], ids=str)
@pytest.mark.parametrize("name", ["reflection_pad", "replication_pad"])
def test_padding_at_the_edges(name, dtype):
    if name == "replication_pad" and dtype is BOOL:
        pytest.skip("eager refuses it")
    for spatial, sizes in ((1, [2, 3, 5]), (2, [3, 4, 5]), (3, [2, 3, 4, 5]), (2, [2, 3, 4, 5])):
        overload = getattr(aten, f"{name}{spatial}d").default
        for x in layouts(numbers(dtype, *sizes)):
            for counts in ([1, 2] * spatial, [0, 1] * spatial, [2, 0] * spatial, [-1, 2] * spatial, [0, 0] * spatial, [-1, -1] * spatial):
                try:
                    overload(x, counts)
                except (RuntimeError, NotImplementedError):
                    continue
                check(overload, x, counts)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_formulas(dtype):
    for x in layouts(numbers(dtype, 3, 4)):
        y = x.flip(0)
        for decimals in (0, 1, 3, -1):
            check(aten.round.decimals, x * 12.3456, decimals=decimals)
        check(aten.deg2rad.default, x)
        check(aten.rad2deg.default, x)
        check(aten.mse_loss_backward.default, y, x, y * 0.5, 0, exact=False)
        check(aten.mse_loss_backward.default, torch.tensor(1.5, dtype=dtype), x, y * 0.5, 1, exact=False)
        finite = torch.randn(3, 4, dtype=dtype)
        for order in (0, 1, 2, 3.5, math.inf, -math.inf):
            check(aten.dist.default, finite, finite.flip(1) * 0.3, order, exact=False)
        check(aten.linalg_cross.default, finite[:, :3], finite[:, 1:], exact=False)
        check(aten.linalg_cross.default, finite, finite[:, :1], dim=0, exact=False)
    check(aten.vdot.default, torch.randn(17, dtype=dtype), torch.randn(17, dtype=dtype), exact=False)
    check(aten.vdot.default, torch.randn(0, dtype=dtype), torch.randn(0, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, I64, U8], ids=str)
def test_integers(dtype):
    info = torch.iinfo(dtype)
    x = torch.tensor([0, 1, 12, 0, info.max, info.min, 7, 100], dtype=dtype)
    check(aten.lcm.default, x, x.flip(0))
    check(aten.lcm.default, x, torch.tensor(18, dtype=dtype))
    check(aten.deg2rad.default, x)
    check(aten.isin.Tensor_Tensor, x, torch.tensor([0, 7, 7], dtype=dtype))


@pytest.mark.parametrize("dtype", [F32, BF16, F16, F64], ids=str)
def test_membership_and_dropout(dtype):
    x = numbers(dtype, 4, 6)
    few = torch.tensor([0.0, math.nan, 3.0, math.inf], dtype=dtype)
    check(aten.isin.Tensor_Tensor, x, few)
    check(aten.isin.Tensor_Tensor, x.t(), few, invert=True)
    check(aten.isin.Tensor_Tensor, x[0, 0], few[:1])
    check(aten.isin.Tensor_Tensor, x[:0], few)
    check(aten.native_dropout_backward.default, x, torch.rand(4, 6) > 0.3, 1.25)
    check(aten.deg2rad.default, x)


def test_membership_of_many_is_left_to_eager():
    graph = GraphBuilder()
    x, many = torch.arange(5), torch.arange(200)
    want = graph.call("torch.isin", torch.isin, x, many)
    func = graph.lower([want])
    assert opaque_targets(func) == ["aten.isin.Tensor_Tensor"]
    compare(want, run_functional(func, graph.inputs)[0])


def test_boundaries():
    edges = torch.tensor([-1.0, 0.0, 2.0, 2.0])
    for x in (numbers(F32, 3, 4), numbers(F32, 3, 4).t(), torch.tensor(2.0), torch.empty(0)):
        check(aten.bucketize.Tensor, x, edges)
        check(aten.bucketize.Tensor, x, edges, out_int32=True, right=True)


def gradients(overload, *args):
    """The call of a backward operator is decomposed; what it asks for is eager's, also for the loop form of the graph."""
    graph = GraphBuilder()
    found = graph.call(f"torch.ops.{str(overload)}", overload, *args)
    wanted = [found] if isinstance(found, torch.Tensor) else [value for value in found if value is not None]
    func = graph.lower(wanted)
    assert opaque_targets(func) == []
    for want, got in zip(wanted, run_functional(func, graph.inputs)):
        compare(want, got, exact=False)
    lowered = lower_function(func)
    for want, got in zip(wanted, run_loop(lowered, graph.inputs)):
        compare(want, got, exact=False)


MASKS = [[True, True, True], [False, True, True], [True, False, False], [False, True, False]]


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_backward(transposed, mask):
    x, weight = torch.randn(2, 4, 7, 6), torch.randn(4, 2, 3, 3)
    geometry = ([2, 1], [1, 0], [1, 2], transposed, [1, 0] if transposed else [0, 0], 2)
    out = aten.convolution.default(x, weight, None, *geometry)
    slopes = [torch.randn_like(out), torch.randn(out.shape).to(memory_format=torch.channels_last)]
    # Before 2.12 torch's meta kernel has another layout than the kernel itself where the slope alone is channels-last; such a graph runs through torch.
    for gradient in slopes[: 1 if torch.__version__ < "2.12" else 2]:
        gradients(aten.convolution_backward.default, gradient, x, weight, [out.shape[1]], *geometry, mask)
    gradients(aten.convolution_backward.default, torch.randn(2, 3, 5), torch.randn(2, 4, 7), torch.randn(3, 4, 3), [3], [1], [0], [1], False, [0], 1, mask)


def test_pools_and_resampling_backward():
    for spatial in (2, 3):
        x = torch.randn(2, 3, *[6] * spatial)
        for options in (([2], [2], [0], False, True, None), ([3], [2], [1], True, False, None), ([3], [], [1], False, True, 5)):
            out = getattr(aten, f"avg_pool{spatial}d").default(x, *options)
            gradients(
                getattr(aten, f"avg_pool{spatial}d_backward").default, torch.randn_like(out), x, *[o * spatial if isinstance(o, list) else o for o in options]
            )
        gradients(getattr(aten, f"_adaptive_avg_pool{spatial}d_backward").default, torch.randn(2, 3, *[4] * spatial), x)
    for name, spatial, rest in (
        ("nearest1d", 1, ()), ("nearest2d", 2, ()), ("nearest3d", 3, ()), ("linear1d", 1, (True,)), ("bilinear2d", 2, (False,)), ("trilinear3d", 3, (False,)),
        ("bicubic2d", 2, (True,)),
    ):  # fmt: skip
        for scales in ((None,) * spatial, (1.7,) * spatial):
            gradient = torch.randn(2, 3, *[7] * spatial)
            gradients(getattr(aten, f"upsample_{name}_backward").default, gradient, list(gradient.shape[2:]), [2, 3, *[4] * spatial], *rest, *scales)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_normalisations_backward(mask):
    x, gradient, weight = torch.randn(2, 6, 4, 5), torch.randn(2, 6, 4, 5), torch.randn(6)
    _, mean, rstd = aten.native_group_norm.default(x, weight, None, 2, 6, 20, 3, 1e-5)
    gradients(aten.native_group_norm_backward.default, gradient, x, mean, rstd, weight, 2, 6, 20, 3, mask)
    for shape in ((4, 6), (2, 6, 5), (2, 6, 4, 5)):
        x, gradient = torch.randn(shape), torch.randn(shape)
        _, mean, rstd = torch.native_batch_norm(x, weight, None, None, None, True, 0.1, 1e-5)
        for factor in (weight, None):
            gradients(aten.native_batch_norm_backward.default, gradient, x, factor, None, None, mean, rstd, True, 1e-5, mask)
    v, g = torch.randn(5, 4, 3), torch.randn(5, 1, 1)
    w, norm = aten._weight_norm_interface.default(v, g, 0)
    gradients(aten._weight_norm_interface_backward.default, torch.randn_like(w), v, g, norm, 0)


def test_triangles_of_columns():
    """A dim of size 1 may have any stride; eager gives the result a row-major one."""
    for x in (torch.randn(1, 6).t(), torch.randn(4, 1, 8).permute(0, 2, 1), torch.randn(6, 4).t(), torch.randn(0, 3)):
        check(aten.tril.default, x)
        check(aten.triu.default, x, -1)
