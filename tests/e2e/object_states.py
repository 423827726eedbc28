"""Programs of Python whose state is compared behind each call: lifetimes, exceptions, containers, objects.

A program is called with what wraps a function (or leaves it), `call`, which notes what a call gives or raises, and `note`.
"""

import bisect
import collections
import functools
import heapq
import itertools
import math
import operator
import sys
import threading
import typing
import weakref

import torch

import lect


@lect.disable
def cut(*args):
    """Where the graph breaks."""


def tensor(*numbers):
    return torch.tensor([float(number) for number in numbers])


def finalisers_in_order(wrap, call, note):
    log = []

    class R:
        def __init__(s, n):
            s.n = n
            log.append(("init", n))

        def __del__(s):
            log.append(("del", s.n))

    def f(x):
        a = R("a")
        b = R("b")
        l = [a, b]
        del a
        x = x + 1
        l.pop(0)
        log.append("p")
        y = x * 2
        b = None
        l = None
        log.append("e")
        return y

    f = wrap(f)
    for i in range(3):
        call(f, tensor(i))
        note(list(log))
        log.clear()


def callbacks_of_weak_references(wrap, call, note):
    log = []

    class Thing:
        pass

    def f(x):
        o = Thing()
        r = weakref.ref(o, lambda _: log.append("gone"))
        w = weakref.WeakValueDictionary()
        w["o"] = o
        a = r() is o
        y = x * 2
        n = len(w)
        del o
        log.append("after")
        return y, a, n, r() is None, len(w)

    f = wrap(f)
    for i in range(3):
        call(f, tensor(i))
        note(list(log))
        log.clear()


def exceptions_with_notes(wrap, call, note):
    def g(x, k):
        try:
            if k:
                raise KeyError("k", x.shape)
            return x
        except KeyError as e:
            e.add_note("n1")
            e.extra = k
            raise ValueError("v") from e
        finally:
            x.add_(1)

    def f(x, k):
        try:
            return g(x, k)
        except ValueError as e:
            return (
                x * 2,
                e.args,
                e.__cause__.__notes__,
                e.__cause__.extra,
                e.__cause__ is e.__context__,
                e.__suppress_context__,
                type(e.__cause__.__traceback__).__name__,
            )

    f = wrap(f)
    for k in (0, 1, 2):
        x = tensor(1)
        call(f, x, k)
        note(x)


def jumps_out_of_try(wrap, call, note):
    def f(x, k):
        log = []
        for i in range(4):
            try:
                if i == k:
                    continue
                if i == k + 1:
                    break
                log.append(i)
                x = x + i
                cut()
            finally:
                log.append(("f", i))
                if k == 3 and i == 1:
                    return x, log, "early"  # noqa: B012
        else:
            log.append("else")

        def h():
            try:
                return "try"
            finally:
                try:
                    1 / 0  # noqa: B018
                except ZeroDivisionError:
                    log.append("z")

        return x, log, h()

    f = wrap(f)
    for k in range(5):
        call(f, tensor(1), k)


def handled_exceptions(wrap, call, note):
    def f(x):
        out = [sys.exc_info()[0]]
        try:
            {}["a"]
        except KeyError as e:
            out.append(sys.exc_info()[0].__name__)
            try:
                1 / 0  # noqa: B018
            except ZeroDivisionError as z:
                out.append((type(z.__context__).__name__, sys.exception() is z)) if hasattr(sys, "exception") else None
            out.append(sys.exc_info()[1] is e)
        out.append(sys.exc_info()[1] is None)
        return x + 1, out

    f = wrap(f)
    call(f, tensor(1))
    call(f, tensor(2))

    def g():
        try:
            raise OSError("o")
        except OSError:
            return f(tensor(3))

    call(g)


def objects_that_change_their_class(wrap, call, note):
    class A:
        def m(s, x):
            return x + 1

    class B:
        def m(s, x):
            return x * 5

    def f(x, o):
        a = o.m(x)
        o.__class__ = B
        b = o.m(x)
        o.__dict__["q"] = 3
        return a, b, o.q, type(o).__name__, vars(o)

    f = wrap(f)
    for i in range(3):
        o = A()
        call(f, tensor(1, i), o)
        note(type(o).__name__)
        note(o.__dict__)


