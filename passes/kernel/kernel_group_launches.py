"""Launch a kernel once for many tensors instead of once for each, on a GPU.

    host.launch(%a0, %b0) {kernel = @n0, grid = 1024}          host.launch(%a0, %b0, %a1, %b1, ...) {kernel = @n0.group, grid = 102400}
    host.launch(%a1, %b1) {kernel = @n0, grid = 1024}    =>
    ...                                                        with a copy of the kernel, @n0.group {groups = 100}

An optimizer's step is one kernel for each parameter; a launch and the gap before the next take as long as the work on a small one.  Launches of one kernel
are joined at the last of them when none of them writes what another reads or writes, and nothing between them touches what they use.  What is freed
between them is freed behind.  The kernel finds the addresses of its group in a table in memory, so a few launches stay as they are (`least`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from lect.dialects.host import ops as host
from lect.dialects.kernel import ops as kernel
from lect.ir import Context, Operation, SymbolRef, SymbolTable, Value
from lect.passes.base import Pass, option

HARMLESS = (host.MemoryOp, host.ViewOp, host.SizeOp, host.AllocOp, host.EmptyOp)


@dataclass(frozen=True)
class KernelGroupLaunches(Pass):
    """Join launches of equal kernels on memory of their own."""

    name: ClassVar[str] = "kernel-group-launches"
    gpu_only: ClassVar[bool] = True
    least: int = option(8, "launches that are worth a table of addresses")

    def run(self, op: Operation, ctx: Context) -> None:
        symbols = SymbolTable(op)
        for func in [inner for inner in op.body if isinstance(inner, host.FuncOp)]:
            moved: dict[host.FreeOp, host.FreeOp] = {}
            for group in Groups(symbols).of(func, self.least):
                join(group, symbols, moved)
                ctx.count("launches joined", len(group.launches))


@dataclass
class Group:
    """Launches of one kernel that may be one; `reads` and `writes` are the tensors or buffers behind their operands."""

    launches: list[host.LaunchOp]
    reads: set[Value] = field(default_factory=set)
    writes: set[Value] = field(default_factory=set)
    freed: list[host.FreeOp] = field(default_factory=list)

    def takes(self, reads: set[Value], writes: set[Value]) -> bool:
        """Whether what reads and writes these may run before, behind or with the group."""
        return not (writes & (self.reads | self.writes) or reads & self.writes)


class Groups:
    """Finds the groups of functions; what each kernel writes is looked up once."""

    def __init__(self, symbols: SymbolTable) -> None:
        self.symbols = symbols
        self.written: dict[str, frozenset[int]] = {}

    def of(self, func: host.FuncOp, least: int) -> list[Group]:
        """The groups of a function, each of at least so many launches."""
        found: list[Group] = []
        taken: set[Operation] = set()
        for op in func.body:
            if isinstance(op, host.LaunchOp) and op.target == "cuda" and not op.sizes and op not in taken:
                group = self._from(op)
                if len(group.launches) >= least:
                    found.append(group)
                    taken.update(group.launches)
        return found

    def _from(self, first: host.LaunchOp) -> Group:
        """The launches that may join the first, up to what stands in the way."""
        group = Group([first], *self._touched(first))
        freed: list[host.FreeOp] = []
        op = first.next
        while op is not None:
            if isinstance(op, host.LaunchOp):
                reads, writes = self._touched(op)
                if not group.takes(reads, writes):
                    break
                if op.kernel is first.kernel and op.grid == first.grid:
                    group.launches.append(op)
                    group.reads |= reads
                    group.writes |= writes
                    group.freed += freed
                    freed = []
            elif isinstance(op, host.FreeOp):
                if root(op.value) in group.reads | group.writes:
                    freed.append(op)
            elif not isinstance(op, HARMLESS):
                break
            op = op.next
        return group

    def _touched(self, launch: host.LaunchOp) -> tuple[set[Value], set[Value]]:
        """The roots of what a launch reads alone, and of what it writes."""
        written = self._written(launch.kernel.leaf)
        writes = {root(buffer) for number, buffer in enumerate(launch.buffers) if number in written}
        return {root(buffer) for buffer in launch.buffers} - writes, writes

    def _written(self, name: str) -> frozenset[int]:
        """The numbers of the parameters that a kernel writes to."""
        if name not in self.written:
            func = self.symbols.lookup(name)
            assert isinstance(func, kernel.FuncOp)
            stores = {op.pointer for op in func.walk() if isinstance(op, (kernel.StoreOp, kernel.AtomicAddOp))}
            self.written[name] = frozenset(number for number, pointer in enumerate(func.body.args) if pointer in stores)
        return self.written[name]


def root(value: Value) -> Value:
    """The tensor or buffer in whose memory a value lies."""
    while isinstance(value.op, (host.MemoryOp, host.ViewOp)):
        value = value.op.operands[0]
    return value


def join(group: Group, symbols: SymbolTable, moved: dict[host.FreeOp, host.FreeOp]) -> None:
    """Replace the launches by one at the place of the last; `moved` says what stands for the frees that earlier groups have moved."""
    first, last = group.launches[0], group.launches[-1]
    single = symbols.lookup(first.kernel.leaf)
    assert isinstance(single, kernel.FuncOp)
    grouped = single.clone({})
    assert isinstance(grouped, kernel.FuncOp)
    grouped.attrs["sym_name"] = f"{single.sym_name}.group"
    grouped.attrs["groups"] = len(group.launches)
    symbols.insert(grouped, before=single)
    buffers = [buffer for launch in group.launches for buffer in launch.buffers]
    made = host.LaunchOp(buffers, SymbolRef(grouped.sym_name), grouped.programs, first.grain, first.target, loc=first.loc)
    assert last.parent is not None
    last.parent.insert_before(last, made)
    for launch in group.launches:
        launch.erase()
    _move_behind(made, group.freed, moved)
    if not _is_launched(symbols, single):
        symbols.symbols.pop(single.sym_name, None)
        single.erase()


def _move_behind(op: Operation, frees: Iterable[host.FreeOp], moved: dict[host.FreeOp, host.FreeOp]) -> None:
    """Let frees stand behind an operation; two groups may share one, which then stands behind both."""
    for first in frees:
        free = moved.get(first, first)
        if free is not first and _stands_behind(free, op):
            continue
        value, loc = free.value, free.loc
        free.erase()
        made = moved[first] = host.FreeOp(value)
        made.loc = loc
        assert op.parent is not None
        op.parent.insert_before(op.next, made)


def _stands_behind(op: Operation, other: Operation) -> bool:
    cursor = other.next
    while cursor is not None and cursor is not op:
        cursor = cursor.next
    return cursor is op


def _is_launched(symbols: SymbolTable, func: kernel.FuncOp) -> bool:
    module = func.parent_op
    assert module is not None
    return any(isinstance(op, host.LaunchOp) and op.kernel.leaf == func.sym_name for op in module.walk())
