"""A call as a Python program that makes it again: `CallScript` writes it, and `lect.tools.replay` has what it calls.

Each object is a variable, so what was one object is one object again.  Tensors have their metadata and other elements; functions and classes are found
again in the files they come from; objects of classes of Python are made without `__init__` and get their attributes.  What cannot be made again becomes
`missing(...)` and stands in `CallScript.missing`.  The environment of the process is never written, nor texts under names such as `password`.
"""

from __future__ import annotations

import enum
import functools
import math
import operator
import os
import re
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from lect.frontends.capture.api import Rest

MOST_OBJECTS = 20_000
LONGEST_TEXT = 10_000
MAX_NESTING = 100  # of objects in objects
_HEAP_TYPE = 1 << 9  # of type.__flags__: the class was made by a class statement
_WRITTEN_ALIKE = (torch.dtype, torch.layout, torch.memory_format, type(None), type(Ellipsis), type(NotImplemented), bool, int, complex, bytes, range, slice)
# A text under such a name is not written.  Names of tokens in the sense of a tokenizer, such as `pad_token`, are none.
PRIVATE = re.compile(
    r"passw|passphrase|secret|credential|(api|access|private|auth)_?key|authorization|(^|_)(access|auth|api|bearer|session|refresh|hf)_?token$|^token$", re.I
)
# Modules whose classes of C are asked how their objects are made again.
_REDUCED = frozenset({"builtins", "itertools", "collections", "functools", "operator", "datetime", "decimal"})
# Where C functions without a module of their own are found by name.
_HOLDERS = (torch, torch.nn.functional, torch.Tensor, torch.special, math, operator)


