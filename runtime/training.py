"""Running a training step: a compiled forward that autograd sees as one function, and its backward, compiled when it is first asked for.

The forward runs under `torch.autograd.Function`.  What the backward needs is saved there, so errors of a second backward, of a tensor that was written
to in between, and hooks on saved tensors are torch's own.  Results that share something in the backward are a group and hang on one node of autograd;
what is shared by no group is differentiated, and freed, alone.  Results that lie in the memory of others are made views of them behind the function.

Which results of a group get gradients, and how these lie in memory, is known when the first backward comes; a backward is compiled for just that, because in
eager nothing flows through the others, and the layout of a gradient follows from that of those it is computed from.  With `create_graph` the backward
is itself differentiated: then the graph runs once more through torch on the inputs of the forward, which are kept for that until the backward frees
them.  Random numbers are those of the first run: see `random_replay`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Protocol

import torch

from lect.backends.python_fx.load import load as load_torch_calls
from lect.dialects.functional.normalization import BatchNormOp
from lect.dialects.functional.ops import FuncOp
from lect.dialects.functional.symbols import Place, places_of
from lect.dialects.fx.modes import autocast_off, autocast_state, autocast_words, kept_modes
from lect.dialects.fx.ops import GraphOp
from lect.ir import Value
from lect.ir.facts import symbols_of
from lect.ir.symbolic import Size
from lect.runtime.engine_order import as_edges
from lect.runtime.random_replay import Plan, Replay
from lect.runtime.training_sizes import at, layout_with_symbols, numbers_of

Run = Callable[..., list[Any]]
RunBackward = Callable[[list[Any]], list[Any]]  # takes the tensors out of the list that it is given
Layouts = tuple[tuple[Size, ...], ...]  # the strides of several tensors
VERSION = attrgetter("_version")
LAYOUT_LIMIT = 8
"""For how many layouts of the same gradients backwards are compiled; those behind are copied to the layout of the results."""


class BackwardCompiler(Protocol):
    """Makes the backward for the results that get gradients, which lie with these strides, or as the results do; None when that is not possible.

    `autocast` is that around it where it casts: devices, each with its dtype behind it.
    """

    def __call__(self, tangents: tuple[int, ...], strides: Layouts | None, autocast: tuple[str, ...] = ()) -> Backward | None: ...


@dataclass(frozen=True)
class Backward:
    """A compiled backward: where its arguments come from, how tangents have to lie in memory, and whose gradients it gives."""

    run: RunBackward
    kept: tuple[tuple[str, int], ...]
    tangents: tuple[int, ...]
    layouts: tuple[tuple[tuple[Size, ...], tuple[Size, ...], torch.dtype], ...]  # sizes, strides and dtype of each tangent
    gradients: tuple[int, ...]


@dataclass(frozen=True)
class SharedResult:
    """A result that lies in the memory of input (`kind` "input") or result number `base`, `offset` elements behind its first."""

    result: int
    kind: str
    base: int
    offset: Size
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    differentiable: bool

    @cached_property
    def symbols(self) -> frozenset[int]:
        """The size symbols in its layout."""
        return frozenset(number for size in (*self.shape, *self.strides, self.offset) for number in symbols_of(size))

    def show(self, tensor: torch.Tensor, numbers: dict[int, int], given: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
        """The result, given what it lies in and the values of size symbols.

        Where these do not tell it, it lies in its memory as what the forward `given` does in that of its `base`.
        """
        if not self.symbols <= numbers.keys():
            shape, strides, offset = given.shape, given.stride(), given.storage_offset() - base.storage_offset()
            return tensor.as_strided(shape, strides, tensor.storage_offset() + offset)
        return tensor.as_strided(at(self.shape, numbers), at(self.strides, numbers), tensor.storage_offset() + at((self.offset,), numbers)[0])


def picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function of C, where there is one, that gives the items of a list with these numbers."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda items: tuple([items[number] for number in numbers])


@dataclass(eq=False)
class Group:
    """Results that hang on one node of autograd: their numbers, what that keeps of the forward, and the inputs that it leads to.

    It is made with `inputs` in the order in which eager's engine is done with their gradients; `edges` are the same in the order that the node has to have
    them in, which is that of the gradients that it gives.
    Where eager keeps nothing at all, the backward may run `again` without having been told to retain anything.
    """

    results: tuple[int, ...]
    kept: tuple[tuple[str, int], ...]
    inputs: tuple[int, ...]
    again: bool
    backwards: dict[tuple[tuple[int, ...], tuple[str, ...]], dict[Layouts | None, Backward | None]] = field(default_factory=dict)
    orders: dict[tuple[int, ...], Callable[[Sequence[Any]], tuple[Any, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edges = as_edges(self.inputs)
        self.pick_inputs = picker(self.edges)
        self.pick_results = picker(self.results)

    def in_order(self, gradients: tuple[int, ...]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """A function that puts the gradients of these inputs into the order of the node's, with None for those that there are not."""
        found = self.orders.get(gradients)
        if found is None:
            places = {number: place for place, number in enumerate(gradients)}
            if places.keys() >= set(self.edges):
                found = picker([places[number] for number in self.edges])
            else:
                wanted = [places.get(number) for number in self.edges]

                def found(given: Sequence[Any]) -> tuple[Any, ...]:
                    return tuple([None if place is None else given[place] for place in wanted])

            self.orders[gradients] = found
        return found

    def prepare(self, step: TrainingStep, arguments: int) -> None:
        """Find where everything is for a step that is called with so many arguments."""
        first = {"input": 0, "result": arguments, "kept": arguments + step.results}
        self.pick_kept = picker([first[kind] + number for kind, number in self.kept])
        # What this node does not lead to it holds by another name: were such a tensor written to later, it could come to hold the call in a circle.
        self.aliased = [number for number in range(arguments) if number not in self.inputs and number not in step.dtypes]
        others = {number for group in step.groups if group is not self for number in group.results}
        self.aliased += sorted([arguments + number for kind, number in self.kept if kind == "result" and number in others])


