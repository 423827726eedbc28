"""What a compiled function does besides giving a value: writes, their order, identity, and exceptions."""

import collections
import copy
import traceback
import types

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import fallbacks, same, stops, versions

LOG: list = []
STATE = types.SimpleNamespace(count=0, last=None)
COUNTER = 0


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    LOG.clear()
    yield
    lect.reset()


X = torch.arange(6.0).reshape(2, 3)


def both(fn, make_state):
    """Run eager and compiled on equal states; values and states agree afterwards.  Gives the compiled state."""
    eager_state, our_state = make_state(), make_state()
    compiled = lect.compile(fn)
    for _ in range(3):
        same(fn(X, eager_state), compiled(X, our_state))
        same(eager_state, our_state)
    return our_state


def test_list_is_changed():
    def f(x, items):
        items.append(x + 1)
        items.insert(0, len(items))
        items[1] = "second"
        items += [x * 2]
        return items[-1]

    both(f, lambda: [1, 2])
    assert fallbacks() == []


def test_dictionary_is_changed():
    def f(x, d):
        d["y"] = x * 2
        d.update({"z": d["y"] + 1}, w=3)
        d.pop("old", None)
        return d.setdefault("n", 5) * d["z"]

    both(f, lambda: {"old": 1})
    assert fallbacks() == []


def test_set_and_deque_are_changed():
    def f(x, state):
        numbers, queue = state
        numbers.add(x.shape[0])
        numbers.discard(7)
        queue.appendleft(x + 1)
        return queue[0] * len(numbers)

    both(f, lambda: ({7, 8}, collections.deque([1])))
    assert fallbacks() == []


def test_attribute_is_changed():
    def f(x, state):
        state.count += 1
        state.last = x * state.count
        state.last = state.last + 1
        del state.old
        state.old = 2
        return state.last

    both(f, lambda: types.SimpleNamespace(count=0, last=None, old=1))
    assert fallbacks() == []


def test_written_value_is_read_back():
    def f(x, state):
        state["a"] = [x]
        state["a"].append(state["a"][0] + 1)
        alias = state["a"]
        alias.append(3)
        return alias[1], len(state["a"])

    state = both(f, dict)
    assert len(state["a"]) == 3


def test_identity_of_what_is_stored_and_returned():
    @lect.compile
    def f(x, state):
        y = x + 1
        both = [y, x]
        state["y"], state["list"] = y, both
        return y, both

    state = {}
    y, items = f(X, state)
    assert state["y"] is y is items[0]
    assert state["list"] is items
    assert items[1] is X


