"""The native checker and the tables for it: what it compares, what ends a table, and that a guard that has no row is asked in Python."""

from __future__ import annotations

import contextlib
import gc
import itertools
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
import torch
import torch._subclasses.fake_tensor

import lect
from lect.backends.native_guards.checker import module_text
from lect.backends.native_guards.layout import dict_tag, layout
from lect.backends.native_guards.selftest import test as run_selftest
from lect.backends.native_guards.table import Memory, State, Table, slot
from lect.dialects import make_context
from lect.ir import LectError, parse_module
from lect.runtime.guards import build_predicate
from lect.runtime.native_guards import NativeGuards, make_checker, meter


@cache
def shared_checker():
    made = make_checker()
    meter().checker = meter().checker or made
    return made


def test_the_checker_passes_its_test():
    run_selftest(shared_checker())


def test_its_code_is_taken_from_the_store():
    class Kept(dict):
        def find(self, key):
            return self.get(key)

        keep = dict.__setitem__

    store = Kept()
    make_checker(store)
    ((key, code),) = store.items()
    assert key.startswith("lect module 1\n") and len(code) > 1000
    make_checker(store)
    assert list(store) == [key]
    store[key] = b"no code"
    make_checker(store)
    assert store[key] == code


def test_its_code_holds_no_address_of_this_process():
    """Else no other process would find it in the store."""
    assert not [number for number in map(int, re.findall(r"\d+", module_text(layout()))) if 2**40 <= number < 2**48]


class _Version:
    """What `NativeGuards` needs of a version."""

    number = 0

    def __init__(self, predicate):
        self.predicate = predicate
        self.holds = predicate.holds


class _Held:
    """A function with guards, native and as Python."""

    def __init__(self, function, text, args, objects=(), kwargs=None, parameters=None):
        module = parse_module(text, make_context())
        kwargs = kwargs or {}
        names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        bound = {"rest": args[len(names) :], "others": kwargs, **dict(zip(names, args))}
        predicate = build_predicate(module.body.first, function, parameters or {"args": names}, objects, bound)
        self.version = _Version(predicate)
        shared_checker()
        self.native = NativeGuards(function, "native")
        table = self.native._table(self.version, args, kwargs)
        assert table is not None
        self.table = table
        self.native._install(table)
        self.left = next(iter(self.native._pieces.values()))[0]

    def __call__(self, *args, **kwargs):
        """Whether native code knows that the guards hold; it may not know it, but is never wrong."""
        found = self.native.find(args, kwargs) is self.version
        assert not found or self.version.holds(*args, **kwargs) == -1
        return found


def source(name, path):
    return f"%{name} = guard.source() {{path = #guard.path<{path}>}} : !guard.object\n"


def held(function, body, args, objects=()):
    return _Held(function, f"guard.set @g() {{\n{body}}}\n", args, objects)


def first(x, y=2, z="word"):
    return x


def test_arguments_bind_by_position_by_name_and_by_default():
    body = source("x", 'L["x"]') + source("y", 'L["y"]') + source("z", 'L["z"]')
    body += 'guard.equals(%x) {value = 1}\nguard.equals(%y) {value = 2}\nguard.equals(%z) {value = "word"}\n'
    check = held(first, body, (1,))
    assert check(1) and check(1, 2) and check(1, 2, "wo" + "".join(["rd"])) and check(x=1) and check(1, z="word", y=2)
    assert not any([check(2), check(1, 3), check(1.0), check(True), check(1, z="other")])
    assert not any([check(), check(1, 2, "word", 4), check(1, x=1), check(1, w=2), check(y=2)])


def of_any(x, *rest, y=2, **others):
    return x


