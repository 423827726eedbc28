"""The Triton source of kernels: one module for each, a header, the functions that it calls, and the kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from lect.backends.triton.emit import FunctionEmitter, python_name
from lect.backends.triton.prelude import prelude
from lect.backends.triton.sizes import hinted, is_narrow
from lect.dialects.kernel.ops import FuncOp
from lect.ir import Context, LectError, Operation

POINTERS: Mapping[str, str] = MappingProxyType(
    {
        "f16": "*fp16", "bf16": "*bf16", "f32": "*fp32", "f64": "*fp64", "i1": "*i1", "i8": "*i8", "i16": "*i16", "i32": "*i32", "i64": "*i64",
        "ui8": "*u8", "ui16": "*u16", "ui32": "*u32", "ui64": "*u64",
    }
)  # fmt: skip
ENTRY = "kernel"
Limits = Sequence[tuple[str, int]]


class Source(NamedTuple):
    """The text of a module, the name of its kernel, the types of its parameters as Triton spells them, how many warps run a program, and how many steps of
    a loop over a product are read ahead, if that is said."""

    text: str
    name: str
    signature: dict[str, str]
    warps: int
    stages: int | None = None


def triton_source(func: Operation, name: str | None = None, aligned: bool = True, narrow: bool | None = None, limits: Limits = ()) -> Source:
    """The source of one kernel, called `name` or as its symbol; `aligned` says whether the addresses in a table are multiples of 16 bytes.

    `narrow` says whether sizes, and all that is computed of them, are i32; left out, it is so where it was so in the captured call.  `limits` are numbers
    that indices of axes which are taken whole stay below, beside their extents.  Raises `LectError` for what has no GPU code.
    """
    assert isinstance(func, FuncOp)
    narrow = (is_narrow(func, hinted(func)) if func.symbols else True) if narrow is None else narrow
    emitter = FunctionEmitter(func, python_name(name or str(func.symbol)), aligned, narrow, dict(limits))
    body = emitter.text()
    signature = {}
    for value in func.pointers:
        element = value.type.element  # type: ignore[attr-defined]
        if element.spelling not in POINTERS:
            raise LectError(f"memory of {element} has no GPU code", op=func)
        signature[emitter.names[value]] = POINTERS[element.spelling]
    for name in emitter.sizes:
        signature[name] = "i32" if narrow else "i64"
    if func.groups is not None:
        signature = {"table": "*i64"}
    return Source(f"{prelude(emitter.calls)}\n\n{body}", emitter.name, signature, func.warps or 4, func.stages)


def renamed(source: Source, name: str) -> Source | None:
    """The source with its kernel called `name`, as if it had been written so; None where something in it has that name already."""
    name = python_name(name)
    if re.search(rf"\b{name}\b", source.text):
        return None
    return source._replace(text=source.text.replace(f"\ndef {source.name}(", f"\ndef {name}(", 1), name=name)


def print_triton(func: Operation, ctx: Context) -> str:
    """The source of one kernel as text, without the header."""
    return triton_source(func).text
