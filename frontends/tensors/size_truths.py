"""Comparisons of sizes as torch's C++ code gets them."""

from __future__ import annotations

from collections.abc import Callable


class Truth:
    """The node of a comparison (`torch.SymBool`), decided when it is asked."""

    __slots__ = ("ask", "known")

    def __init__(self, ask: Callable[[], bool], known: Callable[[], bool | None]) -> None:
        self.ask = ask
        self.known = known

    def is_int(self) -> bool:
        return False

    is_float = is_nested_int = is_constant = is_int

    def is_bool(self) -> bool:
        return True

    is_symbolic = has_hint = is_bool

    def maybe_as_bool(self) -> bool | None:
        return self.known()

    def bool_(self) -> bool:
        return self.ask()

    def guard_bool(self, file: str, line: int) -> bool:
        return self.ask()

    guard_size_oblivious = guard_or_false = guard_or_true = expect_true = expect_size = guard_bool

    def statically_known_true(self, file: str, line: int) -> bool:
        return self.known() is True

    def sym_not(self) -> Truth:
        return Truth(lambda: not self.ask(), lambda: None if self.known() is None else not self.known())

    not_ = sym_not

    def sym_and(self, other: Truth) -> Truth:
        return Truth(lambda: self.ask() and other.ask(), lambda: _both(self.known(), other.known(), False))

    and_ = sym_and

    def sym_or(self, other: Truth) -> Truth:
        return Truth(lambda: self.ask() or other.ask(), lambda: _both(self.known(), other.known(), True))

    or_ = sym_or

    def wrap_bool(self, value: bool) -> Truth:
        return Truth(lambda: value, lambda: value)

    def clone(self) -> Truth:
        return self

    _hint, expr = property(maybe_as_bool), property(clone)  # for torch's `statically_known_true`

    def __str__(self) -> str:
        return "a comparison of sizes"

    _graph_repr = str = __str__


def _both(left: bool | None, right: bool | None, decides: bool) -> bool | None:
    if left is decides or right is decides:
        return decides
    return None if left is None or right is None else not decides
