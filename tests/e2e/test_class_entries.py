"""What a class holds decides what runs: descriptors, entries behind `super()`, special methods and entries of a metaclass that are replaced are seen.

Beside it: what shows through when an attribute of an instance is taken away, NaNs that are told apart by their identity, and the exception that the
caller of the compiled function handles.
"""

import sys

import pytest
import torch

import lect
from tests.e2e.support import same, versions

OPTIONS = {"level": "fx", "version_limit": 64}


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Given:
    """A descriptor without `__set__`."""

    def __init__(self, value):
        self.value = value

    def __get__(self, instance, owner=None):
        return self.value


class Data(Given):
    def __set__(self, instance, value):
        self.value = value


def metaclass():
    class Meta(type):
        prop = property(lambda cls: 1)
        data = Data(2)
        given = Given(3)
        plain = 4

        def method(cls):
            return 5

        def __getattr__(cls, name):
            return 6

        def __len__(cls):
            return 7

        def __call__(cls, *args):
            return super().__call__(*args)

    return Meta


def classes():
    class Base:
        scale = 1
        held = Given(2)
        prop = property(lambda self: 3)

        def method(self):
            return 4

        @classmethod
        def made(cls):
            return 5

        @staticmethod
        def static():
            return 6

    class Middle(Base):
        pass

    class Thing(Middle, metaclass=metaclass()):
        given = Given(10)
        data = Data(20)
        plain = 30

        def __new__(cls, *args):
            return super().__new__(cls)

        def __init__(self, *args):
            self.args = args

        def __len__(self):
            return 40

        def __contains__(self, item):
            return True

        @classmethod
        def of_class(cls):
            return 50

        def above(self):
            s = super()
            return s.scale, s.held, s.prop, s.method(), s.made(), s.static()

    return Base, Middle, Thing


def everything(x, cls):
    thing = cls(4)
    of_class = cls.prop, cls.data, cls.given, cls.plain, cls.method(thing), cls.dynamic, len(cls), cls.of_class()
    return x * 2, of_class, thing.args, thing.given, thing.data, thing.plain, len(thing), 3 in thing, bool(thing), thing.above()


BASE, MIDDLE, THING, META = range(4)
CHANGES = [
    (BASE, "scale", 100),
    (BASE, "held", Given(100)),
    (BASE, "prop", property(lambda self: 100)),
    (BASE, "method", lambda self: 100),
    (BASE, "made", classmethod(lambda cls: 100)),
    (BASE, "static", staticmethod(lambda: 100)),
    (MIDDLE, "scale", 100),
    (MIDDLE, "held", 100),
    (MIDDLE, "prop", 100),
    (MIDDLE, "method", lambda self: 100),
    (MIDDLE, "made", lambda self: 100),
    (THING, "given", Given(100)),
    (THING, "given", property(lambda self: 100)),
    (THING, "data", Data(100)),
    (THING, "data", 100),
    (THING, "plain", Data(100)),
    (THING, "__new__", lambda cls, *args: object.__new__(cls)),
    (THING, "__init__", lambda self, *args: setattr(self, "args", 100)),
    (THING, "__len__", lambda self: 0),
    (THING, "__bool__", lambda self: False),
    (THING, "__contains__", lambda self, item: False),
    (THING, "__getattribute__", lambda self, name: object.__getattribute__(self, name) if name != "plain" else 100),
    (THING, "of_class", classmethod(lambda cls: 100)),
    (THING, "dynamic", 100),
    (META, "prop", property(lambda cls: 100)),
    (META, "data", Data(100)),
    (META, "given", Given(100)),
    (META, "plain", 100),
    (META, "__getattr__", lambda cls, name: 100),
    (META, "__len__", lambda cls: 100),
    (META, "__call__", lambda cls, *args: type.__call__(cls, 8)),
]


@pytest.mark.parametrize(("where", "name", "value"), CHANGES, ids=[f"{'Base Middle Thing Meta'.split()[where]}.{name}" for where, name, _ in CHANGES])
def test_entry_of_a_class_is_replaced(where, name, value):
    base, middle, thing = classes()
    kept = [dict(vars(each)) for each in (base, middle, thing, type(thing))]  # what is replaced stays alive
    compiled = lect.compile(everything, options=OPTIONS)
    same(everything(torch.ones(2), thing), compiled(torch.ones(2), thing))
    setattr((base, middle, thing, type(thing))[where], name, value)
    same(everything(torch.ones(2), thing), compiled(torch.ones(2), thing))
    assert kept


def test_another_entry_of_a_class_is_no_reason():
    base, middle, thing = classes()
    compiled = lect.compile(everything, options=OPTIONS)
    compiled(torch.ones(2), thing)
    before = versions()
    base.unrelated, middle.unrelated, thing.unrelated, type(thing).unrelated = 1, Given(2), Data(3), property(lambda cls: 4)
    compiled(torch.ones(2), thing)
    assert versions() == before


