"""Programs that do much in Python, nest deep, or keep many objects: following them ends, the values are right, and it takes no time out of proportion."""

import itertools
import sys

import pytest
import torch

import lect
from lect.dialects.pyframe import building
from lect.dialects.pyframe import ops as py
from lect.frontends.capture.iteration import MAX_ITEMS
from lect.frontends.capture.residual import MAX_MADE
from lect.frontends.capture.spilling import FAR, MANY, keep_in_variables
from lect.ir import Block
from tests.e2e.support import same

X = torch.arange(6.0).reshape(2, 3) - 2.5


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def check(program, *inputs, calls=2):
    """As eager for some calls; gives the numbers of all events."""
    compiled = lect.compile(program)
    for _ in range(calls):
        same(program(*inputs), compiled(*inputs))
    return [event.number for event in lect.events("graph break", "fallback") if event.number != "LB0022"]


@pytest.mark.parametrize("count", [0, 1, 30, 31, 300])
@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, dict])
def test_containers_of_any_length_behind_a_cut(kind, count):
    """They are made again, with their order and with the objects that are in several of them."""

    def program(x):
        rows = [[number] for number in range(count)]
        numbers = kind((number, str(number)) for number in range(count))
        again, backwards = kind is tuple and tuple(rows), rows[::-1]
        by_key = {number: row for number, row in enumerate(rows)}
        y = x * 2
        print(end="")
        for number, row in by_key.items():
            row.append(rows[number] is row and backwards[count - 1 - number] is row)
        return y, list(numbers), rows, backwards, again

    numbers = check(program, X, calls=1)
    assert numbers == ["LB0013"] or kind in (set, frozenset)


def test_sets_keep_their_order():
    """It hangs on what was in them before, not on their items alone."""

    def program(x, given):
        made = {number * 8 for number in range(10, 0, -1)}
        made.discard(8)
        made.add(1024)
        frozen = frozenset(made | {5, 13, 21})
        y = x * 2
        print(end="")
        made.add(16384)
        given.add(3)
        given.discard(64)
        z = y + sum(number * value for number, value in enumerate(given))
        return z, list(made), list(frozen), list(given)

    for given in ({64, 8, 0}, {0, 8, 64}, {1}, set(range(100, 0, -9))):
        lect.reset()
        compiled = lect.compile(program)
        for _ in range(2):
            same(program(X, _as_filled(given)), compiled(X, _as_filled(given)))


def _as_filled(given):
    """A new set with the same history each time."""
    made = set()
    for item in [*sorted(given), *sorted(given)[::-1]]:
        made.discard(item) if item in made else made.add(item)
    made.update(sorted(given))
    return made


def test_constants_of_long_containers_keep_their_types_and_signs():
    def program(x):
        values = [0.0, -0.0, 1, True, 1.0, None, "a", b"a", 1j, float("inf")] * 10
        copied, twice = values[:], tuple(values) + (x,)
        print(end="")
        return [(type(value), str(value)) for value in copied], twice[-1] + 1, values == copied, values is copied

    assert check(program, X, calls=1) == ["LB0013"]


def test_more_objects_than_are_made_again():
    """The frame runs as it is written."""

    def program(x):
        rows = [[number] for number in range(MAX_MADE + 10)]
        print(end="")
        return x + 1, len(rows), rows[-1]

    assert check(program, X, calls=1) == ["LB0013"]
    (event,) = lect.events("fallback")
    assert f"more than {MAX_MADE} objects" in event.detail


def test_iterator_of_more_items_than_are_followed():
    def program(x):
        front, back = itertools.tee(itertools.repeat(None, MAX_ITEMS + 10))
        found = any(front)
        del back
        return x + 1, found

    assert check(program, X, calls=1) == ["LB0031"]


def descend(x, depth):
    return x if depth == 0 else descend(x + 1, depth - 1)


@pytest.mark.parametrize("depth", [5, 100, 250, 500])
def test_recursion_that_fits_the_stack(depth):
    """What CPython has room for is no RecursionError when it is compiled."""

    def program(x):
        return descend(x, depth) * 2

    assert set(check(program, X, calls=1)) <= {"LB0031"}


@pytest.mark.parametrize("depth", [5, 40, 100, 200])
def test_cut_deep_inside_of_calls(depth):
    def inner(x, left):
        if left:
            return inner(x + 1, left - 1)
        print(end="")
        return x * 3

    def program(x):
        return inner(x, depth) - 1

    numbers = check(program, X, calls=1)
    assert set(numbers) <= {"LB0013", "LB0031"}
    assert ("LB0031" in numbers) == (depth > 50)


def endless(x):
    return endless(x + 1)


def test_recursion_that_never_ends():
    def program(x):
        try:
            return endless(x)
        except RecursionError as error:
            return x * 2, str(error)

    assert set(check(program, X, calls=1)) == {"LB0031"}


def test_recursion_limit_of_the_program():
    """A lower limit than that of capture holds."""

    def program(x):
        try:
            return descend(x, 120)
        except RecursionError:
            return x * 2

    def limited(function):
        frame, used = sys._getframe(), 0
        while frame is not None:
            frame, used = frame.f_back, used + 1
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(used + 100)
        try:
            return function(X)
        finally:
            sys.setrecursionlimit(before)

    same(X * 2, limited(program))
    same(X * 2, limited(lect.compile(program)))


@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"inner": inner}])
@pytest.mark.parametrize("depth", [50, 5_000])
def test_containers_in_containers(make, depth):
    """C code has a limit of its own for them."""
    outer: object = 1
    for _ in range(depth):
        outer = make(outer)

    def program(x, value):
        try:
            return x * 2, value == value, len(repr(value)) > 3
        except RecursionError:
            return x * 3

    numbers = check(program, X, outer, calls=1)
    assert set(numbers) <= {"LB0019"}
    assert "LB0020" not in numbers


def test_values_used_far_apart_are_kept_in_variables():
    block = Block()
    values = [block.append(building.BuildListOp([])).results[0] for _ in range(MANY)]
    for value in values:
        block.append(building.ListAppendOp(value, values[0]))
    for _ in range(FAR):
        block.append(py.LoadConstOp(None))
    uses = [block.append(building.BuildTupleOp([value])) for value in (*values, *values)]
    names = keep_in_variables(block)
    assert len(names) == MANY
    stored = {op.value: op.id for op in block if op.name == "pyframe.store_local"}
    assert list(stored) == values
    for number, use in enumerate(uses):
        assert use.operands[0].owner.name == "pyframe.load_local"
        assert use.operands[0].owner.id == stored[values[number % MANY]]
    order = list(block)
    for value in values[1:]:
        filled = next(op for op in order if op.name == "pyframe.list_append" and op.operands[0] is value)
        assert order.index(filled) < order.index(next(op for op in order if op.name == "pyframe.store_local" and op.operands[0] is value))


def test_few_values_stay_on_the_stack():
    block = Block()
    value = block.append(building.BuildListOp([])).results[0]
    for _ in range(2 * FAR):
        block.append(py.LoadConstOp(None))
    for _ in range(2):
        block.append(building.BuildTupleOp([value]))
    assert keep_in_variables(block) == ()
