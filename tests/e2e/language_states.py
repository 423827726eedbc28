"""Programs of Python whose state is compared behind each call: closures, generators, classes, contexts, patterns.

A program is called with what wraps a function (or leaves it), `call`, which notes what a call gives or raises, and `note`.
"""

import contextlib
import dataclasses
import enum

import torch

import lect


@lect.disable
def cut(*args):
    """Where the graph breaks."""


def tensor(*numbers):
    return torch.tensor([float(number) for number in numbers])


def nonlocals_across_cuts(wrap, call, note):
    def f(x):
        n = 0
        hist = []

        def inc(k):
            nonlocal n

            def deeper(m):
                nonlocal n
                n += m
                hist.append(n)
                cut()
                n *= 2
                return n

            return deeper(k) + deeper(1)

        y = x * inc(2)
        cut()
        y = y + inc(3)
        return y, n, hist, [c.cell_contents for c in inc.__closure__ if isinstance(c.cell_contents, int)]

    f = wrap(f)
    for i in range(3):
        call(f, tensor(i, 1))


def generators_in_try_finally(wrap, call, note):
    log = []

    def g(x):
        try:
            log.append("in")
            got = yield x * 2
            log.append(got)
            try:
                yield x + 1
            finally:
                log.append("inner")
        except ValueError as e:
            log.append(str(e))
            yield x - 1
        finally:
            log.append("fin")

    def f(x, mode):
        it = g(x)
        a = next(it)
        cut()
        if mode == 0:
            b = it.send(5)
            it.close()
        elif mode == 1:
            b = it.throw(ValueError("v"))
        elif mode == 2:
            b = it.send(1)
            b = it.throw(ValueError("w"))
        else:
            b = a
            del it
        cut()
        return a + b

    f = wrap(f)
    for m in (0, 1, 2, 3, 0):
        call(f, tensor(1, 2), m)
        note(list(log))
        log.clear()


def class_attributes_that_change(wrap, call, note):
    class C:
        k = 2

        def m(self, x):
            return x * self.k

    def f(x, o):
        a = o.m(x)
        C.k += 1
        b = o.m(x)
        o.k = 10
        c = o.m(x)
        del o.k
        d = o.m(x)
        C.m2 = lambda self, x: x - self.k
        e = o.m2(x)
        return a, b, c, d, e

    f = wrap(f)
    for _i in range(4):
        call(f, tensor(1, 2), C())
        note(C.k)


def methods_that_are_replaced(wrap, call, note):
    class C:
        def m(self, x):
            return x * 2

    def f(x, o):
        a = o.m(x)
        old = C.m
        C.m = lambda self, x: old(self, x) + 1
        b = o.m(x)
        cut()
        c = o.m(x)
        C.m = old
        return a, b, c, o.m(x)

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, i), C())


def descriptors_with_names(wrap, call, note):
    log = []

    class D:
        def __set_name__(s, o, n):
            log.append((o.__name__, n))
            s.n = "_" + n

        def __get__(s, i, o=None):
            return s if i is None else i.__dict__.get(s.n, 1.0)

        def __set__(s, i, v):
            i.__dict__[s.n] = v * 2

    def f(x, v):
        class A:
            a = D()
            b = D()

        o = A()
        o.a = v
        o.b = x
        return o.a * o.b, list(log), A.a.n

    f = wrap(f)
    for v in (1.0, 2.0, 3.0):
        call(f, tensor(1, 2), v)
        note(list(log))
        log.clear()


def subclasses_that_are_registered(wrap, call, note):
    reg = []

    class Base:
        def __init_subclass__(cls, scale=1, **kw):
            super().__init_subclass__(**kw)
            cls.scale = scale
            reg.append(cls.__name__)

        def go(self, x):
            return x * self.scale

    def f(x, n):
        class A(Base, scale=n):
            pass

        class B(A):
            def go(self, x):
                return super().go(x) + 1

        return A().go(x), B().go(x), list(reg)

    f = wrap(f)
    for n in (2, 3, 2):
        call(f, tensor(1, 2), n)
        note(list(reg))
        reg.clear()


def exit_stacks(wrap, call, note):
    log = []

    @contextlib.contextmanager
    def cm(n, swallow=False):
        log.append(("enter", n))
        try:
            yield n
        except ZeroDivisionError:
            log.append(("caught", n))
            if not swallow:
                raise
        finally:
            log.append(("exit", n))

    def f(x, k):
        with contextlib.ExitStack() as s:
            for i in range(k):
                x = x * s.enter_context(cm(i + 1, i == 0))
            s.callback(log.append, "cb")
            s.push(lambda *e: log.append(e[0].__name__ if e[0] else None))
            cut()
            if k == 3:
                1 / 0  # noqa: B018
            t = s.pop_all() if k == 1 else None
        log.append("after")
        if t:
            t.close()
        return x

    f = wrap(f)
    for k in (1, 2, 3, 1):
        call(f, tensor(1, 2), k)
        note(list(log))
        log.clear()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    a: torch.Tensor
    b: int = 2
    c: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(order=True)
