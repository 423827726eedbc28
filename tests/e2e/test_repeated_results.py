"""Functions that are followed once: what they return, and what the program does with it later, must not be taken for what they returned before."""

import types

import pytest
import torch

import lect
from tests.e2e.repetition import agree, compiled_graph, repeated
from tests.e2e.support import same

SHARED = types.SimpleNamespace(scale=2.0)


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def test_one_tensor_that_is_returned_twice():
    def twice(x):
        y = x * 2
        return y, [y, {"again": y}]

    def program(x, y):
        a, (b, c) = twice(x)
        d, (e, f) = twice(y)
        d.add_(1)
        f["again"].mul_(3)
        return a, b, c, d, e, f, a is b, d is e, e is f["again"], d is a

    assert repeated(program, torch.randn(3), torch.randn(3)) >= 1
    agree(program, torch.randn(3), torch.randn(3))


def test_returned_containers_are_changed_later():
    def make(x):
        return [], {}, [x + 1, {"a": x * 2, "n": 3}]

    def program(x, y):
        a = make(x)
        a[0].append(1)
        a[1]["q"] = 2
        a[2][1]["n"] = 9
        a[2].clear()
        b = make(y)
        b[0].append(5)
        b[2][1].pop("a")
        return a, b, make(x)

    assert repeated(program, torch.randn(3), torch.randn(3)) >= 2
    agree(program, torch.randn(3), torch.randn(3))


def test_global_that_an_inner_call_compares_with():
    def scale(x, holder):
        return x * 2 if holder is SHARED else x * 3

    def outer(x, holder):
        return scale(x, holder) + 1

    def outermost(x, holder):
        return outer(x, holder) - 3

    other = types.SimpleNamespace(scale=2.0)
    holders = [SHARED, SHARED, other, SHARED, other]

    def program(x):
        first = scale(x, holders[0]), outer(x, holders[1]), outermost(x, holders[3])
        return first, outer(x, holders[2]), outermost(x, holders[4])

    repeated(program, torch.randn(3))
    compiled = compiled_graph(program)
    with torch.no_grad():
        x = torch.randn(3)
        same(program(x), compiled(x))
        holders[4] = SHARED
        same(program(x), compiled(x))
        holders[1] = other
        same(program(x), compiled(x))


def test_strides_of_a_weight_are_changed_between_calls():
    weights = [torch.randn(3, 3) for _ in range(3)]

    def apply(x, weight):
        return x @ weight, weight.stride()

    def program(x):
        first = [apply(x, weight) for weight in weights]
        weights[1].t_()
        return first, [apply(x, weight) for weight in weights]

    holders = [types.SimpleNamespace(weight=weight) for weight in weights]

    def apply_held(x, holder):
        return x @ holder.weight, holder.weight.stride()

    def held(x):
        first = [apply_held(x, holder) for holder in holders]
        holders[1].weight.t_()
        return first, [apply_held(x, holder) for holder in holders]

    for each in (program, held):
        compiled, x = compiled_graph(each), torch.randn(3, 3)
        for _ in range(3):
            with torch.no_grad():
                want = each(x)
                weights[1].t_()
                got = compiled(x)
                weights[1].t_()
            same(want, got)
            weights[1].t_()


def test_argument_that_was_first_found_along_the_path_that_is_read():
    held = types.SimpleNamespace(one=types.SimpleNamespace(scale=2.0))
    others = [held.one, types.SimpleNamespace(scale=2.0), types.SimpleNamespace(scale=2.0)]

    def scale(x, holder):
        return x * holder.scale + (1 if holder is held.one else 2)

    def program(x):
        return held.one.scale, [scale(x, each) for each in others], [scale(x, each) for each in reversed(others)]

    repeated(program, torch.randn(3))
    agree(program, torch.randn(3))


def test_argument_that_is_also_an_attribute_of_an_argument():
    holders = [types.SimpleNamespace(weight=torch.randn(3), scale=float(number), part=types.SimpleNamespace(k=1.0)) for number in range(3)]

    def apply(x, holder, weight, scale, part):
        return x * holder.weight - weight, x * holder.scale + scale, part is holder.part, holder.part.k, part.k

    def program(x):
        own = [apply(x, each, each.weight, each.scale, each.part) for each in holders]
        crossed = [apply(x, a, b.weight, c.scale, d.part) for a in holders for b in holders for c in holders for d in holders]
        return own, crossed

    repeated(program, torch.randn(3))
    agree(program, torch.randn(3))


def test_views_are_asked_for():
    def flat(x):
        return x.view(-1)

    def program(x, y):
        bases = [x * 1, y * 1, x * 2]
        views = [flat(base) for base in bases]
        return [each._is_view() for each in (*bases, *views, x[0])], views

    def of_input(x):
        return x * (2 if x._is_view() else 3)

    agree(program, torch.randn(3), torch.randn(3))
    compiled, base = compiled_graph(of_input), torch.randn(4, 3)
    with torch.no_grad():
        for x in (base, base.view(4, 3), base.view(4, 3), base):
            same(of_input(x), compiled(x))
