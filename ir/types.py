"""Types of values: the builtin scalars, and the base class of dialect types.

Types are frozen and interned: two equal types are one object, compared with `is`.  Builtin scalars print as MLIR's (`f32`, `i1`, `ui8`,
`index`, `complex<f32>`); dialect types print as `!dialect.name<body>`.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from .attributes import Attribute
from .interning import interned

T = TypeVar("T")


class Type(Attribute):
    """Base of all types."""

    __slots__ = ()
    sigil: ClassVar[str] = "!"


def type_(name: str):  # type: ignore[no-untyped-def]
    """Class decorator for a dialect type printed `!name<body>`; the class is frozen and interned over its annotated fields."""

    def decorate(cls: type[T]) -> type[T]:
        cls.name = name  # type: ignore[attr-defined]
        return interned(cls)

    return decorate


@interned
class ScalarType(Type):
    """A number: `spelling` is its text, `bits` its width in memory, `kind` one of 'float', 'signed', 'unsigned', 'bool', 'index', 'complex', 'none'."""

    spelling: str
    bits: int
    kind: str

    def __str__(self) -> str:
        return self.spelling

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Real floating point."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer; neither bool nor index."""
        return self.kind in ("signed", "unsigned")

    @property
    def is_half(self) -> bool:
        """A 16-bit float."""
        return self.kind == "float" and self.bits == 16


f16 = ScalarType("f16", 16, "float")
bf16 = ScalarType("bf16", 16, "float")
f32 = ScalarType("f32", 32, "float")
f64 = ScalarType("f64", 64, "float")
i1 = ScalarType("i1", 1, "bool")
i8 = ScalarType("i8", 8, "signed")
i16 = ScalarType("i16", 16, "signed")
i32 = ScalarType("i32", 32, "signed")
i64 = ScalarType("i64", 64, "signed")
ui8 = ScalarType("ui8", 8, "unsigned")
ui16 = ScalarType("ui16", 16, "unsigned")
ui32 = ScalarType("ui32", 32, "unsigned")
ui64 = ScalarType("ui64", 64, "unsigned")
index = ScalarType("index", 64, "index")
complex64 = ScalarType("complex<f32>", 64, "complex")
complex128 = ScalarType("complex<f64>", 128, "complex")

SCALARS: dict[str, Any] = {t.spelling: t for t in (f16, bf16, f32, f64, i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64, index, complex64, complex128)}
