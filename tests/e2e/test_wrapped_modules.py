"""What programs do with a compiled module beside calling it: copies, files, hooks, threads, modes, and what is left of it behind `lect.reset`."""

import copy
import gc
import io
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import lect
from lect.ir.symbolic import Ranges
from tests.e2e.support import fallbacks, same, versions


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("scale", torch.full((8,), 0.5))

    def forward(self, x):
        return torch.tanh(self.norm(self.up(x)) * self.scale)


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()
    torch.manual_seed(0)


X = torch.randn(6, 4)


@pytest.mark.parametrize("called", [False, True], ids=["new", "called before"])
def test_pickled_and_copied_modules_are_those_of_the_original(called):
    net = Net()
    compiled = lect.compile(net)
    if called:
        compiled(X)
    kept = pickle.dumps(compiled)
    loaded = pickle.loads(kept)
    assert type(loaded) is Net and loaded.state_dict().keys() == net.state_dict().keys()
    for twin in (loaded, lect.compile(pickle.loads(kept)), copy.deepcopy(compiled), lect.compile(copy.deepcopy(net))):
        before = twin.norm.running_mean.clone()
        same(copy.deepcopy(net)(X), twin(X))
        assert not torch.equal(before, twin.norm.running_mean)  # of its own
        assert torch.equal(before, net.norm.running_mean)
    both = copy.deepcopy([compiled, compiled])
    assert both[0] is both[1]


def test_a_state_of_the_original_is_loaded_into_the_compiled_and_back():
    net, other = Net(), Net()
    compiled = lect.compile(net)
    compiled.load_state_dict(other.state_dict())
    same(other.eval()(X), compiled.eval()(X))
    buffer = io.BytesIO()
    torch.save(compiled.state_dict(), buffer)
    buffer.seek(0)
    fresh = Net()
    fresh.load_state_dict(torch.load(buffer))
    same(fresh.eval()(X), compiled(X))


def test_hooks_come_and_go():
    net = Net().eval()
    compiled = lect.compile(net)
    seen = []
    first = compiled(X)
    handles = [
        compiled.register_forward_pre_hook(lambda module, args: seen.append("before")),
        net.up.register_forward_hook(lambda module, args, result: result * 2),
        compiled.register_forward_hook(lambda module, args, result: (seen.append("behind"), result + 1)[1]),
    ]
    for _ in range(2):
        same(net(X), compiled(X))
    assert seen == ["before", "behind"] * 4
    for handle in handles:
        handle.remove()
    same(first, compiled(X))
    assert len(seen) == 8


def in_threads(replicas, parts):
    """What each replica gives for its part, in threads that begin at once with the caller's grad mode, as `torch.nn.parallel.parallel_apply` calls them."""
    grad, barrier = torch.is_grad_enabled(), threading.Barrier(len(parts))

    def work(replica, part):
        barrier.wait()
        with torch.set_grad_enabled(grad):
            return replica(part)

    with ThreadPoolExecutor(len(parts)) as pool:
        return torch.cat(list(pool.map(work, replicas, parts)))


def test_replicas_in_threads_as_data_parallel_calls_them():
    """One module or its copies, each in a thread of its own with its part of the batch."""
    net = Net().eval()
    compiled = lect.compile(net)
    parts = X.chunk(3)
    for replicas in ([compiled] * 3, [copy.deepcopy(compiled) for _ in parts]):
        for _ in range(2):
            same(net(X), in_threads(replicas, parts))
            with torch.no_grad():
                assert not in_threads(replicas, parts).requires_grad
    in_threads([compiled] * 3, parts).sum().backward()
    found = [parameter.grad.clone() for parameter in compiled.parameters()]
    net.zero_grad()
    net(X).sum().backward()
    same([parameter.grad for parameter in net.parameters()], found)
    assert fallbacks() == []


def test_the_wrapper_of_torch_for_several_devices():
    """Without devices `DataParallel` calls the module itself."""
    net = Net().eval()
    wrapped = nn.DataParallel(lect.compile(net))
    same(net(X), wrapped(X))
    compiled = lect.compile(nn.DataParallel(net))
    same(net(X), compiled(X))