class Ordered:
    n: int
    v: object = dataclasses.field(compare=False, default=None)

    def __post_init__(s):
        s.m = s.n * 2


def dataclasses_of_all_kinds(wrap, call, note):
    def f(x, d):
        e = dataclasses.replace(d, b=d.b + 1)
        e.c.append(e.b)
        try:
            d.b = 3
        except dataclasses.FrozenInstanceError as er:
            msg = str(er)
        return (
            e.a * e.b,
            e.c,
            msg,
            dataclasses.asdict(e)["b"],
            e == d,
            [q.name for q in dataclasses.fields(e)],
            (Frozen(a=x).c is Frozen(a=x).c),
            sorted([Ordered(3, x), Ordered(1, x + 1)])[0].v,
            Ordered(2) < Ordered(3),
            repr(Ordered(1)),
            dataclasses.astuple(Ordered(4)),
            Ordered(1).m,
        )

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, 2), Frozen(a=tensor(i, 1), b=i))


@dataclasses.dataclass
class Point:
    x: object
    y: object


class Pair:
    __match_args__ = ("u", "v")

    def __init__(s, u, v):
        s.u = u
        s.v = v


class Letter(enum.Enum):
    A = 1
    B = 2


def patterns(wrap, call, note):
    def f(x, o):
        match o:
            case Point(0, y):
                return x * y
            case Point(x=int(a), y=b) if a > 5:
                return x + a + b
            case Pair(u, Point(_, w)):
                return x - u * w
            case [1, *rest]:
                return x * len(rest), rest
            case {"k": k, **kw}:
                return x + k, kw
            case (Letter.A | Letter.B) as z:
                return x * z.value
            case str() as s:
                return x, s
            case torch.Tensor() as t:
                return x @ t
            case None | True:
                return x.sum()
            case float(v) | (complex(real=v)):
                return x * v
            case _:
                return x

    f = wrap(f)
    for o in (
        Point(0, 3),
        Point(7, 1),
        Point(1, 1),
        Pair(2, Point(1, 4)),
        [1, 2, 3],
        [2],
        {"k": 1, "z": 2},
        Letter.A,
        Letter.B,
        "s",
        tensor(1, 2),
        None,
        True,
        2.5,
        3j,
        Point(0, 9),
        b"x",
    ):
        call(f, tensor(1, 2), o)


def assignment_expressions(wrap, call, note):
    def f(x, l):
        a = [y := v * 2 for v in l if (z := v) > 1]
        b = {k: (w := v) for k, v in zip("abc", l)}
        while (s := x.sum().item()) < 20:
            x = x * 2
        return x, a, y, z, b, w, s

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, 2 + i), [1, 2, 3 + i])


def stars(wrap, call, note):
    def g(*a, k=1, **kw):
        return a, k, kw

    def f(x, l, d):
        a, *b, c = l
        (p, *_), _ = (l, d)
        (*h,) = x
        r = g(*l, *b, x, **d, **{"z": x}, k=3)
        return r, a, b, c, p, [*l, *b], {**d, "k": x}, (*h, x), {*b}

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, 2), [1, 2, 3, i], {"e": i})


def chained_comparisons(wrap, call, note):
    def f(x, a):
        if 0 < a <= 3:
            x = x + 1
        m = (0 < x) & (x < 2)
        try:
            bad = 0 < x < 2
        except RuntimeError as e:
            bad = str(e)[:20]
        one = x.sum()
        r = 0 < one < 100
        return m, bad, r, a == a == 1, 1 < 2 > a, not one

    f = wrap(f)
    for i in range(3):
        call(f, tensor(1, -2 + i), i)


def assertions(wrap, call, note):
    def f(x, n):
        assert n < 3, f"n={n} shape={tuple(x.shape)}"
        x.add_(1)
        if n == 2:
            raise type("Dyn", (RuntimeError,), {})(n)
        return x.reshape(n + 1, -1)

    f = wrap(f)
    for n in range(5):
        x = tensor(1, 2, 3, 4)
        call(f, x, n)
        note(x)


PROGRAMS = [each for each in list(globals().values()) if type(each) is type(cut) and each.__code__.co_varnames[:3] == ("wrap", "call", "note")]