def test_class_attribute_behind_a_deleted_one():
    class Thing:
        plain = 3
        tensor = torch.ones(2)
        given = Given(4)

        def method(self):
            return 5

    def take_away(x, thing):
        del thing.plain, thing.tensor, thing.method
        seen = [thing.plain, thing.method()]
        thing.plain = 6
        seen.append(thing.plain)
        del thing.plain
        thing.__dict__["given"] = 7
        seen.append(thing.given)
        vars(thing).update(plain=8, given=9)
        seen += [thing.given, thing.plain]
        thing.__dict__.clear()
        return x + thing.tensor, seen, thing.plain, thing.given

    def make():
        thing = Thing()
        thing.plain, thing.tensor, thing.method = 30, torch.zeros(2), lambda: 50
        return thing

    compiled = lect.compile(take_away, options=OPTIONS)
    for change in (None, ("plain", 11), ("method", lambda self: 12), ("tensor", torch.full((2,), 13.0)), ("given", Given(14))):
        if change is not None:
            setattr(Thing, *change)
        for _ in range(2):
            mine, theirs = make(), make()
            same(take_away(torch.ones(2), theirs), compiled(torch.ones(2), mine))
            assert vars(mine) == vars(theirs)
    assert not [event for event in lect.events("fallback") if event.number == "LB0020"]


def test_nans_are_known_by_identity():
    def find(x, nan, other, table):
        held, made = [nan], float("nan")
        x.sum().item()  # what is held is made again behind it
        found = nan in table, other in held, nan in held, made in [made], made in held, held.index(nan), (nan, other).count(nan), {nan: 1}.get(other)
        table[nan] = 2
        return x + 1, found, held[0] is nan, table.get(other)

    compiled = lect.compile(find, options=OPTIONS)
    one, two = float("nan"), float("nan")
    for nan, other, key in ((one, two, one), (two, one, one), (one, one, two), (1.0, two, two)):
        mine, theirs = {key: 0}, {key: 0}
        same(find(torch.ones(2), nan, other, theirs), compiled(torch.ones(2), nan, other, mine))
        assert [id(each) for each in mine] == [id(each) for each in theirs]


def context_read(x):
    try:
        raise KeyError(1)
    except KeyError as error:
        return x + 1, type(error.__context__)


def context_of_an_argument(x, given=[IndexError(2)]):  # noqa: B006, B008
    try:
        raise given[0]
    except IndexError as error:
        return x + 1, type(error.__context__)


def asked(x):
    return x + 1, sys.exc_info()[0]


def reraised(x):
    try:
        raise  # noqa: PLE0704
    except (RuntimeError, ZeroDivisionError) as error:
        return x + 1, type(error)


@pytest.mark.parametrize("program", [context_read, context_of_an_argument, asked, reraised])
@pytest.mark.parametrize("handled_first", [False, True])
def test_exception_that_the_caller_handles(program, handled_first):
    def call(function, handled):
        if not handled:
            return function(torch.ones(2))
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            return function(torch.ones(2))

    compiled = lect.compile(program, options=OPTIONS)
    for handled in (handled_first, not handled_first, handled_first):
        if program is context_of_an_argument:
            program.__defaults__[0][0] = IndexError(2)
        want = call(program, handled)
        if program is context_of_an_argument:
            program.__defaults__[0][0] = IndexError(2)
        same(want, call(compiled, handled))


def test_class_becomes_callable():
    def ask(x, thing):
        return x + 1, callable(thing), bool(thing)

    class Thing:
        pass

    compiled = lect.compile(ask, options=OPTIONS)
    for name in ("__call__", "__len__"):
        same(ask(torch.ones(2), Thing()), compiled(torch.ones(2), Thing()))
        setattr(Thing, name, lambda self: 0)
    same(ask(torch.ones(2), Thing()), compiled(torch.ones(2), Thing()))
    assert versions() == 3


class Word(str):
    """A text with an operator of its own."""

    def __mul__(self, other):
        return [other, 2]


def test_operators_of_a_class_of_c_are_asked_for_one_by_one():
    def fn(x, word, other):
        return x + 1, word == other, word < other, word + other, word * 3, word != other

    args = torch.ones(3), Word("a"), Word("b")
    found = lect.explain(fn)(*args)
    assert not found.breaks and ".__eq__>" in str(found) and "__mod__" not in str(found) and "__sub__" not in str(found)
    compiled = lect.compile(fn, options=OPTIONS)
    same(fn(*args), compiled(*args))
    try:
        for name, method in {"__eq__": lambda self, other: "equal", "__lt__": lambda self, other: "less", "__add__": lambda self, other: "sum"}.items():
            setattr(Word, name, method)
            same(fn(*args), compiled(*args))
        Word.__radd__ = lambda self, other: "no"  # the right operand is asked second, and the left one answers
        same(fn(*args), compiled(*args))
    finally:
        for name in ("__eq__", "__lt__", "__add__", "__radd__"):
            if name in Word.__dict__:
                delattr(Word, name)