def test_modes_take_turns():
    net = Net().eval()
    compiled = lect.compile(net)
    for _ in range(2):
        with torch.inference_mode():
            found, wanted = compiled(X), net(X)
            assert found.is_inference() and wanted.is_inference()
        same(wanted.clone(), found.clone())
        with torch.no_grad():
            found = compiled(X)
            assert not found.is_inference() and not found.requires_grad
        found = compiled(X)
        assert found.requires_grad
        found.sum().backward()
    assert fallbacks() == []


@pytest.mark.parametrize("warn_only", [False, True])
def test_deterministic_mode(warn_only):
    """The same values each time, another version than without, and eager's error where torch has no deterministic kernel."""
    index = torch.randint(0, 5, (64,))
    source = torch.randn(64, 3)

    def added(x):
        return x.index_add(0, index, source).cumsum(0) * 2

    compiled = lect.compile(added)
    x = torch.zeros(5, 3)
    plain = compiled(x)
    same(added(x), plain)
    torch.use_deterministic_algorithms(True, warn_only=warn_only)
    try:
        found = [compiled(x) for _ in range(3)]
        assert all(torch.equal(each, found[0]) for each in found)
        same(added(x), found[0])
        assert versions() == 2
    finally:
        torch.use_deterministic_algorithms(False)
    same(plain, compiled(x), exact=True)
    assert versions() == 2


def test_a_reset_releases_what_versions_held():
    def use():
        """Compile and call functions of objects that nobody else has; weak references to these."""
        net, constant = Net().eval(), torch.randn(1000)
        compiled = lect.compile(net)
        run = lect.compile(lambda x: net.up(x).sum() + constant)
        for _ in range(3):
            compiled(X)
            run(X).sum().backward()
        return compiled, run, [weakref.ref(each) for each in (net, constant, net.up.weight)]

    *functions, references = use()
    gc.collect()
    assert all(each() is not None for each in references)
    lect.reset()
    functions.clear()
    gc.collect()
    assert [each() for each in references] == [None] * 3


def test_memory_is_flat_over_resets():
    """As many objects of lect after each compile and reset as after the first ones; ranges are keys of tables whose size is limited."""
    net = Net().eval()
    counts = []
    for _ in range(4):
        lect.compile(net)(X)
        lect.reset()
        gc.collect()
        kinds = [type(each) for each in gc.get_objects()]
        counts.append(sum(str(kind.__module__).startswith("lect.") and kind is not Ranges for kind in kinds))
    assert counts[3] <= counts[1], counts


def test_a_reset_in_another_thread_ends_no_call():
    compiled = lect.compile(Net().eval())
    wanted = compiled(X)
    stop = threading.Event()

    def resets():
        while not stop.is_set():
            lect.reset()

    other = threading.Thread(target=resets)
    other.start()
    try:
        for _ in range(6):
            same(wanted, compiled(X))
    finally:
        stop.set()
        other.join()


@pytest.mark.parametrize("called_before", [False, True])
def test_what_torch_jit_trace_records_is_the_program(called_before):
    """Nothing of a compile gets into the recording, and the recorded module needs nothing of lect."""
    net, x = Net().eval(), torch.randn(3, 4)
    compiled = lect.compile(net)
    if called_before:
        same(net(x), compiled(x))
    recorded = torch.jit.trace(compiled, x)
    assert "LB0025" in fallbacks()
    other = torch.randn(5, 4)
    same(net(other), recorded(other))
    same(net(other), compiled(other))


@pytest.mark.parametrize(("arguments", "level"), [({"backend": "inductor", "mode": None}, None), ({"backend": "eager"}, "fx"), ({"backend": "aot_eager"}, "functional")])
def test_backends_by_the_names_of_torch_compile(arguments, level):
    net, x = Net().eval(), torch.randn(3, 4)
    same(net(x), lect.compile(net, **arguments)(x))
    native = bool([event for event in lect.events("passes") if "kernel:" in str(event)])
    assert native == (level is None)


def test_a_backend_that_does_not_exist():
    with pytest.raises(lect.ir.LectError, match="there is no backend 'onnxrt'; it is one of lect, inductor"):
        lect.compile(Net(), backend="onnxrt")
