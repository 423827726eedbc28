"""The files of one compile: which there are, what stands in front of the text, and whether somebody has edited one.

A compile has a folder, `<function>.<number>`, and each of its backwards one below that, `backward.<number>`.  A file is named by its stage and
its place there, so that the same point has the same name in every compile:

    encode.0/000-capture.mlir             guards, graph and residual code
    encode.0/102-fx-to-functional.mlir    behind a pass that changed something
    encode.0/199-functional.mlir          behind the last pass of a stage: the level
    encode.0/kernels/n2.triton.py         for a GPU, the source of each kernel, and behind it what Triton made of that
    encode.0/kernels/n2.ptx
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
LONGEST_NAME = 150  # bytes of a function's name in that of a folder, which file systems let have 255

KERNELS, SOURCE, PTX = "kernels", ".triton.py", ".ptx"

_HEAD, _GRAPH, _MADE, _TEXT = "lect text of ", "graph: ", "made of: ", "unedited: "
_COMMENTS: Mapping[str, str] = MappingProxyType({".mlir": "// ", PTX: "// ", SOURCE: "# "})  # how a line is one that says nothing, by the end of a file's name


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


def folder_name(function: str) -> str:
    """What the folders of the compiles of a function with this name are called, in front of their numbers."""
    name = re.sub(r"[^\w.-]+", "_", function).strip("_.") or "function"
    if len(to_bytes(name)) > LONGEST_NAME:
        return f"{to_bytes(name)[:LONGEST_NAME].decode('utf-8', 'ignore')}-{digest_of(function)}"
    return name


def texts_in(folder: Path) -> list[Path]:
    """The files of a compile that may be edited: texts of graphs, and of kernels."""
    kernels = [path for suffix in (SOURCE, PTX) for path in folder.joinpath(KERNELS).glob(f"*{suffix}")]
    return [*sorted(folder.glob("*.mlir")), *sorted(kernels)]


def kernel_of(file: str) -> str:
    """The kernel that a file of the folder of kernels belongs to."""
    return re.sub(r"(\.[01]+)?(\.triton\.py|\.ptx)$", "", file)


# ---- text ------------------------------------------------------------------------------------------------------------


def shown_ops(module: Operation, stage: str) -> list[Operation]:
    """What files show of a module: behind the capture guards and residual code are always the same, and left out."""
    return [op for op in module.body if stage == CAPTURE or op.name not in FRAME]


def to_bytes(text: str) -> bytes:
    """A text as it stands in a file; names of a program may be no valid Unicode."""
    return text.encode("utf-8", "surrogatepass")


def digest_of(text: str | bytes) -> str:
    """A short name for a text, or for what stands in a file."""
    return hashlib.blake2b(to_bytes(text) if isinstance(text, str) else text, digest_size=8).hexdigest()


def captured_digest(module: Operation) -> str:
    """What names the captured graph of a module: its text without locations."""
    return digest_of("\n".join(print_op(op)[0] for op in module.body if op.name == "fx.graph"))


def header(graph: str, where: str, captured: str, rest: str, target: Mapping[str, Any], digest: str) -> str:
    """The lines in front of a text: what it is, how to go on from it by hand, and the digest of the text, which tells whether it was edited."""
    lines = []
    if rest:
        flag = "--target " + ",".join(f"{name}={value}" for name, value in target.items()) + " " if target else ""
        lines.append(f"go on with: lect-opt FILE {flag}-p '{rest}'")
    return _lines(".mlir", f"{_HEAD}{graph}: {where}", *lines, f"{_GRAPH}{captured}", f"{_TEXT}{digest}")


def kernel_header(suffix: str, graph: str, where: str, captured: str, made: str, body: str) -> str:
    """The lines in front of the text of a kernel; `made` is the digest of what it was made of."""
    return _lines(suffix, f"{_HEAD}{graph}: {where}", f"{_GRAPH}{captured}", f"{_MADE}{made}", f"{_TEXT}{digest_of(body)}")


def _lines(suffix: str, *lines: str) -> str:
    return "".join(f"{_COMMENTS[suffix]}{line}\n" for line in lines) + "\n"


def source_digest(text: str) -> str:
    """A short name for the source of a kernel, without comments, which say from where in the program it comes."""
    return digest_of("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")))


def rest_of(stage: str, manager: PassManager, position: int) -> str:
    """The pipeline text from behind a pass to the end."""
    stages = list(LEVELS)
    later = [] if stage == CAPTURE else [manager.rest(position + 1)]
    return ",".join(filter(None, [*later, *stages[stages.index(stage) + 1 :]]))


@dataclass(frozen=True)
class Known:
    """What the lines in front of a text say: the graph it was made of, for a kernel what of that, and whether the text is still as it was written."""

    captured: str = ""
    edited: bool = True
    made: str = ""

    @classmethod
    def of(cls, text: str) -> Known:
        """Read them; a text without such lines is the work of a person."""
        mark = next((mark for mark in _COMMENTS.values() if text.startswith(mark + _HEAD)), None)
        if mark is None:
            return cls()
        head, _, body = text.partition("\n\n")
        lines = [line.removeprefix(mark) for line in head.splitlines()]
        said = {key: line.removeprefix(key) for line in lines for key in (_GRAPH, _MADE, _TEXT) if line.startswith(key)}
        return cls(said.get(_GRAPH, ""), said.get(_TEXT) != digest_of(body), said.get(_MADE, ""))
