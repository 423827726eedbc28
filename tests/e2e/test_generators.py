"""Generators and callbacks from C code: captured as a whole, in eager's order; what outlives the call runs eagerly."""

import collections
import contextlib
import functools
import weakref

import pytest
import torch
from torch import nn

import lect
from tests.e2e import callback_programs, generator_programs
from tests.e2e.generator_programs import Steps, count, logged
from tests.e2e.support import fallbacks, same, stops, versions

X = torch.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def without_torch_calls(program):
    """Programs of which nothing is left for a graph run eagerly, which is no matter here."""
    return [number for number in fallbacks() if number != "LB0022"]


@pytest.mark.parametrize("program", [*generator_programs.PROGRAMS, *callback_programs.PROGRAMS], ids=lambda program: program.__name__)
def test_program(program):
    graph, native = lect.compile(program, options={"level": "fx"}), lect.compile(program)
    same(program(X), graph(X), exact=True)
    assert without_torch_calls(program) == [], [str(event) for event in lect.events("fallback")]
    same(program(X + 1), graph(X + 1), exact=True)
    same(program(X), native(X))
    assert set(without_torch_calls(program)) <= {"LB0024"}


def effects_on(make_state, fn):
    """Eager and compiled on equal states."""
    ours, eagers = make_state(), make_state()
    compiled = lect.compile(fn)
    for _ in range(2):
        same(fn(X, eagers), compiled(X, ours))
        same(eagers, ours)
    assert fallbacks() == []


def test_effects_of_a_generator_on_what_exists():
    def f(x, items):
        def g():
            for i in range(3):
                items.append(i)
                yield x * len(items)

        total = 0
        for y in g():
            items.append("between")
            total = total + y
        return total

    effects_on(lambda: [0], f)


def test_list_from_outside_is_extended_one_by_one():
    def f(x, items):
        items.extend(len(items) for _ in range(3))
        items += (len(items) * 10 for _ in range(2))
        return x + len(items)

    effects_on(lambda: [0], f)


def test_containers_from_outside_are_filled_by_generators():
    def f(x, state):
        queue, seen, table = state
        queue.extend(len(queue) for _ in range(2))
        seen.update(len(seen) for _ in range(2))
        table.update((len(table), x) for _ in range(2))
        return x + len(queue)

    effects_on(lambda: [collections.deque([1]), {0}, {0: 0}], f)


def test_list_from_outside_is_sorted_by_key():
    def f(x, items):
        sizes = []
        items.sort(key=lambda item: (sizes.append(len(items)), -item)[1])
        return x + items[0], sizes

    effects_on(lambda: [2, 3, 1], f)


def test_list_is_sorted_by_keys_of_which_some_compare_themselves():
    class Weight:
        def __init__(self, kilograms):
            self.kilograms = kilograms

        def __lt__(self, other):
            return self.kilograms < (other.kilograms if isinstance(other, Weight) else other)

        def __gt__(self, other):
            return self.kilograms > (other.kilograms if isinstance(other, Weight) else other)

    def f(x, items):
        items.sort(key=lambda item: Weight(item) if item % 2 else item)
        return x + items[0], sorted([Weight(3), 2, Weight(1)])[1]

    effects_on(lambda: [4, 7, 2, 1, 6, 3], f)


def test_contextmanager_acts_on_what_exists():
    def f(x, log):
        with logged(log, "a") as n:
            return x * n

    effects_on(list, f)


def test_missing_items_of_a_defaultdict_from_outside():
    def f(x, table):
        table["n"].append(1)
        return x + len(table["n"])

    effects_on(lambda: collections.defaultdict(list), f)


def test_a_key_function_that_changes_is_seen():
    sign = [1]

    def f(x):
        return x * sorted([1, 2, 3], key=lambda i: i * sign[0])[0]

    compiled = lect.compile(f)
    for value in (1, -1, 1):
        sign[0] = value
        same(f(X), compiled(X))
    assert versions() == 2


