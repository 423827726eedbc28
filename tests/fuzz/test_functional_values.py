"""Random programs of views, casts, choices and constants: the passes over functional graphs leave every bit of every result, and its layout."""

from __future__ import annotations

import random

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.builtin.ops import ModuleOp
from lect.ir import Block, Region
from lect.passes.manager import PassManager
from lect.passes.pipelines import PIPELINES
from tests.unit.functional.programs import GraphBuilder, compare

PASSES = ",".join(name for name in PIPELINES["aot"] if name != "fx-to-functional")
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int32, torch.int8, torch.bool)
SPECIAL = (0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 1e-40, 3e4, 0.1, 5.0, -1.0)
SHAPES = ((4, 6), (6, 4), (24,), (2, 3, 4), (1, 4, 6), (4, 1), (1, 6), (6,), ())


def made(rng: random.Random, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """An input: special floats, small integers."""
    count = int(torch.Size(shape).numel())
    values = torch.tensor([rng.choice(SPECIAL) for _ in range(count)], dtype=torch.float64)
    if not dtype.is_floating_point:
        values = values.nan_to_num(3, 9, -9)
    found = values.to(dtype).view(shape)
    return found.t().contiguous().t() if len(shape) == 2 and rng.random() < 0.3 else found


class Program:
    """A graph that grows by one random call after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.graph = GraphBuilder()
        self.values = [self.graph.input(made(self.rng, self.rng.choice(SHAPES), self.rng.choice(DTYPES))) for _ in range(3)]

    def pick(self) -> torch.Tensor:
        """A value, a late one rather than an early one."""
        return self.values[-1 - min(int(self.rng.expovariate(0.4)), len(self.values) - 1)]

    def grow(self) -> None:
        """One call more, unless eager refuses it."""
        name, function, args, kwargs = self.rng.choice(CALLS)(self.rng, self.pick)
        try:
            result = self.graph.call(name, function, *args, **kwargs)
        except (RuntimeError, IndexError, TypeError, NotImplementedError):
            return
        self.values.append(result)


def named(name: str, *args, **kwargs):
    """A call of torch by name."""
    return f"torch.{name}", getattr(torch, name), args, kwargs


def method(name: str, *args, **kwargs):
    """A call of a method by name."""
    return f"torch.Tensor.{name}", getattr(torch.Tensor, name), args, kwargs


def reshaped(rng, pick):
    x = pick()
    same = [shape for shape in SHAPES if torch.Size(shape).numel() == x.numel()] or [(x.numel(),)]
    return method("reshape", x, rng.choice(same))


def sliced(rng, pick):
    x = pick()
    if not x.dim():
        return named("neg", x)
    dim = rng.randrange(x.dim())
    start = rng.randrange(max(x.shape[dim], 1))
    return method("narrow", x, dim, start, rng.randrange(max(x.shape[dim] - start, 0) + 1))


def expanded(rng, pick):
    x = pick()
    shape = [rng.choice((size, 3)) if size == 1 else size for size in x.shape]
    return method("expand", x, [2, *shape] if rng.random() < 0.3 and x.dim() < 3 else shape)


def joined(rng, pick):
    x = pick()
    return named("cat", [x, rng.choice((x, pick()))], rng.randrange(max(x.dim(), 1)))


def sliced_and_joined(rng, pick):
    x = pick()
    return named("roll", x, rng.randrange(5), rng.randrange(max(x.dim(), 1)))


CALLS = [
    reshaped, reshaped, sliced, sliced, expanded, expanded, joined, sliced_and_joined,
    lambda rng, pick: named("permute", x := pick(), rng.sample(range(x.dim()), x.dim())),
    lambda rng, pick: method("to", pick(), rng.choice(DTYPES[:6])),
    lambda rng, pick: method("to", pick(), rng.choice(DTYPES[:6])),
    lambda rng, pick: named(rng.choice(("neg", "abs", "relu", "clone", "sign", "isnan", "logical_not", "signbit")), pick()),
    lambda rng, pick: named(rng.choice(("add", "mul", "sub", "maximum", "minimum", "lt", "eq", "ge", "bitwise_and", "logical_or")), pick(), pick()),
    lambda rng, pick: named(rng.choice(("add", "mul", "lt", "ge", "ne")), pick(), rng.choice((0, 1, 0.5, -3, 2, 0.1))),
    lambda rng, pick: named("where", named_condition(rng, pick), pick(), pick()),
    lambda rng, pick: method("masked_fill", pick(), named_condition(rng, pick), rng.choice((0, 1, -2))),
    lambda rng, pick: named("full", rng.choice(SHAPES), rng.choice((0, 1, -0.0, 2.5, True)), dtype=rng.choice(DTYPES)),
    lambda rng, pick: named("arange", rng.choice((1, 4, 6)), dtype=rng.choice((torch.int64, torch.int32, torch.float32))),
    lambda rng, pick: named("ones", rng.choice(SHAPES), dtype=rng.choice(DTYPES)),
    lambda rng, pick: named("cumsum", x := pick(), rng.randrange(max(x.dim(), 1))),
    lambda rng, pick: named("flip", x := pick(), [rng.randrange(max(x.dim(), 1))]),
    lambda rng, pick: method("contiguous", pick()),
    lambda rng, pick: named("tril", pick(), rng.randrange(-1, 2)),
    lambda rng, pick: ("torch.nn.functional.pad", torch.nn.functional.pad, (pick(), [rng.randrange(2), rng.randrange(3)]), {"value": 1}),
]  # fmt: skip


def named_condition(rng, pick):
    """A tensor of booleans among the values, or any."""
    for _ in range(6):
        found = pick()
        if found.dtype is torch.bool:
            return found
    return found


def check(seed: int) -> None:
    """One program: the passes leave what it gives."""
    program = Program(seed)
    for _ in range(14):
        program.grow()
    wanted = [value for value in program.values[3:] if value.numel() < 1 << 12][-5:]
    if not wanted:
        return
    func = program.graph.lower(wanted)
    module = ModuleOp(regions=[Region([Block()])])
    module.body.append(func)
    PassManager.parse(PASSES, verify_each=True).run(module, make_context())
    for want, got in zip(wanted, run_functional(module.body.first, program.graph.inputs)):
        compare(want, got)


@pytest.mark.parametrize("block", range(4))
def test_few_programs(block):
    for seed in range(block * 30, block * 30 + 30):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_programs(block):
    for seed in range(1000 + block * 100, 1100 + block * 100):
        check(seed)
