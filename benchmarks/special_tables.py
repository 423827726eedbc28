"""Computes backends/special/tables.py: Chebyshev series of the special functions, and the numbers of their asymptotic series.

    python -m benchmarks.special_tables

Every series is that of a smooth function on an interval, which a routine turns into the function it computes.  The coefficients are sums over Chebyshev
nodes of values with 50 digits (mpmath); a series ends where the rest is below 2^-60 of the function's least value.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mp, mpf

NODES = 72
mp.dps = 50
TARGET = Path(__file__).resolve().parent.parent / "backends" / "special" / "tables.py"
HEAD = '''"""Chebyshev series and numbers of asymptotic series.  Generated: run `python -m benchmarks.special_tables`."""

from __future__ import annotations

from lect.backends.special.arithmetic import Series

'''


def chebyshev(function: Callable[[Any], Any], low: Any, high: Any) -> tuple[float, float, list[float]]:
    """The interval and the coefficients of a function on it."""
    low, high = mpf(low), mpf(high)
    angles = [mp.pi * (2 * j + 1) / (2 * NODES) for j in range(NODES)]
    values = [function((low + high) / 2 + (high - low) / 2 * mp.cos(angle)) for angle in angles]
    least = min(abs(value) for value in values)
    found = [mpf(2) / NODES * mp.fsum(value * mp.cos(k * angle) for value, angle in zip(values, angles)) for k in range(NODES)]
    found[0] /= 2
    rest = mpf(0)
    last = NODES
    while last > 1 and rest + abs(found[last - 1]) < least * mpf(2) ** -60:
        last -= 1
        rest += abs(found[last])
    assert last < NODES - 4, f"not smooth enough on {low}..{high}"
    return float(low), float(high), [float(value) for value in found[:last]]


# ---- the error function and its relatives ----------------------------------------------------------------------------


def erfinv_by_logarithm(w: Any) -> Any:
    """erfinv(y) / y where w = -log(1 - y^2)."""
    y = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(y) / y


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x)


ERFCX_CENTRE = mpf("3.5")


def erfcx_by_inverse(u: Any) -> Any:
    """(x + c) erfcx(x) where u = 1 / (x + c)."""
    return erfcx(1 / u - ERFCX_CENTRE) / u


def ndtri_by_root(s: Any) -> Any:
    """-ndtri(q) / s where s = sqrt(-2 log q)."""
    z = mp.sqrt(s * s - mp.log(2 * mp.pi) - 2 * mp.log(s)) if s > 2.5 else s / 2
    for _ in range(60):
        tail = mp.erfc(z / mp.sqrt(2)) / 2
        step = (mp.log(tail) + s * s / 2) * tail / (mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi))
        z += step
        if abs(step) < mpf(10) ** -40:
            break
    return z / s


# ---- Bessel functions ------------------------------------------------------------------------------------------------

J0_ZERO = mpmath.besseljzero(0, 1)
J1_ZERO = mpmath.besseljzero(1, 1)


def modified(order: int) -> dict[str, tuple[Callable[[Any], Any], Any, Any]]:
    """I and K of an order: I with exp(-x), K apart from its logarithm for small x, and both by 1 / x for large x."""
    power = (lambda x: x) if order else (lambda x: mpf(1))

    def k_without_logarithm(z: Any) -> Any:
        x = mp.sqrt(z)
        sign = -1 if order else 1
        return (mp.besselk(order, x) + sign * mp.log(x / 2) * mp.besseli(order, x)) * power(x)

    def i_small(z: Any) -> Any:
        x = mp.sqrt(z)
        return mp.besseli(1, x) / x if order else (mp.besseli(0, x) - 1) / z

    return {
        f"I{order}E_NEAR": (lambda x: mp.exp(-x) * mp.besseli(order, x) / power(x), 2, 8),
        f"I{order}E_FAR": (lambda v: mp.sqrt(1 / v) * mp.exp(-1 / v) * mp.besseli(order, 1 / v), 0, mpf(1) / 8),
        f"I{order}_SMALL": (i_small, 0, 4),
        f"K{order}_SMALL": (k_without_logarithm, 0, 4),
        f"K{order}E_FAR": (lambda v: mp.sqrt(1 / v) * mp.exp(1 / v) * mp.besselk(order, 1 / v), 0, mpf(1) / 2),
    }


def oscillating(order: int) -> dict[str, tuple[Callable[[Any], Any], Any, Any]]:
    """J and Y of an order: by x^2 up to 5, with the zero of J divided out and without Y's logarithm; then modulus-like P and Q by 1 / x^2."""
    zero = (J0_ZERO, J1_ZERO)[order]
    phase = mp.pi / 4 * (1 + 2 * order)

    def j_small(z: Any) -> Any:
        x = mp.sqrt(z)
        return mp.besselj(order, x) / (z - zero * zero) / x**order

    def y_small(z: Any) -> Any:
        x = mp.sqrt(z)
        pole = 1 / x if order else 0
        return (mp.bessely(order, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(order, x) - pole)) / x**order

    def amplitude(v: Any, quadrature: bool) -> Any:
        x = mp.sqrt(1 / v)
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        c, s = mp.cos(x - phase), mp.sin(x - phase)
        return mp.sqrt(mp.pi * x / 2) * (x * (y * c - j * s) if quadrature else j * c + y * s)

    return {
        f"J{order}_SMALL": (j_small, 0, 25),
        f"Y{order}_SMALL": (y_small, 0, 25),
        f"P{order}_FAR": (lambda v: amplitude(v, False), 0, mpf(1) / 25),
        f"Q{order}_FAR": (lambda v: amplitude(v, True), 0, mpf(1) / 25),
    }


