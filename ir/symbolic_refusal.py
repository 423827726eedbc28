"""What an expression refuses: to be a number.

Code that weighs sizes (`size > 16`, `if count`, `range(size)`) needs numbers.  An expression has none before the program runs, so each of these raises
`SymbolicSizeError` unless the expression is constant, and whoever compiles may compile again with the sizes at hand.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .diagnostics import SymbolicSizeError


class NoNumber:
    """Base of expressions: `const` and `terms` say whether it is a number."""

    __slots__ = ()
    const: int
    terms: tuple

    def _number(self, what: str) -> int:
        if self.terms:
            self._refuse(what)
        return self.const

    def _refuse(self, what: str) -> NoReturn:
        raise SymbolicSizeError(f"the size {self} is known only at run time, and here {what}")

    def __lt__(self, other: Any) -> bool:
        return self._number(f"it is asked whether it is less than {other}") < other

    def __le__(self, other: Any) -> bool:
        return self._number(f"it is asked whether it is at most {other}") <= other

    def __gt__(self, other: Any) -> bool:
        return self._number(f"it is asked whether it is greater than {other}") > other

    def __ge__(self, other: Any) -> bool:
        return self._number(f"it is asked whether it is at least {other}") >= other

    def __bool__(self) -> bool:
        return self._number("it is asked whether it is zero") != 0

    def __int__(self) -> int:
        return self._number("a number is needed")

    def __index__(self) -> int:
        return self._number("a number is needed")

    def __float__(self) -> float:
        return float(self._number("a number is needed"))
