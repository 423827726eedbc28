"""Compile `spread` of levels.py and compare it with eager: the program of docs/tutorial.md."""

import torch
from levels import spread

import lect


def main() -> None:
    """One call."""
    torch.manual_seed(0)
    x = torch.randn(64, 32)
    y = lect.compile(spread)(x)
    print(f"largest difference from eager: {(y - spread(x)).abs().max():.4f}")
    for event in lect.events("override"):
        print(f"an edited text was used from {event.level} on")


if __name__ == "__main__":
    main()
