"""Host source to a callable: resolve what the source names, compile it, and keep its text where a debugger finds it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.backends.python_host.emit import Source, print_python
from lect.backends.python_source import SourceProgram, load_source
from lect.backends.results import OtherSize, single, tensors_of
from lect.backends.writes import write, written
from lect.dialects.fx import generators
from lect.ir import LectError, Operation

Launch = Callable[[int, Any, int, int], None]

DTYPES: Mapping[str, torch.dtype] = MappingProxyType({
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i1": torch.bool, "i8": torch.int8,
    "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "ui8": torch.uint8, "ui16": torch.uint16, "ui32": torch.uint32,
    "ui64": torch.uint64, "complex<f32>": torch.complex64, "complex<f64>": torch.complex128,
})  # fmt: skip


REFUSED = frozenset({"from_file"})
# Overloads that torch's own binding calls with the same arguments in a third of the time.
BINDINGS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "aten.randint.low": torch.randint, "aten.mm.default": torch.mm, "aten.addmm.default": torch.addmm, "aten.bmm.default": torch.bmm,
        "aten.baddbmm.default": torch.baddbmm, "aten.convolution.default": torch.convolution,
    }
)  # fmt: skip
ONE_RESULT = frozenset(BINDINGS.values())


def _empty_cuda(sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(sizes, strides, dtype=dtype, device="cuda")


def _seen_as(tensor: torch.Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> torch.Tensor:
    return tensor.as_strided(sizes, strides, tensor.storage_offset() + offset)


# New memory on the current device, and other sizes and strides for the memory of a tensor that only the program knows: by functions of torch's C library that
# do not go through its dispatcher, in a third of the time, where the build has them.
_NATIVE = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
EMPTY_CUDA: Callable[..., torch.Tensor] = getattr(_NATIVE, "_empty_strided_cuda", _empty_cuda)
SEEN_AS: Callable[..., torch.Tensor] = getattr(_NATIVE, "_reinterpret_tensor", _seen_as)


def load(func: Operation, kernels: Mapping[str, Any], launch: Launch | None) -> SourceProgram:
    """Compile a `host.func`.

    `kernels` gives the address of each kernel by symbol, and `launch(address, pointers, grid, grain)` runs one; of a kernel for a GPU it gives what runs it,
    `run(stream, *addresses)`.  Raises `LectError` when the function names a kernel or a library function that does not exist.
    """
    source = print_python(func)
    return load_source("host", source.name, source.text, namespace_of(source, kernels, launch, func))


def namespace_of(source: Source, kernels: Mapping[str, Any], launch: Launch | None, func: Operation) -> dict[str, Any]:
    """What the text of a host program refers to.  Raises `LectError` as `load` does."""
    namespace: dict[str, Any] = {
        "__builtins__": {"float": float, "complex": complex, "min": min, "max": max},
        "launch": launch,
        "empty": torch.empty,
        "empty_strided": torch.empty_strided,
        "empty_cuda": EMPTY_CUDA,
        "seen_as": SEEN_AS,
        "check": check_layout,
        "found_size": found_size,
        "tensors_of": tensors_of,
        "write": write,
        "written": written,
    }
    if source.streams:
        namespace["current_stream"] = torch._C._cuda_getCurrentRawStream if source.device is not None else first_stream  # type: ignore[attr-defined]
    for name, spelling in source.dtypes.items():
        namespace[name] = DTYPES[spelling]
    for name, (kind, constant) in source.named.items():
        namespace[name] = torch_constant(kind, constant, func)
    for name, symbol in source.kernels.items():
        if symbol not in kernels:
            raise LectError(f"the host function launches the kernel @{symbol}, which is not compiled", op=func)
        namespace[name] = kernels[symbol]
    for name, path in source.callees.items():
        found = library_function(path, func)
        namespace[name] = found if name in source.several or found in ONE_RESULT else single(found)
    for count in source.arities:
        namespace[f"pointers{count}"] = ctypes.c_void_p * count
    return namespace


def first_stream(device: int) -> int:
    """The stream of tensors of a CPU, whose kernels for a GPU run in Triton's interpreter; torch has none without a driver."""
    return 0


def library_function(path: tuple[str, ...], op: Operation) -> Callable[..., Any]:
    """The ATen (or custom) overload that `path` names: namespace, operator, overload.  Raises `LectError` when there is none."""
    if len(path) not in (2, 3):
        raise LectError(f"a library function is named by namespace, operator and overload, got '{'.'.join(path)}'", op=op)
    if path[1] in REFUSED:
        raise LectError(f"a program may not call '{'.'.join(path)}', which acts on files", op=op)
    found = torch.ops
    if path[0] == "lect":
        generators.define()
    for part in path:
        try:
            found = getattr(found, part)
        except (AttributeError, RuntimeError):
            raise LectError(f"there is no library function '{'.'.join(path)}'", op=op) from None
    if not isinstance(found, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        raise LectError(f"'{'.'.join(path)}' is no library function", op=op)
    return BINDINGS.get(".".join(path), found)


def torch_constant(kind: str, name: str, op: Operation) -> Any:
    """`torch.channels_last` and its like, checked to be of the kind that the text says.  Raises `LectError`."""
    found = getattr(torch, name, None)
    if type(found).__name__ != kind:
        raise LectError(f"torch has no {kind} called '{name}'", op=op)
    return found


def found_size(callee: str, size: int, low: int | None, high: int | None) -> int:
    """A size that a call has found.  Raises `OtherSize` for one that the program is not for."""
    if (low is not None and size < low) or (high is not None and size > high):
        raise OtherSize(f"{callee} finds a size of {size}, and this version is for {low or 'any'} to {'any' if high is None else high}")
    return size


def check_layout(callee: str, tensor: torch.Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """`tensor` itself when its layout differs from `strides` only where that is not observable (dims of size 1, no elements), else a copy in the
    layout that the program was compiled for.  Raises `LectError` when even the sizes or the elements differ."""
    if tuple(tensor.shape) != sizes:
        raise LectError(f"{callee} gave a tensor of sizes {tuple(tensor.shape)}, compiled for {sizes}")
    if tensor.dtype is not dtype:
        raise LectError(f"{callee} gave elements of {tensor.dtype}, compiled for {dtype}")
    if tensor.numel() == 0 or all(size == 1 or a == b for size, a, b in zip(sizes, tensor.stride(), strides)):
        return tensor
    return torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
