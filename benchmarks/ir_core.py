"""`python -m benchmarks.ir_core`: what the IR core and the path through it cost, beside the figures they are held to.

    python -m benchmarks.ir_core             all rows
    python -m benchmarks.ir_core parse jit   the rows whose name has one of these words

The first rows are of the IR core alone: an operation of a dialect of this file whose only rule is that the result has
the operands' type. The rows of nests and graphs add the rules of the real dialects, and are held to nothing.

Each number is the best of several runs (a median where the row says so), garbage collection off, on whatever else the
machine is doing. The exit status is zero whatever the figures are; a row that cannot be measured says why.
"""

from __future__ import annotations

import contextlib
import gc
import io
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lect.dialects import TABLE, make_context
from lect.ir import (
    Attr,
    Context,
    Dialect,
    FuncLike,
    IsolatedFromAbove,
    NoTerminator,
    Operand,
    Operation,
    Pure,
    RegionField,
    Result,
    SingleBlock,
    Type,
    op,
    parse_module,
    print_module,
    verify,
)

ROOT = Path(__file__).resolve().parents[1]
OPS = 2000
CORE = """bench.func @f(%0: f32, %1: f32) {
LINES
}
"""
NEST = """loop.func @f(%x: !loop.buffer<8xf32>) {
  %y = loop.nest @n(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (-d0 + 7)>} : f32
LINES
    loop.store(%LAST) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y) {views = [#loop.view<8>]}
}
"""


@dataclass(frozen=True)
class Row:
    """One figure: `measure` gives (value, limit) in `unit`; no limit is None."""

    name: str
    unit: str
    measure: Callable[[], tuple[float, float | None]]


def best(call: Callable[[], Any], runs: int = 7) -> float:
    """The shortest time of some calls, in seconds."""
    times = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(runs):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return min(times)


@op("bench.func")
class FuncOp(Operation):
    """What holds the additions."""

    sym_name: Attr[str]
    contents: RegionField
    traits = (FuncLike, IsolatedFromAbove, SingleBlock, NoTerminator)


@op("bench.add")
class AddOp(Operation):
    """lhs + rhs"""

    lhs: Operand
    rhs: Operand
    output: Result
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (self.lhs.type,)


def context() -> Context:
    """A context that also knows the dialect of this file."""
    return Context({**TABLE, "bench": Dialect("bench", [FuncOp, AddOp])})


def lines(form: str) -> str:
    """OPS additions, one a line, each with its location."""
    return "\n".join([form.format(number, number - 1, number - 2) + f' loc("model.py":{number}:8)' for number in range(2, OPS + 2)])


CORE_TEXT = CORE.replace("LINES", lines("  %{0} = bench.add(%{1}, %{2}) : f32"))
NEST_TEXT = NEST.replace("LINES", lines("    %{0} = loop.add(%{1}, %{2}) : f32")).replace("LAST", str(OPS + 1))


def build_time(make: Callable[..., Any], left: Any, right: Any) -> float:
    """Microseconds to build an operation with two operands whose result type is inferred, in a chain of them."""

    def build() -> None:
        first, second = left, right
        for _ in range(OPS):
            first, second = second, make(first, second).results[0]

    return best(build) / OPS * 1e6


def build_operation() -> tuple[float, float]:
    """A plain operation."""
    func = next(iter(parse_module(CORE_TEXT, context()).body))
    return build_time(AddOp, *func.body.args), 1.2


def build_functional() -> tuple[float, None]:
    """An operation with eager's rule for broadcasting and strides."""
    text = "functional.func @f(%0: !functional.tensor<8x16xf32>, %1: !functional.tensor<16xf32>) {\n  functional.return(%0)\n}"
    known = context()
    add = known.op_class("functional.add")
    assert add is not None
    return build_time(add, *next(iter(parse_module(text, known).body)).body.args), None


def print_text() -> tuple[float, float]:
    """Milliseconds to print 2,000 operations."""
    module = parse_module(CORE_TEXT, context())
    return best(lambda: print_module(module)) * 1e3, 6.0


def verify_core() -> tuple[float, float]:
    """Milliseconds to verify 2,000 operations."""
    module = parse_module(CORE_TEXT, context())
    return best(lambda: verify(module)) * 1e3, 3.0


def verify_nest() -> tuple[float, None]:
    """Milliseconds to verify a nest of 2,000 operations."""
    module = parse_module(NEST_TEXT, context())
    return best(lambda: verify(module)) * 1e3, None


