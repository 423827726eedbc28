"""Attention that was written as two products around a softmax becomes one operation.

    %s = functional.bmm(%q, %kt) : ..                                    // reshaped from and to batch x heads x rows x width
    %t = functional.mul(%s) {other = 0.125} : ..
    %u = functional.add(%t, %mask) : ..                          =>      %o, %l = functional.attention(%query, %key, %value, %mask) {scale = 0.125}
    %p = functional.softmax(%u) {dim = 3} : ..
    %o = functional.bmm(%p, %v) : ..

The scale may be a factor, a divisor, or none; the mask is added, or chosen by `where` or `masked_fill` with a number that hides; a mask that is the lower
triangle whatever the inputs becomes `is_causal`.  Keys and values repeated for groups of heads are taken as they are.  Copies that were made for the
products alone are not made.  Weights that something else reads, dropout, and masks of another kind are left alone.

This needs `numerics` to be "fused".  The one operation never stores the weights, so 16-bit floats are not rounded between the steps.  And it differs from
the steps where they are not finite: a row whose weights are all hidden (or have overflowed to -inf) is NaN in eager and 0 in the kernel, and a NaN among
values that are hidden shows in eager alone.  So under "eager" no type is matched, f32 included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from lect.dialects.functional.canonicalization import PATTERNS, AddOp, MulOp, holds
from lect.dialects.functional.composite import MaskedFillOp
from lect.dialects.functional.contraction import AttentionOp, BmmOp
from lect.dialects.functional.creation import CastOp, CopyOp, FullOp
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.pointwise import DivOp, WhereOp
from lect.dialects.functional.reduction import SoftmaxOp
from lect.dialects.functional.types import TensorType
from lect.dialects.functional.view import PermuteOp, ReshapeOp
from lect.ir import Builder, Context, Operation, Pattern, Rewriter, Value, apply_greedily
from lect.ir.symbolic import Expr
from lect.passes.base import Pass, load_body, option
from lect.passes.functional.graphs import functions, relaxed, restated

LEARNED = "lect.backends.reference.constants:learned"
LEAST: Mapping[str, float] = MappingProxyType({"f16": -65504.0, "bf16": -3.3895313892515355e38, "f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308})

FACTORS = (MulOp, DivOp)


@dataclass(frozen=True)
class FunctionalMatchAttention(Pass):
    """Find softmax(scale * q @ k^T + mask) @ v."""

    name: ClassVar[str] = "functional-match-attention"
    numerics: str = option("", "eager (nothing is matched) or fused; the option of the compile when empty")
    budget: int = option(1 << 20, "the most elements of a mask that is looked at")

    def run(self, op: Operation, ctx: Context) -> None:
        if not relaxed(self.numerics, ctx):
            return
        for func in functions(op):
            softmaxes = [inner for inner in func.body if isinstance(inner, SoftmaxOp)]
            found = [match for inner in softmaxes if (match := match_at(inner)) is not None]
            if found:
                constants = load_body(LEARNED)(_before_products(func), self.budget)
                for match in found:
                    match.rewrite(constants)
                apply_greedily(func, [*PATTERNS, CopyOfRelaidResult()])  # the views around it
                ctx.count("attentions matched", len(found))


class CopyOfRelaidResult(Pattern):
    """copy(permute(reshape(x : A) : B))  =>  permute(x), where A and B differ in strides alone and permute(x) lies as the copy does"""

    root = CopyOp

    def rewrite(self, op: CopyOp, rewriter: Rewriter) -> bool:
        permute: Any = op.x.op
        relaid = permute.x.op if isinstance(permute, PermuteOp) else None
        if op.device is not None or not isinstance(relaid, ReshapeOp) or not isinstance(relaid.x.op, AttentionOp):
            return False
        if relaid.x.type.shape != relaid.output.type.shape:
            return False
        new = PermuteOp(relaid.x, permute.dims, loc=op.loc)
        if new.output.type is not op.output.type:
            new.drop_operands()
            return False
        rewriter.replace_with(op, new)
        return True


def _before_products(func: FuncOp) -> list[Operation]:
    """The operations that may be a part of a constant mask."""
    return [op for op in func.body if op.name not in ("functional.bmm", "functional.mm")]


@dataclass
class Match:
    """What was found: two products, and what lies between them."""

    first: Any
    second: Any
    sizes: tuple[int, int]  # batch and heads
    scale: float
    mask: Any  # None, ("add", value), or ("hide", i1 value, whether true hides)

    def rewrite(self, constants: Any) -> None:
        """Write the one operation in the place of the second product."""
        build = Builder.before(self.second)
        query = self.four(build, self.first.x, False)
        key = self.four(build, self.first.y, True)
        value = self.four(build, self.second.y, False)
        rows, keys = query.type.shape[2], key.type.shape[2]
        mask, causal = self.written_mask(build, constants, rows, keys, query.type)
        op = build.insert(AttentionOp(query, key, value, mask, is_causal=causal, scale=self.scale, loc=self.second.loc))
        flat = restated(ReshapeOp(op.output, self.second.output.type.shape, loc=self.second.loc), self.second.output.type)
        self.second.replace([build.insert(flat).output])

    def four(self, build: Builder, value: Value, transposed: bool) -> Value:
        """A factor of a product as batch x heads x rows x width; where it was copied to be one, what was copied."""
        shape = value.type.shape  # type: ignore[attr-defined]
        wanted = (*self.sizes, *shape[1:])
        inner: Any = value.op
        if isinstance(inner, ReshapeOp) and isinstance(inner.x.op, CopyOp) and inner.x.op.device is None and inner.x.op.x.type.shape == wanted:
            found = inner.x.op.x
        elif isinstance(inner, ReshapeOp) and inner.x.type.shape == wanted:
            found = inner.x
        else:
            found = build.insert(ReshapeOp(value, wanted)).output
        if transposed:
            turned: Any = found.op
            if isinstance(turned, PermuteOp) and turned.dims == (0, 1, 3, 2):
                found = turned.x
            else:
                found = build.insert(PermuteOp(found, (0, 1, 3, 2))).output
        type = found.type
        if type.strides[3] == 1 or type.shape[3] == 1:
            return found  # type: ignore[no-any-return]
        return build.insert(restated(CopyOp(found), type.like(type.shape))).output  # type: ignore[no-any-return]

    def written_mask(self, build: Builder, constants: Any, rows: int, keys: int, query: TensorType) -> tuple[Value | None, bool]:
        """The mask as an operand, or that it is the lower triangle."""
        if self.mask is None:
            return None, False
        kind, value, *hidden = self.mask
        if rows == keys and constants.is_lower_triangle(value, 0.0 if kind == "add" else not hidden[0]):
            return None, True
        if kind == "hide":
            zero, least = (build.insert(FullOp((), number, query.element)).output for number in (0.0, -math.inf))
            value = build.insert(WhereOp(value, *((least, zero) if hidden[0] else (zero, least)))).output
        type = value.type
        if type.element is not query.element:
            value = build.insert(CastOp(value, to=query.element)).output
        if type.rank < 4:
            value = build.insert(ReshapeOp(value, (1,) * (4 - type.rank) + tuple(type.shape))).output
        return value, False


def only_user(value: Value) -> Any:
    """The one operation that uses a value, or None."""
    return next(iter(value.users)) if len(value.users) == 1 else None


def match_at(softmax: SoftmaxOp) -> Match | None:
    """The attention around a softmax, or None."""
    x = softmax.x
    if softmax.dim != x.type.rank - 1 or softmax.safe or x.type.rank not in (3, 4) or x.type.is_empty or x.type.device != "cpu":
        return None
    if not holds(x.type.element, softmax.output.type.element):
        return None  # the program rounds the weights
    second = _second_product(softmax)
    if second is None:
        return None
    value, mask, scale = _inputs(softmax)
    product: Any = value.op
    if isinstance(product, ReshapeOp) and only_user(product.output) is not None:
        product = product.x.op
    if not isinstance(product, BmmOp) or only_user(product.output) is None or value.type.shape[-2:] != product.output.type.shape[-2:]:
        return None
    lead = value.type.shape[:-2]
    sizes = (lead[0], lead[1]) if len(lead) == 2 else (1, lead[0])
    rows, width = product.x.type.shape[1:]
    keys = product.y.type.shape[2]
    fits = second.x.type.shape == (sizes[0] * sizes[1], rows, keys) and second.y.type.shape[2] == width and width > 0
    if not fits or second.output.type.element is not product.x.type.element or not _fits(mask, x.type):
        return None
    return Match(product, second, sizes, scale, mask)


def _second_product(softmax: SoftmaxOp) -> BmmOp | None:
    """The product that alone reads the weights, maybe behind a cast to the type of the values and a change of dims."""
    value: Value = softmax.output
    for _ in range(3):
        user = only_user(value)
        if isinstance(user, BmmOp):
            return user if user.x is value and user.y is not value else None
        if not isinstance(user, CastOp | ReshapeOp) or getattr(user, "device", None) is not None:
            return None
        value = user.output
    return None


def _inputs(softmax: SoftmaxOp) -> tuple[Any, Any, float]:
    """(what was multiplied, mask, scale): walks up from the softmax while the values have no other reader."""
    value: Any = softmax.x
    mask, scale = None, 1.0
    while only_user(value) is not None:
        op: Any = value.op
        if isinstance(op, CastOp) and op.device is None and op.x.type.element.is_float and holds(op.x.type.element, op.to):
            value = op.x
        elif type(op) in FACTORS and mask_is_outside(op) and not (type(op) is DivOp and (op.mode != "true" or op.other == 0)):
            scale = scale / op.other if type(op) is DivOp else scale * op.other
            value = op.x
        elif mask is None and scale == 1.0 and (found := _masked(op)) is not None:
            value, mask = found
        else:
            break
    return value, mask, scale


def mask_is_outside(op: Any) -> bool:
    """A factor that is a number."""
    return op.y is None and not op.reversed and math.isfinite(op.other)


def _masked(op: Any) -> Any:
    """(what is masked, the mask) for an operation that masks, or None."""
    adds: Any = AddOp
    if type(op) is adds and op.y is not None and len(op.operands) == 2 and op.alpha == 1:
        for x, y in ((op.x, op.y), (op.y, op.x)):
            if x.type.shape == op.output.type.shape and _is_product(x):
                return x, ("add", y)
    elif isinstance(op, WhereOp) and op.x.type.shape == op.output.type.shape and _hides(op.y) and _is_product(op.x):
        return op.x, ("hide", op.condition, False)
    elif isinstance(op, WhereOp) and op.y.type.shape == op.output.type.shape and _hides(op.x) and _is_product(op.y):
        return op.y, ("hide", op.condition, True)
    elif isinstance(op, MaskedFillOp) and op.x.type.shape == op.output.type.shape and _is_product(op.x):
        number = op.other if op.other is not None else _filled(op.value)
        if number is not None and number <= LEAST[op.x.type.element.spelling]:
            return op.x, ("hide", op.mask, True)
    return None


def _filled(value: Any) -> Any:
    """The number that a tensor is filled with, or None."""
    return value.op.value if isinstance(value.op, FullOp) and type(value.op.value) is not Expr else None


def _is_product(value: Any) -> bool:
    """A product, maybe scaled, cast or under other dims."""
    for _ in range(4):
        op = value.op
        if isinstance(op, BmmOp):
            return True
        if type(op) not in (ReshapeOp, CastOp, *FACTORS) or getattr(op, "y", None) is not None:
            return False
        value = op.x
    return False


def _hides(value: Any) -> bool:
    """A number so low that nothing is left of a weight to which it is added."""
    op = value.op
    return isinstance(op, FullOp) and op.element.is_float and op.value <= LEAST[op.element.spelling]


def _fits(mask: Any, type: TensorType) -> bool:
    """True when the mask is one that the operation takes: no more dims than the weights have, each of their size or 1."""
    if mask is None:
        return True
    own: TensorType = mask[1].type
    missing = type.rank - own.rank
    return missing >= 0 and own.rank >= 2 and all(size in (1, full) for size, full in zip(own.shape, type.shape[missing:]))
