"""`python -m benchmarks.functional_passes`: what each pass over functional graphs costs when it finds nothing, and what those that choose between forms gain.

The graph of the first table is that of twelve transformer encoder blocks, already simplified.  Times of the second table are those of whole calls, one thread,
the best of several, in microseconds: eager, compiled, and compiled with the pass at work where it is not by default.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import lect
from benchmarks.functional_level import best, blocks, fx_module
from lect.dialects import make_context
from lect.passes.manager import PassManager
from lect.passes.pipelines import PIPELINES

GOAL = 2.0  # microseconds for each operation
FUSED = {"numerics": "fused"}


def costs() -> list[tuple[str, float, int]]:
    """(pass, microseconds for each operation, operations) for the passes of `aot` that are about functional graphs, with fused numerics."""
    module = fx_module(blocks())
    ctx = make_context(options=FUSED)
    PassManager.parse("aot").run(module, ctx)
    (func,) = [op for op in module.body if op.name == "functional.func"]
    for op in [op for op in module.body if op is not func]:
        op.detach()
    count = len(list(func.body))
    managers = [(name, PassManager.parse(name)) for name in PIPELINES["aot"] if name.startswith("functional-")]
    return [(name, best(lambda each=manager: each.run(module, ctx)) / count * 1e6, count) for name, manager in managers]


def fastest(run: Callable[[], Any], times: int = 30) -> float:
    """Least time of several calls, in microseconds."""
    run()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found) * 1e6


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention in steps."""
    weights = torch.softmax(query @ key.mT * 0.125, dim=-1, dtype=torch.float32).to(query.dtype)
    return weights @ value


def bias(x: torch.Tensor, y: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A product and a sum."""
    return x @ y + b


def gated(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Two products of one matrix."""
    return F.silu(F.linear(x, gate)) * F.linear(x, up)


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Pointwise operations."""
    return (x * y + x).sin() * 3 - y / 7


def cache(keys: torch.Tensor, query: torch.Tensor, key: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """One position of a static cache is written, and all of it read."""
    keys.index_copy_(2, position, key)
    return query @ keys.mT


def cases() -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """(what is measured, program, arguments)."""
    heads = [torch.randn(1, 8, 256, 64) for _ in range(3)]
    return [
        ("attention, f32, 8 heads, 256 rows", attention, tuple(heads)),
        ("attention, bf16", attention, tuple(tensor.bfloat16() for tensor in heads)),
        ("product and bias, 512 x 256 x 256", bias, (torch.randn(512, 256), torch.randn(256, 256), torch.randn(256))),
        ("two products, 4096 x 32 x 16", gated, (torch.randn(4096, 32), torch.randn(16, 32), torch.randn(16, 32))),
        ("chain of bf16, 1M elements", chain, (torch.randn(1 << 20).bfloat16(), torch.randn(1 << 20).bfloat16())),
        ("cache of 16 MB, one position", cache, (torch.randn(1, 8, 8192, 64), torch.randn(1, 8, 1, 64), torch.randn(1, 8, 1, 64), torch.tensor([5]))),
    ]


def main() -> None:
    """Print both tables."""
    gc.disable()
    torch.set_num_threads(1)
    for name, cost, count in costs():
        print(f"{name:32}{cost:8.2f} us for each of {count} operations   (goal {GOAL:.0f})")
    print(f"\n{'':36}{'eager':>12}{'compiled':>12}{'fused':>12}")
    with torch.no_grad():
        for name, program, args in cases():
            forms = [program, lect.compile(program), lect.compile(program, options=FUSED)]
            print(f"{name:36}" + "".join(f"{fastest(lambda form=form, args=args: form(*args)):12.0f}" for form in forms))  # type: ignore[misc]


if __name__ == "__main__":
    main()
