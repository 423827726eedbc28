"""A function that is compiled by a wrong fusion pass, on purpose, and compared with eager: the second program of docs/tutorial.md."""

import torch

import lect


def scores(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Some operations that are fused."""
    for _ in range(4):
        x = torch.softmax(x.sin() * y, dim=-1).exp() + y.cos()
    return x


def main() -> None:
    """One call."""
    torch.manual_seed(0)
    x, y = torch.randn(16, 32), torch.randn(16, 32)
    z = lect.compile(scores, options={"seed_bug": "fusion"})(x, y)
    print(f"largest difference from eager: {(z - scores(x, y)).abs().max():.2f}")


if __name__ == "__main__":
    main()