@dataclass(eq=False)  # it stands among the constants of code objects, which are hashed
class TrainingStep:
    """Called like the graph itself, with tensors and numbers; gives its results.

    `forward` returns the results and behind them what is to be kept.  The results that autograd gets from the function are in `groups`, which are made
    in their order; `views` are the ones in the memory of an input or of an earlier result.  `dtypes` are those of the arguments that are numbers.
    """

    forward: Run
    results: int
    groups: tuple[Group, ...]
    views: tuple[SharedResult, ...]
    dtypes: dict[int, torch.dtype]
    graph: GraphOp
    compiler: BackwardCompiler
    casts: Callable[[tuple[str, ...]], bool]  # whether autocast for these devices and dtypes around a backward changes it
    draws: Plan | None  # finds the random operators of the graph that have numbers of lect's own stream; None when nothing is drawn
    found: tuple[tuple[int, int, int, int], ...] = ()  # symbols that the forward finds: the result or kept value, the dim, and by what that is divided
    restored: tuple[int, ...] = ()  # inputs that the graph writes to, of which an old value decides results
    torch_calls: Run | None = None
    cast_in: dict[tuple[str, ...], bool] = field(default_factory=dict)  # for each autocast that a backward ran in

    def __post_init__(self) -> None:
        self.arguments = len(self.graph.body.args)
        self.places: dict[int, Place] = places_of(self.graph)
        self.several = frozenset(self.graph.body.last.several)  # type: ignore[union-attr]
        self.apart = self.several - {view.result for view in self.views}  # whose base the graph does not return
        self.returned: list[Any] = [value.type for value in self.graph.body.last.operands]  # type: ignore[union-attr]
        for group in self.groups:
            group.prepare(self, self.arguments)

    def __call__(self, *arguments: Any) -> list[Any]:
        if torch.is_grad_enabled():
            return self._recorded(arguments)
        with torch.enable_grad():  # where the program switches it on by itself
            return self._recorded(arguments)

    def _recorded(self, arguments: tuple[Any, ...]) -> list[Any]:
        run = _Run(self, arguments)
        apply = CompiledStep.apply if torch._C._are_functorch_transforms_active() else APPLY
        for group in self.groups:
            try:
                given = apply(run, group, *group.pick_inputs(arguments))  # type: ignore[no-untyped-call]
            except RuntimeError as error:
                if any(isinstance(each, torch.Tensor) and each.is_inference() for each in arguments):
                    refuse_to_keep(error)
                raise
            for number, tensor in zip(group.results, given):
                run.results[number] = tensor
        results = run.results
        for view in self.views:
            shown = arguments[view.base] if view.kind == "input" else results[view.base]
            if shown.requires_grad and not view.differentiable:
                shown = shown.detach()
            base = arguments[view.base] if view.kind == "input" else run.returned[view.base]
            result = results[view.result] = view.show(shown, run.sizes, run.returned[view.result], base)
            if view.result in self.several and result._is_view():
                torch._C._autograd._set_creation_meta(result, torch._C._autograd.CreationMeta.MULTI_OUTPUT_NODE)
        for number in self.apart:
            if results[number].requires_grad:
                result = results[number] = torch.ops.aten.alias.default(results[number])
                torch._C._autograd._set_creation_meta(result, torch._C._autograd.CreationMeta.MULTI_OUTPUT_NODE)
        return results

    def backward_for(self, group: Group, tangents: tuple[int, ...], slopes: Sequence[torch.Tensor], numbers: dict[int, int]) -> Backward | None:
        """The compiled backward for gradients of these results of a group, which are `slopes`; `numbers` are the values of size symbols."""
        casts = self._casts_here() if torch._C._is_any_autocast_enabled() else ()
        strides: Layouts | None = tuple([slope.stride() for slope in slopes])
        if numbers:
            types = [self.returned[number] for number in tangents]
            strides = tuple([layout_with_symbols(type.shape, type.strides, numbers, slope) for type, slope in zip(types, slopes)])
        known = group.backwards.setdefault((tangents, casts), {})
        if strides not in known:
            strides = strides if len(known) < LAYOUT_LIMIT else None
            if strides not in known:
                known[strides] = self.compiler(tangents, strides, casts)
        return known[strides]

    def _casts_here(self) -> tuple[str, ...]:
        """The autocast around this backward, as words, when that changes what it computes."""
        words = autocast_words(autocast_state())
        if words not in self.cast_in:
            self.cast_in[words] = bool(words) and self.casts(words)
        return words if self.cast_in[words] else ()

    def through_torch(self) -> Run:
        """The graph as calls of torch."""
        if self.torch_calls is None:
            self.torch_calls = load_torch_calls(self.graph, recomputes=self.draws is None).run
        return self.torch_calls


