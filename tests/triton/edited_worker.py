"""A process with Triton's interpreter: a kernel's source is written, edited and used; prints what came of it as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

import lect
from tests.triton.interpreter import on_gpu_in_name_only


def scaled(x: torch.Tensor) -> torch.Tensor:
    return (x + 1.0) * 2.0


def main() -> None:
    """The folder for the texts is the only argument."""
    folder = Path(sys.argv[1])
    x = torch.arange(6.0)
    with on_gpu_in_name_only():
        plain = lect.compile(scaled, options={"dump": folder}, fullgraph=True)(x)
        (path,) = folder.glob("scaled.0/kernels/*.triton.py")
        path.write_text(path.read_text().replace("2.0", "5.0"))
        lect.reset()
        edited = lect.compile(scaled, options={"override": folder}, fullgraph=True)(x)
    events = [str(event) for event in lect.events("override", "note", "fallback")]
    sys.stdout.write(json.dumps({"plain": plain.tolist(), "edited": edited.tolist(), "events": events}))


if __name__ == "__main__":
    main()
