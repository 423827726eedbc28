"""Backends as printers: the text that a backend makes of a fully lowered module, for `lect-opt --emit`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lect.ir import Context, LectError, Operation


class Emitter(NamedTuple):
    """Operations called `op` are given to `function` ("module:name", called with the operation and the context, returning text)."""

    op: str
    function: str
    comment: str
    hint: str = "lower it first: -p 'aot,loop,kernel'"


EMITTERS: Mapping[str, Emitter] = MappingProxyType(
    {
        "python": Emitter("host.func", "lect.backends.python_host:source_text", "#"),
        "native": Emitter("host.func", "lect.backends.native_host:print_native", "#"),
        "torch": Emitter("fx.graph", "lect.backends.python_fx:source_text", "#", "stop behind the pipeline 'capture'"),
        "llvm": Emitter("kernel.func", "lect.backends.llvm:print_llvm", ";"),
        "triton": Emitter("kernel.func", "lect.backends.triton:print_triton", "#", "lower it first: --target=cuda:sm_90 -p 'aot,loop,kernel'"),
    }
)


def emit(name: str, module: Operation, ctx: Context) -> str:
    """The text that the backend `name` makes of `module`, one part for each function.  Raises `LectError` when there is nothing for it."""
    emitter = EMITTERS[name]
    found = [op for op in module.body if op.name == emitter.op]
    if not found:
        raise LectError(f"--emit={name} prints '{emitter.op}', and the module has none", hint=emitter.hint)
    target, _, function = emitter.function.partition(":")
    printer = getattr(importlib.import_module(target), function)
    return "\n".join(f"{emitter.comment} @{op.symbol}\n{printer(op, ctx)}" for op in found)
