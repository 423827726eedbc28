"""Running a module at whatever level it is: which function is the program, what it takes, and who executes it.

fx, functional, loop and kernel have reference interpreters; host programs (with their kernels) run natively.  `lect-run` and tests compare levels
through this one door.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from lect.backends.python_host.load import DTYPES
from lect.dialects.fx.types import NumberType
from lect.dialects.host.types import TensorType
from lect.dialects.loop import ops as loop
from lect.ir import Context, LectError, Operation, SymbolTable, Type
from lect.ir.facts import Facts, symbols_of
from lect.ir.specialize import at_values

# Operation that holds a program -> reference interpreter "module:function"; lowest level first.
REFERENCE: Mapping[str, str] = MappingProxyType(
    {
        "host.func": "lect.backends.reference.host:run",
        "loop.func": "lect.backends.reference.loop:run",
        "functional.func": "lect.backends.reference.functional:run_functional",
        "fx.graph": "lect.backends.reference.fx:run",
    }
)

PROGRAMS_BY_LEVEL = frozenset(REFERENCE)

# What is left of the pipeline to reach native code.
REMAINING: Mapping[str, str] = MappingProxyType({"host.func": "", "loop.func": "kernel", "functional.func": "loop,kernel", "fx.graph": "aot,loop,kernel"})


@dataclass(frozen=True)
class Program:
    """The function of a module that `lect-run` runs; `level` is its operation's name."""

    module: Operation
    func: Operation

    @property
    def level(self) -> str:
        """`fx.graph`, `functional.func`, `loop.func` or `host.func`."""
        return self.func.name

    @property
    def symbol(self) -> str:
        """The name of the function, which passes keep."""
        return str(self.func.attrs["sym_name"])

    @property
    def inputs(self) -> list[tuple[str, Type]]:
        """Name and type of each parameter; memory at the loop level is given as the tensor that it stands for."""
        found = []
        for number, value in enumerate(self.func.body.args):
            type = value.type
            if isinstance(self.func, loop.FuncOp):
                view = self.func.argument_view(number)
                type = TensorType(view.sizes, type.element, view.strides)
            found.append((value.hint or str(number), type))
        return found


def find_program(module: Operation, name: str | None = None) -> Program:
    """The program called `name`, or the only one at the lowest level present.  Raises `LectError` when that is not one."""
    if name is not None:
        func = SymbolTable(module).lookup(name)
        if func is None or func.name not in REFERENCE:
            raise LectError(f"the module has no program @{name}; {_list_programs(module)}", op=module)
        return Program(module, func)
    for level in REFERENCE:
        found = [op for op in module.body if op.name == level]
        if len(found) == 1:
            return Program(module, found[0])
        if found:
            raise LectError(f"several programs at one level; {_list_programs(module)}", op=module, hint="name one with --function NAME")
    raise LectError("the module has no program: nothing of " + ", ".join(REFERENCE), op=module)


def _list_programs(module: Operation) -> str:
    names = [f"{op.name} @{op.attrs.get('sym_name')}" for op in module.body if op.name in REFERENCE]
    return "it has " + (", ".join(names) if names else "none")


def run_reference(program: Program, tensors: Sequence[Any]) -> list[torch.Tensor]:
    """Run by the reference interpreter of the program's level."""
    module, _, function = REFERENCE[program.level].partition(":")
    run: Callable[..., list[torch.Tensor]] = getattr(importlib.import_module(module), function)
    return run(program.func, given(program, tensors))


