"""fx: calls of functions that take functions: the operations with regions.

A region is a Python function: its block arguments are the parameters, `fx.yield` names what it returns, and values of the blocks around it are its
free variables.  What a region makes is known inside of it alone.  Calls in a region happen when the region is called, which the operation says:

    fx.checkpoint        once, and again when gradients are asked for
    fx.cond              one of the two, as the predicate says
    fx.while_loop        the condition before each round of the body
    fx.scan              once for each slice
    fx.transform         as the transform of torch.func calls its function
    fx.autograd_function the forward once, the backward when gradients are asked for

Types inside of a region are those of its parameters: under `vmap` the type of one example.  A type says `requires_grad` as the trace found it; the
parameters of a region may differ from the operands in that alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from lect.dialects.fx.types import NumberType, TensorType
from lect.ir import (
    Attr,
    Block,
    HasParent,
    Operand,
    Operation,
    RegionField,
    SingleBlock,
    Terminator,
    Type,
    Value,
    Variadic,
    VariadicResult,
    op,
    require,
)

REGION_OPS = ("fx.checkpoint", "fx.cond", "fx.while_loop", "fx.scan", "fx.transform", "fx.autograd_function")
TRANSFORMS = frozenset({"vmap", "grad", "jvp", "vjp", "jacrev", "jacfwd"})
RANDOMNESS = frozenset({"error", "different", "same"})


def same_data(first: Type, second: Type) -> bool:
    """Equal but for `requires_grad`."""
    if not isinstance(first, TensorType) or not isinstance(second, TensorType):
        return first is second
    return (first.shape, first.element, first.strides, first.device) == (second.shape, second.element, second.strides, second.device)


def yields(block: Block) -> list[Value]:
    """What a region returns: nothing when it ends in anything but `fx.yield`."""
    last = block.last
    return list(last.operands) if isinstance(last, YieldOp) else []


def _require_like(op: Operation, found: Sequence[Value], wanted: Sequence[Value], what: str, of: str) -> None:
    require(len(found) == len(wanted), op, "'{}' needs as many {} as {}, got {} and {}", op.name, what, of, len(found), len(wanted))
    for number, (one, other) in enumerate(zip(found, wanted)):
        require(same_data(one.type, other.type), op, "{} {} of '{}' should be {} as in {}, got {}", what, number, op.name, other.type, of, one.type)


@op("fx.yield")
class YieldOp(Operation):
    """Ends a region and names what it returns."""

    values: Variadic[(TensorType, NumberType)]
    traits = (Terminator, HasParent(*REGION_OPS))


@op("fx.checkpoint")
class CheckpointOp(Operation):
    """`torch.utils.checkpoint.checkpoint`: call the region, and keep for its gradients nothing but the operands.

    With `use_reentrant` autograd sees one node, and only operands get gradients; `preserve_rng_state` gives the second call the random numbers of the
    first.
    """

    inputs: Variadic[TensorType]
    use_reentrant: Attr[bool] = False
    preserve_rng_state: Attr[bool] = True
    body_region: RegionField
    outputs: VariadicResult[TensorType]
    traits = (SingleBlock,)

    def verify(self) -> None:
        _require_like(self, self.body.args, self.inputs, "parameters", "operands")
        _require_like(self, self.results, yields(self.body), "results", "yielded values")


@op("fx.cond")
class CondOp(Operation):
    """Call the first region when the only element of the predicate is true, else the second."""

    predicate: Operand[TensorType]
    then: RegionField
    otherwise: RegionField
    outputs: VariadicResult[TensorType]
    traits = (SingleBlock,)

    def verify(self) -> None:
        require(all(size == 1 for size in self.predicate.type.shape), self, "the predicate of 'fx.cond' has one element, got {}", self.predicate.type)
        for region in self.regions:
            require(not region.blocks[0].args, self, "the regions of 'fx.cond' take no parameters")
            _require_like(self, yields(region.blocks[0]), self.results, "yielded values", "results")


@op("fx.while_loop")
class WhileLoopOp(Operation):
    """While the first region, called on the carried values, gives true, replace them by what the second gives for them."""

    carried: Variadic[TensorType]
    condition: RegionField
    body_region: RegionField
    outputs: VariadicResult[TensorType]
    traits = (SingleBlock,)

    def verify(self) -> None:
        for region in self.regions:
            _require_like(self, region.blocks[0].args, self.carried, "parameters", "carried values")
        answer = yields(self.condition.blocks[0])
        one = len(answer) == 1 and isinstance(answer[0].type, TensorType) and all(size == 1 for size in answer[0].type.shape)
        require(one, self, "the condition of 'fx.while_loop' yields one tensor with one element")
        _require_like(self, yields(self.body_region.blocks[0]), self.carried, "yielded values", "carried values")
        _require_like(self, self.results, self.carried, "results", "carried values")


@op("fx.scan")
class ScanOp(Operation):
    """Call the region on the carried values and the slices of `over` along dim 0, one slice after the other, in reverse order when asked to.

    It yields the next carried values and then what is kept of the slice; results are the last carried values and the kept ones stacked along dim 0.
    """

    carried: Variadic[TensorType]
    over: Variadic[TensorType]
    reverse: Attr[bool] = False
    body_region: RegionField
    outputs: VariadicResult[TensorType]
    traits = (SingleBlock,)

    def verify(self) -> None:
        count, found = len(self.carried), yields(self.body)
        require(bool(self.over), self, "'fx.scan' needs a tensor to go over")
        lengths = {value.type.shape[0] if value.type.shape else None for value in self.over}
        require(len(lengths) == 1 and None not in lengths, self, "'fx.scan' goes over tensors of one length, got {}", sorted(map(str, lengths)))
        require(len(self.body.args) == count + len(self.over), self, "the region of 'fx.scan' takes the carried values and one slice of each tensor")
        _require_like(self, self.body.args[:count], self.carried, "parameters", "carried values")
        _require_like(self, found[:count], self.carried, "yielded values", "carried values")
        require(len(self.results) == len(found), self, "'fx.scan' has a result for each of {} yielded values, got {}", len(found), len(self.results))


@op("fx.transform")
class TransformOp(Operation):
    """A function transform of torch.func, applied to the region and called on the operands.

    `vmap`: `in_dims` holds a dim or none for each operand, `out_dims` one for each result; `randomness` and `chunk_size` are vmap's own.
    `grad`: the first yielded value is differentiated by the operands of `argnums`; results are these gradients, then all yielded values.
    `jvp`: operands are the points, then their tangents; results are the yielded values, then their tangents (not of the last `aux` ones).
    `vjp`: operands are the points, then a cotangent for each yielded value; results are the cotangents of the points.
    `jacrev`, `jacfwd`: results are the Jacobians of each yielded value by the operands of `argnums`, then the last `aux` yielded values as they are.
    """

    inputs: Variadic[TensorType]
    transform: Attr[TRANSFORMS]
    in_dims: Attr[tuple] = ()
    out_dims: Attr[tuple] = ()
    randomness: Attr[RANDOMNESS] = "error"
    chunk_size: Attr[object] = None
    argnums: Attr[tuple] = ()
    aux: Attr[int] = 0
    body_region: RegionField
    outputs: VariadicResult[TensorType]
    traits = (SingleBlock,)

    def verify(self) -> None:
        found, count = len(yields(self.body)), len(self.operands)
        require(0 <= self.aux <= found, self, "'aux' counts yielded values, of which there are {}, got {}", found, self.aux)
        bad = [number for number in self.argnums if type(number) is not int or not 0 <= number < count]
        require(not bad, self, "'argnums' are numbers of operands, of which there are {}, got {}", count, bad)
        getattr(self, f"_verify_{self.transform}")(found, count)

    def _verify_vmap(self, found: int, count: int) -> None:
        require(len(self.in_dims) == count, self, "'in_dims' needs an entry for each of {} operands, got {}", count, len(self.in_dims))
        require(any(dim is not None for dim in self.in_dims), self, "'vmap' needs an operand to go over")
        require(len(self.out_dims) == found, self, "'out_dims' needs an entry for each of {} yielded values, got {}", found, len(self.out_dims))
        self._expect(count, found)

    def _verify_grad(self, found: int, count: int) -> None:
        require(found >= 1 and bool(self.argnums), self, "'grad' needs a value to differentiate and 'argnums'")
        self._expect(count, len(self.argnums) + found)

    def _verify_jvp(self, found: int, count: int) -> None:
        require(count % 2 == 0, self, "'jvp' needs a tangent for each point, got {} operands", count)
        self._expect(count // 2, 2 * found - self.aux)

    def _verify_vjp(self, found: int, count: int) -> None:
        points = len(self.body.args)
        require(count == points + found, self, "'vjp' needs {} points and {} cotangents, got {} operands", points, found, count)
        self._expect(points, points)

    def _verify_jacrev(self, found: int, count: int) -> None:
        self._expect(count, (found - self.aux) * len(self.argnums) + self.aux)

    _verify_jacfwd = _verify_jacrev

    def _expect(self, parameters: int, results: int) -> None:
        got = len(self.body.args)
        require(got == parameters, self, "the region of '{}' takes {} parameters, got {}", self.transform, parameters, got)
        require(len(self.results) == results, self, "'{}' has {} results, got {}", self.transform, results, len(self.results))


@op("fx.autograd_function")
class AutogradFunctionOp(Operation):
    """A `torch.autograd.Function` of the program.

    The forward takes the operands and yields the results, then `saved` values for the backward.  The backward takes these, then a gradient for each
    result, and yields gradients; `gradients` holds, for each operand, the number of the yielded value or none.
    """

    inputs: Variadic[TensorType]
    saved: Attr[int] = 0
    gradients: Attr[tuple]
    non_differentiable: Attr[tuple] = ()
    forward: RegionField
    backward: RegionField
    outputs: VariadicResult[TensorType]
    traits = (SingleBlock,)

    def verify(self) -> None:
        given, made = yields(self.forward.blocks[0]), yields(self.backward.blocks[0])
        _require_like(self, self.forward.blocks[0].args, self.inputs, "parameters", "operands")
        require(0 <= self.saved <= len(given), self, "'saved' counts values that the forward yields, of which there are {}, got {}", len(given), self.saved)
        count = len(given) - self.saved
        require(len(self.results) == count, self, "'fx.autograd_function' has a result for each of {} yielded values, got {}", count, len(self.results))
        takes = len(self.backward.blocks[0].args)
        require(takes == len(given), self, "the backward takes {} saved values and {} gradients, got {} parameters", self.saved, count, takes)
        require(len(self.gradients) == len(self.inputs), self, "'gradients' needs an entry for each of {} operands", len(self.inputs))
        used = sorted(number for number in self.gradients if number is not None)
        require(used == list(range(len(made))), self, "'gradients' must use each of {} yielded values once, got {}", len(made), used)
        bad = [number for number in self.non_differentiable if not 0 <= number < count]
        require(not bad, self, "'non_differentiable' holds numbers of results, got {}", bad)
