"""A small residual MLP: layer norm, GELU, softmax.  `lect-opt --capture examples/mlp.py:mlp` shows its levels."""

import torch
from torch import nn


class ResidualMLP(nn.Module):
    """x + softmax(linear(gelu(linear(norm(x)))))"""

    def __init__(self, width: int = 64, hidden: int = 256) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.nn.functional.gelu(self.up(self.norm(x)))
        return x + torch.softmax(self.down(h), dim=-1)


torch.manual_seed(0)
model = ResidualMLP().eval()


def mlp_inputs() -> tuple[torch.Tensor]:
    """Arguments for `mlp`."""
    return (torch.randn(32, 64),)


def mlp(x: torch.Tensor) -> torch.Tensor:
    """The model without gradients."""
    with torch.no_grad():
        return model(x)
