"""What the search for a wrong pass looks at in a program, at whatever level that is: results, inputs behind the call, or gradients.

Gradients are those that a joint graph gives.  Behind the pass that splits it, the forward runs at its own level, and what it keeps goes into the functional
backward: so a kept value that is wrong is seen, which no result shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lect.backends.reference.functional import run_functional
from lect.dialects.functional.ops import FuncOp
from lect.runtime.levels import Program, copy_of, far_apart, random_inputs, tensor_layout
from lect.runtime.random_replay import Plan, Replay

Run = Callable[[Program, Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Form:
    """A graph somewhere on its way: the program that it is there, and the functional backwards that were split from it.

    A forward gives so many `results`, and behind them what is kept; `restored` are the inputs that it writes to and whose old value the backwards get.
    `seeded` says that random numbers are functions of a seed.
    """

    program: Program
    backwards: tuple[FuncOp, ...] = ()
    results: int = 0
    restored: tuple[int, ...] = ()
    seeded: bool = True


@dataclass(frozen=True)
class Numbers:
    """The random numbers of a call: the state in which it found torch's generator, and the operators that have numbers of lect's stream."""

    state: torch.Tensor
    draws: Plan | None = None


@dataclass(frozen=True)
class Gradients:
    """The gradients that are looked at: of these inputs, for these gradients of results, by their numbers; others count as zero."""

    inputs: tuple[int, ...]
    tangents: Mapping[int, torch.Tensor]


@dataclass(frozen=True)
class Compared:
    """One call of a graph, and what it should have given: gradients, or results with the inputs behind the call when `written`."""

    inputs: Sequence[Any]
    want: Sequence[torch.Tensor]
    written: bool = False
    gradients: Gradients | None = None
    numbers: Numbers | None = None

    def problem(self, form: Form, run: Run) -> str | None:
        """In words, how a program differs from what it should give; None when it does not, or has no gradients to look at."""
        found = self._found(form, run)
        return None if found is None else far_apart(found, self.want, strides=False)

    def inputs_of(self, program: Program) -> list[Any]:
        """The inputs of the call for a program, of which a joint one takes gradients of results, too."""
        own = list(self.inputs)
        more = [type for _, type in program.inputs[len(own) :]]
        training = program.func.attrs.get("training")
        if more and self.gradients is not None and training and len(training.get("tangents", ())) == len(more):
            return [*own, *[_laid_out(self.gradients.tangents.get(number), type) for number, type in zip(training["tangents"], more)]]
        return [*own, *random_inputs(program, 0)[len(own) :]]

    def _found(self, form: Form, run: Run) -> list[torch.Tensor] | None:
        program = form.program
        if self.gradients is not None and program.level == "fx.graph":
            return None
        copies = [copy_of(value) if isinstance(value, torch.Tensor) else value for value in self.inputs_of(program)]
        with torch.no_grad():
            found = self._with_numbers(form, lambda: list(run(program, copies)))
        if self.gradients is not None:
            return self._gradients(form, copies, found)
        written = [value for value in copies[: len(self.inputs)] if isinstance(value, torch.Tensor)] if self.written else []
        return [*[value for value in found if isinstance(value, torch.Tensor)][: len(self.want) - len(written)], *written]

    def _with_numbers(self, form: Form, run: Callable[[], list[Any]]) -> list[Any]:
        if self.numbers is None:
            return run()
        now = torch.get_rng_state()
        torch.set_rng_state(self.numbers.state)
        try:
            if form.seeded or self.numbers.draws is None:
                return run()
            with Replay(self.numbers.draws()):
                return run()
        finally:
            torch.set_rng_state(now)

    def _gradients(self, form: Form, inputs: list[Any], found: list[Any]) -> list[torch.Tensor] | None:
        """The gradients that are looked at, of what a joint graph or a forward gave."""
        assert self.gradients is not None
        training = form.program.func.attrs.get("training")
        if not form.backwards:
            if not training or "gradients" not in training:
                return None
            stated = training["gradients"]
            given = dict(zip(stated, found[len(found) - len(stated) :]))
        else:
            given = self._behind_forward(form, inputs, found)
        return [given[number] if number in given else torch.zeros_like(self.inputs[number]) for number in self.gradients.inputs]

    def _behind_forward(self, form: Form, inputs: list[Any], found: list[Any]) -> dict[int, torch.Tensor]:
        """The gradients that the backwards give for what the forward kept."""
        assert self.gradients is not None
        given: dict[int, torch.Tensor] = {}
        inputs = [self.inputs[number] if number in form.restored else value for number, value in enumerate(inputs)]
        inputs = [value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in inputs]
        for backward in form.backwards:
            stated = backward.training
            if not any(number in self.gradients.tangents for number in stated["tangents"]):
                continue
            of = {"input": inputs, "result": found, "kept": found[form.results :]}
            kept = [of[kind][number] for kind, number in stated["kept"]]
            types = [value.type for value in backward.body.args[len(kept) :]]
            slopes = [_laid_out(self.gradients.tangents.get(number), type) for number, type in zip(stated["tangents"], types)]
            with torch.no_grad():
                given.update(zip(stated["gradients"], run_functional(backward, [*kept, *slopes])))
        return given


def all_results(program: Program, inputs: Sequence[Any], run: Run, seed: int) -> list[torch.Tensor]:
    """Everything that `lect-run` compares of a program on copies of these inputs: results, and what inputs are behind the call."""
    copies = [copy_of(value) if isinstance(value, torch.Tensor) else value for value in inputs]
    now = torch.get_rng_state()
    torch.manual_seed(seed)
    try:
        with torch.no_grad():
            found = run(program, copies)
    finally:
        torch.set_rng_state(now)
    return [value for value in (*found, *copies) if isinstance(value, torch.Tensor)]


def _laid_out(tensor: torch.Tensor | None, type: Any) -> torch.Tensor:
    """A tensor, or zeros, in the layout that a parameter has; where that is known only at run time, the tensor as it is."""
    if tensor is not None and not all(isinstance(size, int) for size in (*getattr(type, "shape", ()), *(getattr(type, "strides", None) or ()))):
        return copy_of(tensor)
    sizes, strides, dtype = tensor_layout(type)
    made = torch.empty(sizes, dtype=dtype) if strides is None else torch.empty_strided(sizes, strides, dtype=dtype)
    return made.zero_() if tensor is None else made.copy_(tensor)
