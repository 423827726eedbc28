"""What the operations with regions do, as functions of Python: `RULES[op.name](op, regions, operands)` gives the results.

`regions` are Python functions from tensors to lists of tensors.  The operands may be real tensors, tensors without elements that something records,
or tensors that a transform of torch.func has wrapped: the rules call torch's own functions and look at nothing else.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

Regions = Sequence[Callable[..., list[Any]]]
Rule = Callable[[Any, Regions, Sequence[Any]], list[Any]]


def _torch(name: str = "torch") -> Any:
    return importlib.import_module(name)


def _as_tuple(region: Callable[..., list[Any]]) -> Callable[..., tuple[Any, ...]]:
    return lambda *args: tuple(region(*args))


def checkpoint(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """`torch.utils.checkpoint.checkpoint`."""
    run = inspect.unwrap(_torch("torch.utils.checkpoint").checkpoint)  # the wrapper would load torch's compiler
    return list(run(_as_tuple(regions[0]), *operands, use_reentrant=op.use_reentrant, preserve_rng_state=op.preserve_rng_state))


def called_once(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """The region of a checkpoint by itself: what it computes is kept, and not computed again."""
    return regions[0](*operands)


def cond(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """One of the branches."""
    return regions[0]() if bool(operands[0]) else regions[1]()


def while_loop(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """The loop, round by round."""
    carried = list(operands)
    while bool(regions[0](*carried)[0]):
        carried = regions[1](*carried)
    return carried


def scan(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """The slices, one after the other."""
    count = len(op.carried)
    carried, over = list(operands[:count]), operands[count:]
    numbers = range(over[0].shape[0])
    kept: list[list[Any]] = []
    for number in reversed(numbers) if op.reverse else numbers:
        returned = regions[0](*carried, *[tensor.select(0, number) for tensor in over])
        carried = returned[:count]
        kept.append(returned[count:])
    if op.reverse:
        kept.reverse()
    return [*carried, *[_torch().stack(list(items)) for items in zip(*kept)]]


def transform(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """A transform of torch.func."""
    return _TRANSFORMS[op.transform](op, regions[0], operands)


def _vmap(op: Any, region: Callable[..., list[Any]], operands: Sequence[Any]) -> list[Any]:
    run = _torch("torch.func").vmap(_as_tuple(region), tuple(op.in_dims), tuple(op.out_dims), randomness=op.randomness, chunk_size=op.chunk_size)
    return list(run(*operands))


def _grad(op: Any, region: Callable[..., list[Any]], operands: Sequence[Any]) -> list[Any]:
    def split(*args: Any) -> tuple[Any, tuple[Any, ...]]:
        value, *others = region(*args)
        return value, tuple(others)

    gradients, (value, others) = _torch("torch.func").grad_and_value(split, tuple(op.argnums), has_aux=True)(*operands)
    return [*gradients, value, *others]


def _jvp(op: Any, region: Callable[..., list[Any]], operands: Sequence[Any]) -> list[Any]:
    count = len(operands) // 2
    values, tangents, *others = _torch("torch.func").jvp(_with_aux(op, region), tuple(operands[:count]), tuple(operands[count:]), has_aux=bool(op.aux))
    return [*values, *(others[0] if others else ()), *tangents]


def _with_aux(op: Any, region: Callable[..., list[Any]]) -> Callable[..., Any]:
    """The region as torch.func wants a function with auxiliary results."""
    if not op.aux:
        return _as_tuple(region)

    def split(*args: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        values = region(*args)
        return tuple(values[: len(values) - op.aux]), tuple(values[len(values) - op.aux :])

    return split


def _vjp(op: Any, region: Callable[..., list[Any]], operands: Sequence[Any]) -> list[Any]:
    count = len(op.body.args)
    _, pull = _torch("torch.func").vjp(_as_tuple(region), *operands[:count])
    return list(pull(tuple(operands[count:])))


def _jacobian(name: str) -> Rule:
    def rule(op: Any, region: Any, operands: Sequence[Any]) -> list[Any]:
        if _torch().__version__ < "2.13":
            return _OF_PARTS[name](op, region, operands)
        made = getattr(_torch("torch.func"), name)(_with_aux(op, region), tuple(op.argnums), has_aux=bool(op.aux))(*operands)
        jacobians, others = made if op.aux else (made, ())
        return [*[item for of_value in jacobians for item in of_value], *others]

    return rule


# Before 2.13 torch finds where the parts of a basis begin in a tensor that it makes and reads; a trace has no elements to read.


def _jacrev_of_results(op: Any, region: Any, operands: Sequence[Any]) -> list[Any]:
    """One forward, and one pull back for the rows of all results."""
    of_points, points = _of_points(op, region, operands)
    values, pull, *others = _torch("torch.func").vjp(of_points, *points, has_aux=bool(op.aux))
    bases, counts = _bases(values)
    rows = [of_point.split(counts) for of_point in _torch("torch.func").vmap(lambda *cotangents: pull(cotangents))(*bases)]
    found = [of_point[number].view(*value.shape, *point.shape) for number, value in enumerate(values) for of_point, point in zip(rows, points)]
    return [*found, *(others[0] if others else ())]


def _jacfwd_of_arguments(op: Any, region: Any, operands: Sequence[Any]) -> list[Any]:
    """One push forward for the columns of all arguments."""
    of_points, points = _of_points(op, region, operands)
    bases, counts = _bases(points)

    def push(*tangents: Any) -> tuple[Any, Any]:
        _, slopes, *others = _torch("torch.func").jvp(of_points, tuple(points), tangents, has_aux=bool(op.aux))
        return slopes, others[0] if others else ()

    slopes, others = _torch("torch.func").vmap(push)(*bases)
    columns = [slope.movedim(0, -1).split(counts, -1) for slope in slopes]
    found = [part.unflatten(-1, point.shape) if point.shape else part.squeeze(-1) for of_value in columns for part, point in zip(of_value, points)]
    return [*found, *[other[0] for other in others]]


def _of_points(op: Any, region: Any, operands: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function as one of the arguments that it is differentiated by, and these."""
    function = _with_aux(op, region)

    def of_points(*chosen: Any) -> Any:
        given = dict(zip(op.argnums, chosen))
        return function(*[given.get(number, operand) for number, operand in enumerate(operands)])

    return of_points, [operands[number] for number in op.argnums]


