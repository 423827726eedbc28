"""Generators: what a frame does between the calls that resume it.

Each generator function is run under every short sequence of actions (`next`, `send`, `throw`, `close`); what each gives, the line at which the frame
then stands and what it delegates to are noted.  `SUSPENDING` is also used by the tests of frames that are made again while they are suspended.
"""

import contextlib
import itertools
import sys

LOG = []


def plain(a, b=2, *rest, key="k", **more):
    yield a
    yield (b, rest, key, more)
    return "end"


def nothing():
    return 5
    yield


def counting(limit):
    total = 0
    for i in range(limit):
        total += yield i + total
    return total


def echo():
    got = None
    while got != 7:
        got = yield [got]
    else:
        yield "seven"


def nested_loops(rows):
    for row in rows:
        for item in row:
            if item < 0:
                continue
            x = yield item
            if x == 7:
                break
        else:
            yield "row done"


def in_call(f=max):
    return f((yield 1) or 0, (yield 2) or 0, *[(yield 3) or 0], key=(yield 4))


def in_display():
    return [(yield 1), {"k": (yield 2), (yield 3): 4}, ((yield 5),), f"{(yield 6)!r:>5}"]


def in_method_call():
    return "a-b".split((yield 1) or "-", (yield 2) or 1)


def tried():
    try:
        yield 1
        yield 2
    except ValueError as error:
        yield ("caught", str(error))
        yield sys.exception() is error
    except (KeyError, GeneratorExit):
        LOG.append("left")
        raise
    else:
        yield "else"
    finally:
        LOG.append("finally")
        yield "finally"
    return "tried"


def nested_handlers():
    try:
        try:
            raise KeyError("first")
        except KeyError:
            yield repr(sys.exception())
            try:
                raise IndexError("second")
            except IndexError as e:
                yield repr(e), repr(e.__context__)
                yield repr(sys.exception())
            yield repr(sys.exception())
            raise
    except KeyError as e:
        yield ("again", repr(e), repr(sys.exception()))
    yield repr(sys.exception())


def bare_finally():
    for i in range(3):
        try:
            yield i
        finally:
            LOG.append(i)
            if i == 1:
                continue


def swallows():
    while True:
        try:
            yield "alive"
        except GeneratorExit:
            LOG.append("no exit")
            yield "still alive"
            return
        except ValueError:
            pass


class Manager:
    def __init__(self, name, swallow=()):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        LOG.append(f"enter {self.name}")
        return self.name

    def __exit__(self, kind, value, traceback):
        LOG.append(f"exit {self.name} {kind.__name__ if kind else None}")
        return kind is not None and issubclass(kind, self.swallow)


def managed():
    with Manager("a", ValueError) as a, Manager("b") as b:
        yield a
        x = yield b
        if x == 7:
            raise ValueError("seven")
    yield "outside"


@contextlib.contextmanager
def manager(name):
    LOG.append(f"in {name}")
    try:
        yield name
    except ValueError as error:
        LOG.append(f"{name} saw {error}")
    finally:
        LOG.append(f"out {name}")


def with_generator_managers():
    with manager("m") as m:
        yield m
        raise ValueError("x")
    yield "after"


def delegates(make=counting):
    result = yield from make(2)
    yield ("result", result)
    result = yield from [10, 20]
    return result


def delegates_protected():
    try:
        first = yield from tried()
        yield first
    except LookupError as error:
        yield ("lookup", str(error))
    finally:
        LOG.append("outer finally")
    with Manager("d", ValueError):
        yield from swallows()


def delegates_within():
    return [(yield from counting(1)), (yield from delegates(plain))]