def test_further_arguments_bind_as_python_binds_them():
    body = source("r", 'L["rest"][1]') + source("y", 'L["y"]') + source("o", 'L["others"]["z"]') + source("n", 'L["rest"]')
    body += "guard.equals(%r) {value = 5}\nguard.equals(%y) {value = 2}\nguard.equals(%o) {value = 7}\nguard.length(%n) {length = 2}\n"
    check = _Held(
        of_any, f"guard.set @g() {{\n{body}}}\n", (1, 4, 5), (), {"z": 7}, {"args": ["x"], "varargs": "rest", "varkw": "others", "keyword_only": ["y"]}
    )
    assert check(1, 4, 5, z=7) and check(9, 8, 5, z=7, w=3) and check.left == frozenset()
    assert not check(1, 4, 6, z=7) and not check(1, 4, 5, 6, z=7) and not check(1, 4, z=7) and not check(1, 4, 5) and not check(1, 4, 5, z=8)
    assert not check(1, 4, 5, z=7, y=2)  # which Python finds
    rest = object()
    before = sys.getrefcount(rest)
    for _ in range(100):
        check.native.find((1, rest, 5), {"z": 7})
    assert sys.getrefcount(rest) == before


def test_other_defaults_are_noticed():
    def function(x, y=2):
        return x

    check = held(function, source("y", 'L["y"]') + "guard.equals(%y) {value = 2}\n", (1,))
    assert check(1)
    function.__defaults__ = (int("2"),)  # equal, but the predicate compares the object
    assert not check(1)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 2, 3, 4, 5, 6, 7)])
def test_a_tensor_is_compared_in_all_its_facts(shape):
    sizes = list(shape)
    strides = list(torch.empty(shape).stride())
    check = held(first, source("x", 'L["x"]') + f"guard.tensor(%x) {{dtype = f32, sizes = {sizes}, strides = {strides}}}\n", (torch.empty(shape),))
    assert check(torch.empty(shape)) and check.left == frozenset()
    others = [torch.empty(shape, dtype=torch.float64), torch.empty((*shape, 1)), torch.empty(shape, requires_grad=True), torch.nn.Parameter(torch.empty(shape))]
    others += [torch.empty(shape, device="meta"), torch.empty(shape, dtype=torch.complex64).conj(), 1, None]
    assert not any(check(other) for other in others)
    if len(shape) > 1:
        assert not check(torch.empty(shape[::-1]).permute(*range(len(shape))[::-1]))


def test_an_object_that_has_died_holds_for_nothing():
    class Part:
        pass

    part = Part()
    check = held(first, source("x", 'L["x"]') + 'guard.is(%x) {is_object = #fx.object<0, "part">}\n', (part,), [part])
    assert check(part)
    address = id(part)
    del part
    gc.collect()
    assert check.table.dead
    others = [Part() for _ in range(50)]  # one of them lies where the first one did
    assert not any(check(other) for other in others if id(other) == address)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.scale = 0.5


def of_module(self):
    return self


MODULE = (
    source("s", 'L["self"]')
    + 'guard.type_is(%s) {type = #fx.object<0, "Scaled">}\nguard.no_hooks(%s)\nguard.no_attr(%s) {names = ["extra"]}\n'
    + source("w", 'L["self"].inner.weight')
    + 'guard.tensor(%w) {dtype = f32, sizes = [2, 2], strides = [2, 1], requires_grad = true, type = "torch.nn.Parameter"}\n'
    + source("n", 'L["self"].scale')
    + "guard.equals(%n) {value = 0.5}\n"
    + source("f", "O[0].forward")
    + 'guard.is(%f) {is_object = #fx.object<1, "forward">}\n'
)


def test_what_changes_a_module_is_noticed():
    changes = {
        "another number": lambda m: setattr(m, "scale", 0.25),
        "a hook": lambda m: m.register_forward_hook(lambda *a: None),
        "a hook of the child's container": lambda m: m._modules.update(inner=torch.nn.Linear(2, 2, dtype=torch.float64)),
        "a shadow": lambda m: m.__dict__.update(inner=None),
        "an attribute that must not be": lambda m: setattr(m, "extra", 1),
        "no gradients": lambda m: m.inner.weight.requires_grad_(False),
        "other data": lambda m: setattr(m.inner.weight, "data", torch.zeros(2, 3)),
        "another parameter": lambda m: setattr(m.inner, "weight", torch.nn.Parameter(torch.zeros(3, 2))),
        "another class": lambda m: setattr(m, "__class__", torch.nn.Linear),
        "another dictionary": lambda m: object.__setattr__(m, "__dict__", {**m.__dict__, "scale": 0.75}),
    }
    for change in changes.values():
        module = Scaled()
        check = held(of_module, MODULE, (module,), [Scaled, Scaled.forward])
        assert check(module) and check.left == frozenset()
        change(module)
        assert not check(module)
        assert check.version.holds(module) != -1


