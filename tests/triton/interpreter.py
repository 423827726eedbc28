"""Running compiled programs with GPU kernels where there is no GPU: tensors stay on the CPU, kernels run in Triton's interpreter.

Must be imported with TRITON_INTERPRET=1 in the environment, before anything imports Triton.  The interpreter has no libdevice: torch's functions take
its place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from lect.backends.triton.compile import CompiledKernels, Kernel, KernelTable, SizedKernel, find_kernels, load_kernel
from lect.ir.facts import value_of
from lect.passes.targets import target_named

DTYPES = {"*fp16": torch.float16, "*bf16": torch.bfloat16, "*fp32": torch.float32, "*fp64": torch.float64, "*i1": torch.bool, "*i8": torch.int8,
          "*i16": torch.int16, "*i32": torch.int32, "*i64": torch.int64, "*u8": torch.uint8, "*u16": torch.uint16, "*u32": torch.uint32, "*u64": torch.uint64}  # fmt: skip


def memory_at(address: int, dtype: torch.dtype) -> torch.Tensor:
    """A tensor that begins at an address; of its elements only the first counts."""
    if not address:  # of a tensor without elements
        return torch.zeros(1, dtype=dtype)
    raw = (ctypes.c_byte * 16).from_address(address)
    return torch.frombuffer(raw, dtype=torch.uint8).view(dtype)


def stand_in() -> Any:
    """libdevice's functions on the interpreter's tensors, by torch's."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle, interpreter_semantic

    def lifted(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            tensors = [interpreter_semantic.to_tensor(each, False) for each in operands]
            arrays = np.broadcast_arrays(*[each.handle.data for each in tensors])
            made = function(*[torch.from_numpy(np.array(each)) for each in arrays]).numpy()
            first = max(tensors, key=lambda each: each.handle.data.size)
            return tl.core.tensor(TensorHandle(made, first.handle.dtype), first.type)

        return call

    names = "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc trunc pow atan2 hypot copysign fmod rsqrt"
    table = {name: lifted(getattr(torch, name)) for name in names.split()}
    table["rint"] = lifted(torch.round)
    table["fast_dividef"] = lifted(torch.div)
    return SimpleNamespace(**table)


def rounding_conversion() -> Any:
    """A context in which the interpreter rounds f32 to bf16, to nearest even; it cuts bits off by itself."""
    import triton.language as tl
    from triton.runtime import interpreter

    plain = interpreter._convert_float

    def convert(data: Any, source: Any, target: Any, mode: Any) -> Any:
        if source == tl.float32 and target == tl.bfloat16:
            return torch.from_numpy(np.array(data)).to(torch.bfloat16).view(torch.uint16).numpy()
        return plain(data, source, target, mode)

    return mock.patch.object(interpreter, "_convert_float", convert)


@contextmanager
def masks_of_bits() -> Iterator[None]:
    """A context in which the interpreter takes the masks that it made of one condition; they are bytes, which it refuses by itself."""
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def masked(mask: Any) -> Any:
        return interpreter.TensorHandle(mask.data.astype(bool), mask.dtype)

    def create_masked_load(self: Any, pointers: Any, mask: Any, *rest: Any) -> Any:
        return load(self, pointers, masked(mask), *rest)

    def create_masked_store(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        return store(self, pointers, value, masked(mask), *rest)

    with mock.patch.object(builder, "create_masked_load", create_masked_load), mock.patch.object(builder, "create_masked_store", create_masked_store):
        yield


def numbers_of_tensors() -> Any:
    """A context in which a tensor of one element bounds a loop of the interpreter; Triton 3.6 asks NumPy for a number in a way that NumPy 2.4 refuses."""
    from triton.runtime import interpreter

    plain = interpreter._patch_lang_tensor

    def patch(tensor: Any, scope: Any) -> None:
        plain(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    return mock.patch.object(interpreter, "_patch_lang_tensor", patch)


def product_of_halves() -> Any:
    """A context in which the interpreter multiplies tiles of bf16 as numbers; it takes their bits for integers by itself."""
    import triton.language as tl
    from triton.runtime import interpreter

    plain = interpreter.InterpreterBuilder.create_dot

    def widened(factor: Any) -> Any:
        if factor.dtype.scalar != tl.bfloat16:
            return factor
        bits = torch.from_numpy(np.array(factor.data)).view(torch.bfloat16)
        return interpreter.TensorHandle(bits.float().numpy(), tl.float32)

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return plain(self, widened(a), widened(b), *rest)

    return mock.patch.object(interpreter.InterpreterBuilder, "create_dot", create_dot)


class Interpreted(CompiledKernels):
    """Kernels whose launches run in the interpreter."""

    def launchers(self) -> dict[str, Callable[..., None]]:
        return {symbol: self._sized(kernel) if isinstance(kernel, SizedKernel) else self._launcher(kernel) for symbol, kernel in self.kernels.items()}

    def _sized(self, kernel: SizedKernel) -> Callable[..., None]:
        known: dict[int, Callable[..., None]] = {}

        def launch(stream: int, *values: int) -> None:
            version = kernel.for_sizes(values[len(kernel.func.pointers) :])
            if id(version) not in known:
                known[id(version)] = self._launcher(version)
            known[id(version)](stream, *values)

        return launch

    def _launcher(self, kernel: Kernel) -> Callable[..., None]:
        function = load_kernel(kernel.source)
        function.fn.__globals__.update({"libdevice": stand_in(), "gdc": SimpleNamespace(gdc_wait=lambda: None, gdc_launch_dependents=lambda: None)})
        types = [DTYPES[each] for each in list(kernel.source.signature.values())[: kernel.pointers]]

        def launch(stream: int, *values: int) -> None:
            pointers, sizes = values[: kernel.pointers], values[kernel.pointers :]
            if kernel.grouped:
                table = torch.tensor(values)
                pointers, sizes = (table.data_ptr(),), ()
            programs = value_of(kernel.programs, dict(enumerate(sizes)))
            with np.errstate(all="ignore"), rounding_conversion(), product_of_halves(), masks_of_bits(), numbers_of_tensors():
                function[(programs,)](*[memory_at(pointer, dtype) for pointer, dtype in zip(pointers, types)], *sizes)

        return launch


def interpret_kernels(funcs: Sequence[Any], ctx: Any) -> CompiledKernels:
    """What stands for `compile_kernels`."""
    return Interpreted(find_kernels(funcs, ctx, KernelTable()))


@contextmanager
def on_gpu_in_name_only(compile_kernels: Callable[..., CompiledKernels] = interpret_kernels) -> Iterator[None]:
    """Graphs on the CPU are compiled as for a GPU, and their kernels are interpreted, or made by another function."""

    def machine_of(graph: Any) -> dict[str, Any]:
        return target_named("cuda:sm_90")

    with ExitStack() as stack:
        stack.enter_context(mock.patch("lect.runtime.pipeline.machine_of", machine_of))
        stack.enter_context(mock.patch("lect.runtime.training_compile.machine_of", machine_of))
        stack.enter_context(mock.patch("lect.backends.triton.compile_kernels", compile_kernels))
        yield
