"""The functions of Python that a native host program calls: those of every run are compiled with the program, those for what goes wrong when one is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any

from lect.backends.python_source import load_source

RAISER = "raise_error"
RAISER_LINES = (f"def {RAISER}(text):", "    raise (OutOfMemoryError if 'CUDA out of memory' in text else RuntimeError)(text)", "")


_WORDS = re.compile(r"'(?:[^'\\\n]|\\.)*'|[A-Za-z_]\w*")


def same_names(lines: Sequence[str], parameters: Sequence[str], variables: Collection[str]) -> str:
    """The lines of a function with their variables called by the order in which they come: functions that do the same are equal then."""
    known: dict[str, str] = {}

    def called(found: re.Match[str]) -> str:
        word = found.group()
        return known.setdefault(word, f"v{len(known)}") if word in variables else word

    return _WORDS.sub(called, "\n".join([",".join(parameters), *lines]))


def functions_of(lines: Sequence[str], rare: Collection[str], namespace: dict[str, Any]) -> dict[str, Any]:
    """The functions that these lines define, by name, and the one that raises; those with a name in `rare` are compiled when the first of them is called."""
    often, seldom = list(RAISER_LINES), [""]
    target = often
    for line in lines:
        if line.startswith("def "):
            target = seldom if line[4 : line.index("(")] in rare else often
        target.append(line)
    load_source("host", RAISER, "\n".join(often) + "\n", namespace)
    load = _loader("\n".join(seldom) + "\n", namespace)
    return {name: _when_called(name, load) if name in rare else namespace[name] for name in [RAISER, *_names(lines)]}


def _names(lines: Sequence[str]) -> list[str]:
    return [line[4 : line.index("(")] for line in lines if line.startswith("def ")]


def _loader(text: str, namespace: dict[str, Any]) -> Callable[[str], Callable[..., Any]]:
    """What gives the function of a name, with the text of all of them compiled once."""

    def load(name: str) -> Callable[..., Any]:
        if name not in namespace:
            load_source("host", name, text, namespace)
        return namespace[name]  # type: ignore[no-any-return]

    return load


def _when_called(name: str, load: Callable[[str], Callable[..., Any]]) -> Callable[..., Any]:
    """A function that is compiled when it is called; its code is no other's, so that a traceback tells whose it is."""

    def call(*tensors: Any) -> Any:
        return load(name)(*tensors)

    return FunctionType(call.__code__.replace(co_name=name), call.__globals__, name, None, call.__closure__)
