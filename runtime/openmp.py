"""Finding the OpenMP library that torch itself uses, so that kernels share its threads."""

from __future__ import annotations

from functools import cache
from pathlib import Path

NAMES = ("libgomp*", "libiomp5*", "libomp*")  # all three export the GOMP entry points


@cache
def openmp_libraries() -> tuple[str, ...]:
    """Path of torch's OpenMP library: beside torch's own libraries, else the one already loaded into this process; empty when there is none."""
    import torch

    for folder in (Path(torch.__file__).parent / "lib", Path(torch.__file__).parent.parent / "torch.libs"):
        for pattern in NAMES:
            for path in sorted(folder.glob(pattern)):
                if ".so" in path.name or path.suffix == ".dylib":
                    return (str(path),)
    return _loaded()


def _loaded() -> tuple[str, ...]:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return ()
    for line in maps.read_text().splitlines():
        path = Path(line.rpartition(" ")[2])
        if path.name.startswith(("libgomp", "libiomp5", "libomp")) and ".so" in path.name:
            return (str(path),)
    return ()