def refuse_to_keep(error: RuntimeError) -> None:
    """Raise what autograd says of a tensor of inference mode that the backward needs.

    By the code of this function such an error is known: a graph that writes to nothing is run again as written, where the program's own line raises it.
    """
    raise error


def _versions(tensors: list[torch.Tensor]) -> list[int]:
    """How often each was written to; those made in inference mode do not count that."""
    try:
        return list(map(VERSION, tensors))
    except RuntimeError:
        return [0 if tensor.is_inference() else tensor._version for tensor in tensors]


class _Run:
    """One run of the forward, until the nodes of all groups are made."""

    __slots__ = ("arguments", "numbers", "random_state", "results", "returned", "sizes", "step", "versions")

    def __init__(self, step: TrainingStep, arguments: tuple[Any, ...]) -> None:
        self.step = step
        self.sizes = numbers_of(step.places, arguments) if step.places else {}
        self.arguments = list(arguments)
        self.random_state = torch.get_rng_state() if step.draws is not None else None
        self.results: Any = None  # a list, when the forward has run

    def start(self) -> None:
        """Run the forward.  Numbers are tensors for it, and for the backward."""
        step, arguments = self.step, self.arguments
        self.numbers = {number: arguments[number] for number in step.dtypes}
        for number, dtype in step.dtypes.items():
            arguments[number] = torch.scalar_tensor(arguments[number], dtype=dtype, device="cpu")
        before = {number: arguments[number].clone() for number in step.restored}
        self.returned = step.forward(*arguments)
        for symbol, position, dim, divisor in step.found:
            self.sizes[symbol] = self.returned[position].shape[dim] // divisor
        for number, value in before.items():
            arguments[number] = value
        self.versions = _versions(arguments)
        results = self.returned[: step.results]
        for group in step.groups:
            for number in group.results:
                if results[number]._is_view():  # of memory that nobody else knows; autograd would take it for one of several views of one tensor
                    results[number] = self.returned[number] = results[number].data
        self.results = results


