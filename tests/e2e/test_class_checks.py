"""`isinstance` and `issubclass` of objects that say themselves of what class they are, and capture that must not ask them on its own."""

import abc
import typing

import pytest
import torch

import lect
from tests.e2e.support import same

X = torch.arange(6.0).reshape(2, 3) - 2.5


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def check(program, make, calls=2):
    """The compiled program gives, raises and asks what the uncompiled one does, with objects of its own; gives the numbers of all events."""
    compiled = lect.compile(program)
    for _ in range(calls):
        results = []
        for each in (program, compiled):
            asked = []
            try:
                results.append((each(X, make(asked), asked), asked))
            except Exception as error:
                results.append((type(error), str(error), asked))
        same(results[0], results[1])
    numbers = [event.number for event in lect.events("graph break", "fallback")]
    assert "LB0020" not in numbers
    return numbers


class Told:
    """Says that it is of the class it was given, and notes each question."""

    def __init__(self, says, asked, error=None):
        self.says = says
        self.asked = asked
        self.error = error

    @property
    def __class__(self):
        self.asked.append("class")
        if self.error is not None:
            raise self.error
        return self.says


def checks(x, value, asked):
    return x * 2, isinstance(value, dict), isinstance(value, (list, tuple)), isinstance(value, int | str), isinstance(value, Told)


@pytest.mark.parametrize("says", [dict, list, int, str, bool, Told])
def test_class_that_an_object_says_it_is_of(says):
    assert check(checks, lambda asked: Told(says, asked)) == []


@pytest.mark.parametrize("error", [RuntimeError, AttributeError, KeyError, StopIteration])
def test_exception_of_a_class_property(error):
    numbers = check(checks, lambda asked: Told(dict, asked, error))
    assert set(numbers) <= {"LB0012"}


def test_abstract_class_asks_once_more():
    class Abstract(abc.ABC):  # noqa: B024
        pass

    def program(x, value, asked):
        return x + 1, isinstance(value, Abstract), isinstance(value, (Abstract, dict))

    check(program, lambda asked: Told(dict, asked))
    Abstract.register(Told)
    lect.reset()
    check(program, lambda asked: Told(dict, asked))


class Noting:
    """Notes every attribute that is asked for."""

    def __init__(self, asked):
        object.__setattr__(self, "asked", asked)
        object.__setattr__(self, "scale", 3.0)

    def __getattribute__(self, name):
        object.__getattribute__(self, "asked").append(name)
        return object.__getattribute__(self, name)


def test_capture_asks_an_object_for_nothing():
    """Only what the program asks for is seen, however the object is used."""

    def program(x, value, asked):
        kept = [value, {"key": value}, (value,)]
        again = kept[0] is value and value == value and value is not None
        for item in kept[2]:
            x = x * item.scale
        return x, again, bool(value), type(value) is Noting, len(asked)

    assert check(program, Noting) == []


def test_lying_object_is_no_container():
    """An object that says that it is a dictionary or a list is none for capture."""

    def program(x, value, asked):
        kept = {"value": value}
        kept.update(other=value)
        found = value in [value], [value] == [value], (value,) + (1,)
        return x - 1, found[0], found[1], len(found[2]), sorted(kept)

    for says in (dict, list, tuple, set, str):
        lect.reset()
        check(program, lambda asked: Told(says, asked))


class Bases:
    """An object with bases, like a class."""

    def __init__(self, bases, asked):
        self.bases = bases
        self.asked = asked

    @property
    def __bases__(self):
        self.asked.append(len(self.asked))
        if isinstance(self.bases, Exception):
            raise self.bases
        return self.bases


def test_subclass_of_objects_with_bases():
    def program(x, value, asked):
        inner = Bases((value, dict), asked)
        return x * 2, issubclass(inner, int), issubclass(inner, (str, dict)), issubclass(inner, value), isinstance(x, value)

    for bases in ((), (int,), (str, int), 5, None, [int]):
        lect.reset()
        check(program, lambda asked: Bases(bases, asked))


@pytest.mark.parametrize("error", [AttributeError("no"), RuntimeError("no"), TypeError("no")])
def test_exception_of_a_bases_property(error):
    for number in range(3):
        lect.reset()

        def program(x, value, asked):
            if number == 0:
                return x + 1, issubclass(value, int)
            if number == 1:
                return x + 1, issubclass(int, value)
            return x + 1, isinstance(x, value)

        check(program, lambda asked: Bases(error, asked))


def test_hook_of_an_abstract_class_runs_when_the_program_asks():
    asked_of = []

    class Hooked(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other):
            asked_of.append(other)
            return NotImplemented

    class Scaled:
        scale = 2.0

    def program(x, value):
        return x * 2, isinstance(value, Hooked), issubclass(Scaled, Hooked)

    def asks(function):
        asked_of.clear()
        Hooked.register(type("Other", (), {}))  # forgets that it was said no
        return function(X, Scaled()), len(asked_of)

    compiled = lect.compile(program)
    for _ in range(3):
        same(asks(program), asks(compiled))


def test_generic_aliases_raise_as_they_do():
    def program(x, value, asked):
        return x * 2, isinstance(asked, list[int])

    check(program, lambda asked: None)

    def unions(x, value, asked):
        return x * 2, isinstance(value, typing.Optional[int]), issubclass(bool, typing.Union[int, str]), issubclass(typing.List, typing.List | typing.Tuple)  # noqa: UP006, UP007, UP045

    lect.reset()
    check(unions, lambda asked: 3)


def endless(depth):
    """A tuple in tuples."""
    found = (int,)
    for _ in range(depth):
        found = (found,)
    return found


@pytest.mark.parametrize("depth", [5, 150, 5_000])
def test_classes_in_tuples_in_tuples(depth):
    classes = endless(depth)

    def program(x, value, asked):
        try:
            return x * 2, isinstance(value, classes), issubclass(bool, classes)
        except RecursionError:
            return x * 3

    check(program, lambda asked: 3)


def test_bases_that_never_end():
    """Following the program ends, and what is raised then is CPython's."""

    class Failure:
        def __getattr__(self, name):
            return (self, None)

    def program(x, value, asked):
        try:
            return x * 2, issubclass(value, int)
        except RecursionError:
            return x * 3

    check(program, lambda asked: Failure(), calls=1)
