"""A program with something to see in a report: a graph break, a recompile for another size, and a backward."""

import torch
from torch import nn

import lect


class Net(nn.Module):
    """Two layers, and something between them that cannot be followed."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits of a batch."""
        h = torch.nn.functional.gelu(self.first(x))
        print(end="")  # writes nothing, but who knows: lect cuts the frame here
        return torch.log_softmax(self.second(h), dim=-1)


def main() -> None:
    """Two training steps with batches of different sizes."""
    net = lect.compile(Net())
    for batch in (8, 12):
        loss = -net(torch.randn(batch, 16))[:, 0].mean()
        loss.backward()
    print("two steps done")


if __name__ == "__main__":
    main()
