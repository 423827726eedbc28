"""One sample of an entry, run as it is and compiled; what it gave and who computed it."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import torch

import lect
from lect.ir import Operation
from lect.passes.convert.functional_to_loop_gather import CHECK
from lect.passes.functional.functional_seed_random import DRAW, DRAWN
from lect.runtime import entry as runtime_entry
from tests.opinfo.compare import Snapshot, difference, no_less_exact, sharing_of
from tests.opinfo.samples import OUT, RANDOM, UNDEFINED, Case, Copies, cases, dtype_name, entries, exactly, full_name, garbage_like, kinds_of, tensors_in

GOOD = frozenset({"equal", "close", "metadata"})
HEAVY = ("mm", "bmm", "addmm", "addbmm", "baddbmm", "addmv", "convolution", "attention")  # library calls that are meant to stay such

# Where torch's own kernel is this far off (tests/unit/backends/test_special.py compares with exact values): a result may differ from it as much.  Its Bessel
# functions reduce their angles in one step, its erfcx of f32 and its i0e of bf16 are a few roundings off, which gradients magnify.
EAGER_IS_OFF = MappingProxyType(
    {
        **{(f"special.{name}", torch.float64): 2e-6 for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")},
        **{(f"special.{name}", torch.float32): 2e-5 for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai", "log_ndtr")},
        ("nn.functional.layer_norm", torch.float32): 2e-5,  # of one element: what cancels, times 1 / sqrt(eps)
        ("native_layer_norm", torch.float32): 2e-5,
        ("special.i0e", torch.bfloat16): 2.0**-9,
        ("grid_sampler_3d", torch.float32): 2e-5,  # hundreds of terms of either sign, added one after the other
    }
)


@dataclass
class Outcome:
    """What became of one sample.

    `how` is `equal` (bit by bit), `close` (up to rounding), `metadata` (random or undefined elements), or the name of a fault that `what` describes.
    `way` says who computed it: `native` kernels (with products and convolutions by the library), `library` calls for a part, `opaque` calls of operators
    that lect has no operation for, `torch` call by call, in `parts` around a graph break, or `eager`.  `reasons` are the numbers of the events.
    """

    entry: str
    dtype: str
    kind: str
    number: int
    what_ran: str
    how: str
    what: str = ""
    way: str = "eager"
    reasons: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """True when eager's."""
        return self.how in GOOD

    def record(self) -> dict[str, Any]:
        """For a line of JSON."""
        return asdict(self)


def is_meant(callee: str) -> bool:
    """True for a library call that is meant to stay one: a product, a convolution or attention.  `lgamma` is none, whatever letters it has."""
    operator = callee.split(".")[1]
    return operator in HEAVY or any(name in operator for name in HEAVY if len(name) > len("baddbmm"))


def is_seed(callee: str, args: tuple[Any, ...]) -> bool:
    """True for the one draw from torch's generator that seeds the random numbers of a graph: it computes none of them."""
    return callee == DRAW and args == DRAWN


class Watch:
    """Looks at the levels of what is compiled while it is in place: forwards, and backwards when they are asked for."""

    def __init__(self) -> None:
        self.graphs = 0
        self.opaque: list[str] = []
        self.library: list[str] = []

    def __enter__(self) -> Watch:
        runtime_entry.RUNTIME.observe = self.observe  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: Any) -> None:
        del runtime_entry.RUNTIME.observe

    def observe(self, stage: str, module: Operation) -> None:
        if stage == "aot":
            self.opaque += [op.target.leaf for op in module.walk() if op.name == "functional.opaque" and not is_seed(op.target.leaf, op.args)]
        if stage in ("kernel", "backward-kernel"):
            self.graphs += 1
            calls = [op.callee.leaf for op in module.walk() if op.name == "host.extern" and not is_seed(op.callee.leaf, op.args)]
            self.library += [name for name in calls if name != CHECK and not is_meant(name)]

    def way(self) -> tuple[str, list[str], list[str]]:
        """Who computed what was compiled since the last reset, the numbers of the reasons for which it was not lect, and what they say or who it was."""
        events = [event for event in lect.events("fallback", "note", "graph break", "backward fallback") if event.number != "LB0022"]
        reasons = sorted({event.number for event in events} - {""})
        details = [f"{event.number} {event.detail}"[:240] for event in events]
        kinds = {event.kind for event in events}
        if "fallback" in kinds:
            return "eager", reasons, details
        if "graph break" in kinds:
            return "parts", reasons, details
        if kinds & {"note", "backward fallback"}:
            return "torch", reasons, details
        if not self.graphs:
            return "python", reasons, details
        way = "opaque" if self.opaque else "library" if self.library else "native"
        return way, reasons, [*details, *[f"{way} {name}" for name in self.opaque or self.library]]


