"""Classes made in compiled functions: new ones at each call, with all that CPython does when it makes one."""

import types

import pytest
import torch

import lect
from tests.e2e import class_programs
from tests.e2e.support import same, stops, versions


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    class_programs.FOUND.clear()
    yield
    lect.reset()
    class_programs.FOUND.clear()


def called(function, *args):
    """What a call returns, and which classes it has registered."""
    class_programs.FOUND.clear()
    returned = function(*args)
    return returned, list(class_programs.FOUND)


def inputs():
    return torch.randn(4, 3), torch.tensor([[float("nan"), float("inf"), -0.0]]), torch.randn(3, 4).t(), torch.randn(4, 3)


@pytest.mark.parametrize("program", class_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    compiled = lect.compile(program)
    for x in inputs():
        same(called(program, x), called(compiled, x))
    assert stops() == []


@pytest.mark.parametrize("program", class_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_program_with_a_break_behind_it(program, capsys):
    def broken(x):
        found = program(x)
        print("there")
        return found, x + 1

    compiled = lect.compile(broken)
    for x in inputs():
        same(called(broken, x), called(compiled, x))
    assert set(stops()) == {"LB0013"}


def described(value):
    """What can be seen of a value made by a class statement, without its identity."""
    if isinstance(value, type):
        entries = [(name, described(entry) if name != "__weakref__" else "weakref") for name, entry in vars(value).items()]
        return type(value).__name__, value.__name__, value.__qualname__, [base.__name__ for base in value.__mro__], entries
    if isinstance(value, types.FunctionType):
        return value.__qualname__, value.__defaults__, value.__kwdefaults__, value.__doc__, value.__module__, list(value.__dict__)
    if isinstance(value, staticmethod | classmethod):
        return type(value).__name__, described(value.__func__)
    if isinstance(value, property):
        return "property", described(value.fget), described(value.fset), value.__doc__
    return value if isinstance(value, str | int | tuple | list | dict | type(None)) else type(value).__name__


def escaping(x):
    shared = []

    class Kept(class_programs.Registered, tag="kept"):
        """Kept."""

        __slots__ = ("value",)
        limit: int = 3
        weight = x * 2

        def __init__(self, value):
            self.value = value
            shared.append(self)

        def go(self, y, *, scale=2):
            return self.value * y * scale + self.weight

        def me(self):
            return __class__

        def again(self, value):
            return type(self)(value)

        @property
        def doubled(self):
            """Twice."""
            return self.value * 2

        @staticmethod
        def plain(y):
            return y + 1

        @classmethod
        def made(cls, value):
            return cls(value)

        def __eq__(self, other):
            return self.value is other.value

    Kept.instance = Kept(x + 1)
    Kept.instance.extra = [Kept]
    return Kept, Kept.instance, shared, Kept.instance.go, Kept.made


def test_a_class_that_outlives_the_call():
    compiled = lect.compile(escaping)
    classes = []
    for _ in range(3):
        x, y = torch.randn(2, 3), torch.randn(2, 3)
        (want, instance, *_), found = called(escaping, x)
        (cls, made, shared, go, maker), registered = called(compiled, x)
        assert found == registered == [("kept", "Kept")]
        assert described(want) == described(cls)
        classes.append(cls)
        assert made.me() is cls and type(made) is cls and cls.instance is made and made.extra == [cls] and shared == [made]
        assert go.__self__ is made and go.__func__ is cls.__dict__["go"] and maker.__self__ is cls
        same(instance.go(y), made.go(y))
        same(want.weight, cls.weight)
        other = made.again(y)
        assert type(other) is cls and shared == [made, other] and other == cls(y) and other != made
        same(want(y).doubled, other.doubled)
        assert cls.tag == "kept" and cls.plain(1) == 2 and type(maker(y)) is cls
        with pytest.raises(AttributeError, match="property 'doubled' of 'escaping.<locals>.Kept' object has no setter"):
            made.doubled = 1
        with pytest.raises(TypeError, match="unhashable"):
            hash(made)
    assert len(set(classes)) == 3 and stops() == [] and versions() == 1


def test_abstract_classes_and_slots_outlive_the_call():
    from abc import ABC, abstractmethod

    def make(x):
        class Shape(ABC):
            @abstractmethod
            def area(self): ...

        class Square(Shape):
            __slots__ = ("side",)

            def __init__(self, side):
                self.side = side

            def area(self):
                return self.side**2

        return Shape, Square, Square(x + 1)

    compiled = lect.compile(make)
    for _ in range(2):
        x = torch.randn(3)
        want, got = make(x), compiled(x)
        assert described(want[0]) == described(got[0]) and described(want[1]) == described(got[1])
        same(want[2].area(), got[2].area())
        assert isinstance(got[2], got[0]) and hasattr(got[2], "__dict__") == hasattr(want[2], "__dict__") and is_abstract(got[0])
    assert stops() == []


def is_abstract(cls):
    try:
        cls()
    except TypeError as error:
        return "abstract" in str(error)
    return False


def test_a_function_of_autograd_outlives_the_call():
    def make(x, factor):
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * factor

            @staticmethod
            def backward(ctx, slope):
                return slope * factor * 10

        return Scaled.apply(x), Scaled

    compiled = lect.compile(make)
    for factor in (2, 3):
        a, b = [torch.ones(3, requires_grad=True) for _ in range(2)]
        (want, eager), (got, cls) = make(a, factor), compiled(b, factor)
        want.sum().backward()
        got.sum().backward()
        same(a.grad, b.grad)
        c, d = [torch.ones(3, requires_grad=True) for _ in range(2)]
        same(eager.apply(c).detach(), cls.apply(d).detach())
        eager.apply(c).sum().backward()
        cls.apply(d).sum().backward()
        same(c.grad, d.grad)
        assert cls._backward_cls._forward_cls is cls
    assert stops() == []


class Parent:
    factor = 2

    def go(self, x):
        return x * self.factor


class Between(Parent):
    pass


def test_what_a_class_inherits_is_guarded():
    def local(x):
        class Child(Between):
            pass

        return Child().go(x)

    compiled = lect.compile(local)
    x = torch.ones(2)
    same(x * 2, compiled(x))
    same(x * 2, compiled(x))
    assert versions() == 1
    plain = Parent.go
    try:
        Parent.go = lambda self, x: x + 100
        same(x + 100, compiled(x))
        Between.go = lambda self, x: x - 1
        same(x - 1, compiled(x))
        del Between.go
        Parent.go = plain
        Between.factor = 9
        same(x * 9, compiled(x))
    finally:
        Parent.go = plain
        Between.__dict__.get("factor") and delattr(Between, "factor")


def test_other_bases_and_metaclasses_are_other_versions():
    def local(x, base):
        class Child(base):
            def more(self, x):
                return self.go(x) + 1

        return Child().more(x), type(Child).__name__

    class Other:
        def go(self, x):
            return x * 5

    class Third(Other, metaclass=class_programs.Meta):
        pass

    compiled = lect.compile(local)
    for base in (Parent, Other, Third, Parent, Between):
        x = torch.randn(3)
        same(local(x, base), compiled(x, base))
    assert versions() == 4


def test_classes_of_the_trace_are_in_no_list_of_subclasses():
    class Base:
        pass

    def local(x):
        class Child(Base):
            pass

        return x + 1

    lect.compile(local)(torch.ones(2))
    assert Base.__subclasses__() == []
    kept = local(torch.ones(2)) is not None
    assert kept and len(Base.__subclasses__()) == 1


def test_bodies_with_effects():
    log = []

    def local(x):
        class Child:
            log.append("body")
            value = x * 2
            log.append(len(log))

        log.append(Child.value)
        return Child.value

    def run(function, x):
        log.clear()
        return function(x), list(log)

    compiled = lect.compile(local)
    for x in inputs():
        same(run(local, x), run(compiled, x))
    assert stops() == []


def test_a_break_in_a_body_runs_the_statement_as_a_whole(capsys):
    def local(x):
        y = x + 1

        class Child:
            print("body")
            value = y * 2

            def go(self, x):
                return x + self.value

        return Child().go(x), Child.__name__

    compiled = lect.compile(local)
    for x in inputs():
        same(local(x), compiled(x))
    assert capsys.readouterr().out == "body\n" * 8
    assert set(stops()) <= {"LB0013", "LB0027"}


def test_recursive_functions_outlive_the_call():
    def make(x):
        def power(n):
            return x if n == 0 else power(n - 1) * 2

        return power

    compiled = lect.compile(lambda x: (make(x), x + 1))
    for _ in range(2):
        x = torch.randn(3)
        same(make(x)(3), compiled(x)[0](3))
    assert stops() == []
