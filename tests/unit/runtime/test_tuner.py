"""Measuring kernels in several forms, with a timer that knows the answers: which forms are tried, what is recorded, and that nothing is measured twice."""

import subprocess
import sys

import pytest
import torch

import lect
from lect.backends.llvm.loaded import cpu_target
from lect.ir import LectError
from lect.ir.printer import attribute_text
from lect.runtime.entry import RUNTIME, record
from lect.runtime.events import Tuning
from lect.runtime.graph_cache import GraphCache
from lect.runtime.report.page import page_data
from lect.runtime.store import Store
from lect.runtime.tuning_records import TuningStore


class Timer:
    """Knows how long each form takes: `times` maps a part of the text of its choices to microseconds; other forms take `other`."""

    def __init__(self, times=(), other=1e5, broken=()):
        self.times, self.other, self.broken = dict(times), other, tuple(broken)
        self.prepared, self.measured = [], []

    def prepare(self, trial):
        text = str({name: attribute_text(value) for name, value in trial.choices.items()})
        self.prepared.append((trial.name, text))
        if any(part in text for part in self.broken):
            raise RuntimeError("no registers are left")

    def microseconds(self, trial, limit):
        text = str({name: attribute_text(value) for name, value in trial.choices.items()})
        self.measured.append((trial.name, text, limit))
        return next((time for part, time in self.times.items() if part in text), self.other)


@pytest.fixture
def tuned(tmp_path, monkeypatch):
    """A function that gives the timer and the store of all compiles from now on."""

    def install(timer, folder="store"):
        store = Store(tmp_path / folder)
        monkeypatch.setattr(RUNTIME.log, "tuning", TuningStore(store, pytest.fail, timer))
        monkeypatch.setattr(RUNTIME, "graphs", GraphCache(store, RUNTIME.log))
        lect.reset()
        return RUNTIME.log.tuning

    return install


def softmax(x):
    return torch.softmax(x * 2, -1)


def run(fn, *args, **keywords):
    lect.reset()
    result = lect.compile(fn, mode="max-autotune", **keywords)(*args)
    torch.testing.assert_close(result, fn(*args))
    assert not lect.events("note", "fallback", "tuning problem")
    return lect.events("tuning")


def forms_of(tuned, fn, *args):
    """The texts of the forms that are tried, that of the estimate first."""
    timer = Timer(other=100.0)
    tuned(timer, "forms")
    run(fn, *args)
    return [text for _, text, _ in timer.measured]


def test_the_fastest_form_is_recorded_and_used(tuned):
    x = torch.randn(64, 1000)
    forms = forms_of(tuned, softmax, x)
    assert len(forms) > 2
    timer = Timer({forms[1]: 50.0}, other=100.0)
    store = tuned(timer)
    (event,) = run(softmax, x)
    assert isinstance(event, Tuning)
    assert (event.microseconds, event.before) == (50.0, 100.0)
    assert event.choices.removeprefix("tiles = ") in forms[1]
    record = store.find(event.device, event.kernel)
    assert len(record.measured) == len(event.table) == len(forms)
    assert [time for _, time in record.measured] == sorted(time for _, time in record.measured)
    assert dict(record.choices) == dict(record.measured[0][0])


def test_what_is_much_slower_is_looked_at_once(tuned):
    x = torch.randn(64, 1000)
    forms = forms_of(tuned, softmax, x)
    timer = Timer({forms[1]: 50.0}, other=100.0)
    tuned(timer)
    run(softmax, x)
    assert [limit for _, _, limit in timer.measured] == [float("inf"), 100.0, *[50.0] * (len(forms) - 2)]


def test_nothing_is_measured_twice(tuned):
    timer = Timer(other=100.0)
    tuned(timer)
    x = torch.randn(64, 1000)
    assert len(run(softmax, x)) == 1
    count = len(timer.prepared)
    assert run(softmax, x) == []
    assert run(lambda x: torch.softmax(x * 2, -1), x) == []  # the same kernel of another program
    assert len(timer.prepared) == count


def test_the_estimate_stays_where_others_are_hardly_faster(tuned):
    x = torch.randn(64, 1000)
    forms = forms_of(tuned, softmax, x)
    tuned(Timer({forms[0]: 100.0}, other=99.0))
    (event,) = run(softmax, x)
    assert event.before == event.microseconds == 100.0
    assert event.choices.removeprefix("tiles = ") in forms[0]
    assert "as estimated" in event.text()


