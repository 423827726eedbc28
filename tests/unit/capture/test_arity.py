"""How many arguments functions of C take, read from their texts: what `inspect` says, without it."""

import builtins
import functools
import inspect
import itertools
import math
import operator
from collections import OrderedDict, deque
from types import FunctionType

from lect.frontends.capture import arity
from lect.frontends.capture.specials import special_table

MODULES = (builtins, functools, itertools, math, operator)
CLASSES = (OrderedDict, bytes, deque, dict, float, int, list, object, set, str, tuple, type)


def by_inspect(function):
    """What `inspect` makes of a signature."""
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    fewest = sum(p.kind is p.POSITIONAL_ONLY and p.default is p.empty for p in positional)
    many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters)
    return fewest, arity.ANY if many else len(positional), keywords


def test_texts_say_what_inspect_says():
    functions = [*special_table(), *[value for owner in (*MODULES, *CLASSES) for value in vars(owner).values()]]
    seen = 0
    for function in functions:
        text = getattr(function, "__text_signature__", None)
        if type(text) is not str or isinstance(function, type | FunctionType):
            continue
        found = arity._limits_of_text(text, function)
        if found is not None:
            seen += 1
            assert found == by_inspect(function), (function, text)
    assert seen > 400
