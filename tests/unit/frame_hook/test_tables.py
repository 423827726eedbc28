"""What a trigger knows of code objects: guards, states, several triggers, and who keeps what alive."""

import gc
import sys
import weakref

import pytest

from tests.unit.frame_hook.support import Oops, made, renamed, replacing, resident

CALLS = 1_000_000
SOURCE = "def f(x): return 'as written'\ndef g(x): return 'other'\ndef h(x): return 'third'"
HOLDS, FAILS = -1, 0


def nothing(*arguments):
    """A callback that leaves everything as it is, and asks again."""


class Guard:
    """A guard that holds; weak references say how long it lives."""

    def __init__(self, *things):
        self.things = things

    def __call__(self, *arguments):
        return HOLDS


def test_guards_choose_among_versions(fh):
    f, g, h = made(SOURCE, "f", "g", "h")
    asked = []

    def callback(code, function, arguments):
        asked.append(arguments[0])
        kind = type(arguments[0])
        if kind is float:
            return None
        return (lambda function, x: HOLDS if type(x) is kind else FAILS), (g if kind is int else h).__code__

    run = fh.Region(f, fh.Trigger(callback))
    assert [run(1), run("a"), run(2), run("b"), run(1.0), run(1.0)] == ["other", "third", "other", "third", "as written", "as written"]
    assert asked == [1, "a", 1.0, 1.0]


def test_guard_that_holds_is_asked_first_next_time(fh):
    f, g, h = made(SOURCE, "f", "g", "h")
    asked = []
    trigger = fh.Trigger(nothing)
    for number, code in enumerate((g, h, g)):
        trigger.add(f.__code__, lambda function, x, number=number: asked.append(number) or (HOLDS if x == number else FAILS), code.__code__)
    trigger.call(f, 2)
    trigger.call(f, 2)
    assert asked == [0, 1, 2, 2]


def test_guard_for_the_function_as_written(fh):
    f, g = made(SOURCE, "f", "g")
    asked = []
    trigger = fh.Trigger(lambda *arguments: asked.append(arguments[2]))
    trigger.add(f.__code__, lambda function, x: HOLDS if x else FAILS, None)
    trigger.add(f.__code__, lambda function, x: FAILS if x == 0 else HOLDS, g.__code__)
    assert trigger.call(f, 1) == "as written"
    assert asked == []
    trigger.call(f, 0)
    assert asked == [(0,)]


def test_settled_code_keeps_its_entries_and_is_not_asked_for(fh):
    f, g, h = made(SOURCE, "f", "g", "h")
    asked = []

    def callback(code, function, arguments):
        asked.append(arguments[0])
        if arguments[0] == 3:
            return "settled"
        return (lambda function, x, wanted=arguments[0]: HOLDS if x == wanted else FAILS), (g if arguments[0] == 1 else h).__code__

    run = fh.Region(f, fh.Trigger(callback))
    want = {1: "other", 2: "third", 3: "as written", 4: "as written"}
    assert [run(x) for x in (1, 2, 3, 4, 1, 2, 3)] == [want[x] for x in (1, 2, 3, 4, 1, 2, 3)]
    assert asked == [1, 2, 3]
    assert len(run.trigger.get(f.__code__)) == 2
    run.trigger.add(f.__code__, fh.always, g.__code__)
    assert run(4) == "other", "an entry may still be added"
    with pytest.raises(TypeError, match="'settled' is not 'default' or 'skip'"):
        fh.mark(f.__code__, "settled")


def test_guard_sees_the_function_and_many_arguments(fh):
    (many, other) = made(
        "def many(" + ",".join(f"a{i}" for i in range(40)) + "): return 0\ndef other(" + ",".join(f"a{i}" for i in range(40)) + "): return a39", "many", "other"
    )
    seen = []
    trigger = fh.Trigger(nothing)
    trigger.add(many.__code__, lambda function, *arguments: seen.append((function, arguments)) or HOLDS, other.__code__)
    assert trigger.call(many, *range(40)) == 39
    assert seen == [(many, tuple(range(40)))]


def test_native_guard(fh):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(nothing)
    trigger.add(f.__code__, fh.always, g.__code__)
    assert trigger.call(f, 1) == "other"


@pytest.mark.parametrize("wrong", [True, None, 1.0, "yes"])
def test_guard_returns_an_int(fh, wrong):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(nothing)
    trigger.add(f.__code__, lambda *arguments: wrong, g.__code__)
    with pytest.raises(TypeError, match="a guard returns an int"):
        trigger.call(f, 1)


