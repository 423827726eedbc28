"""lect: a compiler for PyTorch programs whose every level is text.

The public names below are loaded on first use, so that `import lect.ir` imports neither torch nor llvmlite.
"""

import gc
from importlib import import_module
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
    }
)

__all__ = ["CompileError", "__version__", "cache", "compile", "disable", "events", "explain", "reset"]


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
