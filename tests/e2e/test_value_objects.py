"""Dates, durations, decimal numbers and digests inside of compiled functions: values, identities of what is returned, exceptions, and no break."""

import datetime
import decimal
import hashlib
import itertools
import struct
import zlib
from datetime import timedelta
from decimal import Decimal

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def breaks() -> list[str]:
    return [event.number for event in lect.events("graph break")]


TIMEOUT = timedelta(hours=3)
STEP = Decimal("0.10")


def durations(x):
    wait = timedelta(days=1, seconds=5)
    return x * wait.total_seconds() + TIMEOUT.total_seconds(), -wait, wait * 2, wait / timedelta(hours=1), bool(wait), max(wait, TIMEOUT), sorted([wait, TIMEOUT])


def dates(x):
    day = datetime.date(2020, 1, 31) + timedelta(days=3)
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    other = datetime.datetime.fromisoformat("2024-01-02T03:04:05")
    known = {day: 2}
    return x * day.day, f"{day} {moment:}", str(other), moment.isoformat(), known[datetime.date(2020, 2, 3)], moment.replace(year=7), other - other, day.weekday()


def refused(x):
    try:
        datetime.date(2020, 13, 1)
    except ValueError as error:
        return x * 2, str(error)
    return x, ""


def decimals(x):
    price = Decimal("1.10") * 3 + STEP
    return x * float(price), price, str(price), price == Decimal("3.4"), int(price), -price, price.as_tuple(), f"{price}"


def digests(x):
    running = hashlib.sha256(b"a")
    other = running.copy()
    running.update(b"b")
    known = hashlib.md5(b"abc").hexdigest()
    return x * int(known[:2], 16), known, running.hexdigest(), other.digest(), hashlib.new("sha1", b"q").hexdigest(), zlib.crc32(b"a")


def stepped(x):
    following, letters = iter([1, 3]).__next__, iter("ab").__next__
    first = following()
    rest = []
    try:
        while True:
            rest.append(letters())
    except StopIteration:
        rest.append(following())
    return x * first, rest


PAIR = struct.Struct("<If")


def bytes_laid_out(x):
    first, second = PAIR.unpack(struct.pack("<If", 7, 0.5))
    short = struct.Struct(">H")
    return x * first * second, short.pack(3), short.size, PAIR.unpack_from(b"\0" + PAIR.pack(1, 2.0), 1), short.format


class Unhashed:
    def __eq__(self, other):
        return isinstance(other, Unhashed)


def pairs_in_order(x):
    named = {"b": x, "a": x + 1}
    try:
        hash(Unhashed())
    except TypeError as error:
        message = str(error)
    return [value for _, value in sorted(named.items(), reverse=True)], sorted([(2, Unhashed()), (1, None)])[0], message, itertools.tee("ab")[1].__next__()


@pytest.mark.parametrize("program", [bytes_laid_out, pairs_in_order, durations, dates, refused, decimals, digests, stepped], ids=lambda program: program.__name__)
def test_they_are_computed_while_the_frame_is_followed(program):
    compiled = lect.compile(program)
    for _ in range(2):
        x = torch.randn(3)
        same(program(x), compiled(x))
    assert breaks() == [] and fallbacks() == [] and len(lect.events("compile")) == 1


def test_digits_that_are_lost_and_the_context_are_the_calls_own():
    def program(x):
        return x * 2, Decimal(1) / 3, Decimal("1.25") * 5

    compiled = lect.compile(program)
    for digits in (5, 9, 2):
        with decimal.localcontext() as eager:
            eager.prec = digits
            want = program(torch.ones(1))
        with decimal.localcontext() as ctx:
            ctx.prec = digits
            same(want, compiled(torch.ones(1)))
            assert ctx.flags == eager.flags


def test_a_moment_that_is_another_one_in_each_call_makes_no_versions():
    def program(x, began):
        y = x * 2
        passed = datetime.datetime.now() - began
        return y + 1, passed > timedelta(0)

    compiled = lect.compile(program)
    for _ in range(6):
        got = compiled(torch.ones(2), datetime.datetime.now() - timedelta(seconds=1))
        assert got[0].tolist() == [3, 3] and got[1] is True
    assert fallbacks() == [] or set(fallbacks()) == {"LB0022"}
    assert len(lect.events("recompile")) == 0
    assert set(breaks()) == {"LB0003"}


class Zone(datetime.tzinfo):
    asked = 0

    def utcoffset(self, moment):
        Zone.asked += 1
        return timedelta(hours=1)

    def dst(self, moment):
        return None


def test_zones_of_the_program_run_their_code():
    def program(x, zone):
        moment = datetime.datetime(2024, 1, 1, tzinfo=zone)
        return x * 2, moment.utcoffset(), moment.isoformat()

    counts = []
    for run in (program, lect.compile(program)):
        Zone.asked = 0
        assert run(torch.ones(1), Zone())[1:] == (timedelta(hours=1), "2024-01-01T00:00:00+01:00")
        counts.append(Zone.asked)
    assert counts[0] == counts[1]
