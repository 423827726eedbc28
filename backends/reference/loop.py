"""The meaning of loop programs, executed: every scalar operation over its whole index space at once, with torch.

Slow, and as literal as it can be: the oracle for passes over the loop level and for the code made below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from lect.backends.reference import philox, special
from lect.backends.results import tensors_of
from lect.backends.writes import write
from lect.dialects.functional.python_values import decode_argument
from lect.dialects.fx import generators
from lect.dialects.loop import ops as loop
from lect.dialects.loop.attributes import OperandAttr, ViewAttr
from lect.ir import LectError, Operation, ScalarType, SymbolRef, Value
from lect.ir.facts import Facts
from lect.ir.specialize import specialized
from lect.ir.symbolic import Atom, Expr

DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i1": torch.bool, "i8": torch.int8,
        "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "ui8": torch.uint8, "index": torch.int64,
        "complex<f32>": torch.complex64, "complex<f64>": torch.complex128,
    }
)  # fmt: skip


def run(func: Operation, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run a `loop.func` on tensors of the layouts of its parameters; gives what it returns.

    Raises `LectError` for what is no loop function, or when the number of inputs is wrong.
    """
    if not isinstance(func, loop.FuncOp):
        raise LectError(f"this runs 'loop.func', not '{func.name}'", op=func)
    args = func.body.args
    if len(inputs) != len(args):
        raise LectError(f"the graph takes {len(args)} inputs, got {len(inputs)}", op=func)
    if func.symbols:
        return run(specialized(func, sizes_of(func, inputs)), inputs)
    memory: dict[Value, torch.Tensor] = {}
    for value, tensor in zip(args, inputs):
        memory[value] = tensor.as_strided((value.type.numel,), (1,), tensor.storage_offset())
    for inner in func.body:
        if isinstance(inner, loop.NestOp):
            memory.update(zip(inner.results, run_nest(inner, memory)))
        elif isinstance(inner, loop.ExternOp):
            _run_extern(inner, memory)
        elif isinstance(inner, loop.WriteOp):
            write(seen_through(memory[inner.target], inner.place), seen_through(memory[inner.value], inner.view), inner.versions)
        elif isinstance(inner, loop.ReturnOp):
            return [seen_through(memory[value], view) for value, view in zip(inner.values, inner.views)]
    raise LectError("the graph has no 'loop.return'", op=func)


def sizes_of(func: loop.FuncOp, inputs: Sequence[torch.Tensor]) -> dict[int, int]:
    """The size symbols of a function for these inputs."""
    found = {}
    for number, fact in Facts.of(func.symbols).symbols.items():
        if fact.argument is not None:
            tensor = inputs[fact.argument]
            found[number] = (int(tensor.item()) if fact.dim is None else tensor.shape[fact.dim]) // fact.divisor
    return found


def seen_through(memory: torch.Tensor, view: ViewAttr) -> torch.Tensor:
    """Flat memory as the tensor that a view describes."""
    return memory.as_strided(view.sizes, view.strides or (), memory.storage_offset() + view.offset)


def _run_extern(op: loop.ExternOp, memory: dict[Value, torch.Tensor]) -> None:
    operands = [seen_through(memory[value], view) for value, view in zip(op.operands, op.views)]
    args = [_argument(value, operands) for value in op.args]
    kwargs = {name: _argument(value, operands) for name, value in op.kwargs.items()}
    found = _callee(op)(*args, **kwargs)
    for value, view, tensor in zip(op.results, op.result_views, tensors_of(found, len(op.results))):
        if tensor is None:
            continue  # the call was told that nobody looks
        flat = torch.empty(value.type.numel, dtype=DTYPES[value.type.element.spelling])
        seen_through(flat, view).copy_(tensor)
        memory[value] = flat


def _callee(op: loop.ExternOp) -> Callable[..., Any]:
    found: Any = torch.ops
    if op.callee.path[0] == "lect":
        generators.define()
    for part in (".".join(op.callee.path)).split("."):
        found = getattr(found, part, None)
        if found is None:
            raise LectError(f"there is no library function {op.callee}", op=op)
    return found


