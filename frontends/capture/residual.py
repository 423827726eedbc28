"""The residual frame: what is left of the function once its tensor work is a graph.

It has the parameters of the function, reads the graph's inputs along their sources, calls the graph, makes the objects that outlive the call,
replays the effects in order, and returns.  Everything is read before anything is written.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any, Protocol

import torch

from lect.dialects.fx.modes import set_autocast_state
from lect.dialects.fx.types import ObjectRef
from lect.dialects.guard.arithmetic import FUNCTIONS, SYMBOLS
from lect.dialects.guard.containers import own_item, value_at
from lect.dialects.pyframe import building, control
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.attributes import from_python
from lect.dialects.pyframe.types import OBJECT
from lect.frontends.capture.attributes import MISSING, find_in_type
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.data_aliases import data_value
from lect.frontends.capture.generator_states import generator_value as random_generator_value
from lect.frontends.capture.generator_values import ITERATORS, generator_value, iterator_value
from lect.frontends.capture.generators import IndexIterator, IteratorForC, TracedGenerator, check_finished
from lect.frontends.capture.keys import hashed_in_python
from lect.frontends.capture.long_containers import check_order, dict_of, list_of, set_of, tuple_of
from lect.frontends.capture.numbers import Computed, RunTimeNumber
from lect.frontends.capture.objects import describe
from lect.frontends.capture.remade_objects import check_found
from lect.frontends.capture.residual_classes import MAKERS, class_value, fill_cell, slots_of
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.sources import Source
from lect.frontends.capture.spilling import keep_in_variables
from lect.frontends.capture.suspended import GeneratorCode, Resumption
from lect.frontends.capture.tracer import DERIVED, Box, Effect, Tracer
from lect.frontends.tensors import LT
from lect.ir import UNKNOWN, Block, LectError, Location, Operation, Region, SymbolRef, Value

MAX_NESTING = 100  # of what is made again
MAX_MADE = 10_000  # objects that are made again: some seconds
_PARAMETER_ATTRS = ("code_name", "qualname", "args", "positional_only", "keyword_only", "varargs", "varkw", "file", "first_line")
_ITEM_WRITES = (list.__setitem__, dict.__setitem__, OrderedDict.__setitem__, deque.__setitem__)


class End(Protocol):
    """How a residual function ends: `prepare` reads and makes what is needed, `finish`, after all effects, gives the value to return."""

    def prepare(self) -> None:
        """Make the values."""

    def finish(self) -> Value:
        """The value to return."""


class Returned:
    """The function returns the value of a box."""

    def __init__(self, builder: ResidualBuilder, returned: Box) -> None:
        self.builder = builder
        self.returned = returned
        self.value: Value | None = None

    def prepare(self) -> None:
        """Make the value."""
        self.value = self.builder.value_of_box(self.returned)

    def finish(self) -> Value:
        """The value."""
        assert self.value is not None
        return self.value


class ResidualBuilder:
    """Writes one residual function.

    `outputs` are the traced tensors that the graph must return, in order; `parameters` are attributes that replace those of `func`;
    `left_modes` are autograd's switch and the state of autocast as the frame leaves them, None where it leaves what it found.
    """

    def __init__(self, t: Tracer, func: control.FuncOp, graph: str, parameters: Mapping[str, Any]) -> None:
        self.t = t
        self.func = func
        self.graph = graph
        self.parameters = parameters
        self.left_modes: tuple[Any, Any] = (None, None)
        self.block = Block()
        self.outputs: list[LT] = []
        self.loc = UNKNOWN
        self._sources: dict[Source, Value] = {}
        self._dicts: dict[Source, Value] = {}
        self._made: dict[int, Value] = {}
        self._computed: dict[Computed, Value] = {}
        self._busy: set[int] = set()
        self._resources: dict[int, Value] = {}
        self.results: Value | None = None
        self.late: list[Callable[[], None]] = []  # what is to be emitted behind the effects
        self.pending: list[tuple[Any, Callable[[], None]]] = []  # objects that are to be filled when all others are made, in front of the effects
        self.generators: dict[Any, tuple[Resumption, GeneratorCode]] = {}

    # ---- the function ------------------------------------------------------------------------------------------------

    def build(self, end: End, loc: Location) -> control.FuncOp:
        """The whole function.  Breaks when an object that outlives the call cannot be made again."""
        t = self.t
        self.loc = loc
        if t.graph.calls:
            tensors = iter(t.inputs)
            arguments = [self.source(next(tensors).source) if number is None else self.number(number) for number in t.graph.places]
            self.results = self.emit(py.CallGraphOp(arguments, SymbolRef(self.graph), loc=loc))
        prepared = [(effect, self._prepare(effect)) for effect in t.effects]
        end.prepare()
        self._settle()
        check_finished(t, self._made)
        for effect, operands in prepared:
            self.loc = effect.loc
            self._replay(effect, *operands)
        for emit in self.late:
            emit()
        self.loc = loc
        self._leave_modes()
        self.block.append(control.ReturnOp.create([end.finish()], loc=loc, attrs={}))
        attrs = {name: self.func.attrs[name] for name in _PARAMETER_ATTRS if name in self.func.attrs}
        attrs.update(self.parameters)
        variables = keep_in_variables(self.block)
        if variables:
            attrs["locals"] = variables
        return control.FuncOp.create(attrs={"sym_name": self.func.attrs["sym_name"], **attrs}, regions=[Region([self.block])], loc=loc)

    def _settle(self) -> None:
        """Fill what is to be filled behind all others, which may make more of that kind."""
        while self.pending:
            value, fill = self.pending.pop(0)
            try:
                fill()
            except GraphBreak as stop:
                stop.values.append(value)
                raise

    def _leave_modes(self) -> None:
        grad, autocast = self.left_modes
        if grad is not None:
            self.call(torch._C._set_grad_enabled, self.constant(grad))
        if autocast is not None:
            self.call(set_autocast_state, self.resource(autocast))

    def emit(self, op: Operation) -> Value:
        """Append an operation; its only result."""
        if op.loc is UNKNOWN:
            op.loc = self.loc
        self.block.append(op)
        return op.results[0]

    def _produce(self, kind: type[Operation], operands: Sequence[Value], attrs: dict[str, Any], hint: str | None = None) -> Value:
        """Append an operation with one result, which it gives."""
        return self.block.make(kind, operands, OBJECT, attrs, self.loc, hint)

    def constant(self, value: Any) -> Value:
        """A constant that has a text."""
        return self._produce(py.LoadConstOp, (), {"value": from_python(value)})

    def resource(self, value: Any) -> Value:
        """A live object.  Breaks for one that belongs to a class of the trace, which the program must not meet."""
        found = self._resources.get(id(value))
        if found is None:
            check_found(self.t, value)
            owners = [type(value), *(getattr(value, name, None) for name in ("__self__", "__objclass__") if type(value) in _OWNED)]
            if any(owner is cls for owner in (value, *owners) for cls in self.t.classes):
                stop = GraphBreak("LB0008", f"{describe(value)}, of a class that is made in the frame", self.loc)
                stop.values += [cls for cls in self.t.classes if any(owner is cls for owner in (value, *owners))]
                raise stop
            number = self.t.objects.number(value)
            found = self._resources[id(value)] = self.emit(py.LoadResourceOp(f"object.{number}"))
        return found

    def call(self, function: Any, *arguments: Value) -> Value:
        """Call a live function."""
        return self.emit(py.CallOp(self.resource(function), list(arguments)))

    # ---- sources -----------------------------------------------------------------------------------------------------

    def source(self, source: Source) -> Value:
        """Read the object at a source."""
        found = self._sources.get(source)
        if found is None:
            found = self._sources[source] = self._read(source)
        return found

    def _read(self, source: Source) -> Value:
        kind, key, base = source.kind, source.key, source.base
        if base is None:
            if kind == "L":
                return self.emit(py.LoadLocalOp(key, hint=key))
            if kind == "R":
                return self.emit(py.LoadResourceOp("function"))
            if kind == "M":
                return self.emit(py.LoadResourceOp(f"module.{key}"))
            return self.resource(self.t.objects.objects[key])
        below = self.source(base)
        if kind == "attr" and source.part is not None:
            members = self._produce(py.LoadItemOp, (self._instance_dict(base), self.constant(source.part)), {})
            return self._produce(py.LoadItemOp, (members, self.constant(key)), {}, key)
        if kind == "attr":
            return self._produce(py.LoadAttrOp, (below,), {"attr": key}, key)
        if kind == "item":
            return self._produce(py.LoadItemOp, (below, self._key(key)), {})
        if kind == "own":
            return self.call(own_item, below, self._key(key))
        if kind == "type":
            return self.call(type, below)
        if kind == "dict":
            return self.call(object.__getattribute__, below, self.constant("__dict__"))
        if kind == "referent":
            return self.call(weakref.ref.__call__, below)
        if kind == "element":
            return self.call(torch.Tensor.item, below)
        if kind == "size":
            return self.call(torch.Tensor.size, below, self.constant(key))
        if kind == "value":
            return self.call(value_at, below, self.constant(key))
        if kind in ("nth", "key"):
            return self.emit(py.LoadItemOp(self.call(list, below), self.constant(key)))
        return self.emit(py.CallOp(below, []))

    def _key(self, key: Any) -> Value:
        """The key of a look-up: a literal or a kept object."""
        return self.resource(self.t.objects.objects[key.number]) if type(key) is ObjectRef else self.constant(key)

    def _instance_dict(self, source: Source) -> Value:
        """The instance dictionary of a module whose class does not redefine attribute reads."""
        found = self._dicts.get(source)
        if found is None:
            found = self._dicts[source] = self._produce(py.LoadAttrOp, (self.source(source),), {"attr": "__dict__"})
        return found

    # ---- values ------------------------------------------------------------------------------------------------------

    def value_of_box(self, box: Box) -> Value:
        """The run-time counterpart of a box."""
        value, source = box
        if source is not None and type(value) in SCALAR_TYPES:
            return self.source(source)
        return self.value(value)

    def value(self, value: Any) -> Value:
        """The run-time counterpart of a trace-time object; the same object gives the same value."""
        kind = type(value)
        if kind in SCALAR_TYPES and value == value:
            return self._scalar(value)
        if kind is RunTimeNumber:
            return self.number(value)
        found = self._made.get(id(value))
        if found is None:
            if id(value) in self._busy:
                raise GraphBreak("LB0008", f"a {kind.__name__} that contains itself", self.loc)
            if len(self._made) > MAX_MADE:
                raise GraphBreak("LB0031", f"more than {MAX_MADE} objects that outlive the frame would be made again", self.loc)
            if len(self._busy) > MAX_NESTING:
                raise GraphBreak("LB0008", "objects nested too deep", self.loc)
            self._busy.add(id(value))
            try:
                found = self._make(value, kind)
            except GraphBreak as stop:
                stop.values.append(value)
                raise
            self._busy.discard(id(value))
            self._made[id(value)] = found
        return found

    def number(self, number: RunTimeNumber) -> Value:
        """A number of run time: read along its source, or computed again."""
        origin = number.origin
        if not isinstance(origin, Computed):
            return self.source(origin) if isinstance(origin, Source) else origin.read(self)
        found = self._computed.get(origin)
        if found is None:
            found = self._computed[origin] = self._apply(origin)
        return found

    def _apply(self, node: Computed) -> Value:
        operands = [self.value(arg) for arg in node.args]
        symbol = SYMBOLS.get(node.function)
        if symbol is not None and len(operands) == 2:
            return self.emit(py.BinaryOp(operands[0], operands[1], symbol))
        if node.function == "neg":
            return self.emit(py.UnaryOp(operands[0], "-"))
        return self.call(FUNCTIONS[node.function], *operands)

    def _scalar(self, value: Any) -> Value:
        try:
            return self.constant(value)
        except LectError:
            return self.resource(value)

    def _make(self, value: Any, kind: type) -> Value:
        t = self.t
        if kind is LT:
            return data_value(self, value) or self._tensor(value)
        if not t.is_fresh(value):
            known = t.seen.get(id(value))
            if known is not None and known[1] is not None:
                return self.source(known[1])
        if kind in SCALAR_TYPES:
            return self._scalar(value)
        if kind is TracedGenerator:
            return generator_value(self, value)
        if kind in ITERATORS:
            return iterator_value(self, value)
        if kind is IndexIterator and value.by > 0:
            return self._index_iterator(value)
        if kind is IteratorForC:
            return self.value_of_box(value.box)
        if issubclass(type(value), torch.Tensor):
            raise GraphBreak("LB0007", "a tensor that was not reached by a path", self.loc)
        if issubclass(type(value), dict | set | frozenset) and hashed_in_python(value):
            raise GraphBreak("LB0008", f"a {kind.__name__} with keys that are hashed by Python code", self.loc)
        maker = _MAKERS.get(kind)
        if maker is not None:
            return maker(self, value)
        if issubclass(type(value), tuple):
            return self._tuple_subclass(value, kind)
        if issubclass(type(value), types.BuiltinMethodType | types.MethodWrapperType) and bound_to_object(value):
            return self._c_method(value)
        if issubclass(type(value), type) and t.is_fresh(value):
            return class_value(self, value)
        if issubclass(type(value), type | types.ModuleType | types.CodeType) or (not t.is_fresh(value) and issubclass(type(value), _STATIC)):
            return self.resource(value)
        if t.is_fresh(value):
            return self._instance(value, kind)
        raise GraphBreak("LB0008", describe(value), self.loc)

    def _index_iterator(self, value: IndexIterator) -> Value:
        if value.box is None:
            return self.call(iter, self.emit(building.BuildTupleOp([])))
        made = self.call(iter, self.value_of_box(value.box))
        if value.index:
            self.emit(py.CallOp(self.emit(py.LoadAttrOp(made, "__setstate__")), [self.constant(value.index)]))
        return made

    def _tensor(self, tensor: LT) -> Value:
        known = self.t.seen.get(id(tensor))
        if known is not None and known[1] is not None:
            return self.source(known[1])
        self.t.graph.value_of(tensor)
        number = len(self.outputs)
        self.outputs.append(tensor)
        assert self.results is not None
        return self.emit(py.LoadItemOp(self.results, self.constant(number)))

    def _tuple(self, value: tuple) -> Value:
        boxes = self.t.tuples.get(id(value))
        return tuple_of(self, boxes[1], self.value_of_box) if boxes is not None else tuple_of(self, value, self.value)

    def _tuple_subclass(self, value: tuple, kind: type) -> Value:
        if kind is torch.Size:
            return self.call(torch.Size, self._tuple(tuple(value)))
        items = tuple_of(self, tuple(tuple.__iter__(value)), self.value)
        if kind.__module__ == "torch.return_types":
            return self.call(kind, items)
        made = self.call(tuple.__new__, self.value(kind), items)
        self._fill(made, _own_names(value))
        return made

    def _list(self, value: list) -> Value:
        return list_of(self, value, self.value)

    def _dict(self, value: dict) -> Value:
        return dict_of(self, value, self.value)

    def _ordered(self, value: OrderedDict) -> Value:
        made = self.call(OrderedDict, list_of(self, value.items(), lambda pair: tuple_of(self, pair, self.value)))
        self._fill(made, _own_names(value))  # unlike a dict it may have attributes
        return made

    def _namespace(self, value: types.SimpleNamespace) -> Value:
        made = self.call(types.SimpleNamespace)
        self._fill(made, _own_names(value))
        return made

    def _default_dict(self, value: defaultdict) -> Value:
        return self.call(defaultdict, self._callable(value.default_factory), self._dict(value))

    def _set(self, value: set) -> Value:
        return set_of(self, value, self.value)

    def _frozenset(self, value: frozenset) -> Value:
        check_order(self, value)
        return self.call(frozenset, list_of(self, value, self.value))

    def _deque(self, value: deque) -> Value:
        return self.call(deque, list_of(self, value, self.value), self.value(value.maxlen))

    def _slice(self, value: slice) -> Value:
        return self.emit(building.BuildSliceOp(self.value(value.start), self.value(value.stop), self.value(value.step)))

    def _method(self, value: MethodType) -> Value:
        if issubclass(type(value.__func__), types.MethodDescriptorType | types.WrapperDescriptorType):
            return self.emit(py.LoadAttrOp(self.value(value.__self__), value.__func__.__name__))
        return self.call(MethodType, self._callable(value.__func__), self.value(value.__self__))

    def _c_method(self, value: Any) -> Value:
        """A bound method of C code.  Where the object's own attribute is another one, as behind `super()`, the method of the base class is bound."""
        owner, name = value.__self__, value.__name__
        entries = [base.__dict__[name] for base in type(owner).__mro__ if name in base.__dict__]
        wanted = next((number for number, entry in enumerate(entries) if _binds_to(entry, owner, value)), None)
        if wanted == 0 and type(find_in_type(type(owner), "__getattribute__")) is not FunctionType and name not in (_own_names(owner) or ()):
            return self.emit(py.LoadAttrOp(self.value(owner), name))
        if wanted is None:
            raise GraphBreak("LB0008", describe(value), self.loc)
        made = self.value(owner)
        return self.call(type(entries[wanted]).__get__, self.resource(entries[wanted]), made, self.call(type, made))

    def _callable(self, function: Any) -> Value:
        known = self.t.seen.get(id(function))
        reached = self.t.is_fresh(function) or (known is not None and known[1] is not None)
        if reached or bound_to_object(function) or not issubclass(type(function), (*_STATIC, type)):
            return self.value(function)
        return self.resource(function)

    def _function(self, value: FunctionType) -> Value:
        if not self.t.is_fresh(value):
            return self.resource(value)
        closure = value.__closure__
        cells = self.constant(None) if closure is None else self.emit(building.BuildTupleOp([self.value(cell) for cell in closure]))
        names = self.value(value.__globals__) if self.t.is_fresh(value.__globals__) else self.resource(value.__globals__)
        arguments = [self.resource(value.__code__), names, self.constant(value.__name__)]
        made = self.call(FunctionType, *arguments, self.value(value.__defaults__), cells)
        for name in ("__kwdefaults__", "__annotations__"):
            if getattr(value, name):
                self.block.append(
                    py.StoreAttrOp(made, self.emit(building.BuildMapOp([self.value(e) for p in getattr(value, name).items() for e in p])), name, loc=self.loc)
                )
        default = {"__qualname__": value.__code__.co_qualname, "__module__": value.__globals__.get("__name__"), "__doc__": _docstring(value.__code__)}
        for name, usual in default.items():
            if getattr(value, name) != usual:
                self.block.append(py.StoreAttrOp(made, self.value(getattr(value, name)), name, loc=self.loc))
        if value.__dict__:
            names = self.emit(py.LoadAttrOp(made, "__dict__"))
            self.call(dict.update, names, self._dict(value.__dict__))
        return made

    def _partial(self, value: functools.partial) -> Value:
        callee = self.resource(functools.partial)
        arguments = [self._callable(value.func), *[self.value(item) for item in value.args], *[self.value(item) for item in value.keywords.values()]]
        return self.emit(py.CallOp(callee, arguments, keywords=tuple(value.keywords)))

    def _reference(self, value: weakref.ref) -> Value:
        if value.__callback__ is not None:
            raise GraphBreak("LB0008", "a weak reference that calls a function when its object goes", self.loc)
        return self.call(weakref.ref, self.value(value()))

    def _cell(self, value: CellType) -> Value:
        box = self.t.cells.get(id(value), None)
        try:
            contents = value.cell_contents
        except ValueError:
            return self.call(CellType)
        if issubclass(type(contents), type | FunctionType) and self.t.is_fresh(contents):
            return fill_cell(self, value, contents)
        return self.call(CellType, self.value_of_box(box) if box is not None else self.value(contents))

    def _instance(self, value: Any, kind: type) -> Value:
        """An object of a user class that the trace made: allocated without `__init__`, its dictionary filled."""
        names = _own_names(value)
        base = next((base for base in (OrderedDict, dict, list) if issubclass(type(value), base)), None)
        plain: Any = next((base for base in DERIVED if issubclass(type(value), base) and base is not complex), None)
        if plain is not None and type(names) in (dict, type(None)) and find_in_type(kind, "__del__") is MISSING:
            made = self.call(plain.__new__, self.value(kind), self._scalar(plain.__getnewargs__(value)[0]))
            self._fill_slots(made, value)
            self._fill(made, names)
            return made
        if base is not None and type(names) is dict and find_in_type(kind, "__del__") is MISSING:
            return self._container_instance(value, kind, base)
        if issubclass(type(value), _NOT_PLAIN) or find_in_type(kind, "__del__") is not MISSING or type(names) not in (dict, type(None)):
            raise GraphBreak("LB0008", describe(value), self.loc)
        if not _is_allocated_by_object(kind):
            raise GraphBreak("LB0008", f"a {kind.__name__}, which C code allocates", self.loc)
        made = self._made[id(value)] = self.call(object.__new__, self.value(kind))  # it may be found again in what it holds
        self._fill_slots(made, value)
        self._fill(made, names)
        return made

    def _fill_slots(self, made: Value, value: Any) -> None:
        for name, held in slots_of(value).items():
            self.call(object.__setattr__, made, self.constant(name), self.value(held))

    def _fill(self, made: Value, names: dict[str, Any] | None) -> None:
        if names:
            inner = self.call(object.__getattribute__, made, self.constant("__dict__"))
            self.call(dict.update, inner, dict_of(self, names, self.value))

    def _container_instance(self, value: Any, kind: type, base: Any) -> Value:
        """An object of a class derived from a builtin container: allocated and filled by the methods of `base`, past those of the class."""
        if any(not each.__flags__ & _HEAP_TYPE and each not in _ALLOCATED for each in kind.__mro__):
            raise GraphBreak("LB0008", f"a {kind.__name__}, which C code allocates", self.loc)
        made = self.call(base.__new__, self.value(kind))
        self._fill_slots(made, value)
        if base is list:
            self.call(list.extend, made, self._list(list.__getitem__(value, slice(None))))
        else:
            for key, item in base.items(value):
                self.call(base.__setitem__, made, self.value(key), self.value(item))
        if issubclass(type(value), defaultdict) and value.default_factory is not None:
            self.call(object.__setattr__, made, self.constant("default_factory"), self._callable(value.default_factory))
        self._fill(made, _own_names(value))
        return made

    # ---- effects -----------------------------------------------------------------------------------------------------

    def _prepare(self, effect: Effect) -> tuple[Value, list[Value], dict[str, Value]]:
        target = self.value(effect.target[0])
        return target, [self.value(item) for item in effect.args], {name: self.value(item) for name, item in effect.kwargs.items()}

    def _replay(self, effect: Effect, target: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        function, value = effect.function, effect.target[0]
        if issubclass(type(value), CellType):
            self.block.append(py.StoreAttrOp(target, args[0], "cell_contents", loc=effect.loc))
        elif function is object.__setattr__ and issubclass(type(find_in_type(type(value), "__setattr__")), types.WrapperDescriptorType):
            self.block.append(py.StoreAttrOp(target, args[1], effect.args[0], loc=effect.loc))
        elif function is object.__delattr__ and issubclass(type(find_in_type(type(value), "__delattr__")), types.WrapperDescriptorType):
            self.block.append(py.DeleteAttrOp(target, effect.args[0], loc=effect.loc))
        elif function in _ITEM_WRITES and find_in_type(type(value), "__setitem__") is function:
            self.block.append(py.StoreItemOp(target, args[0], args[1], loc=effect.loc))
        else:
            names = tuple(kwargs)
            self.emit(py.CallOp(self.resource(function), [target, *args, *kwargs.values()], keywords=names, loc=effect.loc))


def _own_names(value: Any) -> Any:
    """The instance dictionary, past what the class says that it is; None when there is none."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def _binds_to(entry: Any, owner: Any, method: Any) -> bool:
    """True if C code's `entry` of a class dictionary gives `method` for the object `owner`.

    A method that is told its class (`re.Scanner.search`) cannot be bound without one: Python 3.11 follows a null pointer then.
    """
    return issubclass(type(entry), types.MethodDescriptorType | types.WrapperDescriptorType) and entry.__get__(owner, type(owner)) == method


def _is_allocated_by_object(kind: type) -> bool:
    """True when `object.__new__` makes instances of a class: not when they have fields of a C struct (`types.SimpleNamespace`, `array.array`)."""
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


def bound_to_object(function: Any) -> bool:
    """True for a method of C code that holds an object of the program."""
    if not issubclass(type(function), types.BuiltinMethodType | types.MethodWrapperType):
        return False
    return function.__self__ is not None and not issubclass(type(function.__self__), types.ModuleType | type)


def _docstring(code: types.CodeType) -> str | None:
    """The docstring of a new function with this code."""
    first = code.co_consts[0] if code.co_consts else None
    return first if issubclass(type(first), str) else None


_STATIC = (FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, property)
_OWNED = (types.BuiltinMethodType, types.MethodWrapperType, types.MemberDescriptorType, types.GetSetDescriptorType)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made by Python code
_ALLOCATED = (object, list, dict, OrderedDict, defaultdict)  # whose instances have nothing else in C
_NOT_PLAIN = (BaseException, dict, list, set, tuple, int, str, float, bytes, frozenset, deque, torch.nn.Module, types.GeneratorType)
_MAKERS: Any = types.MappingProxyType[type, Callable[[ResidualBuilder, Any], Value]](
    {
        tuple: ResidualBuilder._tuple,
        list: ResidualBuilder._list,
        dict: ResidualBuilder._dict,
        OrderedDict: ResidualBuilder._ordered,
        types.SimpleNamespace: ResidualBuilder._namespace,
        defaultdict: ResidualBuilder._default_dict,
        set: ResidualBuilder._set,
        frozenset: ResidualBuilder._frozenset,
        deque: ResidualBuilder._deque,
        slice: ResidualBuilder._slice,
        range: ResidualBuilder.resource,
        MethodType: ResidualBuilder._method,
        FunctionType: ResidualBuilder._function,
        CellType: ResidualBuilder._cell,
        functools.partial: ResidualBuilder._partial,
        weakref.ref: ResidualBuilder._reference,
        torch.Generator: random_generator_value,
        **MAKERS,
    }
)
