"""Functions called inside of a frame that runs eagerly are compiled on their own, however they are reached."""

import functools
import gc
import sys
import threading
import traceback

import pytest
import torch
from torch import nn

import lect
import lect.ir
from lect.runtime import frame_hook
from lect.runtime.entry import CompileError
from lect.runtime.settings import Environment
from tests.e2e.conftest import use_trigger
from tests.e2e.support import same

SCALE = 2.0
NOTES = []


@pytest.fixture(autouse=True)
def trigger(monkeypatch):
    """Only the frame hook sees nested functions."""
    use_trigger("hook", monkeypatch)


@pytest.fixture(autouse=True)
def fresh(trigger):
    lect.reset()
    NOTES.clear()
    yield
    lect.reset()


def compiled_names() -> list[str]:
    """The functions of which versions were made, in order."""
    return [event.function.rpartition(".")[2] for event in lect.events("compile")]


def refused_names() -> list[str]:
    """The functions that run eagerly, in order."""
    return [event.function.rpartition(".")[2] for event in lect.events("fallback")]


def compile_whole(fn, options=None, **settings):
    """`lect.compile` for frames that run eagerly as a whole when something in them cannot be followed."""
    return lect.compile(fn, options={"breaks": "eager", **(options or {})}, **settings)


def breaks(x: object) -> None:
    """A function that no compiled frame calls: it writes to a stream."""
    sys.stdout.write("")


def double(x):
    return x * SCALE


def add_all(*values, start=0.0, **more):
    total = sum(values, start)
    for value in more.values():
        total = total + value
    return total


def run_both(program, *args, calls=3):
    """Eager's value on each of some calls, the arguments changed in between."""
    compiled = compile_whole(program)
    for _ in range(calls):
        same(program(*args), compiled(*args))
        args = tuple(torch.randn_like(arg) if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg for arg in args)
    return compiled


def test_a_function_called_by_an_eager_frame():
    def program(x):
        breaks(x)
        return double(x) + 1

    run_both(program, torch.randn(4))
    assert refused_names() == ["program", "breaks"]
    assert compiled_names() == ["double"], "once, and found again on later calls"


@pytest.mark.parametrize(
    "program",
    [
        lambda x: (breaks(x), list(map(double, [x, x + 1])))[1],
        lambda x: (breaks(x), functools.reduce(lambda a, b: a * b + 1, [x, x, x]))[1],
        lambda x: (breaks(x), sorted([x, x + 1], key=lambda t: (t * 2).shape[0])[0])[1],
        lambda x: (breaks(x), functools.partial(add_all, x, start=x)(x, y=x))[1],
        lambda x: (breaks(x), max([x.sum(), x.sum() + 1], key=lambda t: float((t * 3).item())))[1],
        lambda x: (breaks(x), [double(t) for t in x.unbind()])[1],
        lambda x: (breaks(x), torch.stack([*(double(t) for t in x.unbind())]))[1],
        lambda x: (breaks(x), add_all(x, x, start=1.0, a=x, b=x))[1],
        lambda x: (breaks(x), x.clone().apply_(lambda v: v + 1))[1],
        lambda x: (breaks(x), torch.func.vmap(double)(x))[1],
    ],
)
def test_functions_reached_through_c_code_and_libraries(program):
    run_both(program, torch.randn(3))


class Block(nn.Module):
    """One of several of its kind."""

    def __init__(self, width, index):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.index = index

    def forward(self, x):
        return torch.relu(self.linear(x)) + self.index


class Stack(nn.Module):
    """Its forward cannot be captured, those of its blocks can."""

    def __init__(self, depth=12, width=8):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, index) for index in range(depth))
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU())

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            breaks(x)
        return self.head(x)


def test_modules_called_by_an_eager_frame():
    torch.manual_seed(0)
    model = Stack()
    compiled = compile_whole(model)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(2, 8)
            same(model(x), compiled(x))
    assert compiled_names() == ["forward"] * 13, "each block (their index is a guard) and the head"
    assert refused_names() == ["Stack", "breaks"]
    with torch.no_grad():
        model.blocks[3].index = 100
        model.blocks[4].linear.weight.data = torch.randn(8, 8)
        model.blocks[5].linear = nn.Linear(8, 8, bias=False)
        x = torch.randn(2, 8)
        same(model(x), compiled(x))


def test_hooks_of_nested_modules_run():
    model = Stack(2)
    seen = []
    model.blocks[0].register_forward_hook(lambda module, args, output: seen.append("hook") or output * 2)
    compiled = compile_whole(model)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(2, 8)
            same(model(x), compiled(x))
    assert seen == ["hook"] * 4


def test_guards_of_nested_versions_are_exact():
    global SCALE
    config = {"shift": 1.0}

    def shifted(x, flags=("a",)):
        return x * SCALE + config["shift"] + len(flags)

    def program(x):
        breaks(x)
        return shifted(x)

    compiled = compile_whole(program)
    x = torch.randn(4)
    try:
        for value in (2.0, 3.0, 2.0):
            SCALE = value
            same(program(x), compiled(x))
        config["shift"] = 5.0
        same(program(x), compiled(x))
        shifted.__defaults__ = (("a", "b"),)
        same(program(x), compiled(x))
        for other in (x.double(), x.reshape(2, 2), x.reshape(2, 2).t(), torch.arange(4)):
            same(program(other), compiled(other))
    finally:
        SCALE = 2.0


