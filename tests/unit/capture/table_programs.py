"""Programs that together reach every entry of the tables of capture that are not asked for by function: what is guarded, made again, resumed."""

import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import functools
import operator
import re
import reprlib
import struct
import threading
import types
import weakref

import torch

VAR = contextvars.ContextVar("VAR")
VAR.set(2)


class Plain:
    """Instances have what the class says, but where a program writes."""

    width = 3

    def method(self, x):
        return x * self.width


class Rows(list):
    @reprlib.recursive_repr()
    def __repr__(self):
        return f"{len(self)} rows"


class Kind(enum.Enum):
    FIRST = 1


class Switched(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width, self.kinds, self.hint, self.names = width, {"a": 1}, None, [1, 2]
        self.linear, self.act, self.kind = torch.nn.Linear(2, 2), torch.relu, Kind.FIRST

    def forward(self, x, settings):
        if self.hint is None and "a" in self.kinds and "b" not in self.kinds and self.names and not hasattr(self, "late"):
            x = x + self.width + len(self.names)
        if hasattr(self, "names") and self.kind is Kind.FIRST and self.kinds is not None:
            x = self.act(x)
        for name in self.names:
            x = x * name
        for key in self.kinds:
            x = x + self.kinds[key]
        return self.linear(x) if isinstance(settings, dict) and settings.get("none") is None else x


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.weight


@dataclasses.dataclass
class Config:
    width: int = 2


class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases):
        return super().__prepare__(name, bases)


def guarded(x, settings, thing, layer, kinds):
    extra = getattr(thing, "extra", None)
    left = settings.get("left"), settings.get("width"), len(settings["names"]), bool(settings["empty"]), "names" in settings
    total = sum(item for item in settings["names"] if item != 3) + len(kinds)
    numbers = list(settings), [each for each in kinds], isinstance(thing, Plain), settings["none"] is None
    return thing.method(layer(x)), left, total, extra, numbers


def given(x, first, rows, name, found, kinds, number, kept):
    return x * number + first([1, 2]) + rows(x), found.group(1), name(x), {kinds: 1}[kinds], hasattr(kept, "x"), VAR.get("none")


def without_parts(x, layer):
    return layer(x), getattr(layer, "missing", 1)


def repeated(x, layers, settings):
    for layer in layers:
        x = layer(x, settings)
    return x


def of_local_class(x, thing):
    return x * thing.factor, type(thing).__name__


def made(x, item):
    offset = x + 1

    def inner():
        return offset

    class Named(collections.namedtuple("Named", "first")):
        @staticmethod
        def still():
            return 1

        @classmethod
        def of(cls):
            return cls

        @property
        def half(self):
            return 2

    ordered = collections.OrderedDict(a=x * 2)
    counts = collections.defaultdict(list, b=[offset])
    thing = Plain()
    whole = [x], {"x": x}, {item, 7}, frozenset({item}), collections.deque([x]), slice(item, None), range(item), types.SimpleNamespace(x=x)
    locks = threading.Lock(), threading.RLock()
    made_anew = Named.__dict__, ordered, counts, inner, functools.partial(inner), thing.method, weakref.ref(thing), thing, whole, locks, Named
    print(end="")
    return made_anew, x * Named.still()


def values_made(x):
    day, span = datetime.date(2020, 1, 2), datetime.timedelta(days=1)
    moments = day, day + span, datetime.time(1), datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(span / 2))
    print(end="")
    return x + 1, moments, decimal.Decimal("1.5"), struct.Struct("<i").size, span, datetime.timezone(span / 3), struct.Struct("<q")


def generator_of_torch(x):
    source = torch.Generator()
    source.manual_seed(3)
    print(end="")
    return x + torch.rand(2, generator=source)


def steps(n):
    got = yield n
    yield from [got, n]


def resumed(x):
    source = steps(3)
    return x + next(source), source.send(4), list(source)


def class_made(x):
    class Made(metaclass=Meta):
        def __init_subclass__(cls):
            super().__init_subclass__()

    class Below(Made):
        factor = 2

    return x * Below.factor


def told(x):
    return x + 1, repr(Config()), repr(Rows([1]))


def updated(x):
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    (weight * x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return weight.detach() + x


def arguments(program, number=2.5):
    """What a program is called with; `number` is another one in a second call."""
    x = torch.arange(2.0)
    settings = {"width": 4, "names": [1, 2], "empty": {}, "none": None}
    torch.manual_seed(0)
    layers = torch.nn.ModuleList(Switched(3) for _ in range(4))
    seen = operator.itemgetter(0), operator.methodcaller("size", 0), operator.attrgetter("shape"), re.match("a(b)", "abc"), frozenset({1, 2})
    more = {
        guarded: (settings, Plain(), Layer(), {1, 2}),
        given: (*seen, number, types.SimpleNamespace(x=1)),
        without_parts: (Layer(),),
        repeated: (layers, settings),
        of_local_class: (type("Made", (), {"factor": 2})(),),
        made: (2,),
    }
    return (x, *more.get(program, ()))


PROGRAMS = (guarded, given, without_parts, repeated, of_local_class, made, values_made, generator_of_torch, resumed, class_made, told, updated)