class _Call:
    """What one node knows of its call, as long as autograd may come back to it."""

    __slots__ = ("arguments", "group", "numbers", "random_state", "sizes", "step", "versions")

    def __init__(self, run: _Run, group: Group, arguments: list[Any]) -> None:
        self.step = run.step
        self.group = group
        self.arguments = arguments
        self.numbers = run.numbers
        self.sizes = run.sizes
        self.versions = run.versions
        self.random_state = run.random_state

    def check_version(self, number: int) -> None:
        """Raise autograd's error when an input is not what it was any more, or not held."""
        if not self.arguments:
            raise RuntimeError("the inputs of a compiled graph were freed by its first backward; pass retain_graph=True to it")
        value = self.arguments[number]
        if _versions([value]) != [self.versions[number]]:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{value.type()} {list(value.shape)}] is at version {value._version}; expected version {self.versions[number]} instead"
            )

    def free(self) -> None:
        """Let the inputs go."""
        self.arguments = []


class CompiledStep(torch.autograd.Function):
    """The node of autograd that stands for a compiled graph; its name is what a program sees as `grad_fn`."""

    @staticmethod
    def forward(ctx: Any, run: _Run, group: Group, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if run.results is None:
            run.start()
        known = [*run.arguments, *run.returned]
        for number in group.aliased:
            known[number] = known[number].detach()
        ctx.save_for_backward(*group.pick_kept(known))
        ctx.set_materialize_grads(False)
        ctx.call = _Call(run, group, known[: len(run.arguments)])
        return group.pick_results(run.results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[Any, ...]:
        call = ctx.call
        group = call.group
        given = tuple([number for number, gradient in zip(group.results, gradients) if gradient is not None])
        slopes = [gradient for gradient in gradients if gradient is not None]
        saved = [] if group.again and not group.kept else list(_saved(ctx))  # first of all: it raises when the backward was freed or a tensor was written to
        plain = not torch.is_grad_enabled() and all(type(slope) is torch.Tensor for slope in slopes)
        backward = call.step.backward_for(group, given, slopes, call.sizes) if plain and given else None
        if not given:  # what came behind has derivatives that are nowhere defined, such as those of a norm of order 0
            found: Sequence[Any] = (None,) * len(group.edges)
        elif backward is None:
            found = _differentiate(call, given, slopes)
        else:
            ctx.maybe_clear_saved_tensors()  # unless the graph is retained: then what only the backward needs dies in it, where it was used last
            found = _run(call, backward, saved, slopes)
        if not torch._C._autograd._get_current_graph_task_keep_graph():
            call.free()
        return (None, None, *found)


# Without the part of `apply` that is for tensors of torch.func alone, which looks at each argument.
APPLY = super(torch.autograd.Function, CompiledStep).apply  # type: ignore[misc]


def is_step(node: Any) -> bool:
    """True for a node of autograd that is a training step."""
    return getattr(node, "_forward_cls", None) is CompiledStep


def _saved(ctx: Any) -> tuple[torch.Tensor, ...]:
    """What the forward saved.  Where a tensor was written to, the error names the tensor and not the node of the whole graph, which no program made."""
    try:
        return ctx.saved_tensors  # type: ignore[no-any-return]
    except RuntimeError as error:
        told = re.sub(rf", which is output \d+ of {CompiledStep.__name__}(?:Backward)?,", "", str(error))
        if told == str(error):
            raise
        raise RuntimeError(told) from None


def _run(call: _Call, backward: Backward, arguments: list[torch.Tensor], slopes: Sequence[torch.Tensor]) -> Sequence[Any]:
    """The gradients of the inputs that the node leads to, from compiled code, which takes what was saved out of the list."""
    group = call.group
    if backward.kept != group.kept:
        values = dict(zip(group.kept, arguments))
        arguments[:] = [values[place] if place in values else _input(call, place) for place in backward.kept]
        del values
    for slope, (shape, wanted, dtype) in zip(slopes, backward.layouts):
        strides = at(wanted, call.sizes) if call.sizes else wanted
        if slope.stride() != strides:
            slope = torch.empty_strided(slope.shape if call.sizes else shape, strides, dtype=dtype, device=slope.device).copy_(slope)
        arguments.append(slope)
    return group.in_order(backward.gradients)(backward.run(arguments))


def _input(call: _Call, place: tuple[str, int]) -> Any:
    """An input that this backward needs beyond what the forward saved."""
    kind, number = place
    assert kind == "input"
    call.check_version(number)
    return call.arguments[number]


def _differentiate(call: _Call, given: tuple[int, ...], slopes: Sequence[torch.Tensor]) -> Sequence[Any]:
    """The gradients from torch's own formulas, on a second run of the graph; they can be differentiated when gradients are recorded here."""
    step, followed = call.step, call.group.edges
    for number in range(len(call.versions)):
        call.check_version(number)
    further = torch.is_grad_enabled()
    with _same_numbers(call), torch.enable_grad():
        inputs = [_fresh(value, number in followed and not further) for number, value in enumerate(call.arguments)]
        inputs = [call.numbers.get(number, value) for number, value in enumerate(inputs)]
        with kept_modes(), autocast_off():
            results = step.through_torch()(*inputs)
    wanted = [inputs[number] for number in followed]
    return torch.autograd.grad([results[number] for number in given], wanted, slopes, create_graph=further, allow_unused=True)


@contextmanager
def _same_numbers(call: _Call) -> Iterator[None]:
    """A block whose random numbers are those of the compiled forward, and behind which torch's generator is where it was."""
    plan = call.step.draws
    if plan is None:
        yield
        return
    state = torch.get_rng_state()
    torch.set_rng_state(call.random_state)  # type: ignore[arg-type]
    try:
        with Replay(plan()):
            yield
    finally:
        torch.set_rng_state(state)


def _fresh(value: torch.Tensor, leaf: bool) -> torch.Tensor:
    """An input for the second run: a leaf of its own, or for what the graph may write to, a copy."""
    if leaf:
        return value.detach().requires_grad_()
    return value if value.requires_grad else value.clone()


def _decided_by(value: Value) -> Sequence[Value]:
    """The operands that a value depends on: what a batch is normalised to does not hang on the statistics of batches before it."""
    op = value.op
    if op is None:
        return ()
    if isinstance(op, BatchNormOp) and op.training and value.index < 3:
        return [operand for operand in op.operands if operand is not op.running_mean and operand is not op.running_var]
    return op.operands


def restored_inputs(forward: FuncOp) -> tuple[int, ...]:
    """Inputs that a forward writes to, and whose value in front of that decides a result."""
    written = {op.target for op in forward.body if op.name == "functional.write"}
    last = forward.body.last
    assert last is not None
    pending, seen = list(last.operands), set()
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            pending += _decided_by(value)
    return tuple(sorted(value.index for value in written & seen))
