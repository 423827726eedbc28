"""Methods of C code behind `super()`, other defaults, errors of `__getattr__`: what a cut or a second call must not take for something else."""

import pytest
import torch

import lect
from tests.e2e.conftest import use_trigger

X = torch.tensor([1.0, -2.0, 3.0])


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


class Doubling(list):
    def append(self, value):
        super().append((value, value))

    def __len__(self):
        return super().__len__() + 10

    def add(self, value):
        super().append(print(end="") or value)
        return super().append


class Failure(Exception):
    def __init__(self, message, value):
        super().__init__(message)
        self.value = value


def test_a_method_behind_super_is_held_over_a_cut():
    def add(x, items):
        method = items.add(3)
        return x + 1, method

    seen = []
    for function in (add, lect.compile(add)):
        items = Doubling()
        for _ in range(2):
            _, method = function(X, items)
        method(7)
        seen.append((list(items), len(items), method == super(Doubling, items).append))
    assert seen[0] == seen[1] == ([3, 3, 7], 13, True)


def test_a_method_behind_super_is_returned():
    compiled = lect.compile(lambda x, items: (x * 2, super(Doubling, items).append, items.append))
    items = Doubling()
    _, plain, doubling = compiled(X, items)
    plain(1)
    doubling(2)
    assert list(items) == [1, (2, 2)]


@pytest.mark.parametrize("trigger", ["function", "hook"])
def test_an_exception_with_an_init_of_its_own_is_made_at_a_cut(trigger, monkeypatch):
    use_trigger(trigger, monkeypatch)

    def fail(x):
        steps = []
        try:
            try:
                raise Failure("no", x + 1)
            except Failure as error:
                steps.append(error.value)
                error.add_note("noted")
                raise
        except Exception as error:
            steps.append((type(error).__name__, str(error), error.__notes__))
        return x + len(steps), steps

    compiled = lect.compile(fail)
    for _ in range(2):
        got, want = compiled(X), fail(X)
        assert torch.equal(got[0], want[0])
        assert torch.equal(got[1][0], want[1][0])
        assert got[1][1:] == want[1][1:] == [("Failure", "no", ["noted"])]


def test_another_dictionary_of_keyword_defaults():
    def scale(x, *, by=2, more=(1,)):
        return x * by + more[0]

    compiled = lect.compile(scale)
    compiled(X)
    for defaults in ({"by": 5, "more": (1,)}, {"by": 5, "more": (3,)}, {"by": 2, "more": (1,)}):
        scale.__kwdefaults__ = defaults
        assert torch.equal(compiled(X), scale(X))
    scale.__kwdefaults__["by"] = 7
    assert torch.equal(compiled(X), scale(X))
    scale.__kwdefaults__ = {"by": 7}
    for function in (scale, compiled):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'more'"):
            function(X)


def test_what_a_getattr_raises_gets_the_name_that_was_asked_for():
    class Few:
        def __getattr__(self, name):
            raise AttributeError("no such thing")

    class Named:
        def __getattribute__(self, name):
            raise AttributeError(name="other", obj=3)

    def ask(x, few, named):
        found = []
        for thing in (few, named):
            try:
                thing.color  # noqa: B018
            except AttributeError as error:
                found += [error.name, error.obj is thing]
        return x + 1, found

    compiled = lect.compile(ask, fullgraph=True)
    assert compiled(X, Few(), Named())[1] == ask(X, Few(), Named())[1] == ["color", True, "other", False]


def test_a_missed_guard_does_not_call_the_functions_of_a_subclass():
    asked = []

    class Counting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    compiled = lect.compile(lambda x: x * 2)
    compiled(X)
    counting = X.as_subclass(Counting)
    asked.clear()
    compiled(counting)
    assert asked == [torch.Tensor.mul]
