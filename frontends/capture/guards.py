"""Guards of one trace: asked for while the program is followed, written as a `guard.set` at the end.

A guard is known by its source and kind, so asking twice costs nothing.  The set keeps the order of asking: a source is read only after the
guards on the objects along its path that were asked for before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

import torch

from lect.dialects.fx.types import OperandRef
from lect.dialects.guard import ops as guard
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.numbers import Computed, RunTimeNumber
from lect.frontends.capture.objects import ObjectTable, describe
from lect.frontends.capture.scalars import ELEMENT_OF, greatest, guard_value
from lect.frontends.capture.sources import Source
from lect.ir import UNKNOWN, Block, Location, Operation, Region, ScalarType, Value
from lect.ir.symbolic import Expr
from lect.ir.types import f64, i64


class Asked(NamedTuple):
    """One guard: what it compares with, and the line that asked for it."""

    payload: Any
    loc: Location


Place = Source | Computed
GUARD = "guard"  # how entries of the log begin
OF_VALUES = frozenset({"equals", "length", "keys", "items"})  # guards that may fail in each turn of a loop


class GuardList:
    """The guards by (source, kind), where numbers computed from sources stand beside sources.  `loc` is set by the interpreter to the line that runs.

    Steps look at the values of what is at the sources `in_steps` (see `NumberPolicy`): who asks for one here breaks the graph.
    """

    def __init__(self, objects: ObjectTable, in_steps: frozenset[Source] = frozenset()) -> None:
        self.objects = objects
        self.entries: dict[tuple[Place | None, str], Asked] = {}
        self.builtins: dict[str, Location] = {}  # names that were found among Python's builtins, and the line that read each first
        self.of_tensors: dict[str, Location] = {}  # the same for names of the class of tensors
        self.whole: dict[str, Location] = {}  # the same for Python functions of torch that the graph holds as one call
        self.by_shape: set[int] = set()  # classes and functions that are known by their shape, and code, by identity
        self.called: set[tuple[Location, CodeType]] = set()  # the functions that were followed, whose code is guarded, and the lines that called them
        self.in_steps = in_steps
        self.loc = UNKNOWN
        self.log: list[Any] | None = None  # takes down what is asked, also what was asked before (see `call_memo`)

    def _ask(self, source: Place | None, kind: str, payload: Any) -> None:
        if self.log is not None:
            self.log.append((GUARD, kind, source, payload, self.loc))
        key = (source, kind)
        if key not in self.entries:
            if source in self.in_steps and kind in OF_VALUES:
                raise GraphBreak("LB0032", f"{source} has been another one in each of several versions, and is looked at", self.loc)
            self.entries[key] = Asked(payload, self.loc)

    def equals(self, source: Source, value: Any) -> None:
        """The scalar there has this type and value."""
        self._ask(source, "equals", value)

    def type_is(self, source: Source, cls: type) -> None:
        """The object there is an instance of exactly this class."""
        if source.guarded_type is not cls:
            source.guarded_type = cls
            self._ask(source, "type_is", cls)
        elif self.log is not None:
            self.log.append((GUARD, "type_is", source, cls, self.loc))

    def is_object(self, source: Source, value: Any) -> None:
        """The object there is this very object, which needs no saying of a kept object, nor of one that is known by its shape."""
        if source.kind == "O" or id(value) in self.by_shape:
            return
        self._ask(source, "is", value)

    def class_like(self, source: Source, shape: Any) -> None:
        """The class there has this shape."""
        self._ask(source, "class_like", shape)

    def tensor(self, source: Source, attributes: dict[str, Any]) -> None:
        """The tensor there has the metadata that these attributes of a `guard.tensor` say."""
        self.entries.setdefault((source, "tensor"), Asked(attributes, self.loc))  # once for each tensor; the log has the read

    def same(self, source: Source, other: Source) -> None:
        """Two paths lead to one object."""
        if source is not other:
            self._ask(source, "same", other)

    def alias(self, source: Source, other: Source) -> None:
        """`same` for an object that is read along `source` and was found along `other` before; the log has the read."""
        if (source, "same") not in self.entries:
            self.entries[source, "same"] = Asked(other, self.loc)

    def distinct(self, source: Source, other: Source) -> None:
        """Two paths lead to different objects."""
        self._set(source, "distinct", other)[other] = None

    def all_distinct(self, sources: list[Source]) -> None:
        """All paths lead to different objects."""
        first = next((number for number, source in enumerate(sources) if (source, "all_distinct") not in self.entries), 0)
        self._ask(sources[first], "all_distinct", (*sources[first:], *sources[:first]))

    def not_none(self, source: Source) -> None:
        """The object there is not None."""
        self._ask(source, "not_none", None)

    def present(self, source: Source) -> None:
        """The path leads somewhere."""
        self._ask(source, "present", None)

    def truth(self, source: Place, value: bool) -> None:
        """The container there is (not) empty, the number there is (not) zero."""
        self._ask(source, "truth", value)

    def number(self, source: Place, value: int | float) -> None:
        """There is a number of the type of `value`."""
        self._ask(source, "number", {"element": f64 if type(value) is float else i64})

    def sized(self, source: Source, value: int, size: Expr) -> None:
        """There is an int that is a size with symbols."""
        self.number(source, value)
        self.entries[source, "number"].payload["size"] = size

    def fits(self, source: Place, value: int | float, element: ScalarType) -> None:
        """Besides, it is in the range of an element type; of several of them the narrowest counts."""
        self.number(source, value)
        payload = self.entries[source, "number"].payload
        have = payload.get("fits")
        if have is None or greatest(element) < greatest(have):
            payload["fits"] = element

    def no_attr(self, source: Source, name: str) -> None:
        """The instance dictionary lacks this name."""
        self._set(source, "no_attr", name)[name] = None

    def no_part(self, source: Source, name: str) -> None:
        """The instance dictionary, parameters, buffers and children of a module lack this name."""
        self._set(source, "no_part", name)[name] = None

    def no_hooks(self, source: Source) -> None:
        """The module there has no hooks."""
        self._ask(source, "no_hooks", None)

    def length(self, source: Source, length: int) -> None:
        """The container there has this length."""
        self._ask(source, "length", length)

    def keys(self, source: Source, keys: tuple[Any, ...]) -> None:
        """The dictionary there has these keys in this order."""
        self._ask(source, "keys", keys)

    def items(self, source: Source, items: tuple[Any, ...]) -> None:
        """The container there has these scalars."""
        self._ask(source, "items", items)

    def has_key(self, source: Source, key: Any, present: bool) -> None:
        """The dictionary or set there has or lacks this key."""
        self._set(source, "has_key", (key, present)).setdefault((type(key), key), present)

    def holds(self, source: Source, key: Source, present: bool) -> None:
        """The dictionary or set there has or lacks the object at `key` for a key."""
        self._set(source, "holds", key)[key] = present

    def no_key(self, source: Source, name: str) -> None:
        """The entries of the class there lack this name."""
        self._set(source, "no_keys", name)[name] = None

    def mro(self, source: Source, bases: tuple[type, ...]) -> None:
        """The attributes of the class there are looked for in these classes behind it."""
        self._ask(source, "mro", bases)

    def no_subclass(self, source: Source, abstract: Source) -> None:
        """The class there is no subclass of an abstract one."""
        self._set(source, "no_subclass", abstract)[abstract] = None

    def no_overlap(self, sources: list[Source]) -> None:
        """The tensors there share no memory; a single one has nothing to share it with."""
        if len(sources) > 1:
            self._ask(None, "no_overlap", tuple(sources))

    def global_state(self, state: dict[str, Any]) -> None:
        """The modes of torch are these attributes of `guard.global_state`."""
        self._ask(None, "global_state", state)

    def builtin(self, name: str) -> None:
        """The name stands for what it stands for in Python's builtins, whoever asks (so that no log needs it)."""
        if name not in self.builtins:
            self.builtins[name] = self.loc

    def ask_again(self, source: Source, kind: str, payload: Any) -> None:
        """Ask what the log says was asked, of another source."""
        if kind == "type_is":
            self.type_is(source, payload)
        elif kind == "is":
            self.is_object(source, payload)
        elif kind == "has_key":
            self.has_key(source, *payload)
        elif kind in ("no_attr", "no_part", "no_keys", "no_subclass", "distinct"):
            self._set(source, kind, payload)[payload] = None
        elif kind != "same" or source is not payload:
            self._ask(source, kind, payload)

    def _set(self, source: Source, kind: str, payload: Any) -> dict[Any, Any]:
        if self.log is not None:
            self.log.append((GUARD, kind, source, payload, self.loc))
        found = self.entries.get((source, kind))
        if found is None:
            found = self.entries[source, kind] = Asked({}, self.loc)
        return found.payload

    # ---- writing -----------------------------------------------------------------------------------------------------

    def finish(self, name: str, loc: Location, sizes: Sequence[Any] = ()) -> guard.SetOp:
        """The guard set called `name`; `sizes` are what it says of sizes with symbols (see `size_symbols`)."""
        writer = _Writer(self.objects)
        for (source, kind), asked in self.entries.items():
            writer.write(source, kind, asked)
        for size, low, high, differs, place, why in sizes:
            writer.block.append(guard.SymbolicOp(size, low=low, high=high, differs=differs, why=why, loc=place))
        if self.builtins:
            writer.block.append(guard.BuiltinsOp(tuple(self.builtins), loc=next(iter(self.builtins.values()))))
        if self.of_tensors:
            writer.block.append(guard.TensorClassOp(tuple(self.of_tensors), loc=next(iter(self.of_tensors.values()))))
        if self.whole:
            writer.block.append(guard.TorchCalleesOp(tuple(self.whole), loc=next(iter(self.whole.values()))))
        return guard.SetOp(name, regions=[Region([writer.block])], loc=loc)


