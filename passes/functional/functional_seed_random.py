"""Random operators become functions of one seed, which is drawn once, and of the number of a stream.

    %0 = functional.opaque(%x) {target = @aten.bernoulli.p, args = [#functional.operand<0>, 0.7]} : !t
    %1 = functional.opaque() {target = @aten.randn.default, args = [[8]]} : !u
    =>
    %seed = functional.opaque() {target = @aten.randint.low, args = [-2^63, 2^63 - 1, []], kwargs = {dtype = i64}} : !functional.tensor<i64>
    %0 = functional.rand(%seed) {shape = [8], element = f32} : !t
    %1 = functional.lt(%0) {other = 0.7} : !m
    %2 = functional.cast(%1) {to = f32} : !t
    %3 = functional.randn(%seed) {shape = [8], element = f32, offset = 1} : !u

The seed is the graph's only draw from torch's default generator, made before everything else: `torch.manual_seed` makes a run repeatable, and two runs
differ.  Every random operator gets a stream of its own, its `offset`, so no two of them share numbers and none is merged with another.  What is left is
pure: it fuses with its neighbours, and what is computed again is the same.

The numbers have eager's distribution and are not eager's numbers.  Operators stay as they are, and draw what eager draws, when they have a generator of
their own, and when no formula is given here (`randperm`, `poisson`, ...).

With `rng=eager` all operators stay, in their order, so that the numbers are eager's.  The operators behind in-place functions (`normal_`) fill a new
tensor, which gives eager's numbers where the tensor is contiguous; another is an error, and its graph is left to torch.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any, ClassVar

from lect.dialects.functional import creation, gather, pointwise, reduction, view
from lect.dialects.functional.ops import FuncOp, OpaqueOp, OperandRef
from lect.dialects.functional.types import TensorType
from lect.ir import Context, LectError, Location, Operation, PassFailure, ScalarType, SymbolRef, Value
from lect.ir.types import f32, f64, i64
from lect.passes.base import Pass, option

DRAW = "aten.randint.low"
DRAWN = (-(1 << 63), (1 << 63) - 1, ())
# Half of the least distance of uniform numbers: its logarithm is finite.
LEAST: Mapping[str, float] = MappingProxyType({"f32": 2.0**-25, "f64": 2.0**-54})
LARGEST: Mapping[str, float] = MappingProxyType({"f16": 65504.0, "bf16": (2 - 2.0**-7) * 2.0**127, "f32": (2 - 2.0**-23) * 2.0**127, "f64": sys.float_info.max})
DIGITS: Mapping[str, int] = MappingProxyType({"f16": 11, "bf16": 8, "f32": 24, "f64": 53})
FILLS = frozenset(
    "aten." + name
    for name in (
        "bernoulli.p bernoulli.Tensor uniform.default normal_functional.default exponential.default random.default random.from random.to "
        "log_normal.default cauchy.default geometric.default"
    ).split()
)
# Eager's words: a graph that has drawn a seed is not run again for them.
NO_PROBABILITY = (
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request "
    "to PyTorch.)"
)
NO_WEIGHT = "probability tensor contains either `inf`, `nan` or element < 0"
NO_WEIGHTS = "invalid multinomial distribution (sum of probabilities <= 0)"
NEGATIVE_WEIGHT = "invalid multinomial distribution (encountering probability entry < 0)"
INFINITE_WEIGHT = "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
SHORT_ROW = 64  # elements that own kernels sort
RARE = 2.0**-10
"""A probability nearer than this to 0 or 1 is compared with numbers of f64."""


@dataclass(frozen=True)
class FunctionalSeedRandom(Pass):
    """Replace random operators that draw from the default generator of a CPU or of a GPU."""

    name: ClassVar[str] = "functional-seed-random"
    rng: str = option("", "counter (operators with a formula become functions of a seed) or eager (all stay); the option of the compile when empty")

    def run(self, op: Operation, ctx: Context) -> None:
        """Rewrite every graph of `op`.  Raises `PassFailure` for another `rng`, and `LectError` for a tensor that is not filled as eager fills it."""
        rng = self.rng or ctx.options.get("rng", "counter")
        if rng not in ("counter", "eager"):
            raise PassFailure(f"rng is one of counter, eager, got '{rng}'")
        for func in op.body:
            if not isinstance(func, FuncOp):
                continue
            if rng == "counter":
                ctx.count("random operators seeded", Streams(func).replace_all())
                continue
            for inner in func.body:
                _require_eager_order(inner)


def _require_eager_order(op: Operation) -> None:
    """Raise `LectError` for a fill of a tensor that is not contiguous: eager fills that in its own order, which the pure operator does not follow.

    The tensor is the first operand, whose elements the operator does not look at.
    """
    if isinstance(op, OpaqueOp) and op.target.leaf in FILLS and not op.operands[0].type.is_contiguous:  # type: ignore[attr-defined]
        raise LectError(f"{op.target.leaf} in place of a tensor that is not contiguous gives other numbers than eager", op=op)


class Streams:
    """The rewrite of one graph: the seed, once it is needed, and how many streams were given away, from number `first` on."""

    def __init__(self, func: FuncOp, first: int = 0) -> None:
        self.func = func
        self.seed: Value | None = None
        self.streams = first
        self.device = next((value.type.device for op in func.body for value in op.results if value.type.device != "cpu"), "cpu")
        self.place = {} if self.device == "cpu" else {"device": self.device}

    def replace_all(self) -> int:
        """Replace what has a formula; how many operators those are."""
        count = 0
        for op in list(self.func.body):
            rule = RULES.get(op.target.leaf) if isinstance(op, OpaqueOp) else None
            if rule is None or op.args == DRAWN or not self._is_plain(op) or not _takes(rule, op):
                continue
            found = rule(Writer(self, op), *op.args, **_settings(op.kwargs))
            if found is not None:
                op.replace(list(found) if isinstance(found, tuple) else [found])
                count += 1
        return count

    def _is_plain(self, op: Operation) -> bool:
        """Whether the operator makes real numbers on the device of the graph, for which there are kernels."""
        types: list[Any] = [value.type for value in op.results]
        known = self.device == "cpu" or self.device.startswith("cuda")
        return known and all(type.device == self.device and type.element.kind != "complex" for type in types)

    def the_seed(self) -> Value:
        """The seed of the graph."""
        if self.seed is None:
            type = TensorType((), i64, (), self.device)
            place = {"device": {"device": self.device}} if self.place else {}
            draw = OpaqueOp([], SymbolRef(DRAW), args=DRAWN, kwargs={"dtype": i64, **place}, result_types=[type], loc=self.func.loc)
            self.func.body.insert_before(self.func.body.first, draw)
            self.seed = draw.results[0]
            self.seed.hint = "seed"
        return self.seed


def _takes(rule: Rule, op: OpaqueOp) -> bool:
    """Whether a rule has the parameters for the arguments of an operator; a call of it that is none is left to torch, which refuses it."""
    try:
        signature(rule).bind(None, *op.args, **_settings(op.kwargs))
    except TypeError:
        return False
    return True


def _settings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments that say more than the type of the result does."""
    return {name: value for name, value in kwargs.items() if name not in ("dtype", "layout", "device", "pin_memory", "memory_format")}


