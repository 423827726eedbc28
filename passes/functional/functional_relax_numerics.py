"""Keep 16-bit floats in f32 between operations that become one kernel.

    %0 = functional.mul(%x, %y) : !functional.tensor<8xbf16>           %0 = functional.cast(%x) {to = f32}    (%y alike)
    %1 = functional.exp(%0) : !functional.tensor<8xbf16>        =>     %1 = functional.mul(%0, %y')
                                                                       %2 = functional.exp(%1) : !functional.tensor<8xf32>
                                                                       %3 = functional.cast(%2) {to = bf16} : !functional.tensor<8xbf16>

Eager rounds the result of every operation; this rounds the last one of a chain alone, and is nearer to the exact value.  It needs `numerics` to be "fused".

A value stays wide when all that reads it computes in f32 anyway (pointwise operations, sums, softmax, views of them) and when it is not stored for
several readers because it is costly: such a value would take twice the memory.  So a cast that the program itself asks for still rounds, and so does what
is returned, what a library call or a comparison reads, and operations whose meaning hangs on the type (`nextafter`, `nan_to_num`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lect.dialects.functional.creation import CastOp
from lect.dialects.functional.families import Elementwise
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.types import TensorType
from lect.dialects.scalars import HEAVY
from lect.ir import Builder, Context, Operation, Value
from lect.ir.types import f32
from lect.passes.base import Pass, option
from lect.passes.functional.graphs import functions, rebuilt, relaxed

VIEWS: Final = frozenset(f"functional.{name}" for name in "reshape permute expand slice diagonal reverse".split())
FOLDS: Final = frozenset(f"functional.{name}" for name in "sum mean amax amin softmax log_softmax".split())
TYPED: Final = frozenset(f"functional.{name}" for name in "cast nextafter nan_to_num frexp copy".split())
CHEAP: Final = frozenset(
    f"functional.{name}"
    for name in "add sub mul neg abs maximum minimum where relu masked_fill clamp threshold threshold_backward hardtanh leaky_relu copysign sign lerp".split()
)
assert not CHEAP & {f"functional.{name}" for name in HEAVY}


@dataclass(frozen=True)
class FunctionalRelaxNumerics(Pass):
    """Drop the rounding of 16-bit floats inside of chains."""

    name: ClassVar[str] = "functional-relax-numerics"
    numerics: str = option("", "eager (nothing is done) or fused; the option of the compile when empty")

    def run(self, op: Operation, ctx: Context) -> None:
        if not relaxed(self.numerics, ctx):
            return
        for func in functions(op):
            wide = wide_values(func)
            ctx.count("roundings dropped", len(wide))
            if wide:
                _Widening(wide).run(func)


def is_half(value: Value) -> bool:
    """A tensor of 16-bit floats."""
    type = value.type
    return isinstance(type, TensorType) and type.element.is_half


def computes_wide(op: Operation) -> bool:
    """True for operations that compute halves in f32 and give the same for f32 operands, but for the rounding."""
    if len(op.results) != 1 or not (is_half(op.results[0]) or op.name in FOLDS):
        return False
    return op.name in VIEWS or op.name in FOLDS or (Elementwise in op.traits and op.name not in TYPED)


def wide_values(func: FuncOp) -> set[Value]:
    """The values that are not rounded."""
    found: set[Value] = set()
    for op in func.body:
        if not computes_wide(op) or not is_half(op.results[0]) or op.name in FOLDS:
            continue
        (value,) = op.results
        if op.name in VIEWS and op.operands[0] not in found:
            continue
        few = len(value.users) == 1 or op.name in CHEAP or op.name in VIEWS
        if value.users and few and all(computes_wide(user) for user in value.users):
            found.add(value)
    return found


class _Widening:
    """The rewriting of one graph: `widened` is the f32 form of values."""

    def __init__(self, wide: set[Value]) -> None:
        self.wide = wide
        self.widened: dict[Value, Value] = {}

    def run(self, func: FuncOp) -> None:
        """Rewrite each operation that gives or takes a wide value."""
        old = [op for op in func.body if any(value in self.wide for value in (*op.operands, *op.results))]
        for op in old:
            self.rewrite(op)
        for op in reversed(old):
            op.erase()

    def rewrite(self, op: Any) -> None:
        """The operation on f32; rounded behind it if its result is not wide."""
        build = Builder.before(op)
        operands = [self.in_f32(build, value, op) if is_half(value) else value for value in op.operands]
        (value,) = op.results
        type = value.type
        wide_type = type.with_element(f32) if type.element.is_half else type
        if getattr(op.attrs.get("element"), "is_half", False):
            op.attrs["element"] = f32
        new = build.insert(rebuilt(op, operands, wide_type))
        result = new.results[0]
        result.hint = value.hint
        if value in self.wide:
            self.widened[value] = result
        elif wide_type is not type:
            cast = CastOp(result, to=type.element, loc=op.loc)
            assert cast.output.type.shape == type.shape
            if cast.output.type is not type:
                cast.attrs["strides"] = type.strides
                cast.output.type = type
            value.replace_all_uses(build.insert(cast).output)
        else:
            value.replace_all_uses(result)

    def in_f32(self, build: Builder, value: Value, op: Operation) -> Value:
        """A value widened: itself not rounded, or a cast of it, which every operation makes for itself as casts cost nothing inside of kernels."""
        found = self.widened.get(value)
        return build.insert(CastOp(value, to=f32, loc=op.loc)).output if found is None else found
