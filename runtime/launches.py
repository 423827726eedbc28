"""Checks that a host program and its kernels stay within their memory: native code trusts its addresses, so a wrong one would end the process.

Text that a person edited comes here unproven.  What can be decided from sizes is: how many programs a launch runs, what it hands them, and how far
affine accesses reach that no condition but the extent of an axis restricts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lect.dialects.kernel.ops import BoundOp, LanesOp, ProgramIdOp
from lect.dialects.kernel.types import ScratchType
from lect.ir import Operation, Value, require
from lect.ir.facts import substituted, symbols_of
from lect.ir.index_map import is_affine
from lect.ir.symbolic import Size, ranges_of


def check_launches(func: Operation, kernels: Iterable[Operation]) -> None:
    """Raise a `VerifyError`, located at the launch or the access, where a launch does not fit its kernel or memory would be left."""
    by_name = {op.attrs["sym_name"]: op for op in kernels}
    for launch in func.walk():
        if launch.name == "host.launch":
            symbol = launch.attrs["kernel"].path[-1]
            kernel = by_name.get(symbol)
            require(kernel is not None, launch, "the module has no kernel @{}", symbol)
            assert kernel is not None
            _check_launch(launch, kernel)
            if launch.attrs["grid"] != 0:
                _check_accesses(launch, kernel)


def _check_launch(launch: Any, kernel: Any) -> None:
    name = kernel.attrs["sym_name"]
    pointers = [arg.type for arg in kernel.pointers] * (kernel.groups or 1)
    given = [buffer.type for buffer in launch.operands]
    require(len(given) == len(pointers), launch, "the kernel @{} takes {} buffers, got {}", name, len(pointers), len(given))
    for position, (buffer, pointer) in enumerate(zip(given, pointers)):
        require(buffer.element is pointer.element, launch, "buffer {} of the kernel @{} holds {}, got {}", position, name, pointer.element, buffer.element)
    symbols = len(kernel.body.args) - len(kernel.pointers)
    require(len(launch.sizes) == symbols, launch, "the kernel @{} takes {} sizes, got {}", name, symbols, len(launch.sizes))
    programs = with_sizes(kernel.programs, launch.sizes)
    require(launch.attrs["grid"] == programs, launch, "the kernel @{} is a grid of {} programs, got {}", name, programs, launch.attrs["grid"])


def with_sizes(size: Size, sizes: tuple[Size, ...]) -> Size:
    """A size of a kernel for the sizes that a launch gives it."""
    return substituted(size, dict(enumerate(sizes)))


def _check_accesses(launch: Any, kernel: Any) -> None:
    sizes: dict[Any, int] = {}
    pointers = kernel.pointers
    for number, buffer in enumerate(launch.operands):
        arg = pointers[number % len(pointers)]
        if type(buffer.type.numel) is int:
            sizes[arg] = min(buffer.type.numel, sizes.get(arg, buffer.type.numel))
    for access in kernel.walk():
        if access.name in ("kernel.load", "kernel.store", "kernel.atomic_add"):
            _check_access(access, kernel, sizes.get(access.pointer))
        elif access.name in ("kernel.scratch_load", "kernel.scratch_store"):
            _check_scratch(access, kernel)


def _check_access(access: Any, kernel: Any, numel: int | None) -> None:
    map = access.map
    extents = [_extent(index, kernel) for index in access.indices]
    conditional = not all(isinstance(mask.op, BoundOp) for mask in access.masks)
    unknown = map.num_indices > 0 or not is_affine(map.offset) or symbols_of(map.offset) or any(type(extent) is not int for extent in extents)
    if numel is None or conditional or unknown or 0 in extents:
        return
    low, high = ranges_of(tuple(extents)).bounds(map.offset)
    inside = (low is None or low >= 0) and (high is None or high < numel)
    require(inside, access, "the map reaches from {} to {}, the buffer has {} elements", low, high, numel)


def _check_scratch(access: Any, kernel: Any) -> None:
    extent = _extent(access.lanes, kernel)
    memory = access.scratch.type
    assert isinstance(memory, ScratchType)
    if type(extent) is int and type(memory.count) is int and all(isinstance(mask.op, BoundOp) for mask in access.masks):
        require(extent <= memory.count, access, "the lanes reach index {}, the scratch has {} elements", extent - 1, memory.count)


def _extent(index: Value, kernel: Any) -> int | None:
    """The number that an index stays below, where its operation says it."""
    op = index.op
    if isinstance(op, ProgramIdOp):
        return kernel.attrs["grid"][op.dim]
    if isinstance(op, LanesOp):
        axis = kernel.attrs["axes"].find(op.axis)
        return None if axis is None else axis.extent
    return None
