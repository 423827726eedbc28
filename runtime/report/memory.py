"""The memory plan of a loop function: which buffer lives from which step to which, in which piece of memory, and how much is live at each step."""

from __future__ import annotations

from typing import Any

from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp, ReturnOp, WriteOp
from lect.ir import Operation, Value
from lect.passes.loop.nests import functions, nbytes, readers_of_memory, weight


def memory_of(module: Operation) -> list[dict[str, Any]]:
    """For each loop function its steps, and its buffers with their lives in numbers of steps."""
    return [_plan(func) for func in functions(module)]


def _plan(func: FuncOp) -> dict[str, Any]:
    steps = [op for op in func.body if not isinstance(op, ReturnOp | WriteOp)]
    position = {op: number for number, op in enumerate(steps)}
    buffers = [_parameter(value, position, len(steps)) for value in consumed_by(func)] if steps else []
    buffers += [_buffer(value, number, position, len(steps)) for number, op in enumerate(steps) for value in op.results]
    lives = _lives(func, position, len(steps))
    return {
        "function": func.sym_name,
        "steps": [op.attrs["sym_name"] for op in steps],
        "parameters": sum([nbytes(value) for value in func.body.args]),
        "peak": func.peak_bytes,
        "order": func.order,
        "slots": [weight(size, func) for size in func.slot_bytes],
        "buffers": buffers,
        "live": [sum([size for size, first, last in lives if first <= number <= last]) for number in range(len(steps))],
    }


def _lives(func: FuncOp, position: dict[Operation, int], end: int) -> list[tuple[int, int, int]]:
    """Bytes, first and last step of each piece of memory; a result in the memory of another lengthens its life, one in a parameter's has none."""
    consumed = consumed_by(func)
    pieces = {value: [nbytes(value), 0, _last_step(value, position, end)] for value in consumed}
    memory: dict[Value, Value | None] = {value: value if value in consumed else None for value in func.body.args}
    for op in position:
        pairs = dict(op.attrs.get("in_place", ()))
        begins = {update.to: update.base for update in op.updates} if isinstance(op, NestOp) else {}
        for at, value in enumerate(op.results):
            over = begins.get(at, op.operands[pairs[at]] if at in pairs else None)
            memory[value] = memory[over] if over is not None else value
            if memory[value] is value:
                pieces[value] = [nbytes(value), position[op], position[op]]
            if memory[value] is not None:
                pieces[memory[value]][2] = max(pieces[memory[value]][2], _last_step(value, position, end))  # type: ignore[index]
    return [(size, first, last) for size, first, last in pieces.values()]


def _last_step(value: Value, position: dict[Operation, int], end: int) -> int:
    """The step that reads a buffer last; what the graph returns lives to the end."""
    readers = readers_of_memory(value)
    if any(isinstance(user, ReturnOp | WriteOp) for user in readers):
        return end - 1
    return max([position[user] for user in readers if user in position], default=position[value.op] if value.op is not None else end - 1)


def consumed_by(func: FuncOp) -> list[Value]:
    """The parameters that are freed behind their last use."""
    return [func.body.args[number] for number in func.consumed]


def _parameter(value: Value, position: dict[Operation, int], end: int) -> dict[str, Any]:
    """A parameter that the function frees."""
    found = {"name": value.hint or "parameter", "at": 0, "bytes": nbytes(value), "first": 0, "last": _last_step(value, position, end)}
    return {**found, "slot": None, "kind": "consumed", "type": str(value.type)}


def _buffer(value: Value, number: int, position: dict[Operation, int], end: int) -> dict[str, Any]:
    """One buffer: `first` and `last` are the steps that write it and read it last; what the graph returns lives to the end.

    `over` names the buffer or parameter whose memory it takes.
    """
    op = value.op
    assert op is not None
    returned = any(isinstance(user, ReturnOp | WriteOp) for user in readers_of_memory(value))
    last = _last_step(value, position, end)
    at = op.results.index(value)
    slot = op.slots[at] if isinstance(op, NestOp) and op.slots else None
    pairs = {int(result): int(operand) for result, operand in op.attrs.get("in_place", ())} if isinstance(op, NestOp | ExternOp) else {}
    over = op.operands[pairs[at]] if at in pairs else None
    kind = "result" if returned else "slot" if slot is not None else "library" if isinstance(op, ExternOp) else "own"
    found = {"name": op.attrs["sym_name"], "at": at, "bytes": nbytes(value), "type": str(value.type)}
    found |= {"first": number, "last": last, "slot": slot, "kind": kind}
    if over is not None:
        owner = over.op
        found["over"] = f"@{owner.attrs['sym_name']}" if owner is not None else f"%{over.hint or 'parameter'}"
        found["overStep"] = position.get(owner, -1) if owner is not None else -1
    return found
