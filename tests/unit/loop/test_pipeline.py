"""The whole loop level on random programs and on whole layers: after every pass the values are those of eager."""

import random

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.functional import composite, contraction, creation, normalization, pointwise, reduction, view
from lect.dialects.loop.ops import ExternOp, NestOp
from lect.ir import parse_module, print_module, verify
from lect.ir.types import bf16, f32
from lect.passes.convert.functional_to_loop import FunctionalToLoop
from lect.passes.loop.loop_fuse_horizontal import LoopFuseHorizontal
from lect.passes.loop.loop_fuse_reductions import LoopFuseReductions
from lect.passes.loop.loop_fuse_vertical import LoopFuseVertical
from lect.passes.loop.loop_inline import LoopInline
from lect.passes.loop.loop_order_for_memory import LoopOrderForMemory
from lect.passes.loop.loop_plan_buffers import LoopPlanBuffers
from lect.passes.loop.loop_realize import LoopRealize
from lect.passes.loop.loop_split_dims import LoopSplitDims
from lect.passes.loop.loop_split_reduction import LoopSplitReduction
from tests.unit.loop.programs import assert_same, execute, functional_module, random_tensor

PASSES = (
    FunctionalToLoop(),
    LoopRealize(),
    LoopInline(),
    LoopSplitDims(),
    LoopSplitReduction(threads=2, each=1, gain=1),
    LoopFuseVertical(),
    LoopFuseReductions(min_bytes=16),
    LoopFuseHorizontal(min_bytes=16),
    LoopOrderForMemory(gain=0, least=0),
    LoopPlanBuffers(),
)


def run_and_compare(build, tensors, tolerance=None):
    """Lower step by step; the values never change, the text always reads back.  Gives the last module."""
    module = functional_module(build, tensors)
    wanted = run_functional(module.body.first, tensors)
    for step in PASSES:
        step.run(module, make_context())
        verify(module)
        text = print_module(module)
        assert print_module(parse_module(text, make_context())) == text
        for found, value in zip(execute(module, tensors), wanted, strict=True):
            assert_same(found, value, tolerance=tolerance)
    return module


def nests(module):
    return [op for op in module.body.first.body if isinstance(op, NestOp)]


def calls(module):
    return [op for op in module.body.first.body if isinstance(op, ExternOp)]


class Program:
    """Grows a random program: values of a few shapes that hold the same number of elements."""

    def __init__(self, rng, emit, values):
        self.rng = rng
        self.emit = emit
        self.values = list(values)

    def pick(self, shape=None):
        fitting = [v for v in self.values if shape is None or v.type.shape == shape]
        return self.rng.choice(fitting) if fitting else None

    def step(self):
        rng, x = self.rng, self.pick()
        rank = x.type.rank
        choice = rng.randrange(10)
        if choice <= 2:
            cls = rng.choice((pointwise.ExpOp, pointwise.NegOp, composite.ReluOp, pointwise.TanhOp, composite.GeluOp, pointwise.SigmoidOp))
            self.add(cls(x))
        elif choice == 3:
            other = self.pick(x.type.shape)
            self.add(rng.choice((pointwise.AddOp, pointwise.MulOp, pointwise.SubOp, pointwise.MaximumOp))(x, other))
        elif choice == 4 and rank > 1:
            order = rng.sample(range(rank), rank)
            self.add(view.PermuteOp(x, tuple(order)))
        elif choice == 5:
            self.add(view.ReshapeOp(x, tuple(rng.choice(((24,), (2, 12), (4, 6), (2, 3, 4), (4, 3, 2), (6, 1, 4))))))
        elif choice == 6 and rank:
            dim = rng.randrange(rank)
            folded = self.emit(rng.choice((reduction.SumOp, reduction.AmaxOp, reduction.MeanOp))(x, (dim,), True)).results[0]
            self.add(pointwise.SubOp(x, folded))
        elif choice == 7 and rank:
            self.add(reduction.SoftmaxOp(x, rng.randrange(rank)))
        elif choice == 8 and rank:
            self.add(view.ReverseOp(x, (rng.randrange(rank),)))
        elif choice == 9:
            self.add(creation.CastOp(x, bf16 if rng.random() < 0.5 else f32)) if x.type.element is f32 else self.add(creation.CastOp(x, f32))

    def add(self, op):
        value = self.emit(op).results[0]
        if value.type.element is bf16:
            value = self.emit(creation.CastOp(value, f32)).results[0]
        self.values.append(value)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    rng = random.Random(seed)
    tensors = [random_tensor(shape, torch.float32, seed + k, special=False) for k, shape in enumerate(((4, 6), (2, 3, 4), (24,)))]

    def build(emit, *values):
        program = Program(rng, emit, values)
        for _ in range(14):
            program.step()
        made = program.values[len(values) :]
        return [*rng.sample(made, min(len(made), 2)), made[-1]] if made else list(values)

    run_and_compare(build, tensors, tolerance=2e-2)


