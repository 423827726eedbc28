"""functional-to-loop on operations that read and write at computed places: own nests alone, by the reference and as native code."""

import itertools

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.functional import composite, gather, normalization, pointwise, reduction, window
from lect.dialects.loop.ops import ExternOp
from lect.ir import verify
from lect.ir.types import i32
from lect.passes.convert.functional_to_loop_gather import CHECK
from lect.passes.manager import PassManager
from lect.runtime.executable import build as build_native
from tests.unit.loop.programs import assert_same, execute, functional_module, lowered, random_tensor

DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)


def indices(shape, limit, seed=0):
    return torch.randint(limit, shape, generator=torch.Generator().manual_seed(seed))


def values(shape, dtype=torch.float32, seed=0):
    return random_tensor(shape, dtype, seed, special=False)


def run_native(build, tensors):
    """The program through all passes as native code of this machine."""
    ctx = make_context()
    module = functional_module(build, tensors)
    PassManager.parse("loop,kernel").run(module, ctx)
    verify(module)
    return build_native(module, ctx)(*tensors)


def check(build, tensors, exact=False, tolerance=None):
    """The lowered program calls no library and gives what the functional program means."""
    wanted = run_functional(functional_module(build, tensors).body.first, tensors)
    module = lowered(build, tensors)
    called = [op.callee.leaf for op in module.body.first.body if isinstance(op, ExternOp)]
    assert set(called) <= {CHECK}, called
    for result in (execute(module, tensors), run_native(build, tensors)):
        for found, value in zip(result, wanted, strict=True):
            assert_same(found, value, exact=exact, tolerance=tolerance)


def fits(dtype, mode):
    """Whether eager has the mode for a dtype."""
    return dtype is not torch.bool or mode in ("set", "add", "amax", "amin", "sum")


