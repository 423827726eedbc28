"""Special functions, written once for every printer of kernels.

A routine is a Python function over `Arithmetic`, an interface of numbers with operators, fused multiply-add, selection, other functions of the scalar
table, branches that are taken when a lane needs them, and loops in which each lane stops on its own.  A printer implements the interface: numbers
become instructions of its language, and running the routine once writes one function, for one element type and number of lanes.

    ROUTINES["erfinv"].define(m, x)      -> the value that the function returns

Kinds: `wide` routines compute in f64 for f32 operands too (`m.single` tells, and their series are then shorter), so that f32 is right up to the
rounding of the result.  The others compute in the type of their operands, as eager does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from lect.backends.special import bessel, error, gamma, incomplete_gamma, numbers, polynomials
from lect.backends.special.arithmetic import Arithmetic, Series

__all__ = ["ROUTINES", "Arithmetic", "Routine", "Series"]


class Routine(NamedTuple):
    """How one function is computed, and for which element types there is one."""

    define: Callable[..., Any]
    arity: int = 1
    wide: bool = True
    elements: tuple[str, ...] = ("f32", "f64")


def _own_type(define: Callable[..., Any]) -> Routine:
    return Routine(define, 2, wide=False)


ROUTINES: Mapping[str, Routine] = MappingProxyType(
    {
        "erfinv": Routine(error.erfinv),
        "erfcx": Routine(error.erfcx),
        "ndtri": Routine(error.ndtri),
        "log_ndtr": Routine(error.log_ndtr),
        "lgamma": Routine(gamma.lgamma),
        "digamma": Routine(gamma.digamma),
        "trigamma": Routine(gamma.trigamma),
        "zeta": Routine(gamma.zeta, 2),
        "igamma": Routine(incomplete_gamma.regularised(upper=False), 2),
        "igammac": Routine(incomplete_gamma.regularised(upper=True), 2),
        "i0": Routine(bessel.modified_i(0, scaled=False)),
        "i0e": Routine(bessel.modified_i(0, scaled=True)),
        "i1": Routine(bessel.modified_i(1, scaled=False)),
        "i1e": Routine(bessel.modified_i(1, scaled=True)),
        "bessel_j0": Routine(bessel.bessel_j(0)),
        "bessel_j1": Routine(bessel.bessel_j(1)),
        "bessel_y0": Routine(bessel.bessel_y(0)),
        "bessel_y1": Routine(bessel.bessel_y(1)),
        "modified_bessel_k0": Routine(bessel.modified_k(0, scaled=False)),
        "modified_bessel_k1": Routine(bessel.modified_k(1, scaled=False)),
        "scaled_modified_bessel_k0": Routine(bessel.modified_k(0, scaled=True)),
        "scaled_modified_bessel_k1": Routine(bessel.modified_k(1, scaled=True)),
        "spherical_bessel_j0": Routine(bessel.spherical_j0),
        "airy_ai": Routine(bessel.airy_ai),
        **{f"chebyshev_polynomial_{letter}": _own_type(polynomials.chebyshev(letter, shifted=False)) for letter in "tuvw"},
        **{f"shifted_chebyshev_polynomial_{letter}": _own_type(polynomials.chebyshev(letter, shifted=True)) for letter in "tuvw"},
        "hermite_polynomial_h": _own_type(polynomials.hermite_h),
        "hermite_polynomial_he": _own_type(polynomials.hermite_he),
        "laguerre_polynomial_l": _own_type(polynomials.laguerre_l),
        "legendre_polynomial_p": _own_type(polynomials.legendre_p),
        "frexp_mantissa": Routine(numbers.frexp_mantissa),
        "frexp_exponent": Routine(numbers.frexp_exponent),
        "nextafter": _own_type(numbers.nextafter),
        "nextafter_bf16": Routine(numbers.nextafter_bf16, 2, wide=False, elements=("f32",)),
        "gcd": Routine(numbers.gcd, 2, wide=False, elements=("i64",)),
    }
)