def test_generator_over_what_changes():
    items = [1, 2]

    def f(x):
        return sum(x * i for i in items)

    compiled = lect.compile(f)
    for change in (lambda: None, lambda: items.append(3), lambda: items.__setitem__(0, 7), items.pop):
        change()
        same(f(X), compiled(X))
    assert fallbacks() == []


# ---- what is not captured --------------------------------------------------------------------------------------------


def eager_with(number, f, *args):
    same(f(*args), lect.compile(f)(*args))
    assert stops()[:1] == [number]


def test_generator_from_outside_is_advanced():
    def f(x, g):
        return x + next(g)

    compiled, ours, eagers = lect.compile(f), count([], "a", 3), count([], "a", 3)
    for _ in range(3):
        same(f(X, eagers), compiled(X, ours))
    assert set(stops()) == {"LB0009"}


def test_generator_from_outside_is_sent_to_and_closed():
    def g():
        got = yield 1
        while True:
            got = yield got

    def f(x, generator):
        return x + next(generator) + generator.send(5)

    def closes(x, generator):
        generator.close()
        return x + 1

    for program in (f, closes):
        lect.reset()
        same(program(X, g()), lect.compile(program)(X, g()))
        assert set(stops()) == {"LB0009"}


def test_generator_left_inside_of_a_finally():
    def f(x):
        log = []

        def g():
            try:
                yield 1
                yield 2
            finally:
                log.append("closed")

        for i in g():
            x = x + i
            break
        return x, log

    eager_with("LB0009", f, X)


def test_lazy_iterator_of_a_tensors_method_outlives_the_call():
    def f(x):
        return map(x.mul, range(2)), x + 1

    ys, y = lect.compile(f)(X)
    same([X * 0, X, X + 1], [*ys, y])


def test_tensor_decides_in_a_predicate():
    def f(x):
        return [y for y in filter(lambda y: y.sum() > 3, [x, x * 0])], list(filter(None, [x.sum()]))

    eager_with("LB0002", f, X)


def test_tensors_as_keys_of_a_sort():
    def f(x):
        return sorted([x + 1, x], key=lambda y: y.sum())

    eager_with("LB0019", f, X)


def test_error_of_lect_below_c_code_is_not_the_programs(monkeypatch):
    from lect.frontends.capture import consumers

    def fails(*args):
        raise ValueError("a bug")

    def f(x):
        try:
            return sorted([1, 2], key=lambda i: -i), x + 1
        except ValueError:
            return "caught"

    monkeypatch.setattr(consumers, "_comparable", fails)
    same(f(X), lect.compile(f)(X))
    assert fallbacks() == ["LB0020"]


# ---- modules ---------------------------------------------------------------------------------------------------------

MASK = torch.zeros(5, 7, dtype=torch.bool)
MASK[:, 3] = True
PADDING = torch.zeros(2, 7, dtype=torch.bool)
PADDING[0, 6] = True
ATTENTION = {
    "plain": {},
    "without weights": {"need_weights": False},
    "mask": {"attn_mask": MASK},
    "float mask": {"attn_mask": MASK.float() * -3},
    "padding": {"key_padding_mask": PADDING},
    "both": {"attn_mask": MASK, "key_padding_mask": PADDING, "average_attn_weights": False},
}


@pytest.mark.parametrize("options", ATTENTION.values(), ids=ATTENTION)
@pytest.mark.parametrize("batch_first", [True, False])
def test_cross_attention_is_one_graph(options, batch_first):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(16, 4, batch_first=batch_first).eval()
    q, k, v = torch.randn(2, 5, 16), torch.randn(2, 7, 16), torch.randn(2, 7, 16)
    if not batch_first:
        q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
    compiled = lect.compile(module)
    with torch.no_grad():
        same(module(q, k, v, **options), compiled(q, k, v, **options))
        same(module(q + 1, k, v, **options), compiled(q + 1, k, v, **options))
    assert fallbacks() == []
    assert versions() == 1