@pytest.mark.parametrize("shape", [(5,), (2, 3), (), (0,)])
def test_index_of_rows(shape):
    rows = indices(shape, 7)
    x, y = torch.randn(7, 4), torch.randn(3, 7, 4)
    check(lambda emit, x, i: emit(gather.IndexOp(x, [i], (0,), False)), [x, rows], exact=True)
    check(lambda emit, x, i: emit(gather.IndexOp(x, [i], (1,), False)), [y, rows.int()], exact=True)
    check(lambda emit, x, i: emit(gather.IndexOp(x, [i], (1,))), [y, rows - 7], exact=True)
    check(lambda emit, x, i: emit(gather.IndexOp(x, [i], (0,))), [y[:1], rows * 0], exact=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_and_index_put_of_pairs(dtype, accumulate):
    x, i, j = values((3, 7, 4), dtype), indices((2, 5), 3), indices((5,), 4, 1) - 4
    check(lambda emit, x, i, j: emit(gather.IndexOp(x, [i, j], (0, 2))), [x, i, j], exact=True)
    check(lambda emit, x, i, j: emit(gather.IndexOp(x, [i, j], (0, 1))), [x.transpose(1, 2), i, j], exact=True)
    new = values((2, 5, 7), dtype, 3)
    check(lambda emit, x, v, i, j: emit(gather.IndexPutOp(x, v, [i, j], (0, 2), accumulate)), [x, new, i, j])
    check(lambda emit, x, v, i: emit(gather.IndexPutOp(x, v, [i], (1,), accumulate)), [x, values((1,), dtype, 3), i])
    nothing = torch.zeros(0, dtype=torch.int64)
    check(lambda emit, x, v, i: emit(gather.IndexPutOp(x, v, [i], (1,), accumulate)), [x, values((3, 0, 4), dtype), nothing])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather(dtype):
    x = values((4, 9), dtype)
    check(lambda emit, x, i: emit(gather.GatherOp(x, i, 1)), [x, indices((2, 5), 9)], exact=True)
    check(lambda emit, x, i: emit(gather.GatherOp(x, i, 0)), [x.t().contiguous().t(), indices((20, 9), 4)], exact=True)


MODES = ("set", "add", "multiply", "sum", "prod", "mean", "amax", "amin")


def scatters():
    """Each mode with each dtype and both ways to begin; what no other case shows by itself is not slow."""
    for (place, mode), (other, dtype), include_self in itertools.product(enumerate(MODES), enumerate(DTYPES), (True, False)):
        alone = dtype is torch.float32 or (place + other) % 2 == include_self
        yield pytest.param(mode, include_self, dtype, marks=() if alone else pytest.mark.slow)


@pytest.mark.parametrize(("mode", "include_self", "dtype"), scatters())
def test_scatter(mode, include_self, dtype):
    if not fits(dtype, mode) or (not include_self and mode in ("set", "add", "multiply")):
        pytest.skip("eager has no such scatter")
    how = {"mode": mode, "include_self": include_self}
    x, index, src = values((4, 9), dtype), indices((4, 30), 9), values((5, 31), dtype, 3)
    check(lambda emit, x, i, s: emit(gather.ScatterOp(x, i, s, dim=1, **how)), [x, index, src])
    check(lambda emit, x, i, s: emit(gather.ScatterOp(x, i, s, dim=0, **how)), [x.t(), index.t(), src.t()])
    check(lambda emit, x, i, s: emit(gather.ScatterOp(x, i, s, dim=1, **how)), [x, index[:, :0], src])
    if mode in ("set", "add", "multiply"):
        check(lambda emit, x, i: emit(gather.ScatterOp(x, i, dim=1, mode=mode, value=dtype is torch.bool or 1)), [x, index])


def test_extrema_keep_nan():
    x, src = torch.randn(3), torch.tensor([float("nan"), 1.0, float("inf"), -0.0])
    index = torch.tensor([0, 1, 0, 2])
    for mode in ("amax", "amin"):
        check(lambda emit, x, i, s, m=mode: emit(gather.ScatterOp(x, i, s, dim=0, mode=m)), [x, index, src])


@pytest.mark.parametrize("dtype", DTYPES)
def test_known_places(dtype):
    x = values((4, 9), dtype)
    check(lambda emit, x, s: emit(gather.SliceScatterOp(x, s, 1, 2, 8, 2)), [x, values((4, 3), dtype, 1)], exact=True)
    check(lambda emit, x, s: emit(gather.SliceScatterOp(x, s, 1, 0, 9, 4)), [x, values((4, 3), dtype, 1)], exact=True)
    for offset, count in ((1, 4), (-2, 2), (0, 4)):
        check(lambda emit, x, s, o=offset: emit(gather.DiagonalScatterOp(x, s, o)), [x, values((count,), dtype, 1)], exact=True)
    y = values((3, 4, 5), dtype)
    check(lambda emit, x, s: emit(gather.DiagonalScatterOp(x, s, 1, 2, 0)), [y, values((4, 2), dtype, 1)], exact=True)
    check(lambda emit, x, s: emit(gather.AsStridedScatterOp(x, s, (2, 3), (9, 2), 1)), [x, values((2, 3), dtype, 1)], exact=True)
    check(lambda emit, x, s: emit(gather.AsStridedScatterOp(x, s, (2, 3, 2), (1, 2, 12), 5)), [x, values((2, 3, 2), dtype, 1)], exact=True)


@pytest.mark.parametrize("dtype", DTYPES[:2])
@pytest.mark.parametrize("padding", [-1, 3])
def test_embedding_backward_rounds_every_sum(dtype, padding):
    rows, gradient = indices((40, 5), 10), values((40, 5, 33), dtype)
    check(lambda emit, g, i: emit(gather.EmbeddingBackwardOp(g, i, 10, padding)), [gradient, rows])
    ones = torch.ones(512, 1, dtype=dtype)
    check(lambda emit, g, i: emit(gather.EmbeddingBackwardOp(g, i, 10, padding)), [ones, torch.zeros(512, dtype=torch.int64)], exact=True)


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_max_pool_backward(dtype):
    x = values((3, 4, 8, 8), dtype)
    found, where = torch.nn.functional.max_pool2d(x.float(), 3, 1, return_indices=True)
    check(lambda emit, g, x, i: emit(window.MaxPoolBackwardOp(g, x, i, 2)), [found.to(dtype), x, where])


@pytest.mark.parametrize("negative", [True, False])
def test_an_index_out_of_range_raises(negative):
    x, i, v = torch.randn(7, 4), torch.tensor([1, 7]), torch.randn(2, 4)
    programs = [
        (lambda emit, x, i, v: emit(gather.IndexOp(x, [i], (0,), negative)), i),
        (lambda emit, x, i, v: emit(gather.IndexOp(x, [i], (0,), negative)), -i - (1 if negative else 0)),
        (lambda emit, x, i, v: emit(gather.IndexPutOp(x, v, [i], (0,), True, negative)), i),
        (lambda emit, x, i, v: emit(gather.ScatterOp(x, i, v, dim=0, mode="add")), i[:, None].expand(2, 4)),
        (lambda emit, x, i, v: emit(gather.EmbeddingBackwardOp(v, i, 7)), i),
    ]
    for build, index in programs:
        tensors = [x, index, v]
        with pytest.raises((IndexError, RuntimeError), match="out of its dimension"):
            execute(lowered(build, tensors), tensors)
        with pytest.raises((IndexError, RuntimeError), match="out of its dimension"):
            run_native(build, tensors)


def floats(*shapes, seed=0, positive=False):
    made = [values(shape, torch.float32, seed + k) for k, shape in enumerate(shapes)]
    return [tensor.abs() + 0.1 for tensor in made] if positive else made


X = (3, 4, 8, 8)
CASES = {
    "upsample nearest": (window.UpsampleOp, floats(X), {"kind": "nearest", "size": (16, 16)}),
    "upsample bilinear": (window.UpsampleOp, floats(X), {"kind": "linear", "size": (5, 5), "align_corners": True}),
    "upsample bicubic": (window.UpsampleOp, floats(X), {"kind": "cubic", "size": (9, 9)}),
    "upsample_backward": (window.UpsampleBackwardOp, floats((3, 4, 16, 16)), {"kind": "linear", "input_size": X}),
    "searchsorted": (gather.SearchsortedOp, [torch.randn(3, 9).sort().values, torch.randn(3, 4)], {"right": True}),
    "integer pow": (pointwise.PowOp, [indices((20,), 9), indices((20,), 5, 1)], {}),
    "integer remainder": (pointwise.RemainderOp, [indices((20,), 50), indices((20,), 7, 1) + 1], {}),
    "hardswish_backward": (composite.HardswishBackwardOp, floats((20,), (20,)), {}),
    "hardsigmoid_backward": (composite.HardsigmoidBackwardOp, floats((20,), (20,)), {}),
    "hardtanh_backward": (composite.HardtanhBackwardOp, floats((20,), (20,)), {}),
    "leaky_relu_backward": (composite.LeakyReluBackwardOp, floats((20,), (20,)), {"negative_slope": 0.2}),
    "glu_backward": (composite.GluBackwardOp, floats((5, 4), (5, 8)), {"dim": 1}),
    "shrink_backward": (composite.ShrinkBackwardOp, floats((20,), (20,)), {"kind": "soft"}),
    "cumsum": (reduction.CumsumOp, floats((4, 9)), {"dim": 1}),
    "cumsum of integers": (reduction.CumsumOp, [indices((4, 9), 5).to(torch.int32)], {"dim": 0}),
    "cumprod": (reduction.CumprodOp, floats((4, 9)), {"dim": 1}),
    "logcumsumexp": (reduction.LogcumsumexpOp, floats((4, 9)), {"dim": 1}),
    "cummax": (reduction.CummaxWithIndexOp, floats((4, 9)), {"dim": 1}),
    "cummin": (reduction.CummaxWithIndexOp, floats((4, 9)), {"dim": 1, "kind": "min"}),
    "avg_pool": (window.WindowSumOp, floats(X), {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "divisor": "padded"}),
    "avg_pool of valid elements": (window.WindowSumOp, floats(X), {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "divisor": "valid"}),
    "adaptive_avg_pool": (window.WindowSumOp, floats(X), {"output_size": (3, 3), "divisor": "valid"}),
    "max_pool": (window.WindowMaxWithIndexOp, floats(X), {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}),
    "adaptive_max_pool": (window.WindowMaxWithIndexOp, floats(X), {"output_size": (3, 3)}),
    "avg_pool_backward": (
        window.AvgPoolBackwardOp,
        floats((3, 4, 4, 4), X),
        {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "divisor": "padded"},
    ),
    "mse": (normalization.MseOp, floats((5, 4), (5, 4)), {}),
    "huber": (normalization.HuberOp, floats((5, 4), (5, 4)), {"delta": 0.7, "reduction": "none"}),
    "smooth_l1": (normalization.HuberOp, floats((5, 4), (5, 4)), {"delta": 0.7, "smooth": True}),
    "bce": (normalization.BceOp, [torch.rand(5, 4), torch.rand(5, 4)], {"reduction": "sum"}),
    "bce_with_logits": (normalization.BceWithLogitsOp, [torch.randn(5, 4), torch.rand(5, 4)], {}),
    "soft_margin": (normalization.SoftMarginOp, floats((5, 4), (5, 4)), {}),
    "nll": (normalization.NllOp, [torch.randn(5, 4).log_softmax(1), indices((5,), 4)], {}),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *[(name, torch.float32) for name in CASES],
        *[pytest.param(name, torch.bfloat16, marks=pytest.mark.slow if place % 2 else ()) for place, name in enumerate(CASES)],
    ],
)
def test_own_kernel(name, dtype):
    cls, tensors, attrs = CASES[name]
    if dtype is torch.bfloat16 and (name == "nll" or name.startswith("upsample") and name != "upsample nearest"):
        pytest.skip("eager sums halves in an order of its own")
    tensors = [tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in tensors]
    check(lambda emit, *values: emit(cls(*values, **attrs)), tensors, exact=dtype is torch.bfloat16)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_integers_divided_by_a_tensor(mode):
    least = torch.iinfo(torch.int32).min
    x, y = torch.tensor([7, -7, 7, -7, least, least + 1, 0], dtype=torch.int32), torch.tensor([2, 2, -2, -2, 1, -1, -5], dtype=torch.int32)
    check(lambda emit, x, y: emit(pointwise.DivOp(x, y, mode=mode)), [x, y])
    check(lambda emit, x, y: emit(pointwise.RemainderOp(x, y)), [x, y])
    check(lambda emit, x, y: emit(pointwise.FmodOp(x, y)), [x, y])
    for build in (lambda emit, x, y: emit(pointwise.DivOp(x, y, mode=mode)), lambda emit, x, y: emit(pointwise.FmodOp(x, y))):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            run_native(build, [x, y * 0])


