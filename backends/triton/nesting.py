"""Which values of a kernel are written inside of the expression that reads them, as a person would write them, and parentheses.

    f32 = x_1.to(tl.float32)
    mul = f32 * 0.5             =>      exp = tl.exp(x_1.to(tl.float32) * 0.5)
    exp = tl.exp(mul)

A value is nested where one operation reads it once, whatever lines of the program the two come from: equal kernels have equal texts.  What a loop or a fold
gives has a name, and so has what is loaded, but for a load that is only converted: it must stay in front of later stores.
"""

from __future__ import annotations

from lect.backends.triton.arithmetic import TABLE
from lect.dialects.kernel import ops as kernel
from lect.ir import Operation, Value

LONGEST = 96
READ_TWICE = frozenset({"isnan"})  # whose text has its operand twice


def _is_scalar(op: Operation) -> bool:
    return op.name.partition(".")[2] in TABLE


def is_nested(value: Value, text: str) -> bool:
    """Whether `text` may stand for the value where it is read."""
    op = value.op
    if op is None or len(text) > LONGEST or len(value.users) != 1:
        return False
    ((user, count),) = value.users.items()
    if count != 1 or user.parent is not op.parent:
        return False
    if isinstance(op, kernel.LoadOp):
        return isinstance(user, kernel.CastOp) and op.next is user
    if "tl.load(" in text or not (_is_scalar(op) or isinstance(op, (kernel.CastOp, kernel.SelectOp))):
        return False
    if _is_scalar(user):
        return user.name.partition(".")[2] not in READ_TWICE
    if isinstance(user, kernel.StoreOp):
        return user.value is value and value not in user.masks
    return isinstance(user, (kernel.CastOp, kernel.SelectOp, kernel.ReduceOp))


def enclosed(text: str) -> str:
    """An expression that may stand beside any operator: as it is if it is a name, a whole number or a call, else in parentheses."""
    return text if _is_call(text) else f"({text})"


def _is_call(text: str) -> bool:
    """Whether a text is one name or what parentheses enclose, or calls behind one, as in `f(x).to(y)`."""
    depth = 0
    for place, char in enumerate(text):
        if char == "(":
            if depth == 0 and place and not (text[place - 1].isalnum() or text[place - 1] == "_"):
                return False
            depth += 1
        elif char == ")":
            depth -= 1
        elif depth == 0 and not (char.isalnum() or char in "._"):
            return False
    return text.isdigit() or not text[:1].isdigit()


def tidy(text: str) -> str:
    """A statement without parentheses that alone enclose an argument of a call: `f((a + b), c)` is `f(a + b, c)`."""
    opened: list[int] = []
    dropped: set[int] = set()
    commas: set[int] = set()
    for place, char in enumerate(text):
        if char in "([":
            opened.append(place)
        elif char == "," and opened:
            commas.add(opened[-1])
        elif char in ")]":
            start = opened.pop()
            before, behind = text[:start].rstrip()[-1:], text[place + 1 :].lstrip()[:1]
            if char == ")" and start not in commas and opened and text[opened[-1]] == "(" and before in ("(", ",") and behind in (")", ","):
                dropped.update((start, place))
    return "".join([char for place, char in enumerate(text) if place not in dropped])