def airy_amplitude(v: Any, quadrature: bool) -> Any:
    """P, or zeta Q, of Ai(-x) = (P sin(zeta + pi/4) - Q cos(zeta + pi/4)) / (sqrt(pi) x^(1/4)), where v = 1 / zeta^2."""
    zeta = 1 / mp.sqrt(v)
    x = (zeta * 3 / 2) ** (mpf(2) / 3)
    a, b, angle = mp.airyai(-x), mp.airybi(-x), zeta + mp.pi / 4
    scale = mp.sqrt(mp.pi) * mp.sqrt(mp.sqrt(x))
    return scale * zeta * (b * mp.sin(angle) - a * mp.cos(angle)) if quadrature else scale * (a * mp.sin(angle) + b * mp.cos(angle))


def airy_decay(v: Any) -> Any:
    """2 sqrt(pi) x^(1/4) exp(zeta) Ai(x) where v = 1 / zeta."""
    x = (1 / v * 3 / 2) ** (mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * mp.sqrt(mp.sqrt(x)) * mp.exp(1 / v) * mp.airyai(x)


def zeta_of(x: Any) -> Any:
    """2/3 x^(3/2)."""
    return mpf(2) / 3 * mpf(x) ** (mpf(3) / 2)


SERIES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "ERFINV_NEAR": (erfinv_by_logarithm, 0, 6.25),
    "ERFINV_FAR": (lambda s: erfinv_by_logarithm(s * s), 2.5, 4),
    "ERFINV_END": (lambda s: erfinv_by_logarithm(s * s), 4, 6.125),
    "ERFCX": (erfcx_by_inverse, 0, 1 / ERFCX_CENTRE),
    "NDTRI_NEAR": (ndtri_by_root, 2, 4.5),
    "NDTRI_FAR": (ndtri_by_root, 4.5, 13),
    "NDTRI_END": (ndtri_by_root, 13, 38.75),
    **modified(0),
    **modified(1),
    **oscillating(0),
    **oscillating(1),
    "AIRY_NEGATIVE": (mp.airyai, -3, 0),
    "AIRY_POSITIVE": (mp.airyai, 0, 2),
    "AIRY_SINE": (lambda v: airy_amplitude(v, False), 0, 1 / zeta_of(3) ** 2),
    "AIRY_COSINE": (lambda v: airy_amplitude(v, True), 0, 1 / zeta_of(3) ** 2),
    "AIRY_FAR": (airy_decay, 0, 1 / zeta_of(2)),
    "LGAMMA_ONE": (lambda d: mp.loggamma(1 + d) / d, -0.5, 0.5),
    "LGAMMA_TWO": (lambda d: mp.loggamma(2 + d) / d, -0.5, 0.5),
    "LGAMMA_THREE": (mp.loggamma, 2.5, 4.5),
    "LGAMMA_SIX": (mp.loggamma, 4.5, 9),
    "LOG_REST": (lambda d: (mp.log1p(d) - d) / (d * d) if d else mpf(-1) / 2, -0.375, 0.375),
}