def test_short_kernels_and_those_at_the_rate_of_memory_have_one_form(tuned):
    timer = Timer(other=1.0)
    tuned(timer)
    (event,) = run(softmax, torch.randn(64, 1000))
    assert len(timer.measured) == len(event.table) == 1


def scaled(x, y):
    return y * x.sum(1, keepdim=True)


def kernels_of(fn, *args):
    """The number of kernels that a compile in the default mode has, with the records that there are."""
    lect.reset()
    recorder = record()
    try:
        torch.testing.assert_close(lect.compile(fn)(*args), fn(*args), rtol=1e-4, atol=1e-4)
    finally:
        recorder.stop()
    (made,) = page_data(recorder)["compiles"]
    (text,) = [level["text"] for level in made["levels"] if level["name"] == "loop"]
    lines = page_data(recorder)["lines"]
    return sum("loop.nest" in lines[number] for first, count in zip(text[::2], text[1::2]) for number in range(first, first + count))


def test_two_nests_that_are_faster_stay_two(tuned):
    x, y = torch.rand(600, 1000), torch.rand(600, 1000)
    tuned(Timer({"'fused': 'false'": 500.0}, other=1e4))
    assert kernels_of(scaled, x, y) == 1
    events = run(scaled, x, y)
    assert [event.choices for event in events if "fused" in event.choices] == ["fused = false"]
    assert kernels_of(scaled, x, y) == 2
    assert run(scaled, x, y) == []


def test_two_nests_stay_one_where_that_is_as_fast(tuned):
    x, y = torch.rand(600, 1000), torch.rand(600, 1000)
    tuned(Timer({"'fused': 'false'": 9.9e3}, other=1e4))
    assert [event.choices for event in run(scaled, x, y) if "fused" in event.choices] == ["fused = true"]
    assert kernels_of(scaled, x, y) == 1


def test_two_nests_are_not_tried_where_memory_makes_them_slower(tuned):
    x, y = torch.rand(600, 1000), torch.rand(600, 1000)
    timer = Timer({"'fused'": 3.0}, other=3.0)
    tuned(timer)
    run(scaled, x, y)
    assert not any("false" in text for _, text, _ in timer.measured)


def test_a_fusion_that_saves_much_is_not_in_doubt(tuned):
    timer = Timer(other=1e4)
    tuned(timer)
    run(lambda x: torch.softmax(x * 2, -1) + 1, torch.randn(600, 1000))
    assert not any("fused" in text for _, text, _ in timer.measured)


def several(x):
    return torch.softmax(x * 2, -1), (x.t() + 1).contiguous(), x.cos().sum(0)


def test_a_process_measures_for_so_long_and_the_next_goes_on(tuned):
    class Slow(Timer):
        def microseconds(self, trial, limit):
            store.clock.before += 10.0
            return super().microseconds(trial, limit)

    x = torch.randn(640, 1000)
    store = tuned(Slow(other=1e4), "first")
    whole = {event.kernel for event in run(several, x)}
    assert len(whole) == 3
    store = tuned(Slow(other=1e4))
    assert [event.kernel for event in run(several, x, options={"tuning_budget": 25.0})] == []  # three estimates, but none of the other forms
    (stopped,) = lect.events("tuning stopped")
    assert stopped.text() == f"3 kernels are left to the estimates, and to the next process, as {stopped.seconds:.1f} s were measured"
    store.clock.before = 0.0
    assert {event.kernel for event in run(several, x, options={"tuning_budget": 1e6})} == whole
    assert lect.events("tuning stopped") == []
    store.clock.before = 1e9
    assert run(several, x) == []
    assert lect.events("tuning stopped", "tuning begins") == []


def test_a_budget_is_a_number_of_seconds(tuned):
    for wrong in ("1", -1, float("nan"), True):
        with pytest.raises(LectError, match="option 'tuning_budget' is a number of seconds"):
            lect.compile(softmax, mode="max-autotune", options={"tuning_budget": wrong})


def test_a_form_that_does_not_compile_is_none(tuned):
    x = torch.randn(64, 1000)
    forms = forms_of(tuned, softmax, x)
    tuned(Timer({forms[1]: 10.0, forms[2]: 20.0}, other=100.0, broken=[forms[1]]))
    (event,) = run(softmax, x)
    assert event.microseconds == 20.0
    assert len(event.table) == len(forms) - 1


