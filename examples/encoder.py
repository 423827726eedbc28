"""One block of a transformer encoder, as torch ships it.  `lect-opt --capture examples/encoder.py:encode` shows its levels."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.TransformerEncoderLayer(d_model=64, nhead=4, dim_feedforward=256, batch_first=True).eval()


def encode_inputs() -> tuple[torch.Tensor]:
    """Arguments for `encode`: 4 sequences of 16 vectors."""
    return (torch.randn(4, 16, 64),)


def encode(x: torch.Tensor) -> torch.Tensor:
    """The block without gradients."""
    with torch.no_grad():
        return model(x)
