"""Keys and items that code of the program hashes and compares, where C code looks for them: it runs as often and sees the same as in eager."""

import functools
import itertools
import types
from collections import OrderedDict, deque

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


class Key:
    """All keys have one hash; `log` gets what is compared."""

    log: list[tuple[int, int]] = []

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return 1

    def __eq__(self, other):
        Key.log.append((self.number, getattr(other, "number", other)))
        return self.number == getattr(other, "number", other)


def numbers(found):
    return sorted(getattr(each, "number", each) for each in found)


FIRST, SECOND = {Key(1), Key(2)}, {Key(2), Key(3)}
TABLE = {Key(1): 1.0, Key(3): 2.0}
OPERATIONS = """a | b; a & b; a - b; a ^ b; a == b; a <= b; a > {1}; a.isdisjoint(b); a.issubset(b); a.issuperset(b); a.union([2]); set.intersection(a, b)
frozenset(a) | b; a.update(b); a.__ior__(b); a.difference_update(b); a.symmetric_difference_update(b); a.intersection_update(b); 1 in a; 1 in d; d.get(1)
d.keys() & a; d == dict(d); a.discard(1); d.pop(1, None); d.setdefault(1, 5.0); {**d}; {*a, *b}
set(list(a)); frozenset([*a, *b]); dict.fromkeys([*a, *b]); dict([(k, 1) for k in a]); dict(d.items()); OrderedDict(d); OrderedDict.fromkeys(list(a))
d.update(dict.fromkeys(a)); d.__ior__(d.copy()); d.update([(k, 2.0) for k in b]); [*a].remove(max(a, key=numbered)); deque(b).remove(max(b, key=numbered))"""


@pytest.mark.parametrize("text", OPERATIONS.replace("\n", "; ").split("; "))
def test_sets_and_dictionaries_with_keys_of_the_program(text):
    names: dict[str, types.FunctionType] = {}
    given = {"OrderedDict": OrderedDict, "deque": deque, "numbered": lambda key: key.number}
    exec(f"def program(x, a, b, d):\n    r = {text}\n    return x * 2, r if type(r) in (bool, int, float) else None", given, names)
    program, results = names["program"], []
    for run in (program, lect.compile(program)):
        logs = []
        for _ in range(2):
            given = (FIRST.copy(), SECOND.copy(), dict(TABLE))
            Key.log.clear()
            value = run(torch.ones(2), *given)
            logs.append((value, list(Key.log), *map(numbers, given)))
        results.append(logs)
    same(*results)
    assert "LB0020" not in fallbacks()


class TakesOut:
    """Comparing it takes what it is compared for out of a container."""

    def __init__(self, container):
        self.container = container

    def __eq__(self, other):
        if self.container:
            self.container.pop()
        return False


def outcome(run, *args):
    try:
        return run(*args)
    except Exception as error:
        return type(error), str(error)


SEARCHES = [lambda d: 3 in d, lambda d: d.count(3), lambda d: d.index(3)]


@pytest.mark.parametrize("kind", [list, deque])
@pytest.mark.parametrize("number", range(len(SEARCHES)))
def test_searches_in_what_a_comparison_changes(kind, number):
    def program(x):
        held = kind([1, 2])
        held.append(TakesOut(held))
        held.extend([3, 4])
        return x + 1, SEARCHES[number](held), len(held)

    same(outcome(program, torch.ones(2)), outcome(lect.compile(program), torch.ones(2)))


class Odd(dict):
    def __contains__(self, key):
        return key == "magic"

    def __getitem__(self, key):
        return 10 * dict.__getitem__(self, key)

    def __len__(self):
        return 7

    def get(self, key, default=None):
        return "got"


def reads(view):
    return "magic" in view, "key" in view, view["key"], len(view), view.get("key"), list(view)


def test_views_of_mappings_with_methods_of_the_program():
    def program(x, view):
        made = types.MappingProxyType(Odd(key=2))
        return x * 2, reads(view), reads(made)

    def view():
        return types.MappingProxyType(Odd(key=1))

    compiled = lect.compile(program)
    for _ in range(2):
        same(program(torch.ones(2), view()), compiled(torch.ones(2), view()))
    assert "LB0020" not in fallbacks()


def test_names_that_executed_text_binds_in_several_ways():
    def program(x):
        names = {"x": x}
        exec("def f():\n    global y\n    y = x + 1\nf()\nz = [w := y * n for n in (2, 3)]\nd = w", names)
        return names["y"], names["z"], names["w"], names["d"]

    x = torch.randn(3)
    same(program(x), lect.compile(program, fullgraph=True)(x))


def test_members_of_classes_in_c_that_cannot_be_written():
    def program(x, partial):
        try:
            partial.func = max
        except AttributeError as error:
            return x + 1, str(error)
        return x

    given = functools.partial(min, 1)
    same(program(torch.ones(2), given), lect.compile(program)(torch.ones(2), given))


def test_errors_that_are_made_of_errors_keep_them():
    class Named:
        def __set_name__(self, owner, name):
            raise ValueError(name)

    def program(x):
        try:
            type("Made", (), {"entry": Named()})
        except (RuntimeError, ValueError) as error:
            inner = error.__context__ or error
            return x * 2, str(error), str(inner), type(inner)

    same(program(torch.ones(2)), lect.compile(program)(torch.ones(2)))


class NoInstance(Exception):
    def __new__(cls, *args):
        return cls if not args else super().__new__(cls, *args)

    def __init__(self, *args):
        raise KeyError(args)


@pytest.mark.parametrize("given", [(), ("text",)])
def test_what_throw_raises_when_there_is_no_instance(given):
    def program(x):
        log = []

        def steps():
            try:
                yield 1
            except TypeError as error:
                log.append(str(error))
                yield 2
            except KeyError as error:
                log.append(error.args)
                yield 3

        generator = steps()
        next(generator)
        return x * generator.throw(NoInstance, *given), log

    same(program(torch.ones(2)), lect.compile(program)(torch.ones(2)))


@pytest.mark.parametrize("maker", [map, itertools.takewhile, itertools.dropwhile, itertools.starmap, filter, itertools.filterfalse, itertools.groupby])
def test_iterators_that_call_none(maker):
    def program(x):
        items = [(1, 2), (3, 4)]
        made = maker(items, None) if maker is itertools.groupby else maker(None, items)
        return x + 1, [each[0] for each in made]

    same(outcome(program, torch.ones(2)), outcome(lect.compile(program), torch.ones(2)))


def test_executed_text_with_builtins_of_its_own():
    def program(x):
        names = {"__builtins__": {"twice": lambda y: y * 2}}
        try:
            exec("y = twice(3)\nz = len([])", names)
        except NameError as error:
            return x + names["y"], str(error)
        return x

    same(program(torch.ones(2)), lect.compile(program)(torch.ones(2)))
    assert "LB0020" not in fallbacks()


class Clears:
    """Equal to nothing, and empties a dictionary when it is asked."""

    def __init__(self, other):
        self.other = other

    def __hash__(self):
        return 0

    def __eq__(self, other):
        self.other.clear()
        return False


def test_a_dictionary_that_changes_while_its_items_are_added_to_another():
    def program(x, table, other):
        try:
            table.update(other)
        except RuntimeError as error:
            return x, str(error), len(table), len(other)
        return x, len(table)

    results = []
    for run in (program, lect.compile(program)):
        other = dict.fromkeys(range(1, 20))
        other[Clears(other)] = 0
        results.append(run(torch.ones(2), {Clears(other): 0, 1: 1}, other))
    same(*results)
    assert len(results[0]) == 4