def test_a_timer_that_fails_leaves_the_estimate(tuned):
    class Broken(Timer):
        def microseconds(self, trial, limit):
            raise RuntimeError("the device is lost")

    store = tuned(Broken())
    x = torch.randn(64, 1000)
    torch.testing.assert_close(lect.compile(softmax, mode="max-autotune")(x), softmax(x))
    (problem, *_) = lect.events("tuning problem")
    assert "not measured: RuntimeError: the device is lost" in problem.text()
    assert store.is_empty()
    assert not lect.events("note", "fallback")
    working = Timer(other=100.0)
    RUNTIME.log.tuning.timer = working
    assert len(run(softmax, x)) == 1  # the graph was not kept as one that is measured


def test_default_mode_measures_nothing_and_uses_what_is_there(tuned, monkeypatch):
    x = torch.randn(64, 1000)
    forms = forms_of(tuned, softmax, x)
    timer = Timer({forms[1]: 50.0}, other=100.0)
    tuned(timer)
    texts = []
    monkeypatch.setattr(RUNTIME, "observe", lambda stage, module: texts.append("\n".join(map(str, module.body))) if stage == "kernel" else None)

    def default():
        lect.reset()
        torch.testing.assert_close(lect.compile(softmax)(x), softmax(x))
        return texts.pop()

    before = default()
    assert timer.prepared == []
    run(softmax, x)
    tuned_text, count = texts.pop(), len(timer.prepared)
    assert default() == tuned_text != before
    assert len(timer.prepared) == count


def test_backwards_are_measured_too(tuned):
    tuned(Timer(other=100.0))
    x = torch.randn(64, 1000, requires_grad=True)
    assert len(run(softmax, x)) == 1
    lect.compile(softmax, mode="max-autotune")(x).sum().backward()
    assert len(lect.events("tuning")) == 2


FUSED = pytest.mark.skipif(not cpu_target()["fma"], reason="nests do no products on a processor that does not add and multiply at once")


def product(x, w):
    return torch.tanh(x @ w)


@FUSED
@pytest.mark.parametrize(("fast", "slow"), [("own", "library"), ("library", "own")])
def test_who_multiplies_is_measured(tuned, fast, slow):
    timer = Timer({f"'product': '\"{fast}\"'": 10.0, f"'product': '\"{slow}\"'": 20.0}, other=100.0)
    store = tuned(timer)
    events = run(product, torch.randn(64, 64), torch.randn(64, 64))
    chosen = [event for event in events if event.choices.startswith("product")]
    assert [event.choices for event in chosen] == [f'product = "{fast}"']
    assert store.find(chosen[0].device, chosen[0].kernel).choices == {"product": fast}


@FUSED
@pytest.mark.parametrize(("hosts", "chosen"), [((30.0, 2.0), "own"), ((5.0, 2.0), "library"), ((30.0, 40.0), "library")])
def test_the_host_counts_where_it_takes_longer_than_the_device(tuned, hosts, chosen):
    class Slow(Timer):
        def microseconds(self, trial, limit):
            if trial.asks_host:
                trial.host = hosts[trial.choices == {"product": "own"}]
            return super().microseconds(trial, limit)

    tuned(Slow({"'product': '\"library\"'": 10.0, "'product': '\"own\"'": 20.0}, other=100.0))
    events = [event for event in run(product, torch.randn(64, 64), torch.randn(64, 64)) if event.choices.startswith("product")]
    assert [event.choices for event in events] == [f'product = "{chosen}"']


def test_the_clock_of_this_machine(tuned):
    """No timer of ours: forms are compiled, run and timed."""
    tuned(None)
    (event,) = run(softmax, torch.randn(256, 3000))
    assert all(0 < time < 1e6 for _, time in event.table)


def test_random_numbers_of_the_program_are_not_touched(tuned):
    tuned(None)
    x = torch.randn(256, 3000)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    run(softmax, x)
    assert torch.equal(torch.get_rng_state(), state)


PROCESS = """
import torch, lect
x = torch.randn(64, 2000)
lect.compile(lambda x: torch.softmax(x * 2, -1), mode="max-autotune")(x)
print(len(lect.events("tuning")), [event.found for event in lect.events("cache")])
"""


@pytest.mark.slow
def test_another_process_measures_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LECT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LECT_CACHE", raising=False)
    first, second = [subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert first == "1 [False]\n"
    assert second == "0 [True]\n"
