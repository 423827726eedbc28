"""Ordered dictionaries, mappings, ranges, long numbers and derived tuples that are used in unusual ways, and what a class statement makes of functions."""

import collections
import types

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
    """The compiled program gives, raises and changes what the uncompiled one does, each with an object of its own; no event tells of an error of lect."""
    compiled = lect.compile(program)
    for _ in range(calls):
        results = []
        for each in (program, compiled):
            given = make()
            try:
                results.append((each(X, given), given))
            except Exception as error:
                results.append((type(error), str(error)))
        same(results[0], results[1])
    numbers = [event.number for event in lect.events("graph break", "fallback")]
    assert "LB0020" not in numbers
    return numbers


class Mapping:
    """A mapping of the program, some of whose keys may come twice."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def keys(self):
        return [key for key, _ in self.pairs]

    def __getitem__(self, key):
        return next(value for each, value in self.pairs if each == key)


class Derived(collections.OrderedDict):
    pass


class Noting(collections.OrderedDict):
    """Notes each key that is written."""

    def __setitem__(self, key, value):
        self.__dict__.setdefault("written", []).append(key)
        super().__setitem__(key, value)


@pytest.mark.parametrize("kind", [collections.OrderedDict, Derived, Noting, dict])
def test_update_from_a_mapping_of_the_program(kind):
    def program(x, given):
        given.clear()
        given.update(Mapping(("b", 1), ("a", 2)))
        given.update([("c", 3)])
        made = kind(z=1)
        made.update(Mapping(("b", 1), ("a", 2)))
        return x * 2, list(given.items()), list(made.items()), list(given), made

    check(program, lambda: kind(first=0))


@pytest.mark.parametrize("name", ["clear", "__delitem__", "pop", "__setitem__", "popitem"])
def test_methods_of_dict_on_an_ordered_dict(name):
    """They leave its order behind, so that it cannot be iterated over any more."""

    def program(x, given):
        made = collections.OrderedDict(a=1, b=2)
        for each in (given, made):
            arguments = {"clear": (), "popitem": (), "__setitem__": ("new", 1)}.get(name, ("b",))
            getattr(dict, name)(each, *arguments)
        return x * 2, len(given), sorted(dict.keys(made)), dict.__len__(given)

    compiled = lect.compile(program)
    for _ in range(2):
        want, got = (each(X, collections.OrderedDict(a=1, b=2)) for each in (program, compiled))
        same(want, got)
    assert "LB0020" not in [event.number for event in lect.events("fallback")]

    def broken(x, given):
        try:
            return x * 2, list(given)
        except (KeyError, RuntimeError) as error:
            return x * 3, type(error).__name__

    def make():
        made = collections.OrderedDict(a=1, b=2)
        dict.clear(made)
        return made

    lect.reset()
    compiled = lect.compile(broken)
    same(broken(X, make()), compiled(X, make()))
    assert "LB0020" not in [event.number for event in lect.events("fallback")]


def test_order_that_hangs_on_keys_of_the_program():
    class Key:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return self.value

        def __eq__(self, other):
            return self.value == other.value

    def program(x, given):
        return x * 2, [key.value for key in given], len(list(given.items()))

    check(program, lambda: collections.OrderedDict((Key(number), number) for number in range(3)))


class Slotted(collections.OrderedDict):
    __slots__ = ("note", "unset")


def test_slots_of_a_derived_container_behind_a_cut():
    def program(x, given):
        made = Slotted(a=1)
        made.note = [1]
        y = x + 1
        print(end="")
        return y, made.note, hasattr(made, "unset"), type(made) is Slotted, list(made)

    check(program, lambda: None)


def accepting(*args, **names):
    return args, names


def test_argument_given_twice():
    mapping = Mapping(("a", 1), ("a", 2))

    def program(x, given):
        if given == 0:
            return x, accepting(**mapping)
        if given == 1:
            return x, accepting(b=1, **mapping)
        if given == 2:
            return x, accepting(**{"a": 1}, **Mapping(("b", 1), ("a", 2)))
        return x + 1, {**mapping}, {"a": 0, **mapping}, accepting(**Mapping(("a", 1), ("b", 2)))

    for number in range(4):
        lect.reset()
        check(program, lambda: number)


def test_ranges_are_guarded_by_their_parts():
    def program(x, given):
        return x * given.step, hash(given), len(given), list(given), 3 in given, given == range(0, 10, 3), repr(given), given[0]

    compiled = lect.compile(program)
    for given in (range(4), range(5), range(0, 10, 3), range(0, 12, 3), range(0, 11, 3), range(2**70, 2**70 + 2), range(4)):
        same(program(X, given), compiled(X, given))


def test_numbers_too_long_for_text():
    """Nothing that lect says of them asks CPython for their digits."""

    def program(x, given):
        return x * 2, given.bit_length(), given > 10**30, given % 97, -given == given

    compiled = lect.compile(program)
    for given in (1 << 20_000, 1 << 20_000, (1 << 30_000) + 5, 7, -(1 << 40_000)):
        same(program(X, given), compiled(X, given))
    assert "LB0020" not in [event.number for event in lect.events("fallback")]


class Plain:
    number = 1


def test_attributes_written_through_the_instance_dictionary():
    def program(x, given):
        given.__dict__["number"] = given.number + 1
        vars(given)["other"] = given.number * 2
        result = x * given.number, given.other, given.other
        given.number = 10
        del given.__dict__["other"]
        return *result, vars(given)["number"], hasattr(given, "other")

    check(program, Plain, calls=3)


class Named(tuple):
    """A tuple with attributes."""

    def __new__(cls, items, name):
        made = super().__new__(cls, items)
        made.name = name
        return made


def test_attributes_of_a_tuple_behind_a_cut():
    def program(x, given):
        made = Named((1, [2]), "a")
        y = x + 1
        print(end="")
        return y * 2, made.name, made[1], type(made) is Named, made

    check(program, lambda: None)


def test_methods_that_a_class_statement_makes_static():
    """`__new__`, `__init_subclass__` and `__class_getitem__` refer to the class by a cell like all others."""

    def program(x, given):
        class Numbers(list):
            def __new__(cls, *items):
                made = super().__new__(cls)
                made.of = __class__
                return made

            def __init__(self, *items):
                super().__init__(items)

            def __class_getitem__(cls, item):
                return __class__, item

            def __init_subclass__(cls, **keywords):
                super().__init_subclass__(**keywords)
                cls.base = __class__

        y = x + 1
        print(end="")

        class More(Numbers):
            pass

        made = More(1, 2)
        return y, list(made), made.of is Numbers, Numbers[3][0] is Numbers, More.base is Numbers

    check(program, lambda: None)


def test_entry_of_a_class_that_cannot_be_set():
    def program(x, given):
        class Odd(types.ModuleType):
            @property
            def __dict__(self):
                return {"only": 1}

        made = Odd("odd")
        return x * 2, dir(made) == ["only"]

    check(program, lambda: None)


class Bound:
    """A descriptor that gives a special method."""

    def __init__(self, function, asked):
        self.function = function
        self.asked = asked

    def __get__(self, value, cls=None):
        self.asked.append(type(value).__name__)
        return self.function.__get__(value, cls)


@pytest.mark.parametrize(
    ("name", "answer", "use"),
    [
        ("__len__", 3, len),
        ("__bool__", False, bool),
        ("__index__", 2, lambda value: [4, 5, 6][value]),
        ("__iter__", iter(()), list),
        ("__contains__", True, lambda value: 1 in value),
        ("__hash__", 5, hash),
        ("__call__", 6, lambda value: value()),
        ("__getitem__", 7, lambda value: value[0]),
        ("__reversed__", (1, 2), reversed),
        ("__bytes__", b"a", bytes),
        ("__neg__", 8, lambda value: -value),
        ("__add__", 9, lambda value: value + 1),
    ],
)
def test_special_methods_that_are_descriptors_run_once(name, answer, use):
    def program(x, asked):
        cls = type("Described", (), {name: Bound(lambda self, *rest: answer, asked)})
        return x * 2, use(cls())

    check(program, list)
    cls = None

    def outside(x, asked):
        return x * 2, use(cls())

    for _ in range(2):
        counted = []
        for each in (outside, lect.compile(outside)):
            asked = []
            cls = type("Described", (), {name: Bound(lambda self, *rest: answer, asked)})
            counted.append((each(X, asked), len(asked)))
        same(counted[0], counted[1])


class Number:
    """Says of which index it is, and notes that."""

    def __init__(self, value, asked):
        self.value = value
        self.asked = asked

    def __index__(self):
        self.asked.append(self.value)
        return self.value


def test_indices_that_code_of_the_program_makes():
    def program(x, asked):
        one, two = Number(1, asked), Number(2, asked)
        items = [4, 5, 6, 7]
        found = items[one], items[one:], "abc"[two], (1, 2, 3)[one], items * two, range(5)[two], [0] * one
        items.pop(one)
        items.insert(one, 9)
        items[two] = 8
        del items[one]
        return x * 2, found, items, torch.ones(3).sum(), len(asked)

    check(program, list)


def test_class_of_names_in_the_order_of_their_mapping():
    def program(x, given):
        names = collections.OrderedDict([("a", 1), ("b", 2)])
        names.move_to_end("a")
        made = type("Made", (), names)
        y = x + 1
        print(end="")
        return y, [name for name in made.__dict__ if name in "ab"]

    check(program, lambda: None)


@pytest.mark.parametrize("name", ["__dict__", "__weakref__", "__name__", "__mro__", "__bases__", "__doc__", "__module__", "__qualname__"])
def test_class_with_an_entry_like_one_of_all_classes(name):
    def program(x, given):
        made = type("Made", (), {name: "own"})
        y = x + 1
        print(end="")
        return y, made.__dict__[name] if name != "__qualname__" else made.__qualname__, made.__name__

    check(program, lambda: None)


@pytest.mark.parametrize("names", [{}, {"print": None}, None, 123, "no"])
def test_exec_with_other_builtins(names):
    def program(x, given):
        space = {"__builtins__": names}
        try:
            exec("found = print\nclass A: pass", space)
        except (NameError, TypeError) as error:
            return x * 2, type(error).__name__, str(error)
        return x * 2, space["found"]

    check(program, lambda: None)

    class Dictionary(dict):
        def __getitem__(self, key):
            raise KeyError(key)

    def derived(x, given):
        space = Dictionary(number=1)
        exec("number = number + 1", space)
        return x * 2, list(space.values())[0]

    lect.reset()
    check(derived, lambda: None)


def test_nothing_leads_back_to_a_class_of_the_trace():
    """Methods and instances behind a cut belong to the class that the program sees."""

    def program(x, given):
        class Number(float):
            __slots__ = ("note",)

            def __init__(self, value):
                self.note = "kept"

        class Other(Number):
            pass

        method, made, order = Number.fromhex, Number(2.5), Other.mro
        y = x * made
        print(end="")
        again = method("0x1.8p0")
        return y, made.note, type(made) is Number, type(again) is Number, order() == [Other, Number, float, object], Number.__subclasses__() == [Other]

    check(program, lambda: None)


def test_set_only_descriptor_of_a_metaclass():
    def program(x, given):
        class Writes:
            def __set__(self, value, new):
                given.append(new)

        class Meta(type):
            pass

        class Made(metaclass=Meta):
            pass

        Made.number = 42
        Meta.number = Writes()
        y = x + 1
        print(end="")
        Made.number = 43
        return y, Made.__dict__["number"], len(given)

    check(program, list)


def test_addresses_in_texts_are_those_of_the_objects():
    def program(x, given):
        made, function = object(), lambda: 1
        texts = f"{made!r}", repr([made]), str(function), f"{function}", "{a}".format_map({"a": made})
        y = x + 1
        print(end="")
        return y, [text.count(hex(id(made))[2:]) + text.count(hex(id(function))[2:]) for text in texts]

    check(program, lambda: None)
