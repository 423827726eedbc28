"""Hooks of modules, locks, attributes of classes and modules, weak references: what is shared behaves as uncompiled."""

import copy
import functools
import sys
import threading
import types
import weakref

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops, versions

LOCK, NESTED = threading.Lock(), threading.RLock()
LOG = []


class Counted:
    """Counts on its class."""

    made = 0
    step = 1

    def __init__(self):
        self.number = Counted.made
        Counted.made += self.step


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    LOG.clear()
    Counted.made, Counted.step = 0, 1
    yield
    lect.reset()


def graph_of(fn):
    return lect.compile(fn, options={"level": "fx"})


# ---- hooks -----------------------------------------------------------------------------------------------------------


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.second(self.first(x))


def doubled(module, args, output):
    return output * 2


def shifted(module, args):
    return (args[0] + 1,)


def unchanged(module, args, kwargs, output):
    return None


@pytest.fixture
def hooked():
    torch.manual_seed(0)
    model = Hooked()
    model.first.register_forward_pre_hook(shifted)
    model.first.register_forward_hook(unchanged, with_kwargs=True)
    model.second.register_forward_hook(doubled)
    return model


def test_hooks_of_inner_modules_run(hooked):
    compiled = graph_of(hooked)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(2, 3)
            same(hooked(x), compiled(x))
    assert (stops(), versions()) == ([], 1)


def test_hook_is_added_and_removed(hooked):
    compiled = graph_of(hooked)
    x = torch.randn(2, 3)
    with torch.no_grad():
        same(hooked(x), compiled(x))
        handle = hooked.first.register_forward_hook(lambda module, args, output: output - 5)
        same(hooked(x), compiled(x))
        handle.remove()
        same(hooked(x), compiled(x))
        hooked.second._forward_hooks.clear()
        same(hooked(x), compiled(x))
    assert stops() == []


def test_hook_keeps_what_it_saw(hooked):
    seen = {}
    hooked.first.register_forward_hook(lambda module, args, output: seen.update(output=output, of=module))
    compiled = graph_of(hooked)
    x = torch.randn(2, 3)
    with torch.no_grad():
        compiled(x)
        got = dict(seen)
        hooked(x)
    assert got["of"] is seen["of"]
    same(seen["output"], got["output"])
    assert stops() == []


def test_hook_is_registered_by_the_compiled_frame():
    class Installs(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)
            self.handle = None

        def forward(self, x):
            if self.handle is None:
                self.handle = self.inner.register_forward_hook(doubled)
            return self.inner(x)

    model = Installs()
    compiled = graph_of(model)
    x = torch.randn(2, 3)
    with torch.no_grad():
        first = compiled(x)
        assert list(model.inner._forward_hooks.values()) == [doubled]
        same(model.inner(x), first)
        same(first, compiled(x))
        assert len(model.inner._forward_hooks) == 1
        model.handle.remove()
        same(first / 2, compiled(x))
    assert stops() == []


# ---- locks -----------------------------------------------------------------------------------------------------------


def test_writes_wait_for_their_lock():
    def program(x):
        with LOCK:
            LOG.append(x)
        return x + 1

    compiled = graph_of(program)
    x = torch.randn(3)
    same(x + 1, compiled(x))
    LOG.clear()
    thread = threading.Thread(target=compiled, args=(x,), daemon=True)
    with LOCK:
        thread.start()
        thread.join(0.3)
        waited = thread.is_alive(), list(LOG)
    thread.join(10)
    assert waited == (True, [])
    same([x], LOG)
    assert not LOCK.locked()
    assert stops() == []


def test_lock_that_may_be_taken_again():
    def program(x):
        NESTED.acquire()
        with NESTED:
            LOG.append(1)
        NESTED.release()
        return x + len(LOG)

    compiled = graph_of(program)
    x = torch.randn(3)
    same(x + 1, compiled(x))
    same(x + 2, compiled(x))
    held = []

    def take():
        held.append(NESTED.acquire(blocking=False))
        if held[0]:
            NESTED.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert held == [True]
    assert stops() == []


def test_trying_a_lock_runs_eagerly():
    def program(x):
        return x + 1 if LOCK.acquire(blocking=False) else x - 1

    x = torch.randn(3)
    compiled = graph_of(program)
    same(x + 1, compiled(x))
    same(x - 1, compiled(x))
    LOCK.release()


# ---- attributes of classes and modules --------------------------------------------------------------------------------


def test_attribute_of_a_class_is_counted_up():
    def program(x):
        a, b = Counted(), Counted()
        return x * a.number + b.number * b.made

    compiled = graph_of(program)
    x = torch.randn(3)
    for _ in range(3):
        before = Counted.made
        want = program(x)
        Counted.made = before
        same(want, compiled(x))
        assert Counted.made == before + 2
    Counted.step = 3
    before = Counted.made
    want = program(x)
    Counted.made = before
    same(want, compiled(x))
    assert Counted.made == before + 6
    assert stops() == []


def test_method_set_on_a_class_runs_eagerly():
    def program(x):
        Counted.extra = lambda self: 1
        return x + Counted().extra()

    x = torch.randn(3)
    same(x + 1, graph_of(program)(x))
    assert stops() == ["LB0004"]
    del Counted.extra


