"""Small functions over one tensor that use the standard library the way model code does: copies, identities, signatures, iteration protocols."""

from __future__ import annotations

import collections.abc
import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any


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


PROGRAMS: tuple[Callable[..., Any], ...] = (deep_copies, identities, signatures, unfinished_iteration, outer_of_wrapper)
