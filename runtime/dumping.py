"""Writing the text of a compile: every level, and the module behind each pass that changed it, as files that lect-opt and lect-run read.

Beside them stand what the backends make of the last level: `host.py`, and `kernels.ll` or, for a GPU, a folder of kernels (`kernel_files`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lect.ir import Context, LectError, Operation
from lect.ir.text_memory import TextMemory, same_parts
from lect.passes.instrument import Instrument
from lect.passes.manager import PassManager
from lect.passes.targets import is_gpu
from lect.runtime.graph_texts import CAPTURE, LEVELS, Known, TextError, digest_of, header, level_file, pass_file, rest_of, shown_ops, texts_in, to_bytes


class Body(NamedTuple):
    """What stands in a file below its first lines: the texts of the operations it is made of, all of it as bytes, and a short name for that."""

    parts: list[str]
    text: bytes
    digest: str

    @classmethod
    def of(cls, parts: list[str]) -> Body:
        """The text of a module that has operations with these texts."""
        text = to_bytes("\n\n".join(parts) + "\n")
        return cls(parts, text, digest_of(text))


@dataclass
class Dump:
    """The files of one compile, in `folder`; `graph` is what its texts are called, `captured` names the captured graph."""

    folder: Path
    graph: str
    captured: Callable[[Operation], str]
    files: int = 0
    texts: TextMemory = field(default_factory=TextMemory)
    last: Body | None = None
    _open: bool = False

    def changed(self, module: Operation, stage: str) -> bool:
        """Whether a file would show another text of the module than `last`, which is the new one then."""
        ops = shown_ops(module, stage)
        self.texts.keep_only(ops)
        parts = [self.texts.of(op) for op in ops]
        if self.last is not None and same_parts(self.last.parts, parts):
            return False
        body = Body.of(parts)
        before, self.last = self.last, body
        return before is None or before.text != body.text

    def write(self, name: str, text: str) -> None:
        """Write one file.  Raises `TextError` when that is not possible, or would destroy what somebody has edited."""
        self.write_bytes(name, to_bytes(text))

    def write_bytes(self, name: str, *parts: bytes) -> None:
        """The same for a text that is encoded, in parts."""
        try:
            if not self._open:
                self._begin()
            if os.sep in name:
                (self.folder / name).parent.mkdir(exist_ok=True)
            path = os.path.join(self.folder, name)
            unfinished = f"{path}.{os.getpid()}~"
            with open(unfinished, "wb", 0) as file:
                for part in parts:
                    file.write(part)
            os.replace(unfinished, path)  # another process that writes here sees all of it or nothing
        except OSError as error:
            raise TextError(f"the text of a compile cannot be written to '{error.filename or self.folder}': {os.strerror(error.errno or 0)}") from None
        self.files += 1

    def _begin(self) -> None:
        """Make the folder, and remove what an earlier process left there, or one that runs at the same time and does so, too."""
        self._open = True
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in texts_in(self.folder):
            try:
                edited = Known.of(path.read_text(encoding="utf-8", errors="surrogatepass")).edited
            except FileNotFoundError:
                continue
            except UnicodeDecodeError:
                edited = True
            if edited:
                raise TextError(
                    f"'{path}' was edited, and writing the text of this compile would replace it",
                    hint="name another folder, or use the edited file with LECT_OVERRIDE instead of LECT_DUMP",
                )
            path.unlink(missing_ok=True)

    def instrument(self, stage: str) -> DumpPasses:
        """What writes the passes of a stage."""
        return DumpPasses(self, stage)

    def linked(self, module: Operation, ctx: Context) -> None:
        """Write what the backends make of a module that is lowered to the end."""
        kernels = [op for op in module.body if op.name == "kernel.func" and op.attrs.get("target") != "cuda"]
        try:
            for op in module.body:
                if op.name == "host.func":
                    from lect.backends import python_host

                    self.write("host.py", python_host.source_text(op, ctx))
            if kernels:
                from lect.backends.llvm.kernels import shown_text

                self.write("kernels.ll", shown_text(kernels, ctx))
        except TextError:
            raise
        except LectError:  # what a backend cannot make, linking says
            return


@dataclass
class DumpPasses(Instrument):
    """Writes a file behind each pass that changed something, and one at the end of the stage."""

    dump: Dump
    stage: str

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        if position == 0 and self.dump.last is None and self.stage not in (CAPTURE, "aot"):  # a backward begins at this level
            earlier = list(LEVELS)[list(LEVELS).index(self.stage) - 1]
            self.dump.changed(op, self.stage)
            self._save(level_file(earlier), f"the level {LEVELS[earlier]}", str(manager), op, ctx)

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        each = manager.passes[position]
        if not (each.gpu_only and _is_for_cpu(op, ctx)) and self.dump.changed(op, self.stage) and self.stage != CAPTURE:
            name = each.name
            self._save(pass_file(self.stage, position, name), f"behind {name}", rest_of(self.stage, manager, position), op, ctx)
        if position == len(manager.passes) - 1:
            self._save(level_file(self.stage), f"the level {LEVELS[self.stage]}", rest_of(self.stage, manager, position), op, ctx)

    def _save(self, name: str, where: str, rest: str, op: Operation, ctx: Context) -> None:
        body = self.dump.last
        assert body is not None
        head = header(self.dump.graph, where, self.dump.captured(op), rest, ctx.target, body.digest)
        self.dump.write_bytes(name, to_bytes(head), body.text)


def _is_for_cpu(module: Operation, ctx: Context) -> bool:
    """Whether passes for kernels of a GPU have nothing to do: nothing in the module is for one, or approximate as only theirs are by themselves."""
    return not is_gpu(ctx.target) and not any(op.attrs.get("target") == "cuda" or op.attrs.get("approximate") for op in module.body)