def given(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """What the program takes for the inputs of another level of it: below fx, Python numbers are 0-d tensors."""
    if program.level == "fx.graph":
        types = [type for _, type in program.inputs]
        return [value.item() if isinstance(value, torch.Tensor) and isinstance(type, NumberType) else value for value, type in zip(inputs, types)]
    return [
        torch.scalar_tensor(value, dtype=tensor_layout(type)[2]) if isinstance(value, int | float) else value
        for value, (_, type) in zip(inputs, program.inputs)
    ]


def to_tensors(inputs: Sequence[Any]) -> list[torch.Tensor]:
    """Inputs of a graph as a file of tensors has them."""
    return [value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in inputs]


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor laid out alike in memory of its own."""
    storage = tensor.untyped_storage().clone()
    return tensor.new_empty(0).set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


def run_native(program: Program, tensors: Sequence[Any], ctx: Context) -> list[torch.Tensor]:
    """Run a `host.func` and its kernels as native code.  Raises `LectError` at any other level."""
    from lect.runtime.executable import build

    if program.level != "host.func":
        raise LectError(f"only a host function runs natively, not '{program.level}'", op=program.func)
    return build(program.module, ctx, program.func.attrs["sym_name"])(*given(program, tensors))


# ---- inputs ----------------------------------------------------------------------------------------------------------


def tensor_layout(type: Type) -> tuple[tuple[int, ...], tuple[int, ...] | None, torch.dtype]:
    """Sizes, strides (None: dense) and dtype of a parameter's type.  Raises `LectError` for what is no tensor of known size."""
    sizes = getattr(type, "sizes", getattr(type, "shape", None))
    element = getattr(type, "element", None)
    if sizes is None or element is None or not all(isinstance(size, int) for size in sizes):
        raise LectError(f"cannot make an input of type {type}: its sizes are not known")
    strides = getattr(type, "strides", None)
    return tuple(sizes), tuple(strides) if strides is not None else None, DTYPES[element.spelling]


SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-45, -1.0)


def random_input(type: Type, generator: torch.Generator, special: bool = False) -> Any:
    """A number or a tensor for a parameter: normal floats, integers from -8 to 8 (0 to 16 unsigned), fair bools; `special` sprinkles NaN, infinities
    and zeros."""
    if isinstance(type, NumberType):
        return torch.randn((), generator=generator).item() if type.element.is_float else int(torch.randint(-8, 9, (), generator=generator))
    sizes, strides, dtype = tensor_layout(type)
    if dtype.is_floating_point or dtype.is_complex:
        value = torch.randn(sizes, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)
        if special and dtype.is_floating_point and value.numel():
            flat = value.view(-1)
            places = torch.randint(flat.numel(), (max(1, flat.numel() // 8),), generator=generator)
            flat[places] = torch.tensor(SPECIAL, dtype=dtype)[torch.arange(len(places)) % len(SPECIAL)]
    elif dtype == torch.bool:
        value = torch.randint(2, sizes, generator=generator).bool()
    else:
        low = 0 if dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else -8
        value = torch.randint(low, low + 17, sizes, generator=generator).to(dtype)
    if strides is None:
        return value
    out = torch.empty_strided(sizes, strides, dtype=dtype)
    if not all(stride or size <= 1 for size, stride in zip(sizes, strides)):
        # an expanded tensor has one element for many indices: fill the memory behind it
        span = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides)) if value.numel() else 0
        memory = torch.randn(span, generator=generator, dtype=torch.float64).to(dtype)
        return memory.as_strided(sizes, strides)
    return out.copy_(value)


def random_inputs(program: Program, seed: int, special: bool = False) -> list[Any]:
    """One tensor or number for each parameter, the same for the same seed; where a size is known only at run time it is that of the captured call."""
    generator = torch.Generator().manual_seed(seed)
    declared = program.func.attrs.get("symbols")
    facts = Facts.of(declared if isinstance(declared, dict) else None)
    made = []
    for _, type in program.inputs:
        layout = (getattr(type, "sizes", getattr(type, "shape", ())), getattr(type, "strides", ()))
        hints = {number: facts.fact(number).hint for sizes in layout for size in sizes or () for number in symbols_of(size)}
        made.append(random_input(at_values(type, hints) if hints else type, generator, special))
    for fact in facts.symbols.values():
        if fact.argument is not None and fact.dim is None:
            value = fact.hint * fact.divisor
            made[fact.argument] = value if isinstance(program.inputs[fact.argument][1], NumberType) else torch.tensor(value)
    return _small_where_needed(program, made, seed)


def _small_where_needed(program: Program, inputs: list[Any], seed: int) -> list[Any]:
    """The inputs, with integers of 0 and 1, or else of 0, where the program refuses others, as it does those that point behind the end of a table."""
    integers = [n for n, value in enumerate(inputs) if isinstance(value, torch.Tensor) and not value.dtype.is_floating_point and not value.dtype.is_complex]
    if not any(inputs[number].dtype != torch.bool for number in integers):
        return inputs
    for limit in (None, 2, 1):
        small = list(inputs)
        for number in integers if limit is not None else ():
            small[number] = copy_of(inputs[number])
            small[number].remainder_(limit) if inputs[number].dtype != torch.bool else None
        if _runs(program, small, seed):
            return small
    return inputs


def _runs(program: Program, inputs: Sequence[Any], seed: int) -> bool:
    """Whether the reference interpreter gets through with copies of these inputs."""
    copies = [copy_of(value) if isinstance(value, torch.Tensor) else value for value in inputs]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        try:
            run_reference(program, copies)
        except Exception:  # whatever is wrong is told when the program is run
            return False
    return True


# ---- comparing -------------------------------------------------------------------------------------------------------

TOLERANCE: Mapping[torch.dtype, float] = MappingProxyType(
    {torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.complex64: 2e-6, torch.complex128: 1e-12}
)


def difference(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], tolerance: float | None = None) -> str | None:
    """The first difference in words, or None: number of outputs, dtype, sizes, strides, where NaN stand, and values.

    Values differ when |got - want| exceeds tolerance * max(1, |want|); without `tolerance` it depends on the dtype.  Integers must be equal.
    """
    if len(got) != len(want):
        return f"{len(got)} outputs against {len(want)}"
    for number, (a, b) in enumerate(zip(got, want)):
        problem = _difference_of_one(a, b, tolerance)
        if problem is not None:
            return f"output {number}: {problem}"
    return None


