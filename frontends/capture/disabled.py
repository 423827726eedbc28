"""Functions that are marked so that nobody compiles them."""

from __future__ import annotations

from types import FunctionType, MethodType

OURS, TORCHS, ORIGINAL = "_lect_disabled", "_torchdynamo_disable", "_torchdynamo_orig_callable"
DISABLED = (OURS, TORCHS)


def is_disabled(function: FunctionType) -> bool:
    """True for what `lect.disable` gives, and for functions of the program that `torch.compiler.disable` gives.

    What torch marks of its own is about what its own compiler cannot follow.
    """
    marks = function.__dict__
    if OURS in marks or marks.get(TORCHS) is not True:
        return OURS in marks
    return type(marks.get(ORIGINAL)) is MethodType or not (function.__module__ or "").startswith("torch.")  # the former for a whole module
