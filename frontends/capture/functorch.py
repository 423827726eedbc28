"""Transforms of torch.func: the function is followed once on tensors that stand for its parameters, and the transform becomes an `fx.transform`.

torch.func's own implementations run on real tensors only at run time; while tracing they run on traced tensors, which says what the results are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from lect.dialects.fx.regions import TransformOp
from lect.frontends.capture.calls import call
from lect.frontends.capture.numbers import with_constants
from lect.frontends.capture.regions import box_of_tree, flatten, inline_region, only_tensors, replay, trace_region, tree_of, unflatten
from lect.frontends.capture.torch_calls import lower_box
from lect.frontends.capture.tracer import Box, Tracer
from lect.frontends.tensors import LT, make_lt, meta_of
from lect.ir import Block, Region

Kwargs = dict[str, Box]
# What the functions that these transforms return call, wherever they were made.
_VMAP_IMPL = torch.func.vmap.__globals__["vmap_impl"]
_GRAD_IMPL, _GRAD_AND_VALUE_IMPL = [torch.func.jvp.__globals__[name] for name in ("grad_impl", "grad_and_value_impl")]


def _plain_options(t: Tracer, boxes: Sequence[Box]) -> list[Any]:
    return [with_constants(lower_box(t, box)) for box in boxes]


# ---- vmap ------------------------------------------------------------------------------------------------------------


def vmap(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)`."""
    function = args[0]
    in_dims, out_dims, randomness, chunk_size = _plain_options(t, args[1:5])
    given = tuple([lower_box(t, box) for box in args[5:]])
    leaves, spec = flatten(given)
    dims = _dims(t, in_dims, spec, leaves)
    batched = [(leaf, dim % leaf.dim()) for leaf, dim in zip(leaves, dims) if dim is not None]
    operands, numbers = [leaf for leaf, _ in batched], tuple([dim for _, dim in batched])
    sizes = [leaf.shape[dim] for leaf, dim in batched]
    if not sizes or any(size != sizes[0] for size in sizes):  # those with symbols have no hash
        raise t.stop("LB0012", f"vmap over dims of the sizes {', '.join(map(str, sizes))}")
    examples = [_example(leaf, dim) for leaf, dim in batched]
    standing = iter(examples)
    inner = [leaf if dim is None else next(standing) for leaf, dim in zip(leaves, dims)]
    positional = [t.wrap(item) for item in pytree.tree_unflatten(inner, spec)]
    for box in positional:
        box_of_tree(t, box[0])
    region, tensors, returned = trace_region(t, examples, lambda: call(t, function, positional, kwargs), "a function under vmap", effects=True)
    only_tensors(t, returned, "a function under vmap")
    attrs = {"transform": "vmap", "in_dims": numbers, "randomness": randomness, "chunk_size": chunk_size}
    attrs["out_dims"] = _out_dims(t, out_dims, returned, len(tensors))
    return _finish(t, region, operands, attrs, returned)


def _dims(t: Tracer, in_dims: Any, spec: Any, leaves: list[Any]) -> list[Any]:
    """The dim to go over for each leaf of the arguments, None for none."""
    whole = in_dims if issubclass(type(in_dims), int) else tuple(in_dims) if issubclass(type(in_dims), list) else in_dims
    dims = pytree._broadcast_to_and_flatten(whole, spec)
    if dims is None or not leaves:
        raise t.stop("LB0012", "in_dims of vmap do not fit its arguments")
    for leaf, dim in zip(leaves, dims):
        fits = dim is None or (type(dim) is int and issubclass(type(leaf), LT) and -leaf.dim() <= dim < leaf.dim())
        if not fits:
            raise t.stop("LB0012", f"the dim {dim} of vmap does not fit its argument")
    return dims


def _example(tensor: LT, dim: int) -> LT:
    """What stands for one example: the tensor without a dim."""
    meta = meta_of(tensor)
    drop = lambda sizes: (*sizes[:dim], *sizes[dim + 1 :])  # noqa: E731
    return make_lt(meta._replace(shape=drop(meta.shape), strides=drop(meta.strides)))


def _out_dims(t: Tracer, out_dims: Any, returned: tuple[list[Any], Any], count: int) -> tuple[Any, ...]:
    if count == 1 and returned[1].is_leaf():
        single = out_dims[0] if issubclass(type(out_dims), tuple) and len(out_dims) == 1 else out_dims
        dims = [single] if single is None or type(single) is int else None
    else:
        dims = pytree._broadcast_to_and_flatten(out_dims, returned[1])
    if dims is None:
        raise t.stop("LB0012", "out_dims of vmap do not fit what the function returns")
    return tuple(dims)


