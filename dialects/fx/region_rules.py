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
        made = getattr(_torch("torch.func"), name)(_with_aux(op, region), tuple(op.argnums), has_aux=bool(op.aux))(*operands)
        jacobians, others = made if op.aux else (made, ())
        return [*[item for of_value in jacobians for item in of_value], *others]

    return rule


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
