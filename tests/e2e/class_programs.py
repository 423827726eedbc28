"""Programs that make classes while they run.  Each gets a matrix and returns tensors and plain values."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import sys
from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

import torch

FOUND = []


class Registered:
    """A base class that takes down what derives from it."""

    def __init_subclass__(cls, tag=None, **keywords):
        super().__init_subclass__(**keywords)
        FOUND.append((tag, cls.__name__))
        cls.tag = tag

    def scaled(self, x):
        return x * 3


class Meta(type):
    """A metaclass that does something at every step."""

    @classmethod
    def __prepare__(mcls, name, bases, **keywords):
        return {"prepared": (name, len(bases), *keywords)}

    def __new__(mcls, name, bases, names, factor=2):
        cls = super().__new__(mcls, name, bases, names)
        cls.factor = factor
        return cls

    def __init__(cls, name, bases, names, factor=2):
        super().__init__(name, bases, names)
        cls.count = len(names)

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.made_by = cls.__name__
        return made

    @property
    def doubled(cls):
        return cls.factor * 2


class Named:
    """A descriptor that is told its name."""

    def __set_name__(self, owner, name):
        self.name, self.owner = name, owner

    def __get__(self, instance, owner=None):
        return self if instance is None else (self.name, instance.value)


def plain(x):
    class Scale:
        """Scales."""

        factor: int = 3
        offset = factor + 1

        def __init__(self, value):
            self.value = value

        def __call__(self, x):
            return x * self.factor + self.value

        def own(self):
            return __class__ is type(self)

    scale = Scale(x.sum())
    return scale(x), scale.own(), Scale.__doc__, Scale.__qualname__, Scale.__annotations__, list(vars(Scale)), scale.offset


def inheriting(x):
    class Base:
        def __init__(self, value):
            self.value = value

        def go(self, x):
            return x + self.value

    class Derived(Base):
        def __init__(self, value):
            super().__init__(value * 2)

        def go(self, x):
            return super().go(x) * 2

    class Leaf(Derived, Registered, tag="leaf"):
        pass

    leaf = Leaf(x.mean())
    return leaf.go(x), leaf.scaled(x), [cls.__name__ for cls in Leaf.__mro__], Leaf.tag, isinstance(leaf, Base), issubclass(Base, Registered)


def decorated(x):
    def mark(cls):
        cls.marked = True
        return cls

    def timed(function):
        @functools.wraps(function)
        def inner(*args):
            return function(*args) + 1

        return inner

    @mark
    class Tool:
        def __init__(self, value):
            self._value = value

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, new):
            self._value = new * 2

        @value.deleter
        def value(self):
            self._value = None

        @staticmethod
        def of_nothing(x):
            return x - 1

        @classmethod
        def of_class(cls, x):
            return cls(x)

        @timed
        def run(self, x):
            """Runs."""
            return x * self._value

    tool = Tool.of_class(x)
    first = tool.value
    tool.value = x + 1
    second = tool.value
    made = tool.run(Tool.of_nothing(x))
    del tool.value
    return first, second, made, tool.value, Tool.marked, Tool.run.__doc__, Tool.run.__name__


def metaclass(x):
    class Local(Registered2, metaclass=Meta, factor=5):
        weight = x * 2

        def __init__(self, value):
            self.value = value

    local = Local(7)
    return local.weight + Local.factor, local.made_by, Local.count, Local.prepared, Local.doubled, type(Local).__name__


class Registered2:
    pass


def told_their_names(x):
    class Holder:
        first = Named()
        second = Named()
        cached = functools.cached_property(lambda self: self.value * 2)

        def __init__(self, value):
            self.value = value

    holder = Holder(x + 1)
    return holder.first, holder.second, holder.cached, holder.cached is holder.cached, Holder.first.owner is Holder


def abstract(x):
    class Shape(ABC):
        @abstractmethod
        def area(self): ...

        @property
        @abstractmethod
        def name(self): ...

    class Square(Shape):
        name = "square"

        def __init__(self, side):
            self.side = side

        def area(self):
            return self.side * self.side

    try:
        Shape()
    except TypeError as error:
        refused = str(error)
    return Square(x).area(), Square.name, refused, sorted(Shape.__abstractmethods__), isinstance(Square(x), Shape)


def special_methods(x):
    class Vector:
        __slots__ = ("data", "rest")

        def __init__(self, data):
            self.data = data

        def __add__(self, other):
            return Vector(self.data + (other.data if isinstance(other, Vector) else other))

        __radd__ = __add__

        def __len__(self):
            return self.data.shape[0]

        def __getitem__(self, index):
            return self.data[index]

        def __eq__(self, other):
            return isinstance(other, Vector)

        def __iter__(self):
            yield from (self.data, 2)

    vector = 1 + Vector(x) + Vector(x)
    try:
        missing = vector.rest
    except AttributeError as error:
        missing = str(error)
    return vector.data, len(vector), vector[0], vector == Vector(x), Vector.__hash__, list(vector), missing, list(vars(Vector))


def scopes_of_a_body(x, factor=3):
    hidden = x.shape[0]

    class Outer:
        scale = factor
        rows = [hidden * i for i in range(2)]
        if hidden > 2:
            size = "large"
        else:
            size = "small"
        for each in range(3):
            last = each
        del each

        class Inner:
            depth = hidden

            def go(self, x):
                return x * hidden + factor

    return Outer.Inner().go(x), Outer.scale, Outer.rows, Outer.size, Outer.last, hasattr(Outer, "each"), Outer.Inner.__qualname__


def in_a_loop(x):
    made = []
    for i in range(3):

        class Step:
            number = i

            def go(self, x, bias=i):
                return x * self.number + bias + i

        made.append(Step)
    return [cls().go(x) for cls in made], len(set(made)), [cls.number for cls in made]


def changed_behind_that(x):
    class Box:
        pass

    before = hasattr(Box(), "value")
    Box.value = x + 1
    Box.go = lambda self, y: self.value * y
    Box.__len__ = lambda self: 5
    found = Box().go(x), len(Box())
    del Box.value
    return before, found, hasattr(Box, "value"), bool(Box())


def with_three_arguments(x):
    cls = type("Made", (Registered,), {"go": lambda self, x: x * self.k, "k": 4}, tag="made")
    return cls().go(x), cls.__name__, cls.__module__, cls.tag, cls().scaled(x), list(vars(cls))


def errors(x):
    found = []
    for make in (
        lambda: type("A", (int, str), {}),
        lambda: type("A", (Registered,), {}, unknown=1),
        lambda: type("A", (), {}, unknown=1),
        lambda: type("A", ("text",), {}),
        lambda: type("A", (), {"__slots__": ("a b",)}),
        lambda: type("A", (bool,), {}),
    ):
        try:
            make()
        except TypeError as error:
            found.append(str(error))
    try:

        class Fails:
            value = x.missing
    except AttributeError as error:
        found.append(str(error))
    try:

        class Conflict(ABC, metaclass=Meta):
            pass
    except TypeError as error:
        found.append(str(error))
    return x + len(found), found


class Entries:
    def __mro_entries__(self, bases):
        return (Registered,)


ENTRIES = Entries()


def stands_for_bases(x):
    class Local(ENTRIES, tag="entries"):
        pass

    return Local().scaled(x), Local.__orig_bases__[0] is ENTRIES, Local.__bases__ == (Registered,)


def module_class(x):
    class Net(torch.nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor
            self.inner = torch.nn.ReLU()

        def forward(self, x):
            return self.inner(x) * self.factor

    net = Net(3)
    return net(x), len(list(net.children())), net.training


def autograd_function(x):
    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, limit):
            ctx.save_for_backward(x)
            ctx.limit = limit
            return x.clamp(-limit, limit)

        @staticmethod
        def backward(ctx, slope):
            (x,) = ctx.saved_tensors
            return slope * (x.abs() < ctx.limit) * 7, None

    return Clipped.apply(x * 2, 0.5)


class TakesKeywords:
    @classmethod
    def __class_getitem__(cls, key):
        return (cls.__name__, key)


def class_items(x):
    class Local(TakesKeywords):
        pass

    class Own:
        def __class_getitem__(cls, key):
            return cls, key * 2

    return x * Own[3][1], Local[2], Own[1][0] is Own


def dataclass(x):
    @dataclasses.dataclass
    class Point:
        first: Any
        second: int = 3
        rest: list = dataclasses.field(default_factory=list)

        def go(self):
            return self.first * self.second

    point = Point(x, 4)
    point.rest.append(2)
    other = dataclasses.replace(point, first=x + 1)
    return point.go(), other.go(), Point(x).rest, other.rest, repr(Point(1, 2)), Point(1, 2) == Point(1, 2), Point.__doc__, Point.__match_args__


def strict_dataclass(x):
    @dataclasses.dataclass(frozen=True, order=True)
    class Size:
        height: int
        width: int = 2

    @dataclasses.dataclass(slots=True, kw_only=True)
    class Image(Parented):
        data: Any
        name: str = "image"

    size, image = Size(*x.shape), Image(number=1, data=x * 2)
    try:
        size.height = 4
    except dataclasses.FrozenInstanceError as error:
        refused = str(error)
    image.name = "other"
    return image.data, size < Size(9, 9), size.width, refused, image.name, image.number, [field.name for field in dataclasses.fields(Image)], Image.__slots__


@dataclasses.dataclass
class Parented:
    number: int


def named_tuple(x):
    Pair = collections.namedtuple("Pair", "left right", defaults=[5])
    pair = Pair(x)
    left, right = pair._replace(left=x + 1)
    return left * pair.right, right, Pair._fields, pair._asdict()["right"], Pair._make([1, 2]) == (1, 2), repr(Pair(1, 2)), Pair.__module__


def typed_named_tuple(x):
    class Row(NamedTuple):
        """A row."""

        data: Any
        scale: int = 2

        def go(self):
            return self.data * self.scale

    return Row(x).go(), Row(x, 3)[0], Row.__doc__, Row._field_defaults, Row.__annotations__


def enumeration(x):
    Color = enum.Enum("Color", "RED GREEN")

    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 5

        @property
        def doubled(self):
            return self * 2

    class Flag(enum.Flag):
        A = enum.auto()
        B = enum.auto()

    try:
        Level(7)
    except ValueError as error:
        refused = str(error)
    found = [each.name for each in Color], Level(5) is Level.HIGH, Color["RED"].value, refused, (Flag.A | Flag.B).value, Level.LOW < Level.HIGH
    return x * Color.GREEN.value + Level.HIGH.doubled, found, str(Color.RED), repr(Level.LOW)


def generic(x):
    class Holder(Generic[T]):
        def __init__(self, value):
            self.value = value

        def get(self):
            return self.value

    return Holder[int](x + 1).get(), Holder(x).get(), Holder.__parameters__ == (T,)


T = TypeVar("T")


def executed(x):
    names = {"k": 3}
    exec("def scaled(x):\n    return x * k + len([1, 2])\n", names)
    space = {}
    exec("a = 1\nb = a + k\nfor i in range(3):\n    b += i\n", {"k": 2}, space)
    return names["scaled"](x), space["b"], eval("k * 2", {"k": 4}), eval("lambda y: y + 1", {})(x), sorted(space)


PROGRAMS = [
    *(plain, inheriting, decorated, metaclass, told_their_names, abstract, special_methods, scopes_of_a_body, in_a_loop, changed_behind_that),
    *(with_three_arguments, errors, stands_for_bases, module_class, autograd_function, class_items),
    *(dataclass, strict_dataclass, named_tuple, typed_named_tuple, enumeration, executed),
    *((generic,) if sys.version_info < (3, 12) else ()),  # since 3.12 C code makes a generic class of its base
]
