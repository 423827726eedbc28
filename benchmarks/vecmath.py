"""Speed of the vector mathematics beside eager's: nanoseconds per element, one thread, arrays that stay in the second-level cache.

    python -m benchmarks.vecmath [--element f32|f64] [--lanes 8,16,32] [NAME ...]

Each function runs over an operand and a result of half a megabyte each. Rounds of all widths and of eager alternate, so that a slow
moment of the machine meets each of them; the median round is shown, as thread CPU time.
"""

import argparse
import ctypes
import statistics
import time

import torch

from lect.backends.llvm import jit, vecmath

OPERAND_BYTES = 1 << 19
ROUNDS = 15
CALLS_PER_ROUND = 3


def operands(op: str, element: str, arity: int) -> list[torch.Tensor]:
    """Ordinary arguments: around zero, positive, or within [-1, 1], whichever the function takes."""
    dtype = {"f32": torch.float32, "f64": torch.float64}[element]
    count = OPERAND_BYTES // dtype.itemsize
    generator = torch.Generator().manual_seed(0)
    values = [torch.empty(count, dtype=dtype).normal_(generator=generator) * 3 for _ in range(arity)]
    if op in ("asin", "acos", "atanh"):
        values = [value.tanh() for value in values]
    elif op in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "pow", "acosh"):
        values = [value.abs() + 1 for value in values]
    return values


def native(op: str, element: str, lanes: int, features: vecmath.CpuFeatures):
    """A function over tensors that calls the compiled loop."""
    text = vecmath.functions({(op, element)}, {lanes}, features) + vecmath.array_loop(op, element, lanes, "run")
    code = jit.load_object(jit.compile_object(text))
    arity = len(vecmath.signature(op, element, lanes)[1])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)(code.address("run"))

    def call(tensors, out, keep_alive=code):
        function(*[tensor.data_ptr() for tensor in tensors], out.data_ptr(), out.numel())

    return call


def eager(op: str):
    def call(tensors, out):
        getattr(torch, op)(*tensors, out=out)

    return call


def median_times(calls, tensors) -> list[float]:
    """Nanoseconds per element of each call."""
    out = torch.empty_like(tensors[0])
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, times in zip(calls, samples, strict=True):
            call(tensors, out)
            start = time.thread_time_ns()
            for _ in range(CALLS_PER_ROUND):
                call(tensors, out)
            times.append((time.thread_time_ns() - start) / CALLS_PER_ROUND / out.numel())
    return [statistics.median(times) for times in samples]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions to measure; all if none is given")
    parser.add_argument("--element", choices=("f32", "f64"), default="f32")
    parser.add_argument("--lanes", default="8,16,32", help="widths to measure, separated by commas")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lanes = [int(width) for width in arguments.lanes.split(",")]
    features = vecmath.CpuFeatures.parse(jit.host_target().features)
    print(f"{jit.host_target().cpu}, {arguments.element}, ns per element")
    print(f"{'function':10}" + "".join(f"{f'{width} lanes':>10}" for width in lanes) + f"{'eager':>10}{'eager / best':>14}")
    for op, element in vecmath.FUNCTIONS:
        if element != arguments.element or (arguments.names and op not in arguments.names):
            continue
        tensors = operands(op, element, len(vecmath.signature(op, element, 1)[1]))
        times = median_times([*(native(op, element, width, features) for width in lanes), eager(op)], tensors)
        print(f"{op:10}" + "".join(f"{value:10.3f}" for value in times) + f"{times[-1] / min(times[:-1]):14.1f}")


if __name__ == "__main__":
    main()
