"""Views and casts around operations that do not need them: eager's values, layouts and memory."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same
from tests.unit.passes.graphs import functional_graph, operations

SPECIAL = [0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 1e-40, 65504.0, 0.1, -1.0, 3.0]


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def check(fn, *args, exact=True):
    compiled = lect.compile(fn)
    with torch.no_grad():
        same(fn(*args), compiled(*args), exact=exact)
    assert not lect.events("note", "fallback"), [str(event) for event in lect.events("note", "fallback")]


def reshaped(x, y):
    a = (x.reshape(-1) + y.reshape(-1)).reshape(x.shape)
    b = x.t().relu().t()
    return a, b, (x.t() * 2).t(), x.flatten().neg().view(2, 6), (x.t() + y.t()).t()


def expanded(x, y):
    row, column = x[:1], x[:, :1]
    return (
        x + row.expand(3, 4), row.expand(3, 4).abs(), column.expand(3, 4).neg(), torch.where(column.expand(3, 4) > 0, x, y),
        row.expand(3, 4) * column.expand(3, 4), row[0].expand(2, 3, 4).sign(), x[0, 0].expand(3, 4) + x, row.expand(3, 4)[:2],
        x.masked_fill(column.expand(3, 4) > 0, 2.0),
    )  # fmt: skip


def pieces(x, y):
    both = torch.cat([x, y], 1)
    rows = torch.cat([x, y.t().reshape(3, 4)], 0)
    padded = F.pad(x, (0, 0, 2, 1), value=7.0)
    left, right = x.chunk(2, 1)
    return (
        both[:, :4], both[:, 4:], both[:, 5:7], both[:, 3:5], rows[3:], rows[::2], padded[2:5], padded[1:4], padded[3:5],
        torch.cat([left, right], 1), torch.cat([right, left], 1), torch.cat([x[:1], x[1:2], y], 0), torch.cat([left.t(), right.t()], 0),
    )  # fmt: skip


def aliases(x, y):
    both = torch.cat([x, y], 1)
    return both, both[:, :4], x.view(-1), (x + y).expand(2, 3, 4)


@pytest.mark.parametrize(("layout", "dtype"), [("dense", torch.float32), ("dense", torch.bfloat16), ("transposed", torch.float32), ("strided", torch.float32)], ids=str)
@pytest.mark.parametrize("program", [reshaped, expanded, pieces, aliases])
def test_views(program, layout, dtype):
    x, y = torch.tensor(SPECIAL).to(dtype).view(3, 4), torch.randn(3, 4).to(dtype)
    if layout == "transposed":
        x, y = (x.reshape(4, 3).t(), y.reshape(4, 3).t())
        if program is aliases:
            return  # a transposed tensor has no flat view
    if layout == "strided":
        wide = torch.randn(3, 8).to(dtype)
        wide[:, ::2] = x
        x = wide[:, ::2]
        if program is aliases:
            return
    check(program, x, y)


def test_results_stay_in_the_memory_of_others():
    with torch.no_grad():
        both, piece, flat, _ = lect.compile(aliases)(x := torch.randn(3, 4), torch.randn(3, 4))
    both[0, 0] = 9
    flat[0] = 5
    assert piece[0, 0] == 9 and x[0, 0] == 5


def test_empty_and_zero_dims():
    check(lambda x, y: (x.reshape(-1).abs().reshape(0, 4), torch.cat([x, y], 0)[0:0], torch.cat([x, y], 0)[:2]), torch.randn(0, 4), torch.randn(2, 4))
    check(lambda x: (x.reshape(1).exp().reshape(()), x.expand(3).neg(), x.expand(2, 1).sin()[:1]), torch.tensor(-0.0), exact=False)


def taken_back(x):
    wide = x.float()
    return (
        wide.t().to(x.dtype), wide.relu().to(x.dtype), (-wide).to(x.dtype), wide.abs().to(x.dtype), torch.maximum(wide, x.float() * 1).to(x.dtype),
        wide[1:].to(x.dtype), torch.where(wide > 0, wide, wide.neg()).to(x.dtype), torch.cat([wide, wide]).to(x.dtype), wide.clone().to(x.dtype),
        wide > 0, wide < 0.1, wide == wide.flip(0), wide.isnan(), wide.signbit(), wide.exp().to(x.dtype), wide.masked_fill(wide > 1, 0.1).to(x.dtype),
    )  # fmt: skip


def integer_traps(x):
    return (
        x.float().to(x.dtype), x.double().abs().to(x.dtype), x.double().neg().to(x.dtype), x.double() > 0.5, x.double() == 2, x.double().relu().to(x.dtype),
        x.to(torch.int8).to(x.dtype), x.to(torch.int8).neg().to(x.dtype), torch.maximum(x.float(), x.float() - 1).to(x.dtype), ~x.bool(), x.bool().long(),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_casts_taken_back(dtype):
    check(taken_back, torch.tensor(SPECIAL).to(dtype).view(3, 4), exact=dtype is not torch.float32)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8], ids=str)
def test_integers_through_floats(dtype):
    info = torch.iinfo(dtype)
    values = [0, 1, 2, -1, 127, info.min, info.min + 1, 2**24 + 1]
    check(integer_traps, torch.tensor([value for value in values if info.min <= value <= info.max], dtype=dtype))


def test_a_table_is_converted_where_it_is_read():
    def read(table, places):
        return table.bfloat16()[places], table.half()[:, 0], F.embedding(places, table.bfloat16())

    args = torch.randn(50, 8), torch.tensor([3, 3, 49])
    check(read, *args)
    for op in functional_graph(read, *args).body:
        assert op.name != "functional.cast" or op.results[0].type.count < 60


def test_copies_that_are_returned():
    def copies(x, y):
        product, twice = x @ y, (x * 2).clone()
        return product.clone(), x.clone(), product.contiguous(), twice, twice.clone(), x[0].clone()

    x = torch.randn(4, 4)
    check(copies, x, torch.randn(4, 4))
    with torch.no_grad():
        results = lect.compile(copies)(x, torch.randn(4, 4))
    starts = [value.untyped_storage().data_ptr() for value in (x, *results)]
    assert len(set(starts)) == len(starts)
    graph = functional_graph(lambda x: (x @ x).clone(), x)
    assert operations(graph)["copy"] == 0


def test_copies_of_views_that_only_torch_knows():
    def copies(x):
        return x.view(torch.int32).clone(), torch.view_as_real(torch.view_as_complex(x)).clone()

    x = torch.randn(4, 2)
    with torch.no_grad():
        results = lect.compile(copies)(x)
    start = x.untyped_storage().data_ptr()
    assert all(value.untyped_storage().data_ptr() != start for value in results)
    same(copies(x), results, exact=True)
