"""Follow a Python function on a live call, and split it into guards, a graph of torch calls, and residual Python.

    pyframe.func @f {args = ["x"]} {               guard.set @f.guards {
      %x = pyframe.load_local() {id = "x"}           %x = guard.source() {path = #guard.path<L["x"]>}
      %F = pyframe.load_global() {id = "F"}          guard.tensor(%x) {dtype = f32, sizes = [4], strides = [1]}
      %g = pyframe.load_attr(%F) {attr = "gelu"}     ...
      %y = pyframe.call(%g, %x)                    }
      pyframe.return(%y)                    =>     fx.graph @f.graph(%x: !fx.tensor<4xf32>) {
    }                                                %0 = fx.call(%x) {target = @torch.nn.functional.gelu, args = [#fx.operand<0>]}
                                                     fx.return(%0)
                                                   }
                                                   pyframe.func @f {args = ["x"]} {
                                                     %x = pyframe.load_local() {id = "x"}
                                                     %r = pyframe.call_graph(%x) {graph = @f.graph}
                                                     ...
                                                   }

The function runs symbolically on the objects of the call, with tensors that have no elements; nothing that exists is changed.  What the program
decided on becomes a guard with the line of the decision.  Writes to objects that exist before the call are replayed by the residual function, in
order.  The pass needs the live call that `open_frame` put beside the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.ir import Context, Operation
from lect.passes.base import Pass, load_body, option

BODY = "lect.frontends.capture.to_fx:run"


@dataclass(frozen=True)
class PyframeToFx(Pass):
    """Replace the decoded function by its guards, its graph of torch calls and its residual code."""

    name: ClassVar[str] = "pyframe-to-fx"
    live: ClassVar[bool] = True
    whole: bool = option(False, "refuse a function that cannot be followed to its end, instead of cutting it there")
    run_time_numbers: bool = option(False, "numbers among the arguments are run-time numbers unless their value is needed, instead of constants")

    def run(self, op: Operation, ctx: Context) -> None:
        """Follow the first function of `op`."""
        ctx.resources["run_time_numbers"] = self.run_time_numbers
        if self.whole:
            ctx.resources["whole"] = True
        load_body(BODY)(op, ctx)
