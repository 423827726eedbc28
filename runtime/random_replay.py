"""Running the calls of a graph once more through torch with the random numbers that its compiled forward had.

The numbers of lect's own stream are functions of a seed, which the forward draws first of all, and of the number of a stream.  `find_draws` asks
`functional-seed-random` for these functions, one for each random operator of the graph in the order in which they run.  `Replay` puts their numbers in
the place of what torch would draw.  Operators that keep drawing from torch's generator do so here too: set to the state in which the forward found it,
it gives them the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.functional.ops import FuncOp, OpaqueOp, ReturnOp
from lect.dialects.functional.python_values import resolve_overload
from lect.frontends.tensors.lower.inplace import functional_variant
from lect.frontends.tensors.lower.recorder import FILLS_IN_MEMORY_ORDER, memory_order
from lect.frontends.tensors.propagate import is_random
from lect.ir import Block, Operation, Region
from lect.passes.functional.functional_seed_random import DRAWN, Streams
from lect.passes.manager import PassManager
from lect.runtime.graph_copies import copied


@dataclass(frozen=True)
class Draw:
    """One random operator of a graph: its pure overload, and the function from the seed and its operands to its results, None where torch draws."""

    overload: Any
    numbers: FuncOp | None
    operands: tuple[int, ...] = ()  # those that the function takes behind the seed


class NotReplayed(RuntimeError):
    """A graph draws numbers that torch's calls cannot be given."""


def draws_of(graph: Operation, options: Mapping[str, Any]) -> tuple[Draw, ...]:
    """The random operators of a captured graph, as a compile with these options draws their numbers."""
    module = copied(graph)
    PassManager.parse("fx-build-joint,fx-to-functional").run(module, make_context(options=options))
    (func,) = [op for op in module.body if isinstance(op, FuncOp)]
    draws = find_draws(func)
    return draws if options.get("rng", "counter") == "counter" else tuple([Draw(draw.overload, None) for draw in draws])


def find_draws(func: FuncOp) -> tuple[Draw, ...]:
    """The random operators of a graph in front of `functional-seed-random`, in order."""
    found = []
    stream = 0
    for op in func.body:
        if isinstance(op, OpaqueOp):
            overload = resolve_overload(op.target)
            if is_random(overload):
                draw, stream = _draw(op, overload, stream)
                found.append(draw)
    return tuple(found)


def _draw(op: OpaqueOp, overload: Any, stream: int) -> tuple[Draw, int]:
    """One operator by itself, and the number of the next stream."""
    block = Block([value.type for value in op.operands])
    copy = block.append(op.clone(dict(zip(op.operands, block.args))))
    block.append(ReturnOp(list(copy.results)))
    func = FuncOp("numbers", regions=[Region([block])], loc=op.loc)
    streams = Streams(func, stream)
    if not streams.replace_all() or streams.seed is None:
        return Draw(overload, None), stream
    used = [number for number, value in enumerate(block.args) if value.users]
    rest = Block([streams.seed.type, *[block.args[number].type for number in used]])
    mapping = dict(zip([streams.seed, *[block.args[number] for number in used]], rest.args))
    for inner in block:
        if inner is not streams.seed.op:
            rest.append(inner.clone(mapping))
    return Draw(overload, FuncOp("numbers", regions=[Region([rest])], loc=op.loc), tuple(used)), streams.streams


class Replay(TorchDispatchMode):
    """The mode under which the calls run.  Raises `NotReplayed` where another operator draws than drew when the graph was recorded."""

    def __init__(self, draws: Sequence[Draw]) -> None:
        super().__init__()
        self.pending = list(reversed(draws))
        self.seed = torch.randint(*DRAWN[:2], [], dtype=torch.int64) if any(draw.numbers for draw in draws) else None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, or torch wraps every call in a function that imports its compiler."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if not is_random(func):
            return func(*args, **kwargs)
        writes = func._schema.is_mutable
        overload = functional_variant(func) if writes else func
        draw = self.pending.pop() if self.pending else None
        if draw is None or draw.overload is not overload:
            raise NotReplayed(f"a compiled graph drew {draw.overload if draw else 'nothing'} where torch draws {func}, so its numbers cannot be had again")
        if draw.numbers is None:
            return func(*args, **kwargs)
        ordered = func in FILLS_IN_MEMORY_ORDER
        operands = _tensors(args)
        if ordered:
            operands[0] = operands[0].permute(memory_order(operands[0].stride()))
        results = run_functional(draw.numbers, [self.seed, *[operands[number] for number in draw.operands]])
        if not writes:
            return results[0] if len(results) == 1 else tuple(results)
        return _write(func, args, kwargs, results, operands[0] if ordered else None)


def _tensors(args: Sequence[Any]) -> list[torch.Tensor]:
    """Each tensor among the arguments once, as an operation counts its operands."""
    found: list[torch.Tensor] = []
    for argument in args:
        if isinstance(argument, torch.Tensor) and all(argument is not other for other in found):
            found.append(argument)
    return found


def _write(func: Any, args: Sequence[Any], kwargs: dict[str, Any], results: list[torch.Tensor], filled: torch.Tensor | None) -> Any:
    """Give what an operator writes to its content.  The pure form gives its results first, and then what was written beside them."""
    schema = func._schema
    written = []
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written.append(args[position] if position < len(args) else kwargs[argument.name])
    own = 0 if any(returned.alias_info is not None for returned in schema.returns) else len(schema.returns)
    for target, value in zip(written, results[own:]):
        (target if filled is None else filled).copy_(value)
    returned = results[:own] or written
    return returned[0] if len(schema.returns) == 1 else tuple(returned[: len(schema.returns)])


Plan = Callable[[], Sequence[Draw]]
