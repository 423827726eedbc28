"""lect tune: look at the records of tuning, and write some by hand.

    lect tune draft f.py:f                  records of the kernels of a function, with what is chosen without any, to be edited and pinned
    lect tune draft f.py:f --target cuda:sm_90
    lect tune pin mine.tuning               write the records of a file, in the place of older ones
    lect tune ls                            every record: kernel, device, how often measured, microseconds, what is chosen
    lect tune show                          all records as one file, with the texts of their kernels
    lect tune show 9f3c                     those whose kernel begins so
    lect tune rm 9f3c                       remove such records: the kernels are measured again with mode="max-autotune"

Records lie in the level `tuning` of the cache; `lect cache export` and `import` take them along.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lect.dialects import make_context
from lect.dialects.loop.ops import ExternOp, NestOp
from lect.dialects.tuning.ops import RecordOp
from lect.ir import Context, LectError, Operation, parse_module, verify
from lect.passes.targets import TARGETS, device_of
from lect.runtime.settings import cache_folder
from lect.runtime.store import LIMIT, Damaged, Entry, Store
from lect.runtime.tuning_records import KERNEL, LEVEL, TuningStore, choices_text, read_records, record_of, record_text


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="lect tune", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    draft = commands.add_parser("draft", help="print records of what is chosen without any")
    draft.add_argument("source", metavar="SOURCE", help="FILE.py:FUNCTION, as lect-opt --capture takes it, or a file of IR at the level loop")
    draft.add_argument("--target", choices=sorted(TARGETS), default="", help="a GPU that is not at hand (default: the machine on which the tensors lie)")
    commands.add_parser("pin", help="write the records of a file").add_argument("file")
    commands.add_parser("ls", help="list the records")
    commands.add_parser("show", help="print records as a file").add_argument("kernel", nargs="?", default="", help="beginning of the name of a kernel")
    commands.add_parser("rm", help="remove records").add_argument("kernel", help="beginning of the name of a kernel")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    options = arguments().parse_args(argv)
    problems: list[str] = []
    store = Store(cache_folder(os.environ), LIMIT, problems.append)
    try:
        print(answer(store, options), end="")
        if problems:
            raise LectError(problems[0])
    except LectError as error:
        print(error.render(), file=sys.stderr)
        return 1
    return 0


def answer(store: Store, options: argparse.Namespace) -> str:
    """What the command prints.  Raises `LectError`."""
    match options.command:
        case "draft":
            return drafts(options.source, options.target)
        case "pin":
            return pin(store, Path(options.file))
        case "ls":
            return listing(store)
        case "show":
            return "\n".join([kept.text for kept in found(store, options.kernel)])
        case _:
            records = found(store, options.kernel)
            for kept in records:
                store.remove(LEVEL, kept.entry.digest)
            return f"removed {len(records)} records\n"


@dataclass(frozen=True)
class Kept:
    """A record of a store, with its entry."""

    record: RecordOp
    entry: Entry

    @property
    def text(self) -> str:
        """The record, behind the text of its kernel as comments."""
        kernel = self.entry.parts.get(KERNEL, b"").decode(errors="replace")
        return "".join([f"// {line}\n" for line in kernel.splitlines()]) + record_text(self.record)


def records_in(store: Store) -> list[Kept]:
    """The records of a store, by device and name; one that cannot be read is left out and told."""
    records = []
    for listed in store.entries(LEVEL):
        entry = store.get(LEVEL, listed.digest, use=False)
        if entry is None:
            continue
        try:
            records.append(Kept(record_of(entry), entry))
        except (Damaged, LectError) as error:
            store.report(f"the record {LEVEL}/{listed.digest[:12]} cannot be read: {error}")
    return sorted(records, key=lambda kept: (kept.record.device, kept.record.sym_name, kept.record.kernel))


def found(store: Store, kernel: str) -> list[Kept]:
    """The records whose kernel begins so.  Raises `LectError` when there are none."""
    records = [kept for kept in records_in(store) if kept.record.kernel.startswith(kernel)]
    if not records:
        raise LectError(f"no record is of a kernel '{kernel}'" if kernel else f"there are no records in {store.root}", hint="lect tune ls lists the records")
    return records


def listing(store: Store) -> str:
    """A line for each record, and one for all."""
    lines = []
    records = [kept.record for kept in records_in(store)]
    width = max([len(record.device) for record in records], default=0)
    for record in records:
        times = [microseconds for choices, microseconds in record.measured if choices == record.choices]
        how = f"{len(record.measured):3} forms {times[0]:10.1f} us" if times else f"{'by hand':>23}"
        lines.append(f"{record.kernel[:12]} {record.device:{width}} {how}  @{record.sym_name}: {choices_text(record.choices)}\n")
    return "".join([*lines, f"{len(lines)} records in {store.root}\n"])


def pin(store: Store, path: Path) -> str:
    """Write the records of a file.  Raises `TextError` for a junk file, and `LectError` when they cannot be written."""
    records = read_records(path)
    kept = TuningStore(store, store.report)
    if not all(kept.keep(record) for record in records):
        raise LectError(f"records cannot be written to {store.root}")
    return f"wrote {len(records)} records to {store.root}\n"


# ---- drafts ----------------------------------------------------------------------------------------------------------


def drafts(source: str, target: str) -> str:
    """Records of the kernels of a function with the choices of the estimates.  Raises `LectError`."""
    from lect.passes.kernel.candidates import candidates
    from lect.passes.loop.loop_choose_kernel import LoopChooseKernel
    from lect.passes.loop.nests import functions
    from lect.passes.tuning import TUNING, is_tunable, nest_alone, product_alone

    ctx = make_context()
    module = _module(source, target, ctx)
    passes, drafted = LoopChooseKernel(), dict[str, str]()
    _run(module, ctx, "loop", until=passes.name)
    calls = [op for func in functions(module) for op in func.body if isinstance(op, ExternOp) and passes.choices(op, ctx)]
    texts = [(call, product_alone(call)) for call in calls]
    passes.run(module, ctx)
    own = {call for call, _ in texts if call.parent is None}
    offers = ctx.resources[TUNING] = Offers()
    _run(module, ctx, "loop", since="loop-fuse-vertical")
    del ctx.resources[TUNING]
    for pair in offers.pairs:
        _draft(drafted, pair, [op for op in pair.body if isinstance(op, NestOp)][-1].sym_name, {"fused": True}, ctx)
    for call, alone in texts:
        _draft(drafted, alone, call.sym_name, {"product": "own" if call in own else "library"}, ctx)
    _run(module, ctx, "kernel", until="kernel-choose-gpu-tiles")
    for nest in [op for func in functions(module) for op in func.body if isinstance(op, NestOp) and is_tunable(op)]:
        _draft(drafted, nest_alone(nest), nest.sym_name, candidates(nest, ctx.target)[0], ctx)
    return "\n".join(drafted.values())


class Offers:
    """No records, and the pairs of nests that passes have asked for: which may be one nest or two."""

    def __init__(self) -> None:
        self.pairs: list[Any] = []

    def find(self, kernel: str) -> None:
        """There is none."""

    def asked(self, kernel: str, pair: Any) -> None:
        """Take in a pair."""
        self.pairs.append(pair)


def _draft(drafted: dict[str, str], alone: Any, name: str, choices: Any, ctx: Context) -> None:
    """Write a record of a kernel that has none so far."""
    from lect.passes.tuning import name_of, text_of

    kernel = name_of(alone)
    if kernel is None or kernel in drafted:
        return
    record = RecordOp.create((), (), {"sym_name": name, "kernel": kernel, "device": device_of(ctx.target), "choices": dict(choices)})
    assert isinstance(record, RecordOp)
    drafted[kernel] = "".join([f"// {line}\n" for line in text_of(alone).splitlines()]) + record_text(record)


def _module(source: str, target: str, ctx: Context) -> Operation:
    """The module of a source in front of the stage `loop`, with the target in the context."""
    from lect.passes.targets import target_named

    if not source.rpartition(":")[0]:
        try:
            module = parse_module(Path(source).read_text(encoding="utf-8"), ctx, source)
        except (OSError, UnicodeDecodeError) as error:
            raise LectError(f"cannot read '{source}': {error}") from None
        verify(module)
        ctx.target.update(target_named(target) if target else _this_machine())
        return module
    from lect.runtime.machines import machine_of
    from lect.tools.capture_file import capture_file

    module = capture_file(source, ctx)
    _run(module, ctx, "capture")
    graph = next((op for op in module.body if op.name == "fx.graph"), None)
    if graph is None:
        raise LectError(f"no function of torch is called on a tensor in '{source}'")
    ctx.target.update(target_named(target) if target else machine_of(graph))
    _run(module, ctx, "aot")
    return module


def _this_machine() -> dict[str, Any]:
    import torch

    from lect.backends import llvm

    return {**llvm.cpu_target(), "threads": torch.get_num_threads()}


def _run(module: Operation, ctx: Context, stage: str, since: str = "", until: str = "") -> None:
    """Run the passes of a stage, from one on or up to one."""
    from lect.passes.manager import PassManager

    passes = PassManager.parse(stage).passes
    names = [each.name for each in passes]
    PassManager(passes[names.index(since) if since else 0 : names.index(until) if until else None]).run(module, ctx)
