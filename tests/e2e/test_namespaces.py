"""A namespace is written to and then read through its dictionary (`vars(x)`, `x.__dict__`, `globals()`): its entries stay the objects that they are.

State is compared with eager's behind each call.
"""

import collections
import operator
import types

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import fallbacks, stops

COUNT = 0
KEPT = []


class Plain:
    """An object whose attributes lie in its dictionary."""

    def __init__(self):
        self.n, self.q, self.log, self.table, self.seen, self.pair = 0, 0, [], {}, set(), (1, [])
        self.total, self.it, self.scale = torch.zeros(2), iter(range(1000)), 0.5
        self.queue, self.lists = collections.deque(), collections.defaultdict(list)


class Forwarding(Plain):
    """Finds under another name what its dictionary holds."""

    def __getattr__(self, name):
        if name == "history":
            return self.__dict__["log"]
        raise AttributeError(name)


class Module(nn.Module):
    """A module with state of its own."""

    def __init__(self):
        super().__init__()
        vars(self).update(vars(Plain()))
        del self.total
        self.register_buffer("total", torch.zeros(2))


def function():
    def held():
        return 0

    held.__dict__.update(vars(Plain()))
    return held


HOLDERS = {"object": Plain, "module": Module, "namespace": lambda: types.SimpleNamespace(**vars(Plain())), "function": function, "forwarding": Forwarding}


@pytest.fixture(autouse=True)
def fresh():
    global COUNT, KEPT
    lect.reset()
    COUNT, KEPT = 0, []
    yield
    lect.reset()


def state(o):
    """What an object holds, as text, and which of its entries are one object with the attribute of that name."""
    return str({name: item for name, item in vars(o).items() if name != "it"}), [getattr(o, name) is item for name, item in vars(o).items()]


def by_item(o, x):
    o.n += 1
    o.__dict__["log"].append(o.n)
    return x * len(o.log)


def by_get(o, x):
    o.n += 1
    vars(o).get("log").append(o.n)
    return x * len(o.log)


def by_methods_of_dict(o, x):
    o.n += 1
    dict.get(o.__dict__, "log").append(1)
    dict.__getitem__(o.__dict__, "log").append(o.n)
    return x * len(o.log)


def by_setdefault(o, x):
    o.n += 1
    vars(o).setdefault("log", []).append(o.n)
    vars(o).setdefault("more", []).append(o.n)
    return x * len(o.log) * len(o.more)


def by_pop(o, x):
    o.n += 1
    log = o.__dict__.pop("log")
    log.append(vars(o).pop("absent", o.n))
    o.log = log
    return x * len(o.__dict__["log"])


def by_popitem(o, x):
    o.n += 1
    o.last = []
    del o.last
    name, found = vars(o).popitem()
    found["k"].append(o.n)
    vars(o)[name] = found
    return x * len(o.lists["k"])


def by_update(o, x):
    vars(o).update(n=o.n + 1, q=2)
    o.__dict__["log"].append(o.q)
    o.q += 1
    return x * o.q * len(o.log)


def by_iterator(o, x):
    o.n += 1
    return x * next(o.__dict__["it"]) + next(o.it)


def by_pattern(o, x):
    o.n += 1
    match vars(o):
        case {"log": log}:
            log.append(o.n)
    return x * len(o.log)


def by_keywords(o, x):
    def take(log, **others):
        log.append(len(others))

    o.n += 1
    take(**o.__dict__)
    return x * len(o.log)


def by_getter(o, x):
    o.n += 1
    operator.itemgetter("log")(vars(o)).append(o.n)
    collections.ChainMap(vars(o))["log"].append(1)
    types.MappingProxyType(vars(o))["log"].append(2)
    return x * len(o.log)


def behind_a_deletion(o, x):
    del o.q
    o.__dict__["log"].append(1)
    o.q = 1
    return x * len(o.log)


def deleted_and_made_anew(o, x):
    o.n += 1
    del o.__dict__["log"]
    o.log = [o.n]
    o.__dict__["log"].append(o.n)
    return x * sum(o.log)


def items_of_a_table(o, x):
    o.n += 1
    o.__dict__["table"]["k"] = o.__dict__["table"].get("k", 0) + o.n
    return x * o.table["k"]