def test_closures_of_one_code_object_share_what_holds_for_all():
    def program(x, n):
        breaks(x)
        scale = [2.0, 3.0][n % 2]

        def local(value):
            return value * scale

        return local(x)

    compiled = compile_whole(program)
    for n in range(20):
        x = torch.randn(3)
        same(program(x, n), compiled(x, n))
    assert compiled_names().count("local") == 2, "one for each value of the free variable"


def test_versions_stay_when_no_more_are_made():
    def program(x):
        breaks(x)
        return double(x)

    compiled = compile_whole(program, options={"version_limit": 2})
    inputs = [torch.randn(size) for size in (2, 3, 4, 5, 2, 3)]
    for x in inputs:
        same(program(x), compiled(x))
    assert compiled_names() == ["double", "double"]
    traces = len(lect.events("trace"))
    for x in inputs:
        same(program(x), compiled(x))
    assert len(lect.events("trace")) == traces


@pytest.mark.parametrize(("dynamic", "refusals"), [(False, 4), (None, 3)], ids=["static", "automatic"])
def test_a_function_that_is_refused_again_and_again_is_left_alone(dynamic, refusals):
    """With sizes of its own each refusal holds for one call; the one with a symbolic size, the third, holds for all later sizes."""

    def branches(x):
        return x + 1 if x.sum() > 0 else x - 1

    def program(x):
        breaks(x)
        return branches(x)

    compiled = compile_whole(program, options={"version_limit": 50}, dynamic=dynamic)
    for size in range(1, 12):
        x = torch.randn(size)
        same(program(x), compiled(x))
    assert refused_names().count("branches") == refusals


def test_closures_over_tensors():
    def program(x):
        breaks(x)
        offset = x + 1

        def local(value):
            return value * offset

        return local(x)

    compiled = compile_whole(program)
    for _ in range(20):
        x = torch.randn(3)
        same(program(x), compiled(x))
    assert compiled_names().count("local") <= 8


def test_one_code_object_with_other_globals():
    def local(x):
        return x * FACTOR  # noqa: F821

    first = type(local)(local.__code__, {"FACTOR": 2.0})
    second = type(local)(local.__code__, {"FACTOR": 3.0})

    def program(x):
        breaks(x)
        return first(x), second(x), first(x)

    run_both(program, torch.randn(3))


def test_effects_and_identities_of_nested_functions():
    def effect(x, log, store):
        log.append(x + 1)
        store["last"] = log[-1]
        return log

    def program(x, log, store):
        breaks(x)
        return effect(x, log, store)

    compiled = compile_whole(program)
    log, store = [], {}
    for n in range(4):
        got = compiled(torch.full((2,), float(n)), log, store)
        assert got is log
        assert store["last"] is log[-1]
    same([torch.full((2,), n + 1.0) for n in range(4)], log)


def test_exceptions_of_nested_functions():
    def raises(x, flag):
        y = x * 2
        if flag:
            raise ValueError("raised")
        return y

    def program(x, flag):
        breaks(x)
        try:
            return raises(x, flag)
        except ValueError as error:
            lines = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
            return x - 1, str(error), lines

    compiled = compile_whole(program)
    for flag in (False, True, False, True):
        x = torch.randn(3)
        same(program(x, flag), compiled(x, flag))


def test_errors_of_calls_that_do_not_fit_are_pythons():
    def program(x):
        breaks(x)
        return add_all(x, startt=1, start=x) if x.sum() > 0 else double(x, x)

    compiled = compile_whole(program)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        compiled(-torch.ones(2))


def test_methods_properties_and_operators():
    class Base:
        def __init__(self, weight):
            self.weight = weight

        def apply(self, x):
            return x * self.weight

    class Derived(Base):
        def apply(self, x):
            return super().apply(x) + 1

        @property
        def doubled(self):
            return self.weight * 2

        def __add__(self, other):
            return self.weight + other

        def __getitem__(self, index):
            return self.weight[index] * 2

    def program(x):
        breaks(x)
        thing = Derived(x)
        return thing.apply(x), thing.doubled, thing + x, thing[0]

    run_both(program, torch.randn(3))


def test_custom_function_of_autograd():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return double(x)

        @staticmethod
        def backward(ctx, grad):
            return double(grad)

    def program(x):
        breaks(x)
        return Doubled.apply(x)

    run_both(program, torch.randn(3))
    x = torch.randn(3, requires_grad=True)
    compile_whole(program)(x).sum().backward()
    same(torch.full((3,), 2.0), x.grad)


def test_disabled_functions_stay_disabled():
    @lect.disable
    def off(x):
        return double(x) + 1

    def program(x):
        return off(x) * 2

    run_both(program, torch.randn(3))
    assert compiled_names() == []