def _argument(value: Any, operands: list[torch.Tensor]) -> Any:
    if isinstance(value, OperandAttr):
        return operands[value.number]
    if isinstance(value, tuple):
        return [_argument(item, operands) for item in value]
    if isinstance(value, ScalarType):
        return DTYPES[value.spelling]
    if isinstance(value, SymbolRef):
        return getattr(torch, value.leaf.rpartition(".")[2])
    if isinstance(value, dict):
        return decode_argument(value, ())
    return value


# ---- one nest --------------------------------------------------------------------------------------------------------


class Point:
    """All points of a space at once: each dim is an arange along its own axis, values broadcast against each other."""

    def __init__(self, nest: loop.NestOp) -> None:
        self.sizes: tuple[int, ...] = nest.space.sizes
        rank = len(self.sizes)
        self.dims = [torch.arange(size).view([-1 if k == position else 1 for k in range(rank)]) for position, size in enumerate(self.sizes)]

    def evaluate(self, expr: Expr, indices: Sequence[torch.Tensor] = ()) -> torch.Tensor:
        """The value of an index expression at all points."""
        total = torch.full((1,) * len(self.sizes), expr.const)
        for atoms, factor in expr.terms:
            term: Any = factor
            for atom in atoms:
                term = self._atom(atom, indices) * term
            total = total + term
        return total

    def _atom(self, atom: Atom, indices: Sequence[torch.Tensor]) -> torch.Tensor:
        if atom.kind == "d":
            return self.dims[atom.index]
        if atom.kind == "i":
            return indices[atom.index]
        args = [self.evaluate(a, indices) for a in atom.args]
        if atom.kind == "floordiv":
            return torch.div(args[0], args[1], rounding_mode="floor")
        if atom.kind == "mod":
            return torch.remainder(args[0], args[1])
        out = args[0]
        for other in args[1:]:
            out = torch.minimum(out, other) if atom.kind == "min" else torch.maximum(out, other)
        return out

    def spread(self, value: torch.Tensor, over: Sequence[int]) -> torch.Tensor:
        """`value` repeated to the full size of the dims `over`."""
        return value.expand([self.sizes[k] if k in over else value.shape[k] for k in range(len(self.sizes))])


def run_nest(nest: loop.NestOp, memory: Mapping[Value, torch.Tensor]) -> list[torch.Tensor]:
    """The buffers that a nest stores."""
    point = Point(nest)
    values: dict[Value, torch.Tensor] = {}
    results = [torch.zeros(value.type.numel, dtype=DTYPES[value.type.element.spelling]) for value in nest.results]
    for op in nest.body:
        if isinstance(op, loop.StoreOp):
            where = point.evaluate(op.map.offset)
            shape = torch.broadcast_shapes(where.shape, values[op.value].shape)
            results[op.to][where.expand(shape).reshape(-1)] = values[op.value].expand(shape).reshape(-1)
        elif isinstance(op, loop.UpdateOp):
            results[op.to] = _updated(op, point, values, memory[op.base])
        else:
            values[op.results[0]] = _value(op, point, values, memory)
    return results


def _updated(op: loop.UpdateOp, point: Point, values: Mapping[Value, torch.Tensor], base: torch.Tensor) -> torch.Tensor:
    """What an update makes of the elements that it begins with: one step of the ordered dims after another."""
    made = base.clone()
    mask = torch.ones((1,) * len(point.sizes), dtype=torch.bool)
    for value in op.masks:
        mask = mask & values[value]
    where = point.evaluate(op.map.offset, [values[value] for value in op.indices])
    order = list(op.order)
    others = [k for k in range(len(point.sizes)) if k not in order]
    count, rest = [math.prod([point.sizes[k] for k in dims]) for dims in (order, others)]
    steps = [each.expand(point.sizes).permute(*order, *others).reshape(count, rest) for each in (where, values[op.value], mask)]
    for places, numbers, kept in zip(*steps):
        places, numbers = places[kept], numbers[kept]
        made[places] = numbers if op.kind == "set" else COMBINE[op.kind](made[places], numbers)
    return made


