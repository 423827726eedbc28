"""Let the programs of a small kernel of a GPU be there before the kernel in front of it has ended.

    kernel.func @n0(..) {target = "cuda"}        kernel.func @n0(..) {target = "cuda", early = "next"}
    kernel.func @n1(..) {target = "cuda"}   =>   kernel.func @n1(..) {target = "cuda", early = "both"}
    host.launch(..) {kernel = @n0, ..}           host.launch(..) {kernel = @n0, ..}
    host.launch(..) {kernel = @n1, ..}           host.launch(..) {kernel = @n1, ..}

Between two kernels of a stream there is a gap of about a microsecond, in which programs are given to processors and find out where they are.  With CUDA's
programmatic dependent launch they are given as soon as all programs in front of them have begun (`next` in front of them says so), and wait inside
(`both`).  Such a kernel waits before it touches any memory, so it makes no difference what it reads and writes: the kernel in front of it has ended by then,
and so has all that was before that, for which that one waited likewise, or which had ended when it was started.

It is done for kernels of no more warps than four for each processor, most of whose launches stand right behind other launches.  Programs that come early go
where there is room while the others end; of a large kernel, many then share a processor and others have none (measured: a step of training takes 4 % longer).
Behind a call of the library, which does not say when it may begin, it is no gain either.  The hardware has this from compute capability 9.0 on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.host import ops as host
from lect.dialects.kernel import ops as kernel
from lect.ir import Context, Operation
from lect.passes.base import Pass

LEAST_ARCH = 90
WARPS = 4  # for each processor, and of a program that does not say how many it has
QUIET = (host.AllocOp, host.EmptyOp, host.MemoryOp, host.ViewOp, host.SizeOp, host.WrittenOp, host.FreeOp)  # nothing of these is work of the device


@dataclass(frozen=True)
class KernelOverlapLaunches(Pass):
    """Mark kernels for a GPU whose programs wait by themselves for what was started before, and those in front of them."""

    name: ClassVar[str] = "kernel-overlap-launches"
    gpu_only: ClassVar[bool] = True

    def run(self, op: Operation, ctx: Context) -> None:
        if int(ctx.target.get("arch", 0)) < LEAST_ARCH:
            return
        kernels = {inner.sym_name: inner for inner in op.body if isinstance(inner, kernel.FuncOp) and inner.target == "cuda"}
        found = [pair for func in op.body if isinstance(func, host.FuncOp) for pair in launches(func)]
        times, behind = Counter(name for _, name in found), Counter(name for before, name in found if before is not None)
        early = [name for name, func in kernels.items() if 2 * behind[name] > times[name] and is_small(func, int(ctx.target["processors"]))]
        for name in {before for before, name in found if before is not None and name in early} - set(early):
            kernels[name].attrs.setdefault("early", "next")
        for name in early:
            kernels[name].attrs.setdefault("early", "both")
            ctx.count("kernels that wait in their programs")


def launches(func: host.FuncOp) -> Iterator[tuple[str | None, str]]:
    """For each launch of a program on a GPU the kernel that is started right before it, None where something else is, and its own."""
    before = None
    for op in func.body:
        if isinstance(op, host.LaunchOp) and op.target == "cuda":
            yield before, op.kernel.leaf
            before = op.kernel.leaf
        elif not isinstance(op, QUIET):
            before = None


def is_small(func: kernel.FuncOp, processors: int) -> bool:
    """Whether a kernel has few warps for each processor, and needs no table of addresses, which may have been copied in front of it."""
    return type(func.programs) is int and func.programs * (func.warps or WARPS) <= WARPS * processors and func.groups is None
