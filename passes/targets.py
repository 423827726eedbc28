"""Descriptions of machines for which passes decide, by name: `cuda:sm_90` is one H200.

A description is a plain mapping, `ctx.target`.  Of a GPU: `kind` "cuda", `name` what records of tuning call it, `arch` the compute capability as Triton
counts it, `processors` how many multiprocessors it has, `threads` how many programs keep them busy, `warp` threads of a warp, `shared_bytes` of a program,
`l2_bytes`, `copy_rate` in bytes a microsecond, reading and writing counted, and `cudnn`, whether convolutions are cuDNN's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.ir import LectError

HOPPER: Mapping[str, Any] = MappingProxyType(
    {
        "kind": "cuda",
        "name": "NVIDIA H200",
        "arch": 90,
        "processors": 132,
        "threads": 528,
        "warp": 32,
        "shared_bytes": 232448,
        "l2_bytes": 62914560,
        "copy_rate": 4_100_000,
        "cudnn": True,
    }
)
AMPERE: Mapping[str, Any] = MappingProxyType(
    {**HOPPER, "name": "NVIDIA A100", "arch": 80, "processors": 108, "threads": 432, "shared_bytes": 166912, "l2_bytes": 41943040, "copy_rate": 1_750_000}
)
TARGETS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"cuda:sm_80": AMPERE, "cuda:sm_90": HOPPER})
PROGRAMS_OF_PROCESSOR = 4


def target_named(name: str) -> dict[str, Any]:
    """The description `name`.  Raises `LectError` when there is none."""
    if name not in TARGETS:
        raise LectError(f"there is no target '{name}'; there are {', '.join(TARGETS)}")
    return dict(TARGETS[name])


def cuda_target(name: str, arch: int, processors: int, shared_bytes: int, l2_bytes: int, cudnn: bool) -> dict[str, Any]:
    """The description of a GPU at hand; what it cannot be asked for is that of the nearest known one."""
    known = AMPERE if arch < 90 else HOPPER
    own = {"name": name, "arch": arch, "processors": processors, "threads": processors * PROGRAMS_OF_PROCESSOR}
    return {**known, **own, "shared_bytes": shared_bytes, "l2_bytes": l2_bytes, "cudnn": cudnn}


def device_of(target: Mapping[str, Any]) -> str:
    """The name by which records of tuning know a machine: that of a GPU, or of a processor with its number of threads."""
    name = str(target.get("name", "cpu"))
    return name if is_gpu(target) or "threads" not in target else f"{name}, {target['threads']} threads"


def is_gpu(target: Mapping[str, Any]) -> bool:
    """Whether a description is that of a GPU."""
    return target.get("kind") == "cuda"
