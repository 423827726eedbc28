"""NaN, infinities, signed zeros, numbers near overflow: functions give eager's values, signs of zeros included."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import lect

EDGES = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-30, -1e-30, -8.0, 8.0, -20.0, 20.0, 1e30, -1e30, -5.6, -6.0]
NAN = float("nan")

UNARY = {
    "gelu": lambda x: F.gelu(x.clamp(max=1e30)),  # eager's library gives NaN at inf where a tensor is contiguous
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "elu": F.elu,
    "softplus": F.softplus,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "log sigmoid": F.logsigmoid,
    "sinc": torch.sinc,
    "sign": torch.sign,
    "round": torch.round,
    "nan_to_num": torch.nan_to_num,
    "square root by power": lambda x: x**0.5,
    "clamp below NaN": lambda x: x.clamp(min=NAN),
    "clamp above NaN": lambda x: x.clamp(max=NAN),
    "clamp between NaN and 1": lambda x: x.clamp(NAN, 1.0),
    "clamp between 0 and NaN": lambda x: x.clamp(0.0, NAN),
    "clamp the wrong way round": lambda x: x.clamp(3.0, 1.0),
    "clamp by a tensor": lambda x: x.clamp(min=x.flip(0)),
    "masked fill": lambda x: x.masked_fill(x > 0, -0.0),
    "integers": lambda x: x.to(torch.int32),
    "bytes": lambda x: x.to(torch.uint8),
    "bools": lambda x: x.to(torch.bool),
    "gelu of a column": lambda x: F.gelu(x.reshape(-1, 3)[:, 1]),
    "gelu of one": lambda x: F.gelu(x[1:2]),
}
BINARY = {
    "xlogy": torch.xlogy,
    "logaddexp": torch.logaddexp,
    "fmod": torch.fmod,
    "remainder": torch.remainder,
    "floor division": lambda x, y: x // y,
    "power": torch.pow,
    "atan2": torch.atan2,
    "heaviside": torch.heaviside,
    "copysign": torch.copysign,
    "nextafter": torch.nextafter,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "hypot": torch.hypot,
}
ROWS = {
    "amax": lambda x: x.amax(1),
    "argmax": lambda x: x.argmax(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "sum": lambda x: x.sum(0),
    "prod": lambda x: x.prod(0),
    "sum along a dim of one": lambda x: x.reshape(-1, 1).sum(1),
    "mean along a dim of one": lambda x: x.reshape(-1, 1).mean(1),
    "softmax": lambda x: x.softmax(1),
    "var": lambda x: x.var(1),
    "cummax": lambda x: x.cummax(1)[0],
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "cumsum along a dim of one": lambda x: x.reshape(-1, 1).cumsum(1),
    "logcumsumexp along a dim of one": lambda x: x.reshape(-1, 1).logcumsumexp(1),
    "cumprod along a dim of one": lambda x: x.reshape(-1, 1).cumprod(1),
    "max pool": lambda x: F.max_pool1d(x[None], 3),
}
CALLS = {**UNARY, **{name: lambda x, f=f: f(x, x.flip(0)) for name, f in BINARY.items()}, **{name: lambda x, f=f: f(x.reshape(5, 3)) for name, f in ROWS.items()}}


SIGNS_OF_ZERO_VARY = {"gelu"}  # from one processor to the next, as oneDNN computes it there


def assert_equal(want: torch.Tensor, got: torch.Tensor, signs: bool = True) -> None:
    """Equal metadata and NaNs, values up to rounding, zeros with their signs."""
    assert (want.dtype, want.shape, want.stride()) == (got.dtype, got.shape, got.stride())
    torch.testing.assert_close(got, want, equal_nan=True)
    if want.is_floating_point() and signs:
        zeros = want == 0
        assert torch.equal(want.signbit() & zeros, got.signbit() & (got == 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_edge_values(name, dtype):
    x = torch.tensor(EDGES, dtype=dtype)
    assert_equal(CALLS[name](x), lect.compile(CALLS[name])(x), name not in SIGNS_OF_ZERO_VARY)


@pytest.mark.parametrize("name", UNARY)
def test_edge_values_in_whole_vectors(name):
    x = torch.tensor(EDGES).repeat(40)
    assert_equal(UNARY[name](x), lect.compile(UNARY[name])(x), name not in SIGNS_OF_ZERO_VARY)


def test_sums_of_many_rows_are_as_close_as_eagers():
    x = torch.rand(100_000, 3)
    want = x.double().sum(0)
    got = lect.compile(lambda x: x.sum(0))(x)
    assert (got.double() - want).abs().max() <= 4 * max((x.sum(0).double() - want).abs().max().item(), 50_000 * 2**-24)


EMPTY = {
    "repeat": lambda x: x.repeat(2, 3, 2),
    "repeat zero times": lambda x: x.repeat(0, 2),
    "tile": lambda x: x.tile((2, 1)),
    "eye": lambda x: torch.eye(0),
    "pixel shuffle": lambda x: F.pixel_shuffle(x.reshape(1, 4, 0, 2), 2),
    "expand": lambda x: x.expand(3, 0) + 1,
    "sum": lambda x: x.sum(),
    "cat": lambda x: torch.cat([x, x]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_tensors_run_natively(name):
    x = torch.randn(0)
    lect.reset()
    assert_equal(EMPTY[name](x), lect.compile(EMPTY[name])(x))
    assert lect.events("note", "graph break") == []