def _value(op: Operation, point: Point, values: Mapping[Value, torch.Tensor], memory: Mapping[Value, torch.Tensor]) -> torch.Tensor:
    if isinstance(op, loop.LoadOp):
        return _load(op, point, values, memory[op.buffer])
    if isinstance(op, loop.ConstOp):
        return torch.full((1,) * len(point.sizes), op.value, dtype=DTYPES[op.number.type.spelling])
    if isinstance(op, loop.IndexOp):
        return point.evaluate(op.map.offset)
    args = [values[value] for value in op.operands]
    if isinstance(op, loop.CastOp):
        return _cast(args[0], op.number.type)
    if isinstance(op, loop.SelectOp):
        return torch.where(*args)
    if isinstance(op, loop.ReduceOp):
        return reduce(op.kind, point.spread(args[0], op.over), op.over)
    if isinstance(op, loop.ReduceIndexOp):
        return reduce_index(op.kind, point.spread(args[0], op.over), point.spread(args[1], op.over), op.over)
    if isinstance(op, loop.ScanOp):
        return scan(op.kind, point.spread(args[0], (op.over,)), op.over)
    return SCALAR[op.name.partition(".")[2]](*args)


def _load(op: loop.LoadOp, point: Point, values: Mapping[Value, torch.Tensor], flat: torch.Tensor) -> torch.Tensor:
    where = point.evaluate(op.map.offset, [values[value] for value in op.indices])
    if not flat.numel():
        return torch.zeros(where.shape, dtype=flat.dtype)  # no point loads, or none that its mask lets through
    if not op.masks:
        return flat[where]
    mask = values[op.masks[0]]
    for other in op.masks[1:]:
        mask = mask & values[other]
    where, mask = torch.broadcast_tensors(where, mask)
    found = flat[torch.where(mask, where, torch.zeros_like(where))]
    return torch.where(mask, found, torch.zeros((), dtype=flat.dtype))


def _cast(value: torch.Tensor, element: ScalarType) -> torch.Tensor:
    return value.to(DTYPES[element.spelling])


COMBINE: Mapping[str, Callable[..., torch.Tensor]] = MappingProxyType(
    {
        "sum": lambda a, b: a | b if a.dtype is torch.bool else a + b,
        "prod": lambda a, b: a & b if a.dtype is torch.bool else a * b,
        "max": torch.maximum,
        "min": torch.minimum,
    }
)


def reduce(kind: str, value: torch.Tensor, over: Sequence[int]) -> torch.Tensor:
    """Fold the dims `over` of a tensor, keeping them with size 1."""
    dims = list(over)
    if kind == "sum":
        return value.sum(dims, keepdim=True, dtype=value.dtype)
    if kind == "any":
        return value.any(dims, keepdim=True) if value.numel() else _identity(kind, value, dims)
    if kind == "all":
        return value.all(dims, keepdim=True) if value.numel() else _identity(kind, value, dims)
    if any(value.shape[k] == 0 for k in dims):
        return _identity(kind, value, dims)
    if kind in ("max", "min"):
        return value.amax(dims, keepdim=True) if kind == "max" else value.amin(dims, keepdim=True)
    out = value
    for k in dims:
        if kind == "prod":
            out = out.prod(k, keepdim=True, dtype=value.dtype)
        else:
            folded = out.select(k, 0)
            for position in range(1, out.shape[k]):
                folded = folded ^ out.select(k, position)
            out = folded.unsqueeze(k)
    return out