_OBJECT = guard.ObjectType()


class _Writer:
    def __init__(self, objects: ObjectTable) -> None:
        self.block = Block()
        self.objects = objects
        self.values: dict[Place, Value] = {}

    def value(self, source: Place, loc: Location) -> Value:
        found = self.values.get(source)
        if found is None:
            if type(source) is Computed:
                found = self._apply(source, loc)
            else:
                assert isinstance(source, Source)
                key = source.key
                hint = key if type(key) is str and key.isidentifier() else None
                found = self.block.make(guard.SourceOp, (), _OBJECT, {"path": source.path()}, loc, hint)
            self.values[source] = found
        return found

    def _apply(self, node: Computed, loc: Location) -> Value:
        operands: list[Value] = []
        args: list[Any] = []
        for arg in node.args:
            if type(arg) is RunTimeNumber:
                value = self.value(arg.origin, loc)
                if value not in operands:
                    operands.append(value)
                args.append(OperandRef(operands.index(value)))
            else:
                args.append(arg)
        return self.block.append(guard.ApplyOp(operands, node.function, tuple(args), loc=loc)).result

    def write(self, source: Place | None, kind: str, asked: Asked) -> None:
        payload, loc = asked
        if source is None:
            self._write_global(kind, payload, loc)
            return
        value = self.value(source, loc)
        op: Operation
        if kind in ("same", "distinct"):
            others = [payload] if kind == "same" else list(payload)
            values = [self.value(other, loc) for other in others]
            op = guard.SameOp(value, values[0], loc=loc) if kind == "same" else guard.DistinctOp(value, values, loc=loc)
        elif kind == "all_distinct":
            op = guard.AllDistinctOp([self.value(each, loc) for each in payload], loc=loc)
        elif kind == "no_subclass":
            for abstract in payload:
                self.block.append(guard.NoSubclassOp(value, self.value(abstract, loc), loc=loc))
            return
        elif kind == "holds":
            for key, present in payload.items():
                self.block.append(guard.HoldsOp(value, self.value(key, loc), present, loc=loc))
            return
        elif kind == "has_key":
            for (_, key), present in payload.items():
                self.block.append(guard.HasKeyOp(value, self.literal(key), present, loc=loc))
            return
        else:
            op = _MAKERS[kind](self, value, payload, loc)
        self.block.append(op)

    def _write_global(self, kind: str, payload: Any, loc: Location) -> None:
        if kind == "global_state":
            self.block.append(guard.GlobalStateOp.create(attrs=payload, loc=loc))
        else:
            self.block.append(guard.NoOverlapOp([self.value(source, loc) for source in payload], loc=loc))

    def literal(self, value: Any) -> Any:
        return guard_value(value, self.objects)


