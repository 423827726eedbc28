"""Functions over one tensor in which C code iterates over the program's generators and calls its functions.  Each is captured as a whole."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import operator
import types

from tests.e2e.generator_programs import Countdown, Sized, Steps, count


def consumers(x):
    def g():
        return (i for i in (3, 1, 2))

    return (
        x + 1,
        [list(g()), tuple(g()), set(g()), frozenset(g()), sorted(g()), sorted(g(), reverse=True), collections.deque(g())],
        [sum(g()), min(g()), max(g()), max((), default=7), any(g()), all(g()), 2 in g(), 9 in g()],
        [dict(pair for pair in [(0, x), (1, 2)]), dict.fromkeys(g(), x), collections.OrderedDict((k, 1) for k in "ab"), ",".join(str(i) for i in g())],
        [*g()],
        {*g()},
        {i: x * i for i in g()},
    )


def unpacking(x):
    def g(n):
        for i in range(n):
            yield x * i

    a, b = g(2)
    c, *d = g(4)
    try:
        e, f = g(3)
    except ValueError as error:
        e = str(error)
    return a + b, c, d, e, max(*g(0), 1, 2)


def lazy_consumers(x):
    log: list = []
    pairs = enumerate(count(log, "a", 3), start=1)
    out = [next(pairs)]
    log.append("between")
    out += list(pairs)
    chained = itertools.chain(count(log, "b", 1), [x], count(log, "c", 1))
    out.append(list(itertools.islice(chained, 2)))
    return out, log


def mapped(x):
    log: list = []

    def f(i):
        log.append(("f", i))
        return x * i

    ys = map(f, count(log, "a", 3))
    log.append("made")
    return next(ys), list(ys), log


def mapped_over_several(x):
    return list(map(lambda a, b: a * x + b, [1, 2, 3], (4, 5))), list(map(operator.neg, [x, 1])), list(map(str, range(3)))


def filtered(x):
    log: list = []
    odd = filter(lambda i: i % 2, count(log, "a", 4))
    return x, list(odd), list(filter(None, [0, x.shape[0], "", "s"])), list(itertools.filterfalse(lambda i: i > 1, range(4))), log


def sorted_by_key(x):
    log = []

    def key(pair):
        log.append(pair[0])
        return -pair[1]

    pairs = [("a", 1), ("b", 3), ("c", 2)]
    ordered = sorted(pairs, key=key)
    pairs.sort(key=lambda pair: pair[1], reverse=True)
    return x, ordered, pairs, sorted("bAc", key=str.lower), sorted([x.shape, (1, 2)], key=len), log


def sorted_tensors_by_key(x):
    parts = [x[:2], x[:1], x]
    return sorted(parts, key=lambda part: part.shape[0]), max(parts, key=len), min(parts, key=lambda part: part.shape[0])


def extremes_by_key(x):
    log: list = []
    best = max(count(log, "a", 3), key=lambda i: (log.append(("key", i)), -i)[1])
    return x + best, min((), default=None, key=len), log


def reduced(x):
    log: list = []

    def step(total, i):
        log.append(("step", i))
        return total * x + i

    return functools.reduce(step, count(log, "a", 3)), functools.reduce(step, [], x), log


def partials(x):
    def f(a, b, *, k=1):
        return a * x + b * k

    g = functools.partial(f, 2, k=3)
    return list(map(g, range(3))), [functools.partial(g, 1)() for _ in range(2)]


def lazy_items_of_lazy_things(x):
    items = [1]
    items.extend(map(lambda i, k: len(items) * k + i, range(3), (10, 20, 30)))
    items += zip((len(items) for _ in range(2)), [1, 2])
    return x + len(items), items, sorted(map(str, [3, 1])), ",".join(map(str, range(3))), set(map(abs, [-1, 1])), dict(zip("ab", map(x.mul, [1, 2])))


def more_of_itertools(x):
    first, second = itertools.tee(i for i in range(3))
    return (
        x + 1,
        [list(first), list(second), list(itertools.pairwise(i for i in range(3)))],
        list(itertools.product((i for i in range(2)), "ab")),
        list(itertools.zip_longest((i for i in range(2)), [x])),
        list(itertools.compress([x, 1], (i for i in (1, 0)))),
        list(itertools.islice(itertools.cycle(i for i in range(2)), 5)),
        list(itertools.chain.from_iterable(Steps(x, j) if j else [j] for j in range(2))),
        list(itertools.starmap(lambda a, b: a + b, (Steps(x, j) for j in range(2)))),
        list(iter([1, 2, 3].pop, 1)),
    )


def identity_of_tuples(x):
    pair = (1, 2)
    pairs = [pair, (x * 2, 3)]
    return [a is pair for a in pairs], next(iter(pairs)) is pair, pairs[1][0]


def tensors_in_a_set(x):
    seen, out = set(), []
    for y in (x, x + 1, x):
        if y in seen:
            out.append("again")
        else:
            seen.add(y)
            out.append(y * 2)
    return out


def itertools_with_functions(x):
    return (
        list(itertools.accumulate([x, x * 2, 3])),
        list(itertools.accumulate([1, 2, 3], lambda a, b: a * 10 + b)),
        list(itertools.accumulate([1, 2], func=operator.mul, initial=5)),
        list(itertools.takewhile(lambda i: i < 2, itertools.count())),
        list(itertools.dropwhile(lambda i: i < 2, range(4))),
        list(itertools.starmap(lambda a, b: a * x + b, [(1, 2), (3, 4)])),
        [(k, list(g)) for k, g in itertools.groupby("aabbb", key=str.upper)],
        [(k, list(g)) for k, g in itertools.groupby([1, 1, 2])],
        list(zip(*(iter(range(4)),) * 2)),
    )


def callback_raises(x):
    def f(i):
        if i == 2:
            raise ValueError(i)
        return x * i

    out = []
    ys = map(f, range(4))
    while True:
        try:
            out.append(next(ys))
        except ValueError as error:
            out.append(error.args)
        except StopIteration:
            return out


def callback_stops_the_iteration(x):
    def f(i):
        if i == 2:
            raise StopIteration
        return x * i

    return list(map(f, range(4)))


def extending_while_it_is_read(x):
    items = [1]

    def grow():
        for i in range(3):
            yield len(items) * 10 + i

    items.extend(grow())
    items += (len(items) for _ in range(2))
    queue = collections.deque([0])
    queue.extend(len(queue) for _ in range(2))
    queue.extendleft(-len(queue) for _ in range(2))
    seen = {0}
    seen.update(len(seen) for _ in range(3))
    table = {0: 0}
    table.update((len(table), x) for _ in range(2))
    return items, queue, seen, table


def half_extended(x):
    def g():
        yield 1
        raise KeyError

    items: list = []
    with contextlib.suppress(KeyError):
        items.extend(g())
    return x + len(items), items


def user_iterables(x):
    log: list = []
    return (
        x * sum(Steps(1, 2)),
        [list(Countdown(3)), tuple(Steps(1, x)), sorted(Countdown(3)), list(enumerate(Countdown(2))), list(zip(Steps(1, 2), Countdown(5)))],
        [list(Sized(log, 1, 2)), tuple(Sized(log, 3)), log],
    )


def defaults_made(x):
    table = collections.defaultdict(list)
    for i in range(4):
        table[i % 2].append(x * i)
    counts: dict = collections.defaultdict(lambda: 10)
    counts["a"] += 1
    return table, dict(counts)


PROGRAMS = [value for name, value in list(globals().items()) if isinstance(value, types.FunctionType) and value.__code__.co_varnames[:1] == ("x",)]