class Writer:
    """Writes operations in front of `op`, laid out as its result `number` is."""

    def __init__(self, streams: Streams, op: OpaqueOp, number: int = 0) -> None:
        self.streams = streams
        self.op = op
        self.loc: Location = op.loc
        self.type: TensorType = op.results[number].type

    @property
    def element(self) -> ScalarType:
        """The element type of the result."""
        return self.type.element

    @property
    def wide(self) -> ScalarType:
        """The type in which numbers are computed before they are rounded to the result's: f64 or f32."""
        return f64 if self.element is f64 else f32

    def operand(self, reference: Any) -> Any:
        """The operand that an argument stands for; None for a number."""
        return self.op.operands[reference.number] if isinstance(reference, OperandRef) else None

    def write(self, cls: Any, *operands: Value, number: int = 0, **attrs: Any) -> Value:
        """One operation; its result, or the one of this number, has the strides of the operator's."""
        made = cls(*operands, loc=self.loc, **attrs)
        value: Value = made.results[number]
        type: Any = value.type
        if type.shape == self.type.shape and type.strides != self.type.strides:
            value.type = type.with_strides(self.type.strides)
            made.attrs["strides"] = self.type.strides
        return self.streams.func.body.insert_before(self.op, made).results[number]

    def to(self, value: Value, element: ScalarType) -> Value:
        """The value in another element type."""
        return value if value.type.element is element else self.write(creation.CastOp, value, to=element)  # type: ignore[attr-defined]

    def draw(self, cls: Any, element: ScalarType, **attrs: Any) -> Value:
        """One of the random operations, with the next stream."""
        where = {"shape": self.type.shape, **self.streams.place, **attrs}
        value = self.write(cls, self.streams.the_seed(), element=element, offset=self.streams.streams, **where)
        self.streams.streams += 1
        return value

    def chance(self, p: float) -> Value:
        """True with the probability p."""
        rare = min(p, 1 - p) < RARE
        return self.write(pointwise.LtOp, self.draw(creation.RandOp, f64 if rare else f32), other=float(p))

    def scaled(self, value: Value, factor: float, added: float, element: ScalarType | None = None) -> Value:
        """value * factor + added, each rounded, then rounded to `element` (the result's where it is left out)."""
        if factor != 1:
            value = self.write(pointwise.MulOp, value, other=float(factor))
        if added != 0:
            value = self.write(pointwise.AddOp, value, other=float(added))
        return self.to(value, element or self.element)


