"""How large the caches of this machine are: from Linux's description of the first processor, else from the C library, else what is common."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
COMMON: Mapping[str, int] = MappingProxyType({"l1_bytes": 32 << 10, "l2_bytes": 512 << 10, "l3_bytes": 8 << 20})
UNITS: Mapping[str, int] = MappingProxyType({"K": 1 << 10, "M": 1 << 20, "G": 1 << 30})
SYSCONF: Mapping[str, str] = MappingProxyType({"l1_bytes": "SC_LEVEL1_DCACHE_SIZE", "l2_bytes": "SC_LEVEL2_CACHE_SIZE", "l3_bytes": "SC_LEVEL3_CACHE_SIZE"})


@cache
def cache_sizes() -> Mapping[str, int]:
    """Bytes of the data caches that one processor sees, as `l1_bytes`, `l2_bytes` and `l3_bytes`."""
    return MappingProxyType({**COMMON, **from_sysconf(), **from_folder(CACHES)})


def from_folder(folder: Path) -> dict[str, int]:
    """What Linux says in files: index<n>/level, type and size ("32K"); nothing for what cannot be read."""
    found = {}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size = [(index / name).read_text().strip() for name in ("level", "type", "size")]
        except OSError:
            continue
        number = size.rstrip("KMG")
        if kind in ("Data", "Unified") and number.isdigit() and int(number):
            found[f"l{level}_bytes"] = int(number) * UNITS.get(size[len(number) :], 1)
    return {name: size for name, size in found.items() if name in COMMON}


def from_sysconf() -> dict[str, int]:
    """What the C library says; nothing where it does not know."""
    found = {}
    for name, key in SYSCONF.items():
        try:
            size = os.sysconf(key)
        except (ValueError, OSError):
            continue
        if size > 0:
            found[name] = size
    return found
