"""What the tests of the frame hook share."""

from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from lect.runtime.frame_hook import flatten

PAGE = 4096


class Oops(Exception):
    """Raised by programs of these tests."""


def renamed(function: Any, name: str = "other") -> CodeType:
    """The function's own code as code for another frame, under another name."""
    return flatten(function.__code__).replace(co_name=name)


def replacing(fh: Any, table: dict[CodeType, CodeType]) -> Callable[..., Any]:
    """A callback that runs other code for the code objects of the table, and all else as written."""
    return lambda code, function, arguments: (fh.always, table[code]) if code in table else "default"


def made(source: str, *names: str) -> list[Any]:
    """Functions with code objects of their own."""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return [namespace[name] for name in names]


def resident() -> int:
    """Bytes of memory of this process that are resident."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