def test_graphs_of_nested_frames_that_train_are_compiled():
    model = Stack(2)
    compiled = compile_whole(model, options={"trigger": "hook"})
    x = torch.randn(2, 8)
    compiled(x).sum().backward()
    assert {event.through_torch for event in lect.events("compile")} == {""}
    same(model(x), compiled(x))


def test_nothing_below_fullgraph():
    def program(x):
        breaks(x)
        return double(x)

    with pytest.raises(CompileError):
        compile_whole(program, fullgraph=True)(torch.ones(2))
    assert compiled_names() == []


def test_reset_forgets_nested_versions():
    def program(x):
        breaks(x)
        return double(x)

    compiled = compile_whole(program)
    x = torch.randn(2)
    for _ in range(2):
        lect.reset()
        same(program(x), compiled(x))
        assert compiled_names() == ["double"]


def test_generators_and_coroutines_below():
    import asyncio

    def generator(x):
        for n in range(3):
            yield double(x) + n

    async def coroutine(x):
        await asyncio.sleep(0)
        return double(x)

    def program(x):
        breaks(x)
        return list(generator(x)), asyncio.run(coroutine(x))

    run_both(program, torch.randn(2))
    assert compiled_names() == ["double"]


def test_threads_that_compile_the_same_functions():
    def program(x):
        breaks(x)
        return double(x) + add_all(x, x)

    compiled = compile_whole(program)
    errors = []

    def work():
        try:
            for _ in range(20):
                x = torch.randn(3)
                same(program(x), compiled(x))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_trace_function_sees_nested_functions_as_written():
    def program(x):
        breaks(x)
        return double(x)

    compiled = compile_whole(program)
    x = torch.randn(2)
    compiled(x)
    lines = []

    def trace(frame, event, argument):
        if frame.f_code is double.__code__:
            lines.append((event, frame.f_lineno - double.__code__.co_firstlineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        same(program(x), compiled(x))
    finally:
        sys.settrace(before)
    assert lines == [("call", 0), ("line", 1), ("return", 1)] * 2


def test_without_the_extension_only_the_function_is_compiled(monkeypatch):
    monkeypatch.setitem(sys.modules, "lect.runtime._frame_hook", None)
    frame_hook._load.cache_clear()
    try:
        compiled = compile_whole(double)
        same(torch.ones(2) * 2, compiled(torch.ones(2)))
        (event,) = lect.events("hook refused")
        assert (event.function, event.reason) == ("double", "no extension")
    finally:
        monkeypatch.undo()
        frame_hook._load.cache_clear()


def test_a_dropped_function_takes_its_nested_versions_along():
    import weakref

    def make():
        def inner(x):
            return x * 2

        def program(x):
            breaks(x)
            return inner(x)

        return program, inner

    alive = []
    for _ in range(5):
        program, inner = make()
        alive.append(weakref.ref(inner))
        compile_whole(program)(torch.ones(2))
        del program, inner
    lect.reset()
    gc.collect()
    assert not any(reference() for reference in alive)


def test_functions_made_for_ever_keep_nothing_alive_for_ever(monkeypatch):
    from lect.runtime import nested

    monkeypatch.setattr(nested, "KNOWN_CODES", 4)

    def program(x, inner):
        breaks(x)
        return inner(x)

    compiled = compile_whole(program, options={"level": "fx"})
    x = torch.ones(2)

    def once():
        namespace = {}
        exec("def inner(x): return x * 2", namespace)
        same(x * 2, compiled(x, namespace["inner"]))

    for _ in range(12):
        once()
    gc.collect()
    before = sum(1 for value in gc.get_objects() if type(value) is nested.NestedFrame)
    for _ in range(12):
        once()
    gc.collect()
    assert sum(1 for value in gc.get_objects() if type(value) is nested.NestedFrame) == before


def test_triggers_have_names():
    with pytest.raises(lect.ir.LectError, match="option 'trigger' is one of function, hook, got 'magic'"):
        compile_whole(double, options={"trigger": "magic"})
    with pytest.raises(lect.ir.LectError, match="LECT_TRIGGER is one of function, hook, got 'magic'"):
        Environment.read({"LECT_TRIGGER": "magic"})
    assert Environment.read({"LECT_TRIGGER": "hook"}).trigger == "hook"


@pytest.mark.slow
def test_beside_torchs_own_compiler():
    """Each finds the other's hook in the slot."""
    program_ours = compile_whole(lambda x: (breaks(x), double(x))[1])
    theirs = torch.compile(double, backend="eager")
    x = torch.randn(3)
    same(double(x), theirs(x))
    outer = torch.compile(lambda x: program_ours(x) + theirs(x), backend="eager")
    for _ in range(2):
        same(double(x) * 2, outer(x))
    both = compile_whole(lambda x: (breaks(x), theirs(x) + double(x))[1])
    for _ in range(2):
        same(double(x) * 2, both(x))
    assert {event.reason for event in lect.events("hook refused")} <= {"foreign hook"}
