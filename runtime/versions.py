"""What the result of a compile depends on beside the program: lect itself, and the libraries that it is made with."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import lect

SOURCES = (".py", ".lark", ".json")


@cache
def sources_digest() -> str:
    """The SHA-256 over all source files of lect, by name and content: an edited pass makes another compiler."""
    root = str(Path(lect.__file__).parent)
    digest = hashlib.sha256()
    for folder, inner, files in os.walk(root, followlinks=True):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(SOURCES):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    data = file.read()
                digest.update(f"{path[len(root) + 1 :]} {len(data)}\n".encode())
                digest.update(data)
    return digest.hexdigest()


@cache
def version_of(package: str) -> str:
    """The version of an installed package, or `none`."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def versions() -> dict[str, str]:
    """Everything that is made of a program anew when it changes."""
    return {
        "lect": f"{lect.__version__} {sources_digest()}",
        "torch": f"{torch.__version__} {torch.version.git_version}",
        "llvmlite": version_of("llvmlite"),
        "triton": version_of("triton"),
    }
