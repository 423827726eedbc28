"""Look-ups in dictionaries and sets: keys of every kind, containers whose class redefines how they are read, and what they are guarded by."""

import enum
import types
import typing
from collections import OrderedDict

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class First:
    pass


class Second:
    pass


class Loud(dict):
    """A dictionary that reads, asks and counts in Python."""

    def __getitem__(self, key):
        return super().__getitem__(key) * 10

    def __contains__(self, key):
        return super().__contains__(key)

    def __len__(self):
        return 100


class Backwards(list):
    def __getitem__(self, number):
        return super().__getitem__(-1 - number)


class Hashed:
    """Its hash is code of the program."""

    def __hash__(self):
        return 7


TABLE = {}
LOUD = Loud()
CHOICE = types.SimpleNamespace()


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    TABLE.clear()
    TABLE.update({First: 2.0, Second: 3.0, torch.float32: 5.0, torch.device("cpu"): 8.0, Colour.RED: 7.0, ("a", First): 4.0, ("a", Second): 1.5})
    TABLE.update({typing.Any: 1.25, torch.relu: 6.0, ("b", 1): 9.0})
    LOUD.clear()
    LOUD.update(a=2.0, b=3.0)
    vars(CHOICE).clear()
    vars(CHOICE).update(kind=First, colour=Colour.RED, function=torch.relu, pair=("a", First))
    yield
    lect.reset()


def follows(fn, change, expected=2):
    """Twice, then a change, then again: always eager's value, by `expected` versions and no fallback."""
    compiled = lect.compile(fn, options={"level": "fx"})
    x = torch.randn(3)
    for _ in range(2):
        same(fn(x), compiled(x))
    change()
    same(fn(x), compiled(x))
    assert stops() == []
    assert versions() == expected


def test_class_as_key_of_a_new_dictionary():
    follows(lambda x: x * {First: 1.0, Second: 2.0}[CHOICE.kind], lambda: setattr(CHOICE, "kind", Second))


def test_class_as_key_of_a_global_dictionary():
    follows(lambda x: x * TABLE[CHOICE.kind], lambda: setattr(CHOICE, "kind", Second))


def test_value_under_a_class_changes():
    follows(lambda x: x * TABLE[First], lambda: TABLE.__setitem__(First, 11.0))


def test_class_in_a_set():
    follows(lambda x: x + 1 if CHOICE.kind in {Second} else x - 1, lambda: setattr(CHOICE, "kind", Second))


def test_member_of_an_enumeration_as_key():
    follows(lambda x: x * TABLE[CHOICE.colour] if CHOICE.colour in TABLE else x - 1, lambda: setattr(CHOICE, "colour", Colour.BLUE))


def test_key_that_was_missing_appears():
    follows(lambda x: x * TABLE.get(Colour.BLUE, 2.0), lambda: TABLE.__setitem__(Colour.BLUE, 3.0))


def test_dtypes_and_devices_as_keys():
    follows(lambda x: x * TABLE[x.dtype] * TABLE[x.device], lambda: TABLE.__setitem__(torch.float32, 6.0))


def test_function_as_key():
    follows(lambda x: x * TABLE[CHOICE.function], lambda: TABLE.__setitem__(torch.relu, 0.5))


def test_tuples_as_keys():
    follows(lambda x: x * TABLE["a", CHOICE.kind] * TABLE["b", 1], lambda: setattr(CHOICE, "kind", Second))


def test_tuple_that_was_there_before_as_key():
    follows(lambda x: x * TABLE[CHOICE.pair], lambda: setattr(CHOICE, "pair", ("a", Second)))


def test_annotations_as_keys():
    follows(lambda x: x * TABLE.get(typing.Any, 3.0) * TABLE.get(typing.Optional[int], 3.0), lambda: TABLE.pop(typing.Any))  # noqa: UP007, UP045


