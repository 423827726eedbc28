"""`python -m benchmarks.dynamic`: what sizes cost that change from call to call, beside fixed ones and beside torch.compile(dynamic=True).

    python -m benchmarks.dynamic                    all parts
    python -m benchmarks.dynamic cold kernels       some of them: cold, lengths, kernels, guards
    python -m benchmarks.dynamic cold --layers 4 --compilers lect

cold      the first step of training of a GPT, with batch and length symbolic and with both fixed: processor time of a process of its own, empty caches
lengths   the same GPT over ten lengths: compiles, backwards compiled, and processor time of all first steps
kernels   the time of a program compiled with symbols, beside that of the same program compiled for the very sizes: medians of batches that take turns
guards    a whole call on small tensors, likewise

Times are processor time, so other work on the machine makes them longer by what it does to caches and clock alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

PARTS = ("cold", "lengths", "kernels", "guards")
LIMITS = MappingProxyType({"cold": 1.5, "torch": 0.1, "kernels": 0.95, "guards": 1.3})
LENGTHS = (64, 48, 80, 33, 96, 17, 71, 128, 55, 40)
BATCHES = 31
SECONDS = 0.004  # of a batch


# ---- one process -----------------------------------------------------------------------------------------------------


def _step(compiler: str, mode: str, layers: int) -> Callable[[int, int], None]:
    import torch

    from benchmarks.aot_models import Loss
    from benchmarks.capture_models import Gpt

    torch.manual_seed(0)
    loss = Loss(Gpt(layers))
    if compiler == "lect":
        import lect

        run = lect.compile(loss)
        mark: Callable[..., Any] = lect.mark_dynamic
    else:
        run = torch.compile(loss, dynamic=mode == "symbolic")
        mark = torch._dynamo.mark_dynamic

    def step(batch: int, length: int) -> None:
        ids, target = torch.randint(0, 1000, (2, batch, length)).unbind()
        ids, target = ids.clone(), target.clone()
        if mode == "symbolic":
            for tensor in (ids, target):
                mark(tensor, 0)
                mark(tensor, 1)
        loss.zero_grad(set_to_none=True)
        run(ids, target).backward()

    return step


def worker(compiler: str, mode: str, layers: int, lengths: int) -> dict[str, Any]:
    """Processor seconds of the first step, and of the first steps of further lengths."""
    import torch

    step = _step(compiler, mode, layers)
    before = _warm_process(torch)
    start = _all_time()
    step(4, LENGTHS[0])
    first = _all_time() - start
    start = _all_time()
    for number, length in enumerate(LENGTHS[1:lengths]):
        step(2 + number, length)
    told = {"first_s": first, "others_s": _all_time() - start, "warmed": before}
    if compiler == "lect":
        import lect

        told["compiles"], told["backwards"] = len(lect.events("compile")), len(lect.events("backward"))
        told["static"] = [event.text() for event in lect.events("static sizes", "fallback", "note", "backward fallback")]
    return told


def _warm_process(torch: Any) -> float:
    """One step of eager training, so that what torch does once is not counted."""
    x = torch.randn(4, 4, requires_grad=True)
    torch.nn.functional.cross_entropy(torch.nn.functional.layer_norm(x @ x, (4,)), torch.zeros(4).long()).backward()
    return time.process_time()


def _all_time() -> float:
    """Processor time of this process and of the compilers that it ran."""
    found = os.times()
    return found.user + found.system + found.children_user + found.children_system


def ask(compiler: str, mode: str, layers: int, lengths: int = 1) -> dict[str, Any]:
    """What a new process with empty caches says."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {"LECT_CACHE": "0", "TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.dynamic", "--worker", compiler, mode, str(layers), str(lengths)]
        ended = subprocess.run(command, env={**os.environ, **caches}, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(ended.stderr[-2000:])
    return json.loads(ended.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def cold(layers: int, compilers: Sequence[str]) -> None:
    """The part `cold`."""
    print(f"\nfirst step of training, GPT of {layers} layers: processor time in s")
    found = {}
    for compiler in compilers:
        for mode in ("fixed", "symbolic"):
            seconds = [ask(compiler, mode, layers)["first_s"] for _ in range(3 if compiler == "lect" else 1)]
            found[compiler, mode] = statistics.median(seconds)
            print(f"  {compiler:6} {mode:10} {found[compiler, mode]:8.2f}")
    print(f"  lect: symbolic / fixed {found['lect', 'symbolic'] / found['lect', 'fixed']:.2f} (at most {LIMITS['cold']})")
    if "torch" in compilers:
        print(f"  symbolic: lect / torch {found['lect', 'symbolic'] / found['torch', 'symbolic']:.3f} (at most {LIMITS['torch']})")


def lengths(layers: int, compilers: Sequence[str]) -> None:
    """The part `lengths`."""
    print(f"\nten lengths, GPT of {layers} layers")
    for compiler in compilers:
        told = ask(compiler, "symbolic", layers, len(LENGTHS))
        counted = f", {told['compiles']} compile, {told['backwards']} backward compiled" if "compiles" in told else ""
        print(f"  {compiler:6} first {told['first_s']:.2f} s, the nine others together {told['others_s']:.2f} s{counted}")
        for line in told.get("static", ()):
            print(f"    {line}")


# ---- kernels and guards ----------------------------------------------------------------------------------------------


def programs() -> Mapping[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]:
    """Programs and the shapes of their arguments."""
    import torch
    import torch.nn.functional as F

    return {
        "pointwise": (lambda x, y: torch.tanh(x) * y + x, ((512, 768), (512, 768))),
        "gelu and row": (lambda x, y: F.gelu(x + y), ((512, 768), (768,))),
        "sum of rows": (lambda x: x.sum(-1), ((512, 768),)),
        "sum of columns": (lambda x: x.sum(0), ((512, 768),)),
        "softmax": (lambda x: x.softmax(-1), ((512, 768),)),
        "layer norm": (lambda x: F.layer_norm(x, x.shape[-1:]), ((512, 768),)),
        "argmax": (lambda x: x.argmax(-1), ((512, 768),)),
        "argmax of columns": (lambda x: x.argmax(0), ((512, 768),)),
        "max with index": (lambda x: x.max(-1), ((512, 768),)),
        "cumsum": (lambda x: x.cumsum(-1), ((512, 768),)),
        "cumsum of columns": (lambda x: x.cumsum(0), ((512, 768),)),
        "transpose": (lambda x: x.t().contiguous(), ((512, 768),)),
        "transpose and add": (lambda x, y: x.t() + y, ((512, 768), (768, 512))),
        "heads": (lambda x: x.transpose(1, 2).contiguous(), ((4, 128, 12, 64),)),
        "cat": (lambda x, y: torch.cat([x, y], -1) * 2, ((512, 384), (512, 384))),
        "cross entropy": (lambda x: F.log_softmax(x, -1)[:, 0].mean(), ((512, 768),)),
        "batch of 3 dims": (lambda x, y: (x * y).mean(-1), ((8, 64, 768), (8, 64, 768))),
    }


def alternating(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """Microseconds of both, medians of batches that take turns."""
    counts = []
    for each in (first, second):
        for _ in range(3):
            each()
        start = time.perf_counter()
        each()
        counts.append(max(1, int(SECONDS / max(time.perf_counter() - start, 1e-7))))
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(BATCHES):
        for times, each, count in zip(found, (first, second), counts):
            start = time.process_time()
            for _ in range(count):
                each()
            times.append((time.process_time() - start) / count)
    return statistics.median(found[0]) * 1e6, statistics.median(found[1]) * 1e6


def _pair(program: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> tuple[Callable[[], Any], Callable[[], Any], list[str]]:
    """Calls of a program that is compiled for these shapes, and of one compiled with a symbol for each size; what stayed static."""
    import torch

    import lect

    given = [torch.randn(shape) for shape in shapes]
    fixed, symbolic = lect.compile(program, dynamic=False), lect.compile(program, dynamic=True)
    lect.reset()
    fixed(*given)
    symbolic(*[torch.randn([size + 32 if size != 64 else 64 for size in shape]) for shape in shapes])
    symbolic(*given)
    return lambda: fixed(*given), lambda: symbolic(*given), [event.text() for event in lect.events("static sizes", "fallback", "note")]


def kernels(only: str = "") -> None:
    """The part `kernels`."""
    print("\nprograms with symbols beside the same for fixed sizes: us, and the speed of the symbolic one")
    for name, (program, shapes) in programs().items():
        if only and only not in name:
            continue
        fixed, symbolic, static = _pair(program, shapes)
        one, other = alternating(fixed, symbolic)
        speed = one / other
        print(f"  {name:20} {one:9.1f} {other:9.1f}   {speed:5.2f} {'' if speed >= LIMITS['kernels'] else '<'}")
        for line in static[:2]:
            print(f"    {line[:150]}")


def guards() -> None:
    """The part `guards`."""
    print("\ncalls on small tensors: us, and how many times those of fixed sizes")
    for name, program, shapes in (
        ("one tensor", lambda x: x + 1, ((4, 8),)),
        ("ten tensors", lambda *xs: xs[0] + xs[9], ((4, 8),) * 10),
        ("sizes read", lambda x: x.view(x.shape[0] * 2, -1) + 1, ((4, 8),)),
    ):
        fixed, symbolic, static = _pair(program, shapes)
        for _ in range(3000):  # guards become native when they were asked for often
            fixed()
            symbolic()
        one, other = alternating(fixed, symbolic)
        print(f"  {name:20} {one:9.2f} {other:9.2f}   {other / one:5.2f} {'' if other / one <= LIMITS['guards'] else '>'}")
        for line in static[:2]:
            print(f"    {line[:150]}")


def main(argv: Sequence[str] | None = None) -> int:
    """The command; prints the tables and returns the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks.dynamic", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--compilers", default="lect,torch")
    parser.add_argument("--only", default="", help="kernels whose names have this")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        compiler, mode, layers, count = options.worker
        print(json.dumps(worker(compiler, mode, int(layers), int(count))))
        return 0
    compilers = [name for name in options.compilers.split(",") if name != "torch" or shutil.which("g++") or shutil.which("clang++")]
    parts = options.parts or PARTS
    if "cold" in parts:
        cold(options.layers, compilers)
    if "lengths" in parts:
        lengths(options.layers, compilers)
    if "kernels" in parts:
        kernels(options.only)
    if "guards" in parts:
        guards()
    return 0


if __name__ == "__main__":
    sys.exit(main())
