"""Running a frame out of its text: `pyframe` is assembled, bound to the function that it was made of, and calls its graph at the level that the text has.

Live objects that the text names are those that following the function finds again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import torch

from lect.dialects import make_context
from lect.frontends.capture.api import LiveFrame, open_frame
from lect.ir import LectError, Operation, SymbolTable
from lect.passes.manager import PassManager
from lect.runtime.levels import Program
from lect.runtime.residual import link_residual
from lect.tools.capture_file import check_inputs, find, inputs_of, load_file

Run = Callable[[Program, Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Call:
    """A call of a function or module of a Python file, and the live objects that following it finds.  Each run has arguments and buffers of its own."""

    eager: Any
    arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
    live: LiveFrame
    objects: Sequence[Any]
    seed: int
    state: Mapping[str, torch.Tensor]

    @classmethod
    def of(cls, target: str, seed: int) -> Call:
        """The call that `FILE.py:FUNCTION` names, with the arguments that the file makes for it with torch's generator at a seed.  Raises `LectError`."""
        path, _, name = target.rpartition(":")
        if not path or not name:
            raise LectError(f"--frame takes FILE.py:FUNCTION, got '{target}'")
        source = load_file(Path(path))
        eager = find(source, name, path)

        def arguments() -> tuple[tuple[Any, ...], dict[str, Any]]:
            torch.manual_seed(seed)
            made = inputs_of(source, name, path)
            torch.manual_seed(seed)
            return made

        state = {key: value.clone() for key, value in eager.state_dict().items()} if isinstance(eager, torch.nn.Module) else {}
        args, kwargs = arguments()
        check_inputs(eager, name, args, kwargs)
        ctx = make_context()
        module = open_frame(eager, args, kwargs, ctx)
        live = ctx.resources["frame"]
        PassManager.parse("capture").run(module, ctx)
        return cls(eager, arguments, live, tuple(ctx.resources["objects"]), seed, state)

    def run_eagerly(self) -> list[Any]:
        """The tensors that the function itself gives."""
        return self._run(self.eager, ())

    def run_frame(self, module: Operation, run: Run) -> list[Any]:
        """The tensors that the frame in a module gives; `run` runs the graph that it calls.  Raises `LectError` when there is no whole frame."""
        frames = [op for op in module.body if op.name == "pyframe.func"]
        if not frames:
            raise LectError("the module has no frame: no pyframe.func", op=module)
        frame = frames[0]
        if len(frames) > 1:
            raise LectError(f"the frame of @{frame.symbol} is cut at a graph break, and what is behind it refers to live objects", op=frames[1])
        graph = SymbolTable(module).lookup(f"{frame.symbol}.graph")
        call: Callable[..., list[Any]] | None = None
        if graph is not None:
            program = Program(module, graph)
            call = lambda *tensors: run(program, tensors)  # noqa: E731
        function = link_residual(frame, self.live.function, call, self.objects, True, dict(self.live.codes))
        front = () if isinstance(self.eager, FunctionType) else (getattr(self.eager, "__self__", self.eager),)
        return self._run(function, front)

    def _run(self, function: Callable[..., Any], front: tuple[Any, ...]) -> list[Any]:
        """The tensors that a call gives, and behind them those that it was given, as they are then."""
        if self.state:
            self.eager.load_state_dict(self.state)
        args, kwargs = self.arguments()
        return [*tensors_in(function(*front, *args, **kwargs)), *[each for each in tensors_in((args, kwargs)) if each.dim()]]


def tensors_in(value: Any) -> list[Any]:
    """The tensors and numbers of a result, in order; numbers as tensors."""
    from torch.utils._pytree import tree_leaves

    found = [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor | bool | int | float)]
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else torch.tensor(leaf) for leaf in found]
