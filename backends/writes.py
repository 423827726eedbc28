"""Giving tensors that the caller keeps another content, as the last step of a compiled graph."""

from __future__ import annotations

import torch


def write(target: torch.Tensor, value: torch.Tensor, versions: int) -> None:
    """Copy `value` into `target`; autograd sees `versions` writes in place, which may be none, as where a library function wrote behind its back."""
    if not versions:
        target.data.copy_(value)
        return
    target.copy_(value)
    written(target, versions - 1)


def written(target: torch.Tensor, versions: int) -> None:
    """Let autograd see `versions` more writes in place."""
    tensors = (target,)
    for _ in range(versions):
        torch._C._increment_version(tensors)
