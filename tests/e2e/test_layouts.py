"""What a graph keeps to itself lies as it is walked; what the caller gets lies as in eager (`loop-layout`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import lect
from tests.e2e.support import same


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (torch.sigmoid(x.t()) * 2).contiguous() @ w


def batches(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(x.transpose(0, 1).exp()).contiguous().expand(3, -1, -1).contiguous() @ w


def totals(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.exp(x.t()).contiguous().cumsum(1).amax(0) + w.sum()


def several(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first result is seen, its factor is not."""
    y = torch.tanh(x.t()).contiguous()
    return y, (y * 2).cumsum(1) @ w


def padded(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.exp(x.t()).contiguous().cumsum(1)
    return torch.nn.functional.pad(y, (1, 1, 2, 0))[:, ::2].flip(0).sum(0) + w.sum()


@pytest.mark.parametrize("program", [product, batches, totals, several, padded])
@pytest.mark.parametrize("shape", [(48, 40), (16, 1), (1, 16), (0, 5)])
def test_values_and_strides_are_those_of_eager(program: Callable, shape: tuple[int, int]) -> None:
    x, w = torch.randn(shape), torch.randn(shape[0], 8)
    if x.numel() > 100:
        x[0, 0], x[1, 1], x[2, 2], x[3, 3] = torch.nan, torch.inf, -torch.inf, -0.0
    expected = _outcome(program, x, w)
    got = _outcome(lect.compile(program, fullgraph=True), x, w)
    if isinstance(expected, str):
        assert got == expected
        return
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)
        assert a.stride() == b.stride()


def of_one_sequence(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Parts whose batch of one lies elsewhere than views of them would: read where they are, changed behind that, and given out."""
    parts = (x * 2).view(1, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
    q, k, v = parts
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    kept = q.clone()
    q.mul_(k)
    v.copy_(kept + q)
    return mixed, kept, kept.transpose(1, 2), q, v.clone(memory_format=torch.contiguous_format), x.view(1, 6, 24)[0].unsqueeze(0) @ x.view(1, 24, 6)


def test_parts_of_a_batch_of_one() -> None:
    compiled = lect.compile(of_one_sequence, fullgraph=True)
    for _ in range(2):
        x = torch.randn(1, 6, 24)
        x[0, 5, 3], x[0, 4, 2] = torch.inf, torch.nan
        expected, got = of_one_sequence(x.clone()), compiled(x)
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a, b, equal_nan=True)
            assert a.stride() == b.stride()
            assert a.storage_offset() == b.storage_offset()
        assert got[1].untyped_storage().data_ptr() != got[3].untyped_storage().data_ptr()


def test_sizes_may_change() -> None:
    compiled = lect.compile(totals, fullgraph=True, dynamic=True)
    for rows in (7, 30, 64, 5):
        x, w = torch.randn(rows, 40), torch.randn(3)
        torch.testing.assert_close(compiled(x, w), totals(x, w))


def test_an_intermediate_lies_as_it_is_made(tmp_path: Path) -> None:
    """The pass finds what it is for in programs of torch."""

    def sums(x: torch.Tensor) -> torch.Tensor:
        return torch.exp(x.t()).contiguous().cumsum(1).amax(0)

    lect.compile(sums, options={"dump": str(tmp_path)})(torch.randn(48, 40))
    (text,) = [path.read_text() for path in tmp_path.rglob("299-loop.mlir")]
    assert 'layout = "result 0 as 48x40: 7680 of' in text


def _outcome(program: Callable, *args: torch.Tensor) -> tuple[torch.Tensor, ...] | str:
    try:
        result = program(*args)
    except (RuntimeError, IndexError) as error:
        return str(error)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float32])
def test_angles_of_complex_numbers_are_row_major(dtype):
    lect.reset()

    def program(x):
        return torch.angle(x), x.angle() + 1, x.abs()

    compiled = lect.compile(program)
    for x in (torch.randn(3, 4, dtype=dtype).T, torch.randn(2, 3, 4, 5, dtype=dtype).to(memory_format=torch.channels_last), torch.randn(3, 8, dtype=dtype)[:, ::2]):
        same(program(x), compiled(x))


@pytest.mark.parametrize("rank", [4, 5])
def test_rolled_images_lie_as_eager_lays_them(rank: int) -> None:
    lect.reset()

    def program(x):
        return torch.roll(x, 1, 1), x.roll((2, -1), (2, 0)), x.roll(0, 3) + 1, x.roll(3, 1), torch.roll(x, 5)

    compiled = lect.compile(program)
    last = torch.channels_last if rank == 4 else torch.channels_last_3d
    shapes = (2, 3, 4, 5, 6)[:rank], (1, 3, 4, 5, 1)[:rank], (2, 3, 1, 1, 1)[:rank], (2, 1, 4, 5, 6)[:rank], (0, 3, 4, 5, 6)[:rank]
    for x in [torch.randn(shape) for shape in shapes]:
        for laid in (x, x.to(memory_format=last), x.transpose(1, -1).contiguous().transpose(1, -1), x[:, ::2]):
            same(program(laid), compiled(laid))


PAIRS = {
    "floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "floor_divide": lambda a, b: a // b,
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "rsub": torch.rsub,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "heaviside": torch.heaviside,
    "ldexp": torch.ldexp,
    "power of a number": lambda a, b: torch.pow(2.0, a) + torch.pow(3, b),
    "huber": lambda a, b: torch.ops.aten.huber_loss(*torch.broadcast_tensors(a, b), 0),
}


@pytest.mark.parametrize("name", PAIRS)
def test_results_of_two_layouts_lie_as_eager_lays_them(name: str) -> None:
    def program(a, b):
        return PAIRS[name](a, b), PAIRS[name](b, a)

    x = torch.rand(2, 3, 4, 5) + 0.5
    others = x.to(memory_format=torch.channels_last), x.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0), torch.rand(1, 3, 1, 5) + 0.5, x[..., :1]
    for other in others:
        lect.reset()
        same(program(x, other), lect.compile(program)(x, other))
        if other.shape != x.shape:
            last = x.to(memory_format=torch.channels_last)
            same(program(last, other), lect.compile(program)(last, other))


@pytest.mark.parametrize("training", [False, True])
def test_normalized_batches_lie_as_eager_lays_them(training: bool) -> None:
    def program(x):
        return torch.nn.functional.batch_norm(x, torch.zeros(3), torch.ones(3), training=training) * 2

    x = torch.rand(2, 3, 4, 5)
    for laid in (torch.rand(3, 4).T, torch.rand(5, 3, 7).permute(2, 1, 0), x.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0), x[..., ::2], x.mT):
        lect.reset()
        same(program(laid), lect.compile(program)(laid))