def containers_that_change_below_a_loop(wrap, call, note):
    def f(x, d, l):
        out = []
        try:
            for k in d:
                out.append(k)
                d[k + "x"] = 1
        except RuntimeError as e:
            out.append(str(e))
        for v in l:
            if v < 4:
                l.append(v + 2)
            out.append(v)
        return x * len(out), out

    f = wrap(f)
    for i in range(3):
        d = {"a": 1, "b": 2}
        l = [1 + i, 2]
        call(f, tensor(1), d, l)
        note(d)
        note(l)


def defaults_that_change(wrap, call, note):
    def f(x, acc=[], *, k={}):  # noqa: B006
        acc.append(x.sum())
        k[len(k)] = len(acc)
        return x * len(acc), list(k)

    f0 = f
    f = wrap(f)
    for i in range(4):
        call(f, tensor(1, i))
    note(len(f0.__defaults__[0]))
    note(dict(f0.__kwdefaults__["k"]))


def dispatch(wrap, call, note):
    @functools.singledispatch
    def g(a, x):
        return x

    @g.register
    def _(a: int, x):
        return x + a

    @g.register(list)
    def _(a, x):
        return x * len(a)

    class C:
        @functools.singledispatchmethod
        def m(s, a):
            return a

        @m.register
        def _(s, a: str):
            return len(a)

        @functools.cached_property
        def cp(s):
            return 5

        pm = functools.partialmethod(lambda s, a, b: a - b, 7)

    def f(x, a, o):
        return g(a, x), o.m("abc"), o.m(2), o.cp, o.__dict__.get("cp"), o.pm(3)

    f = wrap(f)
    for a in (1, [1, 2], 2.5, True):
        call(f, tensor(1, 2), a, C())


def metaclasses(wrap, call, note):
    class M(type):
        def __call__(cls, *a):
            o = super().__call__(*a)
            o.made = True
            return o

        def __getitem__(cls, k):
            return (cls.__name__, k)

        def __contains__(cls, k):
            return k == 3

        def __iter__(cls):
            return iter([1, 2])

        @property
        def nm(cls):
            return cls.__name__ * 2

        def __instancecheck__(cls, o):
            return o == 5

    class A(metaclass=M):
        def __init__(s, v):
            s.v = v

        def __class_getitem__(cls, k):
            return "no"

        def __new__(cls, v):
            return super().__new__(cls)

    def f(x, v):
        a = A(v)
        return x * a.v, a.made, A["k"], 3 in A, list(A), A.nm, isinstance(5, A), isinstance(a, A)

    f = wrap(f)
    for v in (1, 2.5, tensor(1, 2)):
        call(f, tensor(3, 4), v)


def containers_of_the_library(wrap, call, note):
    def f(x, l):
        h = list(l)
        heapq.heapify(h)
        heapq.heappush(h, 0)
        m = heapq.nsmallest(2, h)
        bisect.insort(h2 := sorted(l), 2)
        c = collections.Counter(l)
        c.update([l[0]])
        c2 = c + collections.Counter({9: 1})
        c2.subtract({9: 3})
        cm = collections.ChainMap({"a": 1}, {"a": 2, "b": x})
        dq = collections.deque(l, maxlen=2)
        dq.rotate(1)
        dq.appendleft(9)
        od = collections.OrderedDict(zip("abc", l))
        od.move_to_end("a")
        od.popitem(last=False)
        dd = collections.defaultdict(list)
        dd["k"].append(x)
        dd["z"]
        return (
            x * sum(m),
            h,
            h2,
            c.most_common(1),
            dict(c2),
            cm["a"],
            cm["b"],
            list(dq),
            list(od.items()),
            dict(dd),
            list(itertools.pairwise(l)),
            [(k, list(g)) for k, g in itertools.groupby(sorted(l), key=lambda v: v % 2)],
            operator.attrgetter("shape")(x),
            operator.methodcaller("mul", 2)(x),
            operator.itemgetter(0, 1)(l),
            list(zip(l, l, strict=True)),
            math.isclose(1, 1 + 1e-12),
            list(iter(iter(l).__next__, l[-1])),
            functools.reduce(operator.add, [x] * 3),
            list(itertools.starmap(torch.add, [(x, 1), (x, 2)])),
            sorted([(2, "b"), (1, "a")], key=lambda p: -p[0]),
            max(l, key=lambda v: -v),
            list(itertools.compress(l, [1, 0, 1])),
            list(itertools.product(l[:2], repeat=2)),
            dict.fromkeys(l, x),
            list(reversed(l)),
            list(map(lambda a, b: a + b, l, l)),
            any(v > 2 for v in l),
            all(l),
            "".join(f"{v:>3}" for v in l),
        )

    f = wrap(f)
    for l in ([3, 1, 2], [3, 1, 2], [5, 5, 1]):
        call(f, tensor(1, 2), l)