Maker = Callable[[_Writer, Value, Any, Location], Operation]
_MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "equals": lambda w, v, p, loc: guard.EqualsOp.create((v,), attrs={"value": w.literal(p)}, loc=loc),
        "type_is": lambda w, v, p, loc: guard.TypeIsOp.create((v,), attrs={"type": w.objects.ref(p)}, loc=loc),
        "is": lambda w, v, p, loc: guard.IsOp.create((v,), attrs={"is_object": w.objects.ref(p)}, loc=loc),
        "class_like": lambda w, v, p, loc: guard.ClassLikeOp(v, w.objects.ref(p), loc=loc),
        "tensor": lambda w, v, p, loc: guard.TensorOp.create((v,), attrs=dict(p), loc=loc),
        "not_none": lambda w, v, p, loc: guard.NotNoneOp(v, loc=loc),
        "present": lambda w, v, p, loc: guard.PresentOp(v, loc=loc),
        "number": lambda w, v, p, loc: guard.NumberOp.create([v], attrs=dict(p), loc=loc),
        "truth": lambda w, v, p, loc: guard.TruthOp(v, p, loc=loc),
        "no_attr": lambda w, v, p, loc: guard.NoAttrOp.create((v,), attrs={"names": tuple(p)}, loc=loc),
        "no_part": lambda w, v, p, loc: guard.NoAttrOp(v, tuple(p), True, loc=loc),
        "no_hooks": lambda w, v, p, loc: guard.NoHooksOp.create((v,), attrs={}, loc=loc),
        "length": lambda w, v, p, loc: guard.LengthOp(v, p, loc=loc),
        "keys": lambda w, v, p, loc: guard.KeysOp(v, tuple([w.literal(key) for key in p]), loc=loc),
        "no_keys": lambda w, v, p, loc: guard.NoKeysOp(v, tuple(p), loc=loc),
        "mro": lambda w, v, p, loc: guard.MroOp(v, tuple([w.objects.ref(base) for base in p]), loc=loc),
        "items": lambda w, v, p, loc: guard.ItemsOp.create((v,), attrs={"items": tuple([w.literal(item) for item in p])}, loc=loc),
    }
)