class Iterator:
    """An iterator in Python without `send`, `throw` and `close`."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > 2:
            stop = StopIteration("iterator")
            raise stop
        return self.at


class Throwing(Iterator):
    def throw(self, *args):
        LOG.append(("throw", len(args)))
        if self.at == 1:
            return "thrown in"
        raise StopIteration("by throw")

    def close(self):
        LOG.append("closed")

    def send(self, value):
        LOG.append(("send", value))
        return next(self)


def delegates_to_iterator():
    return ((yield from Iterator()), (yield from Throwing()))


def stops():
    yield 1
    raise StopIteration("stop")


def stops_inside(handler):
    try:
        yield next(iter([]))
    except StopIteration:
        if handler:
            yield "caught"
        next(iter([]))


def with_cells(start):
    count = start

    def add(n):
        nonlocal count
        count += n
        return count

    while count < 10:
        got = yield add
        add(got or 1)
    later = lambda: missing
    try:
        later()
    except NameError as error:
        yield str(error)
    missing = 3
    yield later()


def unbound(flag):
    if flag:
        x = 1
    yield "before"
    try:
        yield x
    except UnboundLocalError as error:
        yield str(error)
    x = 2
    del flag
    yield x
    yield flag


def groups():
    try:
        yield 1
    except* ValueError as group:
        LOG.append(len(group.exceptions))
    except* TypeError:
        LOG.append("type")
    yield 2


def matching(subject):
    match subject:
        case [x, *rest] if (yield x):
            yield rest
        case {"k": v, **other}:
            yield v
            yield other
        case _:
            yield "nothing"


class Base:
    def values(self):
        yield "base"
        return type(self).__name__


class Derived(Base):
    def __init__(self):
        self.items = [1]

    def values(self):
        self.items += [(yield 0)]
        name = yield from super().values()
        yield name, self.items, __class__.__name__

    def shared(self):
        me = lambda: self
        yield me() is self
        yield from super().values()


def many_names():
    v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = v8 = v9 = 1
    w0 = w1 = w2 = w3 = w4 = w5 = w6 = w7 = w8 = w9 = 2
    a, b = yield v0, w9
    v5 = yield a, b, w7
    a, b = b, a
    yield a, b, v5, v6, w5
    return w4


def chained(x):
    yield 0 < (yield 1) < 5
    yield x and (yield 2) or (yield 3)
    yield (yield 4) if (yield 5) else (yield 6)


def deleting():
    things = {"a": 1, "b": [1, 2, 3]}
    things[(yield "key")] = yield "value"
    del things["b"][slice((yield 0), (yield 1))]
    yield things
    things["b"][(yield 2) or 0 : 2] += [(yield 3)]
    return things


def generator_expression():
    n = 3
    return (x * n for x in range(n) if x != 1)


def nested_expression():
    return ((x, y) for x in range(2) for y in (z for z in "ab"))


SUSPENDING = [
    lambda: plain(1, 3, 4, key="z", other=5),
    nothing,
    lambda: counting(2),
    echo,
    lambda: nested_loops([[1, -1], [], [2]]),
    in_call,
    in_display,
    in_method_call,
    tried,
    nested_handlers,
    bare_finally,
    swallows,
    managed,
    with_generator_managers,
    delegates,
    delegates_protected,
    delegates_within,
    delegates_to_iterator,
    stops,
    lambda: stops_inside(False),
    lambda: stops_inside(True),
    lambda: with_cells(8),
    lambda: unbound(False),
    lambda: unbound(True),
    groups,
    lambda: matching([1, 2]),
    lambda: matching({"k": 1, "z": 2}),
    lambda: Derived().values(),
    lambda: Derived().shared(),
    many_names,
    lambda: chained(1),
    deleting,
    generator_expression,
    nested_expression,
]

ACTIONS = {
    "next": lambda g: next(g),
    "send": lambda g: g.send(7),
    "value": lambda g: g.throw(ValueError("thrown")),
    "key": lambda g: g.throw(KeyError, "thrown"),
    "stop": lambda g: g.throw(StopIteration("thrown")),
    "exit": lambda g: g.throw(GeneratorExit),
    "close": lambda g: g.close(),
}


def shown(value):
    """A value without addresses."""
    text = repr(value)
    return text.partition(" at 0x")[0] if " at 0x" in text else text


def chain(error):
    """An exception with what it follows from; at each, the lines of this file in its traceback."""
    out = []
    while error is not None and len(out) < 5:
        lines, traceback = [], error.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename == act.__code__.co_filename and code.co_name not in ("act", "<lambda>"):
                lines.append((code.co_qualname, traceback.tb_lineno))
            traceback = traceback.tb_next
        out.append((type(error).__name__, str(error).partition(" at 0x")[0], lines, error.__cause__ is not None, error.__suppress_context__))
        error = error.__cause__ or error.__context__
    return out


def act(generator, action):
    """What one action does, and how the generator stands then."""
    del LOG[:]
    try:
        done = ("gave", shown(ACTIONS[action](generator)))
    except BaseException as error:
        done = ("raised", chain(error))
    frame, inner = generator.gi_frame, generator.gi_yieldfrom
    state = None if frame is None else (frame.f_lineno, sorted(frame.f_locals), type(inner).__name__)
    return done, state, list(LOG)


def run(make, actions):
    """The outcomes of a sequence of actions."""
    generator = make()
    outcomes = [act(generator, action) for action in actions]
    finish(generator)
    return outcomes


def finish(generator):
    """Close a generator that may not want to."""
    for _ in range(5):
        with contextlib.suppress(RuntimeError):
            return generator.close()


def sequences():
    yield from itertools.product(ACTIONS, repeat=2)
    for tail in itertools.product(ACTIONS, repeat=2):
        for head in (("next",), ("next", "next"), ("next", "send", "next"), ("next", "value"), ("next", "next", "next", "next")):
            yield head + tail


for number, make in enumerate(SUSPENDING):
    globals()[f"case_sequences_of_{number}"] = lambda make=make: [run(make, actions) for actions in sequences()]


def case_names():
    g = plain(1)
    return g.__name__, g.__qualname__, g.gi_code.co_flags, g.gi_frame.f_lineno, g.gi_code.co_varnames, plain.__code__.co_argcount


def case_running():
    def me():
        try:
            next(g)
        except ValueError as error:
            yield str(error)

    g = me()
    return next(g), g.gi_running


def case_released():
    def held():
        try:
            yield 1
        finally:
            LOG.append("released")

    del LOG[:]
    g = held()
    next(g)
    del g
    return list(LOG)


def case_traceback_of_deep_delegation():
    def deep(n):
        if n:
            yield from deep(n - 1)
        else:
            yield 1
            raise ZeroDivisionError("deep")

    g = deep(5)
    next(g)
    return next(g)


def case_context_of_generators():
    def inner():
        yield repr(sys.exception())
        try:
            raise KeyError
        except KeyError:
            yield repr(sys.exception())
        yield repr(sys.exception())

    g = inner()
    out = [next(g)]
    try:
        raise ValueError("outer")
    except ValueError:
        out += [next(g), repr(sys.exception())]
    out.append(next(g))
    return out
