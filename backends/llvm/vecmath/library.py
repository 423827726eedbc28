"""The table of functions and the text of those asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import NamedTuple

from . import error_function, exponential, half, hyperbolic, inverse_trigonometric, logarithm, philox, power, trigonometric
from .builder import ELEMENTS, F16, F32, I16, I64, Body, Element, Value, per_lane_function
from .features import CpuFeatures

FLOATS = ("f32", "f64")


class Function(NamedTuple):
    """How one function is made: `define` writes its body; operand and result elements are None where they are the named element."""

    define: Callable[..., Value]
    arity: int = 1
    operand: Element | None = None
    result: Element | None = None


UNARY = MappingProxyType(
    {
        "exp": exponential.exp,
        "exp2": exponential.exp2,
        "expm1": exponential.expm1,
        "sigmoid": exponential.sigmoid,
        "log": logarithm.log,
        "log1p": logarithm.log1p,
        "log2": logarithm.log2,
        "log10": logarithm.log10,
        "sin": trigonometric.sin,
        "cos": trigonometric.cos,
        "tan": trigonometric.tan,
        "asin": inverse_trigonometric.asin,
        "acos": inverse_trigonometric.acos,
        "atan": inverse_trigonometric.atan,
        "sinh": hyperbolic.sinh,
        "cosh": hyperbolic.cosh,
        "tanh": hyperbolic.tanh,
        "asinh": hyperbolic.asinh,
        "acosh": hyperbolic.acosh,
        "atanh": hyperbolic.atanh,
        "erf": error_function.erf,
        "erfc": error_function.erfc,
        "sqrt": power.sqrt,
        "rsqrt": power.rsqrt,
    }
)
BINARY = MappingProxyType({"pow": power.pow, "atan2": inverse_trigonometric.atan2, "maximum": power.maximum, "minimum": power.minimum})
CONVERSIONS = MappingProxyType(
    {
        ("widen", "bf16"): Function(half.widen_bf16, operand=I16, result=F32),
        ("narrow", "bf16"): Function(half.narrow_bf16, operand=F32, result=I16),
        ("round", "bf16"): Function(half.round_bf16, operand=F32, result=F32),
        ("widen", "f16"): Function(half.widen_f16, operand=F16, result=F32),
        ("narrow", "f16"): Function(half.narrow_f16, operand=F32, result=F16),
        ("round", "f16"): Function(half.round_f16, operand=F32, result=F32),
    }
)
RANDOM = MappingProxyType(
    {
        (op, "i64"): Function(define, arity=3, operand=I64, result=I64)
        for op, define in (
            ("philox32", philox.philox32),
            ("philox64", philox.philox64),
            ("philox_first", philox.first_pair),
            ("philox_second", philox.second_pair),
        )
    }
)
FUNCTIONS = MappingProxyType(
    {(op, element): Function(define) for op, define in UNARY.items() for element in FLOATS}
    | {(op, element): Function(define, arity=2) for op, define in BINARY.items() for element in FLOATS}
    | dict(CONVERSIONS)
    | dict(RANDOM)
)


def name(op: str, element: str, lanes: int) -> str:
    """The LLVM name of a function, such as `@lect.exp.f32x16`, or `@lect.exp.f32` for one lane."""
    return f"@lect.{op}.{element}" if lanes == 1 else f"@lect.{op}.{element}x{lanes}"


def signature(op: str, element: str, lanes: int) -> tuple[str, tuple[str, ...]]:
    """LLVM types of the result and of the operands; raises KeyError for a function that the library does not have."""
    function = FUNCTIONS[op, element]
    operand = function.operand or ELEMENTS[element]
    result = function.result or ELEMENTS[element]
    return vector_type(result, lanes), (vector_type(operand, lanes),) * function.arity


def vector_type(element: Element, lanes: int) -> str:
    return element.llvm if lanes == 1 else f"<{lanes} x {element.llvm}>"


def functions(names: Iterable[tuple[str, str]], lanes: Iterable[int], features: CpuFeatures) -> str:
    """LLVM IR of the named functions for each number of lanes, after declarations of the C functions they call. Each is written once.

    `names` holds pairs of operation and element type, such as ("exp", "f32"); `lanes` holds powers of two. Raises KeyError for a pair
    that is not in `FUNCTIONS` and ValueError for a number of lanes that is not a power of two. The order of the text does not depend on
    the order of the arguments.
    """
    declarations: set[str] = set()
    definitions: list[str] = []
    keys = sorted(set(names))
    for width in sorted(set(lanes)):
        if width < 1 or width & (width - 1):
            raise ValueError(f"expected a power of two as the number of lanes, got {width}")
        libm: set[tuple[str, int, str]] = set()
        for op, element in keys:
            text, used = definition(op, element, width, features)
            definitions.append(text)
            libm |= used
        for symbol, arity, element in sorted(libm):
            declaration, text = per_lane_function(symbol, arity, ELEMENTS[element], width)
            declarations.add(declaration)
            definitions.append(text)
    return "\n".join(sorted(declarations)) + "\n\n" + "\n".join(filter(None, definitions))


def definition(op: str, element: str, lanes: int, features: CpuFeatures) -> tuple[str, set[tuple[str, int, str]]]:
    """The text of one function, and the C functions that it calls."""
    function = FUNCTIONS[op, element]
    operand = function.operand or ELEMENTS[element]
    body = Body(lanes, features.vector_ldexp)
    operands = [Value(body, operand, f"%x{i}") for i in range(function.arity)]
    result = function.define(body, *operands)
    parameters = ", ".join(map(body.typed, operands))
    header = f"define internal {body.type_of(result.element)} {name(op, element, lanes)}({parameters})"
    lines = [f"{header} alwaysinline nounwind willreturn memory(none) {{", "entry:", *body.lines, f"  ret {body.typed(result)}", "}"]
    return "\n".join(lines) + "\n", body.libm
