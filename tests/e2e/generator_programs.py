"""Functions over one tensor that make, resume and use up generators.  Each is captured as a whole."""

from __future__ import annotations

import collections
import contextlib
import types
from collections.abc import Iterator


def count(log, name, n):
    for i in range(n):
        log.append((name, i))
        yield i
    log.append((name, "end"))


class Steps:
    """Iterated over by a generator method."""

    def __init__(self, *items):
        self.items = items

    def __iter__(self):
        yield from self.items


class Countdown:
    """Its own iterator, in Python."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if not self.n:
            raise StopIteration("done")
        self.n -= 1
        return self.n


class Sized:
    def __init__(self, log, *items):
        self.log, self.items = log, items

    def __iter__(self):
        self.log.append("iter")
        return iter(self.items)

    def __len__(self):
        self.log.append("len")
        return len(self.items)


def quantifiers(x):
    return x * any(i > 2 for i in range(5)) + all(i for i in (1, 2, 0)) + all(i for i in ())


def quantifier_stops_early(x):
    log: list = []
    found = any(i == 1 for i in count(log, "a", 4))
    return x + found, log


def sum_of_tensors(x):
    return sum(x * i for i in range(4)), sum((x for _ in range(2)), start=x)


def for_loop(x):
    total = x
    for i, y in ((i, x + i) for i in range(3)):
        total = total + y * i
    return total


def interleaved_by_zip(x):
    log: list = []
    ys = [a + b * x for a, b in zip(count(log, "a", 2), count(log, "b", 3))]
    return ys, log


def interleaved_over_shared_state(x):
    state = [0]

    def bump(k):
        while state[0] < 10:
            state[0] += k
            yield state[0]

    return x, [(a, b) for a, b in zip(bump(1), bump(2))], state[0] * x


def two_loops_one_generator(x):
    g = iter(Steps(1, 2, 3, 4, 5))
    for a in g:
        if a == 2:
            break
    return x * a, [b for b in g]


def sends(x):
    def average():
        total, n, mean = 0, 0, None
        while True:
            got = yield mean
            if got is None:
                return "stopped", mean
            total, n = total + got, n + 1
            mean = total / n

    g = average()
    next(g)
    means = [g.send(x), g.send(x * 3)]
    try:
        g.send(None)
    except StopIteration as stop:
        means.append(stop.value)
    return means


def throws(x):
    log = []

    def g():
        while True:
            try:
                log.append((yield len(log)))
            except KeyError as error:
                log.append(error.args)
                yield x * 2
            finally:
                log.append("finally")

    h = g()
    first = next(h)
    second = h.throw(KeyError("k"))
    third = next(h)
    try:
        h.throw(ValueError("out"))
    except ValueError as error:
        log.append(str(error))
    return first, second, third, next(h, "finished"), log


def throws_a_class(x):
    def g():
        try:
            yield 1
        except LookupError as error:
            yield type(error).__name__, error.args

    a, b = g(), g()
    next(a), next(b)
    return x + 1, a.throw(KeyError), b.throw(IndexError("i"))


def closes(x):
    log = []

    def g():
        try:
            yield x
            yield x + 1
        except GeneratorExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    h = g()
    y = next(h)
    h.close()
    h.close()
    never = g()
    never.close()
    return y * 2, list(h), list(never), log


def ignores_close(x):
    def g():
        while True:
            try:
                yield
            except GeneratorExit:
                yield 1
                return

    h = g()
    next(h)
    try:
        h.close()
    except RuntimeError as error:
        text = str(error)
    return x + 1, text, list(h)


def exhausted_stays_exhausted(x):
    g = (x * i for i in range(2))
    return list(g), list(g), next(g, None)


def delegates(x):
    def inner():
        got = yield x + 1
        again = yield x + got
        return again * 2

    def outer():
        value = yield from inner()
        yield value
        yield from [x, 3]
        yield from (i for i in range(2))
        return "end"

    g = outer()
    return next(g), g.send(3), g.send(x * 5), list(g)


def delegates_deep(x):
    def tree(n):
        if n:
            yield from tree(n - 1)
            yield x * n
            yield from tree(n - 1)

    return list(tree(4))


def delegates_exceptions(x):
    log = []

    def inner():
        try:
            yield 1
        except ValueError as error:
            log.append(str(error))
            yield 2
        return "returned"

    def outer():
        log.append((yield from inner()))

    g = outer()
    return x * next(g), g.throw(ValueError("v")), list(g), log


def delegates_close(x):
    log = []

    def inner(name):
        try:
            yield x
        finally:
            log.append(name)

    def outer():
        try:
            yield from inner("inner")
        finally:
            log.append("outer")

    g = outer()
    y = next(g)
    g.close()
    return y + 1, log


def delegates_to_user_iterator(x):
    def g():
        return (yield from Countdown(3))

    h = g()
    out = []
    while True:
        try:
            out.append(next(h))
        except StopIteration as stop:
            return x + 1, out, stop.value


def returned_values(x):
    def g():
        yield 1
        return x * 2

    h = g()
    next(h)
    try:
        next(h)
    except StopIteration as stop:
        return stop.value, stop.args[0] is stop.value


def stop_iteration_becomes_runtime_error(x):
    def g():
        yield x
        raise StopIteration("inside")

    try:
        return list(g())
    except RuntimeError as error:
        return x * 2, str(error), type(error.__cause__).__name__, error.__cause__.args


def exception_goes_to_the_consumer(x):
    log: list = []

    def g():
        yield 1
        raise KeyError("k")

    for consume in (list, tuple, sum, max, set, sorted, collections.deque):
        try:
            consume(g())
        except KeyError as error:
            log.append(error.args)
    return x + len(log), log


def exception_in_the_loop_body(x):
    out = []
    g = (i for i in range(4))
    for i in g:
        try:
            if i % 2:
                raise ValueError(i)
            out.append(x * i)
        except ValueError as error:
            out.append(error.args)
    return out


def already_executing(x):
    def g():
        try:
            next(me)
        except ValueError as error:
            yield str(error)

    me = g()
    return x + 1, next(me)


def not_started_takes_no_value(x):
    def g():
        yield x

    h = g()
    try:
        h.send(1)
    except TypeError as error:
        return str(error), next(h)


def handled_exceptions_stay_apart(x):
    def g():
        try:
            raise KeyError("of the generator")
        except KeyError:
            yield 1
            try:
                raise
            except KeyError as error:
                yield error.args
        yield "after"

    h = g()
    out = [next(h)]
    try:
        raise ValueError("of the caller")
    except ValueError:
        out.append(next(h))
        out.append(next(h))
        try:
            raise
        except ValueError as error:
            out.append(error.args)
    return x * 2, out


def contexts_of_exceptions(x):
    def g():
        try:
            yield
        finally:
            raise KeyError("second")

    h = g()
    next(h)
    try:
        h.throw(ValueError("first"))
    except KeyError as error:
        return x + 1, type(error.__context__).__name__, error.__cause__, error.__suppress_context__


@contextlib.contextmanager
def logged(log, name):
    log.append(f"enter {name}")
    try:
        yield len(log)
    except KeyError:
        log.append(f"swallowed in {name}")
    finally:
        log.append(f"exit {name}")


def context_managers(x):
    log: list = []
    with logged(log, "a") as n, logged(log, "b"):
        y = x * n
    with logged(log, "c"):
        raise KeyError
    try:
        with logged(log, "d"):
            raise ValueError("v")
    except ValueError as error:
        log.append(error.args)
    return y, log


def context_manager_as_decorator(x):
    log: list = []

    @logged(log, "f")
    def f(y):
        log.append("f")
        return y * 2

    return f(f(x)), log


def other_context_managers(x):
    log: list = []
    with contextlib.nullcontext(x) as y, contextlib.suppress(KeyError, ValueError):
        log.append("in")
        raise ValueError
    with contextlib.ExitStack() as stack:
        n = stack.enter_context(logged(log, "a"))
        stack.callback(log.append, "callback")
        stack.enter_context(logged(log, "b"))
    return y * n, log


def context_manager_leaves_the_loop(x):
    log: list = []
    for i in range(3):
        with logged(log, str(i)):
            if i == 1:
                break
            x = x + i
    return x, log


def kinds(x):
    g = (i for i in range(3))
    return (
        x * isinstance(g, types.GeneratorType),
        isinstance(g, Iterator),
        isinstance(g, list),
        type(g) is types.GeneratorType,
        hasattr(g, "send"),
        hasattr(g, "keys"),
        bool(g),
        iter(g) is g,
        g.__name__,
        callable(g),
    )


def closures(x):
    def make(k):
        def g():
            nonlocal k
            while k:
                k -= 1
                yield x * k

        return g()

    return [list(make(k)) for k in range(3)]


def default_arguments(x):
    def g(a, *rest, k=2, **more):
        yield a * k
        yield from rest
        yield more

    return list(g(x, 1, 2, k=3, z=4))


def in_a_class(x):
    class_ = Steps(x, 1)
    return [*class_, *class_], dict(enumerate(class_))


def pipeline(x):
    numbers = (x + i for i in range(4))
    doubled = (y * 2 for y in numbers)
    kept = (y for i, y in enumerate(doubled) if i % 2)
    return list(kept)


PROGRAMS = [value for name, value in list(globals().items()) if isinstance(value, types.FunctionType) and value.__code__.co_varnames[:1] == ("x",)]
