"""Generators: frames of the trace that are suspended and resumed, and what C code calls back.

C code runs for real during a trace.  What it iterates over or calls may be the program's Python code, so it is handed objects whose `__next__` and
`__call__` go on with the interpreter: `TracedGenerator`, `IterableForC` and `Callback`.  Exceptions of the program become real ones on their way
into C code; errors of lect pass it by as `Crossing`.
"""

from __future__ import annotations

import itertools
import re
import sys
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

from lect.frontends.capture.breaks import Crossing, GraphBreak, UserError
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.ir import Block

NEW, SUSPENDED, RUNNING, DONE = "new", "suspended", "running", "done"
GROUP = type(next(itertools.groupby([0]))[1])  # an iterator that only groupby makes
METHODS: Mapping[str, Any] = types.MappingProxyType({name: types.GeneratorType.__dict__[name] for name in ("__iter__", "__next__", "send", "throw", "close")})


class Exhausted(Exception):
    """The iterator has no more values; `value` is what it returned, `error` the program's own StopIteration.  Never seen by the program."""

    def __init__(self, value: Box = NONE, error: StopIteration | None = None) -> None:
        super().__init__()
        self.value = value
        self.error = error


def called_from_c(work: Callable[..., Any], *args: Any) -> Any:
    """Run a part of the interpreter below C code of the program."""
    try:
        return work(*args)
    except UserError as raised:
        error = raised.error
    except Exception as failure:
        raise Crossing(failure) from None
    kept = (error.__cause__, error.__context__, error.__suppress_context__)
    try:
        raise error
    finally:  # raising adds whatever the interpreter itself is handling
        error.__cause__, error.__context__, error.__suppress_context__ = kept


class TracedGenerator:
    """A generator of the trace.

    While its frame is suspended `op` is the terminator at which it stands and `handled` the exception that the frame itself handles; `sent` and
    `error` are what it goes on with, and `delegate` is the iterator of the `yield from` at which it stands.
    """

    __slots__ = ("__weakref__", "delegate", "error", "frame", "handled", "op", "sent", "state", "t", "yielded")

    def __init__(self, t: Tracer, frame: Any) -> None:
        self.t = t
        self.frame = frame
        self.state = NEW
        self.op: Any = None
        self.handled: BaseException | None = None
        self.delegate: Box | None = None
        self.sent: Box = NONE
        self.error: BaseException | None = None
        self.yielded: Box = NONE
        t.generators.append(self)

    def __iter__(self) -> TracedGenerator:
        return self

    def __next__(self) -> Any:
        return called_from_c(_next_raw, self)

    def suspend(self, op: Any, value: Box) -> None:
        """Stand at `op`, which hands out `value`."""
        self.op = op
        self.yielded = value
        self.state = SUSPENDED

    @property
    def would_act(self) -> bool:
        """True when releasing the generator now would run code of the program: a handler stands around the place where it is suspended."""
        if self.state is not SUSPENDED:
            return False
        inner = self.delegate
        foreign = inner is not None and type(inner[0]) is not TracedGenerator and _may_have(inner[0], "close")
        return foreign or not only_passes_on(self.op.handler)


def _may_have(value: Any, name: str) -> bool:
    """True unless it is sure, without asking the object, that it has no such attribute."""
    held = {each for base in type(value).__mro__ for each in base.__dict__}
    return name in held or not held.isdisjoint({"__getattr__", "__dict__"})


# Operations of a handler that do nothing but to compare the exception with classes, to name it and to hand it on.
_PASSES_ON = frozenset(
    f"pyframe.{name}"
    for name in "push_exc pop_exc load_exc match_exc load_global load_const load_local store_local delete_local drop cond_branch branch reraise return".split()
)


def only_passes_on(handler: Block | None) -> bool:
    """True when neither the handler nor what can follow it does more than to let an exception of another class pass."""
    seen: set[Block] = set()
    rest = [handler]
    while rest:
        block = rest.pop()
        if block is None or block in seen:
            continue
        seen.add(block)
        if block.last is None or any(op.name not in _PASSES_ON for op in block):
            return False
        rest.extend(block.last.successors)
    return True


def _next_raw(generator: TracedGenerator) -> Any:
    return generator.t.stored(in_program(resume, generator.t, generator))