def test_all_items_of_a_dictionary_with_keys_of_every_kind():
    follows(lambda x: x * sum(TABLE.values()), lambda: TABLE.__setitem__(("b", 1), 1.0))


def test_an_unrelated_key_changes():
    follows(lambda x: x * TABLE[First], lambda: TABLE.__setitem__(Second, -3.0), expected=1)


def test_dictionary_that_is_read_in_python():
    follows(lambda x: x * LOUD["a"] if "a" in LOUD else x - 1, lambda: dict.__setitem__(LOUD, "a", 5.0))


def test_key_leaves_a_dictionary_that_is_asked_in_python():
    follows(lambda x: x * LOUD["a"] if "a" in LOUD else x - 1, lambda: LOUD.pop("a"))


def test_tensor_in_a_dictionary_that_is_read_in_python():
    held = Loud(weight=torch.randn(3))
    follows(lambda x: x + held["weight"] + len(held), lambda: held.update(weight=torch.randn(3)), expected=1)


def test_list_that_is_read_in_python():
    held = Backwards([1.0, 2.0, 3.0])
    follows(lambda x: x * held[0], lambda: held.append(4.0))


def test_order_of_an_ordered_dictionary():
    held = OrderedDict(a=1.0, b=2.0)
    follows(lambda x: torch.stack([x * value for value in held.values()]), lambda: held.move_to_end("a"))


def test_ordered_dictionary_that_was_rearranged():
    held = OrderedDict(a=1.0, b=2.0)
    held.move_to_end("a")
    follows(lambda x: torch.stack([x * value for value in held.values()]), lambda: held.__setitem__("c", 1.0))


def test_key_with_a_hash_of_its_own_runs_eagerly():
    key = Hashed()
    held = {key: 2.0}
    x = torch.randn(3)
    same(x * 2.0, lect.compile(lambda x: x * held[key])(x))
    assert stops() == ["LB0003"]


def test_a_loop_over_a_list_asks_for_what_it_reads():
    """A learning rate among the groups of an optimizer is not guarded by who goes through their parameters."""
    groups = [{"params": [torch.ones(4), torch.ones(4)], "rate": 0.1, "note": "a"}, {"params": [torch.ones(4)], "rate": 0.2, "note": "b"}]
    notes = {"first": 0, "second": 1}

    def f(x):
        for group in groups:
            for each in group["params"]:
                x = x + each
        for name in notes:
            x = x * len(name)
        return x, ["rate" in group for group in groups]

    def g(x):
        for group in groups:
            x = x * group["rate"]
        for name in notes:
            x = x + notes[name]
        return x

    compiled = lect.compile(f)
    for _ in range(4):
        groups[1]["rate"] += 1
        groups[1]["note"] += "b"
        notes["first"] += 1
        same(f(torch.arange(4.0)), compiled(torch.arange(4.0)))
    assert versions() == 1
    compiled = lect.compile(g)
    for step in range(3):
        groups[step % 2]["rate"] += 1
        notes["second"] += 1
        same(g(torch.arange(4.0)), compiled(torch.arange(4.0)))
    notes["third"] = 4
    groups.append({"rate": 7.0})
    same(g(torch.arange(4.0)), compiled(torch.arange(4.0)))


def test_the_last_item_of_a_container_of_another_length():
    """A version for a container that ends in 2 is none for one that is longer and has a 2 in that place."""

    def program(x, chosen):
        total = x * 0
        for path, weight in chosen:
            total = total + x[path[-1]] * weight
        return total

    compiled = lect.compile(program, dynamic=False, options={"guards": "both"})
    x = torch.randn(4)
    for path in ([0, 2], [0, 2], [0, 2, 1], [0, 2, 1], [3, 1], [0, 1, 2, 3], [0, 2], (0, 2), (0, 2), (0, 2, 3)):
        for _ in range(2):
            given = [(path, 2.0)]
            same(program(x, given), compiled(x, given))
