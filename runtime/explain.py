"""`lect.explain`: what a compile of one call gives, as an object that prints itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lect.frontends.capture.interpreter import CodeTable
from lect.runtime.events import Fallback, Note
from lect.runtime.pipeline import Compiled, compile_call


@dataclass(frozen=True)
class Explanation:
    """`text` is the captured module (guards, graph, residual code), `break_reason` why the frame runs eagerly, or None,
    `note` why the frame is compiled but its graph runs through torch, or None."""

    function: str
    text: str
    guards: int
    torch_calls: int
    effects: int
    frames: int
    stages: tuple[tuple[str, float], ...]
    break_reason: Fallback | None
    note: Note | None = None

    @property
    def compiled(self) -> bool:
        """True when the call runs compiled code."""
        return self.break_reason is None

    def __str__(self) -> str:
        lines = [f"{self.function}: {self.torch_calls} torch calls in {self.frames} frames, {self.guards} guards, {self.effects} effects"]
        if self.break_reason is not None:
            lines.append(f"runs eagerly: {self.break_reason.text()}")
        if self.note is not None:
            lines.append(self.note.text())
        lines.append("times: " + ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.stages))
        return "\n".join(lines) + ("\n\n" + self.text if self.text else "")


def explain_call(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
    """Compile `fn(*args, **kwargs)` without running or keeping it."""
    made: Compiled = compile_call(fn, args, kwargs, CodeTable(), {}, lambda stage, module: None)
    counts = made.statistics
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    return Explanation(
        name,
        made.text,
        counts.get("guards", 0),
        counts.get("torch calls", 0),
        counts.get("effects", 0),
        counts.get("frames inlined", 0),
        tuple(made.stages),
        made.fallback,
        made.note,
    )
