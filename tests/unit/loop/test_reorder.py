"""Nests over dims in another order: the same values, in every kind of nest."""

import pytest
import torch

from lect.backends.reference.loop import run as run_loop
from lect.dialects import make_context
from lect.ir import parse_module, verify
from lect.passes.manager import PassManager
from lect.runtime.executable import build

HEAD = """loop.func @f(%x: !loop.buffer<6x5x7xf32>, %y: !loop.buffer<6xf32>) {
  %0 = loop.nest @n0(INPUTS) {space = #loop.space<d0: 5, d1: 7, d2: 6>} : !loop.buffer<RESULT> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d2 * 35 + d0 * 7 + d1)>} : f32
    BODY
  }
  loop.return(%0) {views = [#loop.view<VIEW>]}
}"""
BODIES = {
    "pointwise": (
        "%x, %y", "210xf32", "210",
        """%2 = loop.load(%y) {map = #loop.map<(d0, d1, d2) -> (d2)>} : f32
    %3 = loop.mul(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0, d1, d2) -> (d2 * 35 + d0 * 7 + d1)>}""",
    ),
    "a sum over the outer dim": (
        "%x", "35xf32", "35",
        """%2 = loop.reduce(%1) {kind = "sum", over = [2]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1, d2) -> (d0 * 7 + d1)>}""",
    ),
    "a sum over two dims": (
        "%x", "7xf32", "7",
        """%2 = loop.reduce(%1) {kind = "sum", over = [0, 2]} : f32
    loop.store(%2) {map = #loop.map<(d0, d1, d2) -> (d1)>}""",
    ),
    "the first of equal positions": (
        "%x", "7xi64", "7",
        """%2 = loop.gt(%1, %1) : i1
    %3 = loop.cast(%2) : f32
    %4 = loop.index() {map = #loop.map<(d0, d1, d2) -> (d0 * 6 + d2)>} : i64
    %5 = loop.reduce_index(%3, %4) {kind = "max", over = [0, 2]} : i64
    loop.store(%5) {map = #loop.map<(d0, d1, d2) -> (d1)>}""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BODIES)
def test_values(kind):
    inputs, result, view, body = BODIES[kind]
    text = HEAD.replace("INPUTS", inputs).replace("RESULT", result).replace("VIEW", view).replace("BODY", body)
    tensors = [torch.randn(6, 5, 7), torch.randn(6)]
    ctx = make_context()
    wanted = run_loop(parse_module(text, ctx).body.first, tensors)[0]
    module = parse_module(text, ctx)
    PassManager.parse("loop-reorder").run(module, ctx)
    verify(module)
    assert ctx.statistics["nests reordered"] == 1
    torch.testing.assert_close(run_loop(module.body.first, tensors)[0], wanted, rtol=1e-6, atol=1e-6)
    PassManager.parse("kernel").run(module, ctx)
    torch.testing.assert_close(build(module, ctx)(*tensors)[0], wanted, rtol=1e-6, atol=1e-6)