def other_containers(o, x):
    o.n += 1
    o.__dict__["seen"].add(o.n)
    vars(o)["queue"].append(o.n)
    vars(o)["lists"]["k"].append(o.n)
    o.__dict__["pair"][1].append(o.n)
    return x * len(o.seen) * len(o.queue) * len(o.lists["k"]) * len(o.pair[1])


def one_object(o, x):
    o.n += 1
    return x * (o.__dict__["log"] is o.log) * (vars(o).get("table") is o.table) * o.n


def numbers(o, x):
    o.n += 1
    o.__dict__["n"] += 1
    scale = vars(o).pop("scale")
    o.scale = scale + o.n
    return x * o.__dict__["scale"]


PROGRAMS = [value for value in list(globals().values()) if isinstance(value, types.FunctionType) and value.__code__.co_varnames[:2] == ("o", "x")]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("holder", ["object", "module"])
def test_entries_stay_what_they_are(program, holder):
    check(program, HOLDERS[holder])


@pytest.mark.parametrize("program", [by_item, by_pop, items_of_a_table, one_object], ids=lambda program: program.__name__)
@pytest.mark.parametrize("holder", ["namespace", "function", "forwarding"])
def test_of_other_holders(program, holder):
    check(program, HOLDERS[holder])


def check(program, make):
    """Four calls give eager's values and leave eager's state, also when entries come and go between them."""
    eager, ours = make(), make()
    compiled = lect.compile(program)
    for call in range(4):
        x = torch.randn(2)
        assert torch.equal(compiled(ours, x), program(eager, x))
        assert state(ours) == state(eager), call
        for each in (eager, ours):
            if call == 1:
                each.absent, each.more = 7, [7]
                each.lists = vars(each).pop("lists")  # the last again
            elif call == 2:
                vars(each).pop("absent", None)
    assert fallbacks() == []


def test_a_tensor_is_written_in_place():
    def program(o, x):
        o.n += 1
        y = vars(o)["total"] * 2
        o.total.add_(x)
        o.__dict__["total"].mul_(2)
        return y + vars(o)["total"]

    check(program, Plain)


def test_an_attribute_that_getattr_finds_in_the_dictionary():
    def program(o, x):
        o.n += 1
        o.history.append(o.n)
        return x * len(o.log)

    check(program, Forwarding)


def test_a_growing_log_needs_no_new_graph():
    compiled, o = lect.compile(by_item), Plain()
    for _ in range(6):
        compiled(o, torch.ones(2))
    grown = len(lect.events("compile"))
    lect.reset()
    compiled, o = lect.compile(by_attribute), Plain()
    for _ in range(6):
        compiled(o, torch.ones(2))
    assert grown == len(lect.events("compile"))
    assert stops() == []


def by_attribute(o, x):
    o.n += 1
    o.log.append(o.n)
    return x * len(o.log)


def counted(x):
    global COUNT
    COUNT += 1
    globals()["KEPT"].append(COUNT)
    globals().get("KEPT").append(1)
    return x * len(KEPT)


def taken_out(x):
    global COUNT
    COUNT += 1
    kept = globals().pop("KEPT")
    kept.append(COUNT)
    globals()["KEPT"] = kept
    return x * len(KEPT)


@pytest.mark.parametrize("program", [counted, taken_out], ids=lambda program: program.__name__)
def test_global_variables(program):
    global COUNT, KEPT
    seen = []
    for run in (program, lect.compile(program)):
        COUNT, KEPT = 0, []
        seen.append([(run(torch.ones(2)).tolist(), COUNT, list(KEPT)) for _ in range(4)])
    assert seen[0] == seen[1]


def test_a_python_module():
    seen = []
    for run in (lambda program: program, lect.compile):
        module = types.ModuleType("some_names")
        module.log = []

        def program(x, module=module):
            module.n = 1
            module.__dict__["log"].append(1)
            vars(module).get("log").append(2)
            return x * len(module.log)

        compiled = run(program)
        seen.append([(compiled(torch.ones(2)).tolist(), list(module.log), module.n) for _ in range(4)])
    assert seen[0] == seen[1]
