"""Two kinds of random numbers in one function, for docs/random-numbers.md."""

import torch
import torch.nn.functional as F


def noisy(x: torch.Tensor) -> torch.Tensor:
    """Dropout and normal noise."""
    return F.dropout(x, 0.1) + torch.randn_like(x) * 0.1


def noisy_inputs() -> tuple[torch.Tensor]:
    """Arguments for `noisy`."""
    return (torch.randn(64, 32),)
