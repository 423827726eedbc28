"""Objects of the program under builtin functions and patterns: what CPython calls, in its order, with its errors, and without a break."""

import itertools
import math
import operator
from collections import UserDict, namedtuple
from collections.abc import Mapping

import pytest
import torch

import lect
from tests.e2e.support import same, stops


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


class Quantity:
    """A tensor with a unit that answers to everything."""

    def __init__(self, value, log):
        self.value, self.log = value, log

    def __abs__(self):
        self.log.append("abs")
        return self.value.abs()

    def __round__(self, digits=None):
        self.log.append(("round", digits))
        return self.value.round() if digits is None else digits

    def __divmod__(self, other):
        return self.value // other, self.value % other

    def __rdivmod__(self, other):
        return other // self.value, "reflected"

    def __pow__(self, exponent, modulus=None):
        return self.value**exponent if modulus is None else (exponent, modulus)

    def __rpow__(self, base):
        return base**self.value

    def __int__(self):
        self.log.append("int")
        return 3

    def __float__(self):
        return 2.5

    def __index__(self):
        return 1

    def __floor__(self):
        return self.value.floor()

    def __ceil__(self):
        return self.value.ceil()

    def __trunc__(self):
        return self.value.trunc()

    def __reversed__(self):
        yield self.value
        yield 2

    def __hash__(self):
        self.log.append("hash")
        return 1 << 62

    def __eq__(self, other):
        return other is self


class OnlyIndex:
    def __index__(self):
        return 7


class Broken:
    def __abs__(self):
        raise ValueError("no size")

    def __divmod__(self, other):
        return NotImplemented


def everything(x):
    log = []
    q = Quantity(x, log)
    numbers = int(q), float(q), operator.index(q), int(OnlyIndex()), float(OnlyIndex()), hash(q), hash((1, "a", q, (None, q)))
    halves = abs(q), round(q), round(q, 2), round(q, None), divmod(q, 2), divmod(3.0, q)
    return numbers, halves, pow(q, 2), pow(q, 2, 5), q**3, 2.0**q, math.floor(q), math.ceil(q), math.trunc(q), list(reversed(q)), log


def errors(x):
    found = []
    for act in (lambda: abs(Broken()), lambda: divmod(Broken(), 2), lambda: divmod(2, Broken()), lambda: abs(object()), lambda: round("a"), lambda: int([])):
        try:
            act()
        except (ValueError, TypeError) as error:
            found.append((type(error).__name__, str(error)))
    return x + 1, found


class Squares:
    """A sequence of the old kind, which has no `__iter__`."""

    def __init__(self, x, length):
        self.x, self.length, self.asked = x, length, []

    def __getitem__(self, index):
        self.asked.append(index)
        if index >= self.length:
            raise IndexError(index)
        return self.x * index


def sequences(x):
    squares = Squares(x, 3)
    first, second = iter(squares), iter(squares)
    seen = [next(first), next(second), next(first)]
    squares.length = 4
    rest = list(first)
    squares.length = 6
    return seen, rest, list(first), list(second), squares.asked, [a + b for a, b in zip(squares, itertools.repeat(x, 2))]


def an_iterator_that_is_returned(x):
    squares = Squares(x, 3)
    iterator = iter(squares)
    next(iterator)
    return list(iterator), iterator, squares.asked


Pair = namedtuple("Pair", "left right")


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Shouting(UserDict):
    """A mapping that patterns ask by `get`."""

    asked: list = []

    def get(self, key, default=None):
        self.asked.append(key)
        return super().get(key, default)


class Twice:
    __match_args__ = ("x", "x")
    x = 1


class Listed:
    __match_args__ = ["x"]  # noqa: RUF012
    x = 1


class Unnamed:
    __match_args__ = (None,)


def shape_of(value):
    match value:
        case 1 | 2:
            return "number"
        case str() as text:
            return text
        case Point(0, y):
            return "axis", y
        case Point(x=x, z=z):
            return x, z
        case Point(x, y):
            return x, y
        case Pair(left=left):
            return "pair", left
        case {"kind": kind, **rest}:
            return kind, rest
        case [first, *others] if len(others) > 1:
            return first, others
        case [_, (a, b)]:
            return a, b
        case None:
            return "none"
        case int(n) | float(n):
            return "n", n
    return "other"


def patterns(x):
    subjects = [1, "a", Point(0, x), Point(3, x), Pair(1, x), {"kind": x, "b": 2}, [1, 2, x], (1, (2, x)), None, 2.5, 7, b"1", {1}, Shouting(kind=3), range(4)]
    return [shape_of(each) for each in subjects]


def positional_parts(value, cls):
    match value:
        case cls(a):
            return a
    return None


def two_parts(value, cls):
    match value:
        case cls(a, b):
            return a, b
    return None


def wrong_patterns(x):
    found = []
    for act in (
        lambda: two_parts(Twice(), Twice),
        lambda: positional_parts(Listed(), Listed),
        lambda: positional_parts(Unnamed(), Unnamed),
        lambda: positional_parts(range(3), range),
        lambda: two_parts(3, int),
        lambda: positional_parts(3, 3),
    ):
        try:
            found.append(act())
        except TypeError as error:
            found.append(str(error))
    return x + 1, found


