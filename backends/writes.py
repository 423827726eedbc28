"""Giving tensors that the caller keeps another content, as the last step of a compiled graph."""

from __future__ import annotations

import torch


def write(target: torch.Tensor, value: torch.Tensor, versions: int) -> None:
    """Copy `value` into `target`; autograd sees `versions` writes in place, which may be none, as where a library function wrote behind its back."""
    if not versions:
        target.data.copy_(value)
        return
    target.copy_(value)
    for _ in range(versions - 1):
        torch.autograd.graph.increment_version(target)