def tensor_attributes(tensor: torch.Tensor) -> dict[str, Any]:
    """What a `guard.tensor` says of a tensor.  Breaks for dtypes that no level has."""
    element = ELEMENT_OF.get(tensor.dtype)
    if element is None:
        raise GraphBreak("LB0005", f"a tensor of dtype {tensor.dtype}")
    attrs: dict[str, Any] = {"dtype": element, "sizes": tuple(tensor.shape), "strides": tensor.stride()}
    if tensor.device.type != "cpu":
        attrs["device"] = str(tensor.device)
    if tensor.requires_grad:
        attrs["requires_grad"] = True
    if type(tensor) is not torch.Tensor:
        attrs["type"] = f"torch.nn.{type(tensor).__name__}"
    return attrs


PLAIN_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter, torch.nn.Buffer})
NAMED = hasattr(torch.Tensor, "has_names")  # releases up to 2.12 give names to dimensions


def why_odd(tensor: torch.Tensor) -> str:
    """What makes a tensor one that no graph takes; empty for a plain one."""
    if type(tensor) not in PLAIN_TENSORS:
        return describe(type(tensor))
    if tensor.is_quantized or tensor.is_nested:
        return "a quantized tensor" if tensor.is_quantized else "a nested tensor"
    if tensor.layout is not torch.strided:
        return f"a tensor with layout {tensor.layout}"
    if NAMED and tensor.has_names():
        return "a tensor whose dimensions have names"
    return "a tensor that is conjugated or negated lazily" if tensor.is_conj() or tensor.is_neg() else ""
