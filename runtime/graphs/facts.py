"""What a recording has to know of a host program: what it changes, who reads its arguments, and what cannot be recorded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from lect.dialects.host.ops import ExternOp, FreeOp, LaunchOp, MemoryOp, NumberOp, ReturnOp, SizeOp, UpdateOp, ViewOp, WriteOp, WrittenOp
from lect.ir import Operation, Value
from lect.ir.symbolic import Expr

LIBRARY = 3  # launches of a kernel that take the host as long as a library call


@dataclass(frozen=True)
class ProgramFacts:
    """Facts about the program called `name` on `device`, by the numbers of its arguments.

    `written` are those whose memory it changes, `versions` how often autograd counts that; `launched` are those that only own kernels read, each by its
    address.  `symbols` are those with sizes that are known at run time.  `library` says that functions of the library are
    called.  `launches` counts what is started, a library call as several launches.  `obstacle`
    names the operation that cannot be recorded; empty when there is none.
    """

    name: str
    device: str
    arguments: int
    written: frozenset[int]
    versions: tuple[tuple[int, int], ...]
    launched: frozenset[int]
    symbols: tuple[int, ...]
    library: bool
    launches: int
    obstacle: str


def facts_of(func: Operation, alone: Collection[str], name: str, device: str) -> ProgramFacts:
    """The facts about a `host.func`, to be run on `device`; `alone` names its kernels that take addresses one by one."""
    arguments = {value: number for number, value in enumerate(func.body.args)}
    written: set[int] = set()
    versions: dict[int, int] = {}
    for op in func.body:
        target = op.target if isinstance(op, WriteOp | WrittenOp) else op.operands[op.args[0].number] if isinstance(op, UpdateOp) else None
        number = arguments.get(root(target)) if target is not None else None
        if number is None:
            continue
        written.add(number)
        if not isinstance(op, UpdateOp) and op.versions:  # type: ignore[attr-defined]
            versions[number] = versions.get(number, 0) + op.versions  # type: ignore[attr-defined]
    launched = frozenset(number for value, number in arguments.items() if _only_launched(value, alone))
    symbols = tuple([number for value, number in arguments.items() if _has_symbols(value)])
    weights = {LaunchOp: 1, ExternOp: LIBRARY, UpdateOp: LIBRARY, WriteOp: LIBRARY}
    launches = sum(weights.get(type(op), 0) for op in func.body)
    library, changes = any(isinstance(op, ExternOp | UpdateOp) for op in func.body), tuple(sorted(versions.items()))
    return ProgramFacts(name, device, len(arguments), frozenset(written), changes, launched, symbols, library, launches, _obstacle(func, device))


def root(value: Value) -> Value:
    """The argument or allocation in which a view or memory lies."""
    while isinstance(value.op, ViewOp | MemoryOp):
        value = value.op.operands[0]
    return value


def _only_launched(value: Value, alone: Collection[str]) -> bool:
    """Whether kernels that take addresses one by one are all on the device that looks at a value."""
    for user in value.users:
        if isinstance(user, ViewOp | MemoryOp):
            if not _only_launched(user.results[0], alone):
                return False
        elif isinstance(user, LaunchOp):
            if user.kernel.leaf not in alone:
                return False
        elif not isinstance(user, FreeOp | SizeOp | WrittenOp | ReturnOp):
            return False
    return True


def _has_symbols(value: Value) -> bool:
    type: Any = value.type
    return any(isinstance(size, Expr) for size in (*type.sizes, *(type.strides or ())))


def _obstacle(func: Operation, device: str) -> str:
    """The first operation that cannot be recorded, with the reason."""
    return next(filter(None, (obstacle_of(op, device) for op in func.body)), "")


def obstacle_of(op: Operation, device: str) -> str:
    """Why an operation cannot be recorded on a device, with its name; empty when it can."""
    if isinstance(op, NumberOp):
        return f"{op.name}: a number on the CPU decides a size"
    if isinstance(op, ExternOp) and op.finds:
        return f"{op.callee.leaf}: its elements decide a size"
    if device == "cpu" or isinstance(op, FreeOp | ReturnOp):
        return ""
    others = {value.type.device for value in (*op.operands, *op.results) if getattr(value.type, "device", None) not in (None, device)}  # type: ignore[attr-defined]
    if not others:
        return ""
    what = op.callee.leaf if isinstance(op, ExternOp | UpdateOp) else op.name
    return f"{what}: it works on {', '.join(sorted(others))}"
