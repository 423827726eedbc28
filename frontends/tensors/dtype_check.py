"""Whether eager has a kernel for these dtypes, asked of eager itself.

Meta kernels know the rules of promotion, but not for which dtypes the real kernels were written ("softmax" of integers), and are laxer with some
in-place forms (a bool times an integer).  So an op with unusual dtypes runs once for real, on operands with one element (none where there is none), and
an error about dtypes is the program's own.  Any other error is about those operands and means nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import torch

from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.sizes import Dim

aten = torch.ops.aten
_ABOUT_DTYPES: Final = ("not implemented for", "can't be cast", "dtype", "scalar type", "not supported")
# Not elementwise; an operand of one element each is enough to come to their checks.
_CHECKED: Final = frozenset(
    "mm bmm addmm baddbmm addmv mv dot addbmm _softmax _log_softmax convolution native_layer_norm native_group_norm native_batch_norm mean avg_pool2d"
    " max_pool2d_with_indices _adaptive_avg_pool2d nll_loss_forward embedding gather scatter scatter_add index_select index_add index_copy cumsum cumprod"
    " logcumsumexp sort topk amax amin".split()
)


@cache
def _is_checked(func: Any) -> bool:
    if func.namespace != "aten" or torch.Tag.nondeterministic_seeded in func.tags:
        return False
    return torch.Tag.pointwise in func.tags or func._opname.removesuffix("_") in _CHECKED


def refuse_dtypes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises eager's exception when it has no such kernel."""
    if not _is_checked(func):
        return
    fill = 1 if torch.Tag.pointwise in func.tags else 0  # where an index must be in range, a divisor must not be zero
    try:
        small_args, small_kwargs = _small(args, fill), {name: _small(value, fill) for name, value in kwargs.items()}
    except _OtherDevice:
        return
    try:
        with torch.no_grad():
            func(*small_args, **small_kwargs)
    except (RuntimeError, IndexError, TypeError) as error:
        if any(words in str(error) for words in _ABOUT_DTYPES):
            raise


class _OtherDevice(Exception):
    """An operand does not lie on the CPU, of whose kernels alone something is known here."""


def _small(value: Any, fill: int) -> Any:
    if isinstance(value, torch.Tensor):
        meta = layout_of(value)
        if meta.device.type != "cpu":
            raise _OtherDevice
        return torch.full([min(size, 1) for size in meta.shape], fill, dtype=meta.dtype)
    if isinstance(value, list | tuple):
        return type(value)([_small(item, fill) for item in value])
    if type(value) is Dim:
        return 1
    if isinstance(value, torch.device) and value.type != "cpu":
        raise _OtherDevice
    return value


def is_plain(args: Any) -> bool:
    """True when all operands are floats of one dtype, which every kernel for floats takes."""
    found: set[torch.dtype] = set()
    for value in args:
        if isinstance(value, torch.Tensor):
            found.add(layout_of(value).dtype)
        elif isinstance(value, list | tuple):
            found.update(layout_of(item).dtype for item in value if isinstance(item, torch.Tensor))
    return len(found) == 1 and next(iter(found)).is_floating_point