def _finish(t: Tracer, region: Region, operands: list[LT], attrs: dict[str, Any], returned: tuple[list[Any], Any]) -> Box:
    """Record the transform, whose results have the shape of what the function returned."""
    return tree_of(t, returned, _record(t, region, operands, attrs))


def _record(t: Tracer, region: Region, operands: list[LT], attrs: dict[str, Any]) -> list[LT]:
    filled: dict[str, Any] = {"in_dims": (), "out_dims": (), "randomness": "error", "chunk_size": None, "argnums": (), "aux": 0, **attrs}
    results = replay(t, TransformOp, [region], operands, filled)
    t.graph.add_region_op(TransformOp, operands, attrs, [region], results, t.loc)
    return results


# ---- gradients -------------------------------------------------------------------------------------------------------


class Points:
    """The arguments that a function is differentiated by: `operands` are their tensors, `standing` what stands for these in the region."""

    def __init__(self, t: Tracer, argnums: Any, args: Sequence[Box], what: str, grad: bool = True) -> None:
        self.single = type(argnums) is int
        self.numbers = [number % len(args) for number in ((argnums,) if self.single else argnums)]
        self.args = [lower_box(t, box) for box in args]
        trees = [flatten(self.args[number]) for number in self.numbers]
        self.specs = [spec for _, spec in trees]
        self.operands = [leaf for leaves, _ in trees for leaf in leaves]
        if not self.operands or any(not issubclass(type(leaf), LT) for leaf in self.operands):
            raise t.stop("LB0012", f"{what} by an argument that is no tree of tensors")
        self.standing = [make_lt(meta_of(leaf)._replace(requires_grad=grad and leaf.dtype.is_floating_point)) for leaf in self.operands]

    def inner(self, t: Tracer) -> list[Box]:
        """The arguments with which the function is followed."""
        inner, standing = list(self.args), iter(self.standing)
        for number, spec in zip(self.numbers, self.specs):
            inner[number] = pytree.tree_unflatten([next(standing) for _ in range(spec.num_leaves)], spec)
        return [box_of_tree(t, item) for item in inner]

    def trees(self, t: Tracer, tensors: Sequence[LT]) -> Box:
        """Tensors in the shape of these arguments."""
        rest = iter(tensors)
        made = tuple([pytree.tree_unflatten([next(rest) for _ in range(spec.num_leaves)], spec) for spec in self.specs])
        return box_of_tree(t, made[0] if self.single else made)


def _split_aux(t: Tracer, has_aux: bool, returned: Box, what: str) -> tuple[Any, Any]:
    """What the function returned: its value, and what goes with it (None when nothing does)."""
    raw = lower_box(t, returned)
    if not has_aux:
        return raw, None
    if type(raw) is not tuple or len(raw) != 2:
        raise t.stop("LB0012", f"{what} with has_aux of a function that returns no pair")
    return raw


def _grad_and_value(t: Tracer, args: list[Box]) -> tuple[Box, Box, Box | None]:
    """Gradients, value and what goes with it of `(func, argnums, has_aux, args, kwargs)`."""
    function, argnums, has_aux = args[0], _plain_options(t, args[1:2])[0], bool(t.leak(args[2]))
    positional, keywords = _call_boxes(t, args[3], args[4])
    points = Points(t, argnums, positional, "grad")

    def body() -> Box:
        value, aux = _split_aux(t, has_aux, call(t, function, points.inner(t), keywords), "grad")
        if not issubclass(type(value), LT) or value.dim():
            raise t.stop("LB0012", "grad of a function whose value is no tensor without dims")
        return box_of_tree(t, (value, aux))

    t.repeats.autograd_comes_on()
    with torch.enable_grad():
        region, tensors, returned = trace_region(t, points.standing, body, "a function under grad", effects=True)
    attrs = {"transform": "grad", "argnums": tuple(range(len(points.operands)))}
    results = _record(t, region, points.operands, attrs)
    count = len(points.operands)
    value, aux = tree_of(t, returned, results[count:])[0]
    return points.trees(t, results[:count]), t.wrap(value), box_of_tree(t, aux) if has_aux else None


