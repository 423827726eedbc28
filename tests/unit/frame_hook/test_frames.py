"""Other code in the frame of a function: arguments, closures, callees, exceptions, frames that outlive the call, recursion."""

import gc
import math
import sys
import traceback
import weakref

import pytest

from tests.unit.frame_hook.support import Oops, made, renamed, replacing

pytestmark = pytest.mark.usefixtures("way")


def test_flat_arguments_of_every_kind_of_parameter(fh):
    def function(a, /, b, *args, c=3, **kwargs):
        return "as written"

    def other(a, b, c, args, kwargs):
        return a, b, c, args, sorted(kwargs.items())

    asked = []

    def callback(code, called, arguments):
        if code is not function.__code__:
            return "default"
        asked.append((called, arguments))
        return fh.always, other.__code__

    run = fh.Region(function, fh.Trigger(callback))
    for _ in range(3):
        assert run(1, 2, 4, 5, c=6, z=7) == (1, 2, 6, (4, 5), [("z", 7)])
        assert run(1, b=2) == (1, 2, 3, (), [])
    assert asked == [(function, (1, 2, 6, (4, 5), {"z": 7}))]
    assert function(1, 2) == "as written"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        run(1)


def test_argument_that_is_a_cell_and_closures_of_one_code_object(fh):
    def make(k):
        def function(a, b=10):
            def inner():
                return a + b + k

            a += 1
            return inner

        return function

    first, second = make(100), make(200)
    trigger = fh.Trigger(replacing(fh, {first.__code__: renamed(first)}))
    assert trigger.call(first, 1)() == 112
    assert trigger.call(second, 1, 2)() == 204
    assert len(trigger.get(first.__code__)) == 1


def test_variable_of_an_outer_function_is_written(fh):
    def counter():
        n = 0

        def increment():
            nonlocal n
            n += 1
            return sys._getframe().f_code.co_name, n

        return increment

    increment = counter()
    run = fh.Region(increment, fh.Trigger(replacing(fh, {increment.__code__: renamed(increment)})))
    assert [run(), run(), increment()] == [("other", 1), ("other", 2), ("increment", 3)]


def test_code_without_free_variables_takes_the_frame_of_a_closure(fh):
    def make(k):
        return lambda x: x + k

    function = make(5)
    trigger = fh.Trigger(replacing(fh, {function.__code__: (lambda x: x * 100).__code__}))
    assert trigger.call(function, 2) == 200


def test_super_and_methods(fh):
    class Base:
        def method(self):
            return 1

    class Derived(Base):
        def method(self, *args):
            return super().method() + len(args)

    trigger = fh.Trigger(replacing(fh, {Derived.method.__code__: renamed(Derived.method)}))
    assert trigger.call(Derived().method, 1, 2) == 3
    assert len(trigger.get(Derived.method.__code__)) == 1


def test_callees_are_seen_down_to_a_skipped_frame(fh):
    asked = []

    def leaf(x):
        return x

    def middle(x):
        return leaf(x) + 1

    def root(x):
        return middle(x) + 1

    def callback(code, function, arguments):
        asked.append(code.co_name)
        return {leaf.__code__: (fh.always, (lambda x: x * 1000).__code__), middle.__code__: (fh.always, renamed(middle))}.get(code, "default")

    trigger = fh.Trigger(callback)
    assert trigger.call(root, 1) == 1002
    assert asked == ["root", "middle", "leaf"]
    trigger.set(middle.__code__, "skip")
    assert trigger.call(root, 1) == 3
    trigger.set(middle.__code__, None)
    assert trigger.call(root, 1) == 1002


@pytest.mark.parametrize(
    "reach",
    [
        lambda f: list(map(f, [1])),
        lambda f: sorted([2, 1], key=f),
        lambda f: max([1, 2], key=f),
        lambda f: next(iter(filter(f, [1]))),
        lambda f: __import__("functools").partial(f, 1)(),
        lambda f: __import__("functools").reduce(lambda a, b: f(b), [1, 2]),
        lambda f: type("T", (), {"__len__": lambda self: f(1)})().__len__(),
        lambda f: len(type("T", (), {"__len__": lambda self: 0 if f(1) else 1})()),
        lambda f: type("T", (), {"p": property(lambda self: f(1))})().p,
        lambda f: [*(f(x) for x in (1, 2))],
        lambda f: __import__("re").sub("a", lambda m: str(f(1)), "a"),
    ],
)
def test_functions_reached_through_c_code_are_seen(fh, reach):
    seen = []

    def target(x):
        return x

    def other(x):
        seen.append(x)
        return x

    (code,) = made("def other(x):\n    seen.append(x)\n    return x", "other")
    target.__globals__["seen"] = seen
    trigger = fh.Trigger(replacing(fh, {target.__code__: code.__code__}))
    want = reach(target)
    assert trigger.call(reach, target) == want
    assert seen
    del target.__globals__["seen"]


