"""Programs over several sizes, whose kernels for a GPU take sizes as arguments.  Run by `worker.py` in a process of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

import lect
from tests.triton.interpreter import on_gpu_in_name_only
from tests.triton.nets import Words

SIZES = ((5, 7), (17, 33), (16, 64), (3, 100), (0, 5), (1, 9), (40, 1), (33, 130))
LONG = ((3, 40), (2, 16385), (2, 1000), (2, 16384))
TALL = ((2048, 8), (3, 70), (600, 5), (2, 2), (513, 3))
BF16 = torch.bfloat16


class Program(NamedTuple):
    """`make(rows, columns)` gives inputs; `compiles` is how many versions the sizes need at most: those with 0 or 1 have their own."""

    run: Callable[..., Any]
    make: Callable[[int, int], tuple[torch.Tensor, ...]]
    sizes: tuple[tuple[int, int], ...] = SIZES
    compiles: int = 4


def one(a: int, b: int) -> tuple[torch.Tensor, ...]:
    """A matrix whose numbers occur several times."""
    return (torch.randn(a, b).mul(8).round(),)


def two(a: int, b: int) -> tuple[torch.Tensor, ...]:
    """Two matrices."""
    return torch.randn(a, b), torch.randn(a, b)


def with_nan(a: int, b: int) -> tuple[torch.Tensor, ...]:
    """A matrix whose last elements are NaN and infinite."""
    x = torch.randn(a, b)
    x[-1:, -1:], x[-1:, :1] = float("nan"), float("inf")
    return (x,)


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        "pointwise": Program(lambda x, y: torch.tanh(x) * y + x, two),
        "row": Program(lambda x, y: F.gelu(x + y), lambda a, b: (torch.randn(a, b), torch.randn(b))),
        "softmax": Program(lambda x: x.softmax(-1), one),
        "layer_norm": Program(lambda x: F.layer_norm(x, x.shape[-1:]), one),
        "transposed": Program(lambda x, y: x.t() + y, lambda a, b: (torch.randn(a, b), torch.randn(b, a))),
        "argmax_columns": Program(lambda x: x.argmax(0), lambda a, b: one(max(a, 1), b)),
        "cumsum": Program(lambda x: x.cumsum(1), one),
        "cat": Program(lambda x, y: torch.cat([x, y], -1) * 2, lambda a, b: (torch.randn(a, b), torch.randn(a, b + 3))),
        "product": Program(lambda x, w: F.relu(x @ w), lambda a, b: (torch.randn(a, b, dtype=BF16), torch.randn(b, 32, dtype=BF16))),
        "product of floats": Program(lambda x, w: torch.tanh(x @ w) * 2, lambda a, b: (torch.randn(a, b), torch.randn(b, 32))),
        "long_softmax": Program(lambda x: x.log_softmax(-1), one, LONG, 1),
        "long_cumsum": Program(lambda x: x.cumsum(-1), one, LONG, 1),
        "long_argmax": Program(lambda x: x.argmax(-1), one, LONG, 1),
        "tall_sum": Program(lambda x: (x.sum(0), x.sum()), one, TALL, 1),
        "tall_extremes": Program(lambda x: (x.amax(0), x.argmin(0), (x > 20).any(0)), with_nan, TALL, 1),
        "batch_norm": Program(lambda x: F.batch_norm(x, None, None, training=True), one, ((30, 7), (5, 9), (700, 3)), 1),
    }
)


def run_sizes(name: str) -> str | None:
    """What is wrong with a program over its sizes, None when nothing is."""
    if name == "training":
        return run_training()
    program = PROGRAMS[name]
    lect.reset()
    torch.manual_seed(3)
    wrong = []
    with on_gpu_in_name_only():
        run = lect.compile(program.run, dynamic=True)
        for sizes in program.sizes:
            inputs = program.make(*sizes)
            try:
                torch.testing.assert_close(run(*inputs), program.run(*inputs), rtol=2e-2 if inputs[0].dtype is BF16 else 1e-4, atol=1e-4, equal_nan=True)
            except AssertionError as error:
                wrong.append(f"{sizes}: {' '.join(str(error).split())}")
    return _told(wrong, program.compiles)


def run_training() -> str | None:
    """What is wrong with steps of training of a GPT over several batches and lengths."""
    lect.reset()
    torch.manual_seed(3)
    plain = Words(length=40)
    model, wrong = copy.deepcopy(plain), []
    with on_gpu_in_name_only():
        run = lect.compile(model, dynamic=True)
        for batch, length in ((2, 8), (3, 5), (2, 33), (5, 7)):
            words = torch.randint(0, 60, (batch, length))
            for owner, step in ((plain, plain), (model, run)):
                owner.zero_grad()
                step(words).backward()
            for (name, mine), other in zip(model.named_parameters(), plain.parameters(), strict=True):
                if not torch.allclose(mine.grad, other.grad, rtol=1e-4, atol=1e-5):  # type: ignore[arg-type]
                    wrong.append(f"{(batch, length)}: the gradient of {name} is off")
    return _told(wrong, 1)


def _told(wrong: list[str], compiles: int) -> str | None:
    wrong += [str(event) for event in lect.events("note", "fallback", "static sizes", "backward fallback")]
    made = len(lect.events("compile"))
    return "; ".join(wrong + ([f"{made} compiles for {compiles}"] if made > compiles else [])) or None
