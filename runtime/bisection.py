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
from lect.dialects.functional.ops import FuncOp
from lect.ir import Context, LectError, Operation, SymbolTable, print_module
from lect.passes.functional.functional_split_joint import is_backward
from lect.passes.instrument import CONFIGURATION
from lect.passes.manager import PassManager
from lect.runtime.compared import Compared, Form, Run, all_results
from lect.runtime.failures import Lowering
from lect.runtime.graph_copies import copied
from lect.runtime.levels import PROGRAMS_BY_LEVEL, Program, far_apart, random_inputs, run_native, run_reference, to_tensors
from lect.runtime.training import restored_inputs

SEEDS = 4
SEEDING = "functional-seed-random"
# Behind these a program gives something else, so that its results cannot be compared with those in front of them.
INCOMPARABLE = frozenset({"fx-build-joint", SEEDING, "functional-split-joint"})
INPUTS = "// inputs: "


@dataclass(frozen=True)
class Finding:
    """What made a difference, in words and as a name for a file, and the text of that file."""

    where: str
    name: str
    text: str


@dataclass
class Search:
    """One search: `compared` says what of a program is looked at, and what it should be."""

    lowering: Lowering
    compared: Compared

    def __post_init__(self) -> None:
        options = self.lowering.options
        managers = [PassManager.parse(stage).configured(options) for stage in self.lowering.stages]
        self.passes = [each for manager in managers for each in manager.passes]
        self.symbol = str(self.lowering.graph.attrs["sym_name"])
        self.functional = len(managers[0].passes) if managers and self.lowering.stages[0] == "aot" else 0

    def context(self) -> Context:
        """A context as the compile had one."""
        ctx = make_context(options=self.lowering.options)
        ctx.target.update(self.lowering.target)
        return ctx

    def lowered(self, count: int) -> Form:
        """The graph behind the first `count` passes, and its backwards, which stay at the functional level as a compile leaves them there."""
        module, ctx = copied(self.lowering.graph), self.context()
        PassManager(tuple(self.passes[: min(count, self.functional)])).run(module, ctx)
        backwards = [op for op in module.body if isinstance(op, FuncOp) and is_backward(op) and op.symbol != self.symbol]
        forward = SymbolTable(module).lookup(self.symbol)
        results, restored = 0, tuple[int, ...]()
        if backwards and isinstance(forward, FuncOp):
            results, restored = forward.training["results"], restored_inputs(forward)
        if count > self.functional:
            for backward in backwards:
                backward.detach()
            PassManager(tuple(self.passes[self.functional : count])).run(module, ctx)
        func = SymbolTable(module).lookup(self.symbol)
        if func is None or func.name not in PROGRAMS_BY_LEVEL:
            raise LectError(f"the module has no program @{self.symbol}")
        return Form(Program(module, func), tuple(backwards), results, restored, self._is_seeded(count))

    def _is_seeded(self, count: int) -> bool:
        return any(each.name == SEEDING for each in self.passes[:count])

    def is_wrong(self, count: int) -> bool:
        """Whether the module behind the first `count` passes computes something else than eager does."""
        return self.compared.problem(self.lowered(count), run_reference) is not None

    def find(self) -> Finding | None:
        """The first wrong pass, or the backend, or the capture; None when nothing is wrong."""
        if self.is_wrong(0):
            return self._captured()
        right, wrong = 0, len(self.passes)
        if not self.is_wrong(wrong):
            return self._native()
        while wrong - right > 1:
            middle = (right + wrong) // 2
            right, wrong = (right, middle) if self.is_wrong(middle) else (middle, wrong)
        return self._pass(right)

    def _captured(self) -> Finding:
        text = f"{CONFIGURATION}--random-inputs\n{print_module(self.lowered(0).program.module, locations=True)}"
        return Finding("the captured graph itself computes something else", "capture", text)

    def _pass(self, position: int) -> Finding:
        """The file for the pass at a position, which is right before and wrong behind."""
        each = self.passes[position]
        form = self.lowered(position)
        module = form.program.module
        if each.name in INCOMPARABLE:  # the program has other results behind it, or other random numbers
            return self._finding(f"{each.name} makes wrong ones", each.name, module, ["--random-inputs", "--function", self.symbol, "-p", str(each)], ())
        arguments = ["--function", self.symbol, "--reference", "--compare-levels", "-p", str(each)]
        flags, inputs = self._inputs(form.program, lambda module: PassManager((each,)).run(module, self.context()), run_reference)
        return self._finding(f"the first pass behind which they do is {each.name}", each.name, module, [*arguments, *flags], inputs)

    def _native(self) -> Finding | None:
        """The file for code that a backend makes of right IR; None when that is right, too."""
        form = self.lowered(len(self.passes))
        if form.program.level != "host.func":
            return None
        native = lambda program, tensors: run_native(program, tensors, self.context())  # noqa: E731
        if self.compared.problem(form, native) is None:
            return None
        flags, inputs = self._inputs(form.program, None, native)
        return self._finding("all passes are right: the native code is wrong", "native", form.program.module, ["--compare-reference", *flags], inputs)

    def _inputs(self, program: Program, change: Callable[[Operation], object] | None, run: Run) -> tuple[list[str], Sequence[Any]]:
        """Flags that give inputs which show the difference, and the inputs themselves unless a seed gives them."""
        after = program
        if change is not None:
            module = program.module.clone({})
            change(module)
            func = SymbolTable(module).lookup(self.symbol)
            assert func is not None
            after = Program(module, func)
        for seed in range(SEEDS):
            inputs = random_inputs(program, seed)
            if far_apart(all_results(after, inputs, run, seed), all_results(program, inputs, run_reference, seed), strides=False) is not None:
                return ["--random-inputs", "--seed", str(seed)], ()
        return ["--inputs-inside"], self.compared.inputs_of(program)

    def _finding(self, where: str, name: str, module: Operation, arguments: Sequence[str], inputs: Sequence[Any]) -> Finding:
        target = ",".join(f"{name}={value}" for name, value in self.lowering.target.items())
        flags = ["--target", target] if target else []
        lines = [CONFIGURATION + shlex.join([*arguments, *flags])]
        lines.append(f"// {self.symbol} computes something else than eager does: {where}")
        if inputs:
            lines.append(INPUTS + encode(inputs))
        return Finding(where, name, "\n".join(lines) + "\n" + print_module(module, locations=True))


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


def first_difference(lowering: Lowering, compared: Compared) -> Finding | None:
    """What first makes a graph compute something else than it should; None when lowering it again does not."""
    return Search(lowering, compared).find()