def parse_text() -> tuple[float, float]:
    """Milliseconds to parse 2,000 lines."""
    known = context()
    return best(lambda: parse_module(CORE_TEXT, known), 5) * 1e3, 160.0


def start_of_lect_opt() -> tuple[float, float]:
    """Milliseconds from the shell to the list of passes."""
    command = [sys.executable, "-c", "from lect.tools.lect_opt import main; main(['--list-pipelines'])"]
    return best(lambda: subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL), 9) * 1e3, 120.0


def lit_test() -> tuple[float, float]:
    """Milliseconds of the median lit test of a dialect or pass, run in this process."""
    from tests.lit.runner import run_test

    times = []
    for path in sorted((ROOT / "tests/lit").rglob("*.mlir")):
        with contextlib.suppress(Exception):
            run_test(path)
            times.append(best(lambda path=path: run_test(path), 1))  # type: ignore[misc]
    return statistics.median(times) * 1e3, 10.0


def llvm_compile() -> tuple[float, float]:
    """Milliseconds that LLVM takes for one kernel of the example encoder block, on average."""
    from lect.backends import llvm
    from lect.tools import lect_opt

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        lect_opt.main(["--capture", str(ROOT / "examples/encoder.py") + ":encode", "-p", "capture,aot,loop,kernel"])
    known = make_context()
    kernels = [op for op in parse_module(text.getvalue(), known).body if op.name == "kernel.func"]
    llvm.compile_kernels(kernels[:1], known)
    return best(lambda: llvm.compile_kernels(kernels, known), 3) / len(kernels) * 1e3, 30.0


COLD = """
import sys, time
sys.path.insert(0, "examples")
import torch, encoder
x, = encoder.encode_inputs()
encoder.encode(x)
start = time.perf_counter()
import lect
lect.compile(encoder.encode)(x)
print((time.perf_counter() - start) * 1e3)
"""


def cold_compile() -> tuple[float, float]:
    """Milliseconds from `import lect` to the first result of the encoder block, in a process that has imported torch."""
    times = []
    for _ in range(3):
        result = subprocess.run([sys.executable, "-c", COLD], cwd=ROOT, capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(result.stderr.strip().split("\n")[-1])
        times.append(float(result.stdout.split()[-1]))
    return min(times), 400.0


def call_of_mlp() -> tuple[float, float]:
    """Microseconds of a call of the compiled example MLP, held to eager's; medians of interleaved calls."""
    sys.path.insert(0, str(ROOT / "examples"))
    import mlp

    import lect

    compiled = lect.compile(mlp.mlp)
    inputs = mlp.mlp_inputs()
    times: dict[Any, list[float]] = {compiled: [], mlp.mlp: []}
    for turn in range(600):
        for call, seconds in times.items():
            start = time.perf_counter()
            call(*inputs)
            if turn >= 100:
                seconds.append(time.perf_counter() - start)
    return statistics.median(times[compiled]) * 1e6, statistics.median(times[mlp.mlp]) * 1e6


ROWS: Sequence[Row] = (
    Row("build a 2-operand operation", "us", build_operation),
    Row("build functional.add", "us", build_functional),
    Row("print 2,000 operations", "ms", print_text),
    Row("verify 2,000 operations", "ms", verify_core),
    Row("verify a nest of 2,000 operations", "ms", verify_nest),
    Row("parse 2,000 lines", "ms", parse_text),
    Row("start of lect-opt", "ms", start_of_lect_opt),
    Row("lit test in-process, median", "ms", lit_test),
    Row("jit: LLVM compile of a kernel", "ms", llvm_compile),
    Row("cold compile of the encoder block", "ms", cold_compile),
    Row("call of the compiled MLP (limit: eager)", "us", call_of_mlp),
)


def main(words: Sequence[str]) -> int:
    """Measure the rows that have one of the words (all without words) and print the table."""
    print(f"{'figure':<42}{'measured':>12}{'limit':>12}")
    for row in ROWS:
        if words and not any(word in row.name for word in words):
            continue
        try:
            value, limit = row.measure()
        except Exception as error:
            print(f"{row.name:<42}  not measured: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            continue
        held = "" if limit is None else f"{limit:>9.2f} {row.unit}  {'ok' if value <= limit else 'over'}"
        print(f"{row.name:<42}{value:>9.2f} {row.unit}{held}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