class CallScript:
    """The lines so far.  `roots` are folders where modules are found, `missing` what could not be carried."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.missing: list[str] = []
        self.roots: list[str] = []
        self._names: dict[int, str] = {}
        self._depth = 0
        self._alive: list[Any] = []  # so that no id is used twice

    def expression(self, value: Any) -> str:
        """What stands for `value`: a name or a literal.  Adds the lines that make it."""
        if type(value) is float:
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if type(value) in _WRITTEN_ALIKE and (type(value) is not bytes or len(value) <= LONGEST_TEXT):
            return repr(value)
        if type(value) is str:
            return repr(value) if len(value) <= LONGEST_TEXT else self._lost(f"a text of {len(value)} characters")
        if type(value) is torch.device:
            return f"torch.{value!r}"
        known = self._names.get(id(value))
        if known is None:
            if len(self._alive) >= MOST_OBJECTS:
                return self._lost(f"an object of type {type(value).__qualname__}, behind {MOST_OBJECTS} others")
            if self._depth >= MAX_NESTING:
                return self._lost(f"an object of type {type(value).__qualname__}, inside of {MAX_NESTING} others")
            self._depth += 1
            known = self._make(value)
            self._depth -= 1
        return known

    def _lost(self, what: str) -> str:
        self.missing.append(what)
        return f"missing({what!r})"

    def _name(self, value: Any, text: str) -> str:
        """The variable for `value`, made by `text`."""
        name = f"v{len(self._alive)}"
        self._alive.append(value)
        self._names[id(value)] = name
        self.lines.append(f"{name} = {text}")
        return name

    def _make(self, value: Any) -> str:
        if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
            return self._name(value, f"named('numpy', 'zeros')({tuple(value.shape)}, {str(value.dtype)!r})[()]")
        for kind, maker in _MAKERS:
            if issubclass(type(value), kind):
                found = maker(self, value)
                if found is not None:
                    return found
        return self._object(value)

    def all(self, values: Any) -> str:
        """The expressions of several values, separated by commas."""
        return "".join(f"{self.expression(value)}, " for value in values)

    def pairs(self, values: Mapping[Any, Any]) -> str:
        """A dict display, for text and other keys."""
        return "{" + ", ".join(f"{self.expression(key)}: {self._under(key, value)}" for key, value in values.items()) + "}"

    def _under(self, key: Any, value: Any) -> str:
        """What stands for `value` under this name: another text of the same length when the name says that it is private."""
        if type(key) is str and type(value) in (str, bytes) and PRIVATE.search(key):
            self.missing.append(f"the text under the name {key!r}, which may be private")
            one = "x" if type(value) is str else b"x"
            return f"{one!r} * {len(value)}"
        return self.expression(value)

    # ---- what has a name ------------------------------------------------------------------------------------------------------------------------

    def named(self, value: Any, module: str | None, qualname: str) -> str | None:
        """`value` found by its name in its module; None when something else is there."""
        found: Any = sys.modules.get(module or "")
        if found is None:
            return None
        place = self._module_name(found)
        for part in qualname.split("."):
            found = getattr(found, part, None)
        if found is not value or place is None:
            return None
        return self._name(value, f"named({place!r}, {qualname!r})")

    def _module_name(self, module: ModuleType) -> str | None:
        """How a module is found again: by its name, or the script of the process by its file."""
        file = getattr(module, "__file__", None)
        if module.__name__ == "__main__":
            return str(file) if file else None
        top = sys.modules.get(module.__name__.partition(".")[0])
        for path in getattr(top, "__path__", None) or [getattr(top, "__file__", None) or ""]:
            root = path.rpartition("/")[0]
            if root and root not in self.roots and "site-packages" not in root and not root.startswith(sys.base_prefix):
                self.roots.append(root)
        return module.__name__

    def function(self, value: FunctionType) -> str:
        """A function, by its name or as the code of its file with its defaults and cells."""
        found = self.named(value, value.__module__, value.__qualname__)
        if found is not None:
            return found
        module = sys.modules.get(str(value.__globals__.get("__name__")))
        place = self._module_name(module) if module is not None and vars(module) is value.__globals__ else None
        code = value.__code__
        if place is None or code.co_filename.startswith("<"):
            return self._name(value, self._lost(f"the function {value.__qualname__} of '{code.co_filename}', which is in no file"))
        name = self._name(value, f"function({place!r}, {code.co_filename!r}, {code.co_qualname!r}, {code.co_firstlineno})")
        closure = value.__closure__ or ()
        if closure or value.__defaults__ or value.__kwdefaults__:
            cells, defaults, named = self.all(closure), self.all(value.__defaults__ or ()), self.pairs(value.__kwdefaults__ or {})
            text = f"{name} = complete({name}, ({cells}), ({defaults}), {named})"
            self.lines.append(text)
        return name

    def _builtin(self, value: BuiltinFunctionType) -> str | None:
        owner = value.__self__
        if owner is not None and not issubclass(type(owner), ModuleType | type):
            return self._name(value, f"getattr({self.expression(owner)}, {value.__name__!r})")
        found = self.named(value, value.__module__, value.__name__)
        for holder in _HOLDERS:
            if found is None and getattr(holder, value.__name__, None) is value:
                found = self._name(value, f"getattr({self.expression(holder)}, {value.__name__!r})")
        return found

    def _method_of_c(self, value: Any) -> str:
        """A method of a class of C, bound or not."""
        owner = getattr(value, "__self__", value.__objclass__)
        return self._name(value, f"getattr({self.expression(owner)}, {value.__name__!r})")

    # ---- what is made -----------------------------------------------------------------------------------------------------------------------------

    def tensor(self, value: torch.Tensor) -> str | None:
        """A tensor of the same metadata; None for those that have more than that."""
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
            return None
        given = f"{tuple(value.shape)}, {value.stride()}, {value.dtype}"
        options = [f"device={str(value.device)!r}"] if value.device.type != "cpu" else []
        if issubclass(type(value), torch.nn.Parameter):
            return self._name(value, f"parameter({', '.join([given, *options, f'requires_grad={value.requires_grad}'])})")
        if value.requires_grad:
            options.append("requires_grad=True" if value.is_leaf else "recorded=True")
        return self._name(value, f"tensor({', '.join([given, *options])})")

    def _tuple(self, value: tuple[Any, ...]) -> str | None:
        if type(value) is torch.Size:
            return f"torch.Size({list(value)})"
        if type(value) is tuple:
            return self._name(value, f"({self.all(value)})")
        return self._name(value, f"{self.expression(type(value))}._make(({self.all(value)}))") if hasattr(value, "_make") else None

    def _filled(self, value: Any, empty: str, method: str, content: Callable[[], str]) -> str:
        """A container that is made empty, as it may hold itself."""
        name = self._name(value, empty)
        if value:
            text = content()
            self.lines.append(f"{name}.{method}({text})")
        return name

    def _list(self, value: Any) -> str | None:
        if type(value) in (list, set, deque):
            empty = "[]" if type(value) is list else "set()" if type(value) is set else f"deque(maxlen={value.maxlen})"
            return self._filled(value, empty, "update" if type(value) is set else "extend", lambda: f"[{self.all(value)}]")
        return None

    def _dict(self, value: Any) -> str | None:
        if _is_environment(value):
            return self._name(value, self._lost("a dictionary that looks like the environment of a process"))
        if type(value) in (dict, OrderedDict):
            return self._filled(value, "{}" if type(value) is dict else "OrderedDict()", "update", lambda: self.pairs(value))
        if type(value) is defaultdict:
            return self._filled(value, f"defaultdict({self.expression(value.default_factory)})", "update", lambda: self.pairs(value))
        return None

    def _rest(self, value: Rest) -> str:
        resume, code = value.resume, value.code
        module = sys.modules.get(str(value.function.__globals__.get("__name__")))
        place = self._module_name(module) if module is not None else None
        if place is None or code.co_filename.startswith("<"):
            return self._name(value, self._lost(f"the rest of {code.co_qualname} of '{code.co_filename}', which is in no file"))
        at = (resume.place.block, resume.place.op, resume.place.raises)
        known = f"{at}, {resume.variables!r}, {resume.stack.numbers_of_empty!r}, {value.symbol!r}, {value.root!r}"
        return self._name(value, f"rest({place!r}, {code.co_filename!r}, {code.co_qualname!r}, {code.co_firstlineno}, {known})")

    def _object(self, value: Any) -> str:
        kind = type(value)
        if not kind.__flags__ & _HEAP_TYPE or issubclass(kind, torch.Tensor | ModuleType | types.GeneratorType | type):
            return self._reduced(value) or self._name(value, self._lost(f"an object of type {kind.__module__}.{kind.__qualname__}"))
        name = self._name(value, f"instance({self.expression(kind)})")
        state = {key: each for key, each in _own_names(value).items() if type(key) is str}
        for slot in slots_of(kind):
            if slot not in state and slot not in ("__dict__", "__weakref__"):
                try:
                    state[slot] = object.__getattribute__(value, slot)
                except AttributeError:
                    continue
        items = self.pairs(dict(dict.items(value))) if issubclass(kind, dict) else f"[{self.all(list.__iter__(value))}]" if issubclass(kind, list) else "()"
        self.lines.append(f"fill({name}, {self.pairs(state)}, {items})")
        return name

    def _reduced(self, value: Any) -> str | None:
        """An object of C, such as an iterator, as its own class says it is made again; None for one that does not say."""
        kind = type(value)
        if kind.__module__ not in _REDUCED or kind.__reduce__ is object.__reduce__:
            return None
        try:
            make, args, *rest = value.__reduce__()
        except (TypeError, ValueError):
            return None
        return self._name(value, f"reduced({self.expression(make)}, ({self.all(args)}), {self.expression(rest[0] if rest else None)})")

    def _exception(self, value: BaseException) -> str:
        name = self._name(value, f"instance({self.expression(type(value))})")
        state = self.pairs({**{key: each for key, each in vars(value).items() if type(key) is str}, "args": value.args})
        causes = {"__cause__": value.__cause__, "__context__": value.__context__, "__suppress_context__": value.__suppress_context__}
        links = self.pairs({key: each for key, each in causes.items() if each})
        self.lines += [f"fill({name}, {state})", *([f"fill({name}, {links})"] if links != "{}" else [])]
        return name


def _own_names(value: Any) -> dict[Any, Any]:
    """The instance dictionary, read past code of the program; empty when there is none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def slots_of(kind: type) -> list[str]:
    """The names in the `__slots__` of a class and its bases."""
    found: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else [slot for slot in slots if type(slot) is str]
    return found