def test_a_patched_class_is_noticed(monkeypatch):
    module = Scaled()
    check = held(of_module, MODULE, (module,), [Scaled, Scaled.forward])
    monkeypatch.setattr(torch.nn.Module, "forward", lambda self, x: x)
    assert not check(module)


def test_changes_that_no_guard_is_about_end_nothing():
    module = Scaled()
    check = held(of_module, MODULE, (module,), [Scaled, Scaled.forward])
    tag = dict_tag(module.__dict__, layout())
    module.other = 5
    assert dict_tag(module.__dict__, layout()) != tag
    assert check(module) and check(module)
    module.scale = 0.25
    assert not check(module)


def test_a_number_at_the_address_of_another_is_noticed():
    module = Scaled()
    module.scale = float("0.5")
    check = held(of_module, MODULE, (module,), [Scaled, Scaled.forward])
    for number in range(100):
        module.scale = None
        module.scale = float(f"0.{number + 51}")  # would reuse the memory of the number before, were that not kept
        assert not check(module)


def test_an_object_of_equal_content_is_another():
    one, other = Scaled(), Scaled()
    check = held(of_module, MODULE, (one,), [Scaled, Scaled.forward])
    assert check(one) and not check(other)


def test_what_has_no_row_is_asked_in_python():
    body = source("x", 'L["x"]') + "guard.length(%x) {length = 2}\n" + source("y", 'L["y"]') + "guard.equals(%y) {value = 2}\n"
    check = held(first, body, ({1, 2},))
    assert check.left == frozenset({0})
    assert check({3, 4}) and not check({3}) and not check({1, 2}, 3)


def test_memory_that_two_tensors_share_is_found():
    body = "".join([source(name, f'L["{name}"]') for name in "xyz"]) + "guard.no_overlap(%x, %y, %z)\n"
    base = torch.zeros(8)
    check = held(first, body, (base, torch.zeros(8), torch.zeros(8)))
    assert check.left == frozenset() and check(base, torch.zeros(1), torch.nn.Parameter(torch.zeros(1)))
    assert check(base[:0], base, base[8:]) and check(*[torch.zeros(1) for _ in range(3)])
    assert not any(check(*each) for each in ((base, base, torch.zeros(1)), (base[:1], torch.zeros(1), base[4:]), (base, base.view(2, 4), torch.zeros(1))))


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@contextlib.contextmanager
def default_double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def hooked():
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *a: None)
    yield
    handle.remove()


@contextlib.contextmanager
def layer_of_vmap():
    torch._C._functorch._vmap_increment_nesting(2, "error")
    yield
    torch._C._functorch._vmap_decrement_nesting()


MODES = {
    "no_grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "inference": torch.inference_mode,
    "functions": torch.overrides.TorchFunctionMode,
    "dispatch": torch.utils._python_dispatch.TorchDispatchMode,
    "fake tensors": torch._subclasses.fake_tensor.FakeTensorMode,  # torch keeps it apart from other modes of dispatch
    "deterministic": deterministic,
    "default dtype": default_double,
    "hooks": hooked,
    "vmap": layer_of_vmap,
}


def check_modes():
    return held(first, source("x", 'L["x"]') + "guard.global_state() {grad = true, default_dtype = f32}\nguard.not_none(%x)\n", (1,))


@pytest.mark.parametrize("name", MODES)
def test_no_version_is_found_under_a_mode(name):
    check = check_modes()
    assert check(1) and not check(None)
    for _ in range(3):  # what native code has noted of the thread's modes is another thing each time
        with MODES[name]():
            assert not check(1) and not check(1)
            with MODES[name](), contextlib.suppress(RuntimeError):
                assert not check(1)
        assert check(1) and check(1)


def test_modes_follow_each_other():
    check = check_modes()
    for one, other in itertools.permutations(MODES, 2):
        with MODES[one]():
            assert not check(1)
        with MODES[other]():
            assert not check(1)
    assert check(1)


