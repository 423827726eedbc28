"""Generators and lazy iterators that outlive the call: the compiled function gives ones that go on as eager's do, from wherever they stand."""

import collections
import contextlib
import functools
import itertools

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same

X = torch.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def rows(x, log, n=3):
    for i in range(n):
        log.append(i)
        got = yield x[i] * i
        if got is not None:
            log.append(("got", got))
    return "end"


class Manager:
    def __init__(self, log, swallow=()):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(("exit", kind.__name__ if kind else None))
        return kind is not None and issubclass(kind, self.swallow)


def not_begun(x, log):
    return rows(x * 2, log), x + 1


def not_begun_with_keywords(x, log):
    def g(a, /, b, *rest, key, other=4, **more):
        yield a, b, rest
        yield key, other, more

    return g(x * 2, 2, 3, x + 1, key=5, extra=x - 1), x + 1


def expression(x, log):
    return (x * i for i in range(3) if i != 1), x + 1


def begun(x, log):
    g = rows(x * 2, log)
    first = next(g)
    return g, first


def sent_to(x, log):
    g = rows(x * 2, log)
    next(g)
    return g, g.send("hello")


def used_up(x, log):
    g = rows(x * 2, log, 1)
    list(g)
    return g, x + 1


def in_finally(x, log):
    def g():
        try:
            yield x * 2
            yield x * 3
        finally:
            log.append("released")
            yield "last"

    g = g()
    return g, next(g)


def in_with(x, log):
    def g():
        with Manager(log, (ValueError,)) as m, Manager(log):
            yield x * 2
            yield m.swallow == (ValueError,)
        yield "outside"

    g = g()
    return g, next(g)


def in_generator_manager(x, log):
    @contextlib.contextmanager
    def scaled():
        log.append("in")
        try:
            yield x * 2
        except ValueError:
            log.append("caught")
        finally:
            log.append("out")

    def g():
        with scaled() as y:
            yield y
            yield y + 1
        yield "after"

    g = g()
    return g, next(g)


def delegating(x, log):
    def outer():
        try:
            result = yield from rows(x * 2, log)
            yield result
        except KeyError:
            yield "key"

    g = outer()
    return g, next(g)


def delegating_to_a_list(x, log):
    items = [x, x + 1, x + 2]

    def outer():
        yield from items
        return len(items)

    g = outer()
    return g, next(g), items


def sharing_a_cell(x, log):
    total = x * 0

    def add(y):
        nonlocal total
        total = total + y
        return total

    def g():
        nonlocal total
        while True:
            total = total * 2
            yield add(1)

    g = g()
    next(g)
    return g, add, add(x)


def own_cells(x, log):
    def g(start):
        count = start

        def later():
            return count, missing

        while count < 3:
            yield later
            count += 1
        missing = "here"
        yield later()

    g = g(1)
    next(g)
    return g, x + 1


def with_super(x, log):
    class_of = type(Derived())
    g = class_of().values(x + 1)
    return g, next(g)


class Base:
    def values(self, x):
        yield x * 2
        return type(self).__name__


class Derived(Base):
    def values(self, x):
        yield x
        name = yield from super().values(x)
        yield name


def nested_loops(x, log):
    def g():
        for i, row in enumerate([x, x + 1]):
            for key, value in {"a": 1, "b": 2}.items():
                for a, b in zip(range(2), "xy"):
                    yield row * i, key, value, a, b

    g = g()
    for _ in range(6):
        next(g)
    return g, x + 1


def over_what_exists(x, log):
    def g():
        for item in log:
            yield item, x * 2
            if len(log) > 8:
                break

    log.extend([1, 2, 3])
    g = g()
    next(g)
    return g, x + 1


def zipped(x, log):
    pairs = zip(rows(x * 2, log), rows(x * 3, log, 2), strict=False)
    return pairs, next(pairs)


def mapped(x, log):
    def scale(y, i):
        log.append(("scale", i))
        return y * i

    lazy = map(scale, rows(x * 2, log), itertools.count(5))
    return lazy, next(lazy)


def filtered(x, log):
    lazy = filter(lambda i: i % 2, range(9))
    return lazy, next(lazy), filter(None, [0, 1, 2]), x + 1


