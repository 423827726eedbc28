"""functional-to-loop on operations that read and write at computed places: own nests alone, by the reference and as native code."""

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.functional import gather, window
from lect.dialects.loop.ops import ExternOp
from lect.ir import verify
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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("mode", ["set", "add", "multiply", "sum", "prod", "mean", "amax", "amin"])
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
