"""Parts of a grid whose sizes are known only at run time: any cut of lo to hi runs each program once."""

import ctypes
import itertools

import pytest
import torch

from lect.backends.llvm import compile_kernels
from lect.dialects import make_context
from lect.ir import parse_module

TURNED = """
kernel.func @turned(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index, %s1: index) {GRID, axes = #kernel.axes<Y: s0 grid, X: s1 grid>, blocks = #kernel.blocks<Y = 8, X = 8>, vector = "X", symbols = {s0 = {hint = 512}, s1 = {hint = 768}}} {
  %p = kernel.program_id() : index
  %r = kernel.lanes(%p) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %q = kernel.program_id() {dim = 1} : index
  %l = kernel.lanes(%q) {axis = "X"} : !kernel.tile<1xXxindex>
  %b = kernel.bound(%r) {axis = "Y"} : !kernel.tile<Yx1xi1>
  %c = kernel.bound(%l) {axis = "X"} : !kernel.tile<1xXxi1>
  %v = kernel.load(%x, %r, %l; %b, %c) {map = #loop.map<(d0, d1) -> (d0 + d1 * s0)>} : !kernel.tile<YxXxf32>
  %w = kernel.load(%y, %r, %l; %b, %c) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>} : !kernel.tile<YxXxf32>
  %z = kernel.add(%v, %w) : !kernel.tile<YxXxf32>
  kernel.store(%y, %z, %r, %l; %b, %c) {map = #loop.map<(d0, d1) -> (d0 * s1 + d1)>}
  kernel.return()
}
""".replace("GRID", "grid = [#lect.size<(s0 + 7) floordiv 8>, #lect.size<(s1 + 7) floordiv 8>]")

FLAT = """
kernel.func @flat(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index, %s1: index) {GRID, axes = #kernel.axes<X: s0 * s1 grid>, blocks = #kernel.blocks<X = 16>, vector = "X", symbols = {s0 = {hint = 512}, s1 = {hint = 768}}} {
  %p = kernel.program_id() : index
  %l = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%l) {axis = "X"} : !kernel.tile<Xxi1>
  %v = kernel.load(%x, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %w = kernel.load(%y, %l; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf32>
  %z = kernel.add(%v, %w) : !kernel.tile<Xxf32>
  kernel.store(%y, %z, %l; %b) {map = #loop.map<(d0) -> (d0)>}
  kernel.return()
}
""".replace("GRID", "grid = [#lect.size<(s0 * s1 + 15) floordiv 16>]")

POINTS = """
kernel.func @points(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %s0: index, %s1: index) {grid = [#lect.size<s0>, 1, #lect.size<s1>, 3, 1], axes = #kernel.axes<>, blocks = #kernel.blocks<>, symbols = {s0 = {hint = 4}, s1 = {hint = 4}}} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 2} : index
  %r = kernel.program_id() {dim = 3} : index
  %v = kernel.load(%x, %p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 + d1 * s0 + d2 * s0 * s1)>} : f32
  %w = kernel.load(%y, %p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 * s1 * 3 + d1 * 3 + d2)>} : f32
  %z = kernel.add(%v, %w) : f32
  kernel.store(%y, %z, %p, %q, %r) {map = #loop.map<(d0, d1, d2) -> (d0 * s1 * 3 + d1 * 3 + d2)>}
  kernel.return()
}
"""


def entry_of(text):
    ctx = make_context()
    code = compile_kernels(list(parse_module(text, ctx).body), ctx)
    address = code.entry(text.partition("@")[2].partition("(")[0])
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    entry.code = code
    return entry


def run(entry, x, sizes, cuts):
    """`x` is added to zeros once for each time that its program runs."""
    y = torch.zeros_like(x)
    args = (ctypes.c_int64 * 4)(x.data_ptr(), y.data_ptr(), *sizes)
    for lo, hi in itertools.pairwise(cuts):
        entry(args, lo, hi)
    return y


def cuts_of(grid, generator):
    """Equal parts of one, two and seven programs, all at once, and parts at random with an empty one."""
    for step in (1, 2, 7, max(grid, 1)):
        yield [*range(0, grid, step), grid]
    for _ in range(5):
        picked = torch.randint(0, grid + 1, (4,), generator=generator).tolist()
        yield sorted([0, *picked, picked[0], grid])


def blocks(size, block):
    return -(-size // block)


@pytest.mark.parametrize(
    ("text", "grid", "expected"),
    [
        (TURNED, lambda a, b: blocks(a, 8) * blocks(b, 8), lambda x, a, b: x.view(b, a).t().reshape(-1)),
        (FLAT, lambda a, b: blocks(a * b, 16), lambda x, a, b: x),
    ],
    ids=["turned", "flat"],
)
def test_every_program_runs_once(text, grid, expected):
    entry, generator = entry_of(text), torch.Generator().manual_seed(0)
    for a, b in [(2, 2), (3, 5), (8, 8), (8, 9), (9, 8), (16, 40), (17, 33), (7, 64), (64, 7), (41, 30)]:
        x = torch.randn(a * b, generator=generator)
        for cuts in cuts_of(grid(a, b), generator):
            torch.testing.assert_close(run(entry, x, (a, b), cuts), expected(x, a, b), rtol=0, atol=0)


def test_every_point_of_a_grid_with_dims_of_one_runs_once():
    entry, generator = entry_of(POINTS), torch.Generator().manual_seed(0)
    for a, b in [(2, 2), (3, 5), (4, 2), (7, 6)]:
        x = torch.randn(a * b * 3, generator=generator)
        for cuts in cuts_of(a * b * 3, generator):
            expected = x.view(3, b, a).permute(2, 1, 0).reshape(-1)
            torch.testing.assert_close(run(entry, x, (a, b), cuts), expected, rtol=0, atol=0)