@pytest.mark.parametrize("program", [everything, errors, sequences, patterns, wrong_patterns], ids=lambda program: program.__name__)
def test_followed_without_a_break(program):
    compiled = lect.compile(program)
    for _ in range(2):
        x = torch.tensor([0.5, -1.25, 2.0])
        Shouting.asked.clear()
        want, asked = program(x), list(Shouting.asked)
        Shouting.asked.clear()
        same(want, compiled(x))
        assert asked == Shouting.asked
    assert stops() == []


def test_an_iterator_over_a_sequence_outlives_the_call():
    compiled = lect.compile(an_iterator_that_is_returned)
    x = torch.randn(2)
    (want, _, asked), (got, iterator, asked_too) = an_iterator_that_is_returned(x), compiled(x)
    same((want, asked), (got, asked_too))
    assert list(iterator) == []


def test_a_mapping_pattern_with_one_key_twice():
    class Keys:
        name = "a"

    def program(x, table):
        match table:
            case {Keys.name: first, "a": second}:
                return x + first + second
        return x

    with pytest.raises(ValueError, match="checks duplicate key"):
        lect.compile(program)(torch.ones(2), {"a": 1, "b": 2})
    same(program(torch.ones(2), {"b": 1}), lect.compile(program)(torch.ones(2), {"b": 1}))


class Counting(Mapping):
    """A mapping in Python."""

    def __init__(self, **items):
        self.items_, self.reads = items, []

    def __getitem__(self, key):
        self.reads.append(key)
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)


def test_mappings_in_python_are_asked_as_often_as_in_eager():
    def program(x, table):
        match table:
            case {"a": first, "b": second}:
                return x * first + second
        return x

    reads = []
    for run in (program, lect.compile(program)):
        tables = [Counting(a=1, b=2), Counting(a=1)]
        same([program(torch.ones(2), Counting(a=1, b=2)), torch.ones(2)], [run(torch.ones(2), table) for table in tables])
        reads.append([table.reads for table in tables])
    assert reads[0] == reads[1]


class Finalised:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("gone")


def test_a_variable_that_lets_go_of_an_object_with_a_finaliser():
    def program(x, log):
        thing = Finalised(log)
        log.append("made")
        del thing
        log.append("deleted")
        other = Finalised(log)
        other = None
        log.append(other)
        return x + 1

    want, got = [], []
    same(program(torch.ones(2), want), lect.compile(program)(torch.ones(2), got))
    assert want == got


@pytest.mark.parametrize("program", [lambda a: a * 2, lambda a: 3 - a / 2, lambda a: (2**a).sum() + 1, lambda a: torch.where(a > 0, a, 0.5) // 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_vmap_of_arithmetic_with_numbers(program, dtype):
    x = torch.randint(-3, 4, (3, 4)).to(dtype)
    mapped = torch.func.vmap(program)
    same(mapped(x), lect.compile(lambda x: torch.func.vmap(program)(x))(x))
    assert stops() == []


class Teller:
    """A descriptor that makes the method of the class it stands in."""

    calls = 0

    def __get__(self, instance, owner=None):
        def method(*args):
            self.calls += 1
            raise AttributeError(*args)

        return method


def getattribute_that_is_no_function(x):
    class Odd:
        __getattribute__ = Teller()

    return x, getattr(Odd(), "name", "none"), vars(Odd)["__getattribute__"].calls


def setattr_that_is_a_method_of_another_name(x):
    class Odd(dict):
        __setattr__ = dict.__setitem__

    made = Odd()
    made.y = x + 1
    return made["y"], dict(made)


def object_setattr_of_a_class(x):
    class Meta(type):
        def __setattr__(cls, name, value):
            object.__setattr__(cls, name, value)

    class Odd(metaclass=Meta):
        pass

    try:
        Odd.y = 1
    except TypeError as error:
        return x, str(error)
    return x, Odd.y


def names_that_are_no_texts(x):
    errors = []
    for function in (getattr, object.__getattribute__, object.__delattr__):
        try:
            function(torch.nn.Identity(), 3)
        except TypeError as error:
            errors.append(str(error))
    return x * 2, errors


def context_manager_past_getattribute(x):
    class Odd:
        entered = 0

        def __getattribute__(self, name):
            raise ValueError(name)

        __enter__ = staticmethod(lambda: x + 1)
        __exit__ = staticmethod(lambda *args: True)

    with Odd() as y:
        raise KeyError(y)
    return y


@pytest.mark.parametrize(
    "function",
    [
        *(getattribute_that_is_no_function, setattr_that_is_a_method_of_another_name, object_setattr_of_a_class, names_that_are_no_texts),
        context_manager_past_getattribute,
    ],
)
def test_special_methods_that_are_no_plain_functions(function):
    x = torch.randn(3)
    same(function(x), lect.compile(function)(x))
    assert "LB0020" not in stops()