def _bases(tensors: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """For each tensor as many of its kind as there are elements in all; each is zero but for one 1, in one of them.  And the numbers of elements."""
    torch = _torch()
    counts = [tensor.numel() for tensor in tensors]
    made = []
    for number, tensor in enumerate(tensors):
        kind = {"dtype": tensor.dtype, "device": tensor.device}
        before, behind = sum(counts[:number]), sum(counts[number + 1 :])
        parts = [torch.zeros(before, tensor.numel(), **kind), torch.eye(tensor.numel(), **kind), torch.zeros(behind, tensor.numel(), **kind)]
        made.append(torch.cat(parts).view(sum(counts), *tensor.shape))
    return made, counts


_OF_PARTS: Mapping[str, Rule] = MappingProxyType({"jacrev": _jacrev_of_results, "jacfwd": _jacfwd_of_arguments})
_TRANSFORMS: Mapping[str, Callable[..., list[Any]]] = MappingProxyType(
    {"vmap": _vmap, "grad": _grad, "jvp": _jvp, "vjp": _vjp, "jacrev": _jacobian("jacrev"), "jacfwd": _jacobian("jacfwd")}
)


def autograd_function(op: Any, regions: Regions, operands: Sequence[Any]) -> list[Any]:
    """Apply a `torch.autograd.Function` that is made of the two regions."""
    count = len(op.results)

    def forward(ctx: Any, *args: Any) -> tuple[Any, ...]:
        returned = regions[0](*args)
        ctx.save_for_backward(*returned[count:])
        ctx.mark_non_differentiable(*[returned[number] for number in op.non_differentiable])
        return tuple(returned[:count])

    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        returned = regions[1](*ctx.saved_tensors, *gradients)
        return tuple([None if number is None else returned[number] for number in op.gradients])

    base = _torch().autograd.Function
    made = type(base)("RecordedFunction", (base,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    return list(made.apply(*operands))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "fx.checkpoint": checkpoint,
        "fx.cond": cond,
        "fx.while_loop": while_loop,
        "fx.scan": scan,
        "fx.transform": transform,
        "fx.autograd_function": autograd_function,
    }
)
