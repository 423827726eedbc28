"""Which sizes have changed between two calls: they are integers of the first version, and symbols from then on.  And which ones a lowering needs to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.size_policy import LEAST
from lect.ir import UNKNOWN, Location, Operation, SymbolicSizeError
from lect.ir.facts import only_symbol, symbols_of
from lect.ir.symbolic import Expr
from lect.runtime.guard_checks import read_path

PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)  # of which a question runs no code of the program


def needed_sizes(error: BaseException) -> tuple[frozenset[int], Location]:
    """The symbols of the sizes that an error is about, and where: those it names, else those of the tensors of the operation that it is about."""
    step: BaseException | None = error
    while step is not None:
        op = getattr(step, "op", None)
        loc = getattr(step, "loc", UNKNOWN)
        if isinstance(step, SymbolicSizeError) and step.sizes:
            return frozenset(number for size in step.sizes if type(size) is Expr for number in symbols_of(size)), loc
        if op is not None and (found := symbols_of_tensors(op)):
            return found, op.loc
        step = step.__cause__
    return frozenset(), UNKNOWN


def symbols_of_tensors(op: Operation) -> frozenset[int]:
    """The symbols in the sizes of the operands and results of an operation, at the levels where tensors have types with sizes."""
    types = [value.type for value in (*op.operands, *op.results)]
    return frozenset(number for type in types for size in getattr(type, "shape", ()) for number in symbols_of(size))


def what_to_do(reason: str) -> str:
    """What a person can do about a size that is compiled as at hand, by the reason for that."""
    if reason == "its value is needed":
        return "range(), a key, a text or an index in Python wants the number: compute with the size, or say lect.mark_static"
    if reason.endswith("holds for it"):
        return "the program wants it to be so: say lect.mark_static where that is meant, or check it with torch._check"
    return "this has no form for all sizes: call it outside of the compiled function, or say lect.mark_static"


def sizes_of_symbols(conditions: Iterable[Operation], function: Any, bound: Mapping[str, Any]) -> tuple[dict[int, int], dict[int, str]]:
    """For each size symbol of some guards its value in a call, and what it is called there: the path of the first size or number that tells it."""
    values: dict[int, int] = {}
    names: dict[int, str] = {}
    for op in conditions:
        if not isinstance(op, guard.TensorOp | guard.NumberOp):
            continue
        path: PathAttr = op.operands[0].owner.path  # type: ignore[union-attr]
        for dim, size in enumerate(op.sizes if isinstance(op, guard.TensorOp) else [op.size]):
            alone = only_symbol(size) if type(size) is Expr and not size.const else None
            if alone is None or alone[0] in names:
                continue
            number, factor = alone
            name = f"{path.print_body()}.size({dim})" if isinstance(op, guard.TensorOp) else path.print_body()
            names[number] = name if factor == 1 else f"-{name}" if factor == -1 else f"{name} // {factor}"
            try:
                found = _size_there(read_path(path, function, bound, ()), dim)
            except Exception:  # it is not there: another guard tells of that
                continue
            if found is not None:
                values[number] = found // factor
    return values, names


def _size_there(value: Any, dim: int) -> int | None:
    """The size of a tensor, or an int itself; None where there is none."""
    if type(value) in PLAIN:
        return value.shape[dim] if value.dim() > dim else None  # type: ignore[no-any-return]
    return value if type(value) is int else None


def changed_sizes(conditions: Iterable[Operation], function: Any, bound: Mapping[str, Any]) -> dict[PathAttr, tuple[int, int]]:
    """For each size that is another one than a version wants: the size wanted and the size found, both at least 2.

    Paths with kept objects in them are left out, and tensors of classes of the program, which it would be asked for.
    """
    found: dict[PathAttr, tuple[int, int]] = {}
    for op in conditions:
        if not isinstance(op, guard.TensorOp):
            continue
        path: PathAttr = op.operands[0].owner.path  # type: ignore[union-attr]
        if path.root == "O" or any(isinstance(key, ObjectRef) for _, key in path.steps):
            continue
        try:
            tensor = read_path(path, function, bound, ())
        except Exception:  # it is not there: another guard tells of that
            continue
        if type(tensor) not in PLAIN or tensor.dim() != len(op.sizes):
            continue
        for dim, (wanted, size) in enumerate(zip(op.sizes, tensor.shape)):
            if type(wanted) is int and wanted != size and wanted >= LEAST and size >= LEAST:
                found[PathAttr(path.root, path.key, (*path.steps, ("size", dim)))] = (wanted, size)
    return found
