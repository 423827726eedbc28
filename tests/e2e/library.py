"""Small functions over one tensor that use the standard library the way model code does: copies, identities, signatures, iteration protocols."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import enum
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch


class Settings:
    """A configuration as models have it: plain data, nested."""

    def __init__(self):
        self.width = 3
        self.names = ["a", "b"]
        self.table = {"k": (1, 2.5), "inner": {"deep": [1]}}
        self.shared = self.names


class Rows(collections.abc.Sequence):
    """A sequence whose iterator stands inside of a `try` between two elements."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, number):
        return self.items[number]


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """The fields that are set are keys too, as in the outputs of transformers."""

    first: Any = None
    second: Any = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class Tagged(list):
    def __init__(self, items, tag):
        super().__init__(items)
        self.tag = tag


class Counter(dict):
    def __missing__(self, key):
        return 0


class Flags(enum.IntFlag):
    ONE = 1
    TWO = 2


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 3


SETTINGS = Settings()


def deep_copies(x):
    mine = copy.deepcopy(SETTINGS)
    mine.names.append("c")
    mine.table["inner"]["deep"].append(x * mine.width)
    separate = mine.names is not SETTINGS.names and mine.shared is mine.names
    return x * len(SETTINGS.names) + len(mine.names), separate, mine.table, type(mine) is Settings, copy.deepcopy([(1, "a"), None])


def identities(x):
    seen = {id(SETTINGS): "settings"}
    fresh = [1]
    return x + len(seen), seen.get(id(SETTINGS)), id(fresh) in seen, id(fresh) == id(fresh)


def scaled(x, factor, *, shift=0):
    return x * factor + shift


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * len(args)

    return wrapper


def signatures(x):
    parameters = inspect.signature(scaled).parameters
    return x * len(parameters), "factor" in parameters, list(parameters), parameters["shift"].default, len(inspect.signature(SETTINGS.__init__).parameters)


def unfinished_iteration(x):
    pairs = [a + b for a, b in zip([1, 2], Rows([10, 20, 30]))]
    first = next(iter(Rows([x])))
    return x * pairs[0], pairs, first, 30 in Rows([10, 30])


def outer_of_wrapper(x):
    factor = x.shape[0]

    def middle(y):
        @functools.wraps(scaled)
        def inner(z):
            return scaled(z, factor)

        return inner(y)

    return middle(x), [middle(x + 1)]


def outputs_with_fields(x):
    made = Output(first=x + 1)
    made["second"] = made["first"] * 2
    return made


def derived_containers(x):
    counts = Counter(a=1)
    counts["b"] = counts["missing"] + 2
    tagged = Tagged([x, 2], "t")
    tagged.append(x * counts["b"])
    return counts, tagged, {"nested": Output(second=[x + 2])}


def tracing_state(x):
    return x * (3 if torch.jit.is_tracing() else 2)


def types_by_dtype(x):
    return x.type(torch.float64) * 2, x.type(x.dtype) + 1, x.type(torch.int32)


def copies_of_sets(x):
    several = {1, 2, (3, 4)}
    copied = copy.deepcopy({"a": several, "b": [several]})
    copied["a"].add(5)
    return x * len(copied["a"]), copied, copied["b"][0] is copied["a"], several, copy.deepcopy(frozenset(several))


def members_in_c_code(x):
    both = Flags.ONE | Flags.TWO
    told = f"{both} {both!r} {Size.LARGE}", str(Size.SMALL), [Size.LARGE, Flags.TWO]
    ordered = sorted([Size.LARGE, Size.SMALL]), max(Size), Size.LARGE > 2, list(both), Flags.ONE in both
    return x * int(both) + float(Size.LARGE), told, ordered, [5, 6, 7, 8][both], {1: "a", 3: "b"}[Size.LARGE]


def matches_one_by_one(x):
    found = [(match[1], match.start()) for match in re.finditer(r"(\w)=", "a=1, b=2")]
    return x * len(found), found


def global_for_a_while(x):
    global made_for_a_while
    made_for_a_while = x * 2
    y = made_for_a_while + 1
    del made_for_a_while
    try:
        del made_for_a_while
    except NameError as error:
        return y, "made_for_a_while" in globals(), str(error)


PROGRAMS: tuple[Callable[..., Any], ...] = (
    deep_copies, identities, signatures, unfinished_iteration, outer_of_wrapper, outputs_with_fields, derived_containers, tracing_state,
    types_by_dtype, copies_of_sets, members_in_c_code, matches_one_by_one, global_for_a_while,
)  # fmt: skip
