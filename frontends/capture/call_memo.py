"""Python functions that a trace has followed before, with other objects of the same kinds, as the layers of a model are called.

While a function is followed, the log takes down what it read along sources and what it asked guards for.  If it did nothing else that lasts but to call
torch, then a later call with arguments of the same kinds goes the same way whenever the same reads give objects of the same classes and the same
scalars, and the same guards hold for them: that is what guards mean.  `replay` makes such a call again without following it.

A call is not remembered when it wrote to anything it did not make, looked at elements of tensors, switched a mode of torch,
handled an exception, left a generator suspended or used anything else that is not known to be a function of what was logged.  Those who do such
things say so by `disturb`.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.repeats import PLAIN, undisturbed
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.tensors import LT
from lect.frontends.tensors.lt import layout_of

if TYPE_CHECKING:
    from lect.frontends.capture.replay import Replay
    from lect.frontends.capture.sources import Source
    from lect.frontends.capture.tracer import Box, Tracer
    from lect.ir import Operation, Value

READ, FOUND, FIXED, REGISTER = "read", "found", "fixed", "register"  # how entries of the log begin, beside those of guards
CODE_LIKE = (type, FunctionType, BuiltinFunctionType, ModuleType)  # what is found without a path, and is one object everywhere
MAX_LOG = 300_000
MAX_LEAVES = 60
MAX_NESTING = 8
MAX_VARIANTS = 4  # of one call, that its arguments alone do not tell apart
MAX_FAILURES = 8


class Asked:
    """A call that may be one of those made before: its key, and the boxes in it that stand for objects, each in the place where it first stands.

    `fillable` says that there are containers among the arguments that the call may change without a trace.
    """

    __slots__ = ("fillable", "key", "leaves", "started")

    def __init__(self, key: tuple[Any, ...], leaves: list[Box], fillable: bool) -> None:
        self.key = key
        self.leaves = leaves
        self.fillable = fillable
        self.started: Started | None = None


class Started:
    """The state of the trace when a call began."""

    __slots__ = ("block", "calls", "disturbed", "draws", "effects", "entered", "frames", "generators", "last", "log", "rebound", "shadows", "values")

    def __init__(self, t: Tracer, leaves: list[Box]) -> None:
        self.log = len(t.memo.log)
        self.disturbed = t.memo.disturbed
        self.shadows = t.shadows.hits
        self.effects = effects_of(t)
        self.draws = t.mode.draws
        self.generators = len(t.generators)
        self.entered = t.entered
        self.frames = t.calls
        self.calls = t.graph.calls
        self.rebound = len(t.graph.rebound)
        self.block = t.graph.block
        self.last: Operation | None = t.graph.block.last
        self.values: list[Value | None] = [t.graph.values.get(id(box[0])) for box in leaves]


class Returned:
    """A box that a call returned; of a container what was in it, and of a dictionary its keys.  The program may change it later."""

    __slots__ = ("box", "items", "keys")

    def __init__(self, t: Tracer, box: Box, depth: int = 0) -> None:
        value = box[0]
        kind = type(value)
        self.box = box
        self.items: list[Returned] | None = None
        self.keys: list[Any] | None = None
        if depth > MAX_NESTING or kind not in (tuple, list, dict):
            return
        known = t.tuples.get(id(value)) if kind is tuple else None
        items = value.values() if kind is dict else value
        boxes = known[1] if known is not None else [t.memo.box_of(item) for item in items]
        self.items = [Returned(t, item, depth + 1) for item in boxes]
        self.keys = list(value) if kind is dict else None


class Record:
    """A call that was followed: `begin` is the state in which it began, `end` is where its entries in the log end.

    `returned` is what it returned as it was then, and `made` are the tensors in it that the call made itself: by identity the value, layout, and whether
    it is a view.
    """

    __slots__ = ("begin", "calls", "draws", "end", "entered", "frames", "leaves", "made", "rebound", "replay", "returned")

    def __init__(self, t: Tracer, asked: Asked, returned: Returned, made: dict[int, tuple[Any, Any, bool]]) -> None:
        assert asked.started is not None
        self.begin = asked.started
        self.leaves = asked.leaves
        self.end = len(t.memo.log)
        self.calls = t.graph.calls - self.begin.calls
        self.entered = t.entered - self.begin.entered
        self.frames = t.calls - self.begin.frames
        self.draws = t.mode.draws - self.begin.draws
        self.rebound = t.graph.rebound[self.begin.rebound :]
        self.returned = returned
        self.made = made
        self.replay: Replay | None = None


class Remembered:
    """The records of one key, and how often none of them fitted."""

    __slots__ = ("failures", "records")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.failures = 0


class CallMemo:
    """The log of one trace and the calls in it.  `disturbed` counts what makes the calls around it unfit to be made again without being followed."""

    def __init__(self, t: Tracer, on: bool) -> None:
        self.t = t
        self.on = on
        self.log: list[tuple[Any, ...]] = []
        self.disturbed = 0
        self.given = 0
        self.calls: dict[tuple[Any, ...], Remembered] = {}

    def disturb(self) -> None:
        """Something happens that the log does not tell of."""
        self.disturbed += 1

    def switch_off(self) -> None:
        """From here on every call is followed."""
        self.on = False
        self.t.log = self.t.guards.log = None
        self.disturbed += 1
        self.clear()

    def clear(self) -> None:
        """Drop everything."""
        self.calls.clear()
        self.log.clear()

    # ---- entries of the log ------------------------------------------------------------------------------------------

    def read(self, source: Source, box: Box) -> None:
        """`box` was read along `source`."""
        seen = (self.t.graph.values.get(id(box[0])), layout_of(box[0])) if type(box[0]) is LT else (None, None)
        self.log.append((READ, source, box, self.t.guards.loc, *seen))

    def found(self, box: Box) -> None:
        """`box` was found by the identity of what is in it."""
        self.log.append((FOUND, box))

    def fixed(self, box: Box) -> None:
        """`box` does not hang on the arguments of any function."""
        self.log.append((FIXED, box))

    def register(self, source: Source, deep: bool, before: bool) -> None:
        """The container at `source` is read by C code, `before` says that nothing was asked for that as it had been read before."""
        self.log.append((REGISTER, source, deep, self.t.guards.loc, before))

    # ---- calls -------------------------------------------------------------------------------------------------------

    def ask(self, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Asked | None:
        """The key of a call; None when such calls are not remembered."""
        t = self.t
        if t.handled() is not None or not t.repeats.on or t.numbers or t.class_attrs or t.births is not None or t.graph.scopes or not undisturbed():
            return None
        if len(self.log) > MAX_LOG:
            self.switch_off()
            return None
        return self._key(callee, args, kwargs)

    def _key(self, callee: Box, args: list[Box], kwargs: dict[str, Box]) -> Asked | None:
        keys = _Keys(self.t)
        if self.t.is_fresh(callee[0]) or not keys.add(callee, 0):
            return None
        for box in args:
            if not keys.add(box, 0):
                return None
        for name, box in kwargs.items():
            keys.parts.append(name)
            if not keys.add(box, 0):
                return None
        if len(keys.leaves) > MAX_LEAVES:
            return None
        return Asked((torch.get_default_dtype(), *keys.parts), keys.leaves, keys.fillable)

    def give(self, asked: Asked) -> Box | None:
        """Make the call again without following it; None when it has to be followed, which `learn` then is to be told of."""
        t = self.t
        known = self.calls.get(asked.key)
        if known is not None:
            given = self._repeat(known, asked)
            if given is not None:
                return given
        asked.started = Started(t, asked.leaves)
        return None

    def _repeat(self, known: Remembered, asked: Asked) -> Box | None:
        t = self.t
        if known.failures > MAX_FAILURES:
            return None
        for record in list(known.records):
            if record.begin.effects != effects_of(t):
                known.records.remove(record)  # what it read may have been written to since
                continue
            if record.replay is None:
                record.replay = t.code_table.make_replay(t, record)
                if record.replay is None:
                    known.records.remove(record)
                    known.failures += 1
                    continue
            live = record.replay.fits(t, asked.leaves)
            if live is not None:
                self.given += 1
                return record.replay.run(t, asked.leaves, live)
        known.failures += bool(known.records)
        return None

    def learn(self, asked: Asked, callee: Box, args: list[Box], kwargs: dict[str, Box], returned: Box) -> None:
        """Remember a call that was followed."""
        from lect.frontends.capture.generators import DONE

        t, begin = self.t, asked.started
        if begin is None or not self.on or begin.disturbed != self.disturbed or begin.shadows != t.shadows.hits:
            return
        if begin.effects != effects_of(t) or begin.block is not t.graph.block or not t.repeats.on:
            return
        if t.numbers or t.class_attrs or any(generator.state is not DONE for generator in t.generators[begin.generators :]):
            return
        known = self.calls.get(asked.key)
        if known is None:
            known = self.calls[asked.key] = Remembered()
        elif known.failures > MAX_FAILURES or len(known.records) >= MAX_VARIANTS:
            return
        if asked.fillable:
            again = self._key(callee, args, kwargs)
            if again is None or again.key != asked.key or any(old[0] is not new[0] for old, new in zip(asked.leaves, again.leaves)):
                return  # it has changed a container that it was given
        made = _made_tensors(t, returned[0], {id(box[0]) for box in asked.leaves})
        if made is not None:
            known.records.append(Record(t, asked, Returned(t, returned), made))

    def box_of(self, value: Any) -> Box:
        """The box of a value in a container."""
        return (value, None) if type(value) in SCALAR_TYPES else self.t.seen.get(id(value)) or (value, None)


def effects_of(t: Tracer) -> tuple[int, int, int]:
    """What differs when anything was written to since."""
    return len(t.effects), id(t.effects[-1]) if t.effects else 0, len(t.written)


class _Keys:
    """The key of a call under construction."""

    def __init__(self, t: Tracer) -> None:
        self.t = t
        self.parts: list[Any] = []
        self.leaves: list[Box] = []
        self.places: dict[int, int] = {}
        self.fillable = False

    def add(self, box: Box, depth: int) -> bool:
        """Add a box; False when a call with such an argument is not remembered."""
        value, source = box
        kind = type(value)
        parts = self.parts
        parts.append(kind)
        if kind in SCALAR_TYPES:
            if kind is float:
                parts.append(value.hex())
            elif kind in PLAIN:
                parts.append(value)
            else:
                return False
            parts.append(source is None)
            if source is not None:
                self.leaves.append(box)
            return True
        if kind is RunTimeNumber or depth > MAX_NESTING:
            return False
        place = self.places.get(id(value))
        parts.append(place)
        if place is not None:
            return True
        self.places[id(value)] = len(self.leaves)
        self.leaves.append(box)
        parts.append(source is None)
        if kind is LT:
            return self._tensor(value)
        if issubclass(kind, CODE_LIKE):  # `isinstance` may ask the object, in code of the program
            parts.append(id(value))  # the leaf keeps it alive
            return not self.t.is_fresh(value)
        return source is not None or self._container(value, kind, depth)

    def _tensor(self, value: LT) -> bool:
        real = self.t.real_of.get(id(value))
        self.parts += (layout_of(value), value.requires_grad)
        if real is not None:
            self.parts += (type(real), real.is_leaf, tuple(real.__dict__))
        return id(value) in self.t.graph.values and not value.is_inference()

    def _container(self, value: Any, kind: type, depth: int) -> bool:
        t = self.t
        if kind is torch.Size:
            self.parts.append(tuple(value))
            return True
        if kind is slice:
            return all(self.add((part, None), depth + 1) for part in (value.start, value.stop, value.step))
        if kind is tuple:
            known = t.tuples.get(id(value))
            self.parts.append(len(value))
            items = known[1] if known is not None else [self.t.memo.box_of(item) for item in value]
            return all(self.add(item, depth + 1) for item in items)
        if not t.is_fresh(value):
            return False
        self.fillable = True
        if kind is list:
            self.parts.append(len(value))
            return all(self.add(self.t.memo.box_of(item), depth + 1) for item in value)
        if kind is dict:
            self.parts.append(len(value))
            return all(self.add((key, None), depth + 1) and self.add(self.t.memo.box_of(item), depth + 1) for key, item in value.items())
        return False


def _made_tensors(t: Tracer, value: Any, given: set[int], depth: int = 0) -> dict[int, tuple[Any, Any, bool]] | None:
    """The tensors in plain containers that stand for results of calls; None when one has more to it than its metadata."""
    kind = type(value)
    if kind is LT:
        if id(value) in t.real_of or id(value) in given:
            return {}
        if value.requires_grad or value.is_inference() or value._version or value.is_complex():
            return None
        found = t.graph.values.get(id(value))
        return None if found is None else {id(value): (found, layout_of(value), value._is_view() or id(value) in t.repeats.views)}
    made: dict[int, tuple[Any, Any, bool]] = {}
    items = value if kind is tuple or kind is list else value.values() if kind is dict else ()
    if depth > MAX_NESTING:
        return None
    for item in items:
        inner = _made_tensors(t, item, given, depth + 1)
        if inner is None:
            return None
        made.update(inner)
    return made
