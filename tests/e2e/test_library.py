"""Functions of the standard library in compiled functions."""

import contextlib
import copy
import re
import sys

import pytest
import torch

import lect
from lect.frontends.capture import consumers
from tests.e2e import library
from tests.e2e.support import check, fallbacks, same, stops, versions


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


@pytest.mark.parametrize("program", library.PROGRAMS, ids=lambda program: program.__name__)
def test_program_is_one_graph(program):
    compiled = lect.compile(program)
    for seed in range(2):
        check(program, torch.randn(4, generator=torch.Generator().manual_seed(seed)), compiled=compiled)
    assert fallbacks() == []
    assert versions() == 1


def test_deep_copy_follows_a_change_of_the_original():
    compiled = lect.compile(library.deep_copies)
    check(library.deep_copies, torch.randn(4), compiled=compiled)
    library.SETTINGS.width = 5
    try:
        check(library.deep_copies, torch.randn(4), compiled=compiled)
    finally:
        library.SETTINGS.width = 3
    assert versions() == 2


def test_identity_of_another_object_is_another_one():
    table = {id(library.SETTINGS): 2.0}

    def looked_up(x, thing):
        return x * table.get(id(thing), 1.0)

    compiled = lect.compile(looked_up)
    check(looked_up, torch.randn(4), library.SETTINGS, compiled=compiled)
    check(looked_up, torch.randn(4), library.Settings(), compiled=compiled)


def test_deep_copy_of_a_class_with_a_say_in_it_asks_it():
    class Counted(library.Settings):
        def __deepcopy__(self, memo):
            return self

    kept = Counted()

    def program(x):
        import copy

        return x * (2 if copy.deepcopy(kept) is kept else 3)

    check(program, torch.randn(4))
    assert stops() == []


def test_generator_left_inside_of_a_with_runs_eagerly():
    log = []

    @contextlib.contextmanager
    def noted():
        yield
        log.append("left")

    def values(x):
        with noted():
            yield x
            yield x + 1

    def program(x):
        return next(values(x)) * 2

    check(program, torch.randn(4))
    assert stops()[:1] == ["LB0009"]


def test_fields_and_keys_of_an_output_are_the_same_objects():
    got = lect.compile(library.outputs_with_fields)(torch.randn(4))
    assert list(got) == ["first", "second"] and list(vars(got)) == ["first", "second"]
    assert got.first is got["first"] and got.second is got["second"]
    assert fallbacks() == []


class Wrapped(torch.nn.Module):
    """A module whose forward is inside of a decorator that takes all arguments as they come."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    @library.counted
    def forward(self, x, scale=2):
        return self.linear(x) * scale


def test_forward_that_takes_self_among_its_arguments():
    model = Wrapped()
    compiled = lect.compile(model)
    with torch.no_grad():
        check(model, torch.randn(2, 4), compiled=compiled)
        check(model, torch.randn(2, 4), scale=3, compiled=compiled)
        assert fallbacks() == []
        calls = []
        model.register_forward_hook(lambda *_: calls.append(1))
        compiled(torch.randn(2, 4))
    assert calls == [1]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x


def test_autograd_function_without_gradients():
    with torch.no_grad():
        check(lambda x: Doubled.apply(x, 2) + 1, torch.randn(4))
        assert fallbacks() == []
        check(lambda x: Same.apply(x) + 1, torch.randn(4))
        assert stops()[:1] == ["LB0003"]


def test_autograd_function_where_gradients_are_recorded():
    check(lambda x: Doubled.apply(x, 2) + 1, torch.randn(4))
    assert stops() == []


def test_deep_copy_of_tensors_has_memory_of_its_own():
    def program(x):
        state = {"x": x, "list": [x, 3]}
        copied = copy.deepcopy(state)
        copied["x"].add_(1)
        return copied["x"], copied["list"][0] is copied["x"], x

    check(program, torch.randn(4))
    assert stops() == []


def test_deep_copy_with_a_memo_of_the_program_keeps_the_originals_there():
    def program(x):
        memo, inner = {}, [(1, ["a"])]
        copied = copy.deepcopy(inner, memo)
        originals = memo[id(memo)]
        return x + 1, copied, len(memo), memo[id(inner)] is copied, [each is what for each, what in zip(originals, (inner[0][1], inner[0], inner))]

    check(program, torch.randn(4))
    assert stops() == []


def test_deep_copy_of_a_tensor_with_a_memo_of_the_program():
    def program(x):
        memo = {}
        copied = copy.deepcopy([x, [1], x], memo)
        return copied[0] * 2, copied[0] is copied[2], len(memo)

    check(program, torch.randn(4))
    assert stops()[:1] == ["LB0003"]


def test_deep_copy_of_tensors_that_share_memory():
    def program(x):
        copied = copy.deepcopy([x, x[0]])
        copied[0].zero_()
        return copied, x

    check(program, torch.randn(4, 2))


@pytest.mark.parametrize("compensated", [False, True])
def test_sum_of_floats_is_that_of_this_python(compensated, monkeypatch):
    """Since 3.12 `sum` keeps track of what rounding loses; the way it is followed there gives the same on older ones."""
    if not compensated and sys.version_info >= (3, 12):
        pytest.skip("sum is compensated here")
    monkeypatch.setattr(consumers, "COMPENSATED", compensated)

    def program(x, values):
        return sum(values), sum(values, 1), sum([x, *values]), sum([*values, x, 0.1, 0.2]), sum([1, 2, 3]), sum(n * 0.1 for n in range(10)), sum([], x)

    compiled = lect.compile(program, options={"level": "fx"})
    for values in ([0.1] * 10, [1e16, 1.0, -1e16], [1, 0.1, True, 0.2], [0.3] * 10):
        same(program(torch.ones(2), values), compiled(torch.ones(2), values), exact=True)
    assert fallbacks() == []


@pytest.mark.parametrize("compensated", [False, True])
def test_sum_of_floats_that_change(compensated, monkeypatch):
    """They are numbers of run time, however `sum` adds them."""
    if not compensated and sys.version_info >= (3, 12):
        pytest.skip("sum is compensated here")
    monkeypatch.setattr(consumers, "COMPENSATED", compensated)

    def program(x, values, k):
        return x * sum(values), sum(values), sum(values, k), sum([k, *values, x]), sum([k, 3]), sum(w * k for w in values)

    compiled = lect.compile(program)
    for n in range(1, 6):
        values = [0.1 * n, 1e16 * n, n / 3, -1e16 * n]
        same(program(torch.ones(2), values, n), compiled(torch.ones(2), values, n), exact=True)
    assert fallbacks() == []
    assert len(lect.events("trace")) == 2


@lect.disable
def cut():
    """Where the graph breaks."""


def test_matches_on_both_sides_of_a_cut():
    def program(x, text):
        found = []
        for match in re.finditer(r"(\w)(\d)", text):
            x = x * int(match[2])
            cut()
            found.append(match.group(1))
        return x, found

    compiled = lect.compile(program)
    for text in ("a1 b2", "a1 b2", "c3", ""):
        check(program, torch.randn(4), text, compiled=compiled)
    assert stops().count("LB0028") > 0