def test_exception_of_the_callback_leaves_the_call(fh):
    def function(x):
        return 1

    def boom(*arguments):
        raise Oops

    for _ in range(50):
        with pytest.raises(Oops) as caught:
            fh.Trigger(boom).call(function, 1)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "boom"
    with pytest.raises(TypeError, match="the callback of a trigger returned 5"):
        fh.Trigger(lambda *arguments: 5).call(function, 1)
    with pytest.raises(TypeError, match="'sometimes' is not 'default', 'skip' or 'settled'"):
        fh.Trigger(lambda *arguments: "sometimes").call(function, 1)


def test_exception_of_other_code_has_its_traceback_and_frames(fh):
    def function(x):
        return 1

    def raises(x):
        y = x
        raise Oops(y)

    thing = object()
    gc.collect()
    before = sys.getrefcount(thing)
    trigger = fh.Trigger(replacing(fh, {function.__code__: raises.__code__.replace(co_name="function")}))

    def once():
        try:
            trigger.call(function, thing)
        except Oops as error:
            frames = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
            inner = error.__traceback__.tb_next.tb_frame
            assert inner.f_locals["y"] is thing
            assert inner.f_back is sys._getframe()
            return frames
        raise AssertionError("nothing was raised")

    for _ in range(50):
        frames = once()
    assert [name for name, _ in frames] == ["once", "function"]
    assert frames[1][1] == raises.__code__.co_firstlineno + 2
    gc.collect()
    assert sys.getrefcount(thing) == before


def test_frame_objects_outlive_the_call(fh):
    kept = []

    def function(a, b):
        c = a + b
        kept.append(sys._getframe())
        return locals()

    trigger = fh.Trigger(replacing(fh, {function.__code__: renamed(function)}))
    for i in range(200):
        assert trigger.call(function, i, 1) == {"a": i, "b": 1, "c": i + 1, "kept": kept}
    frame = kept[150]
    assert frame.f_locals["c"] == 151
    assert frame.f_code.co_name == "other"
    assert frame.f_globals is globals()
    kept.clear()


def test_value_instead_of_the_call(fh):
    class Thing:
        pass

    gone = []

    def function(thing, *args, **kwargs):
        raise AssertionError("it must not run")

    trigger = fh.Trigger(lambda code, called, arguments: (arguments[0].number,) if called is function else None)
    for number in range(100):
        thing = Thing()
        thing.number = number
        gone.append(weakref.ref(thing))
        assert trigger.call(function, thing, 1, k=2) == number
    del thing
    gc.collect()
    assert not any(reference() for reference in gone)


def test_code_for_one_call_only(fh):
    def function(x):
        return x

    answers = []

    def callback(code, called, arguments):
        if called is not function:
            return "default"
        answers.append(arguments)
        return (lambda x: x + 1).__code__ if len(answers) % 2 else (lambda x: x + 2).__code__

    trigger = fh.Trigger(callback)
    assert [trigger.call(function, 1) for _ in range(4)] == [2, 3, 2, 3]
    assert len(answers) == 4
    assert trigger.get(function.__code__) is None


def test_deep_recursion_within_the_limit_of_python(fh, recursion_limit):
    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    trigger = fh.Trigger(replacing(fh, {factorial.__code__: renamed(factorial)}))
    recursion_limit(5000)
    assert trigger.call(factorial, 900) == math.factorial(900)
    assert trigger.call(factorial, 3000) == math.factorial(3000)


def test_endless_recursion_is_a_recursion_error(fh):
    def endless(n):
        return endless(n + 1)

    trigger = fh.Trigger(replacing(fh, {endless.__code__: renamed(endless)}))
    for _ in range(3):
        with pytest.raises(RecursionError):
            trigger.call(endless, 0)


@pytest.fixture
def recursion_limit():
    before = sys.getrecursionlimit()
    yield sys.setrecursionlimit
    sys.setrecursionlimit(before)