def asymptotic() -> dict[str, list[float]]:
    """Factors of falling powers of 1 / x^2, the highest power first; B2k are Bernoulli's numbers."""
    numbers = {k: mp.bernoulli(2 * k) for k in range(1, 16)}
    return {
        "STIRLING": [float(numbers[k] / (2 * k * (2 * k - 1))) for k in range(9, 0, -1)],
        "DIGAMMA_TAIL": [float(numbers[k] / (2 * k)) for k in range(9, 0, -1)],
        "TRIGAMMA_TAIL": [float(numbers[k]) for k in range(9, 0, -1)],
        "ZETA_TAIL": [float(numbers[k] / mp.factorial(2 * k)) for k in range(1, 13)],
    }


TEMME_TERMS, TEMME_POWERS = 9, 19


def temme() -> list[list[float]]:
    """Rows k of c_k(eta) = sum of d[k][n] eta^n, the highest power first: the factors of a^-k in the uniform expansion of the incomplete gamma functions.

    With mu = lambda - 1 as a series in eta, mu mu' = eta (1 + mu), and 1 / mu = mu' / eta - 1; d[k][n] = (-1)^k g[k] d[0][n] + (n + 2) d[k - 1][n + 2], where
    g are the factors of Stirling's series for gamma itself (DLMF 8.12).
    """
    count = TEMME_POWERS + 2 * TEMME_TERMS + 3
    mu = [mpf(0), mpf(1)]
    for m in range(2, count):
        known = mp.fsum(mu[i] * (m + 1 - i) * mu[m + 1 - i] for i in range(2, m))
        mu.append((mu[m - 1] - known) / (m + 1))
    row = [(n + 2) * mu[n + 2] - (1 if n == 0 else 0) for n in range(count - 2)]
    logarithm = [mp.bernoulli(k + 1) / (k * (k + 1)) if k % 2 else mpf(0) for k in range(1, TEMME_TERMS)]
    gamma = [mpf(1)]
    for n in range(1, TEMME_TERMS):
        gamma.append(mp.fsum((k + 1) * logarithm[k] * gamma[n - 1 - k] for k in range(n)) / n)
    rows, first = [row], row
    for k in range(1, TEMME_TERMS):
        row = [(-1) ** k * gamma[k] * first[n] + (n + 2) * row[n + 2] for n in range(len(row) - 2)]
        rows.append(row)
    return [[float(value) for value in reversed(each[:TEMME_POWERS])] for each in rows]


def two_parts(value: Any) -> list[float]:
    """A number as the sum of two f64."""
    high = float(value)
    return [high, float(value - mpf(high))]


def row(name: str, values: list[float], before: str = "", after: str = "") -> str:
    """One table as text."""
    lines = "".join(f"    {value!r},\n" for value in values)
    return f"{name} = {before}(\n{lines}){after}\n"


def main() -> None:
    """Write the file."""
    parts = [HEAD]
    for name, (function, low, high) in SERIES.items():
        bottom, top, coefficients = chebyshev(function, low, high)
        parts.append(row(name, coefficients, f"Series({bottom!r}, {top!r}, ", ", from_low=True)" if name in ("I0_SMALL", "I1_SMALL") else ")"))
        print(name, len(coefficients))
    for name, numbers in asymptotic().items():
        parts.append(row(name, numbers))
    rows = "".join("    (\n" + "".join(f"        {value!r},\n" for value in values) + "    ),\n" for values in temme())
    parts.append(f"TEMME = (\n{rows})\n")
    parts.append(f"ERFCX_CENTRE = {float(ERFCX_CENTRE)!r}\n")
    parts.append(row("J0_ZERO", two_parts(J0_ZERO)))
    parts.append(row("J1_ZERO", two_parts(J1_ZERO)))
    TARGET.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