class Named(typing.NamedTuple):
    a: object
    b: int = 3

    def s(self):
        return self.a * self.b

    @property
    def p(self):
        return self.b + 1


def named_tuples(wrap, call, note):
    def f(x, n):
        m = n._replace(b=n.b + 1)
        a, b = m
        return (
            m,
            m.s(),
            m.p,
            a,
            Named(x),
            Named._fields,
            m._asdict(),
            n == m if n.b != m.b else 0,
            isinstance(m, tuple),
            m[1],
            m + (1,),
            Named._make([x, 2]),
        )

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, 2), Named(tensor(i, i), i))


def recursion(wrap, call, note):
    def f(x, n):
        return x if n == 0 else f(x + n, n - 1) * 2

    def fib(x, n, memo={}):  # noqa: B006
        if n in memo:
            return memo[n]
        r = x if n < 2 else fib(x, n - 1) + fib(x, n - 2)
        memo[n] = r
        return r

    f0 = f
    g = wrap(lambda x, n: f0(x, n))
    for n in (3, 5, 3):
        call(g, tensor(1), n)
    h = wrap(fib)
    call(h, tensor(1), 5)
    call(h, tensor(2), 7)
    note(sorted(fib.__defaults__[0]))


def closures_of_loops(wrap, call, note):
    def f(x):
        fs = [lambda y: y * i for i in range(3)]
        gs = [lambda y, i=i: y * i for i in range(3)]

        def mk():
            n = [0]

            def a():
                n[0] += 1
                return n[0]

            return a, lambda: n

        a, b = mk()
        a()
        cut()
        a()
        return [q(x) for q in fs], [q(x) for q in gs], b()[0]

    f = wrap(f)
    for i in range(2):
        call(f, tensor(1, i))


class Special:
    """An object with a say in everything."""

    def __init__(s):
        s._v = 1
        s.log = []

    @property
    def v(s):
        s.log.append("get")
        return s._v

    @v.setter
    def v(s, n):
        if n > 5:
            raise ValueError(n)
        s._v = n

    def __getattr__(s, n):
        if n.startswith("dyn_"):
            return n[4:]
        raise AttributeError(n)

    def __setattr__(s, n, v):
        object.__setattr__(s, n, v)
        object.__setattr__(s, "last", n)

    def __enter__(s):
        s.log.append("in")
        return s

    def __exit__(s, *a):
        s.log.append(a[0])
        return a[0] is ValueError

    def __eq__(s, o):
        return s._v == getattr(o, "_v", o)

    __hash__ = None

    def __len__(s):
        return s._v

    def __bool__(s):
        return s._v > 1

    def __rmul__(s, o):
        return ("rmul", o)

    def __matmul__(s, o):
        return ("mm", o)

    def __iadd__(s, o):
        s._v += 1
        return s

    def __contains__(s, o):
        return o == s._v


def objects_with_special_methods(wrap, call, note):
    def f(x, o):
        out = [o.v, o.dyn_q]
        o.v = 3
        with o:
            o.v = 9
            out.append("no")
        try:
            o.nope  # noqa: B018
        except AttributeError as e:
            out.append(str(e))
        try:
            hash(o)
        except TypeError as e:
            out.append(str(e))
        o += 1
        return x * o.v, out, o == 4, len(o), bool(o), 2 * o, (o @ x), 4 in o, o.last

    f = wrap(f)
    for _i in range(3):
        o = Special()
        call(f, tensor(1, 2), o)
        note(o.log)
        note(o._v)


def namespaces_of_frames(wrap, call, note):
    def f(x, a=2):
        b = a + 1
        l = dict(locals())
        exec_ns = {}
        c = eval("a*b") if a else 0
        return x * b, sorted(l), c, "b" in dir(), f2(x)

    def f2(y):
        return sorted(vars())

    f = wrap(f)
    for a in (2, 3):
        call(f, tensor(1), a)


def locals_of_threads(wrap, call, note):
    tl = threading.local()
    tl.v = 1
    lk = threading.RLock()

    def f(x):
        with lk:
            tl.v += 1
            r = x * tl.v
        return r, getattr(tl, "w", None)

    f = wrap(f)
    for _i in range(3):
        call(f, tensor(1))
        note(tl.v)


PROGRAMS = [each for each in list(globals().values()) if type(each) is type(cut) and each.__code__.co_varnames[:3] == ("wrap", "call", "note")]