SOURCE = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))
MEMORY = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(2))
CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)
LAYERS = {
    "self attention": (lambda: nn.MultiheadAttention(16, 4, batch_first=True), (SOURCE, SOURCE, SOURCE), {}),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (SOURCE,), {}),
    "encoder layer with mask": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (SOURCE,), {"src_mask": CAUSAL}),
    "encoder layer with padding": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (SOURCE,), {"src_key_padding_mask": PADDING[:, :5]}),
    "decoder layer": (lambda: nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), (SOURCE, MEMORY), {}),
    "decoder layer with mask": (
        lambda: nn.TransformerDecoderLayer(16, 4, 32, batch_first=True),
        (SOURCE, MEMORY),
        {"tgt_mask": CAUSAL, "tgt_is_causal": True},
    ),
    "transformer": (lambda: nn.Transformer(16, 4, 1, 1, 32, batch_first=True), (SOURCE, MEMORY), {}),
    "lstm": (lambda: nn.LSTM(16, 8, 2, batch_first=True), (SOURCE,), {}),
    "gru": (lambda: nn.GRU(16, 8, bidirectional=True), (SOURCE,), {}),
}


@pytest.mark.parametrize(("make", "args", "options"), LAYERS.values(), ids=LAYERS)
def test_module_is_one_graph(make, args, options):
    torch.manual_seed(0)
    module = make().eval()
    compiled = lect.compile(module)
    with torch.no_grad():
        same(module(*args, **options), compiled(*args, **options))
    assert fallbacks() == []
    assert versions() == 1


# ---- objects that functions ask for ----------------------------------------------------------------------------------


class Holder:
    def __init__(self, k):
        self.k = k


def test_weak_reference_is_followed_and_guarded():
    first, second = Holder(2), Holder(3)
    state = {"ref": weakref.ref(first)}

    def f(x):
        held = state["ref"]()
        return x * (0 if held is None else held.k)

    compiled = lect.compile(f)
    same(f(X), compiled(X))
    first.k = 5
    same(f(X), compiled(X))
    state["ref"] = weakref.ref(second)
    same(f(X), compiled(X))
    del second
    same(X * 0, compiled(X))
    assert fallbacks() == []


def test_cached_function_with_plain_arguments():
    calls = []

    @functools.lru_cache
    def table(n):
        calls.append(n)
        return n * 2, "name"

    def f(x, n):
        return x * table(n)[0]

    compiled = lect.compile(f)
    for n in (1, 2, 1):
        same(X * n * 2, compiled(X, n))
    assert calls == [1, 2]
    assert fallbacks() == []


def test_cached_function_of_a_tensor_runs_eagerly():
    @functools.lru_cache
    def double(x):
        return x * 2

    def f(x):
        return double(x)

    compiled = lect.compile(f)
    assert compiled(X) is compiled(X)
    assert stops()[:1] == ["LB0003"]


def test_generator_method_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

        def outputs(self, x):
            for layer in self.layers:
                x = layer(x)
                yield x

        def forward(self, x):
            return torch.stack(list(self.outputs(x))), sum(p.sum() for p in self.parameters()), len(list(self.layers)), x + sum(Steps(1, 2))

    torch.manual_seed(0)
    net = Net()
    with torch.no_grad(), contextlib.nullcontext():
        same(net(X), lect.compile(net)(X))
    assert fallbacks() == []


def test_iterators_while_another_evaluator_of_frames_is_installed():
    """It holds one reference more to each argument of a call."""
    import subprocess
    import sys

    source = """
import torch, lect
def program(x):
    for a, b in zip([1, 2], [3, 4]):
        x = x * a + b
    return x
try:
    torch.cond(torch.tensor(True), lambda a: a, lambda a: a[:1], (torch.ones(2),))
except Exception:
    pass
x = torch.ones(2)
assert torch.equal(lect.compile(program)(x), program(x))
assert not lect.events("graph break", "fallback"), lect.events("graph break", "fallback")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", source], check=True)
