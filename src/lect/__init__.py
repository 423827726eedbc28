"""lect: a compiler for PyTorch programs whose every level is text.

The public names below are loaded on first use, so that `import lect.ir` imports neither torch nor llvmlite.
"""

import builtins
import gc
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import MappingProxyType, ModuleType

__version__ = "0.1.0"

_LAZY = MappingProxyType(
    {
        "CompileError": "lect.runtime.entry",
        "compile": "lect.runtime.entry",
        "explain": "lect.runtime.entry",
        "reset": "lect.runtime.entry",
        "disable": "lect.runtime.entry",
        "events": "lect.runtime.entry",
        "cache": "lect.runtime.entry",
        "mark_dynamic": "lect.runtime.entry",
        "mark_static": "lect.runtime.entry",
    }
)

__all__ = ["CompileError", "__version__", "cache", "compile", "disable", "events", "explain", "mark_dynamic", "mark_static", "reset"]


class _Loader(SourceFileLoader):
    """Makes modules whose functions find Python's builtins as they are now: a program may put something else in the place of `len` and go on."""

    found = MappingProxyType({"__builtins__": dict(vars(builtins))})

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module; executing its code keeps the builtins that it has."""
        module = ModuleType(spec.name)
        vars(module).update(self.found)
        return module


class _Finder(PathFinder):
    """Finds the modules of this package."""

    @classmethod
    def find_spec(cls, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """As Python finds it; None for modules of others."""
        spec = super().find_spec(fullname, path, target) if fullname.startswith(f"{__name__}.") else None  # type: ignore[arg-type]
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder)


def __getattr__(name: str) -> object:
    """Load a public name from its module; raises AttributeError for any other name."""
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'lect' has no attribute {name!r}")
    value = getattr(_import_at_once(module), name)
    globals()[name] = value
    return value


def _import_at_once(module: str) -> ModuleType:
    """Import without the cyclic collector: what an import makes stays, and with torch loaded one collection takes as long as the import."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if enabled:
            gc.enable()


def __dir__() -> list[str]:
    """The names that `__getattr__` can give besides those already loaded."""
    return sorted({*globals(), *_LAZY})
