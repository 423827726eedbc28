"""A fusion that is wrong on purpose, found by comparing with eager: the second program of docs/tutorial.md."""

import shutil

import torch

import lect
from lect.ir import LectError


def scores(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Some operations that are fused."""
    for _ in range(4):
        x = torch.softmax(x.sin() * y, dim=-1).exp() + y.cos()
    return x


def main() -> None:
    """One call, which raises."""
    torch.manual_seed(0)
    compiled = lect.compile(scores, options={"seed_bug": "fusion", "check": "eager"})
    try:
        compiled(torch.randn(16, 32), torch.randn(16, 32))
    except LectError as error:
        print(error.message.partition(":")[0] + ": values differ from eager's")
    for event in lect.events("wrong value"):
        print(event.where)
        shutil.copy(event.file, "wrong.mlir")


if __name__ == "__main__":
    main()