def test_the_one_quotient_that_does_not_fit_wraps():
    least = torch.iinfo(torch.int64).min
    for mode in ("floor", "trunc"):
        (found,) = run_native(lambda emit, x, y, m=mode: emit(pointwise.DivOp(x, y, mode=m)), [torch.tensor([least]), torch.tensor([-1])])
        assert found.tolist() == [least]


def test_integer_powers_by_a_tensor():
    x, y = torch.tensor([3, -3, 1, -1, -1, 0, 2, 2, 10]), torch.tensor([5, 5, -3, -3, -2, 0, -1, 64, 70])
    check(lambda emit, x, y: emit(pointwise.PowOp(x, y)), [x, y])
    check(lambda emit, x, y: emit(pointwise.PowOp(x, y)), [x.abs().to(torch.uint8), y.abs().to(torch.uint8)])


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
@pytest.mark.parametrize("dim", [0, 1])
def test_scans(dim, dtype):
    x = random_tensor((5, 70), dtype)
    for cls in (reduction.CumsumOp, reduction.CumprodOp):
        check(lambda emit, x, c=cls: emit(c(x, dim)), [x])
        check(lambda emit, x, c=cls: emit(c(x, 1 - dim)), [x.t()])
        check(lambda emit, x, c=cls: emit(c(x, dim)), [x[:1, :1]])
    for kind in ("max", "min"):
        check(lambda emit, x, k=kind: emit(reduction.CummaxWithIndexOp(x, dim, k)), [x])
    if dtype.is_floating_point:
        check(lambda emit, x: emit(reduction.LogcumsumexpOp(x, dim)), [x])


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_windows_at_the_edges(dtype):
    x = random_tensor((2, 3, 11, 9), dtype)
    for attrs in (
        {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "ceil_mode": True, "divisor": "padded"},
        {"kernel": (3, 2), "stride": (2, 2), "padding": (1, 1), "ceil_mode": True, "divisor": "valid"},
        {"kernel": (8, 8), "stride": (1, 1), "padding": (3, 3), "divisor": 7},
        {"output_size": (4, 1), "divisor": "valid"},
        {"output_size": (1, 1), "divisor": "valid"},
    ):
        check(lambda emit, x, a=attrs: emit(window.WindowSumOp(x, **a)), [x], tolerance=1e-2 if dtype is torch.bfloat16 else 1e-5)
    for attrs in (
        {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (2, 1), "ceil_mode": True},
        {"kernel": (8, 8), "stride": (1, 1), "padding": (0, 4), "dilation": (1, 1)},
        {"output_size": (4, 5)},
        {"output_size": (1, 1)},
    ):
        check(lambda emit, x, a=attrs: emit(window.WindowMaxWithIndexOp(x, **a)), [x], exact=True)


