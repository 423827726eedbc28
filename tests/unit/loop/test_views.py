"""functional-to-loop on views and the copies of slices, on what leaves the graph, and on what shares memory."""

import pytest
import torch

from lect.dialects.functional import contraction, creation, gather, pointwise, reduction, view
from lect.ir import LectError
from tests.unit.loop.programs import assert_same, execute, lowered, random_tensor
from tests.unit.loop.test_pointwise import check

X = random_tensor((4, 6, 10), torch.float32, special=False)

VIEWS = [
    ("reshape", lambda emit, x: emit(view.ReshapeOp(x, (2, 12, 10))), lambda x: x.reshape(2, 12, 10)),
    ("flatten", lambda emit, x: emit(view.ReshapeOp(x, (240,))), lambda x: x.reshape(240)),
    ("permute", lambda emit, x: emit(view.PermuteOp(x, (2, 0, 1))), lambda x: x.permute(2, 0, 1)),
    ("slice", lambda emit, x: emit(view.SliceOp(x, 1, 1, 6, 2)), lambda x: x[:, 1:6:2]),
    ("empty slice", lambda emit, x: emit(view.SliceOp(x, 1, 3, 3)), lambda x: x[:, 3:3]),
    ("diagonal", lambda emit, x: emit(view.DiagonalOp(x, 1, 1, 2)), lambda x: x.diagonal(1, 1, 2)),
    ("negative diagonal", lambda emit, x: emit(view.DiagonalOp(x, -2, 0, 2)), lambda x: x.diagonal(-2, 0, 2)),
    ("as_strided", lambda emit, x: emit(view.AsStridedOp(x, (3, 4), (5, 7), 11)), lambda x: x.as_strided((3, 4), (5, 7), 11)),
]


@pytest.mark.parametrize(("name", "build", "eager"), VIEWS, ids=[v[0] for v in VIEWS])
def test_views_of_inputs_and_of_results(name, build, eager):
    check(build, lambda x: eager(x).clone(memory_format=torch.preserve_format) if name == "x" else eager(x), [X])
    check(lambda emit, x: emit(pointwise.NegOp(build(emit, x).results[0])), lambda x: -eager(x), [X])
    check(lambda emit, x: build(emit, emit(pointwise.ExpOp(x)).results[0]), lambda x: eager(x.exp()), [X])
    check(lambda emit, x: emit(reduction.SumOp(build(emit, x).results[0], (0,))), lambda x: eager(x).sum(0), [X])


def test_expand():
    x = random_tensor((6, 1), torch.float32)
    check(lambda emit, x: emit(pointwise.NegOp(emit(view.ExpandOp(x, (4, 6, 5))).results[0])), lambda x: -x.expand(4, 6, 5), [x])
    check(lambda emit, x: emit(view.ExpandOp(emit(pointwise.NegOp(x)).results[0], (4, 6, 5))), lambda x: (-x).expand(4, 6, 5), [x])


def test_reshape_after_permute_copies():
    check(
        lambda emit, x: emit(view.ReshapeOp(emit(view.PermuteOp(x, (2, 1, 0))).results[0], (15, 16))),
        lambda x: x.permute(2, 1, 0).reshape(15, 16),
        [X],
    )


@pytest.mark.parametrize("dims", [(0,), (1, 2), ()])
def test_reverse(dims):
    check(lambda emit, x: emit(view.ReverseOp(x, dims)), lambda x: x.flip(dims), [X])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64])
@pytest.mark.parametrize(("dim", "start", "end"), [(0, 0, 4), (0, 1, 3), (1, 0, 2), (1, 5, 6), (2, 3, 10), (2, 4, 4)])
def test_slice_scatter(dim, start, end, dtype):
    whole = random_tensor((4, 6, 10), dtype)
    part = random_tensor([end - start if k == dim else size for k, size in enumerate((4, 6, 10))], dtype, 1)
    build = lambda emit, x, y: emit(gather.SliceScatterOp(x, y, dim, start, end))  # noqa: E731
    eager = lambda x, y: torch.slice_scatter(x, y, dim, start, end)  # noqa: E731
    check(build, eager, [whole, part], exact=True)
    # readers of the whole compute it themselves
    check(lambda emit, x, y: emit(pointwise.NegOp(build(emit, x, y).results[0])), lambda x, y: -eager(x, y), [whole, part], exact=True)
    check(lambda emit, x, y: emit(view.SliceOp(build(emit, x, y).results[0], 1, 1, 6, 2)), lambda x, y: eager(x, y)[:, 1:6:2], [whole, part], exact=True)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(2, 3), (1, 1, 1), (0, 4, 0, 2), (0, 0), (1,) * 12])
