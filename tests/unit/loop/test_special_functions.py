"""functional-to-loop on special functions: own nests alone, by the reference and as native code of this machine."""

import pytest
import torch

from lect.dialects.functional import composite, pointwise
from lect.passes.convert.functional_to_loop_special import BESSEL
from tests.unit.loop.programs import random_tensor
from tests.unit.loop.test_own_kernels import check

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
UNARY = {
    "erfinv": pointwise.ErfinvOp,
    "erfcx": pointwise.ErfcxOp,
    "ndtri": pointwise.NdtriOp,
    "log_ndtr": pointwise.LogNdtrOp,
    "lgamma": pointwise.LgammaOp,
    "digamma": pointwise.DigammaOp,
}
HALVES = {"erfinv", "lgamma", "digamma"}


def numbers(*shape, dtype=torch.float32, seed=0, low=-0.95, high=0.95):
    made = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * (high - low) + low
    return made.to(dtype)


def tolerance(dtype):
    """Eager's own error in f32 and f64; one rounding of halves."""
    return {torch.float32: 1e-4, torch.float64: 1e-6}.get(dtype, 2**-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name, dtype):
    if dtype.itemsize == 2 and name not in HALVES:
        pytest.skip("eager has it for f32 and f64 alone")
    x = numbers(5, 21, dtype=dtype)
    check(lambda emit, x: emit(UNARY[name](x)), [x.abs() if name == "ndtri" else x], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", sorted(BESSEL))
def test_bessel(kind, dtype):
    check(lambda emit, x: emit(pointwise.BesselOp(x, kind)), [numbers(40, dtype=dtype, low=0.1, high=9.0)], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", sorted(pointwise.POLYNOMIALS))
def test_orthogonal_polynomials(kind, dtype):
    x, n = numbers(30, dtype=dtype, low=-2.0, high=2.0), torch.arange(30) % 6 - 1
    check(lambda emit, x, n: emit(pointwise.OrthopolyOp(x, n, kind)), [x, n.to(dtype)], tolerance=tolerance(dtype))
    check(lambda emit, x: emit(pointwise.OrthopolyOp(x, kind=kind, other=3.0)), [x], tolerance=tolerance(dtype))
    check(lambda emit, n: emit(pointwise.OrthopolyOp(n, kind=kind, other=0.25, reversed=True)), [n.to(dtype)], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zeta(dtype):
    x, q = numbers(30, dtype=dtype, low=1.1, high=9.0), numbers(4, 30, dtype=dtype, low=0.1, high=20.0)
    check(lambda emit, x, q: emit(pointwise.ZetaOp(x, q)), [x, q], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("cls", [pointwise.IgammaOp, pointwise.IgammacOp])
def test_incomplete_gamma(cls, dtype):
    a, x = numbers(30, dtype=dtype, low=0.1, high=9.0), numbers(4, 30, dtype=dtype, low=0.1, high=20.0)
    check(lambda emit, a, x: emit(cls(a, x)), [a, x], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 200])
def test_polygamma(n, dtype):
    check(lambda emit, x: emit(composite.PolygammaOp(x, n)), [numbers(33, dtype=dtype, low=0.6, high=9.0)], tolerance=tolerance(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_frexp(dtype):
    x = random_tensor((5, 40), dtype)
    x[x.isnan() | x.isinf()] = 1.0  # of those eager's exponent is any number
    check(lambda emit, x: emit(pointwise.FrexpOp(x)), [x], exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_nextafter(dtype):
    x, y = random_tensor((5, 40), dtype), random_tensor((40,), dtype, 3)
    check(lambda emit, x, y: emit(pointwise.NextafterOp(x, y)), [x, y], exact=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_gcd(dtype):
    low = 0 if dtype is torch.uint8 else -120
    x, y = [torch.randint(low, 120, shape, generator=torch.Generator().manual_seed(3)).to(dtype) for shape in ((5, 40), (40,))]
    check(lambda emit, x, y: emit(pointwise.GcdOp(x, y)), [x, y], exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_ldexp(dtype):
    x, y = random_tensor((5, 40), dtype, special=False), torch.arange(40).sub(20).to(dtype)
    check(lambda emit, x, y: emit(composite.LdexpOp(x, y)), [x, y], tolerance=tolerance(dtype))
