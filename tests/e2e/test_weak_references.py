"""Weak references and what they see: objects live in a compiled function as long as they do in the function as it is written."""

import gc
import weakref

import pytest
import torch

import lect
from lect.frontends.capture import making
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


class Plain:
    def __init__(self, number=0):
        self.number = number

    def __len__(self):
        return self.number


class ByNumber(Plain):
    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return self.number == other.number


def alike(function, *makers):
    """Two calls of the compiled function give what the function gives, each with new arguments."""
    want = [function(*[make() for make in makers]) for _ in range(2)]
    compiled = lect.compile(function)
    same(want, [compiled(*[make() for make in makers]) for _ in range(2)])
    assert "LB0020" not in fallbacks()


def ones():
    return torch.ones(3)


def proxy_of_a_variable(x):
    held = Plain(3)
    proxy = weakref.proxy(held)
    return x + len(proxy), len(proxy)


def proxy_of_an_object_in_a_list(x):
    held = [Plain(number) for number in range(3)]
    proxies = [weakref.proxy(each) for each in held]
    return x * 2, [len(each) for each in proxies]


def values_of_variables(x):
    first, second = Plain(1), Plain(2)
    table = weakref.WeakValueDictionary()
    table["a"] = first
    x = x + len(table)
    table["b"] = second
    return x, len(table)


def values_that_are_let_go(x):
    first = Plain(1)
    table = weakref.WeakValueDictionary()
    table["a"] = first
    before = len(table)
    del first
    return x + before, len(table)


def reference_to_what_is_deleted(x):
    held = Plain(1)
    reference = weakref.ref(held)
    there = reference() is held
    del held
    return x + 1, there, reference() is None


def reference_to_what_another_holds(x):
    held = Plain(1)
    holder = {"held": [held]}
    reference = weakref.ref(held)
    del held
    there = reference().number
    holder.clear()
    return x + there, reference() is None


def reference_to_a_tensor(x):
    y = x * 2
    reference = weakref.ref(y)
    there = reference() is y
    z = y + 1
    del y
    return z, there, reference() is None


def callbacks(x):
    called = []
    held = Plain(1)
    reference = weakref.ref(held, lambda _: called.append("gone"))  # noqa: F841
    before = list(called)
    held = None  # noqa: F841
    return x + 1, before, called


def finalizers(x):
    called = []
    held = Plain(1)
    finalizer = weakref.finalize(held, called.append, "gone")
    alive = finalizer.alive
    del held
    return x * 2, alive, finalizer.alive, called


def members_of_a_weak_set(x, held):
    members = weakref.WeakSet(held)
    inside = [number for number in range(4) if ByNumber(number) in members]
    return x + len(inside), inside


def counted_references(x):
    held = Plain(1)
    first, second = weakref.ref(held), weakref.ref(held)
    return x, first is second, weakref.getweakrefcount(held)


@pytest.mark.parametrize(
    "function",
    [
        *(proxy_of_a_variable, proxy_of_an_object_in_a_list, values_of_variables, values_that_are_let_go, reference_to_what_is_deleted),
        *(reference_to_what_another_holds, reference_to_a_tensor, callbacks, finalizers, counted_references),
    ],
)
def test_objects_live_as_long_as_their_variables(function):
    alike(function, ones)


def test_keys_that_are_weak_references_are_compared_as_their_objects():
    alike(members_of_a_weak_set, ones, lambda: HELD)


HELD = [ByNumber(1), ByNumber(3)]


def test_a_reference_that_is_an_argument_is_asked_again():
    def function(x, reference):
        held = reference()
        return x if held is None else x + held.number

    compiled = lect.compile(function, fullgraph=True)
    first, second = Plain(1), Plain(2)
    references = [weakref.ref(first), weakref.ref(second)]
    for reference in references:
        same(function(ones(), reference), compiled(ones(), reference))
    del first
    for reference in references:
        same(function(ones(), reference), compiled(ones(), reference))


def test_a_reference_to_what_the_function_takes_out_of_an_argument():
    def function(x, holder, reference):
        holder.pop()
        return x + 1, reference() is None

    results = []
    for run in (function, lect.compile(function)):
        holder = [Plain(1)]
        results.append(run(ones(), holder, weakref.ref(holder[0])))
    same(*results)


def test_guards_on_the_keys_of_a_dictionary_do_not_keep_them():
    @lect.compile
    def function(x, table):
        return x + sum(table.values())

    key = Plain(1)
    reference = weakref.ref(key)
    table = {key: 2.0, "name": 1.0}
    same(ones() + 3, function(ones(), table))
    assert fallbacks() == []
    del key, table
    gc.collect()
    assert reference() is None


def test_keys_that_are_weak_references_to_plain_objects_are_followed():
    inside, outside = Plain(1), Plain(2)
    members, table = weakref.WeakSet([inside]), weakref.WeakKeyDictionary({inside: 3.0})

    def function(x, key):
        return x + table.get(key, 0.5), key in members

    compiled = lect.compile(function, fullgraph=True)
    for key in (inside, outside, inside, Plain(1)):
        same(function(ones(), key), compiled(ones(), key))
    members.add(outside)
    table[outside] = 7.0
    del table[inside]
    for key in (inside, outside):
        same(function(ones(), key), compiled(ones(), key))


def test_too_many_arguments_of_a_reference():
    def function(x, reference):
        try:
            reference.__init__(0, 0, 0, 0)
        except TypeError as error:
            return x + 1, str(error)
        return x

    held = Plain(1)
    same(function(ones(), weakref.ref(held)), lect.compile(function)(ones(), weakref.ref(held)))


def test_a_weak_dictionary_of_many_objects_of_the_frame_is_left_to_python(monkeypatch):
    monkeypatch.setattr(making, "MOST_WATCHED", 5)

    class Item:
        pass

    def program(x, size):
        held, kept = weakref.WeakKeyDictionary(), []
        for number in range(size):
            kept.append(Item())
            held[kept[-1]] = number
        return x + len(held) + sum(held.values())

    compiled, x = lect.compile(program), torch.randn(3)
    for size in (4, 9):
        same(program(x, size), compiled(x, size))
    assert [event.number for event in lect.events("fallback")] == ["LB0031"]