def in_program(step: Callable[..., Box], *args: Any) -> Box:
    """`step(*args)`, the end of the iteration as the program sees it."""
    try:
        return step(*args)
    except Exhausted as end:
        value, error = end.value[0], end.error
    if error is None:
        error = StopIteration() if value is None else StopIteration(value)
    raise UserError(error)


def resume(t: Tracer, generator: TracedGenerator, sent: Box = NONE, error: BaseException | None = None) -> Box:
    """Go on to the next `yield`: its value.  Raises `Exhausted` with the return value, or what leaves the frame."""
    if generator.state is RUNNING:
        raise UserError(ValueError("generator already executing"))
    if generator.state is DONE:
        if error is not None:
            raise UserError(error)
        raise Exhausted
    if generator.state is NEW:
        if error is not None:
            generator.state = DONE
            raise _leaving(t, UserError(error))
        if sent[0] is not None:
            raise UserError(TypeError("can't send non-None value to a just-started generator"))
    return _run(t, generator, sent, error)


def _run(t: Tracer, generator: TracedGenerator, sent: Box, error: BaseException | None) -> Box:
    op, generator.op = generator.op, None
    generator.sent, generator.error = sent, error
    generator.state = RUNNING
    t.outer_caught.append(t.caught)
    t.caught = generator.handled
    try:
        returned = t.code_table.resume(t, generator, op)
    except UserError as raised:
        raise _leaving(t, raised) from None
    finally:
        if generator.state is RUNNING:
            generator.state = DONE
        t.caught = t.outer_caught.pop()
    if returned is not None:
        raise Exhausted(returned)
    return generator.yielded


def _leaving(t: Tracer, raised: UserError) -> UserError:
    """What the caller of a generator sees of an exception that leaves the body."""
    stop = raised.error
    if not issubclass(type(stop), StopIteration):
        return raised
    error = RuntimeError("generator raised StopIteration")
    error.__cause__ = error.__context__ = stop
    t.chained.add(id(t.made(error)[0]))
    outer = UserError(error)
    outer.loc = raised.loc
    return outer


def close(t: Tracer, generator: TracedGenerator) -> Box:
    """`generator.close()`."""
    if generator.state is NEW:
        generator.state = DONE
    if generator.state is DONE:
        return NONE
    try:
        resume(t, generator, NONE, GeneratorExit())
    except Exhausted as end:
        return end.value if sys.version_info >= (3, 13) else NONE
    except UserError as raised:
        if issubclass(type(raised.error), GeneratorExit):
            return NONE
        raise
    raise UserError(RuntimeError("generator ignored GeneratorExit"))


def exception_of(t: Tracer, args: list[Box]) -> BaseException:
    """The exception that `throw(*args)` raises: an instance, or a class with an optional value and traceback.

    What making an instance raises is raised in the generator in its place.
    """
    from lect.frontends.capture.calls import call

    kind, value = args[0], args[1] if len(args) > 1 else NONE
    if issubclass(type(kind[0]), BaseException) and value[0] is None:
        return kind[0]
    if not issubclass(type(kind[0]), type) or not issubclass(kind[0], BaseException):
        raise UserError(TypeError("exceptions must be classes or instances deriving from BaseException"))
    if issubclass(type(value[0]), kind[0]):
        return value[0]
    try:
        made = call(t, kind, [] if value[0] is None else [value], {})[0]
    except UserError as raised:
        return raised.error
    if not issubclass(type(made), BaseException):
        name = type.__repr__(kind[0])
        made = t.made(TypeError(f"calling {name} should have returned an instance of BaseException, not {type(made).__name__}"))[0]
    return made  # type: ignore[no-any-return]


def generator_attr(t: Tracer, box: Box, name: str) -> Box:
    """An attribute of a generator of the trace."""
    generator = box[0]
    if name in METHODS:
        method = types.MethodType(METHODS[name], generator)
        t.keep.append(method)
        return (method, None)
    if name in ("__name__", "__qualname__"):
        function = generator.frame.function[0]
        return (getattr(function, name), None)
    if name == "gi_running":
        return (generator.state is RUNNING, None)
    if name == "__class__":
        return t.static(types.GeneratorType)
    if hasattr(types.GeneratorType, name):
        raise t.stop("LB0009", f"{name} of the generator {generator.frame.function[0].__qualname__}")
    raise UserError(AttributeError(f"'generator' object has no attribute '{name}'", name=name, obj=None))


