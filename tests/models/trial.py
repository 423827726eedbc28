"""One model tried: compiled against eager on two inputs of the same shapes, and what became of it."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch

import lect
from tests.e2e.support import same
from tests.models.catalogue import Case
from tests.models.rounding import Rounding

SEEDS = (1, 2)


@dataclass(frozen=True)
class Outcome:
    """What a compile of one model gave; `reason` is empty when it is one graph, else says why it runs eagerly or is cut."""

    name: str
    reason: str
    detail: str
    operations: int
    capture_ms: float
    compile_ms: float

    def row(self) -> str:
        """One line of the table."""
        what = f"{self.reason} {self.detail}" if self.reason else "one graph"
        return f"{self.name:36} {self.capture_ms:8.1f} {self.compile_ms:9.1f} {self.operations:5}  {what}"


HEADER = f"{'model':36} {'capture':>8} {'compile':>9} {'calls':>5}  result (times in ms)"


def try_model(case: Case, level: str = "native") -> Outcome:
    """Compare the compiled model with a second one of the same weights that runs eagerly; an AssertionError says what differs."""
    model, eager = case.model(), case.model()
    lect.reset()
    compiled = lect.compile(model, options={"level": level, "rng": "eager"})
    before, eager_before = state_of(model), state_of(eager)
    with torch.no_grad():
        for seed in SEEDS:
            torch.manual_seed(seed)  # some models draw random numbers even in eval mode
            want = eager(**case.inputs(seed))
            torch.manual_seed(seed)
            got = compiled(**case.inputs(seed))
            same(want, got, scaled=True)
            if isinstance(want, dict) and hasattr(want, "__dict__"):  # an output object whose fields are keys too
                same(vars(want), vars(got), scaled=True)
    changes = changed(eager_before, state_of(eager))
    assert changed(before, state_of(model)) == changes
    outcome = outcome_of(case.name)
    assert outcome.reason != "LB0020", outcome.detail
    versions = len(lect.events("compile"))  # a model that keeps what its first call found is another one at the second
    assert outcome.reason or versions == 1 or changes, "the second input was compiled again: " + "; ".join(map(str, lect.events("guard miss")))
    return outcome


def try_training(case: Case) -> Outcome:
    """Two steps of training beside those of a second model of the same weights: outputs, buffers and gradients are the same up to rounding."""
    model, eager = case.model().train(), case.model().train()
    lect.reset()
    compiled = lect.compile(model, options={"rng": "eager"})
    before, eager_before = state_of(model), state_of(eager)
    for seed in SEEDS:
        (want, slopes), (got, found) = _step(eager, eager, case, seed), _step(compiled, model, case, seed)
        assert list(slopes) == list(found)
        try:
            same(want, got, scaled=True)
        except AssertionError:
            same(_exact_of(want), _exact_of(got), exact=True)
            assert len(_tensors(want[0])) == len(_tensors(got[0])), "other outputs"
        _rounding_of(case, seed).check(_tensors_of(want, slopes), _tensors_of(got, found))
    changes = changed(eager_before, state_of(eager))
    assert changed(before, state_of(model)) == changes
    outcome = outcome_of(case.name)
    assert outcome.reason != "LB0020", outcome.detail
    return outcome


def _tensors_of(result: Any, slopes: Mapping[str, torch.Tensor | None]) -> dict[str, torch.Tensor | None]:
    """What rounds of a step by name: outputs, buffers and gradients."""
    outputs, buffers, _ = result
    found: dict[str, torch.Tensor | None] = {f"output {number}": tensor for number, tensor in enumerate(_tensors(outputs)) if tensor.is_floating_point()}
    found.update({f"the buffer {name}": buffer for name, buffer in buffers.items() if buffer.is_floating_point()})
    return {**found, **{f"the gradient of {name}": slope for name, slope in slopes.items()}}


def _exact_of(result: Any) -> list[Any]:
    """What cannot round: names of buffers, those of integers, and the state of the random generator."""
    _, buffers, state = result
    return [list(buffers), {name: buffer for name, buffer in buffers.items() if not buffer.is_floating_point()}, state]


def _rounding_of(case: Case, seed: int) -> Rounding:
    def step(dtype: torch.dtype | None, move: Callable[[torch.nn.Module], None]) -> dict[str, torch.Tensor | None]:
        model = case.model().train()
        move(model)
        if dtype is not None:
            model = model.to(dtype)
        for each in SEEDS[: SEEDS.index(seed)]:  # running statistics remember
            _step(model, model, case, each, dtype)
        return _tensors_of(*_step(model, model, case, seed, dtype))

    return Rounding(step)


def _in(dtype: torch.dtype | None, value: Any) -> Any:
    """An input with floats of another type."""
    return value.to(dtype) if dtype is not None and isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _step(run: Any, module: torch.nn.Module, case: Case, seed: int, dtype: torch.dtype | None = None) -> tuple[Any, dict[str, torch.Tensor | None]]:
    """Outputs, buffers and the state of the random generator behind one step, and the gradients of the parameters."""
    for parameter in module.parameters():
        parameter.grad = None
    for seeded in (torch.manual_seed, random.seed, numpy.random.seed):
        seeded(seed)
    outputs = run(**{name: _in(dtype, value) for name, value in case.batch(seed).items()})
    state = torch.get_rng_state()
    generator = torch.Generator().manual_seed(seed)  # all elements alike would cancel behind a normalisation
    losses = [(tensor * torch.randn(tensor.shape, generator=generator)).sum() for tensor in _tensors(outputs) if tensor.requires_grad]
    torch.stack(losses).sum().backward()
    gradients = {name: parameter.grad for name, parameter in module.named_parameters()}
    return (outputs, dict(module.named_buffers()), state), gradients


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of a result, each once."""
    if isinstance(value, torch.Tensor):
        return [value]
    inner = (
        value.values()
        if isinstance(value, Mapping)
        else value
        if isinstance(value, list | tuple)
        else vars(value).values()
        if hasattr(value, "__dict__")
        else ()
    )
    return list({id(tensor): tensor for item in inner for tensor in _tensors(item)}.values())


