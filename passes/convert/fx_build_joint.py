"""From calls of torch functions to one pure graph of the forward and its backward.

    fx.graph @f(%x: !fx.tensor<2x3xf32, requires_grad>) {
      %0 = fx.call(%x) {target = @torch.exp, args = [#fx.operand<0>]} : !fx.tensor<2x3xf32, requires_grad>
      fx.return(%0)
    }
=>
    functional.func @f(%x: !functional.tensor<2x3xf32>, %tangent: !functional.tensor<2x3xf32>)
        {training = {inputs = 1, results = 1, tangents = [0], gradients = [0], held = []}} {
      %0 = functional.exp(%x) : !functional.tensor<2x3xf32>
      %1 = functional.mul(%tangent, %0) : !functional.tensor<2x3xf32>
      functional.return(%0, %1)
    }

Graphs without a result that requires a gradient stay for `fx-to-functional`.  Every call runs again on tensors that have metadata and no elements, then
torch's autograd engine runs on what they recorded.  Inputs whose gradient is none have no result.  A result that lies in the memory of an input or of
an earlier result gets no tangent: whoever runs the graph makes it a view of that, and gradients flow through the view.  Operations of a checkpointed
region carry `recompute`.  Refused are complex results, random numbers drawn by a backward, and results that overlap others in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.ir import Context, Operation
from lect.ir.symbolic_text import read_size
from lect.passes.base import Pass, load_body, option

BODY = "lect.frontends.tensors.lower.joint:build_joints"


@dataclass(frozen=True)
class FxBuildJoint(Pass):
    """Replace every `fx.graph` that is to be differentiated by its joint `functional.func`."""

    name: ClassVar[str] = "fx-build-joint"
    tangents: tuple[int, ...] = option((), "the numbers of the results whose gradients will be given; all that can have one when empty")
    strides: tuple[str, ...] = option((), "the strides of those gradients as text, those of one behind those of the other; those of the results when empty")

    autocast: tuple[str, ...] = option((), "autocast around the backward: devices, each with its dtype behind it, such as cpu and bfloat16")

    def run(self, op: Operation, ctx: Context) -> None:
        """Differentiate all graphs of `op` that ask for it."""
        load_body(BODY)(op, ctx, self.tangents, [read_size(stride) for stride in self.strides], self.autocast)