def iterators(x, log):
    made = [iter([x, x + 1]), iter((x,)), enumerate([x, 2]), reversed([x, 3]), iter({"a": x, "b": 2}.items()), iter({"a": 1}), iter({"k": x}.values())]
    made += [itertools.chain([x], rows(x, log)), itertools.islice(rows(x, log), 1, 3), itertools.accumulate([x, x], lambda a, b: a - b), itertools.accumulate([1, 2])]
    made += [itertools.cycle([x, 1]), itertools.repeat("r", 2), itertools.takewhile(lambda i: i < 2, [1, 2]), itertools.zip_longest([x, x], [1], fillvalue=0)]
    made += [itertools.product([x, 1], "ab"), itertools.permutations([1, x, 3], 2), itertools.combinations("abc", 2), itertools.starmap(max, [(1, 2), [3, 1]])]
    made += [itertools.chain.from_iterable([[x], rows(x, log)]), iter("abc"), iter(range(3)), iter(b"ab"), iter(collections.deque([x, 1]))]
    for each in made[::2]:
        next(each)
    return made, x + 1


def exhausted_iterators(x, log):
    made = [iter([x]), iter((x,)), zip([x], [1]), map(abs, [1]), iter({"a": x}), iter({}), enumerate([1]), iter("a")]
    for each in made:
        list(each)
    return made, x + 1


def in_containers(x, log):
    g = rows(x * 2, log)
    next(g)
    return {"g": g, "again": [g], "partial": functools.partial(next, g)}, x + 1


def delegating_through_a_generator_expression(x, log):
    def outer():
        yield from (row * 2 for row in rows(x, log))

    g = outer()
    return g, next(g)


PROGRAMS = [value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == __name__]
PROGRAMS = [program for program in PROGRAMS if getattr(program, "__code__", None) and program.__code__.co_varnames[:2] == ("x", "log") and program is not rows]

ACTIONS = {
    "next": next,
    "send": lambda g: g.send(7),
    "value": lambda g: g.throw(ValueError("thrown")),
    "key": lambda g: g.throw(KeyError, "thrown"),
    "close": lambda g: g.close(),
}


def find(value, kinds):
    """The generators, iterators and functions in a result, in order."""
    if isinstance(value, list | tuple):
        return [each for item in value for each in find(item, kinds)]
    if isinstance(value, dict):
        return find(list(value.values()), kinds)
    return [value] if hasattr(value, "__next__") or (callable(value) and not isinstance(value, torch.Tensor)) else []


def drive(program, action, log):
    """What a program gives, and what the action and then a few steps do to each lazy thing in it."""
    result = program(X, log)
    outcomes = [each for each in result if isinstance(each, torch.Tensor)]
    lazy = find(result, ())
    for step in (action, "next", "next", "close"):
        for each in lazy:
            outcomes.append(outcome(each, step))
            log.append("|")
    return outcomes


def outcome(each, step):
    """What one step does to a generator, an iterator or a function."""
    if callable(each):
        try:
            return each() if type(each) is functools.partial else each(X)
        except Exception as error:
            return type(error).__name__, str(error)
    if not hasattr(each, "send"):
        return next(each, "end")
    try:
        value = ACTIONS[step](each)
    except BaseException as error:
        value = (type(error).__name__, [part for part in error.args if isinstance(part, str)], getattr(error, "value", None))
    frame = each.gi_frame
    shown = value if not callable(value) else outcome(value, step) if value.__code__.co_argcount else "function"
    state = None if frame is None else (frame.f_lineno, sorted(frame.f_locals), type(each.gi_yieldfrom).__name__)
    return shown, state, each.__name__, each.__qualname__


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_goes_on_as_in_eager(program):
    compiled = lect.compile(program)
    for action in ACTIONS:
        want_log, got_log = [], []
        want, got = drive(program, action, want_log), drive(compiled, action, got_log)
        same(want, got)
        same(want_log, got_log)
    assert fallbacks() == [], [str(event) for event in lect.events("fallback")]
    assert len(lect.events("compile")) == 1


def test_there_are_programs():
    assert len(PROGRAMS) > 20


def test_stored_generator_goes_on():
    def f(x, box):
        box.append(rows(x * 2, box))
        next(box[0])
        return x + 1

    ours, eagers = [], []
    compiled = lect.compile(f)
    for box, fn in ((ours, compiled), (eagers, f)):
        fn(X, box)
        box += list(box[0])
    same(eagers[1:], ours[1:])
    assert fallbacks() == []


def test_generator_that_stays_behind_inside_of_a_finally_is_released_as_in_eager():
    """When it is released its `finally` runs, and the trace does not see when that is."""

    def f(x, log):
        def g():
            try:
                yield x
            finally:
                log.append("released")

        kept = g()
        next(kept)
        for y in g():
            x = x + y
            break
        log.append("left")
        return kept, x

    ours, eagers = [], []
    got, want = lect.compile(f)(X, ours), f(X, eagers)
    same([eagers, want[1]], [ours, got[1]])