def test_guard_with_a_number_beyond_any_machine_word_fails(fh):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(nothing)
    trigger.add(f.__code__, lambda *arguments: 2**100, g.__code__)
    trigger.add(f.__code__, lambda *arguments: -(2**100), g.__code__)
    assert trigger.call(f, 1) == "as written"


def test_exception_of_a_guard_leaves_the_call_and_nothing_leaks(fh):
    def function(a, *args, k=1, **kwargs):
        return 1

    def boom(*arguments):
        raise Oops

    thing = object()
    trigger = fh.Trigger(nothing)
    trigger.add(function.__code__, boom, (lambda a, k, args, kwargs: 0).__code__)

    def loop(n):
        for _ in range(n):
            try:
                trigger.call(function, thing, 1, 2, k=thing, z=thing)
            except Oops:
                continue
            raise AssertionError("nothing was raised")

    loop(1000)
    gc.collect()
    before = sys.getrefcount(thing), sys.getrefcount(function.__code__), len(gc.get_objects())
    growth = []
    for _ in range(3):  # what a leak adds, it adds each time; what other threads of this process allocate, they do once
        memory = resident()
        loop(10_000)
        gc.collect()
        growth.append(resident() - memory)
    after = sys.getrefcount(thing), sys.getrefcount(function.__code__), len(gc.get_objects())
    assert before[:2] == after[:2]
    assert after[2] - before[2] < 10
    assert min(growth) < 1 << 18


def test_guard_that_raises_at_the_recursion_limit(fh):
    def ping(n):
        return pong(n + 1)

    def pong(n):
        return ping(n + 1)

    def boom(function, n):
        if n > 900:
            raise KeyError
        return FAILS

    trigger = fh.Trigger(lambda code, function, arguments: None if function is pong else "default")
    trigger.add(pong.__code__, boom, (lambda n: 0).__code__)
    before = sys.getrecursionlimit()
    try:
        for limit in (1100, 1000, 950, 920, 905):
            sys.setrecursionlimit(limit)
            with pytest.raises((RecursionError, KeyError)):
                trigger.call(ping, 0)
    finally:
        sys.setrecursionlimit(before)
    (depth,) = made("def depth(n): return 0 if n == 0 else 1 + depth(n - 1)", "depth")
    assert depth(800) == 800


CHANGES = {
    "forget": lambda fh, trigger, code, other: trigger.set(code, None),
    "clear": lambda fh, trigger, code, other: trigger.clear(),
    "mark": lambda fh, trigger, code, other: fh.mark(code, "default"),
    "state": lambda fh, trigger, code, other: trigger.set(code, "default"),
    "add": lambda fh, trigger, code, other: [trigger.add(code, Guard(), other) for _ in range(20)],
}


@pytest.mark.parametrize("answer", [HOLDS, FAILS])
@pytest.mark.parametrize("what", CHANGES)
def test_guard_that_changes_the_table_it_is_in(fh, what, answer):
    f, g, h = made(SOURCE, "f", "g", "h")
    trigger = fh.Trigger(nothing)

    def guard(function, x):
        CHANGES[what](fh, trigger, f.__code__, h.__code__)
        return answer

    trigger.add(f.__code__, guard, g.__code__)
    trigger.add(f.__code__, fh.always, h.__code__)
    left = "third" if what == "add" else "as written"
    assert trigger.call(f, 1) == ("other" if answer == HOLDS else left)
    assert trigger.call(f, 1) == ("other" if what == "add" and answer == HOLDS else left)


def test_guard_runs_disarmed(fh):
    asked = []

    def helper():
        return HOLDS

    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(lambda code, function, arguments: asked.append(code.co_name))
    trigger.add(f.__code__, lambda function, x: helper(), g.__code__)
    assert trigger.call(f, 1) == "other"
    assert asked == []


@pytest.mark.parametrize(
    "other, sentence",
    [
        ("lambda: 1", "it takes other arguments"),
        ("lambda *, x: 1", "it takes other arguments"),
        ("lambda *x: 1", "it takes other arguments"),
        ("lambda x, *more: 1", "positional parameters alone"),
        ("lambda x: (yield)", "positional parameters alone"),
        ("(lambda y: lambda x: y)(1)", "it has other free variables"),
    ],
)
def test_code_that_cannot_take_the_frame(fh, other, sentence):
    (f,) = made(SOURCE, "f")
    trigger = fh.Trigger(nothing)
    with pytest.raises(ValueError, match=sentence):
        trigger.add(f.__code__, fh.always, eval(other).__code__)
    with pytest.raises(ValueError, match="it is the code itself"):
        trigger.add(f.__code__, fh.always, f.__code__)
    with pytest.raises(TypeError, match="a code object is expected, got function"):
        trigger.add(f.__code__, fh.always, f)
    assert trigger.get(f.__code__) is None
    with pytest.raises(ValueError, match=sentence):
        fh.Trigger(lambda code, function, arguments: eval(other).__code__ if function is f else None).call(f, 1)