Rule = Callable[..., "Value | tuple[Value, ...] | None"]


def _is_number(*values: Any) -> bool:
    return all(type(value) in (int, float) and math.isfinite(value) for value in values)


def bernoulli(w: Writer, _: Any, p: Any = 0.5) -> Any:
    """bernoulli_(p)."""
    if not _is_number(p) or not 0 <= p <= 1:
        return None
    return w.to(w.chance(p), w.element)


def bernoulli_of(w: Writer, p: Any, generator: Any = None) -> Any:
    """bernoulli of a tensor of probabilities, which raises for one that is none; they are compared with numbers of f64, or of f32 for halves."""
    chance = w.operand(p)
    if generator is not None or chance is None or chance.type.element is not w.element or not w.element.is_float:
        return None
    wide = f32 if w.element.is_half else f64
    checked = w.write(gather.WithinOp, chance, min=0.0, max=1.0, message=NO_PROBABILITY)
    return w.to(w.write(pointwise.LtOp, w.draw(creation.RandOp, wide), w.to(checked, wide)), w.element)


def uniform(w: Writer, _: Any, low: Any = 0.0, high: Any = 1.0) -> Any:
    """uniform_(from, to): eager rounds the bounds to the tensor's type, and rounds the sum, which may be `to`."""
    if not w.element.is_float or not _is_number(low, high) or low > high:
        return None
    if max(-low, high, high - low) > LARGEST[w.element.spelling]:
        return None
    drawn = w.to(w.draw(creation.RandOp, w.element), w.wide)
    return w.scaled(drawn, high - low, low)


def normal(w: Writer, _: Any, mean: Any = 0.0, std: Any = 1.0) -> Any:
    """normal_(mean, std)."""
    if not w.element.is_float or not _is_number(mean, std) or std < 0:
        return None
    return w.scaled(w.draw(creation.RandnOp, w.wide), std, mean)


def normal_of_sizes(w: Writer, mean: Any, std: Any, _: Any) -> Any:
    """normal(mean, std, size)."""
    return normal(w, None, mean, std)


def exponential(w: Writer, _: Any, rate: Any = 1.0) -> Any:
    """exponential_(lambd): -log(u) / lambd of a number u in (0, 1), so that no result is zero."""
    if not w.element.is_float or not _is_number(rate) or rate <= 0:
        return None
    drawn = w.write(pointwise.ClampOp, w.draw(creation.RandOp, w.wide), min=LEAST[w.wide.spelling])
    return w.scaled(w.write(pointwise.LogOp, drawn), -1.0 / rate, 0)


def normal_around(w: Writer, mean: Any, std: Any = 1.0) -> Any:
    """normal(mean, std) of a tensor and a number."""
    centre = w.operand(mean)
    if centre is None or not _is_number(std) or std < 0 or centre.type.element is not w.element or not w.element.is_float:
        return None
    noise = w.scaled(w.draw(creation.RandnOp, w.wide), std, 0, w.wide)
    return w.to(w.write(pointwise.AddOp, noise, w.to(centre, w.wide)), w.element)


def normal_with(w: Writer, mean: Any, std: Any, generator: Any = None) -> Any:
    """normal with a tensor of deviations, which raises for a negative one; the mean is a number or a tensor of the same type."""
    spread = w.operand(std)
    if generator is not None or spread is None or spread.type.element is not w.element or not w.element.is_float:
        return None
    centre = w.operand(mean)
    if not _is_number(mean) and (centre is None or centre.type.element is not w.element):
        return None
    checked = w.write(gather.WithinOp, spread, min=0.0, message="normal expects all elements of std >= 0.0")
    noise = w.write(pointwise.MulOp, w.draw(creation.RandnOp, w.wide), w.to(checked, w.wide))
    if centre is None:
        return w.scaled(noise, 1, mean)
    return w.to(w.write(pointwise.AddOp, noise, w.to(centre, w.wide)), w.element)


def log_normal(w: Writer, _: Any, mean: Any = 1.0, std: Any = 2.0) -> Any:
    """log_normal_(mean, std): e to a normal number."""
    if not w.element.is_float or not _is_number(mean, std) or std <= 0:
        return None
    return w.to(w.write(pointwise.ExpOp, w.scaled(w.draw(creation.RandnOp, w.wide), std, mean, w.wide)), w.element)


