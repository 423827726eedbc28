"""16-bit floats: rounded where eager rounds them, or with fused numerics at the ends of chains alone, and then nearer to the exact values."""

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.ir import LectError
from tests.e2e.support import same
from tests.unit.passes.graphs import functional_graph, operations

FUSED = {"numerics": "fused"}
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-8, 65504.0, -300.0]


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def chain(x, y):
    return (x * y + x).sin() * 3 - y / 7


def gated(x, y):
    return F.silu(x) * y + F.gelu(y).tanh()


def normalized(x, y):
    return torch.softmax(x * 0.37 + y, -1), (x * y).sum(-1), (x - y).square().mean(-1, keepdim=True)


def selected(x, y):
    z = x + y
    return torch.where(x > 0, z * z, z.exp()), (x * y).masked_fill(y > 0, 0.1).clamp(-0.3, 2), torch.lerp(x, y, 0.3) * x


def turned(x, y):
    return (x * y).t().reshape(-1)[3:] * 1.7, (x + 1)[:, :1].expand_as(x) / y


PROGRAMS = [chain, gated, normalized, selected, turned]
HALVES = [torch.bfloat16, torch.float16]


def inputs(dtype, special=False):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(16, 32, generator=generator).to(dtype), torch.randn(16, 32, generator=generator).to(dtype)
    if special:
        x[0, :8] = torch.tensor(SPECIAL).to(dtype)
        y[:8, 0] = torch.tensor(SPECIAL).to(dtype)
    return x, y


def listed(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("program", [chain, selected, turned])
def test_eager_numerics_are_bit_equal(program, dtype):
    """sin, exp and division are correctly rounded often enough that all 16-bit results agree."""
    args = inputs(dtype, special=True)
    with torch.no_grad():
        same(program(*args), lect.compile(program)(*args), exact=True)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_fused_numerics_are_nearer_to_exact(program, dtype):
    args = inputs(dtype)
    with torch.no_grad():
        got, eager = listed(lect.compile(program, options=FUSED)(*args)), listed(program(*args))
        exact = listed(program(*[arg.double() for arg in args]))
    for one, other, true in zip(got, eager, exact):
        assert (one.dtype, one.stride()) == (other.dtype, other.stride())
        mine, its = (one.double() - true).abs().mean().item(), (other.double() - true).abs().mean().item()
        assert mine <= its * 1.02, (mine, its)
    assert not lect.events("note", "fallback")


def test_fused_numerics_make_a_difference():
    args = inputs(torch.bfloat16)
    with torch.no_grad():
        got, eager, exact = lect.compile(chain, options=FUSED)(*args), chain(*args), chain(*[arg.double() for arg in args])
    assert (got.double() - exact).abs().mean() < 0.7 * (eager.double() - exact).abs().mean()
    graph = functional_graph(chain, *args, options=FUSED)
    assert operations(graph)["cast"] == 3  # two operands and the result


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_fused_numerics_keep_what_is_not_finite(program, dtype):
    args = inputs(dtype, special=True)
    with torch.no_grad():
        got, exact = listed(lect.compile(program, options=FUSED)(*args)), listed(program(*[arg.double() for arg in args]))
    for one, true in zip(got, exact):
        torch.testing.assert_close(one, true.to(dtype), rtol=2e-2, atol=2e-2, equal_nan=True)


def test_f32_is_the_same_under_both():
    x, y = inputs(torch.float32)
    with torch.no_grad():
        same(lect.compile(gated)(x, y), lect.compile(gated, options=FUSED)(x, y), exact=True)


def test_a_cast_of_the_program_rounds():
    def quantized(x):
        return (x * 1.01).bfloat16().float() * 3

    x = torch.randn(100)
    with torch.no_grad():
        same(quantized(x), lect.compile(quantized, options=FUSED)(x), exact=True)


def test_numerics_of_no_kind_are_refused():
    with pytest.raises(LectError, match="option 'numerics' is one of eager, fused, got 'fast'"):
        lect.compile(chain, options={"numerics": "fast"})
