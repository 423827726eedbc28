"""Special functions compiled: values and gradients are eager's, and no library computes them."""

import pytest
import torch

import lect
from lect.passes.convert.functional_to_loop_gather import CHECK
from lect.runtime import entry

S = torch.special


def calls_of(function, *args):
    """The compiled result, and the library calls that its graphs make."""
    calls = []

    def observe(stage, module):
        if stage == "kernel":
            calls.extend(op.callee.leaf for op in module.walk() if op.name == "host.extern" and op.callee.leaf != CHECK)

    entry.RUNTIME.observe = observe
    try:
        return lect.compile(lambda *args: function(*args))(*args), calls
    finally:
        del entry.RUNTIME.observe


def close(found, wanted, rtol=2e-5):
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=1e-6, equal_nan=True)


WITH_GRADIENT = {
    "erfinv": (torch.erfinv, -0.9, 0.9),
    "i0": (torch.i0, -5, 5),
    "i0e": (S.i0e, -5, 5),
    "i1": (S.i1, -5, 5),
    "i1e": (S.i1e, -5, 5),
    "erfcx": (S.erfcx, -2, 5),
    "log_ndtr": (S.log_ndtr, -5, 3),
    "ndtri": (S.ndtri, 0.05, 0.95),
    "lgamma": (torch.lgamma, 0.6, 9),
    "digamma": (torch.digamma, 0.6, 9),
    "polygamma 2": (lambda x: torch.polygamma(2, x), 0.6, 9),
    "mvlgamma": (lambda x: torch.mvlgamma(x, 4), 2, 9),
    "sinc": (torch.sinc, -3, 3),
    "logit": (lambda x: torch.logit(x, 0.1), 0.01, 0.99),
}
WITHOUT = {
    "bessel_j0": S.bessel_j0, "bessel_j1": S.bessel_j1, "bessel_y0": S.bessel_y0, "bessel_y1": S.bessel_y1, "airy_ai": S.airy_ai,
    "modified_bessel_i0": S.modified_bessel_i0, "modified_bessel_i1": S.modified_bessel_i1, "modified_bessel_k0": S.modified_bessel_k0,
    "modified_bessel_k1": S.modified_bessel_k1, "scaled_modified_bessel_k0": S.scaled_modified_bessel_k0,
    "scaled_modified_bessel_k1": S.scaled_modified_bessel_k1, "spherical_bessel_j0": S.spherical_bessel_j0,
    "hermite": lambda x: S.hermite_polynomial_h(x, 5), "legendre": lambda x: S.legendre_polynomial_p(x, torch.arange(5.0)),
    "chebyshev of a number": lambda x: S.chebyshev_polynomial_t(0.3, x.round()), "zeta": lambda x: S.zeta(x + 1, 2.5), "zeta of a number": lambda x: S.zeta(2.5, x), "xlog1py": lambda x: S.xlog1py(2.0, x) + S.xlog1py(x, 0.5),
    "frexp": torch.frexp, "nextafter": lambda x: torch.nextafter(x, x.neg()), "ldexp": lambda x: torch.ldexp(x, torch.arange(5)),
}  # fmt: skip


def places(low, high, *shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1)) * (high - low) + low


@pytest.mark.parametrize("name", sorted(WITH_GRADIENT))
def test_value_and_gradient(name):
    function, low, high = WITH_GRADIENT[name]
    x = places(low, high, 6, 5).t().requires_grad_()
    y = x.detach().clone().requires_grad_()
    found, calls = calls_of(function, x)
    wanted = function(y)
    close(found, wanted)
    found.backward(torch.linspace(0.5, 1.5, 30).reshape(5, 6))
    wanted.backward(torch.linspace(0.5, 1.5, 30).reshape(5, 6))
    close(x.grad, y.grad)
    assert not calls


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_value(name):
    x = places(0.2, 5, 7, 5)
    found, calls = calls_of(WITHOUT[name], x)
    close(found, WITHOUT[name](x))
    assert not calls


@pytest.mark.parametrize("name", ["erfinv", "i0", "lgamma", "mvlgamma", "sinc", "digamma"])
def test_integers_become_floats(name):
    x = torch.arange(3, 9)
    found, calls = calls_of(WITH_GRADIENT[name][0], x)
    close(found, WITH_GRADIENT[name][0](x))
    assert not calls


def test_divisors():
    x, y = torch.arange(-20, 20), torch.arange(40) * 3
    for function in (torch.gcd, torch.lcm):
        found, calls = calls_of(function, x, y)
        assert torch.equal(found, function(x, y))
        assert not calls


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 1, 17)])
def test_shapes(shape):
    x = torch.rand(shape, generator=torch.Generator().manual_seed(2)) + 0.5
    for function in (torch.i0, torch.lgamma, S.bessel_y1, lambda x: S.zeta(x + 1, x)):
        close(calls_of(function, x)[0], function(x))


def test_steps_that_are_exact_are_counted_in_own_kernels():
    for args in ((-1.0, 0.25, 0.5), (5.0, -2.0, -0.75), (0.0, 3.0, 0.125)):
        found, calls = calls_of(lambda args=args: torch.arange(*args))
        assert torch.equal(found, torch.arange(*args))
        assert not calls


def test_steps_that_are_not_exact_are_eager_s():
    found, _ = calls_of(lambda: torch.arange(0.1, 1.0, 0.1))
    assert torch.equal(found, torch.arange(0.1, 1.0, 0.1))


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 16])
def test_ranges_between_tensors(steps):
    low, high = torch.tensor(-0.3), torch.tensor(9.7)
    for function in (
        lambda low, high: torch.linspace(low, high, steps),
        lambda low, high: torch.linspace(low, 2, steps),
        lambda low, high: torch.linspace(1, high, steps, dtype=torch.float64),
        lambda low, high: torch.linspace(low, high, steps, dtype=torch.int64),
        lambda low, high: torch.linspace(high.long(), low, steps),
        lambda low, high: torch.linspace(low * 4, high, steps, dtype=torch.bfloat16),
    ):
        found, calls = calls_of(function, low, high)
        wanted = function(low, high)
        assert found.dtype is wanted.dtype
        # Eager's vectors count from their first element, which rounds otherwise.
        if found.is_floating_point() and steps > 1:
            close(found, wanted, rtol=1e-6)
        else:
            assert torch.equal(found, wanted)


def test_a_window_of_bessel_functions():
    found, calls = calls_of(lambda: torch.signal.windows.kaiser(16, beta=3.0))
    close(found, torch.signal.windows.kaiser(16, beta=3.0))
    assert not calls
