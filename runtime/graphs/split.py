"""A host program in parts: those that can be recorded, and between them what cannot be.

An operation that cannot be recorded, such as one whose elements decide a size, would keep all of its graph from being recorded. So the program is cut in
front of it and behind it. Each part is a `host.func` that takes what it needs of the parts before: tensors, and memory as tensors of one dimension. Views and
sizes are made again in each part that uses them, so that no two values that go from part to part are the same memory. What is freed behind its last use is
freed in its part, or by whoever runs the parts behind the last that takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lect.dialects.host import ops as host
from lect.dialects.host.types import BufferType, TensorType
from lect.dialects.kernel.ops import AtomicAddOp, FuncOp, StoreOp
from lect.ir import Block, Operation, Region, Value
from lect.ir.facts import symbols_of
from lect.ir.symbolic import Expr
from lect.runtime.graphs.facts import LIBRARY, root

WEIGHTS: Mapping[type, int] = {host.LaunchOp: 1, host.ExternOp: LIBRARY, host.UpdateOp: LIBRARY, host.WriteOp: LIBRARY}
PURE = (host.MemoryOp, host.ViewOp)
ENDS = (host.FreeOp, host.ReturnOp)


@dataclass
class Part:
    """Operations of a program that run behind one another.  `takes` and `gives` are values of the whole program, in the order of the parameters and results of
    `func`, and the first `seen` it gives are memory of what the program sees; `gone` are those that no later part takes.  `recorded` says whether it can be
    recorded, and `written` which parameters it writes to."""

    recorded: bool
    ops: list[Operation]
    takes: list[Value] = field(default_factory=list)
    gives: list[Value] = field(default_factory=list)
    gone: list[Value] = field(default_factory=list)
    seen: int = 0
    func: Any = None
    written: frozenset[int] = frozenset()


def split(
    func: host.FuncOp, stores: Mapping[str, Collection[int]], stands_in_the_way: Callable[[Operation], bool], least: int, seen: int | None = None
) -> list[Part]:
    """The parts of a program, of which those with `least` launches or more are recorded; none when that is so of none.

    `stores` are the numbers of the parameters that kernels write to; one that is not named there may write to any.
    The first `seen` results go to the program, of all when that is None.  The last part gives the results of the
    program.
    """
    parts = _cut(func, stands_in_the_way, least)
    if not any(part.recorded for part in parts):
        return []
    for part in parts:
        if part.recorded and any(isinstance(op, host.NumberOp) for op in _Needs(func, part).definers):
            part.recorded = False  # a number on the CPU decides its sizes
    parts = _joined(parts)
    if not any(part.recorded for part in parts):
        return []
    last = func.body.last
    assert last is not None
    parts.append(Part(False, [], gives=list(last.operands)))
    needs, shown = [_Needs(func, part) for part in parts], {root(value) for value in last.operands[:seen]}
    for number, part in enumerate(parts):
        later = set().union(*[each.roots for each in needs[number + 1 :]])
        part.takes = list(needs[number].roots)
        if part is not parts[-1]:
            part.gives = sorted([value for op in part.ops for value in op.results if value in later], key=lambda value: value not in shown)
            part.seen = sum(value in shown for value in part.gives)
        known = [*part.takes, *part.gives] + ([] if number else list(func.body.args))
        part.gone = [value for value in dict.fromkeys(known) if value not in later] if part is not parts[-1] else []
    for part in parts:
        _build(func, part, stores)
    return parts


def _cut(func: host.FuncOp, stands_in_the_way: Callable[[Operation], bool], least: int) -> list[Part]:
    """The operations in parts, in their order; what is too little to be recorded is not."""
    parts: list[Part] = []
    for op in func.body:
        if isinstance(op, PURE + ENDS):
            continue
        recorded = not stands_in_the_way(op)
        if isinstance(op, host.SizeOp) and parts:
            recorded = parts[-1].recorded
        if not parts or parts[-1].recorded is not recorded:
            parts.append(Part(recorded, []))
        parts[-1].ops.append(op)
    for part in parts:
        if sum(WEIGHTS.get(type(op), 0) for op in part.ops) < least:
            part.recorded = False
    return _joined(parts)


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Parts of which no two that are not recorded stand behind one another."""
    found: list[Part] = []
    for part in parts:
        if found and not part.recorded and not found[-1].recorded:
            found[-1].ops += part.ops
        else:
            found.append(part)
    return found


class _Needs:
    """What a part takes from outside: `roots` are values, `definers` the operations that say what symbols stand for."""

    def __init__(self, func: host.FuncOp, part: Part) -> None:
        self.func = func
        self.inside = {value for op in part.ops for value in op.results}
        self.roots: dict[Value, None] = {}
        self.definers: dict[Operation, None] = {}
        self.known = {number for op in part.ops for number in defined_by(op)}
        self.seen: set[Value] = set()
        for op in part.ops:
            self._op(op)
        for value in part.gives if not part.ops else []:
            self.value(value)

    def _op(self, op: Operation) -> None:
        for value in op.operands:
            self.value(value)
        for number in symbols_in(op):
            if number not in self.known:
                self.known.add(number)
                definer = definer_of(self.func, number)
                self.definers[definer] = None
                self.value(definer.operands[0])

    def value(self, value: Value) -> None:
        """Take a value in, or what it is a view of."""
        if value in self.seen or value in self.inside:
            return
        self.seen.add(value)
        if isinstance(value.op, PURE):
            self._op(value.op)
        else:
            self.roots[value] = None


