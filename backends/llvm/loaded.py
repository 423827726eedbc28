"""Native code in this process, and what it is made for: all that running kernels needs which were compiled before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lect.backends.code_store import CodeStore
from lect.backends.llvm.caches import cache_sizes
from lect.backends.llvm.jit import LoadedCode, compile_object, host_fingerprint, host_target, load_object
from lect.ir import LectError
from lect.ir.symbolic import Size


class CompiledKernels:
    """Native code of several kernels, of which `grids` says names and numbers of programs; addresses are valid as long as this object is alive."""

    on_gpu = False

    def __init__(self, grids: Mapping[str, Size], code: LoadedCode) -> None:
        self.grids = dict(grids)
        self._code = code

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self.grids)

    @property
    def alone(self) -> frozenset[str]:
        """Those that take their addresses one by one: all of them."""
        return frozenset(self.grids)

    def entry(self, symbol: str) -> int:
        """The address of a kernel's entry point.  Raises KeyError for an unknown name."""
        if symbol not in self.grids:
            raise KeyError(symbol)
        return self._code.address(symbol)

    def grid(self, symbol: str) -> Size:
        """Number of programs of a kernel."""
        return self.grids[symbol]


def stored_object(text: str, opt_level: int, store: CodeStore | None, libraries: Sequence[str] = ()) -> LoadedCode:
    """The native code of an LLVM module for this machine, out of the store where it is there.  Raises `LectError` when it cannot be made."""
    key = f"lect module 1\n{host_fingerprint()}\nlevel {opt_level}\n{text}"
    kept = store.find(key) if store is not None else None
    if kept is not None:
        try:
            return load_object(kept, libraries)
        except LectError:  # no code of this machine, whatever the key says: it is made again
            pass
    code = compile_object(text, opt_level, vectorise=False)
    if store is not None:
        store.keep(key, code)
    return load_object(code, libraries)


def cpu_target() -> dict[str, object]:
    """This machine as `ctx.target` describes one: what its processor is called, how wide its vector registers are, in bytes, how many there are, whether it
    multiplies and adds in one operation, and how large its caches are."""
    features = host_target().features
    enabled = {item[1:] for item in features.split(",") if item.startswith("+")}
    wide = "avx512f" in enabled
    arm = host_target().triple.startswith(("aarch64", "arm64"))
    return {
        "name": host_target().cpu,
        "vector_bytes": 64 if wide else 32 if "avx" in enabled else 16,
        "registers": 32 if wide or arm else 16,
        "fma": int("fma" in enabled or arm),
        **cache_sizes(),
    }
