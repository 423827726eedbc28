"""Rewrites inside the host dialect."""

from __future__ import annotations

from lect.dialects.host.ops import AllocOp, EmptyOp, FreeOp, MemoryOp, ViewOp
from lect.ir import Pattern, Rewriter


class AllocateTheOnlyView(Pattern):
    """view(alloc) over all of the memory, the only view  =>  empty, memory(empty)"""

    root = AllocOp

    def rewrite(self, op: AllocOp, rewriter: Rewriter) -> bool:
        views = [user for user in op.buffer.users if isinstance(user, ViewOp)]
        if len(views) != 1:
            return False
        (view,) = views
        type = view.tensor.type
        if view.offset or type.numel != op.buffer.type.numel or not type.is_dense:
            return False
        empty = rewriter.insert_before(op, EmptyOp(slot=op.slot, reason=op.reason, result_types=[type], loc=op.loc))
        empty.tensor.hint = view.tensor.hint or op.buffer.hint
        memory = rewriter.insert_before(op, MemoryOp(empty.tensor, loc=op.loc))
        for free in [user for user in op.buffer.users if isinstance(user, FreeOp)]:
            later = any(not isinstance(user, FreeOp) and free.is_before(user) for user in view.tensor.users)
            if later or any(isinstance(user, FreeOp) for user in view.tensor.users):
                rewriter.erase(free)  # the view keeps the memory alive longer than the buffer's name
            else:
                rewriter.set_operand(free, 0, empty.tensor)
        rewriter.replace(view, empty.tensor)
        rewriter.replace(op, memory.buffer)
        return True


PATTERNS = (AllocateTheOnlyView(),)
