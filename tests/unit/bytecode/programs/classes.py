"""Class bodies, with statements, match statements, module-level code."""

from contextlib import contextmanager

LOG = []
MODULE_SQUARES = [n * n for n in range(4)]
for MODULE_LOOP in range(3):
    if MODULE_LOOP == 1:
        break
try:
    MODULE_ERROR = 1 // 0
except ZeroDivisionError as error:
    MODULE_ERROR = str(error)
MODULE_NOTE: int = 5


class CM:
    """A context manager that records, and may swallow."""

    def __init__(self, name, swallow=()):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        LOG.append(("enter", self.name))
        return self.name

    def __exit__(self, kind, value, tb):
        LOG.append(("exit", self.name, kind and kind.__name__, value and value.args, tb is not None))
        return kind is not None and issubclass(kind, self.swallow)


def logged():
    out = list(LOG)
    LOG.clear()
    return out


def case_module_level():
    return MODULE_SQUARES, MODULE_LOOP, MODULE_ERROR, MODULE_NOTE, "error" in globals(), "n" in globals()


def case_module_annotations():
    return __annotations__


def case_class_body():
    class A:
        """Doc."""

        x = 1
        y: int = x + 1
        z: str

        def m(self):
            return self.x, self.y

        if x:
            w = "w"
        for i in range(3):
            pass
        del x
        x = 5

    return A().m(), A.__doc__, A.__annotations__, A.w, A.i, A.__qualname__, A.__module__


def case_class_closure():
    n = 7

    class A:
        v = n
        n = 8

        def m(self):
            return n

    return A.v, A.n, A().m()


def case_class_name_resolution():
    class A:
        x = 1

        class B:
            try:
                y = x  # noqa: F821
            except NameError:
                y = "hidden"

    return A.B.y


def case_metaclass():
    class Meta(type):
        def __new__(mcls, name, bases, ns, **kw):
            cls = super().__new__(mcls, name, bases, ns)
            cls.kw = kw
            return cls

        def __init__(cls, name, bases, ns, **kw):
            super().__init__(name, bases, ns)

    class A(metaclass=Meta, flag=1):
        pass

    return A.kw, type(A).__name__


def case_class_with_star_bases():
    bases = (int,)

    class A(*bases, **{}):
        pass

    return A(5) + 1


def case_property_and_static():
    class A:
        @property
        def p(self):
            return self._p

        @p.setter
        def p(self, v):
            self._p = v * 2

        @staticmethod
        def s(x):
            return x

        @classmethod
        def c(cls):
            return cls.__name__

    a = A()
    a.p = 4
    return a.p, A.s(1), A.c()


def case_dataclass():
    from dataclasses import dataclass, field

    @dataclass(frozen=True)
    class P:
        x: int
        y: list = field(default_factory=list)

    return repr(P(1)), P(1) == P(1)


def case_enum():
    from enum import Enum

    class E(Enum):
        A = 1
        B = A + 1

    return [e.name for e in E], E.B.value


def case_class_body_raises():
    class A:
        x = 1
        y = x / 0

    return A


def case_slots_and_init_subclass():
    class Base:
        seen = []

        def __init_subclass__(cls, **kw):
            Base.seen.append((cls.__name__, kw))

    class A(Base, k=1):
        __slots__ = ("a",)

    return Base.seen


def case_mangled_names():
    class A:
        def __init__(self):
            self.__x = 1

        def get(self):
            return self.__x

    return A().get(), sorted(vars(A()))


def case_with():
    with CM("a") as v:
        LOG.append(v)
    return logged()


def case_with_no_target():
    with CM("a"):
        pass
    return logged()


def case_with_two():
    with CM("a") as x, CM("b") as y:
        LOG.append((x, y))
    return logged()


def case_with_parentheses():
    with (
        CM("a") as x,
        CM("b"),
    ):
        LOG.append(x)
    return logged()


def case_with_raises():
    try:
        with CM("a"), CM("b"):
            raise ValueError("v")
    except ValueError:
        LOG.append("caught")
    return logged()


def case_with_swallows():
    with CM("a", ValueError):
        raise ValueError("v")
    return logged()


def case_with_inner_swallows():
    with CM("a"), CM("b", ValueError):
        raise ValueError("v")
    return logged()


