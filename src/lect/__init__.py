"""lect: a compiler for PyTorch programs whose every level is text.

The public names below are loaded on first use, so that `import lect.ir` imports neither torch nor llvmlite.
"""

from importlib import import_module
from types import MappingProxyType

__version__ = "0.1.0"

_LAZY = MappingProxyType(
    {
        "compile": "lect.runtime.entry",
        "explain": "lect.runtime.entry",
        "reset": "lect.runtime.entry",
        "disable": "lect.runtime.entry",
        "events": "lect.runtime.entry",
    }
)

__all__ = ["__version__", "compile", "disable", "events", "explain", "reset"]


def __getattr__(name: str) -> object:
    """Load a public name from its module; raises AttributeError for any other name."""
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'lect' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names that `__getattr__` can give besides those already loaded."""
    return sorted({*globals(), *_LAZY})