def _identity(kind: str, value: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    """What folding no values gives."""
    shape = [1 if k in dims else size for k, size in enumerate(value.shape)]
    if kind in ("max", "min"):
        if value.dtype.is_floating_point:
            number: Any = float("-inf") if kind == "max" else float("inf")
        else:
            number = torch.iinfo(value.dtype).min if kind == "max" else torch.iinfo(value.dtype).max
    else:
        number = 1 if kind in ("prod", "all") else 0
    return torch.full(shape, number, dtype=value.dtype)


def reduce_index(kind: str, value: torch.Tensor, position: torch.Tensor, over: Sequence[int]) -> torch.Tensor:
    best = reduce(kind, value, over)
    hit = value == best
    if value.dtype.is_floating_point:
        hit = torch.where(best.isnan(), value.isnan(), hit)
    return reduce("min", torch.where(hit, position, torch.iinfo(position.dtype).max), over)


def scan(kind: str, value: torch.Tensor, over: int) -> torch.Tensor:
    if kind == "sum":
        return value.cumsum(over, dtype=value.dtype)
    if kind == "prod":
        return value.cumprod(over, dtype=value.dtype)
    if kind == "logaddexp":
        return value.logcumsumexp(over)
    return (value.cummax(over) if kind == "max" else value.cummin(over)).values


# ---- scalar operations -----------------------------------------------------------------------------------------------


def _divisor(value: torch.Tensor) -> torch.Tensor:
    """Integer division by zero gives some value: here that of a division by one."""
    return value if value.dtype.is_floating_point else torch.where(value == 0, torch.ones_like(value), value)


def _shift_left(value: torch.Tensor, amount: torch.Tensor) -> torch.Tensor:
    width = torch.iinfo(value.dtype).bits
    good = (amount >= 0) & (amount < width)
    return torch.where(good, value << amount.clamp(0, width - 1), torch.zeros_like(value))


def _shift_right(value: torch.Tensor, amount: torch.Tensor) -> torch.Tensor:
    width = torch.iinfo(value.dtype).bits
    return value >> torch.where((amount >= 0) & (amount < width), amount, torch.full_like(amount, width - 1))


def _fused(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """a * b + c rounded once: in f64 for f32, and with the error of the product carried along for f64."""
    if a.dtype != torch.float64:
        total, lost = _sum_and_error(a.double() * b.double(), c.double())
        even = (total.contiguous().view(torch.int64) & 1) == 0
        odd = torch.nextafter(total, torch.copysign(torch.full_like(lost, float("inf")), lost))
        return torch.where(even & (lost != 0) & lost.isfinite(), odd, total).to(a.dtype)  # an odd last digit says that something is left
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    total, lost = _sum_and_error(product, c)
    lost = lost + error
    return torch.where(lost.isfinite(), total + lost, total)


def _sum_and_error(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rounded sum of two doubles and what rounding took away."""
    total = a + b
    shift = total - a
    return total, (a - (total - shift)) + (b - shift)


def _halves(value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A double as a sum of two that have half the digits."""
    scaled = value * 134217729.0
    high = scaled - (scaled - value)
    return high, value - high


def _negative(value: torch.Tensor) -> torch.Tensor:
    return -value


SCALAR: Mapping[str, Callable[..., torch.Tensor]] = MappingProxyType(
    {
        "add": torch.add,
        "sub": torch.sub,
        "mul": torch.mul,
        "div": torch.div,
        "floor_div": lambda a, b: torch.div(a, _divisor(b), rounding_mode="floor"),
        "trunc_div": lambda a, b: torch.div(a, _divisor(b), rounding_mode="trunc"),
        "remainder": lambda a, b: torch.remainder(a, _divisor(b)),
        "fmod": lambda a, b: torch.fmod(a, _divisor(b)),
        "and": torch.bitwise_and,
        "or": torch.bitwise_or,
        "xor": torch.bitwise_xor,
        "not": torch.bitwise_not,
        "shl": _shift_left,
        "shr": _shift_right,
        "fma": _fused,
        "neg": _negative,
        "sign": torch.sign,
        "philox32": philox.philox32,
        "philox64": philox.philox64,
        **special.FUNCTIONS,
        **{
            name: getattr(torch, name)
            for name in (
                "maximum minimum fmax fmin pow atan2 hypot copysign eq ne lt le gt ge abs isnan isinf exp exp2 expm1 log log2 log10 log1p sqrt rsqrt "
                "reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid floor ceil trunc round"
            ).split()
        },
    }
)
