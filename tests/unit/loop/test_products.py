"""Matrix products as nests: values against eager and f64, what joins them, and how they are cut."""

import dataclasses

import pytest
import torch

import lect
from lect.dialects import make_context
from lect.dialects.loop.ops import NestOp
from lect.ir import parse_module
from lect.passes.kernel.kernel_choose_tiles import choose_tiles
from lect.passes.loop.loop_choose_kernel import Choice, LoopChooseKernel

SHAPES = [(1, 8, 8), (3, 5, 17), (4, 16, 16), (7, 33, 40), (64, 64, 64), (128, 96, 129), (130, 7, 200), (17, 512, 24)]


@pytest.fixture(autouse=True)
def always_own(monkeypatch):
    """Every product that can be a nest is one; gives those that are."""
    run, own = LoopChooseKernel.run, {"own_margin": -100, "longest_sum": 1 << 20}
    monkeypatch.setattr(LoopChooseKernel, "run", lambda self, op, ctx: run(dataclasses.replace(self, **own), op, ctx))
    made = []
    replace = Choice.replace
    monkeypatch.setattr(Choice, "replace", lambda self, func: (made.append(self.product), replace(self, func)))
    lect.reset()
    yield made
    lect.reset()


def close(found, first, second, added=0.0):
    """As near to f64 as the sum of rounded products may be."""
    wanted = first.double() @ second.double() + added
    size = first.double().abs() @ second.double().abs() + abs(added)
    limit = (8 + first.shape[-1]) * torch.finfo(found.dtype).eps * size + 1e-30
    assert ((found.double() - wanted).abs() <= limit).all()


def compiled(fn, *tensors):
    """The result of the compiled function, in which nothing is a library's product."""
    lect.reset()
    made = lect.compile(fn)
    result = made(*tensors)
    assert not [event for event in lect.events() if event.kind in ("fallback", "note", "break")]
    return result


@pytest.mark.parametrize("dtype, rows, inner, columns", [(torch.float32, *shape) for shape in SHAPES] + [(torch.float64, 7, 33, 40)])
@pytest.mark.parametrize("layout", ["row by row", "turned first", "turned second"])
def test_values(rows, inner, columns, layout, dtype, always_own):
    first = torch.randn(inner, rows, dtype=dtype).t() if layout == "turned first" else torch.randn(rows, inner, dtype=dtype)
    second = torch.randn(columns, inner, dtype=dtype).t() if layout == "turned second" else torch.randn(inner, columns, dtype=dtype)
    found = compiled(lambda a, b: (a @ b, (a @ b).relu()), first, second)
    assert always_own or columns < 16 or (layout == "turned second" and columns % 16)
    close(found[0], first, second)
    assert torch.equal(found[1], found[0].relu())
    assert found[0].stride() == (first @ second).stride()


@pytest.mark.parametrize("columns", [16, 24, 40])
def test_batches_and_sums(columns, always_own):
    first, second = torch.randn(6, 9, 20), torch.randn(6, 20, columns)
    close(compiled(lambda a, b: torch.bmm(a, b), first, second), first, second)
    for added in (torch.randn(6, 9, columns), torch.randn(columns), torch.randn(6, 9, 1)):
        close(compiled(lambda x, a, b: torch.baddbmm(x, a, b), added, first, second), first, second, added.double())
    for added in (torch.randn(columns), torch.randn(9, columns), torch.randn(9, 1), torch.randn(())):
        found = compiled(lambda x, a, b: torch.nn.functional.gelu(torch.addmm(x, a, b)), added, first[0], second[0])
        torch.testing.assert_close(found, torch.nn.functional.gelu(torch.addmm(added, first[0], second[0])), rtol=1e-5, atol=1e-5)
    assert len(always_own) == 8


def test_special_values():
    first, second = torch.randn(8, 16), torch.randn(16, 32)
    first[0, 3], first[1, 2], first[2], second[:, 5], second[4, 7] = float("nan"), float("inf"), -0.0, 0.0, -float("inf")
    found, wanted = compiled(lambda a, b: torch.mm(a, b), first, second), torch.mm(first, second)
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(found.isinf(), wanted.isinf())
    zero = wanted == 0
    assert torch.equal(found[zero].signbit(), wanted[zero].signbit())


def test_gradients():
    x, w, b = torch.randn(12, 16, requires_grad=True), torch.randn(24, 16, requires_grad=True), torch.randn(24, requires_grad=True)

    def loss(x, w, b):
        return torch.nn.functional.silu(torch.nn.functional.linear(x, w, b)).square().sum()

    wanted = torch.autograd.grad(loss(x, w, b), (x, w, b))
    lect.reset()
    found = torch.autograd.grad(lect.compile(loss)(x, w, b), (x, w, b))
    for one, other in zip(found, wanted):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-4)


NEST = """builtin.module { loop.func @f(%x: !loop.buffer<64x64xELEMENT>, %w: !loop.buffer<64x64xELEMENT>) {
  %0 = loop.nest @n0(%x, %w) {space = #loop.space<d0: 64, d1: 64, d2: 64>} : !loop.buffer<64x64xELEMENT> {
  ^bb0(%d0: index, %d1: index, %d2: index):
    %1 = loop.load(%x) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d2)>} : ELEMENT
    %2 = loop.load(%w) {map = #loop.map<(d0, d1, d2) -> (d2 * 64 + d1)>} : ELEMENT
    %3 = loop.mul(%1, %2) : ELEMENT
    %4 = loop.reduce(%3) {kind = "sum", over = [2], contract = true} : ELEMENT
    loop.store(%4) {map = #loop.map<(d0, d1, d2) -> (d0 * 64 + d1)>}
  }
  loop.return(%0) {views = [#loop.view<64x64>]}
} }"""


@pytest.mark.parametrize(
    "element, vector_bytes, registers, tiles",
    [
        ("f32", 32, 16, '"product", X: d1 by 16 grid, Y: d0 by 4 grid, vector X'),
        ("f64", 32, 16, '"product", X: d1 by 8 grid, Y: d0 by 4 grid, vector X'),
        ("f32", 64, 32, '"product", X: d1 by 32 grid, Y: d0 by 8 grid, vector X'),
        ("f32", 16, 32, '"product", X: d1 by 8 grid, Y: d0 by 8 grid, vector X'),
    ],
)
def test_accumulators_fill_half_of_the_registers(element, vector_bytes, registers, tiles):
    ctx = make_context()
    module = parse_module(NEST.replace("ELEMENT", element), ctx)
    nest = next(op for op in module.walk() if isinstance(op, NestOp))
    assert choose_tiles(nest, {"vector_bytes": vector_bytes, "registers": registers}).print_body() == tiles