def test_module_state_is_changed():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.history = []
            self.register_buffer("total", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.history.append(x.shape)
            self.total = self.total + x.sum()
            return x * self.calls

    eager, ours = Counting(), Counting()
    compiled = lect.compile(ours)
    for _ in range(3):
        same(eager(X), compiled(X))
        assert (eager.calls, eager.history, eager.total) == (ours.calls, ours.history, ours.total)
        assert "total" in ours._buffers
    assert fallbacks() == []


def test_global_is_written():
    def f(x):
        global COUNTER
        COUNTER = COUNTER + 1
        return x * COUNTER

    compiled = lect.compile(f)
    start = COUNTER
    same(X * (start + 1), compiled(X))
    same(X * (start + 2), compiled(X))
    assert start + 2 == COUNTER


def test_closure_cell_is_written():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    compiled = lect.compile(f)
    same(X, compiled(X))
    same(X * 2, compiled(X))
    assert count == 2


def test_iteration_sees_writes_before_it():
    def f(x, items):
        items.append(3)
        for item in items:
            x = x + item
        return x

    both(f, lambda: [1])


def test_printing_breaks_the_graph(capsys):
    @lect.compile
    def f(x):
        print("called")
        return x + 1

    f(X)
    f(X)
    assert capsys.readouterr().out == "called\ncalled\n"
    assert stops()[:1] == ["LB0013"]


def test_in_place_write_to_an_input():
    def f(x, state):
        state.add_(1)
        return x + state

    both(f, lambda: torch.ones(3))


def test_overlapping_inputs_that_are_written():
    def f(x, y):
        x.add_(1)
        return y * 2

    base, twin = torch.zeros(4), torch.zeros(4)
    compiled = lect.compile(f)
    same(f(base[:3], base[1:]), compiled(twin[:3], twin[1:]))
    same(base, twin, exact=True)
    separate = [torch.zeros(3), torch.zeros(3)]
    same(f(*copy.deepcopy(separate)), compiled(*separate))
    same(f(base[:3], base[1:]), compiled(twin[:3], twin[1:]))


@pytest.mark.parametrize(
    ("error", "fn"),
    [
        (ValueError, lambda x: (_ for _ in ()).throw(ValueError("boom"))),
        (KeyError, lambda x: {}["missing"] + x),
        (AttributeError, lambda x: x.no_such_attribute),
        (RuntimeError, lambda x: x @ x),
        (TypeError, lambda x: x + "text"),
        (IndexError, lambda x: x[5]),
        (ZeroDivisionError, lambda x: x * (1 / 0)),
        (NameError, lambda x: x + undefined_name),  # noqa: F821
        (AssertionError, lambda x: assert_rank(x, 3)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_exceptions_are_those_of_eager(error, fn):
    compiled = lect.compile(fn)
    with pytest.raises(error) as eager:
        fn(X)
    for _ in range(2):
        with pytest.raises(error) as ours:
            compiled(X)
        assert str(ours.value) == str(eager.value)
        assert ours.value.__cause__ is None


def assert_rank(x, rank):
    assert x.dim() == rank, f"expected {rank} dims"
    return x


def test_traceback_points_to_the_line_of_the_user():
    @lect.compile
    def f(x):
        y = x + 1
        raise ValueError("here")
        return y

    with pytest.raises(ValueError, match="here") as caught:
        f(X)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == 'raise ValueError("here")'


def test_effects_before_an_exception_happen_once():
    @lect.compile
    def f(x):
        LOG.append(1)
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):
            f(X)
    assert LOG == [1, 1]


@pytest.mark.parametrize(
    "call", [lambda f: f(), lambda f: f(X, X, X), lambda f: f(X, y=1, z=2), lambda f: f(X, x=X)], ids=["missing", "many", "unknown", "twice"]
)
def test_wrong_arguments_give_the_error_of_the_function(call):
    def f(x, y=0):
        return x + y

    compiled = lect.compile(f)
    compiled(X)
    with pytest.raises(TypeError) as eager:
        call(f)
    with pytest.raises(TypeError) as ours:
        call(compiled)
    assert str(ours.value) == str(eager.value)


def test_data_dependent_branch_breaks_the_graph():
    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    compiled = lect.compile(f)
    same(f(X), compiled(X))
    same(f(-X), compiled(-X))
    assert stops()[:1] == ["LB0002"]
    event = lect.events("graph break")[0]
    assert "test_effects.py" in event.location
    assert event.hint


def test_fullgraph_raises_one_readable_error():
    @lect.compile(fullgraph=True)
    def f(x):
        return x * x.sum().item()

    with pytest.raises(lect.CompileError) as caught:
        f(X)
    text = str(caught.value)
    assert "LB0002" in text
    assert "test_effects.py" in text
    assert "hint:" in text


@pytest.mark.parametrize(
    "program",
    [
        lambda x: (value for value in (x, x + 1)).__next__(),
        lambda x: sorted([x, x + 1], key=lambda t: t.shape),
        lambda x: torch.tensor(x.tolist()),
        lambda x: x.numpy().sum() + x,
        lambda x: type("Made", (), {"v": 2}).v * x,
        lambda x: eval("1 + 1") * x,
        lambda x: copy.deepcopy(x) + 1,
        lambda x: str(x),
        lambda x: x[x > 1],
        lambda x: torch.manual_seed(0).initial_seed() + x,
        lambda x: list(map(lambda t: t + 1, [x])),  # noqa: C417
    ],
)
def test_what_is_not_captured_runs_eagerly(program):
    compiled = lect.compile(program)
    for _ in range(2):
        same(program(X), compiled(X))
    assert len(fallbacks()) <= 1
    assert "LB0020" not in fallbacks()


def test_random_functions_follow_the_generator():
    def f(x):
        return torch.dropout(x, 0.5, True) + torch.rand(3) + torch.randn_like(x)

    compiled = lect.compile(f, options={"rng": "eager"})
    for seed in (0, 1):
        torch.manual_seed(seed)
        want = [f(X), torch.rand(1)]
        torch.manual_seed(seed)
        same(want, [compiled(X), torch.rand(1)])


def test_disabled_function_is_never_inlined():
    @lect.disable
    def secret(x):
        LOG.append("run")
        return x * 2

    @lect.compile
    def f(x):
        return secret(x) + 1

    same(X * 2 + 1, f(X))
    assert LOG == ["run"]
    assert stops()[:1] == ["LB0028"]


def bool_of(x):
    return bool(x)


def test_explain_tells_the_graph_and_the_reason():
    report = lect.explain(lambda x: torch.relu(x) * 2)(X)
    assert report.compiled
    assert report.torch_calls == 2
    assert "@torch.relu" in str(report)
    refused = lect.explain(bool_of)(torch.ones((), dtype=torch.float16))  # whose number is not followed
    assert not refused.compiled
    assert "LB0002" in str(refused)


def test_settings_that_do_not_exist():
    with pytest.raises(lect.ir.LectError, match="mode is one of"):
        lect.compile(lambda x: x, mode="fast")
    with pytest.raises(lect.ir.LectError, match="dynamic is True, False or None, got 'yes'"):
        lect.compile(lambda x: x, dynamic="yes")
    with pytest.raises(lect.ir.LectError, match="options is a mapping of names to values, got 'hook'"):
        lect.compile(lambda x: x, options="hook")
    with pytest.raises(lect.ir.LectError, match="there is no option 'speed'"):
        lect.compile(lambda x: x, options={"speed": 1})
    with pytest.raises(TypeError, match="takes a function or a module"):
        lect.compile(3)


def test_callables_without_bytecode_are_left_alone():
    assert lect.compile(sorted) is sorted
    assert fallbacks() == ["LB0026"]
    assert lect.compile(test_callables_without_bytecode_are_left_alone, disable=True) is test_callables_without_bytecode_are_left_alone


def test_internal_errors_never_reach_the_user(monkeypatch):
    from lect.frontends.capture import torch_calls

    def broken(*args):
        raise IndexError("a bug of lect")

    monkeypatch.setattr(torch_calls, "_record", broken)

    def f(x):
        try:
            return x + 1
        except IndexError:
            return x - 1

    same(f(X), lect.compile(f)(X))
    assert fallbacks() == ["LB0020"]
    assert versions() == 0


def test_first_call_with_wrong_arguments():
    compiled = lect.compile(lambda x, y: x + y)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        compiled(X)
    assert fallbacks() == ["LB0012"]
    same(X + 1, compiled(X, 1))


def test_generator_function_runs_eagerly():
    @lect.compile
    def f(x):
        yield x + 1
        yield x + 2

    for _ in range(3):
        same([X + 1, X + 2], list(f(X)))
    assert fallbacks() == ["LB0009"]


def test_container_is_changed_behind_a_loop_over_it():
    table = {"a": 1, "b": 2}

    def program(x):
        for _, value in table.items():
            x = x + value
        table["c"] = len(table)
        for value in table.values():
            x = x * value
        return x

    def fresh():
        table.clear()
        table.update(a=1, b=2)

    compiled = lect.compile(program)
    for _ in range(2):
        fresh()
        want, state = program(torch.ones(2)), dict(table)
        fresh()
        same(want, compiled(torch.ones(2)))
        assert table == state
    assert fallbacks() == []


def test_container_is_changed_while_a_loop_runs_over_it():
    items = [1, 2]

    def program(x):
        for item in items:
            x = x + item
            if len(items) < 5:
                items.append(item * 2)
        return x

    want = program(torch.ones(2))
    state = list(items)
    items[:] = [1, 2]
    same(want, lect.compile(program)(torch.ones(2)))
    assert items == state


def test_view_follows_a_change_of_its_dictionary():
    table = {"a": 1}

    def program(x):
        keys = table.keys()
        table["b"] = 2
        return x + len(list(keys))

    want = program(torch.ones(2))
    table.pop("b")
    same(want, lect.compile(program)(torch.ones(2)))


def test_writes_that_nobody_sees_are_not_replayed():
    net = nn.Linear(2, 2).requires_grad_(False)

    def program(x):
        before = net._parameters["bias"]
        net._parameters["bias"] = x
        y = net(x)
        net._parameters["bias"] = before
        net.note = 1
        net.note = 2
        return y

    net.note = 0
    compiled = lect.compile(program)
    bias = net.bias
    for value in (1.0, 2.0):
        x = torch.full((2,), value)
        same(program(x), compiled(x))
        assert net.bias is bias
        assert net.note == 2
    assert fallbacks() == []
    assert "dict.__setitem__" not in lect.explain(program)(torch.ones(2)).text


def test_many_objects_of_one_class_are_written():
    class Cell:
        def __init__(self, value):
            self.value = value

    def program(x, cells):
        for number, cell in enumerate(cells):
            cell.value = cell.value + number
        return x + cells[0].value

    compiled = lect.compile(program)
    for shared in (False, True, False):
        results = []
        for run in (program, compiled):
            cells = [Cell(number) for number in range(20)]
            if shared:
                cells[7] = cells[3]
            results.append((run(torch.ones(2), cells), [cell.value for cell in cells]))
        same(results[0], results[1])
    assert fallbacks() == []
