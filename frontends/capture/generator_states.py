"""`torch.Generator`: a draw is a call of the graph, which takes the state of the generator and gives the one behind it.

The state of a generator from outside is an input of the graph, read in front of it; the last one is set behind it.  A generator that the frame makes
begins with a state that only its seed decides, and is made by the residual code if it outlives the frame.  Nothing is drawn while tracing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import Any

import torch

from lect.dialects.fx import generators
from lect.dialects.fx.python_values import short_name
from lect.frontends.capture import torch_calls
from lect.frontends.capture.guards import tensor_attributes
from lect.frontends.capture.numbers import with_constants
from lect.frontends.capture.sources import Source
from lect.frontends.capture.targets import name_of
from lect.frontends.capture.tracer import Box, Effect, Tracer
from lect.frontends.tensors import LT, make_lt, meta_of
from lect.ir import LectError, Value

Kwargs = dict[str, Box]


class Generator:
    """What a trace knows of a generator: its box, the state in front of the frame (None for one made in it), the state now, the seed that the frame has
    set, and whether it has set a state, which brings a seed of its own."""

    __slots__ = ("before", "box", "is_set", "seed", "state")

    def __init__(self, box: Box, state: LT | None, seed: int | None) -> None:
        self.box = box
        self.before = self.state = state
        self.seed = seed
        self.is_set = False


def is_state(source: Source) -> bool:
    """True for the source of the state of a generator, which is another tensor each time it is read."""
    return source.kind == "call" and source.base is not None and source.base.kind == "attr" and source.base.key == "get_state"


def draws_from_generator(t: Tracer, function: Any, args: list[Box], kwargs: Kwargs) -> Box:
    """A call of a torch function with `generator=`."""
    if type(function) is FunctionType:
        return t.code_table.inline(t, t.static(function), args, kwargs)  # type: ignore[no-any-return]
    box = kwargs["generator"]
    others = {name: each for name, each in kwargs.items() if name != "generator"}
    if box[0] is torch.default_generator:
        t.static(box[0]) if box[1] is None else t.guards.is_object(box[1], box[0])
        return torch_calls.torch_call(t, function, args, others)
    generator = _known(t, box)
    name = name_of(function)
    raw = with_constants([torch_calls.lower_box(t, each) for each in args])
    raw_kwargs = with_constants({key: torch_calls.lower_box(t, each) for key, each in others.items()})
    writes = name is not None and short_name(name).endswith("_")
    _check(t, name, raw, raw_kwargs, writes)
    try:
        text, operands = generators.encode(raw, raw_kwargs)
    except LectError as error:
        raise t.stop("LB0006", error.message) from None
    t.memo.switch_off()
    given = [(name, None), (text, None), t.made(operands), (_state_of(t, generator), None)]
    pair = torch_calls.torch_call(t, _operators().draw.default, given, {})
    result, generator.state = pair[0]
    if writes:
        return torch_calls.torch_call(t, torch.Tensor.copy_, [args[0], (result, None)], {})
    return (result, None)


def _check(t: Tracer, name: str | None, raw: list[Any], raw_kwargs: dict[str, Any], writes: bool) -> None:
    """Break for draws that no operator stands for."""
    if name is None or "out" in raw_kwargs:
        raise t.stop("LB0006", "a generator for a function without a name, or with an out")
    tensors = torch_calls.traced_tensors([raw, raw_kwargs])
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise t.stop("LB0021", f"{name} with a generator, on a tensor that requires gradients")
    if any(tensor.device.type != "cpu" for tensor in tensors) or torch.device(raw_kwargs.get("device") or "cpu").type != "cpu":
        raise t.stop("LB0006", "a generator for another device than the CPU")
    if writes and not (raw and type(raw[0]) is LT and torch.empty_like(raw[0]).stride() == raw[0].stride()):
        raise t.stop("LB0006", f"{name} with a generator, on a tensor with gaps or overlaps")


def _operators() -> Any:
    generators.define()
    return torch.ops.lect


def _known(t: Tracer, box: Box) -> Generator:
    value, source = box
    found = t.generator_states.get(id(value))
    if found is None:
        if type(value) is not torch.Generator or value.device.type != "cpu":
            raise t.stop("LB0006", "a generator of random numbers that is none of the CPU")
        if source is None and not t.is_fresh(value):
            raise t.stop("LB0007", "a generator of random numbers")
        if t.graph.scopes:
            raise t.stop("LB0004", "a generator of random numbers in a function that torch calls")
        t.guard_type(box)
        seed = value.initial_seed() if t.is_fresh(value) else None
        if source is not None:
            t.mutated[id(value)] = box
            t.guards.equals(source.attr("device").attr("type"), "cpu")
        found = t.generator_states[id(value)] = Generator(box, None, seed)
        t.keep.append(value)
    if t.graph.scopes:
        raise t.stop("LB0004", "a generator of random numbers in a function that torch calls")
    return found


def _state_of(t: Tracer, generator: Generator) -> LT:
    """The state of a generator at this moment."""
    if generator.state is None:
        source = generator.box[1]
        if generator.seed is not None:
            generator.state = torch_calls.torch_call(t, _operators().generator_state.default, [(str(generator.seed), None)], {})[0]
        else:
            assert source is not None
            with torch._C._DisableTorchDispatch():
                real = generator.box[0].get_state()
            place = source.attr("get_state").step("call")
            generator.before = generator.state = t.add_input(real, make_lt(meta_of(real)), place, tensor_attributes(real))[0]
    assert generator.state is not None
    return generator.state


def states_to_set(t: Tracer) -> None:
    """At the end of a frame: the generators from outside get the states that they have now."""
    for generator in list(t.generator_states.values()):
        if generator.box[1] is not None and generator.state is not generator.before:
            t.effects.append(Effect(torch.Generator.set_state, generator.box, [generator.state], {}, t.loc))


def generator_value(builder: Any, value: torch.Generator) -> Value:
    """A generator that the frame has made and that outlives it."""
    made: Value = builder.call(torch.Generator)
    known = builder.t.generator_states.get(id(value))
    if known is not None:
        state = builder.value(_state_of(builder.t, known))
        builder.late.append(lambda: builder.call(torch.Generator.set_state, made, state))
    return made


# ---- rules -----------------------------------------------------------------------------------------------------------


def _make(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`torch.Generator(device)`."""
    given = [torch_calls.lower_box(t, box) for box in [*args, *kwargs.values()]]
    if len(given) > 1 or torch.device(given[0] if given else "cpu").type != "cpu":
        raise t.stop("LB0006", "a generator of random numbers that is none of the CPU")
    return t.made(torch.Generator())


