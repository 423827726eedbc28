"""`python -m benchmarks.functional_level`: what propagation and the lowering to functional operations cost, for each operator of ATen.

The graph is that of twelve transformer encoder blocks, captured by `pyframe-to-fx`.  Propagation is re-execution alone; the lowering adds the
functional operations, their types and their verification.  The first lowering of a process fills the cache of metadata.  Times are processor
time, garbage collection off.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import torch

from lect.dialects import make_context
from lect.frontends.capture.api import open_frame
from lect.frontends.tensors import Propagation, TensorMeta, make_lt
from lect.ir import Operation
from lect.passes.manager import PassManager

LAYERS = 12
GOAL_PROPAGATION = 15.0  # microseconds for each operator
GOAL_LOWERING = 60.0


def blocks() -> torch.nn.Module:
    """Twelve encoder blocks, small ones: the cost does not depend on sizes."""
    layers = [torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(LAYERS)]
    return torch.nn.Sequential(*layers).eval()


def fx_module(model: torch.nn.Module) -> Operation:
    """The module that capture makes of the model, without gradients."""

    def call(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return model(x)

    ctx = make_context()
    module = open_frame(call, (torch.randn(2, 8, 64),), {}, ctx)
    PassManager.parse("pyframe-to-fx").run(module, ctx)
    return module


def best(run: Callable[[], object], times: int = 5) -> float:
    """Least processor time of several runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def propagation() -> float:
    """Microseconds for one elementwise operator whose metadata is known."""
    x = make_lt(TensorMeta((8, 64), torch.float32, (64, 1), torch.device("cpu")))

    def run() -> None:
        for _ in range(500):
            torch.exp(x)

    with torch.no_grad(), Propagation():
        run()
        return best(run) / 500 * 1e6


def lowering(module: Operation) -> tuple[float, float, int]:
    """Microseconds for each operation, the first time and the best time, and the number of operations."""
    manager = PassManager.parse("fx-to-functional")
    copies = [module.clone() for _ in range(6)]
    start = time.process_time()
    manager.run(copies[0], make_context())
    first = time.process_time() - start
    pending = iter(copies[1:])
    again = best(lambda: manager.run(next(pending), make_context()))
    (func,) = [op for op in copies[0].body if op.name == "functional.func"]
    count = sum(1 for _ in func.body)
    return first / count * 1e6, again / count * 1e6, count


def main() -> None:
    """Print the table."""
    gc.disable()
    print(f"{'propagation, one operator':42}{propagation():8.1f} us   (goal {GOAL_PROPAGATION:.0f})")
    first, again, count = lowering(fx_module(blocks()))
    print(f"{f'lowering, {count} operations, first time':42}{first:8.1f} us each")
    print(f"{'lowering, metadata known':42}{again:8.1f} us each   (goal {GOAL_LOWERING:.0f})")


if __name__ == "__main__":
    main()