def test_modes_are_those_of_the_thread_that_asks():
    """Threads that are new, that begin with a mode on, and that are where one has ended."""
    check = check_modes()
    assert check(1)
    turn = threading.Barrier(2, timeout=30)

    def other(name):
        with MODES[name]():
            first = check(1)
            turn.wait()  # the main thread asks
            turn.wait()
            second = check(1)
        return first, second, check(1), check(1)

    for name in ("no_grad", "functions", "dispatch", "vmap", "autocast", "inference"):
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(other, name)
            turn.wait()
            assert check(1)
            turn.wait()
            assert answer.result() == (False, False, True, True)


def test_modes_are_asked_of_torch_where_threads_cannot_note_them(monkeypatch):
    monkeypatch.setattr("lect.backends.native_guards.selftest.shared", lambda: None)
    run_selftest(shared_checker())
    check = check_modes()
    assert check(1)
    with torch.overrides.TorchFunctionMode():
        assert not check(1)
    assert check(1)


def test_the_table_that_held_goes_to_the_front():
    state = State(("x",), 1, {})
    tables = [Table([("int", [slot(0), number, number])], (), (), None, number) for number in range(4)]
    state.set(tables, 1)
    find = shared_checker().finder(state)
    assert [find((number,), {}) for number in (2, 0, 3, 3, 9)] == [2, 0, 3, 3, None]
    assert [table.result for table in state.in_order()] == [3, 0, 2, 1]
    assert [table.hits for table in tables] == [1, 0, 1, 2]


def test_a_table_prints_its_rows():
    table = Table([("int", [slot(0), 1, 2]), ("list", [slot(1), 2, Memory([3, 4])]), ("calm", [])], (), (), None, None)
    assert table.text() == "int 1 1 2\nlist 9 2 [3 4]\ncalm"


def test_both_raises_where_they_differ():
    native = NativeGuards(first, "both")
    check = held(first, source("x", 'L["x"]') + "guard.equals(%x) {value = 1}\n", (1,))
    check.version.holds = lambda *args: 0
    with pytest.raises(LectError, match="guard number 0"):
        native._compared(check.native.find)((1,), {})


def test_an_error_of_lect_leaves_the_guards_to_python(monkeypatch):
    told = []
    check = held(first, source("x", 'L["x"]') + "guard.equals(%x) {value = 1}\n", (1,))
    native = NativeGuards(first, "native", told.append)
    monkeypatch.setattr(meter(), "asked", 10**6)
    monkeypatch.setattr(native, "_table", lambda *args: 1 / 0)
    native.learn(check.version, (1,), {})
    native.learn(check.version, (1,), {})
    assert told == ["ZeroDivisionError: division by zero"] and native.find((1,), {}) is None


def test_a_compiled_function_comes_to_use_native_guards():
    def double(x):
        return x * 2

    compiled = lect.compile(double, options={"guards": "both"})
    x = torch.randn(3)
    assert torch.equal(compiled(x), x * 2)
    from lect.runtime.entry import RUNTIME

    (native,) = [frame.cache.native for frame in RUNTIME.frames if frame.function is double]
    assert native.armed == 1 and not native.failed
    assert native.find((x,), {}) is not None and native.find((x.double(),), {}) is None
    lect.reset()
    assert native.find((x,), {}) is None


def test_a_process_that_ends_says_nothing():
    program = """
import torch, lect
class Part: pass
part = Part()
part.scale = 2
compiled = lect.compile(lambda x: x * part.scale, options={"guards": "both"})
assert compiled(torch.ones(3))[0] == 2 and compiled(torch.ones(3))[0] == 2
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_gradient_is_read_where_it_is():
    class Holder:
        pass

    holder = Holder()
    holder.p = torch.nn.Parameter(torch.zeros(3))
    holder.p.grad = torch.ones(3)
    body = source("g", 'L["x"].p.grad') + "guard.not_none(%g)\nguard.tensor(%g) {dtype = f32, sizes = [3], strides = [1]}\n"
    check = held(first, body, (holder,))
    assert check(holder) and check.left == frozenset()
    holder.p.grad = torch.zeros(3)
    assert check(holder)
    holder.p.grad = None
    assert not check(holder)
    holder.p.grad = torch.zeros(3, dtype=torch.float32).requires_grad_()
    assert not check(holder)