def check_finished(t: Tracer, made_again: Collection[int] = ()) -> None:
    """Break when a generator that is still suspended would run code of the program when it is released.

    `made_again` are the ids of those that outlive the trace: the residual code makes them, and they are released when the program does.
    """
    for generator in t.generators:
        if generator.would_act and id(generator) not in made_again:
            name = generator.frame.function[0].__qualname__
            stop = GraphBreak("LB0009", f"the generator {name} is left inside of a 'try' or 'with'", generator.op.loc)
            stop.values.append(generator)
            raise stop


# ---- what C code calls back ------------------------------------------------------------------------------------------


ITSELF: Box = (object(), None)


class Callback:
    """What C code calls in place of a callable of the program: `work(t, args, kwargs)` gets boxes and gives what C code sees.

    `stands_for` is that callable (None when the program gave none), `ITSELF` for work that only makes an item fit for C code, and None when it is neither.
    """

    __slots__ = ("stands_for", "t", "work")

    def __init__(self, t: Tracer, work: Callable[[Tracer, list[Box], dict[str, Box]], Any], stands_for: Box | None = None) -> None:
        self.t = t
        self.work = work
        self.stands_for = stands_for

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return called_from_c(self._call, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        t = self.t
        return self.work(t, [known(t, arg) for arg in args], {name: known(t, arg) for name, arg in kwargs.items()})


class IterableForC:
    """An iterable of the program whose `__iter__` or `__next__` is Python code, for C code."""

    __slots__ = ("box", "t")

    def __init__(self, t: Tracer, box: Box) -> None:
        self.t = t
        self.box = box

    def __iter__(self) -> IteratorForC:
        return called_from_c(self._iterator)

    def _iterator(self) -> IteratorForC:
        from lect.frontends.capture.iteration import get_iter

        return IteratorForC(self.t, get_iter(self.t, self.box))


class IteratorForC:
    """An iterator of the program for C code."""

    __slots__ = ("box", "t")

    def __init__(self, t: Tracer, box: Box) -> None:
        self.t = t
        self.box = box

    def __iter__(self) -> IteratorForC:
        return self

    def __next__(self) -> Any:
        return called_from_c(self._next)

    def _next(self) -> Any:
        from lect.frontends.capture.iteration import get_next

        return self.t.stored(in_program(get_next, self.t, self.box))


def known(t: Tracer, value: Any) -> Box:
    """The box of a value that C code hands over; the elements of a tuple that C code made are found again one by one."""
    if type(value) is tuple and id(value) not in t.seen and id(value) not in t.tuples:
        boxes = [known(t, item) for item in value]
        if any(box[0] is not item for box, item in zip(boxes, value)):
            return t.make_tuple(boxes)
        t.tuples[id(value)] = (value, boxes)
        return (value, None)
    of_iterator = type(value) is GROUP or (type(value) is re.Match and id(value) not in t.seen)  # C code has just made it
    return t.made(value) if of_iterator else t.wrap(value)


class IndexIterator:
    """What `iter` makes of an object that has `__getitem__` alone: it asks for item 0, 1, ... until there is none.  `box` is None behind the end.

    `reversed` makes one of an object of which it knows the length, and asks for the last item, the one in front of it, ..., the first.
    """

    __slots__ = ("box", "by", "index", "t")

    def __init__(self, t: Tracer, box: Box, length: int | None = None) -> None:
        self.t = t
        self.box: Box | None = box
        self.by = 1 if length is None else -1
        self.index = 0 if length is None else length - 1

    def __iter__(self) -> IndexIterator:
        return self

    def __next__(self) -> Any:
        return called_from_c(self._next)

    def _next(self) -> Any:
        return self.t.stored(in_program(self.step))

    def step(self) -> Box:
        """The next item.  Raises `Exhausted`."""
        from lect.frontends.capture.operators import load_item

        self.t.memo.disturb()
        if self.box is None or self.index < 0:
            self.box = None
            raise Exhausted
        try:
            item = load_item(self.t, self.box, (self.index, None))
        except UserError as raised:
            if not issubclass(type(raised.error), IndexError | StopIteration):
                raise
            self.box = None
            raise Exhausted from None
        self.index += self.by
        return item
