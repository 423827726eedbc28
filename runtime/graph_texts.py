"""The files of one compile: which there are, what stands in front of the text, and whether somebody has edited one.

A compile has a folder, `<function>.<number>`, and each of its backwards one below that, `backward.<number>`.  A file is named by its stage and
its place there, so that the same point has the same name in every compile:

    encode.0/000-capture.mlir             guards, graph and residual code
    encode.0/102-fx-to-functional.mlir    behind a pass that changed something
    encode.0/199-functional.mlir          behind the last pass of a stage: the level
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lect.ir import LectError, Operation, print_op
from lect.passes.manager import PassManager
from lect.passes.pipelines import PIPELINES

CAPTURE = "capture"
# Stage -> the level at whose text it ends.
LEVELS: Mapping[str, str] = MappingProxyType({CAPTURE: CAPTURE, "aot": "functional", "loop": "loop", "kernel": "kernel"})
FRAME = frozenset({"guard.set", "pyframe.func"})  # what belongs to the frame and not to its graph
PROGRAMS = frozenset({"fx.graph", "functional.func", "loop.func", "host.func"})
BACKWARD = "backward"

_HEAD, _GRAPH, _TEXT = "// lect text of ", "// graph: ", "// unedited: "


class TextError(LectError):
    """A folder of texts cannot be written, or a text in it cannot be used."""


# Stage -> the number of its first pass; the level behind it ends in 99, so that a further pass moves no level.
FIRST: Mapping[str, int] = MappingProxyType({stage: 100 * number + 1 for number, stage in enumerate(LEVELS)})


def level_file(stage: str) -> str:
    """The name of the file at the end of a stage."""
    return f"{0 if stage == CAPTURE else FIRST[stage] + 98:03}-{LEVELS[stage]}.mlir"


def pass_file(stage: str, position: int, name: str) -> str:
    """The name of the file behind the pass `name`, which is number `position` of its stage."""
    return f"{FIRST[stage] + position:03}-{name}.mlir"


def file_names() -> list[str]:
    """The names of all files that a compile may have, in order."""
    names = []
    for stage in LEVELS:
        names += [] if stage == CAPTURE else [pass_file(stage, position, name) for position, name in enumerate(PIPELINES[stage])]
        names.append(level_file(stage))
    return names


def folder_name(function: str, number: int) -> str:
    """The folder of compile `number` of the functions with this name."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', function).strip('_.') or 'function'}.{number}"


# ---- text ------------------------------------------------------------------------------------------------------------


def shown_ops(module: Operation, stage: str) -> list[Operation]:
    """What files show of a module: behind the capture guards and residual code are always the same, and left out."""
    return [op for op in module.body if stage == CAPTURE or op.name not in FRAME]


def digest_of(text: str) -> str:
    """A short name for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def captured_digest(module: Operation) -> str:
    """What names the captured graph of a module: its text without locations."""
    return digest_of("\n".join(print_op(op)[0] for op in module.body if op.name == "fx.graph"))


def header(graph: str, where: str, captured: str, rest: str, target: Mapping[str, Any], body: str) -> str:
    """The lines in front of a text: what it is, how to go on from it by hand, and what tells whether it was edited."""
    lines = [f"{_HEAD}{graph}: {where}"]
    if rest:
        flag = "--target " + ",".join(f"{name}={value}" for name, value in target.items()) + " " if target else ""
        lines.append(f"// go on with: lect-opt FILE {flag}-p '{rest}'")
    return "\n".join([*lines, f"{_GRAPH}{captured}", f"{_TEXT}{digest_of(body)}", ""]) + "\n"


def rest_of(stage: str, manager: PassManager, position: int) -> str:
    """The pipeline text from behind a pass to the end."""
    stages = list(LEVELS)
    later = [] if stage == CAPTURE else [manager.rest(position + 1)]
    return ",".join(filter(None, [*later, *stages[stages.index(stage) + 1 :]]))


@dataclass(frozen=True)
class Known:
    """What the lines in front of a text say: the graph it was made of, and whether the text is still as it was written."""

    captured: str = ""
    edited: bool = True

    @classmethod
    def of(cls, text: str) -> Known:
        """Read them; a text without such lines is the work of a person."""
        if not text.startswith(_HEAD):
            return cls()
        head, _, body = text.partition("\n\n")
        said = {mark: line.removeprefix(mark) for line in head.splitlines() for mark in (_GRAPH, _TEXT) if line.startswith(mark)}
        return cls(said.get(_GRAPH, ""), said.get(_TEXT) != digest_of(body))