def cauchy(w: Writer, _: Any, median: Any = 0.0, sigma: Any = 1.0) -> Any:
    """cauchy_(median, sigma): median + sigma * tan(pi * (u - 1/2)) of a uniform number u."""
    if not w.element.is_float or not _is_number(median, sigma) or sigma <= 0:
        return None
    angle = w.scaled(w.draw(creation.RandOp, w.wide), math.pi, -math.pi / 2, w.wide)
    return w.scaled(w.write(pointwise.TanOp, angle), sigma, median)


def geometric(w: Writer, _: Any, p: Any) -> Any:
    """geometric_(p): the least integer not below log(u) / log(1 - p) of a number u in (0, 1), in f64."""
    holds = w.element.is_float or w.element.bits >= 32
    if not holds or not _is_number(p) or not 0 < p < 1:
        return None
    drawn = w.write(pointwise.ClampOp, w.draw(creation.RandOp, f64), min=LEAST["f64"])
    trials = w.write(pointwise.MulOp, w.write(pointwise.LogOp, drawn), other=1.0 / math.log1p(-p))
    return w.to(w.write(pointwise.CeilOp, trials), w.element)


def rand(w: Writer, _: Any) -> Any:
    """rand, rand_like."""
    return w.draw(creation.RandOp, w.element) if w.element.is_float else None


def randn(w: Writer, _: Any) -> Any:
    """randn, randn_like."""
    return w.draw(creation.RandnOp, w.element) if w.element.is_float else None


def integers(w: Writer, low: Any, high: Any) -> Any:
    """Numbers in low..high-1 that the result's type holds."""
    if type(low) is not int or type(high) is not int or low >= high:
        return None
    return w.draw(creation.RandintOp, w.element, low=low, high=high) if _holds(w.element, low, high - 1) else None


def _holds(element: ScalarType, least: int, greatest: int) -> bool:
    """Whether a type holds all integers between two, both counted."""
    if element.is_float:
        exact = 1 << DIGITS[element.spelling]
        return -exact <= least and greatest <= exact
    if element.kind == "bool":
        return least >= 0 and greatest <= 1
    low = 0 if element.kind == "unsigned" else -(1 << element.bits - 1)
    return low <= least and greatest < low + (1 << element.bits)


def any_integers(w: Writer, _: Any) -> Any:
    """random_(): all integers from 0 on that the type holds, as far as a float tells them apart."""
    if w.element.is_float:
        return integers(w, 0, (1 << DIGITS[w.element.spelling]) + 1)
    signed = w.element.kind == "signed"
    return integers(w, 0, 2 if w.element.kind == "bool" else 1 << w.element.bits - signed)


def dropout(w: Writer, x: Any, p: Any, train: Any) -> Any:
    """native_dropout in training: the operand times the mask, times 1 / (1 - p), each rounded, and the mask."""
    if train is not True or not _is_number(p) or not 0 <= p <= 1 or not w.element.is_float or w.operand(x) is None or len(w.op.results) != 2:
        return None
    kept = Writer(w.streams, w.op, 1).chance(1 - p)
    product = w.write(pointwise.MulOp, w.operand(x), w.to(kept, w.element))
    return w.write(pointwise.MulOp, product, other=1.0 / (1 - p) if p < 1 else 0.0), kept


def rrelu(w: Writer, x: Any, noise: Any, lower: Any, upper: Any, train: Any, generator: Any = None) -> Any:
    """rrelu_with_noise in training: slopes between two numbers where the operand is not above zero; the noise is the slope, or 1.

    Eager reads the memory of an operand that is not contiguous as if it were, which is left to it.
    """
    if train is not True or generator is not None or not _is_number(lower, upper) or lower > upper or not w.element.is_float:
        return None
    if len(w.op.results) != 2 or not all(value is not None and value.type.is_contiguous for value in (w.operand(x), w.operand(noise))):
        return None
    slopes = w.scaled(w.draw(creation.RandOp, w.wide), upper - lower, lower, w.wide)
    value = w.operand(x)
    below = w.write(pointwise.LeOp, value, other=0.0)
    product = w.to(w.write(pointwise.MulOp, w.to(value, w.wide), slopes), w.element)
    rounded, one = w.to(slopes, w.element), w.write(creation.FullOp, shape=(), value=1.0, element=w.element)
    return w.write(pointwise.WhereOp, below, product, value), Writer(w.streams, w.op, 1).write(pointwise.WhereOp, below, rounded, one)


