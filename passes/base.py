"""What a pass is: a frozen dataclass whose fields are its options, with a `run` that changes a module in place.

    @dataclass(frozen=True)
    class LoopFuse(Pass):
        '''Fuse a nest into its only consumer.'''

        name: ClassVar[str] = "loop-fuse"
        max_body: int = option(256, "largest body that fusion may make, in operations")

        def run(self, op: Operation, ctx: Context) -> None: ...

Options are of the types `bool`, `int`, `float`, `str`, or a tuple of one of them (`tuple[int, ...]`), and each has a default, so that a pass is
named in a pipeline by its name alone.  A pass keeps no state: counts go to `ctx.count`, remarks to `ctx.remark`, live objects are read from
`ctx.resources`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lect.ir import Context, Operation, PassFailure, quote
from lect.ir.scanner import unescape

_PLAIN = re.compile(r'[^\s{}",=]+\Z')
TRUTH: typing.Final[Mapping[str, bool]] = {"true": True, "false": False}


def option(default: Any, help: str) -> Any:
    """A field of a pass that a pipeline may set; `help` is one line for the reference."""
    return dataclasses.field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Pass:
    """Base of all passes.  `name` is what pipelines call it; `live` says that it reads `ctx.resources`, so that text alone cannot replay it.

    `gpu_only` says that it changes nothing but kernels for a GPU, and what calls them, so that nobody needs to look for changes in a module without such.
    `keeps` names the entries of `ctx.analyses` that hold behind it too, because it changes nothing of what they say or brings them up to date.
    """

    name: ClassVar[str] = ""
    live: ClassVar[bool] = False
    gpu_only: ClassVar[bool] = False
    keeps: ClassVar[tuple[str, ...]] = ()

    def run(self, op: Operation, ctx: Context) -> None:
        """Change `op`, a `builtin.module`, in place.  Raises `PassFailure` when the pass cannot do what it was asked for."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The pass as a pipeline names it, options that differ from their defaults included."""
        set_here = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        if not set_here:
            return self.name
        return self.name + "{" + " ".join(f"{name}={value_text(value)}" for name, value in set_here) + "}"


def value_text(value: Any) -> str:
    """The text of an option's value, which `parse_value` reads back."""
    if isinstance(value, tuple):
        return ",".join(value_text(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if _PLAIN.match(text) else quote(text)


def make_pass(cls: type[Pass], options: Mapping[str, str]) -> Pass:
    """A pass with its options given as text.  Raises `PassFailure` for an option it lacks or a value of another type."""
    fields = _option_types(cls)  # type: ignore[arg-type]  # the class is hashed, not a pass
    values = {}
    for name, text in options.items():
        if name not in fields:
            has = f"it has {', '.join(fields)}" if fields else "it has none"
            raise PassFailure(f"pass '{cls.name}' has no option '{name}'; {has}")
        try:
            values[name] = parse_value(text, fields[name])
        except ValueError:
            raise PassFailure(f"option '{name}' of pass '{cls.name}' takes {_describe(fields[name])}, got '{text}'") from None
    return cls(**values)


@functools.cache
def _option_types(cls: type[Pass]) -> Mapping[str, Any]:
    """Option -> type, of a pass.  Resolving the annotations takes longer than a pass that finds nothing to do."""
    types = typing.get_type_hints(cls)
    return {f.name: types[f.name] for f in dataclasses.fields(cls)}


def parse_value(text: str, kind: Any) -> Any:
    """The value of an option of type `kind`.  Raises ValueError when `text` is no such value."""
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return tuple(parse_value(part, item) for part in _split(text))
    if kind is bool:
        if text not in TRUTH:
            raise ValueError(text)
        return TRUTH[text]
    if kind is str:
        return unescape(text[1:-1]) if text.startswith('"') else text
    if kind in (int, float):
        return kind(text)
    raise TypeError(f"an option cannot have the type {kind}")


def _split(text: str) -> list[str]:
    return re.findall(r'"(?:[^"\\]|\\.)*"|[^,]+', text)


def _describe(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        return f"{_describe(typing.get_args(kind)[0])}, or several with commas between them"
    return {bool: "true or false", int: "an integer", float: "a number", str: "text"}[kind]


def load_body(target: str) -> Callable[..., Any]:
    """The function behind "module:function".  For passes whose body is a front end, which passes may name but not import."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)
