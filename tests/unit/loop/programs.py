"""Small functional programs for the tests of the loop level: built from tensors, lowered, run by the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from lect.backends.reference.loop import DTYPES, run
from lect.dialects import make_context
from lect.dialects.builtin.ops import ModuleOp
from lect.dialects.functional.ops import FuncOp, ReturnOp
from lect.dialects.functional.types import TensorType
from lect.ir import SCALARS, Block, Operation, Region, Value, parse_module, print_module, verify
from lect.passes.convert.functional_to_loop import FunctionalToLoop

ELEMENTS = {dtype: SCALARS[spelling] for spelling, dtype in DTYPES.items() if spelling != "index"}
NAN, INF = float("nan"), float("inf")
SPECIALS = (NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1e-30, -3.0, 20.5, 65504.0, -88.0, 1e30)

Build = Callable[..., "Value | Operation | Sequence[Value]"]


def type_of(tensor: torch.Tensor) -> TensorType:
    """The functional type of a tensor."""
    return TensorType(tuple(tensor.shape), ELEMENTS[tensor.dtype], tuple(tensor.stride()), "cpu")


def functional_module(build: Build, tensors: Sequence[torch.Tensor], aliases: tuple[int, ...] | None = None) -> ModuleOp:
    """A module whose function has one input for each tensor; `build(emit, *values)` makes its operations through `emit` and gives the results."""
    block = Block()
    values = [block.add_arg(type_of(tensor), f"x{k}") for k, tensor in enumerate(tensors)]
    made = build(block.append, *values)
    results = list(made.results) if isinstance(made, Operation) else [made] if isinstance(made, Value) else list(made)
    block.append(ReturnOp(results, aliases))
    module = ModuleOp(regions=[Region([Block()])])
    module.body.append(FuncOp("f.graph", regions=[Region([block])]))
    verify(module)
    return module


def lowered(build: Build, tensors: Sequence[torch.Tensor], aliases: tuple[int, ...] | None = None, passes: Sequence[object] = ()) -> ModuleOp:
    """The loop module after `passes`; it verifies after each and survives a round trip through text."""
    module = functional_module(build, tensors, aliases)
    for step in (FunctionalToLoop(), *passes):
        step.run(module, make_context())
        verify(module)
        text = print_module(module)
        assert print_module(parse_module(text, make_context())) == text
    return module


def execute(module: ModuleOp, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run the only function of a loop module by the reference interpreter."""
    return run(module.body.first, tensors)


def random_tensor(shape: Sequence[int], dtype: torch.dtype, seed: int = 0, special: bool = True) -> torch.Tensor:
    """Normal floats with specials sprinkled in, or small integers, or bools."""
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        value = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        if special and value.numel():
            flat = value.view(-1)
            for k, number in enumerate(SPECIALS[: max(1, flat.numel() // 3)]):
                flat[(7 * k + seed) % flat.numel()] = number
        return value
    if dtype == torch.bool:
        return torch.randint(2, tuple(shape), generator=generator).bool()
    low = 0 if dtype == torch.uint8 else -9
    return torch.randint(low, 10, tuple(shape), generator=generator).to(dtype)


def assert_same(found: torch.Tensor, wanted: torch.Tensor, *, exact: bool = False, tolerance: float | None = None) -> None:
    """Equal dtype, sizes, strides, places of NaN, and values: bit for bit (zeros with their signs apart), or within a tolerance by dtype."""
    assert (found.dtype, tuple(found.shape)) == (wanted.dtype, tuple(wanted.shape))
    if wanted.numel():
        real = [k for k, size in enumerate(wanted.shape) if size > 1]
        assert [found.stride(k) for k in real] == [wanted.stride(k) for k in real], (found.stride(), wanted.stride())
    if exact or not wanted.dtype.is_floating_point:
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
        return
    limit = tolerance or {torch.float64: 1e-10, torch.float32: 2e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}[wanted.dtype]
    torch.testing.assert_close(found, wanted, rtol=limit, atol=limit, equal_nan=True)