def run(function: Any, case: Case, backward: bool, out: Any) -> Snapshot:
    """One call on copies of its arguments, and the gradients if wanted."""
    copies = Copies()
    args, kwargs = copies.copy(case.args), copies.copy({name: value for name, value in case.kwargs.items() if value is not OUT})
    if out is not None:
        kwargs["out"] = copies.copy(out)
    torch.default_generator.manual_seed(1)
    before = [tensor._version if not tensor.is_inference() else 0 for tensor in copies.tensors]
    result, error, gradients = None, None, ()
    try:
        result = function(args, kwargs)
    except Exception as raised:
        error = raised.with_traceback(None)
    state = torch.get_rng_state()
    versions = tuple(tensor._version - count for tensor, count in zip(copies.tensors, before))
    if backward and error is None:
        try:
            gradients = gradients_of(result, copies.tensors)
        except Exception as raised:
            error = raised.with_traceback(None)
    return Snapshot(result, sharing_of(result, copies.tensors), tuple(copies.tensors), versions, gradients, error, state)


def gradients_of(result: Any, arguments: list[torch.Tensor]) -> tuple[Any, ...]:
    """Gradients of all arguments that want one, for weights that differ from element to element."""
    outputs = [tensor for tensor in tensors_in(result) if tensor.requires_grad and tensor.layout is torch.strided]
    wanted = [tensor for tensor in arguments if tensor.requires_grad and tensor.is_leaf]
    if not outputs or not wanted:
        return ()
    weights = [_weights(tensor) for tensor in outputs]
    return torch.autograd.grad(outputs, wanted, weights, allow_unused=True)


def _weights(output: torch.Tensor) -> torch.Tensor:
    """Weights that lie in memory as a result does: how a gradient lies depends on that."""
    count = output.numel()
    values = torch.linspace(0.5, 1.5, max(1, count), dtype=torch.float64)[:count].reshape(output.shape).to(output.dtype)
    if not count or not torch._prims_common.is_non_overlapping_and_dense_or_false(output):
        return values
    return torch.empty_strided(output.shape, output.stride(), dtype=output.dtype).copy_(values)


def try_case(name: str, dtype: torch.dtype, kind: str, number: int, case: Case) -> Outcome | None:
    """Run one call both ways; None when eager has no such call."""

    function = case.function

    def call(args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    base = name.partition(".")[0] if name.partition(".")[0] in UNDEFINED else entries()[name].name
    seed = torch.get_rng_state()
    out, backward = None, kind == "backward"
    if kind == "out":
        plain = run(call, case, False, None)
        if plain.error is not None or not tensors_in(plain.result):
            return None
        out = garbage_like(plain.result)
    want = run(call, case, backward, out)
    if kind != "error" and want.error is not None:
        return None
    runtime_entry.RUNTIME.log.clear()
    with Watch() as watch:
        got = run(lect.compile(call), case, backward, out)
        way, reasons, details = watch.way()
    drew = not torch.equal(want.state, _seeded())
    how, what = difference(want, got, out=kind == "out")
    if how == "value" and "alpha" in case.kwargs and dtype in (torch.bfloat16, torch.float16):
        # Eager rounds the product in the last elements of a tensor and does not in the others.
        how, what = difference(want, got, out=kind == "out", slack=2.0**-6)
    if how in ("value", "gradient") and (name, dtype) in EAGER_IS_OFF:
        how, what = difference(want, got, out=kind == "out", slack=EAGER_IS_OFF[name, dtype])
    if how in ("value", "gradient") and dtype in (torch.bfloat16, torch.float16) and kind != "error":
        exact = run(call, exactly(case), backward, None)
        pairs = [(each.result, each.gradients) for each in (want, got, exact)]
        if exact.error is None and no_less_exact(*pairs):
            how, what = "close", ""
    if how not in GOOD and ((base in RANDOM and drew) or base in UNDEFINED):
        how, what = difference(want, got, values=False)
        how = "metadata" if how in GOOD else how
    if "LB0020" in reasons and how in GOOD:
        how, what = "internal", "; ".join(text for text in details if text.startswith("LB0020"))
    torch.set_rng_state(seed)
    return Outcome(name, dtype_name(dtype), kind, number, case.what, how, what, way, reasons, details)


def _seeded() -> torch.Tensor:
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(1)
    seeded = torch.get_rng_state()
    torch.set_rng_state(state)
    return seeded


def outcomes(name: str, dtype: torch.dtype, kinds: Any, limit: int, skipped: Any = frozenset(), started: Any = None) -> Any:
    """The outcomes of an entry for a dtype, one by one; `started` is told of each sample before it runs, `skipped` are (kind, number) to leave out."""
    op = entries()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in kinds_of(op, dtype):
            if kind not in kinds:
                continue
            for number, case in cases(op, dtype, kind, limit):
                if (kind, number) in skipped:
                    continue
                if started is not None:
                    started(kind, number)
                found = try_case(full_name(op), dtype, kind, number, case)
                if found is not None:
                    yield found
