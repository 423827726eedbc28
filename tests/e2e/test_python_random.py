"""Python's `random` in compiled functions: eager's numbers, in eager's order, and a generator that is left as eager leaves it."""

import random

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions

OWN = random.Random(5)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    state = random.getstate()
    random.seed(3)
    yield
    random.setstate(state)
    lect.reset()


def check(function, calls=6, compiled=None):
    """Both start from the same state at each call."""
    compiled = compiled or lect.compile(function)
    for _ in range(calls):
        x = torch.randn(3)
        before = random.getstate(), OWN.getstate()
        want = function(x)
        behind = random.getstate(), OWN.getstate()
        random.setstate(before[0])
        OWN.setstate(before[1])
        same(want, compiled(x))
        assert (random.getstate(), OWN.getstate()) == behind


def scaled(x):
    return x * random.random() + random.random()


def branches(x):
    return x + 1 if random.random() < 0.5 else x - random.random()


def distributions(x):
    return x * random.uniform(2, 3) + random.gauss(0, 1), random.triangular(0, 1)


def small_integers(x):
    return x + random.randint(0, 3), random.getrandbits(5)


def seeded(x):
    random.seed(7)
    first = random.random()
    random.seed(11)
    return x * first, random.random()


def of_two_generators(x):
    return x * OWN.random() + random.random() - OWN.random()


def own_generator(x):
    generator = random.Random(9)
    items = [1, 2, 3, 4]
    generator.shuffle(items)
    return x * generator.random() + items[0], items, generator.choice("abc"), generator.sample(range(10), 3)


PROGRAMS = [scaled, branches, distributions, small_integers, seeded, of_two_generators, own_generator]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numbers_and_state(program):
    check(program)
    assert stops() == []


def test_numbers_make_no_versions():
    check(scaled, 8)
    assert versions() == 1


def test_branches_make_one_version_each():
    check(branches, 12)
    assert versions() == 2


def test_draws_around_a_break(capsys):
    def broken(x):
        y = x * random.random()
        print("between")
        return y + random.random(), random.random()

    check(broken)
    assert set(stops()) == {"LB0013"}


def test_draws_in_a_loop_and_in_callbacks():
    def looped(x):
        for _ in range(5):
            x = x + random.random()
        return [x * value for value in map(random.uniform, range(3), range(3, 6))]

    check(looped)
    assert stops() == []


def test_values_that_are_needed():
    def chosen(x):
        items = [x, x + 1, x + 2]
        return random.choice(items), torch.zeros(random.randint(1, 2))

    check(chosen, 10)


def test_more_draws_than_are_followed():
    def many(x):
        return x * sum(random.random() for _ in range(100))

    check(many, 3)


def test_a_draw_from_the_system_breaks():
    def seeded_by_the_system(x):
        random.seed()
        return x + 1

    lect.compile(seeded_by_the_system)(torch.ones(2))
    assert "LB0013" in stops()


def test_another_generator_is_another_version():
    def drawn(x, generator):
        return x * generator.random()

    compiled = lect.compile(drawn)
    for seed in (1, 2, 3):
        x = torch.randn(2)
        same(drawn(x, random.Random(seed)), compiled(x, random.Random(seed)))


def test_an_exception_of_the_generator():
    def wrong(x):
        try:
            random.getrandbits(-1)
        except ValueError as error:
            return x + 1, str(error)

    check(wrong, 2)