def test_attribute_of_a_module():
    place = types.ModuleType("lect_tests_place")
    place.total = 1
    sys.modules["lect_tests_place"] = place

    def program(x):
        place.total = place.total + 1
        place.last = x * 2
        return x * place.total + place.last

    compiled = graph_of(program)
    x = torch.randn(3)
    same(x * 2 + x * 2, compiled(x))
    assert place.total == 2
    same(x * 2, place.last)
    same(x * 3 + x * 2, compiled(x))
    assert stops() == []
    del sys.modules["lect_tests_place"]


# ---- weak references -------------------------------------------------------------------------------------------------


def test_weak_reference_is_made_and_kept():
    class Owner:
        scale = 2.0

    owner, holder = Owner(), types.SimpleNamespace()

    def program(x):
        holder.owner = weakref.ref(owner)
        return x * holder.owner().scale

    x = torch.randn(3)
    same(x * 2.0, graph_of(program)(x))
    assert holder.owner is weakref.ref(owner)
    assert stops() == []


# ---- containers that grow --------------------------------------------------------------------------------------------


def appended(x, log, table):
    log.append(x * 2)
    log.append(len(x))
    return x + 1


def appended_and_counted(x, log, table):
    log.append(x)
    return x * len(log)


def appended_and_read(x, log, table):
    log.append(x)
    log.append(x * 3)
    return log[-1] + log[-2]


def appended_before_a_loop(x, log, table):
    log.append(x)
    total = x
    for each in log:
        total = total + each
    return total, list(log), bool(log), x is log[0]


def grown_in_a_table(x, log, table):
    table.setdefault("losses", []).append(x.sum())
    table.setdefault("sizes", []).append(x.shape[0])
    return x + 1


GROWING = {appended: 1, appended_and_counted: 4, appended_and_read: 4, appended_before_a_loop: 4, grown_in_a_table: 2}


@pytest.mark.parametrize("program", GROWING, ids=lambda program: program.__name__)
def test_list_that_grows_at_each_call(program):
    compiled = graph_of(program)
    eager, mine = ([], {}), ([], {})
    for number in range(4):
        x = torch.full((3,), float(number))
        same(program(x, *eager), compiled(x, *mine))
        same(eager, mine)
    assert stops() == []
    assert versions() <= GROWING[program]


def test_list_that_grows_while_it_is_read():
    def program(x, log):
        for each in log:
            if len(log) < 4:
                log.append(each + 1)
        return x * len(log)

    x = torch.ones(3)
    eager, mine = [x, x * 2], [x, x * 2]
    same(program(x, eager), graph_of(program)(x, mine))
    same(eager, mine)


# ---- copies of objects that answer in Python --------------------------------------------------------------------------


class Aliased:
    """Reads under another name, as configurations do."""

    aliases = {"width": "size"}  # noqa: RUF012

    def __init__(self):
        self.size, self.parts = 2.0, [1, 2]

    def __getattribute__(self, name):
        if name != "aliases" and name in super().__getattribute__("aliases"):
            name = super().__getattribute__("aliases")[name]
        return super().__getattribute__(name)


class CopiesItself(Aliased):
    def __getattr__(self, name):
        if name == "__deepcopy__":
            return lambda memo: Aliased()
        raise AttributeError(name)


@pytest.mark.parametrize(("made", "reasons"), [(Aliased, []), (CopiesItself, ["LB0003"])])
def test_deep_copy_asks_the_object(made, reasons):
    held = made()

    def program(x):
        copied = copy.deepcopy(held)
        copied.size += 1
        copied.parts.append(3)
        return x * copied.width + len(copied.parts), copied, copied.parts is held.parts

    compiled = graph_of(program)
    x = torch.randn(3)
    same(program(x), compiled(x))
    held.size = 5.0
    same(program(x), compiled(x))
    assert held.parts == [1, 2]
    assert stops()[:1] == reasons


def test_a_cached_function_never_keeps_a_tensor_of_the_trace():
    """The cache outlives the trace: what it holds has elements, and is of the time of the call."""
    made, kept = [], torch.zeros(2)

    @functools.lru_cache
    def table(number):
        made.append(number)
        return kept + torch.full((2,), float(number))

    def through(x, number):
        return x + table(number) + table(number)

    def behind_a_write(x, number):
        kept.add_(1)
        return x * table(number)

    x = torch.ones(2)
    for program, number in [(through, 1), (through, 2), (through, 1), (behind_a_write, 7), (behind_a_write, 8)]:
        before = kept.clone()
        got = lect.compile(program)(x, number)
        first = list(made)
        table.cache_clear()
        now = kept.clone()
        kept.copy_(before)
        same(program(x, number), got)
        same(now, kept)
        assert first.count(number) == 1 or program is behind_a_write
        made.clear()
    assert type(table(1)) is torch.Tensor


def test_another_forward_of_the_class_of_a_compiled_module():
    class Scale(nn.Module):
        factor = 2

        def forward(self, x):
            return x * self.factor

    module = Scale()
    compiled, x = lect.compile(module), torch.ones(2)
    first = Scale.forward
    for forward in (first, lambda self, x: x + 10, first, lambda self, x: self.factor - x):
        Scale.forward = forward
        for factor in (2, 3):
            Scale.factor = factor
            same(module(x), compiled(x))
    assert stops() == []


def test_a_function_mode_sees_the_calls_of_the_program_alone():
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    def program(x):
        return x.sin() + x.T.cos()

    compiled, x = lect.compile(program), torch.rand(2, 2)
    compiled(x)
    compiled(torch.rand(3, 3))
    told = []
    for run in (program, compiled, compiled):
        seen = []
        with Mode():
            run(x)
        told.append(seen)
    assert told[0] and told[0] == told[1] == told[2]