def case_with_return():
    def f():
        with CM("a") as x:
            return x, LOG.append("returning")

    return f(), logged()


def case_with_break_continue():
    for i in range(4):
        with CM(i):
            if i == 1:
                continue
            if i == 2:
                break
    return logged()


def case_with_enter_raises():
    class Bad:
        def __enter__(self):
            raise KeyError("enter")

        def __exit__(self, *a):
            LOG.append("never")

    try:
        with CM("a"), Bad():
            pass
    except KeyError:
        return logged()


def case_with_exit_raises():
    class Bad:
        def __enter__(self):
            return self

        def __exit__(self, *a):
            raise KeyError("exit")

    with Bad():
        raise ValueError("body")


def case_with_not_manager():
    with 5:
        pass


def case_with_contextmanager():
    @contextmanager
    def cm():
        LOG.append("in")
        try:
            yield 3
        finally:
            LOG.append("out")

    with cm() as v:
        LOG.append(v)
    return logged()


def case_with_in_try_finally():
    def f():
        try:
            with CM("a") as x:
                return x
        finally:
            LOG.append("finally")

    return f(), logged()


def case_with_target_tuple():
    @contextmanager
    def cm():
        yield 1, (2, 3)

    with cm() as (a, (b, c)):
        return a, b, c


def case_with_nested_in_loop():
    for i in range(2):
        with CM(i) as a:
            for j in range(2):
                with CM((i, j)):
                    if j == 1 and a == 1:
                        return logged()


def case_match_literals():
    def f(x):
        match x:
            case 1:
                return "one"
            case "a" | "b":
                return "letter"
            case None:
                return "none"
            case True:
                return "true"
            case -1.5 | 2j:
                return "number"
            case _:
                return "other"

    return [f(x) for x in (1, "b", None, True, -1.5, 2j, [])]


def case_match_sequence():
    def f(x):
        match x:
            case []:
                return "empty"
            case [a]:
                return ("one", a)
            case [1, *rest]:
                return ("starts", rest)
            case (a, b, *_):
                return ("two", a, b)
            case _:
                return "no"

    return [f(x) for x in ([], [5], [1, 2, 3], (4, 5, 6), "ab", 7)]


def case_match_mapping():
    def f(x):
        match x:
            case {"k": 1, "v": v, **rest}:
                return ("kv", v, rest)
            case {"k": k}:
                return ("k", k)
            case {}:
                return "mapping"
            case _:
                return "no"

    return [f(x) for x in ({"k": 1, "v": 2, "w": 3}, {"k": 5}, {"z": 1}, 3)]


def case_match_class():
    class P:
        __match_args__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    def f(v):
        match v:
            case P(0, y=yy):
                return ("axis", yy)
            case P(x, y) if x == y:
                return ("diagonal", x)
            case P():
                return "point"
            case int(n) | float(n):
                return ("number", n)
            case str() as s:
                return s
            case _:
                return None

    return [f(v) for v in (P(0, 3), P(2, 2), P(1, 2), 5, 2.5, "s", [])]


def case_match_guard_and_nested():
    def f(x):
        match x:
            case {"a": [1, {"b": b}]} if b > 2:
                return b
            case [[a, _], [*_, c]]:
                return a, c
            case (1 | 2) as n, [*xs]:
                return n, xs

    return f({"a": [1, {"b": 3}]}), f({"a": [1, {"b": 1}]}), f([[1, 2], [3, 4, 5]]), f((2, [7]))


def case_match_value_pattern():
    import math

    def f(x):
        match x:
            case math.pi:
                return "pi"
            case math.inf:
                return "inf"

    return f(math.pi), f(math.inf), f(1)


def case_match_in_loop():
    out = []
    for x in [1, [2, 3], "q", {"z": 4}]:
        match x:
            case int():
                continue
            case [a, b]:
                out.append(a + b)
            case str(s):
                out.append(s)
                break
    return out


def case_match_class_error():
    class P:
        __match_args__ = ("x",)

    match P():
        case P(1, 2, 3):
            pass


def case_import_star_in_class_namespace():
    namespace = {}
    exec("from math import *\nx = floor(2.5)", namespace)
    return namespace["x"]