def defined_by(op: Operation) -> Iterable[int]:
    """The symbols that an operation says the values of."""
    if isinstance(op, host.SizeOp | host.NumberOp) and op.symbol is not None:
        return (op.symbol,)
    return [int(name[1:]) for name in op.finds] if isinstance(op, host.ExternOp) else ()


def definer_of(func: host.FuncOp, symbol: int) -> Operation:
    """The operation that says what a symbol is by a tensor, of which a size does that best."""
    found = [op for op in func.body if isinstance(op, host.SizeOp | host.NumberOp) and op.symbol == symbol]
    return next((op for op in found if isinstance(op, host.SizeOp)), found[0])


def symbols_in(op: Operation) -> set[int]:
    """The symbols in the attributes of an operation and in the types of its results."""
    found: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Expr):
            found.update(symbols_of(value))
        elif isinstance(value, tuple | list):
            for each in value:
                look(each)
        elif isinstance(value, dict):
            for each in value.values():
                look(each)

    for attribute in op.attrs.values():
        look(attribute)
    for result in op.results:
        look((getattr(result.type, "sizes", ()), getattr(result.type, "strides", ()), getattr(result.type, "numel", 0)))
    return found


class _Builder:
    """Writes the function of a part: copies of its operations, with what they need of others made in front of them."""

    def __init__(self, func: host.FuncOp, part: Part) -> None:
        self.func = func
        self.part = part
        self.block = Block()
        self.mapping: dict[Any, Any] = {}
        self.lent = set(part.takes)
        self.known: set[int] = set()
        for value in part.takes:
            self.take(value)

    def take(self, value: Value) -> None:
        """A parameter for a value: memory comes as a tensor."""
        type: Any = value.type
        if not isinstance(type, BufferType):
            self.mapping[value] = self.block.add_arg(type, value.hint)
            return
        memory = host.MemoryOp(self.block.add_arg(_flat(type), value.hint))
        self.block.append(memory)
        self.mapping[value] = memory.buffer

    def add(self, op: Operation) -> None:
        """A copy of an operation."""
        for number in symbols_in(op) - set(defined_by(op)):
            if number not in self.known:
                self.add(definer_of(self.func, number))
        for value in op.operands:
            self.need(value)
        self.known.update(defined_by(op))
        self.block.append(op.clone(self.mapping))

    def need(self, value: Value) -> None:
        """Make a view where it is used."""
        if value not in self.mapping:
            assert isinstance(value.op, PURE), "the parameters of a part are known before it is written"
            self.add(value.op)

    def free(self, op: host.FreeOp, given: set[Value]) -> None:
        """End the life of a value that is of this part alone."""
        if op.value in self.mapping and root(op.value) not in self.lent and op.value not in given:
            self.block.append(op.clone(self.mapping))

    def give(self, value: Value) -> Value:
        """A result for a value."""
        self.need(value)
        made: Value = self.mapping[value]
        if not isinstance(made.type, BufferType):
            return made
        view = host.ViewOp(made, result_types=[_flat(made.type)])
        self.block.append(view)
        return view.tensor


def _flat(type: BufferType) -> TensorType:
    return TensorType((type.numel,), type.element, None, type.device)


def _build(func: host.FuncOp, part: Part, stores: Mapping[str, Collection[int]]) -> None:
    """Write the function of a part."""
    builder, given = _Builder(func, part), set(part.gives)
    if part.ops:
        chosen = set(part.ops)
        for op in func.body:
            if op in chosen:
                builder.add(op)
            elif isinstance(op, host.FreeOp):
                builder.free(op, given)
    results = [builder.give(value) for value in part.gives]
    builder.block.append(host.ReturnOp(results))
    part.func = host.FuncOp(sym_name=func.sym_name, regions=[Region([builder.block])])
    part.written = _written(part.func, stores)


def _written(func: host.FuncOp, stores: Mapping[str, Collection[int]]) -> frozenset[int]:
    """The parameters into whose memory kernels store: in a part these are also memory that another part has made."""
    numbers = {value: number for number, value in enumerate(func.body.args)}
    found: set[int] = set()
    for op in func.body:
        if not isinstance(op, host.LaunchOp):
            continue
        stored = stores.get(op.kernel.leaf)
        for position, buffer in enumerate(op.buffers):
            number = numbers.get(root(buffer))
            if number is not None and (stored is None or position in stored):
                found.add(number)
    return frozenset(found)


def stores_of(module: Operation) -> dict[str, frozenset[int]]:
    """For the kernels of a module the numbers of the parameters that they write to; those that take a table of addresses are left out."""
    found = {}
    for kernel in module.body:
        if isinstance(kernel, FuncOp) and kernel.groups is None:
            pointers = {op.pointer for op in kernel.walk() if isinstance(op, StoreOp | AtomicAddOp)}
            found[kernel.sym_name] = frozenset(number for number, value in enumerate(kernel.body.args) if value in pointers)
    return found
