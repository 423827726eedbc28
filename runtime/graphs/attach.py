"""Putting recordings around a compiled graph, where its device has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import torch

from lect.dialects.host.ops import FuncOp
from lect.ir import Context, Operation
from lect.runtime.events import EventLog
from lect.runtime.graphs.automatic import AutomaticProgram
from lect.runtime.graphs.device import Device
from lect.runtime.graphs.facts import ProgramFacts, facts_of
from lect.runtime.graphs.family import Limits
from lect.runtime.graphs.parts import KernelFacts, PartedProgram, repaired
from lect.runtime.graphs.program import RecordedProgram
from lect.runtime.graphs.simulated import SimulatedDevice
from lect.runtime.graphs.split import stores_of
from lect.runtime.graphs.table import table
from lect.runtime.machines import devices_of


@cache
def simulated_device() -> SimulatedDevice:
    """The simulated device of this process."""
    return SimulatedDevice()


def device_of(func: Operation, kind: str) -> tuple[str, Device] | None:
    """The name and the device on which a program is recorded; None when it is on none."""
    name = next((each for each in devices_of(func) if each != "cpu"), "cpu")
    if name.startswith("cuda") and torch.cuda.is_available():
        from lect.runtime.graphs.cuda import cuda_device

        return name, cuda_device(torch.device(name).index or 0)
    return (name, simulated_device()) if name == "cpu" and kind == "simulated" else None


def recorded(executable: Any, module: Operation, func: Operation, ctx: Context, consuming: bool, seen: int | None) -> Callable[..., list[Any]]:
    """The fastest form of a program, with recordings as the option `graphs` says; with `consuming` it takes a list of its arguments, which it empties.

    The first `seen` of its results go to the program, of all when that is None.
    """
    plain = executable.consuming if consuming else executable.fastest
    kind = ctx.options.get("graphs", "auto")
    found = device_of(func, kind)
    if found is None:
        return plain  # type: ignore[no-any-return]
    name, device = found
    title, _, rest = func.attrs["sym_name"].partition(".graph")
    alone = executable.kernels.alone if executable.kernels is not None else frozenset()
    facts = facts_of(func, alone, f"{title} ({rest.lstrip('.') or 'graph'})" if rest or consuming else title, name)
    log = ctx.resources.get("log") or EventLog()
    assert isinstance(func, FuncOp)
    parted = PartedProgram(func, lambda: KernelFacts(alone, stores_of(module)), facts.name, found, log, executable.part, seen, kind == "auto")
    if kind == "auto":
        return _automatic(executable, facts, device, parted, consuming)
    executable.further_codes |= parted.codes
    consumes = plain = executable.consuming_python if consuming else executable.run  # what is captured, so that the calls before set up the same
    run = (lambda *tensors: consumes(list(tensors))) if consuming else plain
    if facts.obstacle and parted.cut(facts.obstacle):
        return parted if consuming else lambda *tensors: parted(list(tensors))
    program = RecordedProgram(run, facts, device, table(), log, repair=repaired(parted, lambda: executable.program))
    if program.off:
        return executable.consuming if consuming else executable.fastest  # type: ignore[no-any-return]
    return program.consume(plain) if consuming else program


def _automatic(executable: Any, facts: ProgramFacts, device: Device, parted: PartedProgram, consuming: bool) -> Callable[..., list[Any]]:
    """The program, which is recorded when that is measured to be worth it; the host program in Python, which is what is captured, is made then."""
    plain = executable.consuming if consuming else executable.fastest
    if facts.launches < Limits().least:
        return plain  # type: ignore[no-any-return]
    through = FunctionType(call_python.__code__.replace(), call_python.__globals__)  # of its own, by which exceptions of the form in Python are known
    executable.further_codes |= parted.codes | {through.__code__}
    others: dict[str, Any] = {
        "seen": parted.seen,
        "repair": repaired(parted, lambda: executable.program),
        "split": lambda: parted if parted.cut(facts.obstacle) else None,
    }
    if not consuming:
        return AutomaticProgram(plain, lambda *tensors: through(executable.run, *tensors), facts, device, table(), parted.log, **others)
    run, lent = (lambda *tensors: through(executable.consuming_python, list(tensors))), (lambda *tensors: plain(list(tensors)))
    program = AutomaticProgram(lent, run, facts, device, table(), parted.log, **others)
    return program.consume(plain, lambda tensors: through(executable.consuming_python, tensors))


def call_python(run: Callable[..., list[Any]], *arguments: Any) -> list[Any]:
    """Call the host program in Python."""
    return run(*arguments)