def test_triggers_know_nothing_of_each_other(fh):
    f, g, h = made(SOURCE, "f", "g", "h")
    triggers = [fh.Trigger(replacing(fh, {f.__code__: code.__code__})) for code in (g, h)] + [fh.Trigger(nothing)]
    for _ in range(2):
        assert [trigger.call(f, 1) for trigger in triggers] == ["other", "third", "as written"]
    triggers[0].set(f.__code__, None)
    assert triggers[0].get(f.__code__) is None
    assert len(triggers[1].get(f.__code__)) == 1
    del triggers[1]
    gc.collect()
    assert triggers[0].call(f, 1) == "other"


def test_regions_nest(fh):
    f, g, h = made(SOURCE, "f", "g", "h")
    inner = fh.Region(f, fh.Trigger(replacing(fh, {f.__code__: h.__code__})))
    bare = fh.Region(f, None)
    outer = fh.Trigger(replacing(fh, {f.__code__: g.__code__}))
    assert outer.call(lambda: (f(1), inner(1), bare(1), f(1))) == ("other", "third", "as written", "other")
    before = fh.swap(outer)
    try:
        assert f(1) == "other"
    finally:
        assert fh.swap(before) is outer


def test_marks_hold_for_all_triggers(fh):
    f, g = made(SOURCE, "f", "g")
    trigger = fh.Trigger(replacing(fh, {f.__code__: g.__code__}))
    fh.mark(f.__code__, "default")
    assert (trigger.call(f, 1), fh.marked(f.__code__)) == ("as written", "default")
    fh.mark(f.__code__, None)
    assert (trigger.call(f, 1), fh.marked(f.__code__)) == ("other", None)


def test_entries_go_with_the_code_object(fh):
    alive = []
    trigger = fh.Trigger(nothing)
    for _ in range(20):
        f, g = made(SOURCE, "f", "g")
        guard = Guard()
        alive.append(weakref.ref(guard))
        trigger.add(f.__code__, guard, g.__code__)
        assert trigger.call(f, 2) == "other"
        del f, g, guard
    gc.collect()
    assert not any(reference() for reference in alive)
    trigger.clear()


def test_cycle_through_a_code_object_is_collected_with_its_trigger(fh):
    """co_extra is invisible to the garbage collector: here trigger -> guard -> function -> code, whose co_extra leads back."""
    alive = []
    for _ in range(20):
        f, g = made(SOURCE, "f", "g")
        trigger = fh.Trigger(nothing)
        guard = Guard(f, trigger)
        trigger.add(f.__code__, guard, g.__code__)
        region = fh.Region(f, trigger)
        f.region = region
        assert region(1) == "other"
        alive += [weakref.ref(guard), weakref.ref(f)]
        del f, g, trigger, guard, region
    gc.collect()
    assert not any(reference() for reference in alive)


def test_memory_is_flat_over_many_calls(fh):
    thing, key = object(), object()

    def function(a, *args, k=None):
        return a

    def other(a, k, args):
        if a is None:
            raise ValueError
        return a

    def callee(x):
        return x

    def caller(a):
        return callee(a)

    trigger = fh.Trigger(replacing(fh, {function.__code__: other.__code__, caller.__code__: renamed(caller)}))
    run, call = fh.Region(function, trigger), fh.Region(caller, trigger)

    def loop(n):
        for _ in range(n):
            run(thing, thing, k=key)
            call(thing)
        for _ in range(n // 10):
            try:
                run(None, thing, k=key)
            except ValueError:
                continue

    loop(1000)
    gc.collect()
    watched = (thing, key, function, function.__code__, other.__code__, trigger)
    before, memory, objects = [sys.getrefcount(each) for each in watched], resident(), len(gc.get_objects())
    loop(CALLS)
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before
    assert resident() - memory < 1 << 20
    assert abs(len(gc.get_objects()) - objects) < 10


def test_memory_is_flat_over_many_functions(fh):
    trigger = fh.Trigger(lambda code, function, arguments: (Guard(), renamed(function)) if code.co_name == "f" else "default")

    def loop(n):
        for _ in range(n):
            (f,) = made(SOURCE, "f")
            trigger.call(f, 1)

    loop(500)
    gc.collect()
    memory, objects = resident(), len(gc.get_objects())
    loop(10_000)
    gc.collect()
    assert abs(len(gc.get_objects()) - objects) < 10
    assert resident() - memory < 2 << 20
