"""Softmax whose maximum and sum are taken in one sweep: the values of eager, with infinities wherever they may stand."""

import dataclasses

import pytest
import torch

import lect
from lect.passes.kernel.kernel_join_sweeps import KernelJoinSweeps, Online
from lect.passes.kernel.kernel_keep_rows import KernelKeepRows


@pytest.fixture(autouse=True)
def joined(monkeypatch):
    """Every row of two chunks of 64 elements is walked once, none is kept, and none is cut for further threads; gives the kernels that are."""
    found = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    run, rewrite = KernelJoinSweeps.run, Online.rewrite
    monkeypatch.setattr(KernelJoinSweeps, "run", lambda self, op, ctx: run(dataclasses.replace(self, chunk=64, row_bytes=1), op, ctx))
    monkeypatch.setattr(KernelKeepRows, "run", lambda self, op, ctx: None)
    monkeypatch.setattr(Online, "rewrite", lambda self: (found.append(self.func), rewrite(self)))
    lect.reset()
    yield found
    torch.set_num_threads(threads)
    lect.reset()


INF, NAN = float("inf"), float("nan")
ROWS = {
    "plain": [],
    "begins with nothing": [(slice(0, 150), -INF)],
    "nothing in the middle": [(slice(64, 128), -INF)],
    "nothing at all": [(slice(None), -INF)],
    "ends with the greatest": [(-1, 80.0)],
    "begins with the greatest": [(0, 95.0)],
    "falls by chunks": [(slice(0, 64), 90.0), (slice(64, 128), -90.0)],
    "infinite": [(70, INF)],
    "infinite after nothing": [(slice(0, 120), -INF), (121, INF)],
    "no number": [(3, NAN)],
    "no number at the end": [(-1, NAN)],
}


@pytest.mark.parametrize("columns", [128, 200, 1000])
@pytest.mark.parametrize("fn", [lambda x: torch.softmax(x, 1), lambda x: torch.log_softmax(x, 1), lambda x: torch.softmax(x * 2 - 1, 1)])
def test_values(fn, columns, joined):
    x = torch.randn(len(ROWS), columns)
    for row, places in zip(x, ROWS.values()):
        for place, value in places:
            row[place] = value
    torch.testing.assert_close(lect.compile(lambda x: fn(x))(x), fn(x), rtol=2e-6, atol=2e-6, equal_nan=True)
    assert len(joined) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_types(dtype, joined):
    x = torch.randn(3, 333).mul(20).to(dtype)
    torch.testing.assert_close(lect.compile(lambda x: torch.softmax(x, 1))(x), torch.softmax(x, 1))
    assert len(joined) == 1


def test_long_sums_are_as_near_to_the_truth_as_eager(joined):
    x = torch.randn(2, 1 << 19)
    wanted = torch.softmax(x.double(), 1)
    errors = [(found.double() / wanted - 1).abs().max() for found in (lect.compile(lambda x: torch.softmax(x, 1))(x), torch.softmax(x, 1))]
    assert len(joined) == 1
    assert errors[0] <= 2 * errors[1]
