"""`python -m benchmarks.frame_hook`: what the frame hook costs a call, armed and not, beside the ways that need no hook.

    python -m benchmarks.frame_hook            all rows
    python -m benchmarks.frame_hook --torch    also what a nested function costs that lect has compiled

Times are nanoseconds of processor time per call of a function that returns its argument, less the loop around it: the best of several runs.  The
last table is how much longer a program of small Python functions takes while a thread is armed.  Needs the extension module, and without `--torch`
nothing else, so it also runs on a Python without torch.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from lect.runtime import frame_hook

CALLS = 200_000
RUNS = 7
SOURCE = "def f(x): return x\ndef g(x): return x"
HOLDS = -1


def make() -> tuple[Callable[..., Any], Any]:
    """A function with a code object of its own, and code for its frame."""
    namespace: dict[str, Any] = {}
    exec(SOURCE, namespace)
    return namespace["f"], namespace["g"].__code__


def loop(function: Callable[..., Any], calls: int) -> None:
    """Call the function so often."""
    for _ in range(calls):
        function(1)


def nothing(function: Callable[..., Any], calls: int) -> None:
    """The loop alone."""
    for _ in range(calls):
        pass


def best(run: Callable[[], Any]) -> float:
    """Seconds of processor time of the fastest of some runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def nanoseconds(run: Callable[[int], Any], calls: int = CALLS) -> float:
    """Nanoseconds for one of so many calls, less the loop."""
    return (best(lambda: run(calls)) - best(lambda: nothing(None, calls))) / calls * 1e9  # type: ignore[arg-type]


def show(name: str, run: Callable[[int], Any], calls: int = CALLS) -> None:
    """Print one row."""
    print(f"  {name:58} {nanoseconds(run, calls):7.1f}")


def calls_table(fh: Any) -> None:
    """One call in each state of the hook."""
    print("nanoseconds per call")
    f, _ = make()
    show("not armed", lambda n: loop(f, n))
    default = fh.Trigger(lambda *arguments: "default")
    show("armed, run as written", lambda n: default.call(loop, f, n))
    skipped, _ = make()
    trigger = fh.Trigger(lambda code, function, arguments: "skip" if function is skipped else "default")
    show("armed, skipped (disarms and arms again)", lambda n: trigger.call(loop, skipped, n))
    guards = (
        ("native guard", fh.always),
        ("Python guard without a condition", lambda function, x: HOLDS),
        ("Python guard of type and value", lambda function, x: HOLDS if type(x) is int and x == 1 else 0),
    )
    for name, guard in guards:
        for way in ("in place", "by a call"):
            fh.always_by_call(way == "by a call")
            f, other = make()
            trigger = fh.Trigger(lambda *arguments: "default")
            trigger.add(f.__code__, guard, other)
            show(f"other code {way}, {name}", lambda n, f=f, trigger=trigger: trigger.call(loop, f, n))
            fh.always_by_call(False)
    f, other = make()
    trigger = fh.Trigger(lambda *arguments: "default")
    trigger.add(f.__code__, fh.always, other)
    region = fh.Region(f, trigger)
    show("a region: arm, native guard, other code, disarm", lambda n: loop(region, n))
    show(
        "the look-up computes the value",
        lambda n: fh.Trigger(lambda code, function, arguments: arguments if function is f else "default").call(loop, f, n),
        50_000,
    )


def without_hook_table() -> None:
    """The ways that need no hook."""
    print("nanoseconds per call without the hook")
    f, other = make()
    function = type(f)(other, f.__globals__)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if type(args[0]) is int else f(*args, **kwargs)

    show("a wrapper in Python with a condition", lambda n: loop(wrapper, n))


def fib(n: int) -> int:
    """Calls and little else."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Number:
    """An object with a property, a method and an operator."""

    def __init__(self, value: int) -> None:
        self.value = value

    @property
    def same(self) -> int:
        return self.value

    def add(self, other: Number) -> Number:
        return Number(self.same + other.same)

    def __getitem__(self, index: int) -> int:
        return self.value + index


def objects(n: int) -> int:
    """Attributes, methods, operators, a generator."""
    value, one, total = Number(0), Number(1), 0
    for i in range(n):
        value = value.add(one)
        total += value[i] + sum(x for x in (1, 2, 3))
    return total


def programs_table(fh: Any) -> None:
    """How much longer a program takes."""
    print("time of a program, not armed = 1")
    trigger = fh.Trigger(lambda *arguments: "default")
    print(f"  {'':20} {'armed':>8} {'another':>8} {'below':>8} {'after':>8}\n  {'':20} {'':>8} {'thread':>8} {'a skip':>8} {'it':>8}")
    for name, program, size in (("fib(22)", fib, 22), ("objects(8000)", objects, 8000)):
        print(f"  {name:20}" + "".join(f" {ratio:8.2f}" for ratio in ratios(fh, trigger, program, size)))


def ratios(fh: Any, trigger: Any, program: Callable[[int], Any], size: int) -> tuple[float, ...]:
    """Times of a program relative to the unarmed one: armed, beside an armed thread, below a skipped frame, after arming."""

    def skipped() -> Any:
        return program(size)

    fh.mark(skipped.__code__, "skip")
    plain = best(lambda: program(size))
    armed = best(lambda: trigger.call(program, size))
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: trigger.call(lambda: (ready.set(), done.wait())))
    thread.start()
    ready.wait()
    beside = best(lambda: program(size))
    done.set()
    thread.join()
    below = best(lambda: trigger.call(skipped))
    after = best(lambda: program(size))
    return tuple(seconds / plain for seconds in (armed, beside, below, after))


def torch_table() -> None:
    """A nested function that lect has compiled, called by a frame that runs eagerly."""
    import torch

    import lect

    def nested(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def program(x: torch.Tensor, calls: int) -> None:
        sys.stdout.write("")
        for _ in range(calls):
            nested(x)

    x = torch.ones(4)
    compiled = lect.compile(program, options={"trigger": "hook"})
    by_function = lect.compile(nested)
    compiled(x, 1)
    print("microseconds per call of x + 1")
    for name, run in (("eager", program), ("nested, by the hook", compiled), ("by its own wrapper", lambda x, n: [by_function(x) for _ in range(n)])):
        print(f"  {name:58} {best(lambda run=run: run(x, 5000)) / 5000 * 1e6:7.2f}")  # type: ignore[misc]


def main(arguments: list[str]) -> int:
    """Print the tables; 1 when there is no extension module."""
    refused = frame_hook.refusal()
    if refused is not None:
        print(refused)
        return 1
    from lect.runtime import _frame_hook as fh

    print(f"CPython {sys.version.split()[0]}")
    calls_table(fh)
    without_hook_table()
    programs_table(fh)
    if "--torch" in arguments:
        torch_table()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
