"""Histograms are own kernels: counts, sums of weights and edges are eager's, elements that are in no bin and NaN included."""

from __future__ import annotations

import pytest
import torch

import lect
from tests.unit.loop.test_small_types import check

INF, NAN = float("inf"), float("nan")
SPECIAL = (INF, -INF, NAN, -0.0, 0.0, 1.0, -1.0)


def numbers(*shape, dtype=torch.float32, special=True):
    x = torch.randn(shape).to(dtype)
    if special and x.numel() > len(SPECIAL):
        x.view(-1)[: len(SPECIAL)] = torch.tensor(SPECIAL, dtype=dtype)
    return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_bins_of_one_length(dtype):
    for bins, low, high in ((7, -1.0, 1.0), (10, -2, 3), (1, 0, 1), (100, -0.3, 0.7)):
        check(lambda x: torch.histc(x, bins, low, high), numbers(11, 20, dtype=dtype))
    check(lambda x: torch.histc(x, 5, -1, 1), numbers(6, 5, dtype=dtype).t())
    check(lambda x: torch.histc(x, 9), numbers(40, dtype=dtype, special=False))
    check(lambda x: torch.histc(x, 4, 5, 5), torch.ones(3, dtype=dtype))
    check(lambda x: torch.histc(x, 4), torch.tensor(2.0, dtype=dtype))
    check(lambda x: torch.histc(x, 4), torch.empty(0, 3, dtype=dtype))


def test_more_than_a_half_counts_is_the_librarys():
    x = torch.rand(3000).bfloat16()
    assert lect.compile(lambda x: torch.histc(x, 3))(x).dtype is torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("density", [False, True])
def test_histogram(dtype, density):
    x, weight = numbers(12, 9, dtype=dtype), torch.randint(0, 4, (12, 9)).to(dtype)
    edges = torch.tensor([-1.0, -0.5, -0.0, 0.0, 0.7, 1.0], dtype=dtype)
    check(lambda x, e: torch.histogram(x, e, density=density), x, edges)
    check(lambda x, e, w: torch.histogram(x, e, weight=w, density=density), x, edges, weight)
    check(lambda x: torch.histogram(x, 6, range=(-1.0, 0.8), density=density), x)
    check(lambda x, w: torch.histogram(x, 6, weight=w, density=density), numbers(12, 9, dtype=dtype, special=False), weight)
    check(lambda x: torch.histogram(x, 3, range=(1.0, 1.0), density=density), x)
    check(lambda x: torch.histogram(x, 2), torch.empty(0, dtype=dtype))
    check(lambda x: torch.histogram(x.t()[1:], 4), numbers(9, 5, dtype=dtype, special=False))


@pytest.mark.parametrize("density", [False, True])
def test_several_coordinates(density):
    x = numbers(4, 10, 2, special=False)
    weight = torch.randint(1, 5, (4, 10)).float()

    def flat(function):
        """The histogram and the lists of edges in one tuple."""

        def call(*tensors):
            found, edges = function(*tensors)
            return (found, *edges)

        return call

    check(flat(lambda x: torch.histogramdd(x, [3, 4], density=density)), x)
    check(flat(lambda x, w: torch.histogramdd(x, [2, 5], range=[-1.0, 1.0, -2.0, 0.5], weight=w, density=density)), x, weight)
    edges = torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([-2.0, -0.1, 0.2, 2.0])
    check(flat(lambda x, a, b: torch.histogramdd(x, [a, b], density=density)), numbers(30, 2), *edges)
    check(flat(lambda x: torch.histogramdd(x, [2, 3])), torch.empty(0, 2))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.histc(x, 3),
        lambda x: torch.histogram(x, 3),
        lambda x: torch.histc(x, 3, 2, 1),
        lambda x: torch.histogram(x, 0),
        lambda x: torch.histogram(x, 3, weight=torch.ones(2)),
    ],
)
def test_errors_are_eagers(function):
    words = []
    for run in (function, lect.compile(function)):
        with pytest.raises(RuntimeError) as raised:
            run(torch.tensor([1.0, NAN, 2.0]))
        words.append(str(raised.value).splitlines()[0].replace("-nan", "nan"))
    assert words[0] == words[1]
