"""Giving tensors that the caller keeps another content, as the last step of a compiled graph."""

from __future__ import annotations

import torch


def write(target: torch.Tensor, value: torch.Tensor, versions: int) -> None:
    """Copy `value` into `target`; autograd sees `versions` writes in place, which may be none, as where a library function wrote behind its back."""
    if not versions:
        target.data.copy_(value)
        return
    target.copy_(value)
    written(versions - 1, target)


def written(versions: int, *targets: torch.Tensor) -> None:
    """Let autograd see `versions` more writes in place to each."""
    for _ in range(versions):
        torch._C._increment_version(targets)
