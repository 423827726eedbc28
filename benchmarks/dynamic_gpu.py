"""`python -m benchmarks.dynamic_gpu`: what sizes cost on a GPU that change from call to call, beside fixed ones.

    python -m benchmarks.dynamic_gpu                    all parts
    python -m benchmarks.dynamic_gpu values kernels     some of them: values, kernels, training

values    programs over ten sizes beside eager: greatest error, compiles of the function, and versions of its kernels
kernels   device time of a program compiled with symbols, first called with other sizes, beside that of the same program compiled for the very sizes
training  a GPT whose batch and length change: device time of a step beside one for fixed sizes, compiles, processor time of the first step

Device times are replays of CUDA graphs over inputs that take turns; of training, the sum over kernels that the profiler saw.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

import lect
from benchmarks.aot_models import Loss
from benchmarks.capture_models import Gpt
from benchmarks.gpu_kernels import graph_time, randn

PARTS = ("values", "kernels", "training")
BF16 = torch.bfloat16
TEN = ((64, 128), (48, 96), (17, 33), (200, 1000), (128, 64), (33, 257), (5, 4096), (300, 70), (2, 20000), (96, 16))
FIRST = 64  # rows and columns more than those that are timed: what a program with symbols is compiled at
TIMED = ((8192, 4096), (16384, 2048), (4096, 5000), (4095, 5003))
LENGTHS = (128, 96, 64, 200, 256, 33, 80, 17, 160, 40)
LIMIT = 0.95
SETS = 3


class Program(NamedTuple):
    """`make(rows, columns)` gives inputs."""

    run: Callable[..., Any]
    make: Callable[[int, int], tuple[torch.Tensor, ...]]


def _product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.gelu(x @ w, approximate="tanh")


def _weights(rows: int, columns: int) -> tuple[torch.Tensor, ...]:
    """A matrix of `rows` rows, and weights whose sizes do not change."""
    w = randn(512, 1024, dtype=BF16)
    lect.mark_static(w)
    x = randn(rows, 512, dtype=BF16)
    lect.mark_static(x, 1)
    return x, w


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        "pointwise": Program(lambda x, y: torch.tanh(x) * y + x, lambda a, b: (randn(a, b), randn(a, b))),
        "gelu and row": Program(lambda x, y: F.gelu(x + y), lambda a, b: (randn(a, b, dtype=BF16), randn(b, dtype=BF16))),
        "softmax": Program(lambda x: x.softmax(-1), lambda a, b: (randn(a, b),)),
        "layer norm": Program(lambda x: F.layer_norm(x, x.shape[-1:]), lambda a, b: (randn(a, b, dtype=BF16),)),
        "sum of rows": Program(lambda x: x.sum(-1), lambda a, b: (randn(a, b),)),
        "sum of columns": Program(lambda x: x.sum(0), lambda a, b: (randn(a, b),)),
        "sum of all": Program(lambda x: x.sum(), lambda a, b: (randn(a, b),)),
        "transpose and add": Program(lambda x, y: x.t() + y, lambda a, b: (randn(a, b), randn(b, a))),
        "argmax": Program(lambda x: x.argmax(-1), lambda a, b: (randn(a, b),)),
        "cat": Program(lambda x, y: torch.cat([x, y], -1) * 2, lambda a, b: (randn(a, b), randn(a, b))),
        "product and gelu": Program(_product, _weights),
    }
)


def told() -> str:
    """What was not compiled as it should be."""
    return "; ".join([event.text()[:160] for event in lect.events("static sizes", "fallback", "note", "backward fallback")])


def guarded(name: str, work: Callable[[], None]) -> None:
    """One line of a table; a failure is told and loses no other."""
    try:
        work()
    except Exception as problem:
        print(f"  {name:20} failed: {type(problem).__name__}: {str(problem)[:300]}", flush=True)


def values() -> None:
    """The part `values`."""
    print("\nten sizes: greatest difference from eager, compiles, seconds of all first calls")

    def one(name: str, program: Program) -> None:
        lect.reset()
        run, worst, start = lect.compile(program.run, dynamic=True), 0.0, time.perf_counter()
        for rows, columns in TEN:
            inputs = program.make(rows, columns)
            found, wanted = run(*inputs).double(), program.run(*inputs).double()
            worst = max(worst, ((found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-9)).item())
        print(f"  {name:20} {worst:9.1e} {len(lect.events('compile')):3} {time.perf_counter() - start:6.1f} s  {told()}", flush=True)

    for name, program in PROGRAMS.items():
        guarded(name, lambda: one(name, program))  # noqa: B023  # called at once


def kernels(only: str = "") -> None:
    """The part `kernels`."""
    print("\ndevice time in us, fixed and with symbols, and the speed of the symbolic one")

    def one(name: str, program: Program) -> None:
        for rows, columns in TIMED:
            lect.reset()
            symbolic = lect.compile(program.run, dynamic=True)
            symbolic(*program.make(rows + FIRST, columns + FIRST))
            sets = [program.make(rows, columns) for _ in range(SETS)]
            fixed = lect.compile(program.run, dynamic=False)
            times = [graph_time(run, sets) * 1000 for run in (fixed, symbolic)]
            speed = times[0] / times[1]
            print(f"  {name:20} {rows:6} x {columns:6} {times[0]:9.1f} {times[1]:9.1f}  {speed:5.2f} {'' if speed >= LIMIT else '<'}", flush=True)
            if told():
                print(f"    {told()}")

    for name, program in PROGRAMS.items():
        if only in name:
            guarded(name, lambda: one(name, program))  # noqa: B023  # called at once


def device_time(step: Callable[[], Any]) -> float:
    """Milliseconds of all kernels of a step, the mean of five."""
    from torch.profiler import ProfilerActivity, profile

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(5):
            step()
        torch.cuda.synchronize()
    return float(sum(event.self_device_time_total for event in seen.key_averages())) / 5000


def training(layers: int) -> None:
    """The part `training`."""
    print(f"\nGPT of {layers} layers: training with batch and length symbolic, beside fixed ones")
    torch.manual_seed(0)
    plain = Loss(Gpt(layers, 256, context=512)).cuda()
    model = copy.deepcopy(plain)

    def step(run: Callable[..., Any], owner: torch.nn.Module, ids: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        owner.zero_grad(set_to_none=True)
        loss: torch.Tensor = run(ids, target)
        loss.backward()
        return loss.detach()

    def inputs(batch: int, length: int) -> Sequence[torch.Tensor]:
        return [each.clone() for each in torch.randint(0, 1000, (2, batch, length), device="cuda").unbind()]

    lect.reset()
    symbolic, worst = lect.compile(model, dynamic=True), 0.0
    for number, length in enumerate(LENGTHS):
        given, start = inputs(2 + number, length), time.process_time()
        found = step(symbolic, model, *given)
        if not number:
            print(f"  first step {time.process_time() - start:.2f} s of processor time")
        worst = max(worst, (found - step(plain, plain, *given)).abs().item())
        for mine, other in zip(model.parameters(), plain.parameters()):
            if other.grad is not None and mine.grad is not None:
                worst = max(worst, ((mine.grad - other.grad).abs().max() / other.grad.abs().max().clamp(min=1e-9)).item())
    print(f"  ten lengths: difference from eager {worst:.1e}, {len(lect.events('compile'))} compiles, {len(lect.events('backward'))} backwards  {told()}")
    for batch, length in ((16, 256), (15, 250)):
        given = inputs(batch, length)
        lect.reset()
        symbolic = lect.compile(model, dynamic=True)
        step(symbolic, model, *inputs(4, 128))
        fixed = lect.compile(model, dynamic=False)
        times = [device_time(lambda run=run: step(run, model, *given)) for run in (fixed, symbolic)]  # noqa: B023  # called at once
        print(f"  {batch} x {length}: {times[0]:.3f} ms fixed, {times[1]:.3f} ms symbolic, {times[0] / times[1]:.3f}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; prints the tables and returns the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks.dynamic_gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--only", default="", help="kernels whose names have this")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("there is no CUDA device")
        return 1
    parts = options.parts or PARTS
    if "values" in parts:
        values()
    if "kernels" in parts:
        kernels(options.only)
    if "training" in parts:
        guarded("training", lambda: training(options.layers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
