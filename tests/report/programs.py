"""Programs that reports are made of, and what tests read out of one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import lect
from lect.runtime.entry import record
from lect.runtime.report.page import page_data
from lect.runtime.report.recording import Recorder

# A line that would do harm if it were taken for HTML: </script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'> <!-- <script> & é


def spread(x: torch.Tensor) -> torch.Tensor:
    h = F.gelu(x) * 2
    return torch.softmax(h, dim=-1)


def outer(x: torch.Tensor) -> torch.Tensor:
    return inner(x) + torch.cos(x)


def inner(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(deepest(x))


def deepest(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x)


def helped(x: torch.Tensor, n: int = 3) -> torch.Tensor:
    y = torch.sin(x) + n
    note("</script><script>window.hurt = 3</script>")
    return torch.relu(y) * 2


def note(text: str) -> None:
    print(text, end="", file=Nowhere())


class Nowhere:
    """Takes text and drops it."""

    def write(self, text: str) -> int:
        """Drop it."""
        return len(text)


def trained(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.tanh(F.layer_norm(x @ w, (8,))).sum()


def left_alone(x: Any) -> Any:
    return [x]


@contextmanager
def recording() -> Iterator[Recorder]:
    """Everything that is compiled meanwhile is recorded."""
    lect.reset()
    recorder = record()
    try:
        yield recorder
    finally:
        recorder.stop()


def everything() -> Recorder:
    """A record with breaks, versions, backwards and a function that runs eagerly."""
    torch.manual_seed(0)
    with recording() as recorder:
        cut, step, alone = lect.compile(helped), lect.compile(trained), lect.compile(left_alone)
        for x in (torch.randn(4), torch.randn(5), torch.randn(4, dtype=torch.float64)):
            assert torch.equal(cut(x), helped(x))
        weight = torch.randn(8, 8, requires_grad=True)
        for rows in (4, 6):
            step(torch.randn(rows, 8), weight).backward()
        alone(torch.randn(2))
    return recorder


def data_of(fn: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What the report of one call holds."""
    recorder = lect.explain(fn)(*args).recorder
    assert recorder is not None
    return page_data(recorder)


def data_in(path: Path) -> dict[str, Any]:
    """What a written report holds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def numbers_of(runs: list[int]) -> list[int]:
    """Numbers of lines, from pairs of a first one and how many follow each other."""
    return [first + more for first, count in zip(runs[::2], runs[1::2]) for more in range(count)]


def level(data: dict[str, Any], compiled: int, name: str) -> list[int]:
    """The numbers of the lines of a level's text."""
    return next(numbers_of(each["text"]) for each in data["compiles"][compiled]["levels"] if each["name"] == name)


def text_of(data: dict[str, Any], numbers: list[int]) -> str:
    """The text of numbered lines."""
    return "".join(data["lines"][number] + "\n" for number in numbers)


def source_line(data: dict[str, Any], part: str) -> int:
    """The place of the source line that has `part` in it."""
    found = [
        file * 1_000_000 + piece["first"] + offset
        for file, each in enumerate(data["files"])
        if each["name"].endswith("report/programs.py")
        for piece in each["parts"]
        for offset, line in enumerate(piece["lines"])
        if part in line
    ]
    return found[0]
