"""Special functions: one scalar operation each, or a formula of some."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.functional import composite, pointwise
from lect.ir import Operation
from lect.ir.types import bf16, f16
from lect.passes.convert.functional_to_loop_base import Body, Lowering, Num, Rule, Seen
from lect.passes.convert.functional_to_loop_pointwise import Formula, convert, pair, rounded

UNARY: Mapping[type[Operation], str] = MappingProxyType(
    {
        pointwise.ErfinvOp: "erfinv",
        pointwise.ErfcxOp: "erfcx",
        pointwise.NdtriOp: "ndtri",
        pointwise.LogNdtrOp: "log_ndtr",
        pointwise.LgammaOp: "lgamma",
        pointwise.DigammaOp: "digamma",
    }
)
BINARY: Mapping[type[Operation], str] = MappingProxyType(
    {pointwise.ZetaOp: "zeta", pointwise.IgammaOp: "igamma", pointwise.IgammacOp: "igammac", pointwise.GcdOp: "gcd"}
)
BESSEL: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in ("i0", "i0e", "i1", "i1e", "airy_ai")},
        **{name: f"bessel_{name}" for name in ("j0", "j1", "y0", "y1")},
        "modified_i0": "i0",
        "modified_i1": "i1",
        **{f"{family}_{name}": f"{family}_bessel_{name}" for family in ("modified", "scaled_modified") for name in ("k0", "k1")},
        "spherical_j0": "spherical_bessel_j0",
    }
)


def _unary(name: str) -> Formula:
    return lambda body, op: body.read(op.x).op(name)


def _binary(name: str) -> Formula:
    def formula(body: Body, op: Any) -> Num:
        x, y = pair(body, op)
        return x.op(name, y)

    return formula


def _bessel(body: Body, op: Any) -> Num:
    return body.read(op.x).op(BESSEL[op.kind])


def _orthopoly(body: Body, op: Any) -> Num:
    x, degree = pair(body, op)
    family, _, letter = op.kind.rpartition("_")
    return x.op(f"{family}_polynomial_{letter}", degree)


def _nextafter(body: Body, op: Any) -> Num | None:
    element = op.output.type.element
    if element is f16:
        return None
    x, y = pair(body, op)
    return x.op("nextafter_bf16" if element is bf16 else "nextafter", y)


def _ldexp(body: Body, op: Any) -> Num:
    x, y = body.read(op.x), body.read(op.y)
    return x * rounded(y.const(2).op("pow", y), op.output.type.element)


def _polygamma(body: Body, op: Any) -> Num:
    """digamma, trigamma, and then the factorial of n times a zeta function; halves are rounded at each step."""
    x, element = body.read(op.x), op.output.type.element
    if op.n < 2:
        return x.op(("digamma", "trigamma")[op.n])
    factorial = rounded(x.const(float(math.factorial(op.n)) if op.n <= 170 else math.inf), element)
    return (factorial if op.n % 2 else -factorial) * rounded(x.const(op.n + 1).op("zeta", x), element)


def frexp(lowering: Lowering, op: Any) -> list[Seen]:
    """The mantissa, and the exponent in i32."""
    body = lowering.body(op.mantissa.type, op.loc)
    x = body.read(op.x)
    body.store(x.op("frexp_mantissa"), op.mantissa.type)
    body.store(convert(x.op("frexp_exponent"), op.exponent.type.element), op.exponent.type)
    return body.finish()


FORMULAS: Mapping[type[Operation], Formula] = MappingProxyType(
    {
        **{cls: _unary(name) for cls, name in UNARY.items()},
        **{cls: _binary(name) for cls, name in BINARY.items()},
        pointwise.BesselOp: _bessel,
        pointwise.OrthopolyOp: _orthopoly,
        pointwise.NextafterOp: _nextafter,
        composite.LdexpOp: _ldexp,
        composite.PolygammaOp: _polygamma,
    }
)
RULES: Mapping[type[Operation], Rule] = MappingProxyType({pointwise.FrexpOp: frexp})