def apart(got: Sequence[Any], want: Sequence[Any], tolerance: float | None = None) -> str | None:
    """What `lect-run` says of two runs: `difference` with a tolerance, and without one what no order of sums explains, as LECT_CHECK has it."""
    a, b = to_tensors(got), to_tensors(want)
    return far_apart(a, b) if tolerance is None else difference(a, b, tolerance)


# How far compiled results may lie from eager's, as a part of the largest value: sums are added up in another order.
ORDER_OF_SUMS: Mapping[torch.dtype, float] = MappingProxyType(
    {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 8e-2, torch.complex64: 1e-4, torch.complex128: 1e-10}
)


def far_apart(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], strides: bool = True) -> str | None:
    """The first difference in words that no order of sums explains, or None; without `strides`, tensors may lie differently in memory."""
    if len(got) != len(want):
        return f"{len(got)} outputs against {len(want)}"
    for number, (a, b) in enumerate(zip(got, want)):
        limit = ORDER_OF_SUMS.get(b.dtype)
        if limit is not None:
            finite = b[b.isfinite()]
            limit *= max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
        a, b = (a, b) if strides or a.shape != b.shape else (a.contiguous(), b.contiguous())
        problem = _difference_of_one(a, b, limit)
        if problem is not None:
            return f"output {number}: {problem}"
    return None


def _difference_of_one(a: torch.Tensor, b: torch.Tensor, tolerance: float | None) -> str | None:
    for what, x, y in (("dtype", a.dtype, b.dtype), ("sizes", tuple(a.shape), tuple(b.shape)), ("strides", a.stride(), b.stride())):
        if x != y and not (what == "strides" and (a.numel() == 0 or _same_strides(a, b))):
            return f"{what} {x} against {y}"
    if a.numel() == 0:
        return None
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        wrong = a != b
        return None if not wrong.any() else f"{int(wrong.sum())} of {a.numel()} values differ"
    nan_a, nan_b = a.isnan(), b.isnan()
    if (nan_a != nan_b).any():
        return f"{int((nan_a != nan_b).sum())} values are NaN on one side only"
    limit = TOLERANCE[a.dtype] if tolerance is None else tolerance
    wide_a, wide_b = (t.to(torch.complex128) if t.dtype.is_complex else t.double() for t in (a, b))
    same = (wide_a == wide_b) | nan_a
    error = torch.where(same, torch.zeros((), dtype=torch.float64), (wide_a - wide_b).abs() / wide_b.abs().clamp(min=1.0)).nan_to_num(nan=float("inf"))
    worst = float(error.max())
    return None if worst <= limit else f"values differ by up to {worst:.3g} (allowed {limit:.3g})"


def _same_strides(a: torch.Tensor, b: torch.Tensor) -> bool:
    return all(size == 1 or x == y for size, x, y in zip(a.shape, a.stride(), b.stride()))
