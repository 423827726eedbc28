"""From calls of torch functions to pure operations.

    fx.graph @f(%x: !fx.tensor<2x3xbf16>) {
      %0 = fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<2x3xbf16>
      %1 = fx.call(%0) {target = @torch.softmax, args = [#fx.operand<0>, -1]} : !fx.tensor<2x3xbf16>
      fx.return(%1)
    }
=>
    functional.func @f(%x: !functional.tensor<2x3xbf16>) {
      %0 = functional.mul(%x) {other = 2} : !functional.tensor<2x3xbf16>
      %1 = functional.softmax(%0) {dim = 1} : !functional.tensor<2x3xbf16>
      functional.return(%1)
    }

Every call runs again on tensors that have metadata and no elements, and each operator of ATen that torch's own code calls becomes a functional
operation, or a `functional.opaque` where the closed set has none.  Casts that eager makes silently are made explicit; numbers that eager rounds
are rounded.  Views become operations on values.  An in-place op becomes its pure form, and a view that is read behind a write through another is shown
again.  A region runs as the operation around it says: a transform of torch.func leaves the operations of its rules, the region of a checkpoint stands in
its place; branches and loops that hang on elements are refused.  What inputs hold in the end is written to them in front of the return, by `functional.write`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.ir import Context, Operation
from lect.passes.base import Pass, load_body

BODY = "lect.frontends.tensors.lower.graph:lower_graphs"


@dataclass(frozen=True)
class FxToFunctional(Pass):
    """Replace every `fx.graph` of the module by a `functional.func`."""

    name: ClassVar[str] = "fx-to-functional"

    def run(self, op: Operation, ctx: Context) -> None:
        """Lower all graphs of `op`."""
        load_body(BODY)(op, ctx)
