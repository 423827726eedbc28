"""Running eager beside compiled code, graph by graph: what `LECT_CHECK=eager` does.

Each call of a graph runs the captured calls by torch first, on copies of its inputs, then the compiled graph, and compares results, what was written to
inputs, and the gradients that a backward gives.  At the first difference the pass that made it is searched for, a file is written that replays it, and
the call raises `WrongValue`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from lect.backends.python_fx.load import load as load_torch_calls
from lect.dialects.functional.ops import FuncOp
from lect.dialects.fx.ops import GraphOp
from lect.ir import LectError
from lect.runtime.bisection import Finding, first_difference
from lect.runtime.compared import Compared, Gradients, Numbers
from lect.runtime.events import Different, EventLog, Unchecked
from lect.runtime.failures import Lowering, command_for, command_to_reduce
from lect.runtime.levels import copy_of, far_apart
from lect.runtime.random_replay import Draw, NotReplayed, Replay, draws_of
from lect.runtime.training import Run, RunBackward
from lect.runtime.training_facts import GroupFacts


class WrongValue(LectError):
    """A compiled graph gives other values than eager does."""


@dataclass(eq=False)  # it stands among the constants of code objects, which are hashed
class Check:
    """The check of one compiled graph.  `backward` gives what a backward that is compiled later is lowered with."""

    function: str
    graph: GraphOp
    lowering: Lowering
    log: EventLog
    edited: Callable[[], bool] = lambda: False  # noqa: E731
    seeded: bool = False

    @cached_property
    def eager(self) -> Run:
        """The captured calls by torch."""
        return load_torch_calls(self.graph, recomputes=not self.seeded).run

    @cached_property
    def _draws(self) -> tuple[Draw, ...]:
        return draws_of(self.graph, self.lowering.options)

    def draws(self) -> tuple[Draw, ...]:
        """The random operators of the graph."""
        return self._draws

    def graph_call(self, run: Run) -> Run:
        """A graph without gradients that is compared at each call."""
        return functools.partial(_checked, self, run)

    def step_call(self, run: Run, groups: Sequence[GroupFacts]) -> Run:
        """A training step, of which results are compared at each call, and the gradients that each of its groups gives when a backward comes."""
        return functools.partial(_checked_step, self, run, tuple(groups))

    def backward(self, func: FuncOp, lowering: Lowering, run: RunBackward) -> RunBackward:
        """A compiled backward that is compared with the functional one of which it was lowered."""
        return functools.partial(_checked_backward, self, func, lowering, run)

    def numbers(self, state: torch.Tensor) -> Numbers:
        """The random numbers of a call that found torch's generator in this state."""
        return Numbers(state, self.draws if self.seeded else None)

    def skip(self, reason: str) -> None:
        """Tell that the graph is not compared."""
        self.log.add(Unchecked(self.function, reason))

    def fail(self, what: str, problem: str, finding: Callable[[], Finding | None]) -> None:
        """Search for what made a difference, write the file and raise."""
        where, file, replay = "", "", ""
        if self.edited():
            where = "an edited text was used, so no pass is searched for"
        else:
            found = _search(finding)
            where = found if isinstance(found, str) else found.where
            if isinstance(found, Finding):
                kept = self.log.files.keep(("check", self.function, found.where, what), lambda: (f"{self.function}-{found.name}.mlir", found.text))
                file, replay = kept.path, command_for(kept.path, "lect-run") if kept.path else ""
                where += "" if kept.path else f" (no file that replays it could be written: {kept.why_not})"
        self.log.add(Different(self.function, what, problem, where, file=file, replay=replay))
        message = f"{self.function}: {what} of the compiled graph differ from eager's: {problem}; {where}"
        raise WrongValue(message, hint=f"replay it with: {replay}; make it small with: {command_to_reduce(file)}" if replay else None)


def _search(finding: Callable[[], Finding | None]) -> Finding | str:
    try:
        return finding() or "lowering the graph again gives eager's values"
    except Exception as error:  # the difference is what has to be told, whatever the search comes to
        return f"the search for the pass that did it stopped with {type(error).__name__}: {str(error)[:200]}"


def _copies(values: Sequence[Any]) -> list[Any]:
    return [copy_of(value.detach()) if isinstance(value, torch.Tensor) else value for value in values]


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    return [value.detach() for value in values if isinstance(value, torch.Tensor)]


