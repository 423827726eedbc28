"""What an expression refuses: to be a number.

A size that is known only at run time is at least 2, as sizes 0 and 1 have programs of their own.  What this decides may be asked (`size > 0`, `if count`);
everything else that needs a number (`size > 16`, `range(size)`) raises `SymbolicSizeError`, and whoever compiles may compile again with the sizes at hand.
"""

from __future__ import annotations

from typing import Any, NoReturn

from . import symbolic
from .diagnostics import SymbolicSizeError


class NoNumber:
    """Base of expressions: `const` and `terms` say whether it is a number."""

    __slots__ = ()
    const: int
    terms: tuple

    def _decided(self, found: bool | None, what: str, other: Any = 0) -> bool:
        return self._refuse(what, other) if found is None else found

    def _refuse(self, what: str, other: Any = 0) -> NoReturn:
        raise SymbolicSizeError(f"the size {self} is known only at run time, and here {what}").of(self, other)

    def __lt__(self, other: Any) -> bool:
        return self._decided(symbolic.SIZES.less(self, other), f"it is asked whether it is less than {other}", other)  # type: ignore[arg-type]

    def __le__(self, other: Any) -> bool:
        return self._decided(symbolic.SIZES.less_equal(self, other), f"it is asked whether it is at most {other}", other)  # type: ignore[arg-type]

    def __gt__(self, other: Any) -> bool:
        return self._decided(symbolic.SIZES.less(other, self), f"it is asked whether it is greater than {other}", other)  # type: ignore[arg-type]

    def __ge__(self, other: Any) -> bool:
        return self._decided(symbolic.SIZES.less_equal(other, self), f"it is asked whether it is at least {other}", other)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        zero = symbolic.SIZES.equal(self, 0)  # type: ignore[arg-type]
        return not self._decided(zero, "it is asked whether it is zero")

    def _no_arithmetic(self, other: Any) -> NoReturn:
        self._refuse(f"it is reckoned with as a number, with {other}", other)

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = _no_arithmetic

    def __int__(self) -> int:
        return self.const if not self.terms else self._refuse("a number is needed")

    def __index__(self) -> int:
        return self.const if not self.terms else self._refuse("a number is needed")

    def __float__(self) -> float:
        return float(self.const) if not self.terms else self._refuse("a number is needed")
