"""The functions of `guard.apply`: Python's arithmetic on numbers, each pure and with a result that depends on its arguments alone."""

from __future__ import annotations

import builtins
import ctypes
import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

_OPERATORS = "add sub mul truediv floordiv mod pow neg pos abs invert and or xor lshift rshift lt le eq ne gt ge"
_BUILTINS = "float int round"
_MATH = "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil trunc fabs fmod pow hypot atan2 copysign"


def sum_from(start: Any, *values: Any) -> Any:
    """`sum(values, start)`, which since 3.12 keeps track of what rounding loses."""
    return sum(values, start)


def to_f32(value: float) -> float:
    """The nearest float of 32 bits, infinite above their range."""
    return ctypes.c_float(value).value


def _functions() -> dict[str, Callable[..., Any]]:
    found = {name: getattr(operator, f"{name}_" if name in ("and", "or") else name) for name in _OPERATORS.split()}
    found |= {name: getattr(builtins, name) for name in _BUILTINS.split()}
    return found | {"sum": sum_from, "to_f32": to_f32} | {f"math.{name}": getattr(math, name) for name in _MATH.split()}


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(_functions())
NAMES: Mapping[Callable[..., Any], str] = MappingProxyType({function: name for name, function in FUNCTIONS.items()})
SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "add": "+",
        "sub": "-",
        "mul": "*",
        "truediv": "/",
        "floordiv": "//",
        "mod": "%",
        "pow": "**",
        "and": "&",
        "or": "|",
        "xor": "^",
        "lshift": "<<",
        "rshift": ">>",
        "lt": "<",
        "le": "<=",
        "eq": "==",
        "ne": "!=",
        "gt": ">",
        "ge": ">=",
    }
)