def _manual_seed(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`generator.manual_seed(seed)`, which gives the generator."""
    if len(args) != 2 or kwargs or args[0][0] is torch.default_generator:
        raise t.stop("LB0004", "a seed for the generator of the process")
    generator = _known(t, args[0])
    (seed,) = with_constants([torch_calls.lower_box(t, args[1])])
    if type(seed) is not int or not -(2**63) <= seed < 2**64:
        raise t.stop("LB0003", "a seed that is no number of 64 bits")
    generator.seed = torch.Generator().manual_seed(seed).initial_seed()
    generator.state = None
    _state_of(t, generator)
    return args[0]


def _get_state(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`generator.get_state()`: a copy."""
    if args[0][0] is torch.default_generator:
        return t.code_table.specials[torch.get_rng_state](t, [], {})  # type: ignore[no-any-return]
    return torch_calls.torch_call(t, torch.Tensor.clone, [(_state_of(t, _known(t, args[0])), None)], {})


def _set_state(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`generator.set_state(state)`, which gives the generator."""
    if len(args) != 2 or kwargs or type(args[1][0]) is not LT or args[0][0] is torch.default_generator:
        raise t.stop("LB0004", "a state for the generator of the process, or one that is no tensor")
    generator, state = _known(t, args[0]), args[1][0]
    if state.dtype is not torch.uint8 or not state.is_contiguous() or state.shape != torch.default_generator.get_state().shape:
        raise t.stop("LB0003", "a state of another generator")
    generator.state = torch_calls.torch_call(t, torch.Tensor.clone, [args[1]], {})[0]
    generator.seed, generator.is_set = None, True
    return args[0]


def _initial_seed(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`generator.initial_seed()`."""
    generator = _known(t, args[0]) if args[0][0] is not torch.default_generator else None
    if generator is None or generator.is_set:
        raise t.stop("LB0003", "the seed of the process, or of a state that the frame has set")
    source = generator.box[1]
    if generator.seed is not None or source is None:
        return (generator.seed, None)
    return t.wrap(args[0][0].initial_seed(), source.attr("initial_seed").step("call"))


_GENERATOR: Any = torch.Generator
GENERATOR_STATES: Mapping[Any, Any] = MappingProxyType(
    {
        _GENERATOR: _make,
        _GENERATOR.manual_seed: _manual_seed,
        _GENERATOR.get_state: _get_state,
        _GENERATOR.set_state: _set_state,
        _GENERATOR.initial_seed: _initial_seed,
    }
)