def _is_environment(value: dict[Any, Any]) -> bool:
    """True for a copy of the variables of a process, whole or nearly so, which may hold anything."""
    return any(name in value for name in ("PATH", b"PATH")) and all(type(each) in (str, bytes) for each in dict.values(value))


def _environment(script: CallScript, value: Any) -> str:
    return script.named(value, "os", "environ") or script._name(value, script._lost("the environment of the process"))


def _enum(script: CallScript, value: enum.Enum) -> str | None:
    return script.named(value, type(value).__module__, f"{type(value).__qualname__}.{value.name}")


def _class(script: CallScript, value: type) -> str:
    found = script.named(value, value.__module__, value.__qualname__)
    return found or script._name(value, script._lost(f"the class {value.__qualname__}, which has no name in a module"))


def _module(script: CallScript, value: ModuleType) -> str | None:
    name = script._module_name(value)
    return script._name(value, f"module({name!r})") if name is not None else None


def _method(script: CallScript, value: MethodType) -> str:
    return script._name(value, f"MethodType({script.expression(value.__func__)}, {script.expression(value.__self__)})")


def _partial(script: CallScript, value: functools.partial[Any]) -> str:
    return script._name(value, f"partial({script.expression(value.func)}, *({script.all(value.args)}), **{script.pairs(value.keywords)})")


def _cell(script: CallScript, value: CellType) -> str:
    name = script._name(value, "CellType()")
    try:
        content = value.cell_contents
    except ValueError:
        return name
    text = script.expression(content)
    script.lines.append(f"{name}.cell_contents = {text}")
    return name


_MAKERS: tuple[tuple[Any, Callable[[CallScript, Any], str | None]], ...] = (
    (torch.Tensor, CallScript.tensor),
    (os._Environ, _environment),
    (enum.Enum, _enum),
    (tuple, CallScript._tuple),
    ((list, set, deque), CallScript._list),
    (frozenset, lambda script, value: script._name(value, f"frozenset([{script.all(value)}])") if type(value) is frozenset else None),
    (dict, CallScript._dict),
    (FunctionType, CallScript.function),
    (BuiltinFunctionType, CallScript._builtin),
    ((types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType), CallScript._method_of_c),
    (MethodType, _method),
    (ModuleType, _module),
    (type, _class),
    (functools.partial, _partial),
    (CellType, _cell),
    (Rest, CallScript._rest),
    (BaseException, CallScript._exception),
    (torch.Generator, lambda script, value: script._name(value, f"torch.Generator({str(value.device)!r})")),
)