def _call_boxes(t: Tracer, args: Box, kwargs: Box) -> tuple[list[Box], Kwargs]:
    from lect.frontends.capture.iteration import iterate, mapping_items

    return iterate(t, args), {str(name): box for name, box in mapping_items(t, kwargs).items()}


def grad(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`grad_impl(func, argnums, has_aux, args, kwargs)`."""
    gradients, _, aux = _grad_and_value(t, args)
    return gradients if aux is None else t.make_tuple([gradients, aux])


def grad_and_value(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`grad_and_value_impl(func, argnums, has_aux, args, kwargs)`."""
    gradients, value, aux = _grad_and_value(t, args)
    return t.make_tuple([gradients, value if aux is None else t.make_tuple([value, aux])])


def _two_parts(t: Tracer, function: Box, points: Points, keywords: Kwargs, has_aux: bool, what: str) -> tuple[Region, tuple[list[Any], Any], int, int]:
    """Follow a function; the region, what it returned as `(value, aux)`, and how many tensors are in the value and in all."""
    counts: list[int] = []

    def body() -> Box:
        value, aux = _split_aux(t, has_aux, call(t, function, points.inner(t), keywords), what)
        leaves = flatten(value)[0]
        if not leaves or any(not issubclass(type(leaf), LT) for leaf in leaves):
            raise t.stop("LB0012", f"{what} of a function whose value is no tree of tensors")
        counts.append(len(leaves))
        return box_of_tree(t, (value, aux))

    t.repeats.autograd_comes_on()
    with torch.enable_grad():
        region, tensors, returned = trace_region(t, points.standing, body, f"a function under {what}", effects=True)
    return region, returned, counts[0], len(tensors)


def jvp(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.func.jvp(func, primals, tangents, *, strict=False, has_aux=False)`."""
    from lect.frontends.capture.iteration import iterate

    options = {name: t.leak(box) for name, box in kwargs.items()}
    if len(args) != 3 or options.get("strict"):
        raise t.stop("LB0012", "jvp that is strict, or with keywords for its arguments")
    has_aux = bool(options.get("has_aux"))
    primals = iterate(t, args[1])
    points = Points(t, tuple(range(len(primals))), primals, "jvp", grad=False)
    tangents, spec = flatten(tuple([lower_box(t, box) for box in iterate(t, args[2])]))
    if len(tangents) != len(points.operands) or any(not issubclass(type(leaf), LT) for leaf in tangents):
        raise t.stop("LB0012", "jvp with tangents that do not fit the points")
    region, returned, count, total = _two_parts(t, args[0], points, {}, has_aux, "jvp")
    results = _record(t, region, [*points.operands, *tangents], {"transform": "jvp", "aux": total - count})
    value, aux = tree_of(t, returned, results[:total])[0]
    spec = flatten(value)[1]
    parts = [t.wrap(value), unflatten(t, results[total:], spec)]
    return t.make_tuple([*parts, box_of_tree(t, aux)] if has_aux else parts)


# ---- vjp -------------------------------------------------------------------------------------------------------------


class PulledBack:
    """What `vjp` keeps: the region of the function, to be called again for each cotangent.  It has slots, so nothing takes it out of the trace."""

    __slots__ = ("points", "region", "spec")

    def __init__(self, region: Region, points: Points, spec: Any) -> None:
        self.region = region
        self.points = points
        self.spec = spec


def vjp(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.func.vjp(func, *primals, has_aux=False)`: the value now, the cotangents when the second result is called.

    The function is computed once more for each such call, so it must draw no random numbers.
    """
    if any(t.leak(box) for box in kwargs.values()):
        raise t.stop("LB0003", "vjp with auxiliary results")
    points = Points(t, tuple(range(len(args) - 1)), args[1:], "vjp")
    drawn = t.mode.draws
    region, returned, _, _ = _two_parts(t, args[0], points, {}, False, "vjp")
    if t.mode.draws != drawn:
        raise t.stop("LB0003", "vjp of a function that draws random numbers")
    value, _ = tree_of(t, returned, inline_region(t, region, points.operands))[0]
    pulled = t.made(PulledBack(region, points, flatten(value)[1]))
    return t.make_tuple([box_of_tree(t, value), t.made(functools.partial(pull_back, pulled[0]))])


def pull_back(pulled: Any, cotangents: Any) -> Any:
    """Stands in the trace for the function that `vjp` returns."""
    raise AssertionError("this function is followed, never called")


def _pull_back(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    pulled: PulledBack = args[0][0]
    if any(t.leak(box) not in (None, True) for name, box in kwargs.items() if name == "retain_graph") or len(args) != 2 or "create_graph" in kwargs:
        raise t.stop("LB0012", "the function that vjp gives, with other arguments than cotangents")
    cotangents, spec = flatten(lower_box(t, args[1]))
    if spec != pulled.spec or any(not issubclass(type(leaf), LT) for leaf in cotangents):
        raise t.stop("LB0012", "cotangents that do not fit the value of the function")
    region = Region([_copy(pulled.region)])
    results = _record(t, region, [*pulled.points.operands, *cotangents], {"transform": "vjp"})
    return pulled.points.trees(t, results)


def _copy(region: Region) -> Block:
    """A copy of the block of a region."""
    block = region.blocks[0]
    made = Block([value.type for value in block.args])
    mapping: dict[Any, Any] = dict(zip(block.args, made.args))
    for op in block:
        made.append(op.clone(mapping))
    return made


# ---- Jacobians -------------------------------------------------------------------------------------------------------


def jacrev(func: Any, argnums: Any, has_aux: bool, chunk_size: Any, *args: Any, **kwargs: Any) -> Any:
    """The function that `torch.func.jacrev` returns, called."""
    return torch.func.jacrev(func, argnums, has_aux=has_aux, chunk_size=chunk_size)(*args, **kwargs)


def jacfwd(func: Any, argnums: Any, has_aux: bool, randomness: str, *args: Any, **kwargs: Any) -> Any:
    """The function that `torch.func.jacfwd` returns, called."""
    return torch.func.jacfwd(func, argnums, has_aux=has_aux, randomness=randomness)(*args, **kwargs)


def _make_jacobian(called: Callable[..., Any], names: tuple[str, ...], defaults: tuple[Any, ...]) -> Any:
    """The rule of `jacrev` or `jacfwd` itself: the function that it returns, with the options bound."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        options = [_plain_options(t, [kwargs[name]])[0] if name in kwargs else default for name, default in zip(names, defaults)]
        options[: len(args) - 1] = _plain_options(t, args[1:])
        return t.made(functools.partial(called, t.leak(args[0]), *options))

    return rule


def _jacobian(name: str) -> Any:
    """The rule of the function that `jacrev` or `jacfwd` returns."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        function, argnums, has_aux = args[0], _plain_options(t, args[1:2])[0], bool(t.leak(args[2]))
        if t.leak(args[3]) not in (None, "error"):
            raise t.stop("LB0003", f"{name} in chunks, or with random numbers")
        points = Points(t, argnums, args[4:], name, grad=name == "jacrev")
        region, returned, count, total = _two_parts(t, function, points, kwargs, has_aux, name)
        attrs = {"transform": name, "argnums": tuple(range(len(points.operands))), "aux": total - count}
        results = _record(t, region, points.operands, attrs)
        width = len(points.operands)
        leaves, spec = returned
        _, aux = pytree.tree_unflatten([*range(count), *leaves[count:]], spec)
        value, _ = pytree.tree_unflatten(leaves, spec)
        jacobians = [points.trees(t, results[number * width : (number + 1) * width])[0] for number in range(count)]
        made = box_of_tree(t, pytree.tree_unflatten(jacobians, flatten(value)[1]))
        if not has_aux:
            return made
        rest = iter(results[count * width :])
        return t.make_tuple([made, box_of_tree(t, pytree.tree_map(lambda leaf: next(rest) if issubclass(type(leaf), LT) else leaf, aux))])

    return rule


FUNCTORCH: Mapping[Any, Any] = MappingProxyType(
    {
        _VMAP_IMPL: vmap,
        _GRAD_IMPL: grad,
        _GRAD_AND_VALUE_IMPL: grad_and_value,
        torch.func.jvp: jvp,
        torch.func.vjp: vjp,
        pull_back: _pull_back,
        torch.func.jacrev: _make_jacobian(jacrev, ("argnums", "has_aux", "chunk_size"), (0, False, None)),
        torch.func.jacfwd: _make_jacobian(jacfwd, ("argnums", "has_aux", "randomness"), (0, False, "error")),
        jacrev: _jacobian("jacrev"),
        jacfwd: _jacobian("jacfwd"),
    }
)