def multinomial(w: Writer, weights: Any, count: Any, replacement: Any = False, generator: Any = None) -> Any:
    """multinomial: places drawn with probabilities in proportion to weights, from each row; weights that are none raise.

    Without replacement, the places of the greatest quotients of the weights and exponential numbers, as in eager.
    """
    x = w.operand(weights)
    if generator is not None or x is None or not x.type.element.is_float or type(count) is not int or x.type.is_empty or count < 1:
        return None
    wide, last = f64 if x.type.element is f64 else f32, x.type.rank - 1
    if replacement and count > 1:
        return _places_of_sums(w, w.to(x, wide), wide, last)
    checked = w.write(gather.WithinOp, w.to(x, wide), min=0.0, max=LARGEST[wide.spelling], message=NO_WEIGHT)
    drawn = w.write(pointwise.ClampOp, w.draw(creation.RandOp, wide, shape=x.type.shape), min=LEAST[wide.spelling])
    quotient = w.write(pointwise.DivOp, checked, w.write(pointwise.NegOp, w.write(pointwise.LogOp, drawn)))
    quotient = w.write(pointwise.AddOp, quotient, _zero_unless_nothing(w, w.write(reduction.ACCUMULATE["SumOp"], checked, dims=(last,), keepdim=True), wide))
    if count == 1:
        return w.write(reduction.WHICH["ArgmaxOp"], quotient, dim=last, keepdim=True)
    if x.type.shape[last] > SHORT_ROW:
        return w.write(reduction.TopkOp, quotient, number=1, k=count, dim=last)
    order = w.write(reduction.SortOp, quotient, number=1, dim=last, descending=True)
    return w.write(creation.CopyOp, w.write(view.SliceOp, order, dim=last, start=0, end=count))


def _zero_unless_nothing(w: Writer, total: Value, wide: ScalarType) -> Value:
    """Zeros, to be added so that the check is read; a sum of weights that is zero raises."""
    return w.write(gather.WithinOp, w.to(w.write(pointwise.EqOp, total, other=0.0), wide), max=0.0, message=NO_WEIGHTS)


def _places_of_sums(w: Writer, weights: Value, wide: ScalarType, last: int) -> Value:
    """Places drawn again and again: the first whose running sum is above a part of the whole sum, which is below it however it is rounded."""
    weights = w.write(gather.WithinOp, w.write(gather.WithinOp, weights, min=0.0, message=NEGATIVE_WEIGHT), max=LARGEST[wide.spelling], message=INFINITE_WEIGHT)
    sums = w.write(reduction.SCANS["CumsumOp"], weights, dim=last)
    size = sums.type.shape[last]  # type: ignore[attr-defined]
    whole = w.write(view.SliceOp, sums, dim=last, start=size - 1, end=size)
    whole = w.write(pointwise.AddOp, whole, _zero_unless_nothing(w, whole, wide))
    below = w.write(pointwise.NextafterOp, whole, other=0.0)
    part = w.write(pointwise.MinimumOp, w.write(pointwise.MulOp, w.draw(creation.RandOp, wide), whole), below)
    return w.write(pointwise.ClampOp, w.write(gather.SearchsortedOp, sums, part, right=True, element=i64), max=size - 1)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "aten.rand.default": rand,
        "aten.rand_like.default": rand,
        "aten.randn.default": randn,
        "aten.randn_like.default": randn,
        "aten.randint.default": lambda w, high, _: integers(w, 0, high),
        "aten.randint.low": lambda w, low, high, _: integers(w, low, high),
        "aten.randint_like.default": lambda w, _, high: integers(w, 0, high),
        "aten.randint_like.low_dtype": lambda w, _, low, high: integers(w, low, high),
        "aten.random.default": any_integers,
        "aten.random.from": lambda w, _, low, high: integers(w, low, high),
        "aten.random.to": lambda w, _, high: integers(w, 0, high),
        "aten.bernoulli.p": bernoulli,
        "aten.uniform.default": uniform,
        "aten.normal_functional.default": normal,
        "aten.normal.float_float": normal_of_sizes,
        "aten.normal.Tensor_float": normal_around,
        "aten.normal.Tensor_Tensor": normal_with,
        "aten.normal.float_Tensor": normal_with,
        "aten.bernoulli.default": bernoulli_of,
        "aten.log_normal.default": log_normal,
        "aten.cauchy.default": cauchy,
        "aten.geometric.default": geometric,
        "aten.exponential.default": exponential,
        "aten.multinomial.default": multinomial,
        "aten.native_dropout.default": dropout,
        "aten.rrelu_with_noise_functional.default": rrelu,
    }
)
