"""Attributes: the constant data on operations.

Literals are plain Python values and immutable: `None`, `bool`, `int`, `float`, `str`, `tuple` (printed as an array) and `dict` with string keys.
`SymbolRef` names a symbol, a `Type` may stand as an attribute, and dialects add classes of their own with `@attr` (interned: compare with `is`).
Because `1 == 1.0 == True` in Python, compare attribute values with `same_attribute`, and key tables with `literal_key`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .interning import interned, literal_key
from .scanner import Scanner, quote

T = TypeVar("T")


class Attribute:
    """Base of dialect attributes and types.  A subclass gives `print_body` and `parse_body`, which must be inverse to each other."""

    __slots__ = ()
    name: ClassVar[str] = ""
    sigil: ClassVar[str] = "#"
    _text: str | None

    if TYPE_CHECKING:

        def __init__(self, *fields: Any, **named: Any) -> None:
            """The fields in their order or by name; a class's `normalize` may take more than the field then holds."""

        @classmethod
        def canonical(cls, *fields: Any) -> Any:
            """The instance with these fields, all given, which are normalized, and in which each number is an int."""

    def print_body(self) -> str | None:
        """What stands between `<` and `>`; None prints no brackets."""
        return None

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> Any:
        """The inverse of `print_body`; `scanner` is None when the text had no brackets."""
        if scanner is not None:
            raise scanner.fail(f"no parameters, as {cls.sigil}{cls.name} takes none")
        return cls()

    def __str__(self) -> str:
        text = self._text
        if text is None:
            body = self.print_body()
            text = f"{self.sigil}{self.name}" if body is None else f"{self.sigil}{self.name}<{body}>"
            object.__setattr__(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return str(self)


def attr(name: str):  # type: ignore[no-untyped-def]
    """Class decorator for a dialect attribute printed `#name<body>`; the class is frozen and interned over its annotated fields."""

    def decorate(cls: type[T]) -> type[T]:
        cls.name = name  # type: ignore[attr-defined]
        return interned(cls)

    return decorate


@interned
class SymbolRef(Attribute):
    """`@name` or `@outer::@inner`: a reference to an operation by its `sym_name`."""

    path: tuple[str, ...]

    if TYPE_CHECKING:

        def __init__(self, path: str | tuple[str, ...]) -> None: ...

    @classmethod
    def normalize(cls, path: str | tuple[str, ...]) -> dict[str, Any]:
        return {"path": (path,) if isinstance(path, str) else tuple(path)}

    @property
    def leaf(self) -> str:
        """The last component."""
        return self.path[-1]

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = "::".join([symbol_text(part) for part in self.path])
            object.__setattr__(self, "_text", text)
        return text


def symbol_text(name: str) -> str:
    """`@name`, quoted when it is no identifier."""
    plain = name.isascii() and name.replace("_", "a").replace(".", "a").replace("$", "a").isalnum() and not name[0].isdigit() and name[0] not in ".$"
    return f"@{name}" if plain else f"@{quote(name)}"


def same_attribute(a: Any, b: Any) -> bool:
    """Equality of attribute values that tells 1, 1.0 and True apart, and 0.0 from -0.0."""
    return a is b or literal_key(a) == literal_key(b)
