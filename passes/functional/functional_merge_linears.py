"""Multiply one matrix by several weights at once where that is faster.

    %0 = functional.mm(%x, %a) : !functional.tensor<4096x16xf32>           %c = functional.cat(%a, %b) {dim = 1} : !functional.tensor<32x32xf32>
    %1 = functional.mm(%x, %b) : !functional.tensor<4096x16xf32>     =>    %m = functional.mm(%x, %c) : !functional.tensor<4096x32xf32>
                                                                           %0 = functional.slice(%m) ..;  %1 = functional.slice(%m) ..

The projections to queries, keys and values are such products.  Weights are inputs of a graph, for a program may change them between two calls, so they are
put side by side in each call, and that is what decides.  Measured on a CPU (f32, one thread, three products of rows x inner x columns, microseconds):

    rows x inner x columns      three products      cat and one product      one product, weights side by side before
    1 x 768 x 768                          364                      627                                           446
    16 x 64 x 64                            17                       18                                            14
    64 x 256 x 256                         316                      347                                           315
    256 x 64 x 64                           87                       84                                            79
    4096 x 64 x 64                        1364                     1285                                          1265
    4096 x 32 x 16                         199                      176                                           168

So it pays when reading the common operand once saves much more than the weights are: with `rows_per_column` times as many rows as a product has columns.
And it pays only for results that kernels read, which take a part of a row as it is; a library call would need it copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.functional.contraction import MmOp
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.view import CatOp, PermuteOp, SliceOp
from lect.ir import Builder, Context, Operation, Value
from lect.ir.facts import facts_of
from lect.passes.base import Pass, option
from lect.passes.functional.graphs import LIBRARY, VIEWS, functions, restated


@dataclass(frozen=True)
class FunctionalMergeLinears(Pass):
    """Merge products that have their first operand in common."""

    name: ClassVar[str] = "functional-merge-linears"
    rows_per_column: float = option(24.0, "how many rows there must be for each column of the widest product")

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            groups: dict[tuple[Value, bool, int | None], list[MmOp]] = {}
            apart = _groups_of_tangents(func)
            for inner in func.body:
                if isinstance(inner, MmOp) and self.pays(inner):
                    groups.setdefault((inner.x, _is_turned(inner), apart.get(_weight(inner))), []).append(inner)
            for (_, turned, _), group in groups.items():
                if len(group) > 1:
                    merge(group, turned)
                    ctx.count("products merged", len(group))

    def pays(self, op: MmOp) -> bool:
        """True for a product with a weight that is an input, few columns, and readers in kernels."""
        rows, columns = map(facts_of(op).hint, op.output.type.shape)
        weight = _weight(op)
        enough = weight.is_argument and op.x is not weight and rows >= self.rows_per_column * columns and columns > 0
        return enough and not any(_is_library(user) for user in op.output.users)


def _groups_of_tangents(func: FuncOp) -> dict[Value, int]:
    """The tangents of a joint graph whose results are in several groups, with the number of their group: each group has a backward of its own."""
    stated = func.training or {}
    return dict(zip(func.body.args[stated["inputs"] :], stated["tangent_groups"])) if "tangent_groups" in stated else {}


def _weight(op: MmOp) -> Value:
    """The second operand, before it is transposed."""
    turned = op.y.op
    return turned.x if isinstance(turned, PermuteOp) and _is_turned(op) else op.y


def _is_turned(op: MmOp) -> bool:
    return isinstance(op.y.op, PermuteOp) and tuple(op.y.op.dims) == (1, 0)


def _is_library(user: Any) -> bool:
    """True when a user, behind views, needs its operand in memory."""
    if user.name in VIEWS:
        return any(_is_library(behind) for behind in user.results[0].users)
    return user.name in LIBRARY


def merge(group: list[MmOp], turned: bool) -> None:
    """One product in the place of several."""
    first = group[0]
    build = Builder.before(first)
    weights: Any = build.insert(CatOp([_weight(op) for op in group], 0 if turned else 1, loc=first.loc)).output
    if turned:
        weights = build.insert(PermuteOp(weights, (1, 0), loc=first.loc)).output
    product = build.insert(MmOp(first.x, weights, loc=first.loc)).output
    start = 0
    for op in group:
        end = start + op.output.type.shape[1]
        part = build.insert(restated(SliceOp(product, 1, start, end, loc=op.loc), op.output.type)).output
        op.output.replace_all_uses(part)
        start = end
    for op in group:
        op.erase()
