"""Making a call again that a trace has followed before (see `call_memo`), for other arguments of the same kinds.

`make_replay` turns what the log tells of the call into steps on numbered objects: first those among the arguments, then what was read from them.
`fits` reads the same from other arguments and changes nothing; what it reads has to be of the same class, scalars the same, tensors of the same
metadata, two of the objects one object exactly when they were before, and every guard has to hold.  Then `run` wraps what was read and asks for the
guards, as following the call would have done, appends the calls of torch, and gives what the call returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from lect.dialects.fx import ops as fx
from lect.frontends.capture.call_memo import CODE_LIKE, FIXED, FOUND, READ, REGISTER, Record, Returned
from lect.frontends.capture.guards import GUARD
from lect.frontends.capture.replay_reads import CONDITIONS, Differs, TensorFacts, read_steps, same_scalar, untouched
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.tensors import LT, make_lt

if TYPE_CHECKING:
    from lect.frontends.capture.sources import Source
    from lect.frontends.capture.tracer import Box, Tracer
    from lect.ir import Value

Steps = tuple[tuple[str, Any], ...]


class Read(NamedTuple):
    """What is read from object number `base`, and what it was."""

    base: int
    steps: Steps
    part: str | None
    old: Any
    tensor: TensorFacts | None


class Guard(NamedTuple):
    """A guard on object number `place`; `others` are the objects with which it is compared."""

    place: int
    kind: str
    payload: Any
    other: int | None


class Call(NamedTuple):
    """An operation: the numbers of the values that it takes, and what it is made of."""

    operands: tuple[int, ...]
    types: list[Any]
    attrs: dict[str, Any]
    loc: Any


def make_replay(t: Tracer, record: Record) -> Replay | None:
    """The call as steps; None when the log does not tell enough."""
    try:
        return _Maker(t, record).make()
    except (Differs, AttributeError, LookupError, TypeError, ValueError):
        return None


def _real(t: Tracer, value: Any) -> Any:
    """The tensor from outside of the trace that a stand-in stands for, any other value itself."""
    return t.real_of.get(id(value), value) if type(value) is LT else value


class _Maker:
    """Numbers the objects of a call, and writes down what happened to them, in order."""

    def __init__(self, t: Tracer, record: Record) -> None:
        self.t = t
        self.record = record
        self.places: dict[Source, int] = {}
        self.boxes: list[Box] = []
        self.live: list[Any] = []
        self.values: dict[Value, int] = {}  # what stands for a tensor, by the number of the box
        self.fixed: dict[int, Box] = {}  # by the identity of the object
        self.fixed_values: dict[Value, LT] = {}
        self.done: set[Source] = set()
        self.registered: dict[Source, bool] = {}
        self.asked: set[tuple[Any, ...]] = set()
        self.reads: list[Read] = []
        self.actions: list[tuple[Any, ...]] = []
        for box, value in zip(record.leaves, record.begin.values):
            self._add(box, value)

    def make(self) -> Replay:
        """The replay.  Raises `Differs`."""
        for kind, *entry in self.t.memo.log[self.record.begin.log : self.record.end]:
            if kind == READ:
                self._read(*entry)
            elif kind == GUARD:
                self._guard(*entry)
            elif kind == FIXED:
                self._fix(entry[0])
            elif kind == FOUND:
                self._found(entry[0])
            else:
                self._register(*entry)
        externals, calls, numbers = self._calls()
        rebound = [(place, numbers[value]) for place, value in self._rebound()]
        return Replay(self, externals, calls, rebound, self._result(self.record.returned, numbers, set()))

    def _add(self, box: Box, value: Value | None) -> int:
        number = len(self.boxes)
        self.boxes.append(box)
        self.live.append(_real(self.t, box[0]))
        if box[1] is not None:
            self.places.setdefault(box[1], number)
        if value is not None:
            self.values.setdefault(value, number)
        return number

    def _base(self, source: Source) -> tuple[int | None, Steps]:
        """The numbered object at or above a source, and the steps from there; None when there is none, so that it leads to one object always."""
        number = self.places.get(source)
        return self._above(source) if number is None else (number, ())

    def _above(self, source: Source) -> tuple[int | None, Steps]:
        """`_base`, but for an object at the source itself."""
        steps = [(source.kind, source.key)]
        node = source.base
        while node is not None:
            number = self.places.get(node)
            if number is not None:
                return number, tuple(reversed(steps))
            steps.append((node.kind, node.key))
            node = node.base
        return None, ()

    def _fix(self, box: Box, value: Value | None = None) -> None:
        """An object that is the same in every call."""
        if type(box[0]) in SCALAR_TYPES:
            return
        real = _real(self.t, box[0])
        self.fixed[id(real)] = box
        if type(box[0]) is LT:
            found = value if value is not None else self.t.graph.values.get(id(box[0]))
            if found is not None:
                self.fixed_values.setdefault(found, box[0])

    def _read(self, source: Source, box: Box, loc: Any, value: Value | None, layout: Any) -> None:
        if source in self.done:
            return
        self.done.add(source)
        base, steps = self._above(source)  # also of what is an argument: another one need not be what is read there
        if base is None:
            self._fix(box, value)
            return
        alias = box[1] is not source and box[1] not in self.places
        number = self._add(box, value)
        old = self.live[number]
        found = read_steps(self.live[base], steps, source.part)
        if not (same_scalar(old, found) if type(old) in SCALAR_TYPES else found is old):
            raise Differs
        tensor = None
        if issubclass(type(old), torch.Tensor):
            tensor = TensorFacts(old, layout)
            if not tensor.fit(self.t, old):
                raise Differs
        if (alias and type(old) not in SCALAR_TYPES) or issubclass(type(old), CODE_LIKE):
            self.fixed[id(old)] = box  # it may have been found in another way, which leads to one object always
        self.reads.append(Read(base, steps, source.part, old, tensor))
        self.actions.append((READ, loc, base, steps, source.part, number, tensor))

    def _found(self, box: Box) -> None:
        if issubclass(type(box[0]), CODE_LIKE):
            self._fix(box)
        elif box[1] is not None and box[1] not in self.places and id(_real(self.t, box[0])) not in self.fixed:
            raise Differs

    def _guard(self, kind: str, source: Any, payload: Any, loc: Any) -> None:
        place = self.places.get(source)
        if place is None:
            if self._base(source)[0] is not None:
                raise Differs
            return
        other = None
        if kind in ("same", "distinct"):
            other = self.places.get(payload)
            if other is None:
                raise Differs
        elif not _is_comparable(kind, payload) or not CONDITIONS[kind](self.live[place], payload):
            raise Differs
        asked = (place, kind, other, payload if kind in ("no_attr", "no_part") else None)
        if kind != "has_key":  # of the others there is one for an object, or one for a name
            if asked in self.asked:
                return
            self.asked.add(asked)
        self.actions.append((GUARD, loc, Guard(place, kind, payload, other)))

    def _register(self, source: Source, deep: bool, loc: Any, before: bool) -> None:
        place = self.places.get(source)
        if place is None:
            if self._base(source)[0] is not None:
                raise Differs
            return
        if before:
            if not (self.registered.get(source, False) or (source in self.registered and not deep)):
                raise Differs
            return
        self.registered[source] = deep
        self.actions.append((REGISTER, loc, place, deep))

    def _calls(self) -> tuple[list[int | LT], list[Call], dict[Value, int]]:
        """Where the values from outside come from, the operations, and the number of each value in order of appearance."""
        begin = self.record.begin
        externals: list[int | LT] = []
        numbers: dict[Value, int] = {}
        calls: list[Call] = []
        found: list[fx.CallOp] = []
        op = begin.block.first if begin.last is None else begin.last.next
        for _ in range(self.record.calls):
            if type(op) is not fx.CallOp:
                raise Differs
            found.append(op)
            op = op.next
        inside = {value for each in found for value in each.results}
        for each in found:
            for value in each.operands:
                if value not in inside and value not in numbers:
                    place = self.values.get(value)
                    numbers[value] = len(externals)
                    externals.append(place if place is not None else self.fixed_values[value])
        for each in found:
            operands = tuple([numbers[value] for value in each.operands])
            calls.append(Call(operands, [value.type for value in each.results], each.attrs, each.loc))
            for value in each.results:
                numbers[value] = len(numbers)
        return externals, calls, numbers

    def _rebound(self) -> list[tuple[int | LT, Value]]:
        """The tensors from outside of the call for which other values stand behind it."""
        found: list[tuple[int | LT, Value]] = []
        for tensor, value in self.record.rebound:
            place: int | LT | None = next((number for number, box in enumerate(self.boxes) if box[0] is tensor), None)
            if place is None and any(each is tensor for each in self.fixed_values.values()):
                place = tensor
            if place is not None:
                found.append((place, value))
        return found

    def _result(self, returned: Returned, numbers: dict[Value, int], around: set[int]) -> tuple[Any, ...]:
        """How the result is made: a kind and what it needs."""
        value, source = returned.box
        kind = type(value)
        if source is not None and source in self.places:
            return ("place", self.places[source])
        number = next((number for number, each in enumerate(self.boxes) if each[0] is value), None) if kind not in SCALAR_TYPES else None
        if number is not None:
            return ("place", number)
        if kind in SCALAR_TYPES or (issubclass(kind, CODE_LIKE) and not self.t.is_fresh(value)):
            if source is not None and self._base(source)[0] is not None:
                raise Differs
            return ("as it is", returned.box)
        if kind is LT:
            made, layout, view = self.record.made[id(value)]
            return ("tensor", id(value), numbers[made], layout, view)
        if source is not None or id(value) in around or returned.items is None:
            raise Differs
        around.add(id(value))
        items = [self._result(item, numbers, around) for item in returned.items]
        if kind is tuple:
            return ("tuple", items)
        if not self.t.is_fresh(value) or not all(type(key) is str for key in returned.keys or ()):
            raise Differs
        return ("list", items) if kind is list else ("dict", returned.keys, items)


def _is_comparable(kind: str, payload: Any) -> bool:
    """True for a guard that can be asked of another object: what it compares with is no object of the program."""
    if kind in ("keys", "items"):
        return all(same_scalar(item, item) for item in payload)
    if kind == "has_key":
        return same_scalar(payload[0], payload[0])
    return kind in CONDITIONS


class Replay:
    """A call to make again."""

    __slots__ = ("actions", "calls", "draws", "externals", "entered", "fixed", "frames", "old", "reads", "rebound", "result")

    def __init__(self, maker: _Maker, externals: list[int | LT], calls: list[Call], rebound: list[tuple[int | LT, int]], result: tuple[Any, ...]) -> None:
        self.reads = maker.reads
        self.actions = maker.actions
        self.fixed = maker.fixed
        self.old = maker.live
        self.externals = externals
        self.calls = calls
        self.rebound = rebound
        self.result = result
        self.entered = maker.record.entered
        self.frames = maker.record.frames
        self.draws = maker.record.draws

    # ---- does it fit -------------------------------------------------------------------------------------------------

    def fits(self, t: Tracer, leaves: list[Box]) -> list[Any] | None:
        """The objects of the call with these arguments, which changes nothing; None when following the call may go another way."""
        try:
            return self._fits(t, [_real(t, box[0]) for box in leaves])
        except (Differs, AttributeError, LookupError, TypeError, ValueError):
            return None

    def _fits(self, t: Tracer, live: list[Any]) -> list[Any]:
        same = {number: number for number in self.fixed}
        back = dict(same)
        count = len(live)
        for old, new in zip(self.old, live):
            _pair(same, back, old, new)
            if type(new) not in SCALAR_TYPES and type(new) is not LT and id(new) not in t.fresh and not untouched(t, new):
                raise Differs
        for read in self.reads:
            new = read_steps(live[read.base], read.steps, read.part)
            old = read.old
            if type(old) in SCALAR_TYPES:
                if not same_scalar(old, new):
                    raise Differs
            elif type(new) is not type(old) or not untouched(t, new) or (read.tensor is not None and not read.tensor.fit(t, new)):
                raise Differs
            else:
                _pair(same, back, old, new)
            live.append(new)
        assert len(live) == count + len(self.reads)
        for action in self.actions:
            if action[0] == GUARD and not _holds(action[2], live):
                raise Differs
        return live

    # ---- making it ---------------------------------------------------------------------------------------------------

    def run(self, t: Tracer, leaves: list[Box], live: list[Any]) -> Box:
        """Make the call with arguments that it fits; `live` are its objects, as `fits` gave them."""
        boxes = list(leaves)
        loc = t.guards.loc
        for kind, where, *action in self.actions:
            t.guards.loc = where
            if kind == READ:
                base, steps, part, number, tensor = action
                assert number == len(boxes)
                source = boxes[base][1]
                for step, key in steps:
                    source = source.step(step, key)  # type: ignore[union-attr]
                if part is not None:
                    source.part = part  # type: ignore[union-attr]
                boxes.append(self._read(t, live[number], source, tensor))  # type: ignore[arg-type]
            elif kind == GUARD:
                self._ask(t, action[0], boxes)
            else:
                place, deep = action
                t.register(boxes[place], deep)
        t.guards.loc = loc
        for box in self.fixed.values():
            t.memo.fixed(box)  # the calls around this one depend on them as well
        values = t.graph.again(self.calls, [t.graph.values[id(each if type(each) is LT else boxes[each][0])] for each in self.externals])  # type: ignore[index]
        for place, number in self.rebound:
            t.graph.define(place if type(place) is LT else boxes[place][0], values[number])  # type: ignore[index]
        t.entered += self.entered
        t.calls += self.frames
        t.mode.draws += self.draws
        t.repeats.given += len(self.calls)
        return self._made(t, self.result, boxes, values, {})

    def _read(self, t: Tracer, value: Any, source: Source, facts: TensorFacts | None) -> Box:
        """The box of what was read.  A tensor that becomes an input has the facts of the one before, so that it is not asked for them again."""
        if facts is None or not facts.leaf or t.log is None or id(value) in t.seen:
            return t.wrap(value, source)
        box = t.add_input(value, make_lt(facts.meta), source, facts.guard)
        t.log.read(source, box)
        return box

    def _ask(self, t: Tracer, asked: Guard, boxes: list[Box]) -> None:
        source = boxes[asked.place][1]
        assert source is not None
        payload = asked.payload if asked.other is None else boxes[asked.other][1]
        t.guards.ask_again(source, asked.kind, payload)

    def _made(self, t: Tracer, how: tuple[Any, ...], boxes: list[Box], values: list[Value], tensors: dict[int, LT]) -> Box:
        """What the call returns; `tensors` are those in it that were made so far, by the identities of those that the call returned before."""
        kind = how[0]
        if kind == "place":
            return boxes[how[1]]
        if kind == "as it is":
            box: Box = how[1]
            return box
        if kind == "tensor":
            _, old, number, layout, view = how
            if old not in tensors:
                made = tensors[old] = make_lt(layout)
                if view:
                    t.repeats.views.add(id(made))
                t.graph.define(made, values[number])
            return (tensors[old], None)
        items = [self._made(t, item, boxes, values, tensors) for item in how[-1]]
        if kind == "tuple":
            box = t.make_tuple(items)
            t.keep.append(box[0])
            return box
        raw = [item[0] for item in items]
        return t.made(raw if kind == "list" else dict(zip(how[1], raw)))


def _pair(same: dict[int, int], back: dict[int, int], old: Any, new: Any) -> None:
    """Note that `new` stands where `old` stood.  Raises `Differs` when one of them stands for another object elsewhere."""
    if type(old) in SCALAR_TYPES:
        return
    if same.setdefault(id(old), id(new)) != id(new) or back.setdefault(id(new), id(old)) != id(old):
        raise Differs


def _holds(asked: Guard, live: list[Any]) -> bool:
    value = live[asked.place]
    if asked.kind == "same":
        return value is live[asked.other]  # type: ignore[index]
    if asked.kind == "distinct":
        return value is not live[asked.other]  # type: ignore[index]
    return CONDITIONS[asked.kind](value, asked.payload)
