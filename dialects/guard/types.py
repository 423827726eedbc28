"""guard: the path by which an object is found again, and the type of what is found.

A path starts at a root and goes on by steps, written close to Python:

    L["x"]        the parameter `x` of the compiled function         R            the compiled function itself
    M["torch.nn"] a module by its name in `sys.modules`              O[3]         an object kept beside the module under the number 3
    .weight       attribute, as `getattr` reads it                   [0] ["k"]    item with a literal key
    :type         the class of the object                            :dict        its instance dictionary, `object.__getattribute__(x, "__dict__")`
    :nth(2)       the element of that number in iteration order      :key(2)      the key of that number of a dictionary
    :value(2)     the value under that key
    :part("w")    parameter, buffer or child of a module, read without `__getattr__`
    :call         what a call without arguments gives                :element     the only element of a tensor, as a number
    :size(1)      the size of that dim of a tensor
    :own("k")     item of a builtin container, past the `__getitem__` of a class that derives from it
    :referent     what a weak reference refers to, past the `__call__` of a class that derives from it
    :contents     what an `operator.itemgetter`, `attrgetter` or `methodcaller` holds; the number or text that an object of a class of its own is
    :results      what a function with `functools.lru_cache` remembers, by its arguments

A literal key is a number, a string, a boolean, None or a tuple of such; a kept object stands as `[#fx.object<3, "class m.C">]`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from lect.dialects.fx.types import ObjectRef
from lect.ir import Attribute, ParseError, Scanner, Type, attr, quote, type_
from lect.ir import attribute_text as literal_text

ROOTS = frozenset({"L", "R", "M", "O"})
PLAIN_STEPS = frozenset({"type", "dict", "call", "element", "results", "referent", "contents"})
NUMBERED_STEPS = frozenset({"nth", "key", "value", "size"})
_ROOT = re.compile(r"[LMOR]")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf)")
_WORDS = MappingProxyType({"true": True, "false": False, "none": None, "nan": float("nan"), "inf": float("inf")})
Key = str | int | float | bool | None | tuple | ObjectRef
Step = tuple[str, Any]


def step_text(kind: str, key: Any) -> str:
    """The text of one step."""
    if kind == "attr":
        return f".{key}" if key.isascii() and key.isidentifier() else f":attr({quote(key)})"
    if kind == "item":
        return f"[{literal_text(key)}]"
    if kind == "own":
        return f":own({literal_text(key)})"
    if kind == "part":
        return f":part({quote(key)})"
    if kind in PLAIN_STEPS:
        return f":{kind}"
    return f":{kind}({key})"


@attr("guard.path")
class PathAttr(Attribute):
    """Where an object comes from: a root ('L', 'R', 'M' or 'O', and its key) and steps, each a pair of kind and key."""

    root: str
    key: Any
    steps: tuple[Step, ...]

    @classmethod
    def normalize(cls, root: str, key: Any = None, steps: Any = ()) -> dict[str, Any]:
        if root not in ROOTS:
            raise ValueError(f"'{root}' is no root of a path; roots are {', '.join(sorted(ROOTS))}")
        return {"root": root, "key": key, "steps": tuple(tuple(step) for step in steps)}

    def print_body(self) -> str:
        head = "R" if self.root == "R" else f"{self.root}[{literal_text(self.key)}]"
        return head + "".join([step_text(kind, key) for kind, key in self.steps])

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> PathAttr:
        if scanner is None:
            raise TypeError("a path has a root")
        root = scanner.regex(_ROOT, "one of the roots L, M, O and R")[0]
        key = None
        if root != "R":
            scanner.expect("[")
            key = scanner.integer() if root == "O" else scanner.string()
            scanner.expect("]")
        steps = []
        scanner.skip()
        while scanner.pos < len(scanner.text):
            steps.append(_parse_step(scanner))
            scanner.skip()
        return cls(root, key, tuple(steps))


def _parse_step(scanner: Scanner) -> Step:
    if scanner.accept("."):
        return ("attr", scanner.regex(_NAME, "an attribute name")[0])
    key: Key
    if scanner.accept("["):
        key = _parse_key(scanner)
        scanner.expect("]")
        return ("item", key)
    scanner.expect(":")
    kind = scanner.regex(_NAME, "a step")[0]
    if kind in PLAIN_STEPS:
        return (kind, None)
    scanner.expect("(")
    if kind in NUMBERED_STEPS:
        key = scanner.integer()
    elif kind == "own":
        key = _parse_key(scanner)
    elif kind in ("part", "attr"):
        key = scanner.string()
    else:
        raise ParseError(f"'{kind}' is no step of a path")
    scanner.expect(")")
    return (kind, key)


def _parse_key(scanner: Scanner) -> Key:
    if scanner.accept("#fx.object<"):
        kept = ObjectRef.parse_body(scanner)
        scanner.expect(">")
        return kept
    if scanner.at('"'):
        return scanner.string()
    if scanner.at("["):
        return tuple(scanner.list_of(lambda: _parse_key(scanner)))
    word = scanner.peek_word()
    if word is not None and word in _WORDS:
        scanner.word()
        return _WORDS[word]
    text = scanner.regex(_NUMBER, "a literal key")[0]
    return int(text) if text.lstrip("-").isdigit() else float(text)


@type_("guard.object")
class ObjectType(Type):
    """Any Python object that exists before the call."""
