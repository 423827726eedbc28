"""What a call is given is released when the call is over, as it is uncompiled: lect keeps it in no cycle, which only a walk through all objects would find."""

import gc
import weakref

import pytest
import torch

import lect


class Held:
    """Something that can be watched."""

    def __init__(self):
        self.weight = torch.ones(3)


@lect.disable
def cut():
    pass


def pairs(held):
    yield held.weight
    yield held.weight + 1


def plain(x, held):
    return x * held.weight


def behind_a_cut(x, held):
    y = x * held.weight
    cut()
    return y + held.weight


def generator(x, held):
    for each in pairs(held):
        x = x + each
    return x


def suspended_generator(x, held):
    going = pairs(held)
    return x + next(going)


def raises(x, held):
    raise KeyError(held.weight.shape[0])


def raises_behind_a_graph(x, held):
    y = x * held.weight
    raise KeyError(y.shape[0])


def raises_behind_a_cut(x, held):
    cut()
    raise KeyError(held.weight.shape[0])


def raises_through_a_finally(x, held):
    cut()
    try:
        held.missing  # noqa: B018
    finally:
        cut()
    return x


def raises_out_of_a_handler(x, held):
    try:
        cut()
        held.missing  # noqa: B018
    except AttributeError:
        cut()
        raise ValueError(3) from None
    return x


def raises_below(x, held):
    cut()
    return raises_through_a_finally(x, held)


def raises_in_torch(x, held):
    return x @ torch.ones(7, 7) + held.weight


def generators_around_each_other(x, held):
    def outer():
        yield from pairs(held)
        yield x

    going = outer()
    for each in going:
        x = x + each
        if x.shape[0] == 3:
            break
    return x, *(each * held.weight for each in pairs(held))


def numbers(x, held, size=None):
    for size in x.shape:
        x = x + size * held.weight
    return x


def graph_raises_behind_a_cut(x, held):
    cut()
    try:
        return x @ torch.ones(x.shape[0] + 4, 7) + held.weight
    finally:
        cut()


def handles(x, held):
    try:
        raises(x, held)
    except KeyError as error:
        return x * error.args[0]
    return x


FUNCTIONS = (
    plain, behind_a_cut, generator, suspended_generator, raises, raises_behind_a_graph, raises_behind_a_cut, raises_through_a_finally, raises_out_of_a_handler,
    raises_below, raises_in_torch, generators_around_each_other, numbers, graph_raises_behind_a_cut, handles,
)  # fmt: skip


def ends(function):
    """How a call ends, and whether what it was given lives on."""
    held = Held()
    alive = weakref.ref(held)
    try:
        found = function(torch.arange(3.0), held)
        found = [each.tolist() for each in found] if isinstance(found, tuple) else found.tolist()
    except Exception as error:
        found = type(error).__name__
    del held
    return found, alive() is not None


@pytest.mark.parametrize("options", [{"level": "fx"}, {}, {"guards": "both"}], ids=["fx", "native", "native guards"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_objects_of_a_call_are_released_with_it(function, options):
    """Also where rows of native guards are written from what the first calls are given."""
    lect.reset()
    compiled = lect.compile(function, options=options)
    gc.collect()
    gc.disable()
    try:
        assert [ends(compiled) for _ in range(3)] == [ends(function)] * 3
    finally:
        gc.enable()
    assert ends(function)[1] is False


def weighted(x, weight):
    return (x * weight).sin().sum()


def weighted_behind_a_cut(x, weight):
    y = (x * weight).sin()
    cut()
    return y.sum()


@pytest.mark.parametrize("function", [weighted, weighted_behind_a_cut])
def test_tensors_of_a_backward_are_released_with_it(function):
    lect.reset()
    compiled = lect.compile(function)
    gc.collect()
    gc.disable()
    try:
        for size in (3, 3, 4, 5):
            x, weight = torch.randn(size), torch.randn(size, requires_grad=True)
            compiled(x, weight).backward()
            assert torch.allclose(weight.grad, (x * weight).detach().cos() * x)
            alive = weakref.ref(weight)
            del weight
            assert alive() is None
    finally:
        gc.enable()


def test_generators_are_closed_when_an_exception_has_left_through_a_finally():
    def going(log, number):
        try:
            cut()
            yield number
            if number == 1:
                raise KeyError(number)
            yield number + 1
        finally:
            log.append(f"left {number}")

    def program(log):
        first, second = going(log, 1), going(log, 2)
        cut()
        try:
            log.append([*zip(first, second)])
        finally:
            log.append("out")

    def told(function):
        log = []
        try:
            function(log)
        except KeyError as error:
            log.append(error.args)
        return log

    compiled = lect.compile(program, options={"level": "fx"})
    gc.disable()
    try:
        assert told(compiled) == told(compiled) == told(program) == ["left 1", "out", (1,), "left 2"]
    finally:
        gc.enable()
