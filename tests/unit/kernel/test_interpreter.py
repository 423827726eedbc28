"""The interpreter of tile programs against the loop level's, and against native code where no nest makes such a program."""

import ctypes

import pytest
import torch

from lect.backends.llvm import compile_kernels
from lect.backends.reference import kernel as interpreter
from lect.dialects import make_context
from lect.ir import LectError, verify
from lect.passes.manager import PassManager
from tests.unit.kernel.nests import parsed, run_reference, sample
from tests.unit.kernel.test_reductions import argument, reduction, softmax
from tests.unit.kernel.test_shapes import pointwise

PIPELINE = "loop-collapse-dims,kernel-choose-tiles,loop-to-kernel,kernel-keep-rows,kernel-prefetch-rows{least=16},kernel-cascade-sums{steps=2 fan=2}"


def kernels_of(text, pipeline):
    ctx = make_context()
    module = parsed(text, ctx)
    PassManager.parse(pipeline).run(module, ctx)
    verify(module)
    return [op for op in module.body if op.name == "kernel.func"]


@pytest.mark.parametrize(
    ("text", "inputs", "element"),
    [
        (pointwise([3, 21]), [sample([3, 21], "f32", 1), sample([3, 21], "f32", 2)], "f32"),
        (softmax(3, 77), [sample([3, 77], "f32", 1)], "f32"),
        (reduction([70, 9], [0], "sum"), [sample([70, 9], "f32", 1)], "f32"),
        (reduction([3, 9, 35], [0, 2], "max"), [sample([3, 9, 35], "f32", 1, special=True)], "f32"),
        (argument([3, 40], 1, "max"), [sample([3, 40], "f32", 1)], "i64"),
        (argument([40, 3], 0, "min"), [sample([40, 3], "f32", 1, special=True)], "i64"),
    ],
)
def test_passes_keep_the_meaning(text, inputs, element):
    """The interpreter runs what all kernel passes made; `least` and `steps` are small enough for them to act."""
    (expected,) = run_reference(text, inputs)
    (func,) = kernels_of(text, PIPELINE)
    result = torch.zeros(expected.numel(), dtype=expected.dtype)
    interpreter.run(func, [*[x.reshape(-1) for x in inputs], result])
    torch.testing.assert_close(result.view(expected.shape), expected, rtol=1e-5, atol=1e-6, equal_nan=True)


def native(text, memory):
    ctx = make_context()
    (func,) = [op for op in parsed(text, ctx).body]
    code = compile_kernels([func], ctx)
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.entry(func.symbol))
    pointers = (ctypes.c_void_p * len(memory))(*[tensor.data_ptr() for tensor in memory])
    for number in range(code.grid(func.symbol)):
        entry(pointers, number, number + 1)


HISTOGRAM = """
kernel.func @histogram(%n: !kernel.ptr<i64>, %w: !kernel.ptr<f64>, %y: !kernel.ptr<f64>) {grid = [3], axes = #kernel.axes<X: 21 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%c) {axis = "X"} : !kernel.tile<Xxi1>
  %i = kernel.load(%n, %c; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi64>
  %v = kernel.load(%w, %c; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxf64>
  %zero = kernel.const() {value = 0.0} : f64
  %positive = kernel.gt(%v, %zero) : !kernel.tile<Xxi1>
  kernel.atomic_add(%y, %v, %i; %b, %positive) {map = #loop.map<()[i0] -> (i0)>}
  kernel.return()
}
"""

OUTER_SUM = """
kernel.func @outer(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>, %z: !kernel.ptr<f32>) {grid = [2, 3], axes = #kernel.axes<Y: 7 grid, X: 10 grid>, blocks = #kernel.blocks<Y = 4, X = 4>, vector = "X"} {
  %p = kernel.program_id() : index
  %q = kernel.program_id() {dim = 1} : index
  %r = kernel.lanes(%p) {axis = "Y"} : !kernel.tile<Yx1xindex>
  %rb = kernel.bound(%r) {axis = "Y"} : !kernel.tile<Yx1xi1>
  %c = kernel.lanes(%q) {axis = "X"} : !kernel.tile<1xXxindex>
  %cb = kernel.bound(%c) {axis = "X"} : !kernel.tile<1xXxi1>
  %a = kernel.load(%x, %r; %rb) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Yx1xf32>
  %b = kernel.load(%y, %c; %cb) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<1xXxf32>
  %s = kernel.add(%a, %b) : !kernel.tile<YxXxf32>
  %t = kernel.scan(%s) {kind = "max", axis = "X"} : !kernel.tile<YxXxf32>
  kernel.store(%z, %t, %r, %c; %rb, %cb) {map = #loop.map<(d0, d1) -> (d0 * 10 + d1)>}
  kernel.return()
}
"""


