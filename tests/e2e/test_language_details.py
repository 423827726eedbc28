"""Details of the language that a trace must get right although no tensor is in sight: messages, contexts, tracebacks, wrong calls."""

# ruff: noqa: B904

import collections
import functools
import operator
import re
import sys
import traceback

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same

X = torch.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def message(function, *args, **kwargs):
    """The exception that a call raises, as a text."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing"


class Equal:
    def __eq__(self, other):
        return True

    __hash__ = None


class Plain:
    pass


class Adds:
    def __add__(self, other):
        return NotImplemented

    def __lt__(self, other):
        return NotImplemented


def two(a, b, /, c=3, *, key, other=1):
    return a


def wrong_arguments(x):
    cases = [message(two), message(two, 1), message(two, 1, 2), message(two, 1, 2, 3, 4, key=1), message(two, 1, 2, key=1, nothing=2)]
    cases += [message(two, 1, b=2, key=3), message(two, 1, 2, 3, c=4, key=5), message(Plain, 1)]
    return x + 1, cases


def wrong_arguments_of_c_functions(x):
    cases = [message(getattr, x), message(getattr, Plain(), 1), message(hasattr, 1), message(hasattr, Plain(), 2), message(setattr, Plain(), 1, 2)]
    cases += [message(bool, 1, 2), message(iter), message(iter, 1, 2, 3), message(iter, 5, 6), message(sum), message(len), message(len, [], 1), message(next)]
    cases += [message(isinstance, 1), message(callable), message(any, [], []), message(getattr, 1, "real", key=2)]
    return x + 1, cases


def wrong_operands(x):
    a, b = Adds(), Plain()
    cases = [message(f, a, b) for f in (operator.add, operator.sub, operator.lt, operator.ge, operator.pow, operator.matmul)]
    cases += [message(f, [], {}) for f in (operator.isub, operator.iand)]
    return x + 1, cases


def not_equal_by_equal(x):
    return x + 1, Equal() != Equal(), Equal() != 3, 3 != Equal(), Plain() != Plain(), 3 == Equal(), 3 == Plain(), "a" != Equal()


def changes_a_deque(x):
    from collections import deque

    d = deque([1, 2], maxlen=3)
    d *= 2
    return x + 1, list(d)


def wrong_raises(x):
    def no_exception():
        raise Plain

    def wrong_cause():
        raise ValueError("v") from 3

    return x + 1, message(no_exception), message(wrong_cause)


def contexts(x):
    found = []
    try:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")
    except ValueError as error:
        found.append(repr(error.__context__))
        try:
            raise error.__context__
        except KeyError as again:
            found.append((repr(again.__context__), error.__context__))
    try:
        try:
            raise KeyError("c")
        except KeyError:
            int("no")
    except ValueError as error:
        found.append(repr(error.__context__))
    try:
        raise IndexError from None
    except IndexError as error:
        found.append((error.__context__, error.__suppress_context__))
    return x + 1, found


def tracebacks_are_there(x):
    found = []
    error = ValueError("new")
    found.append(error.__traceback__)
    try:
        raise error
    except ValueError as caught:
        found += [caught.__traceback__ is None, sys.exc_info()[2] is None, isinstance(caught.__traceback__, type(None))]
        traceback.clear_frames(caught.__traceback__)
        found.append(caught.with_traceback(None).__traceback__)
    return x + 1, found


def flags(x):
    return x + 1, bool(re.I), bool(re.NOFLAG), [1 for flag in (re.I, re.NOFLAG) if flag]


class Answers:
    def __init__(self, truth, length):
        self.truth, self.length = truth, length

    def __bool__(self):
        return self.truth

    def __len__(self):
        return self.length


class NoTruth:
    __bool__ = None


class OnlyLength:
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length


def wrong_truth(x):
    cases = [message(bool, Answers(answer, 0)) for answer in (True, 1, "yes", None)]
    cases += [message(len, Answers(True, answer)) for answer in (3, -1, "3", 2.0, True)]
    cases += [message(bool, OnlyLength(answer)) for answer in (0, 2, -2, None)] + [message(bool, NoTruth())]
    return x + 1, cases, bool(OnlyLength(0)), bool(OnlyLength(5)), len(OnlyLength(True))


class WithNew(ValueError):
    def __new__(cls, text, extra):
        made = super().__new__(cls, text)
        made.extra = extra
        return made

    def __init__(self, text, extra):
        super().__init__(text)


def names_and_patterns(x):
    found = []
    try:
        there_is_no_such_name  # noqa: B018, F821
    except NameError as error:
        found.append((error.name, str(error)))

    def reads():
        return later

    try:
        reads()
    except NameError as error:
        found.append((type(error).__name__, error.name, str(error)))
    try:
        later  # noqa: B018
    except NameError as error:
        found.append((type(error).__name__, error.name, str(error)))
    later = 3

    def catches(pattern):
        try:
            raise WithNew("text", later)
        except pattern as error:
            return error.extra, error.args

    found += [catches(ValueError), catches((KeyError, WithNew)), message(catches, 3), message(catches, int), message(catches, (KeyError, "no"))]
    return x + 1, found


class Sets(set):
    pass


class FrozenSets(frozenset):
    pass


class Pairs:
    def keys(self):
        return iter("ab")

    def __getitem__(self, key):
        return key * 2


def containers(x):
    s = {1, 2}
    s |= {3}
    s -= {1}
    s ^= frozenset({7})
    t = {1, 2, 3}
    t &= {2, 3, 4}
    d = {}
    d.update(Pairs())
    d |= {"c": 1}
    d |= [("e", 2)]
    cases = [message(f, {1}, other) for f in (operator.ior, operator.iand, operator.isub, operator.ixor) for other in ([1], 3, {1: 2}, "a", (i for i in "b"))]
    made = [Sets(i for i in "ab"), Sets(), FrozenSets(i for i in "ab"), FrozenSets([1])]
    return x + 1, s, t, d, cases, [sorted(map(str, each)) for each in made], [type(each).__name__ for each in made]


class NoContainer:
    __contains__ = None
    __iter__ = None


class HalfManager:
    def __enter__(self):
        return self


class SaysWrong:
    answer = 3

    def __str__(self):
        return self.answer

    def __repr__(self):
        return self.answer

    def __format__(self, spec):
        return self.answer

    def __iter__(self):
        return self.answer


class TakesArguments:
    def __init__(self, *args):
        super().__init__(*args)


class Supers:
    def without(*args):
        return super().__init__()

    def deleted(self):
        del self
        return super().__init__()

    def fine(self):
        return super().__init__()


def supers(x):
    return x + 1, message(Supers().without), message(Supers().deleted), message(Supers().fine)


def unpack(value):
    a, *b = value
    return a, b


class SetOnly:
    def __set__(self, instance, value):
        instance.__dict__["seen"] = value


class CallableGetter:
    __get__ = functools.partial(lambda *args: "gotten")


class WithDescriptors:
    only = SetOnly()
    odd = CallableGetter()


def odd_descriptors(x):
    made = WithDescriptors()
    made.only = 3
    return x + 1, made.__dict__, made.odd


class Defaults(collections.defaultdict):
    def __init__(self):
        super().__init__()
        self.default_factory = list


def subclass_of_defaultdict(x):
    made = Defaults()
    made["a"] = 1
    return x + 1, made, made["b"]


def refused_protocols(x):
    def enter(manager):
        with manager:
            pass

    cases = [message(lambda: 1 in NoContainer()), message(iter, NoContainer()), message(enter, HalfManager()), message(enter, 3), message(vars, 3)]
    cases += [message(f, SaysWrong()) for f in (str, repr, format, iter, list)] + [message(format, SaysWrong(), 3), message(sum, [], bytearray())]
    cases += [message(unpack, 3), message(unpack, None), message(unpack, NoContainer()), message(unpack, 1.5)]
    cases += [message(Plain, 1), message(Plain.__new__, Plain, 1), message(Plain().__init__, 1), message(TakesArguments, 1), message(object, 1)]
    return x + 1, cases


def regular_expressions(x):
    word = re.compile(r"(\w)(\w*)")
    found = [word.match("abc def").groups(), re.findall("a.", "abac"), re.sub("a", "b", "aba"), re.split(",", "a,b"), re.search("x", "y")]
    return x + len(word.search("abc").group(2)), found, message(re.compile, "(")


PROGRAMS = [wrong_arguments, wrong_arguments_of_c_functions, wrong_operands, not_equal_by_equal, changes_a_deque, wrong_raises, contexts]
PROGRAMS += [tracebacks_are_there, flags, wrong_truth, refused_protocols, names_and_patterns, containers, supers, regular_expressions]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_eager(program):
    want, got = program(X), lect.compile(program)(X)
    inlined = sys.version_info >= (3, 12)  # a comprehension that breaks is cut there, and what it calls has a rest without tensors
    assert set(fallbacks()) <= ({"LB0022"} if inlined else set()), [str(event) for event in lect.events("fallback")]
    same(want, got)


@pytest.mark.parametrize("program", [odd_descriptors, subclass_of_defaultdict], ids=lambda program: program.__name__)
def test_in_parts_as_in_eager(program):
    """What is not followed is left to Python, and what was made before is what it was."""
    want, got = program(X), lect.compile(program)(X)
    same([want[0], repr(want[1:])], [got[0], repr(got[1:])])
    assert getattr(want[1], "default_factory", None) == getattr(got[1], "default_factory", None)


def test_what_a_traceback_holds_is_not_made_up():
    def f(x):
        try:
            raise ValueError("here")
        except ValueError as error:
            return x + 1, error.__traceback__.tb_lineno

    same(f(X), lect.compile(f)(X))
    assert set(fallbacks()) <= {"LB0030"}


def test_traceback_of_an_exception_from_outside_is_dropped():
    def f(x, error):
        error.with_traceback(None)
        return x + 1, error.__traceback__

    def raised():
        try:
            raise ValueError("outside")
        except ValueError as error:
            return error

    ours, eagers = raised(), raised()
    same(f(X, eagers), lect.compile(f)(X, ours))
    assert ours.__traceback__ is None
    assert fallbacks() == []


def test_container_that_contains_itself():
    def f(x):
        items = [1]
        items.append(items)
        return x + 1, repr(items)

    same(f(X), lect.compile(f)(X))
    assert fallbacks() == []
