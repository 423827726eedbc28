"""An importable `torchvision` for tests of models, where the real one does not load beside torch.

timm imports torchvision for data loading and image transforms; its architectures use none of it.  `install` puts modules in place whose every
attribute is an empty class, so that imports, subclassing and `isinstance` work and everything else fails loudly.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _PlaceholderType(type):
    """Attributes of a placeholder class, such as the members of an enumeration, are their own names."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"{cls.__qualname__}.{name}"


class _StubModule(ModuleType):
    """A module that has every public name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        placeholder = _PlaceholderType(name, (), {"__module__": self.__name__})
        setattr(self, name, placeholder)
        return placeholder


class _StubFinder:
    """Finds `torchvision` and all modules below it."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a stub package, or None for any other name."""
        if name.partition(".")[0] != "torchvision":
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module of the kind that has every name."""
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; the version is one that no library refuses."""
        module.__version__ = "0.0"


def install() -> None:
    """Make `import torchvision` work, unless it is installed; to be called before timm is imported."""
    if "torchvision" not in sys.modules and importlib.util.find_spec("torchvision") is None:
        sys.meta_path.append(_StubFinder())  # type: ignore[arg-type]