def test_averages_in_three_dims_and_of_integers():
    x = values((2, 5, 7, 6), torch.bfloat16)
    check(lambda emit, x: emit(window.WindowSumOp(x, output_size=(2, 3, 4), divisor="valid")), [x], exact=True)
    n = values((2, 6, 6), torch.int64)
    check(lambda emit, x: emit(window.WindowSumOp(x, kernel=(2, 2), stride=(2, 2), padding=(1, 1), divisor="padded")), [n])


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_gradients_of_averages(dtype):
    x = values((2, 3, 11, 9), dtype)
    for attrs, shape in (
        ({"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "divisor": "padded", "ceil_mode": True}, (6, 5)),
        ({"kernel": (3, 3), "stride": (1, 1), "padding": (1, 1), "divisor": "valid"}, (11, 9)),
        ({"kernel": (3, 2), "stride": (4, 3), "padding": (0, 0), "divisor": 5}, (3, 3)),
        ({"output_size": (4, 5), "divisor": "valid"}, (4, 5)),
        ({"output_size": (11, 3), "divisor": "valid"}, (11, 3)),
    ):
        gradient = values((2, 3, *shape), dtype, 5)
        check(lambda emit, g, x, a=attrs: emit(window.AvgPoolBackwardOp(g, x, **a)), [gradient, x], exact=dtype is torch.bfloat16)


@pytest.mark.parametrize("reduction_kind", ["none", "mean", "sum"])
def test_likelihoods(reduction_kind):
    x = torch.randn(6, 4, 3, 2).log_softmax(1)
    target, weight = indices((6, 3, 2), 4), torch.rand(4)
    target[0, 0, 0] = -100
    for tensors in ([x, target], [x, target, weight], [x[:, :, 0, 0], target[:, 0, 0], weight], [x[1, :, 0, 0], target[1, 0, 0], weight]):
        check(lambda emit, *v: emit(normalization.NllOp(*v, reduction=reduction_kind)), tensors)
        (found, total) = run_functional(functional_module(lambda emit, *v: emit(normalization.NllOp(*v, reduction=reduction_kind)), tensors).body.first, tensors)
        check(
            lambda emit, g, t, x, y, *w: emit(normalization.NllBackwardOp(g, x, y, t, *w, reduction=reduction_kind)),
            [torch.randn(found.shape), total, *tensors],
        )
    with pytest.raises((IndexError, RuntimeError), match="out of its dimension"):
        run_native(lambda emit, *v: emit(normalization.NllOp(*v, reduction=reduction_kind)), [x, target + 4])


def test_probabilities_outside_of_their_bounds_raise():
    x = torch.tensor([0.5, 1.5])
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        run_native(lambda emit, x, y: emit(normalization.BceOp(x, y)), [x, torch.ones(2)])


@pytest.mark.parametrize("align", [True, False])
def test_resampling(align):
    x, line, cube = values((2, 3, 7, 5)), values((2, 3, 9)), values((1, 2, 4, 5, 6))
    for size in ((9, 4), (7, 1), (14, 10), (1, 1)):
        check(lambda emit, x, s=size: emit(window.UpsampleOp(x, "linear", s, align)), [x])
        check(lambda emit, x, s=size: emit(window.UpsampleOp(x, "cubic", s, align)), [x])
        gradient = values((2, 3, *size), seed=4)
        check(lambda emit, g: emit(window.UpsampleBackwardOp(g, "linear", (2, 3, 7, 5), align)), [gradient])
    check(lambda emit, x: emit(window.UpsampleOp(x, "linear", (17,), align)), [line])
    check(lambda emit, x: emit(window.UpsampleOp(x, "linear", (17,), align)), [line.bfloat16()], exact=True)
    check(lambda emit, x: emit(window.UpsampleOp(x, "linear", (3, 7, 6), align)), [cube])
    for kind in ("nearest", "nearest-exact"):
        check(lambda emit, x, k=kind: emit(window.UpsampleOp(x, k, (9, 5), False, (1.37, None))), [x.bfloat16()], exact=True)
        check(lambda emit, g, k=kind: emit(window.UpsampleBackwardOp(g, k, (2, 3, 7, 5), False)), [values((2, 3, 14, 3))])


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_places_in_sorted_rows(dtype, right):
    rows = random_tensor((3, 9), dtype).sort(-1).values
    wanted = torch.cat([random_tensor((3, 20), dtype, 5), rows], 1)
    check(lambda emit, b, v: emit(gather.SearchsortedOp(b, v, right=right)), [rows, wanted])
    check(lambda emit, b, v: emit(gather.SearchsortedOp(b, v, right=right, element=i32)), [rows[0].contiguous(), wanted])
    order = torch.randperm(9).expand(3, 9).contiguous()
    mixed = torch.empty_like(rows).scatter_(1, order, rows)
    check(lambda emit, b, v, s: emit(gather.SearchsortedOp(b, v, s, right=right)), [mixed, wanted, order])
