"""A function with gradients: `docs/training.md` shows what its forward keeps for its backward."""

import torch


def energy_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Arguments for `energy`."""
    return torch.randn(4, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)


def energy(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """The sum of exp(tanh(x @ w)), doubled."""
    return (torch.tanh(x @ w).exp() * 2).sum()
