"""Searching for the pass that changed what a graph computes, and writing the file that shows it.

The module is lowered anew for each question, as far as that question goes, and run by the reference interpreter of the level it has then reached.
Whether it is wrong there is asked in halves; the code that the backends make is asked last.  The file holds the IR in front of the wrong pass, and
the inputs: a seed when random inputs of one show it, else the inputs of the call.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lect.dialects import make_context
from lect.ir import Context, LectError, Operation, SymbolTable, print_module
from lect.passes.functional.functional_split_joint import BACKWARD
from lect.passes.instrument import CONFIGURATION
from lect.passes.manager import PassManager
from lect.runtime.failures import Lowering
from lect.runtime.levels import PROGRAMS_BY_LEVEL, Program, copy_of, far_apart, random_inputs, run_native, run_reference, tensor_layout, to_tensors
from lect.runtime.linking import module_of

SEEDS = 4
INPUTS = "// inputs: "


@dataclass(frozen=True)
class Finding:
    """What made a difference, in words and as a name for a file, and the text of that file."""

    where: str
    name: str
    text: str


@dataclass
class Search:
    """One search: `pick` takes what is compared out of the results of a program."""

    lowering: Lowering
    inputs: Sequence[Any]
    want: Sequence[torch.Tensor]
    tangents: Sequence[torch.Tensor] | None
    written: bool

    def __post_init__(self) -> None:
        options = self.lowering.options
        managers = [PassManager.parse(stage).configured(options) for stage in self.lowering.stages]
        self.passes = [each for manager in managers for each in manager.passes]
        self.symbol = str(self.lowering.graph.attrs["sym_name"])

    def context(self) -> Context:
        """A context as the compile had one."""
        ctx = make_context(options=self.lowering.options)
        ctx.target.update(self.lowering.target)
        return ctx

    def lowered(self, count: int) -> Operation:
        """The module behind the first `count` passes."""
        module = module_of(self.lowering.graph.clone({}))
        PassManager(tuple(self.passes[:count])).run(module, self.context())
        return module

    def program(self, module: Operation) -> Program | None:
        """The program that the graph is in a module; None where gradients are asked for and it does not give them."""
        func = SymbolTable(module).lookup(self.symbol)
        if func is None or func.name not in PROGRAMS_BY_LEVEL:
            raise LectError(f"the module has no program @{self.symbol}")
        apart = func.name == "fx.graph" or SymbolTable(module).lookup(self.symbol + BACKWARD) is not None
        return None if apart and self.tangents is not None else Program(module, func)

    def results(self, program: Program, inputs: Sequence[Any], run: Callable[[Program, Sequence[Any]], Sequence[Any]]) -> list[torch.Tensor]:
        """What a program gives that is compared: results and written inputs, or gradients."""
        copies = [copy_of(value) if isinstance(value, torch.Tensor) else value for value in inputs]
        with torch.no_grad():
            found = [value for value in run(program, copies) if isinstance(value, torch.Tensor)]
        if self.tangents is not None:
            gradients = program.func.attrs["training"]["gradients"]
            if len(gradients) != len(self.want):
                raise LectError(f"the joint graph gives gradients of {len(gradients)} inputs, and autograd of {len(self.want)}")
            return found[len(found) - len(self.want) :]
        written = [value for value in copies[: len(self.inputs)] if isinstance(value, torch.Tensor)] if self.written else []
        return [*found[: len(self.want) - len(written)], *written]

    def given(self, program: Program) -> list[Any]:
        """The inputs of a program: a joint one takes tangents, too."""
        own = list(self.inputs)
        more = program.inputs[len(own) :]
        if self.tangents is not None and len(more) == len(self.tangents):
            return [*own, *[laid_out(slope, type) for slope, (_, type) in zip(self.tangents, more)]]
        return [*own, *random_inputs(program, 0)[len(own) :]]

    def is_wrong(self, count: int) -> bool:
        """Whether the module behind the first `count` passes computes something else than eager does."""
        program = self.program(self.lowered(count))
        if program is None:
            return False
        return far_apart(self.results(program, self.given(program), run_reference), self.want, strides=False) is not None

    def find(self) -> Finding | None:
        """The first wrong pass, or the backend, or the capture; None when nothing is wrong."""
        last = len(self.passes)
        if self.tangents is not None:  # behind the joint graph, gradients are those of the backward, which has a search of its own
            last = next((number for number, each in enumerate(self.passes) if each.name == "functional-split-joint"), last)
        if self.is_wrong(0):
            return self._captured()
        if not self.is_wrong(last):
            return self._native() if last == len(self.passes) else None
        right, wrong = 0, last
        while wrong - right > 1:
            middle = (right + wrong) // 2
            right, wrong = (right, middle) if self.is_wrong(middle) else (middle, wrong)
        return self._pass(right)

    def _captured(self) -> Finding:
        text = f"{CONFIGURATION}--random-inputs\n{print_module(self.lowered(0), locations=True)}"
        return Finding("the captured graph itself computes something else", "capture", text)

    def _pass(self, position: int) -> Finding:
        """The file for the pass at a position, which is right before and wrong behind."""
        each = self.passes[position]
        module = self.lowered(position)
        program = self.program(module)
        if program is None:  # before this pass there are no gradients to compare with
            return self._finding(f"{each.name} makes wrong ones", each.name, module, ["--random-inputs", "-p", str(each)], ())
        arguments = ["--function", self.symbol, "--reference", "--compare-levels", "-p", str(each)]
        flags, inputs = self._inputs(program, lambda module: PassManager((each,)).run(module, self.context()), run_reference)
        return self._finding(f"the first pass behind which they do is {each.name}", each.name, module, [*arguments, *flags], inputs)

    def _native(self) -> Finding | None:
        """The file for code that a backend makes of right IR; None when that is right, too."""
        module = self.lowered(len(self.passes))
        program = self.program(module)
        if program is None or program.level != "host.func":
            return None
        native = lambda program, tensors: run_native(program, tensors, self.context())  # noqa: E731
        if far_apart(self.results(program, self.given(program), native), self.want, strides=False) is None:
            return None
        flags, inputs = self._inputs(program, None, native)
        return self._finding("all passes are right: the native code is wrong", "native", module, ["--compare-reference", *flags], inputs)

    def _inputs(
        self, program: Program, change: Callable[[Operation], object] | None, run: Callable[[Program, Sequence[Any]], Sequence[Any]]
    ) -> tuple[list[str], Sequence[Any]]:
        """Flags that give inputs which show the difference, and the inputs themselves unless a seed gives them."""
        for seed in range(SEEDS):
            inputs = random_inputs(program, seed)
            before = self.results(program, inputs, run_reference)
            after = program
            if change is not None:
                module = module_copy(program.module)
                change(module)
                found = self.program(module)
                if found is None:
                    break
                after = found
            if far_apart(self.results(after, inputs, run), before, strides=False) is not None:
                return ["--random-inputs", "--seed", str(seed)], ()
        return ["--inputs-inside"], self.given(program)

    def _finding(self, where: str, name: str, module: Operation, arguments: Sequence[str], inputs: Sequence[Any]) -> Finding:
        target = ",".join(f"{name}={value}" for name, value in self.lowering.target.items())
        flags = ["--target", target] if target else []
        lines = [CONFIGURATION + shlex.join([*arguments, *flags])]
        lines.append(f"// {self.symbol} computes something else than eager does: {where}")
        if inputs:
            lines.append(INPUTS + encode(inputs))
        return Finding(where, name, "\n".join(lines) + "\n" + print_module(module, locations=True))


def laid_out(tensor: torch.Tensor, type: Any) -> torch.Tensor:
    """A tensor in the strides that a parameter has."""
    sizes, strides, dtype = tensor_layout(type)
    made = torch.empty(sizes, dtype=dtype) if strides is None else torch.empty_strided(sizes, strides, dtype=dtype)
    return made.copy_(tensor)


def module_copy(module: Operation) -> Operation:
    """A copy of a module."""
    return module.clone({})


def encode(inputs: Sequence[Any]) -> str:
    """Inputs as one word: a safetensors file in base 64, in which they are called by their numbers."""
    from safetensors.torch import save

    tensors = to_tensors(inputs)
    return base64.b64encode(save({str(number): tensor.contiguous().clone() for number, tensor in enumerate(tensors)})).decode("ascii")


def decode(text: str) -> dict[str, torch.Tensor] | None:
    """The inputs that a file carries, or None when it carries none."""
    from safetensors.torch import load

    for line in text.splitlines():
        if line.startswith(INPUTS):
            return load(base64.b64decode(line.removeprefix(INPUTS)))  # type: ignore[no-any-return]
    return None


def first_difference(
    lowering: Lowering, inputs: Sequence[Any], want: Sequence[torch.Tensor], tangents: Sequence[torch.Tensor] | None = None, written: bool = False
) -> Finding | None:
    """What first makes a graph compute something else than `want` on `inputs`; None when lowering it again does not.

    With `tangents`, which are those of all differentiable results, `want` are gradients.  With `written`, `want` ends with the inputs behind the call.
    """
    return Search(lowering, inputs, want, tangents, written).find()
