"""Which local variables surely have a value at each load.

Since 3.12 LOAD_FAST does not check, so a load that may find nothing must be LOAD_FAST_CHECK.  A forward analysis with one bit for each variable:
parameters are bound at entry, a store or a load that came through binds, a deletion unbinds.  An exception may leave a block anywhere, so its
handler gets what was bound at entry of the block and is not unbound in it.
"""

from __future__ import annotations

from lect.dialects.pyframe.control import FuncOp, PyTerminator
from lect.ir import Block, Operation

_BINDS = frozenset({"pyframe.store_local", "pyframe.load_local"})
_UNBINDS = frozenset({"pyframe.delete_local", "pyframe.save_local", "pyframe.restore_local"})


def unchecked_loads(func: FuncOp) -> frozenset[Operation]:
    """The `load_local` operations whose variable is surely bound."""
    bits = {name: 1 << number for number, name in enumerate((*func.parameters, *func.locals, *func.cells, *func.free))}
    blocks = func.region.blocks
    start = 0
    for name in func.parameters:
        start |= bits[name]
    state: dict[Block, int] = {blocks[0]: start}
    waiting = [blocks[0]]
    while waiting:
        block = waiting.pop()
        for successor, bound in _edges(block, state[block], bits):
            known = state.get(successor)
            merged = bound if known is None else known & bound
            if merged != known:
                state[successor] = merged
                waiting.append(successor)
    safe: list[Operation] = []
    for block in blocks:
        at_entry = state.get(block)
        if at_entry is not None:
            _walk(block, at_entry, bits, safe)
    return frozenset(safe)


def _edges(block: Block, bound: int, bits: dict[str, int]) -> list[tuple[Block, int]]:
    after, removed = _walk(block, bound, bits, [])
    terminator = block.last
    assert terminator is not None
    edges = [(successor, after) for successor in terminator.successors]
    if isinstance(terminator, PyTerminator) and terminator.handler is not None:
        edges[-1] = (terminator.handler, bound & ~removed)
    return edges


def _walk(block: Block, bound: int, bits: dict[str, int], safe: list[Operation]) -> tuple[int, int]:
    """(bound at the end, unbound anywhere); loads that are safe are added to `safe`."""
    removed = 0
    op = block.first
    while op is not None:
        name = op.name
        if name in _BINDS:
            bit = bits[op.attrs["id"]]
            if bound & bit and name == "pyframe.load_local":
                safe.append(op)
            bound |= bit
        elif name in _UNBINDS:
            bit = bits[op.attrs["id"]]
            bound &= ~bit
            removed |= bit
        op = op.next
    return bound, removed
