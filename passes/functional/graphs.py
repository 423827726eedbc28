"""What passes over functional graphs share: the graphs of a module, results that share memory, and values under a given type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lect.dialects.functional.canonicalization import PATTERNS
from lect.dialects.functional.creation import CopyOp
from lect.dialects.functional.ops import FuncOp, ReturnOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import ExpandOp
from lect.ir import Builder, Context, Operation, PassFailure, Value, VerifyError, apply_greedily

NUMERICS = ("eager", "fused")
VIEWS = frozenset(f"functional.{name}" for name in "reshape permute expand slice".split())
# What reads its operands from memory and what ends a graph: no kernel could take an operand's computation in.
LIBRARY = frozenset(f"functional.{name}" for name in "mm bmm addmm baddbmm addmv addbmm attention convolution opaque return write".split())


def functions(module: Operation) -> list[FuncOp]:
    """The functional graphs of a module."""
    return [op for op in module.body if isinstance(op, FuncOp)]


def relaxed(given: str, ctx: Context) -> bool:
    """True when values need not be rounded where eager rounds them: `given` is a pass's option, which the compile's option stands in for when empty.

    Raises `PassFailure` for a name that is none.
    """
    chosen = given or ctx.options.get("numerics", "eager")
    if chosen not in NUMERICS:
        raise PassFailure(f"numerics is one of {', '.join(NUMERICS)}, got '{chosen}'")
    return chosen == "fused"


def simplify(func: FuncOp) -> None:
    """Canonicalize one graph: what a pass calls that has changed something, so that a graph without anything to do costs nothing."""
    apply_greedily(func, PATTERNS)


def sharing_results(func: FuncOp) -> set[Value]:
    """Results that lie in the memory of an input or of another result, or in whose memory another lies: they must stay views of what they are views of."""
    end = func.body.last
    if not isinstance(end, ReturnOp) or end.aliases is None:
        return set()
    found = set()
    for value, alias in zip(end.operands, end.aliases):
        if alias is not None:
            found.add(value)
            if alias[0] == "result":
                found.add(end.operands[alias[1]])
    return found


def restated(op: Any, type: Any) -> Any:
    """The operation with the strides of `type` for its one result."""
    result = op.results[0]
    if result.type is not type:
        assert result.type.with_strides(type.strides) is type, (result.type, type)
        op.attrs["strides"] = type.strides
        result.type = type
    return op


def shown_as(anchor: Operation, value: Value, type: TensorType) -> Value:
    """A value under a type to which it broadcasts, by operations in front of `anchor`."""
    own = value.type
    assert isinstance(own, TensorType)
    if own is type:
        return value
    new = ExpandOp(value, type.shape, loc=anchor.loc) if own.shape != type.shape else CopyOp(value, loc=anchor.loc)
    return Builder.before(anchor).insert(restated(new, type)).results[0]


def rebuilt(op: Any, operands: Sequence[Value], type: TensorType) -> Any:
    """The elementwise operation on other operands, its result of the given type; None when only strides could not make it that type."""
    attrs = {name: value for name, value in op.attrs.items() if name != "strides"}
    new = op.__class__.create(list(operands), [type], attrs, (), (), op.loc)
    try:
        (found,) = new.infer()
    except VerifyError:
        found = None
    if found is not None and found is not type:
        new.attrs["strides"] = type.strides
        found = found.with_strides(type.strides)
    if found is not type:
        new.drop_operands()
        return None
    return new


def reads_from_memory(user: Any) -> bool:
    """True when a user, behind views, is none that could compute its operand itself."""
    if user.name in VIEWS:
        return all(reads_from_memory(behind) for behind in user.results[0].users)
    return user.name in LIBRARY