def outcome_of(name: str) -> Outcome:
    """What the events since the last reset say."""
    traces, compiles = lect.events("trace"), lect.events("compile")
    breaks, fallbacks = lect.events("graph break"), lect.events("fallback")
    capture = sum(event.seconds for event in traces) * 1e3
    calls = sum(event.torch_calls for event in traces)
    seconds = sum(event.seconds for event in compiles)
    if breaks:  # what stands between two of them may be nothing to compile
        fallbacks = [event for event in fallbacks if event.number != "LB0022"]
    if not fallbacks and not breaks:
        return Outcome(name, "", "", calls, capture, seconds * 1e3)
    first = (fallbacks or breaks)[0]
    place = re.sub(r".*site-packages/", "", first.location)
    detail = f"{first.detail} @ {place}".replace("\n", " ")
    number = first.number if fallbacks else f"{len(breaks)} breaks, {first.number}"
    return Outcome(name, number, detail, calls, capture, seconds * 1e3)


def state_of(model: torch.nn.Module) -> Mapping[str, Any]:
    """Every attribute of every module by its path: tensors by value and version, containers by their elements, other objects by identity."""
    found: dict[str, Any] = {}
    for path, module in model.named_modules():
        found[f"{path}:"] = type(module)
        for name, value in vars(module).items():
            found[f"{path}.{name}"] = copy.copy(value) if isinstance(value, list | dict | set) else value
    for path, tensor in [*model.named_parameters(), *model.named_buffers()]:
        found[f"{path}="] = (tensor._version, tensor.detach().clone())
    return found


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The paths whose attributes are not what they were."""
    return {path for path in before.keys() | after.keys() if not _unchanged(before.get(path), after.get(path))}


def _same_up_to_nothing(old: torch.Tensor, new: torch.Tensor) -> bool:
    """Equal, or apart by what is rounding next to numbers around 1: the mean of what cancels is 0 in one order of its terms and 1e-14 in another."""
    return torch.equal(old, new) or (old.is_floating_point() and old.shape == new.shape and torch.allclose(old, new, rtol=0, atol=1e-10))


def _unchanged(old: Any, new: Any) -> bool:
    if isinstance(old, tuple) and len(old) == 2 and isinstance(old[1], torch.Tensor):
        return isinstance(new, tuple) and old[0] == new[0] and _same_up_to_nothing(old[1], new[1])
    if isinstance(old, list | set) and type(old) is type(new):
        return len(old) == len(new) and all(a is b or type(a) is type(b) and a == b for a, b in zip(old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        return list(old) == list(new) and all(old[key] is new[key] or old[key] == new[key] for key in old)
    return old is new or (isinstance(old, int | float | str | bool) and old == new)