def layer(emit, x, w1, b1, w2, b2, gain, shift):
    """A residual MLP with layer norm in front."""
    normal = emit(normalization.LayerNormOp(x, gain, shift, (x.type.shape[-1],), 1e-5)).results[0]
    hidden = emit(contraction.AddmmOp(b1, normal, emit(view.PermuteOp(w1, (1, 0))).results[0])).results[0]
    active = emit(composite.GeluOp(hidden)).results[0]
    out = emit(contraction.AddmmOp(b2, active, emit(view.PermuteOp(w2, (1, 0))).results[0])).results[0]
    return emit(pointwise.AddOp(x, emit(reduction.SoftmaxOp(out, 1)).results[0])).results[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_mlp_with_norm_softmax_and_residual_is_three_nests(dtype):
    sizes = ((32, 64), (256, 64), (256,), (64, 256), (64,), (64,), (64,))
    tensors = [random_tensor(shape, dtype, k, special=False) / 8 for k, shape in enumerate(sizes)]
    module = run_and_compare(layer, tensors, tolerance=2e-5 if dtype == torch.float32 else 3e-2)
    assert (len(nests(module)), len(calls(module))) == (3, 2)
    assert nests(module)[0].realize == ("operand of aten.addmm.default",)


def test_layer_norm_of_a_sum_is_one_nest():
    def build(emit, x, y, gain, shift):
        total = emit(pointwise.AddOp(x, y)).results[0]
        return emit(normalization.LayerNormOp(total, gain, shift, (64,), 1e-5)).results[0]

    tensors = [random_tensor(shape, torch.float32, k, special=False) for k, shape in enumerate(((8, 4, 64), (8, 4, 64), (64,), (64,)))]
    module = run_and_compare(build, tensors, tolerance=1e-5)
    assert len(nests(module)) == 1


def test_rotary_embedding_stays_affine():
    """Two halves exchanged and negated: cat of slices, read under masks."""

    def build(emit, x, cos, sin):
        half = x.type.shape[-1] // 2
        first = emit(view.SliceOp(x, 1, 0, half)).results[0]
        second = emit(view.SliceOp(x, 1, half, 2 * half)).results[0]
        turned = emit(view.CatOp([emit(pointwise.NegOp(second)).results[0], first], 1)).results[0]
        return emit(pointwise.AddOp(emit(pointwise.MulOp(x, cos)).results[0], emit(pointwise.MulOp(turned, sin)).results[0])).results[0]

    tensors = [random_tensor((6, 16), torch.float32, k, special=False) for k in range(3)]
    run_and_compare(build, tensors)


def test_column_and_row_folds_of_one_value_do_not_join():
    def build(emit, x):
        y = emit(pointwise.ExpOp(x)).results[0]
        return [emit(reduction.SumOp(y, (0,))).results[0], emit(reduction.SumOp(y, (1,))).results[0]]

    module = run_and_compare(build, [random_tensor((6, 7), torch.float32, special=False)], tolerance=1e-5)
    assert len(nests(module)) == 2


def test_long_chains_and_many_results():
    def build(emit, x):
        outs = []
        for k in range(40):
            x = emit(pointwise.AddOp(x, other=0.5)).results[0]
            if k % 8 == 7:
                outs.append(emit(pointwise.TanhOp(x)).results[0])
        return outs

    run_and_compare(build, [random_tensor((5, 3), torch.float32, special=False)])
