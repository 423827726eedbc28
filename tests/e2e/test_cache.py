"""Graphs out of the cache: the values of eager, no pass that runs, and nothing that is stale."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import lect
from lect.dialects.fx import python_values
from lect.frontends.tensors.lower import rules_views
from lect.runtime import cache_keys, entry, frame, versions
from lect.runtime.graph_cache import GraphCache
from lect.runtime.store import Entry, Store


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """A cache of this test alone."""
    store = Store(tmp_path / "cache")
    monkeypatch.setattr(entry.RUNTIME, "graphs", GraphCache(store, entry.RUNTIME.log))
    lect.reset()
    yield store
    lect.reset()


def looks():
    """Which looks into the cache found something, since the last question."""
    found = [event.found for event in lect.events("cache")]
    entry.RUNTIME.log.clear()
    return found


def stages():
    """The stages of the compiles since the log was cleared."""
    return [name for event in lect.events("compile") for name, _ in event.stages]


def twice(make, *args, **options):
    """Call `lect.compile(make())` in two lives, the second of which finds everything; the values of both."""
    first = lect.compile(make(), options=options)(*args)
    assert looks() == [False]
    second = lect.compile(make(), options=options)(*args)
    assert stages() == ["capture", "cache"], "a stage of the lowering ran"
    assert looks() == [True]
    return first, second


def softmax(x, y):
    return torch.softmax(x * 2 + y, -1), x.sum()


def test_a_graph_is_lowered_once():
    x, y = torch.randn(5, 7), torch.randn(7)
    x[0, 0], x[1, 1], x[2, 2] = float("nan"), float("inf"), -0.0
    for values in twice(lambda: softmax, x, y):
        torch.testing.assert_close(values, softmax(x, y), equal_nan=True)


def test_other_values_and_other_names_are_no_other_graph():
    lect.compile(softmax)(torch.randn(3, 4), torch.randn(4))
    assert looks() == [False]
    x, y = torch.randn(3, 4), torch.randn(4)
    torch.testing.assert_close(lect.compile(softmax)(x, y), softmax(x, y))
    assert looks() == [True]


@pytest.mark.parametrize(
    "arguments",
    [
        (torch.randn(3, 5), torch.randn(5)),
        (torch.randn(3, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)),
        (torch.randn(4, 3).t(), torch.randn(4)),
        (torch.randn(3, 4), torch.randn(1).expand(4)),
        (torch.randn(3, 4, requires_grad=True), torch.randn(4)),
    ],
    ids=["sizes", "dtype", "transposed", "expanded", "requires_grad"],
)
def test_another_kind_of_argument_is_another_graph(arguments):
    lect.compile(softmax)(torch.randn(3, 4), torch.randn(4))
    looks()
    torch.testing.assert_close(lect.compile(softmax)(*arguments), softmax(*arguments))
    assert looks() == [False]


def test_a_graph_without_kernels():
    a, b = torch.randn(4, 5), torch.randn(5, 6)
    for values in twice(lambda: lambda a, b: a @ b, a, b):
        torch.testing.assert_close(values, a @ b)


def test_numbers_of_run_time(store):
    def scaled(x, factor):
        return x * factor + 1

    x = torch.randn(3, 4)
    for life in range(2):
        compiled = lect.compile(scaled, dynamic=True)
        for factor in (2.0, -0.5, float("inf")):
            assert torch.equal(compiled(x, factor), scaled(x, factor))
        assert looks() == [life == 1]


def grown(x, y):
    h = torch.cat([x, y], 0).softmax(-1)
    return h.view(-1, x.shape[1]) * x.shape[0], h[: x.shape[0] - 1].sum(0)


def test_symbols_for_sizes():
    for life in range(2):
        compiled = lect.compile(grown, dynamic=True)
        for rows, columns in ((3, 5), (4, 7), (9, 2), (2, 5), (1, 6), (6, 33)):
            x, y = torch.randn(rows, columns), torch.randn(rows + 2, columns)
            torch.testing.assert_close(compiled(x, y), grown(x, y))
        assert len(lect.events("compile")) == 3  # x[: 1], and of one row nothing is left
        assert not lect.events("static sizes")
        assert looks() == [life == 1] * 3


def test_what_a_lowering_decides_by_sizes_is_kept_as_guards(monkeypatch):
    """The reshape is a question that the lowering asks; what it decides stands behind the guards of the capture in both lives."""
    found = []
    build = frame.build_predicate
    monkeypatch.setattr(frame, "build_predicate", lambda guards, *rest: found.append([str(op) for op in guards.body]) or build(guards, *rest))
    decide = rules_views.resolve_shape
    monkeypatch.setattr(rules_views, "resolve_shape", lambda shape, count: (count < 1000) and decide(shape, count))
    for life in range(2):
        compiled = lect.compile(lambda x: (x * 2).view(-1, 4), dynamic=None)
        for size in (6, 8, 10):
            x = torch.randn(size, 4)
            lect.mark_dynamic(x, 0)
            torch.testing.assert_close(compiled(x), (x * 2).view(-1, 4))
        assert looks() == [life == 1]
    assert found[0] == found[1] and "high = " in found[0][-1]


def test_results_that_share_memory_and_arguments_that_are_written_to():
    def program(x, y):
        y.mul_(2)
        return x.t(), x, y[1:], x + y

    for life in range(2):
        x, y = torch.randn(3, 3), torch.randn(3, 3)
        z = y.clone()
        got, want = lect.compile(program)(x, y), program(x, z)
        torch.testing.assert_close((got, y), (want, z))
        assert got[0].data_ptr() == x.data_ptr() and got[1] is x and got[2].data_ptr() == y[1:].data_ptr()
        assert looks() == [life == 1]


# ---- training --------------------------------------------------------------------------------------------------------


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3)

    def forward(self, x):
        hidden = self.norm(F.gelu(self.first(x)))
        return self.last(hidden), hidden.detach().sum(0), hidden


def run_step(net, x, together):
    out, _, hidden = net(x)
    (out.square().sum() + hidden.sum() if together else hidden.sum()).backward()
    grads = [p.grad for p in net.parameters()]
    net.zero_grad(set_to_none=True)
    return out.detach(), grads, net.norm.running_mean.clone()


@pytest.mark.parametrize("together", [True, False], ids=["all results", "one of the results"])
def test_forward_and_backward_come_from_the_cache(together):
    torch.manual_seed(0)
    eager = Net()
    x = torch.randn(5, 6)
    for life in range(2):
        net = Net()
        net.load_state_dict(eager.state_dict())
        other = Net()
        other.load_state_dict(eager.state_dict())
        torch.testing.assert_close(run_step(lect.compile(net), x, together), run_step(other, x, together), rtol=1e-4, atol=1e-5)
        assert looks() == [life == 1] * 2


def test_steps_with_symbols_for_sizes():
    torch.manual_seed(0)
    eager = Net()
    for life in range(2):
        net, other = Net(), Net()
        net.load_state_dict(eager.state_dict())
        other.load_state_dict(eager.state_dict())
        compiled = lect.compile(net)
        for size in (5, 9, 2, 7):
            x = torch.randn(size, 6)
            lect.mark_dynamic(x, 0)
            torch.testing.assert_close(run_step(compiled, x, True), run_step(other, x, True), rtol=1e-4, atol=1e-5)
        assert looks() == [life == 1] * 2


def test_gradients_and_views_with_symbols_for_sizes():
    def program(x):
        y = x.sin()
        return y, y[:, 1:], y.t()

    for life in range(2):
        compiled = lect.compile(program)
        for size in (5, 9, 4):
            x = torch.randn(size, 6, requires_grad=True)
            lect.mark_dynamic(x, 0)
            want, got = program(x), compiled(x)
            slopes = [torch.randn(6, size).t(), torch.randn(size, 5), torch.randn(6, size)]
            torch.testing.assert_close(got, want)
            torch.testing.assert_close(torch.autograd.grad(got, x, slopes), torch.autograd.grad(want, x, slopes))
            assert [each.stride() for each in got] == [each.stride() for each in want]
        assert looks() == [life == 1] * 2


def test_a_backward_that_the_cache_does_not_have_is_made():
    torch.manual_seed(0)
    x = torch.randn(5, 6)
    run_step(lect.compile(Net()), x, True)
    looks()
    torch.manual_seed(1)
    eager, net = Net(), Net()
    net.load_state_dict(eager.state_dict())
    torch.testing.assert_close(run_step(lect.compile(net), x, False), run_step(eager, x, False), rtol=1e-4, atol=1e-5)
    assert looks() == [True, False]


def test_double_backward_behind_the_cache():
    def loss(x):
        return (x.sin() * x.exp()).sum()

    for life in range(2):
        x = torch.randn(7, requires_grad=True)
        got, want = [
            torch.autograd.grad(torch.autograd.grad(fn(x), x, create_graph=True)[0].square().sum(), x)[0] for fn in (lect.compile(loss), loss)
        ]
        torch.testing.assert_close(got, want)
        assert looks()[0] == (life == 1)


def test_dropout_draws_the_numbers_of_its_seed():
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        x = torch.ones(50, requires_grad=True)
        y = lect.compile(lambda x: F.dropout(x * 2, 0.5))(x)
        y.sum().backward()
        assert torch.equal(x.grad, y.detach())  # the mask of the backward is that of the forward
        assert [event.seeded for event in lect.events("compile")] == [1]
        found.append(y.detach())
        looks()
    assert torch.equal(*found)


# ---- what another key asks for ---------------------------------------------------------------------------------------


def flags():
    """Switches that change what is computed or how, one at a time, with how to set them back."""
    yield "options", lambda: {"numerics": "fused"}, lambda: None
    yield "threads", lambda: torch.set_num_threads(3), lambda: torch.set_num_threads(2)
    yield "precision", lambda: torch.set_float32_matmul_precision("medium"), lambda: torch.set_float32_matmul_precision("highest")
    one = torch.backends.cuda.matmul
    yield "precision of one backend", lambda: setattr(one, "fp32_precision", "tf32"), lambda: setattr(one, "fp32_precision", "none")
    yield "attention", lambda: torch.backends.cuda.enable_flash_sdp(False), lambda: torch.backends.cuda.enable_flash_sdp(True)
    yield "deterministic", lambda: torch.use_deterministic_algorithms(True), lambda: torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(("change", "back"), [pytest.param(*rest, id=name) for name, *rest in flags()])
def test_a_switch_is_part_of_the_key(change, back):
    torch.set_num_threads(2)
    x, y = torch.randn(3, 4), torch.randn(4)
    lect.compile(softmax)(x, y)
    assert looks() == [False]
    options = change()
    try:
        torch.testing.assert_close(lect.compile(softmax, options=options)(x, y), softmax(x, y))
        assert looks() == [False]
    finally:
        back()
    lect.compile(softmax)(x, y)
    assert looks() == [True]


@pytest.mark.parametrize("library", ["lect", "torch", "llvmlite", "triton"])
def test_a_version_is_part_of_the_key(library, monkeypatch):
    x, y = torch.randn(3, 4), torch.randn(4)
    lect.compile(softmax)(x, y)
    looks()
    other = {**versions.versions(), library: "another"}
    monkeypatch.setattr(cache_keys, "versions", lambda: other)
    lect.compile(softmax)(x, y)
    assert looks() == [False]


def test_an_edited_source_of_lect_is_another_version(tmp_path, monkeypatch):
    (tmp_path / "pass.py").write_text("a = 1\n")
    monkeypatch.setattr(versions.lect, "__file__", str(tmp_path / "__init__.py"))
    digests = set()
    for text in ("a = 1\n", "a = 2\n", "a = 1\n"):
        (tmp_path / "pass.py").write_text(text)
        versions.sources_digest.cache_clear()
        digests.add(versions.sources_digest())
    versions.sources_digest.cache_clear()
    assert len(digests) == 2


def test_the_target_is_part_of_the_key(monkeypatch):
    from lect.runtime import pipeline

    x, y = torch.randn(3, 4), torch.randn(4)
    lect.compile(softmax)(x, y)
    looks()
    machine = pipeline.machine_of
    monkeypatch.setattr(pipeline, "machine_of", lambda graph: {**machine(graph), "l2_bytes": 12345})
    lect.compile(softmax)(x, y)
    assert looks() == [False]


def test_a_custom_operator_has_no_place_in_the_cache(store):
    @torch.library.custom_op("lect_cache_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    x = torch.randn(4)
    assert torch.equal(lect.compile(lambda x: twice(x) + 1)(x), x * 2 + 1)
    assert looks() == [] and list(store.entries()) == []


def test_a_replaced_function_of_torch_has_no_place_in_the_cache(monkeypatch):
    assert cache_keys.comes_with_torch("torch.nn.functional.gelu")
    assert cache_keys.comes_with_torch("torch.nn.functional.layer_norm")
    assert cache_keys.comes_with_torch("torch.ops.aten.mm.default")
    assert not cache_keys.comes_with_torch("torch.ops.mine.mm.default")
    python_values._function.cache_clear()
    monkeypatch.setattr(F, "layer_norm", lambda *args: None)
    try:
        assert not cache_keys.comes_with_torch("torch.nn.functional.layer_norm")
    finally:
        python_values._function.cache_clear()


def test_without_the_cache_nothing_is_read_or_written(store):
    x, y = torch.randn(3, 4), torch.randn(4)
    for _ in range(2):
        lect.compile(softmax, options={"cache": False})(x, y)
        assert looks() == []
    assert list(store.entries()) == []


# ---- damage ----------------------------------------------------------------------------------------------------------


def damage_facts(store, found):
    told = {**found.facts(), "kernels": 7}
    store.put(Entry("graph", found.key, {**found.parts, "facts.json": json.dumps(told).encode()}))


def damage_host(store, found):
    store.put(Entry("graph", found.key, {**found.parts, "host.mlir": b"host.func @f( {"}))


def lose_host(store, found):
    store.put(Entry("graph", found.key, {"facts.json": found.parts["facts.json"]}))


def lose_kernels(store, found):
    store.remove("kernel", found.facts()["object"])


def damage_object(store, found):
    kernel = store.get("kernel", found.facts()["object"])
    store.put(Entry("kernel", kernel.key, {"code.o": b"no object code"}))


@pytest.mark.parametrize("harm", [damage_facts, damage_host, lose_host, lose_kernels, damage_object])
def test_an_entry_that_cannot_be_used_is_made_again(store, harm):
    x, y = torch.randn(3, 4), torch.randn(4)
    lect.compile(softmax)(x, y)
    looks()
    (listed,) = [each for each in store.entries() if each.level == "graph"]
    harm(store, store.get("graph", listed.digest))
    torch.testing.assert_close(lect.compile(softmax)(x, y), softmax(x, y))
    assert looks() == [False]
    torch.testing.assert_close(lect.compile(softmax)(x, y), softmax(x, y))
    assert looks() == [True]


def test_kernels_outlive_their_graph(store):
    x, y = torch.randn(3, 4), torch.randn(4)
    lect.compile(softmax)(x, y)
    (listed,) = [each for each in store.entries() if each.level == "graph"]
    store.remove("graph", listed.digest)
    kernels = {each.digest for each in store.entries()}
    torch.testing.assert_close(lect.compile(softmax)(x, y), softmax(x, y))
    assert {each.digest for each in store.entries() if each.level == "kernel"} == kernels


# ---- another process -------------------------------------------------------------------------------------------------

PROCESS = """
import lect, torch
from lect.backends.llvm import jit
made, make = [], jit.optimised_module
jit.optimised_module = lambda *args: made.append(args) or make(*args)
torch.manual_seed(0)
x = torch.randn(6, 8, requires_grad=True)
@lect.compile
def loss(x):
    return torch.log_softmax(x.tanh(), -1).square().sum()
value = loss(x)
value.backward()
print([event.found for event in lect.events("cache")], value.item(), x.grad.sum().item())
print([str(event) for event in lect.events("cache problem")])
print(len(made))
"""


def test_another_process_finds_what_this_one_made(tmp_path, trigger):
    if entry.RUNTIME.environment.trigger == "hook":
        return  # the trigger of this process says nothing about those
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LECT_CACHE_DIR": str(tmp_path / "shared"), "LECT_CACHE": "1"}
    lines = [
        subprocess.run([sys.executable, "-c", PROCESS], env=environment, capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)
    ]
    assert [line[1] for line in lines] == ["[]", "[]"]
    assert lines[0][0].startswith("[False, False]") and lines[1][0].startswith("[True, True]")
    assert lines[0][0].split("]")[1] == lines[1][0].split("]")[1]
    assert int(lines[0][2]) > 2 and lines[1][2] == "0", "machine code was made again: kernels, launcher or runner"