def test_cat(sizes, dim):
    tensors = []
    for k, size in enumerate(sizes):
        shape = [4, 6, 10]
        shape[dim] = size
        tensors.append(random_tensor(shape, torch.bfloat16, k))
    check(lambda emit, *xs: emit(view.CatOp(list(xs), dim)), lambda *xs: torch.cat(xs, dim), tensors, exact=True)
    check(
        lambda emit, *xs: emit(view.CatOp([emit(pointwise.ExpOp(x)).results[0] for x in xs], dim)),
        lambda *xs: torch.cat([x.exp() for x in xs], dim),
        tensors,
        exact=True,
    )


@pytest.mark.parametrize("pads", [((0, 0), (1, 2), (0, 3)), ((2, 0), (0, 0), (-1, -2)), ((0, 0), (0, 0), (0, 0)), ((-1, 4), (3, -2), (0, 0))])
def test_pad(pads):
    flat = [n for pair in reversed(pads) for n in pair]
    check(lambda emit, x: emit(view.PadOp(x, pads, 1.5)), lambda x: torch.nn.functional.pad(x, flat, value=1.5), [X], exact=True)
    check(
        lambda emit, x: emit(view.PadOp(emit(pointwise.ExpOp(x)).results[0], pads, 0)),
        lambda x: torch.nn.functional.pad(x.exp(), flat),
        [X],
        exact=True,
    )


def test_pad_of_nothing():
    x = torch.empty(0, 3)
    check(lambda emit, x: emit(view.PadOp(x, ((1, 1), (0, 0)), 2.0)), lambda x: torch.nn.functional.pad(x, (0, 0, 1, 1), value=2.0), [x])


# ---- memory ----------------------------------------------------------------------------------------------------------


def storage(tensor):
    return tensor.untyped_storage().data_ptr()


def test_results_share_memory_only_where_eager_does():
    x = X.clone()

    def build(emit, x):
        y = emit(pointwise.ExpOp(x)).results[0]
        return [y, emit(view.SliceOp(y, 0, 1, 3)).results[0], emit(view.ReshapeOp(x, (24, 10))).results[0], x, y]

    aliases = (None, ("result", 0, 60), ("input", 0, 0), None, None)
    found = execute(lowered(build, [x], aliases), [x])
    for a, b in zip(found, (x.exp(), x.exp()[1:3], x.reshape(24, 10), x, x.exp())):
        assert_same(a, b)
    assert storage(found[1]) == storage(found[0])
    assert storage(found[2]) == storage(x)
    assert storage(found[3]) != storage(x)
    assert storage(found[4]) != storage(found[0])


def test_a_result_that_is_not_where_the_alias_says_is_an_error():
    def build(emit, x):
        return emit(pointwise.ExpOp(x))

    with pytest.raises(LectError, match="does not lie in the memory of input 0"):
        lowered(build, [X], (("input", 0, 0),))


def test_results_with_gaps_have_eager_strides():
    x = torch.randn(4, 8)

    def build(emit, x):
        y = emit(pointwise.ExpOp(x)).results[0]
        return [emit(view.SliceOp(y, 1, 2, 5)).results[0]]

    (found,) = execute(lowered(build, [x]), [x])
    assert found.stride() == (8, 1)
    assert_same(found, x.exp()[:, 2:5])


def test_library_calls_get_strides_of_eager():
    x, w = torch.randn(6, 5).t(), torch.randn(6, 7)

    def build(emit, x, w):
        product = emit(contraction.MmOp(x, w)).results[0]
        return emit(contraction.MmOp(emit(view.PermuteOp(product, (1, 0))).results[0], product))

    check(build, lambda x, w: (x @ w).t() @ (x @ w), [x, w])


def test_sizes_of_one_and_zero():
    x = torch.randn(1, 3, 1, 2)
    check(lambda emit, x: emit(view.ReshapeOp(emit(view.PermuteOp(x, (2, 3, 0, 1))).results[0], (6,))), lambda x: x.permute(2, 3, 0, 1).reshape(6), [x])
    x = torch.empty(0, 3)
    check(lambda emit, x: emit(view.ReshapeOp(x, (3, 0, 2))), lambda x: x.reshape(3, 0, 2), [x])
    check(lambda emit, x: emit(creation.CopyOp(emit(view.PermuteOp(x, (1, 0))).results[0])), lambda x: x.t().clone(), [x])
