"""The table of functions and the text of those asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import NamedTuple

from lect.backends.special import ROUTINES, Routine

from . import error_function, exponential, half, hyperbolic, inverse_trigonometric, logarithm, philox, power, trigonometric
from .builder import ELEMENTS, F16, F32, I16, I64, Body, Element, Value, per_lane_function
from .builder import function_name as name
from .features import CpuFeatures

FLOATS = ("f32", "f64")


class Function(NamedTuple):
    """How one function is made: `define` writes its body; operand and result elements are None where they are the named element.

    Long ones are not `inlined` where they are called.
    """

    define: Callable[..., Value]
    arity: int = 1
    operand: Element | None = None
    result: Element | None = None
    inlined: bool = True


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


def special(routine: Routine, element: str) -> Function:
    """A special function: a wide one of f32 computes in f64."""

    def in_double(m: Body, *operands: Value) -> Value:
        return m.narrow(routine.define(m, *map(m.widen, operands)))

    return Function(in_double if routine.wide and element == "f32" else routine.define, routine.arity, inlined=False)


SPECIAL_FUNCTIONS = MappingProxyType({(op, element): special(routine, element) for op, routine in ROUTINES.items() for element in routine.elements})


def function_of(op: str, element: str) -> Function:
    """How a function is made.  Raises KeyError for one that the library does not have."""
    return FUNCTIONS.get((op, element)) or SPECIAL_FUNCTIONS[op, element]


def has_function(op: str, element: str) -> bool:
    """Whether the library has a function."""
    return (op, element) in FUNCTIONS or (op, element) in SPECIAL_FUNCTIONS


def signature(op: str, element: str, lanes: int) -> tuple[str, tuple[str, ...]]:
    """LLVM types of the result and of the operands; raises KeyError for a function that the library does not have."""
    function = function_of(op, element)
    operand = function.operand or ELEMENTS[element]
    result = function.result or ELEMENTS[element]
    return vector_type(result, lanes), (vector_type(operand, lanes),) * function.arity


def vector_type(element: Element, lanes: int) -> str:
    return element.llvm if lanes == 1 else f"<{lanes} x {element.llvm}>"


def functions(names: Iterable[tuple[str, str]], lanes: Iterable[int], features: CpuFeatures) -> str:
    """LLVM IR of the named functions for each number of lanes, after declarations of the C functions they call, with what they call of the
    library. Each is written once.

    `names` holds pairs of operation and element type, such as ("exp", "f32"); `lanes` holds powers of two. Raises KeyError for a pair
    that is in neither table and ValueError for a number of lanes that is not a power of two. The order of the text does not depend on
    the order of the arguments.
    """
    declarations: set[str] = set()
    definitions: list[str] = []
    keys = sorted(set(names))
    for width in sorted(set(lanes)):
        if width < 1 or width & (width - 1):
            raise ValueError(f"expected a power of two as the number of lanes, got {width}")
        libm: set[tuple[str, int, str]] = set()
        waiting, written = list(keys), set(keys)
        while waiting:
            op, element = waiting.pop(0)
            text, body = definition(op, element, width, features)
            definitions.append(text)
            libm |= body.libm
            called = sorted(body.functions - written)
            waiting += called
            written.update(called)
        for symbol, arity, element in sorted(libm):
            declaration, text = per_lane_function(symbol, arity, ELEMENTS[element], width)
            declarations.add(declaration)
            definitions.append(text)
    return "\n".join(sorted(declarations)) + "\n\n" + "\n".join(filter(None, definitions))


def definition(op: str, element: str, lanes: int, features: CpuFeatures) -> tuple[str, Body]:
    """The text of one function, and its body, which knows what it calls."""
    function = function_of(op, element)
    operand = function.operand or ELEMENTS[element]
    body = Body(lanes, features.vector_ldexp, element == "f32")
    operands = [Value(body, operand, f"%x{i}") for i in range(function.arity)]
    result = function.define(body, *operands)
    parameters = ", ".join(map(body.typed, operands))
    header = f"define internal {body.type_of(result.element)} {name(op, element, lanes)}({parameters})"
    inline = "alwaysinline" if function.inlined else "noinline"
    lines = [f"{header} {inline} nounwind willreturn memory(none) {{", "entry:", *body.lines, f"  ret {body.typed(result)}", "}"]
    return "\n".join(lines) + "\n", body
