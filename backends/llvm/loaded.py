"""Native code in this process, and what it is made for: all that running kernels needs which were compiled before."""

from __future__ import annotations

from collections.abc import Mapping

from lect.backends.llvm.caches import cache_sizes
from lect.backends.llvm.jit import host_target, load_object


class CompiledKernels:
    """Native code of several kernels, of which `grids` says names and numbers of programs; addresses are valid as long as this object is alive."""

    def __init__(self, grids: Mapping[str, int], object_code: bytes) -> None:
        self.object_code = object_code
        self.grids = dict(grids)
        self._code = load_object(object_code)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self.grids)

    def entry(self, symbol: str) -> int:
        """The address of a kernel's entry point.  Raises KeyError for an unknown name."""
        if symbol not in self.grids:
            raise KeyError(symbol)
        return self._code.address(symbol)

    def grid(self, symbol: str) -> int:
        """Number of programs of a kernel."""
        return self.grids[symbol]


def cpu_target() -> dict[str, object]:
    """This machine as `ctx.target` describes one: how wide its vector registers are, in bytes, how many there are, whether it multiplies and adds in one
    operation, and how large its caches are."""
    features = host_target().features
    enabled = {item[1:] for item in features.split(",") if item.startswith("+")}
    wide = "avx512f" in enabled
    arm = host_target().triple.startswith(("aarch64", "arm64"))
    return {
        "vector_bytes": 64 if wide else 32 if "avx" in enabled else 16,
        "registers": 32 if wide or arm else 16,
        "fma": int("fma" in enabled or arm),
        **cache_sizes(),
    }
