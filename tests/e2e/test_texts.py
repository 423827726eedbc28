"""Texts of objects that show themselves: `str`, `repr`, f-strings, templates, exceptions and containers, as CPython puts them together."""

# ruff: noqa: UP031, UP032, PLE0307

import collections
import re

import pytest
import torch

import lect
from tests.e2e.support import same, stops


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Both:
    def __init__(self, value, log=None):
        self.value, self.log = value, log

    def __str__(self):
        if self.log is not None:
            self.log.append("str")
        return f"str of {self.value}"

    def __repr__(self):
        if self.log is not None:
            self.log.append("repr")
        return f"Both({self.value!r})"

    def __format__(self, spec):
        if self.log is not None:
            self.log.append(spec)
        return f"<{spec}|{self.value}>"


class OnlyRepr:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"OnlyRepr({self.value!r})"


class Wrong:
    def __str__(self):
        return 3


class Coded(Exception):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code

    def __str__(self):
        return f"{self.args[0]} ({self.code})"


class Plain(Exception):
    pass


def conversions(x, log):
    both, only = Both(x.shape[0], log), OnlyRepr([1, "a"])
    found = [str(both), repr(both), ascii(Both("ä")), f"{both}", f"{both:>8}", f"{both!r:>12}", format(both), format(both, "q")]
    found += [str(only), f"{only}", f"{only!s:<20}|", repr(only)]
    return x + 1, found


def templates(x, log):
    both, only = Both(2, log), OnlyRepr(None)
    found = ["%s and %r" % (both, only), "%s" % both, "%(a)s %(b)r" % {"a": both, "b": 3}, "{} {!r} {:x} {name}".format(both, only, both, name=only)]
    return x * 2, found


def containers(x, log):
    both, only = Both(1, log), OnlyRepr("b")
    found = [str([both, 1]), str((only,)), repr({"k": both, 2: [only, (both, None)]}), f"{[both]}", str({only}) if len({only}) == 1 else "", str([])]
    return x + len(found), found, str(collections.deque([only], maxlen=3))


def exceptions(x, log):
    found = []
    for make in (lambda: Coded("no", 7), lambda: Plain(Both(1, log)), lambda: Plain("a", OnlyRepr(2)), lambda: KeyError("k"), lambda: Plain(), lambda: OSError(2, "gone")):
        try:
            raise make()
        except Exception as error:
            found.append((str(error), repr(error), f"{error}", "%s" % error))
    try:
        {}[OnlyRepr(1).value, "z"]
    except KeyError as error:
        found.append((str(error), repr(error)))
    return x - 1, found


def notes(x, log):
    try:
        raise ValueError("bad")
    except ValueError as error:
        error.add_note("first")
        error.add_note("second")
        return x + 1, error.__notes__, str(error)


def wrong_texts(x, log):
    found = []
    for make in (
        lambda: str(Wrong()),
        lambda: f"{OnlyRepr(1):>3}",
        lambda: "%s" % Wrong(),
        lambda: format(1, "zz"),
        lambda: format(Both(1), 3),
    ):
        try:
            found.append(make())
        except (TypeError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return x, x + 1, found


def replaced(x, log):
    def double(match):
        log.append(match.group())
        return match.group() * 2

    found = [re.sub("[a-c]", double, "abcd"), re.subn("x*", lambda match: "-", "axb", count=2), re.compile("b").sub(double, "abab", 1)]
    return x + 1, found


PROGRAMS = [conversions, templates, containers, exceptions, notes, wrong_texts, replaced]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_texts(program):
    compiled = lect.compile(program)
    for _ in range(3):
        x = torch.randn(3)
        wanted, found = [], []
        same(program(x, wanted), compiled(x, found))
        assert wanted == found
    assert stops() == []


def test_what_an_object_says_is_guarded():
    def shown(x, thing):
        return x + len(str(thing)), f"{thing}"

    compiled = lect.compile(shown)
    for value in (1, 22, 22, 333):
        x = torch.randn(2)
        same(shown(x, Both(value)), compiled(x, Both(value)))
    plain = Both.__str__
    Both.__str__ = lambda self: "another text"
    try:
        same(shown(torch.ones(2), OnlyRepr(1)), compiled(torch.ones(2), OnlyRepr(1)))
        assert compiled(torch.ones(2), Both(1))[0].tolist() == [13.0, 13.0]
    finally:
        Both.__str__ = plain


def test_texts_of_tensors_and_addresses_break():
    def shown(x):
        return x + 1, [str(Both(x.sum())) for _ in range(1)], repr([x])

    compiled = lect.compile(shown)
    for _ in range(2):
        x = torch.randn(2)
        same(shown(x), compiled(x))
    assert "LB0019" in stops()


def test_text_of_a_container_that_contains_itself():
    def shown(x):
        rows = [Both(1)]
        rows.append(rows)
        return x + 1, str(rows)

    compiled = lect.compile(shown)
    same(shown(torch.ones(2)), compiled(torch.ones(2)))