def _eager_first(check: Check, inputs: Sequence[Any], state: torch.Tensor) -> list[Any]:
    """The eager results, with the numbers that the compiled graph will draw: torch's generator, which stands at `state`, does so again behind them.

    Raises `NotReplayed` where the graph has random numbers that torch cannot be given.
    """
    generators = [(value, value.get_state()) for value in inputs if isinstance(value, torch.Generator)]
    try:
        if not check.seeded:
            return check.eager(*inputs)
        with Replay(check.draws()):
            return check.eager(*inputs)
    finally:
        torch.set_rng_state(state)
        for generator, before in generators:
            generator.set_state(before)


def _checked(check: Check, run: Run, *inputs: Any) -> list[Any]:
    kept, given, state = _copies(inputs), _copies(inputs), torch.get_rng_state()
    try:
        with torch.no_grad():
            want = _eager_first(check, given, state)
    except NotReplayed as error:
        check.skip(str(error))
        return run(*inputs)
    got = run(*inputs)
    _compare(check, Call(kept, state), got, want, inputs, given)
    return got


@dataclass(frozen=True)
class Call:
    """What a call of a graph was given: copies of its inputs, and the state of torch's generator."""

    inputs: Sequence[Any]
    state: torch.Tensor


def _compare(check: Check, call: Call, got: Sequence[Any], want: Sequence[Any], inputs: Sequence[Any], given: Sequence[Any]) -> None:
    """Compare results, then what inputs are behind the call."""
    pairs = [(a, b) for a, b in zip(got, want) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)]
    expected = _copies(want)
    problem = far_apart([a.detach() for a, _ in pairs], [b.detach() for _, b in pairs])
    what = "results"
    if problem is None:
        problem, what = far_apart(_tensors(inputs), _tensors(given)), "inputs behind a call"
        expected = [*expected, *_copies(given)]
    if problem is not None:
        compared = Compared(call.inputs, _tensors(expected), written=what != "results", numbers=check.numbers(call.state))
        check.fail(what, problem, lambda: first_difference(check.lowering, compared))


def _checked_step(check: Check, run: Run, groups: Sequence[GroupFacts], *inputs: Any) -> list[Any]:
    kept, given, state = _copies(inputs), _copies(inputs), torch.get_rng_state()
    leaves = {number: given[number].requires_grad_() for group in groups for number in group.inputs}
    try:
        with torch.enable_grad():
            arguments = [leaves[number].clone() if number in leaves else value for number, value in enumerate(given)]
            want = _eager_first(check, arguments, state)
    except NotReplayed as error:
        check.skip(str(error))
        return run(*inputs)
    got = run(*inputs)
    call = Call(kept, state)
    _compare(check, call, got, want, inputs, arguments)
    for group in groups:
        nodes = [got[number].grad_fn for number in group.results if isinstance(got[number], torch.Tensor)]
        node = next(filter(_is_step, nodes), None)
        if node is not None:
            node.register_hook(functools.partial(_compare_gradients, check, group, [want[number] for number in group.results], leaves, call))
    return got


def _is_step(node: Any) -> bool:
    from lect.runtime.training import is_step

    return is_step(node)


def _compare_gradients(
    check: Check, group: GroupFacts, results: Sequence[Any], inputs: Mapping[int, torch.Tensor], call: Call, found: Any, given: Any
) -> None:
    """A hook of a node of a training step: `given` are the gradients of its results, `found` those that it gives, in the order of its edges."""
    slopes = {number: slope.detach() for number, slope in zip(group.results, given) if slope is not None}
    pairs = [(result, slopes[number]) for number, result in zip(group.results, results) if number in slopes and result.requires_grad]
    if not pairs:
        return
    leaves = [inputs[number] for number in group.edges]
    wanted = torch.autograd.grad([a for a, _ in pairs], leaves, [b for _, b in pairs], retain_graph=True, allow_unused=True)
    got = [value.detach() if value is not None else torch.zeros_like(leaf) for value, leaf in zip(found, leaves)]
    want = [value if value is not None else torch.zeros_like(leaf) for value, leaf in zip(wanted, leaves)]
    problem = far_apart(got, want, strides=False)
    if problem is not None:
        compared = Compared(call.inputs, want, gradients=Gradients(group.edges, slopes), numbers=check.numbers(call.state))
        check.fail("gradients", problem, lambda: first_difference(check.lowering, compared))


def _checked_backward(check: Check, func: FuncOp, lowering: Lowering, run: RunBackward, inputs: list[Any]) -> list[Any]:
    from lect.backends.reference.functional import run_functional

    kept = _copies(inputs)
    with torch.no_grad():
        want = run_functional(func, _copies(inputs))
    got = run(inputs)
    problem = far_apart(_tensors(got), _tensors(want))
    if problem is not None:
        check.fail("gradients", problem, lambda: first_difference(lowering, Compared(kept, _tensors(want))))
    return got
