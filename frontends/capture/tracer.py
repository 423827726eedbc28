"""The state of one trace: where every object came from, what was written, and what the torch calls were.

A value on its way through the interpreter is a box: a pair of the real Python object and its source, which is None for objects made in the trace.
Tensors are replaced by LTs whenever they are boxed; everything else is the real object, so that reads mean what CPython means by them.  The
source of an object that is no scalar is kept in `seen` by identity: C code may shuffle such objects freely, they are found again.

Rules that hold everywhere: what decided something is guarded; nothing that exists before the call is changed (writes go to shadows, see `effects`);
only objects that are fresh or have a source are read.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable
from types import MappingProxyType
from typing import Any

import torch

from lect.dialects.guard.containers import elements, is_hashed_in_c, shown_in_c
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.call_memo import CallMemo
from lect.frontends.capture.class_objects import disown
from lect.frontends.capture.content_guards import DERIVED, guard_value
from lect.frontends.capture.graph import GraphRecorder
from lect.frontends.capture.guards import GuardList, tensor_attributes, why_odd
from lect.frontends.capture.identities import settle_order
from lect.frontends.capture.input_elements import InputElements
from lect.frontends.capture.known_values import KnownValues
from lect.frontends.capture.numbers import Computed, NumberPolicy, RunTimeNumber, read_number
from lect.frontends.capture.numpy_values import ARRAYS
from lect.frontends.capture.objects import ObjectTable
from lect.frontends.capture.places import entry, guard_key, needs_place
from lect.frontends.capture.remade_objects import check_found, guard_class, is_remade, meet
from lect.frontends.capture.repeats import Repeats
from lect.frontends.capture.scalars import DICT_VIEWS, SCALAR_TYPES
from lect.frontends.capture.shadows import Shadows
from lect.frontends.capture.size_symbols import SizeSymbols
from lect.frontends.capture.sources import Source, SourceTable
from lect.frontends.tensors import LT, make_lt, make_recorded, meta_of
from lect.ir import UNKNOWN, Location

Box = tuple[Any, Source | None]
NONE: Box = (None, None)
CONTAINERS = (list, dict, set, deque)
MAX_DEPTH = 300
MAX_ITEMS = 20_000  # of a container, if they are objects
MAX_NESTING = 100  # of containers in containers that C code reads
VIEWS = (*DICT_VIEWS, MappingProxyType)


def _count_in_callee(value: Any) -> int:
    """What `getrefcount` gives inside a function for an object that nothing but its parameter holds.

    It is asked for each time: another evaluator of frames in the process, as a compiler installs it, makes it one more.
    """
    return sys.getrefcount(value)


class GraphInput:
    """A tensor that the graph takes: the traced stand-in, the source, and its number."""

    __slots__ = ("number", "source", "traced")

    def __init__(self, traced: LT, source: Source, number: int) -> None:
        self.traced = traced
        self.source = source
        self.number = number


class Effect:
    """One write to an object that exists before the call: `function(target, *args, **kwargs)`, in order."""

    __slots__ = ("args", "function", "kwargs", "loc", "target")

    def __init__(self, function: Any, target: Box, args: list[Any], kwargs: dict[str, Any], loc: Location) -> None:
        self.function = function
        self.target = target
        self.args = args
        self.kwargs = kwargs
        self.loc = loc


class Tracer:
    """Everything that one trace knows.  `close` breaks its cycles when the trace is over."""

    def __init__(self, code_table: Any, policy: NumberPolicy | None = None) -> None:
        self.code_table = code_table
        self.sources = SourceTable()
        self.policy = policy or NumberPolicy()
        self.numbers: dict[Source | Computed, RunTimeNumber] = {}
        self.computed: dict[Any, Computed] = {}
        self.pinned: set[Source] = set()
        for path in self.policy.run_time - self.policy.by_value:
            self.sources.at(path).run_time = True
        self.objects = ObjectTable()
        self.guards = GuardList(self.objects, frozenset(map(self.sources.at, self.policy.in_steps)))
        self.graph, self.symbols = GraphRecorder(), SizeSymbols(self)
        self.known = KnownValues(self.graph)
        self.repeats = Repeats(self.graph, self.policy.repeats)
        self.elements = InputElements(self)
        self.memo = CallMemo(self, self.repeats.on and self.policy.calls and not self.policy.run_time and not self.policy.remade and not self.policy.instances)
        self.log = self.memo if self.memo.on else None
        self.guards.log = self.memo.log if self.memo.on else None
        self.known.asked = self.memo.disturb
        self.context: dict[int, Box] = {}  # context variables that were set, by identity
        self.hooked: list[tuple[LT, int, Location]] = []  # tensors with hooks, how often they had been written to then, and where
        self.gradients: dict[int, Box] = {}  # what was assigned to the grad of a tensor
        self.module_hooks: dict[int, Any] = {}  # hooks that the frame has registered on modules, by the identity of their handles
        self.cached: dict[int, Any] = {}  # functions with caches that the frame has made, by identity
        self.generator_states: dict[int, Any] = {}  # what is known of torch's generators, by identity
        self.draws: dict[int, Any] = {}  # the calls of generators of random numbers, by identity
        self.inputs: list[GraphInput] = []
        self.seen: dict[int, Box] = {}
        self.keep, self.pathless = list[Any](), set[int]()  # see `without_path` for the latter
        self.fresh: dict[int, Any] = {}
        self.tuples: dict[int, tuple[tuple, list[Box]]] = {}
        self.registered: dict[int, tuple[Any, bool]] = {}
        self.real_of: dict[int, torch.Tensor] = {}
        self.shadows = Shadows()
        self.dented: set[int] = set()  # sets made in the trace out of which something was taken
        self.showing: set[int] = set()  # the containers whose shadow holds their run-time numbers
        self.origins: dict[int, tuple[Any, list[Any]]] = {}  # views and iterators made in C, and the containers outside of the trace that they read
        self.mutated: dict[int, Box] = {}
        self.written: set[tuple[int, Any]] = set()
        self.effects: list[Effect] = []
        self.cells: dict[int, Box | None] = {}
        self._know_no_classes()
        self.calls = self.depth = self.asked = self.assumed = self.register_depth = 0  # `asked` counts items of iterators
        self.entered = self.horizon = self.calls_seen = 0  # blocks, which number the moments of a trace; up to where; calls of torch when that was set
        self.autocast_read = self.asked_compiling = self.left_inference = self.asked_handled = self.is_trial = False
        self.called_in_handler = sys.exc_info()[1] is not None
        self.inference: list[tuple[Any, Any]] = []  # the open blocks of inference mode: the program's context manager and torch's
        self.mode: Any = None  # the dispatch mode under which torch functions run
        self.recursion_limit = sys.getrecursionlimit()  # the program's, which is raised while it is followed
        self.deepest = MAX_DEPTH  # calls in calls that are followed: no more than the program may make
        self.frame: Any = None
        self.caught: BaseException | None = None  # what the running frame handles, and below what those around its generators do
        self.outer_caught: list[BaseException | None] = []
        self.generators: list[Any] = []
        self.stop_at: Any = None  # where the trace has to end
        self.left_modes: tuple[Any, Any] = (None, None)  # autograd and autocast at the end
        self.births: dict[int, list[Any]] | None = None  # the moments, innermost frame first, when fresh objects were made; None when nobody asks
        self.tracebacks: dict[int, Any] = {}  # of exceptions that were raised in the trace
        self.without_traceback: set[int] = set()  # exceptions from outside that lose theirs
        self.chained: set[int] = set()  # exceptions whose context is the program's

    def _know_no_classes(self) -> None:
        """What is known of classes and functions, of keys and of what weak containers see."""
        self.unheard: set[tuple[int, int]] = set()  # loggers by identity and levels of messages that no code of the program gets
        self.recorders: set[int] = set()  # lists by identity in which warnings are written down
        self.memos: set[int] = set()  # dictionaries by identity in which copies are noted that `copy.deepcopy` has begun
        self.compared: set[int] = set()  # dictionaries and sets by identity whose keys no code of the program compares
        self.weakly: list[Any] = []  # objects made in the trace on which containers of the library keep an eye
        self.classes: list[type] = []  # made in the trace
        self.remade: list[Any] = []  # classes and functions that are not known by their identity
        self.identified: dict[int, Source] = {}  # where objects are that are told from others, by identity, and below by their class
        self.told: dict[int, Source] = {}  # where tensors are that are told from others, by identity
        self.identified_kinds: dict[type, list[Source]] = {}
        self.of_remade: set[int] = set()  # functions in such classes, by identity
        self.lookups: dict[tuple[type, str], Any] = {}
        self.class_attrs: dict[tuple[type, str], Box] = {}
        self.getters: dict[type, Any] = {}  # the `__getattribute__` of classes; nothing changes these tables while the frame is followed
        self.operators: dict[tuple[type, Any], bool] = {}  # whether an operator of a class is Python code; under None, whether any is
        self.guarded_entries: set[tuple[type, str]] = set()
        self.namespaces: dict[int, Source | None] = {}  # the modules whose dictionaries are globals, by the identity of these
        self.kept_codes: set[int] = set()  # functions by identity whose code is guarded

    @property
    def loc(self) -> Location:
        """The line that runs."""
        return self.guards.loc

    def handled(self) -> BaseException | None:
        """The exception being handled, as `sys.exception()` gives it: that of the innermost frame or generator that handles one."""
        if self.caught is not None or not self.outer_caught:
            return self.caught
        return next((error for error in reversed(self.outer_caught) if error is not None), None)

    def found_unhandled(self) -> None:
        """The program finds that no exception is being handled: guard that its caller handles none, and break where that does."""
        self.asked_handled = True
        if self.called_in_handler:
            raise self.stop("LB0007", "the exception that the caller of the frame handles")

    def close(self) -> None:
        """Drop all references to the program's objects."""
        for table in (self.seen, self.fresh, self.tuples, self.registered, self.real_of, self.shadows, self.origins, self.mutated, self.cells):
            table.clear()
        for found in (self.class_attrs, self.getters, self.operators, self.guarded_entries, self.namespaces, self.keep, self.weakly):
            found.clear()  # type: ignore[attr-defined]
        disown(self.classes)
        self.classes.clear()
        self.effects.clear()
        for generator in self.generators:
            generator.frame.generator = generator.frame.caller = None  # these are cycles, and frames hold the values of variables
        self.generators.clear()
        self.numbers.clear()
        self.computed.clear()
        self.symbols.close()
        self.known.clear()
        self.repeats.clear()
        self.memo.clear()
        self.elements.clear()
        self.gradients.clear()
        self.hooked.clear()
        self.draws.clear()
        self.generator_states.clear()
        self.cached.clear()
        self.module_hooks.clear()
        self.context.clear()
        self.frame = None

    # ---- boxes -------------------------------------------------------------------------------------------------------

    def wrap(self, value: Any, source: Source | None = None) -> Box:
        """The box of a value that was read along `source`, or found without one."""
        kind = type(value)
        if kind in SCALAR_TYPES:
            if source is None:
                return (value, None)
            if source.run_time and (kind is float or kind is int):
                return read_number(self, value, source)
            box: Box = (value, source)
            if self.log is not None:
                self.log.read(source, box)
            return box
        found = self.seen.get(id(value))
        if found is not None:
            if self.log is not None:
                self.log.found(found) if source is None else self.log.read(source, found)
            if source is not None and found[1] is not None and found[1] is not source:
                self.guards.alias(source, found[1])
            return found
        if kind is LT or kind is RunTimeNumber:
            return (value, None)
        if issubclass(kind, torch.Tensor):
            box = self.tensor_input(value, source)
        elif source is None or id(value) in self.fresh:
            return (value, None)
        else:
            if kind is range or kind is slice:
                for part in ("start", "stop", "step"):
                    self._part(getattr(value, part), source.attr(part))
            if issubclass(kind, DERIVED):
                guard_value(self, value, source)
            box = self.seen[id(value)] = (value, source)
            self.keep.append(value)
            if id(value) in self.pathless:
                self.guards.is_object(source, value)
            if self.policy.remade and is_remade(self, value):
                meet(self, value, source)
        if self.log is not None:
            self.log.read(source, box)  # type: ignore[arg-type]
        return box

    def _part(self, value: Any, source: Source) -> None:
        """A part of an object that C code looks into: known by its value, or found again by its identity."""
        if type(value) in SCALAR_TYPES:
            self.guards.equals(source, value)
        else:
            self.wrap(value, source)

    def static(self, value: Any) -> Box:
        """The box of a code-like object found without a path (a module, class or function that a type refers to): kept by reference."""
        found = self.seen.get(id(value))
        if found is None and id(value) in self.fresh:
            return (value, None)
        found = found or self.wrap(value, self._kept(value))
        if found[1] is not None:
            self.guards.is_object(found[1], value)  # the residual code reads it there
        if self.log is not None:
            self.log.fixed(found)
        return found

    def without_path(self, value: Any) -> Box:
        """The box of an object that is the same for all calls, such as a builtin; where the program has it along a path too, it is the one there."""
        self.pathless.add(id(value))
        source = self.seen.get(id(value), NONE)[1]
        if source is not None:
            self.guards.is_object(source, value)
        return (value, None)

    def static_source(self, value: Any) -> Source:
        """The source of a code-like object from outside of the trace that is kept by reference unless it was found by a path before."""
        assert id(value) not in self.fresh, "an object made in the trace is not found again"
        found = self.seen.get(id(value))
        if found is not None and found[1] is not None:
            self.guards.is_object(found[1], value)
            return found[1]
        return self._kept(value)

    def _kept(self, value: Any) -> Source:
        check_found(self, value)
        return self.sources.kept(self.objects.number(value))

    def tensor_input(self, tensor: torch.Tensor, source: Source | None) -> Box:
        """The traced stand-in of a real tensor, which becomes an input of the graph.  Breaks for kinds of tensors that a graph does not take."""
        if source is None:
            raise GraphBreak("LB0007", "a tensor that was not reached by a path", self.loc)
        odd = why_odd(tensor)
        if odd:
            raise GraphBreak("LB0005", odd, self.loc)
        meta, attributes = self.symbols.of_input(tensor, source) or (meta_of(tensor), tensor_attributes(tensor))
        return self.add_input(tensor, make_lt(meta) if tensor.is_leaf else make_recorded(meta), source, attributes)

    def add_input(self, tensor: torch.Tensor, traced: LT, source: Source, attributes: dict[str, Any]) -> Box:
        """A tensor that nobody has read so far becomes an input of the graph; `attributes` are what its guard says."""
        self.graph.add_input(traced, _input_name(source))
        self.guards.tensor(source, attributes)
        self.inputs.append(GraphInput(traced, source, len(self.inputs)))
        box = (traced, source)
        self.seen[id(tensor)] = self.seen[id(traced)] = box
        self.real_of[id(traced)] = tensor
        self.keep.append(tensor)
        return box

    def leak(self, box: Box) -> Any:
        """The raw value of a box for C code to look at: a scalar is guarded by value."""
        value, source = box
        if source is not None:
            if type(value) in SCALAR_TYPES:
                self.guards.equals(source, value)
                if value != value:  # a NaN, which is found again by its identity
                    self.seen.setdefault(id(value), box)
        elif type(value) is RunTimeNumber:
            return value.needed()
        elif type(value) is tuple and id(value) in self.tuples:
            raw = [self.leak(inner) for inner in self.tuples[id(value)][1]]
            if self.numbers and any(type(item) is RunTimeNumber for item in value):
                return tuple(raw)
        elif type(value) is slice and self.numbers:
            parts = (value.start, value.stop, value.step)
            if any(type(part) is RunTimeNumber for part in parts):
                return slice(*[part.needed() if type(part) is RunTimeNumber else part for part in parts])
        return value

    def stored(self, box: Box) -> Any:
        """The raw value of a box to keep in a container or an attribute: there run-time numbers stay what they are, other scalars lose their source."""
        value = box[0]
        if type(value) is RunTimeNumber:
            return value
        if self.numbers and box[1] is None and type(value) is tuple and id(value) in self.tuples:
            for inner in self.tuples[id(value)][1]:
                self.stored(inner)
            return value
        return self.leak(box)

    def stored_all(self, boxes: list[Box]) -> list[Any]:
        """`stored` of each box."""
        return [self.stored(box) for box in boxes]

    def leak_all(self, boxes: list[Box]) -> list[Any]:
        """`leak` of each box."""
        return [self.leak(box) for box in boxes]

    def make_tuple(self, boxes: list[Box]) -> Box:
        """A tuple of the values that remembers the sources of its elements."""
        value = tuple([box[0] for box in boxes])
        if any(box[1] is not None or type(box[0]) is tuple for box in boxes):
            self.tuples[id(value)] = (value, boxes)
        return (value, None)

    def made(self, value: Any) -> Box:
        """The box of an object that the trace has just made and may change."""
        self.fresh[id(value)] = value
        if self.births is not None:
            self._note_birth(value)
        return (value, None)

    def _note_birth(self, value: Any) -> None:
        moments, frame = [], self.frame
        while frame is not None:
            moments.append((frame.position, frame.now))
            frame = frame.caller
        assert self.births is not None
        self.births.setdefault(id(value), moments)

    def is_fresh(self, value: Any) -> bool:
        """True for objects made in the trace."""
        return id(value) in self.fresh

    def now(self, box: Box) -> Any:
        """The object to read from: the shadow of one that was written to, else the object itself.

        Breaks for a view from outside of the trace whose dictionary was written to: it shows the dictionary as it was.
        """
        value = box[0]
        if not self.shadows.some:
            return value
        self._check_view(value)
        return self.shadows.get(id(value), value)

    def check_proxy(self, mapping: Any) -> None:
        """Break for a view that C code has of a mapping, when its methods are code of the program."""
        if not shown_in_c(mapping):
            raise self.stop("LB0003", f"a view of a {type(mapping).__name__}")

    def as_before(self, names: dict[Any, Any], key: Any) -> bool:
        """True when a dictionary from outside holds under `key` what it held before the call, or still nothing."""
        now = self.shadows.get(id(names)) if self.shadows.some else None
        return now is None or dict.get(now, key, now) is dict.get(names, key, now)

    def _check_view(self, value: Any) -> None:
        if issubclass(type(value), VIEWS) and not self.is_fresh(value) and any(id(each) in self.shadows for each in gc.get_referents(value)):
            raise self.stop("LB0004", "a view is read whose dictionary was written to")

    def result(self, value: Any, held: int = 0) -> Box:
        """The box of what a C function returned: fresh when nobody else holds it (`held` counts the caller's own references beyond one).

        The count must be exact: one more reference may be a cached object that lives outside of the trace.
        """
        count = sys.getrefcount(value)
        kind = type(value)
        if kind in SCALAR_TYPES or kind is RunTimeNumber:
            return (value, None)
        if kind in ARRAYS:
            raise self.stop("LB0003", "an array of numpy")
        box = self.wrap(value)
        if count <= _count_in_callee([]) + held and box[0] is value and box[1] is None and kind is not tuple and kind is not LT:
            self.fresh[id(value)] = value
            if self.births is not None:
                self._note_birth(value)
        return box

    # ---- containers --------------------------------------------------------------------------------------------------

    def derive(self, made: Any, given: Iterable[Any]) -> None:
        """`made` is a view of, or an iterator over, these containers, views and iterators."""
        found: list[Any] = []
        for value in given:
            if id(value) in self.origins:
                found += self.origins[id(value)][1]
            elif issubclass(type(value), CONTAINERS) and not self.is_fresh(value):
                found.append(value)
        if found:
            self.origins[id(made)] = (made, found)

    def check_current(self, value: Any) -> None:
        """Break for a view or iterator that still reads a container of which the trace has changed a copy."""
        found = self.origins.get(id(value))
        if found is not None and any(id(container) in self.shadows for container in found[1]):
            raise self.stop("LB0004", "a container is changed while an iterator over it or a view of it is in use")

    def in_order(self, box: Box) -> Any:
        """`now` for who reads the items in their order.  Breaks for the copy of a set that is not iterated over like the original."""
        value = self.now(box)
        if id(value) in self.dented and any(value is shadow for shadow in self.shadows.values()):
            raise self.stop("LB0004", "the items of a set that was written to, whose order hangs on how it was filled")
        if value is not box[0] or id(value) in self.fresh:
            settle_order(self, value)
        return value

    def register(self, box: Box, deep: bool = True, replaced: Collection[Any] = ()) -> None:
        """C code is about to read this container: make its elements findable, and guard the scalars and the keys in it, and unless told otherwise those
        in the containers among its elements.  What lies under the keys or indices `replaced` is given up before anybody reads it."""
        value, source = box
        self._check_view(value)
        if source is None:
            if type(value) is tuple:
                self.stored(box)
            if deep:
                self._register_found(value, set(), 0)
            return
        done = self.registered.get(id(value))
        known = done is not None and (done[1] or not deep)
        if self.log is not None:
            self.log.register(source, deep, known)
        if known:
            return
        if self.register_depth > MAX_NESTING:
            raise self.stop("LB0019", f"containers nested deeper than {MAX_NESTING}")
        self.registered[id(value)] = (value, deep)
        self.register_depth += 1
        if issubclass(type(value), dict):
            self._register_dict(value, source, deep, replaced)
        elif issubclass(type(value), list | tuple):
            self._register_elements(value, source, "item", deep, replaced)
        elif issubclass(type(value), (set, frozenset, deque, *DICT_VIEWS)):
            self._register_elements(value, source, "nth", deep)
        self.register_depth -= 1

    def _register_found(self, value: Any, entered: set[int], depth: int) -> None:
        """C code is about to read a container that the frame has made, and so those in it that existed before; each of them once: lists that are linked
        in a ring hold each other."""
        kind = type(value)
        if depth > MAX_NESTING or id(value) in entered or (kind is not list and kind is not tuple and kind is not dict):
            return
        entered.add(id(value))
        for item in dict.values(value) if kind is dict else value:
            if issubclass(type(item), list | tuple | dict | set | frozenset | deque):
                known = self.seen.get(id(item))
                if known is not None and known[1] is not None and known[0] is item:
                    self.register(known)
                else:
                    self._register_found(item, entered, depth + 1)

    def register_keys(self, value: dict[Any, Any], source: Source) -> None:
        """Guard which keys a dictionary has."""
        if issubclass(type(value), OrderedDict) and not self._is_in_order(value):
            raise self.stop("LB0003", "an OrderedDict that runs code of the program for its keys, or has lost its order")
        keys = tuple(elements(value))
        if any(type(key) not in SCALAR_TYPES and (issubclass(type(key), torch.Tensor) or needs_place(self, key)) for key in keys):
            self.guards.length(source, len(keys))
            for number, key in enumerate(keys):
                guard_key(self, source.step("key", number), key)
        else:
            self.guards.keys(source, keys)

    def _is_in_order(self, value: Any) -> bool:
        """False for a dictionary that cannot be iterated over in C."""
        if not all(type(key) in SCALAR_TYPES or is_hashed_in_c(key) for key in dict.keys(value)):
            return False
        try:
            return len(list(OrderedDict.__iter__(value))) == len(dict.keys(value))
        except (KeyError, RuntimeError):
            return False

    def _register_dict(self, value: dict[Any, Any], source: Source, deep: bool, replaced: Collection[Any]) -> None:
        self.register_keys(value, source)
        keys, items = list(dict.keys(value)), list(dict.values(value))
        dropped = [type(key) in SCALAR_TYPES and key in replaced for key in keys]
        found = [item if drop else self._registered(item, entry(self, value, source, key), deep) for key, item, drop in zip(keys, items, dropped)]
        in_c = type(value) is dict and all(is_hashed_in_c(key) for key in keys)
        self._show(value, dict(zip(keys, found)) if in_c else None, found)

    def _register_elements(self, value: Any, source: Source, step: str, deep: bool, replaced: Collection[Any] = ()) -> None:
        try:
            items = tuple(elements(value))
        except (KeyError, RuntimeError):
            raise self.stop("LB0003", "a view of an OrderedDict that has lost its order") from None
        if len(items) > MAX_ITEMS and any(type(item) not in SCALAR_TYPES for item in items):
            raise self.stop("LB0031", f"a container of {len(items)} objects is read")
        places = [entry(self, value, source, number) if step == "item" else source.step(step, number) for number in range(len(items))]
        if all(type(item) in SCALAR_TYPES for item in items) and not any(place.run_time for place in places):
            self.guards.items(source, items)
            return
        self.guards.length(source, len(items))
        found = [item if number in replaced else self._registered(item, place, deep) for number, (item, place) in enumerate(zip(items, places))]
        self._show(value, tuple(found) if type(value) is tuple else found, found)
        if issubclass(type(value), DICT_VIEWS):
            for item in items:  # a pair is made anew each time, so that the numbers in it are not found again
                for part in self.shadows.get(id(item), ()) if id(item) in self.showing else ():
                    part.needed() if type(part) is RunTimeNumber else None

    def _show(self, value: Any, shown: Any, items: list[Any]) -> None:
        """C code reads `shown` for a container with run-time numbers, which has them among its items.

        A container of another class needs their values, and so does one of which a copy was made before.
        """
        numbers = [item for item in items if type(item) is RunTimeNumber]
        if not numbers or id(value) in self.showing:
            return
        if type(value) is not type(shown) or id(value) in self.shadows:
            for number in numbers:
                number.needed()
        else:
            self.showing.add(id(value))
            self.shadows[id(value)] = self.made(shown)[0]
            self.keep.append(value)

    def _registered(self, value: Any, source: Source, deep: bool) -> Any:
        """An element that C code will find: a run-time number, or the value itself, registered."""
        box = self.wrap(value, source)
        if type(box[0]) is RunTimeNumber:
            return box[0]
        self._register_inner(box, deep)
        return value

    def _register_inner(self, box: Box, deep: bool) -> None:
        self.leak(box)
        if deep and issubclass(type(box[0]), list | tuple | dict | frozenset):
            self.guard_type(box)
            self.register(box)

    def guard_type(self, box: Box) -> type:
        """The class of a value, guarded when it has a source."""
        value, source = box
        kind = type(value)
        if source is not None and kind is not LT and kind not in SCALAR_TYPES:
            if kind is MappingProxyType:
                self.check_proxy(*gc.get_referents(value))
            guard_class(self, source, kind)
        return kind

    # ---- locations ---------------------------------------------------------------------------------------------------

    def stop(self, number: str, detail: str) -> GraphBreak:
        """The break to raise at the current line."""
        return GraphBreak(number, detail, self.loc if self.loc is not UNKNOWN else UNKNOWN)


def _input_name(source: Source) -> str:
    root = source.root
    words = [str(key) for _, key in source.chain if (type(key) is str and key[:1] != "_") or (issubclass(type(key), int) and key >= 0)]
    if root.kind == "L" and root.key != "self":
        words.insert(0, str(root.key))
    return "_".join(words) or "input"
