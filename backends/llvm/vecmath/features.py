"""What the library needs to know of the target processor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CpuFeatures:
    """Facts of the target that change the text of a function (its values stay the same on every target).

    `vector_ldexp`: scaling a vector by powers of two is one instruction (`vscalef` of AVX-512). Elsewhere LLVM would call `ldexp` for each
    lane, and the library multiplies twice instead.
    """

    vector_ldexp: bool = False

    @classmethod
    def parse(cls, text: str) -> CpuFeatures:
        """Read a feature string of LLVM such as `+avx2,+fma,-avx512f`; the last mention of a feature counts."""
        enabled = {}
        for item in text.split(","):
            item = item.strip()
            if item[:1] in ("+", "-"):
                enabled[item[1:]] = item[0] == "+"
        return cls(vector_ldexp=enabled.get("avx512f", False))
