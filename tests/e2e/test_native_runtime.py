"""Compiled functions whose guards and host programs are native code: when that is so, what it notices, and that it leaves nothing behind."""

from __future__ import annotations

import gc
import sys
import threading

import pytest
import torch

import lect
from lect.runtime.entry import RUNTIME
from lect.runtime.native_guards import CREDIT, GUARDS_BEFORE_NATIVE, TABLES_PER_VERSION, meter


def native_of(function):
    (frame,) = [frame for frame in RUNTIME.frames if frame.function is function]
    return frame.cache.native


@pytest.fixture
def soon():
    """Native guards come with the second call."""
    before = meter().asked
    meter().asked = GUARDS_BEFORE_NATIVE
    yield
    meter().asked = before


def test_native_guards_come_when_guards_were_asked_often(monkeypatch):
    def affine(x, scale=2.0):
        return torch.relu(x) * scale + 1

    monkeypatch.setattr(meter(), "asked", 0)
    compiled = lect.compile(affine, options={"guards": "native"})
    x = torch.randn(3)
    for _ in range(3):
        compiled(x)
    assert native_of(affine).armed == 0
    meter().asked = GUARDS_BEFORE_NATIVE
    for _ in range(3):
        assert torch.equal(compiled(x), affine(x))
    assert native_of(affine).armed == 1
    lect.reset()


def test_python_guards_stay_when_asked_for(soon):
    def double(x):
        return x * 2

    compiled = lect.compile(double, options={"guards": "python"})
    for _ in range(5):
        assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
    assert native_of(double).armed == 0 and native_of(double).find(((torch.ones(3)),), {}) is None


def test_each_of_several_versions_is_found(soon):
    def several(x, n):
        return x * n

    compiled = lect.compile(several, dynamic=False)
    inputs = [(torch.randn(size), number) for size in (2, 3) for number in (1, 2.5)]
    for _ in range(4):
        for x, n in inputs:
            assert torch.equal(compiled(x, n), x * n)
    native = native_of(several)
    assert len({id(native.find(each, {})) for each in inputs}) == 4
    assert native.find((torch.randn(4), 1), {}) is None


class Layer(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.scale = scale

    def forward(self, x):
        return self.linear(x) * self.scale


def test_objects_that_take_turns_have_tables_each(soon):
    def apply(layer, x):
        return layer(x)

    compiled = lect.compile(apply)
    layers = [Layer(0.5) for _ in range(TABLES_PER_VERSION // 2)]
    x = torch.randn(2, 3)
    for _ in range(40):
        for layer in layers:
            torch.testing.assert_close(compiled(layer, x), layer(x))
    native = native_of(apply)
    assert all(native.find((layer, x), {}) is not None for layer in layers)
    layers[1].scale = 3.0
    assert native.find((layers[1], x), {}) is None
    torch.testing.assert_close(compiled(layers[1], x), layers[1](x))


def test_objects_that_never_come_again_cost_few_tables(soon):
    def fresh(layer, x):
        return layer(x)

    compiled = lect.compile(fresh)
    x = torch.randn(2, 3)
    for _ in range(60):
        layer = Layer(0.5)
        torch.testing.assert_close(compiled(layer, x), layer(x))
    assert native_of(fresh).armed <= CREDIT + 60 / 16


def test_a_counter_among_the_attributes_ends_nothing(soon):
    class Counting(Layer):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return super().forward(x)

    layer = Counting(0.5)

    def count(x):
        return layer(x)

    compiled = lect.compile(count)
    x = torch.randn(2, 3)
    for number in range(1, 12):
        compiled(x)
        assert layer.calls == number
    native = native_of(count)
    armed = native.armed
    for _ in range(20):
        compiled(x)
    assert native.armed == armed and native.find((x,), {}) is not None


def test_threads_get_right_values(soon):
    def threaded(x, n):
        return torch.sin(x) @ x * n

    compiled = lect.compile(threaded)
    wrong = []

    def work(number):
        x = torch.randn(4, 4)
        for _ in range(50):
            if not torch.allclose(compiled(x, number), threaded(x, number), atol=1e-5):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_leave_nothing_behind(soon):
    def steady(x, w):
        return torch.relu(x @ w).cumsum(0)

    compiled = lect.compile(steady)
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    for _ in range(50):
        compiled(x, w)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(2000):
        compiled(x, w)
    gc.collect()
    assert sys.getallocatedblocks() - before < 200


@pytest.mark.parametrize("host", ["native", "python"])
def test_both_hosts_give_one_result(host):
    def program(x, w, i):
        y = torch.addmm(x, x, w)
        z = torch.nn.functional.gelu(y).t()
        x.mul_(2)
        return z, y[i], torch.sort(x @ w)

    compiled = lect.compile(program, options={"host": host})
    w, i = torch.randn(4, 4), torch.tensor([2, 0])
    for _ in range(2):
        x = torch.randn(4, 4)
        found, wanted = (function(x.clone(), w, i) for function in (compiled, program))
        torch.testing.assert_close(found[:2], wanted[:2])
        torch.testing.assert_close(tuple(found[2]), tuple(wanted[2]))
        assert [each.stride() for each in found[:2]] == [each.stride() for each in wanted[:2]]
    with pytest.raises(IndexError):
        compiled(torch.randn(4, 4), w, torch.tensor([9]))