def test_atomic_sums():
    n = torch.randint(0, 5, (21,), generator=torch.Generator().manual_seed(1))
    w = sample([21], "f64")
    expected = torch.zeros(5, dtype=torch.float64).index_add_(0, n, w.clamp(min=0))
    for run in (native, lambda text, memory: interpreter.run(parsed(text, make_context()).body.first, memory)):
        y = torch.zeros(5, dtype=torch.float64)
        run(HISTOGRAM, [n, w, y])
        torch.testing.assert_close(y, expected)


def test_two_axes_with_tails():
    x, y = sample([7], "f32", 1), sample([10], "f32", 2)
    found = []
    for run in (native, lambda text, memory: interpreter.run(parsed(text, make_context()).body.first, memory)):
        z = torch.zeros(7, 10)
        run(OUTER_SUM, [x, y, z.view(-1)])
        found.append(z)
    assert torch.equal(*found)


MASKED = """
kernel.func @masked(%n: !kernel.ptr<i64>, %x: !kernel.ptr<ELEMENT>, %y: !kernel.ptr<ELEMENT>, %z: !kernel.ptr<ELEMENT>) {grid = [3], axes = #kernel.axes<X: 21 grid>, blocks = #kernel.blocks<X = 8>, vector = "X"} {
  %p = kernel.program_id() : index
  %c = kernel.lanes(%p) {axis = "X"} : !kernel.tile<Xxindex>
  %b = kernel.bound(%c) {axis = "X"} : !kernel.tile<Xxi1>
  %i = kernel.load(%n, %c; %b) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<Xxi64>
  %low = kernel.const() {value = LOW} : i64
  %m = kernel.ge(%i, %low) : !kernel.tile<Xxi1>
  %near = kernel.load(%x, %c; %b, %m) {map = #loop.map<(d0) -> (d0)>} : !kernel.tile<XxELEMENT>
  kernel.store(%y, %near, %c; %b, %m) {map = #loop.map<(d0) -> (d0)>}
  %far = kernel.load(%x, %i; %b, %m) {map = #loop.map<()[i0] -> (i0)>} : !kernel.tile<XxELEMENT>
  kernel.store(%z, %far, %i; %b, %m) {map = #loop.map<()[i0] -> (i0 * 2)>}
  kernel.return()
}
"""


@pytest.mark.parametrize("element", ["f32", "bf16", "f16", "i1", "i8", "i64", "f64"])
@pytest.mark.parametrize("low", [-100, 9, 100], ids=["all", "some", "none"])
def test_masked_accesses(element, low):
    n = torch.randperm(21, generator=torch.Generator().manual_seed(3))
    x = sample([21], element, 1)
    text = MASKED.replace("ELEMENT", element).replace("LOW", str(low))
    found = []
    for run in (native, lambda text, memory: interpreter.run(parsed(text, make_context()).body.first, memory)):
        y, z = torch.zeros_like(x), torch.zeros(42, dtype=x.dtype)
        run(text, [n, x, y, z])
        found.append((y, z))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_access_outside_of_the_memory_is_an_error():
    with pytest.raises(LectError, match="element 6 is outside of 6 elements of memory"):
        interpreter.run(parsed(OUTER_SUM, make_context()).body.first, [sample([6], "f32"), sample([10], "f32"), torch.zeros(70)])


def test_wrong_number_of_parameters_is_an_error():
    with pytest.raises(LectError, match="the kernel takes 3 parameters, got 1"):
        interpreter.run(parsed(OUTER_SUM, make_context()).body.first, [sample([7], "f32")])
