"""Which sizes have changed between two calls: they are integers of the first version, and symbols from then on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard import ops as guard
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.size_policy import LEAST
from lect.ir import Operation
from lect.runtime.guard_checks import read_path

PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)  # of which a question runs no code of the program


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
