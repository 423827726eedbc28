"""The scalar operations as Triton expressions.

Exact where eager's CUDA kernels are: division and square root of f32 round to nearest, and mathematics is libdevice's, from which CUDA's own functions
are made.  In a kernel that may be approximate, the instructions of the hardware take their place.  16-bit floats compute in f32 and are rounded once.
Triton subtracts from zero for `-x`, which loses the sign of zero, so a sign is changed by a product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from lect.dialects.scalars import SPECIAL
from lect.ir import ScalarType
from lect.ir.types import f32, f64, i1

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "f16": "tl.float16", "bf16": "tl.bfloat16", "f32": "tl.float32", "f64": "tl.float64", "i1": "tl.int1", "i8": "tl.int8", "i16": "tl.int16",
        "i32": "tl.int32", "i64": "tl.int64", "ui8": "tl.uint8", "ui16": "tl.uint16", "ui32": "tl.uint32", "ui64": "tl.uint64", "index": "tl.int32",
    }
)  # fmt: skip


class Expression(NamedTuple):
    """Text, and the functions of the prelude that it calls."""

    text: str
    calls: tuple[str, ...] = ()


Write = Callable[[ScalarType, bool, Sequence[str]], Expression]


def _infix(symbol: str) -> Write:
    return lambda element, approximate, given: Expression(f"{given[0]} {symbol} {given[1]}")


def _call(function: str) -> Write:
    """A function of Triton or libdevice."""
    return lambda element, approximate, given: Expression(f"{function}({', '.join(given)})")


def _either(exact: str, fast: str) -> Write:
    """A function of libdevice, and the one of Triton that is made of one or two instructions."""
    return lambda element, approximate, given: Expression(f"{fast if approximate and element is f32 else exact}({', '.join(given)})")


def _helper(name: str) -> Write:
    return lambda element, approximate, given: Expression(f"{name}({', '.join(given)})", (name,))


def _shift(name: str) -> Write:
    return lambda element, approximate, given: Expression(f"{name}({given[0]}, {given[1]}, {element.bits})", (name,))


def _special(name: str) -> Write:
    """A function of the prelude, of which there is one for each element type."""

    def write(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
        function = f"{name}_{element.spelling}"
        return Expression(f"{function}({', '.join(given)})", (function,))

    return write


def _gcd(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    """In i64, as its low bits are those of every narrower type."""
    wide = ", ".join([f"{text}.to(tl.int64)" for text in given])
    return Expression(f"gcd_i64({wide}).to({NAMES[element.spelling]})", ("gcd_i64",))


def quotient(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    """A division of floats."""
    return Expression(f"tl.div_rn({given[0]}, {given[1]})" if element is f32 and not approximate else f"{given[0]} / {given[1]}")


def _extreme(name: str) -> Write:
    def write(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
        if element is i1:
            return Expression(f"{given[0]} {'|' if name == 'maximum' else '&'} {given[1]}")
        nan = ", propagate_nan=tl.PropagateNan.ALL" if element.is_float else ""
        return Expression(f"tl.{name}({given[0]}, {given[1]}{nan})")

    return write


def _opposite(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    return Expression(f"{given[0]} * -1.0" if element.is_float else f"0 - {given[0]}")


def _complement(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    return Expression(f"{given[0]} == 0" if element is i1 else f"~{given[0]}")


def _square_root(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    return Expression(f"{'tl.sqrt' if approximate or element is f64 else 'tl.sqrt_rn'}({given[0]})")


def _sigmoid(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    if approximate and element is f32:
        return Expression(f"quick_sigmoid({given[0]})", ("quick_sigmoid",))
    return quotient(element, approximate, ["1.0", f"(1.0 + libdevice.exp({given[0]} * -1.0))"])


def _truncated_quotient(element: ScalarType, approximate: bool, given: Sequence[str]) -> Expression:
    if element.is_float:
        return Expression(f"libdevice.trunc({quotient(element, False, given).text})")
    return Expression(f"{given[0]} // {given[1]}")


def _by_kind(floats: Write, integers: Write) -> Write:
    return lambda element, approximate, given: (floats if element.is_float else integers)(element, approximate, given)


def _unsigned_plain(signed: Write, plain: str) -> Write:
    """Division that needs no correction where nothing is negative."""
    return lambda element, approximate, given: (_infix(plain) if element.kind == "unsigned" else signed)(element, approximate, given)


LOG2_E = 1.4426950408889634
LIBDEVICE = (
    "exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc trunc pow atan2 hypot copysign fmod"
).split()
INFIX = MappingProxyType(
    {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
)
TABLE: Mapping[str, Write] = MappingProxyType(
    {
        **{name: _infix(symbol) for name, symbol in INFIX.items()},
        **{name: _call(f"libdevice.{name}") for name in LIBDEVICE},
        **{name: _special(name) for name in sorted(SPECIAL)},
        "gcd": _gcd,
        "fmod": _by_kind(_call("libdevice.fmod"), _infix("%")),
        "div": quotient,
        "reciprocal": lambda element, approximate, given: quotient(element, approximate, ["1.0", given[0]]),
        "trunc_div": _truncated_quotient,
        "floor_div": _by_kind(_helper("float_floor_quotient"), _unsigned_plain(_helper("floor_quotient"), "//")),
        "remainder": _by_kind(_helper("float_remainder"), _unsigned_plain(_helper("floor_remainder"), "%")),
        "maximum": _extreme("maximum"),
        "minimum": _extreme("minimum"),
        "fmax": _helper("number_max"),
        "fmin": _helper("number_min"),
        "shl": _shift("shift_left"),
        "shr": _shift("shift_right"),
        "fma": _call("tl.fma"),
        "philox32": _helper("philox32"),
        "philox64": _helper("philox64"),
        "not": _complement,
        "neg": _opposite,
        "abs": _call("tl.abs"),
        "sign": _helper("sign"),
        "isnan": lambda element, approximate, given: Expression(f"{given[0]} != {given[0]}"),
        "isinf": lambda element, approximate, given: Expression(f'tl.abs({given[0]}) == float("inf")'),
        "exp": _either("libdevice.exp", "tl.exp"),
        "sqrt": _square_root,
        "rsqrt": _either("libdevice.rsqrt", "tl.rsqrt"),
        "sigmoid": _sigmoid,
        "floor": _call("tl.floor"),
        "ceil": _call("tl.ceil"),
        "round": _call("libdevice.rint"),
    }
)
QUICK: Mapping[str, Write] = MappingProxyType(
    {
        "div": _call("libdevice.fast_dividef"),
        "exp": lambda element, approximate, given: Expression(f"tl.exp2({given[0]} * {LOG2_E})"),
    }
)
"""Forms for operations that are marked as `quick`: with the hardware's instructions, which know no subnormal numbers."""
OPERATORS = frozenset(INFIX) | {"neg", "not", "isnan"}
"""Operations that are written with operators, which give a Python number the type of the other operand."""
HELPED = frozenset({"floor_div", "remainder", "shl", "shr", "sign", "fmax", "fmin", "philox32", "philox64"}) | SPECIAL
"""Operations that functions of the prelude compute, which ask their operands for their types."""


def converted(text: str, source: ScalarType, target: ScalarType) -> str:
    """A value in another element type, as eager's conversion on CUDA: what becomes a half does so by way of f32, what becomes a byte by way of i64."""
    if source is target:
        return text
    if target is i1:
        return f"({text} != 0)"
    if source.is_float and target.kind == "unsigned" and not source.is_half:
        text = f"{text}.to(tl.int64)"
    through = target.is_half and source is not f32 and source is not i1
    if through or (source.is_half and target.kind != "float"):
        text = f"{text}.to(tl.float32)"
    return f"{text}.to({NAMES[target.spelling]})"
