"""Functions that a frame calls several times with objects of the same kinds, which are followed once: what must not be taken for the same."""

import contextvars
import copy
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.repetition import agree, compiled_graph, repeated
from tests.e2e.support import same

FLAG = 1.0
SHARED = types.SimpleNamespace(scale=2.0)
COUNTS = {"calls": 0}
SWITCH = contextvars.ContextVar("switch", default=3.0)


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def test_weights_are_one_in_one_layer():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

        def forward(self, x):
            return x * self.first + self.second, self.first is self.second

    layers = nn.ModuleList(Twice() for _ in range(4))
    layers[2].second = layers[2].first

    def program(x):
        found = []
        for layer in layers:
            x, one = layer(x)
            found.append(one)
        return x, found

    repeated(program, torch.randn(4))
    agree(program, torch.randn(4))


def test_arguments_are_one_object_or_two():
    def combine(a, b):
        return a + b if a is b else a - b

    def program(x, y):
        return combine(x, y), combine(x, x), combine(y, x), combine(y, y), combine(x, y)

    assert repeated(program, torch.randn(3), torch.randn(3)) >= 2
    agree(program, torch.randn(3), torch.randn(3))


def test_argument_that_is_also_a_global():
    def scale(x, holder):
        return x * holder.scale if holder is SHARED else x * (holder.scale + SHARED.scale)

    def program(x):
        others = [SHARED, types.SimpleNamespace(scale=5.0), SHARED, types.SimpleNamespace(scale=7.0)]
        return [scale(x, each) for each in others]

    agree(program, torch.randn(3))
    holders = [SHARED, types.SimpleNamespace(scale=5.0), SHARED, types.SimpleNamespace(scale=7.0)]

    def outside(x):
        return [scale(x, each) for each in holders]

    repeated(outside, torch.randn(3))
    agree(outside, torch.randn(3))


def test_global_that_is_read_and_given():
    def add(x, table):
        return x + table["calls"] + COUNTS["calls"]

    other = {"calls": 4}

    def program(x):
        return add(x, COUNTS), add(x, other), add(x, COUNTS), add(x, other)

    repeated(program, torch.randn(3))
    agree(program, torch.randn(3))


def test_numbers_that_are_equal_but_not_the_same():
    def apply(x, number):
        return x * number, str(number), type(number)

    def program(x):
        return [apply(x, number) for number in (1, True, 1.0, 1, 0.0, -0.0, 0.0, float("nan"), "a" and 2)]

    assert repeated(program, torch.randn(3)) >= 1
    agree(program, torch.tensor([1, 2]), exact=True)
    agree(program, torch.tensor([1.0, -2.0]), exact=True)


def test_global_is_written_between_calls():
    def scaled(x):
        return x * FLAG

    def program(x):
        global FLAG
        FLAG = 1.0
        first = scaled(x), scaled(x)
        FLAG = 3.0
        return first, scaled(x), scaled(x), FLAG

    agree(program, torch.randn(3))


def test_attribute_is_written_between_calls():
    holder = types.SimpleNamespace(scale=1.0)

    def scaled(x, holder):
        return x * holder.scale

    def program(x):
        holder.scale = 1.0
        first = scaled(x, holder), scaled(x, holder)
        holder.scale = 4.0
        return first, scaled(x, holder), scaled(x, holder)

    agree(program, torch.randn(3))


def test_function_counts_its_calls():
    holder = types.SimpleNamespace(count=0)

    def counted(x):
        holder.count += 1
        COUNTS["calls"] += 1
        return x + holder.count

    def program(x):
        holder.count = 0
        return counted(x), counted(x), counted(x), holder.count

    agree(program, torch.randn(3))
    assert COUNTS["calls"] == 12
    COUNTS["calls"] = 0


def test_layer_counts_and_remembers():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.count, self.seen = 0, []

        def forward(self, x, log):
            self.count += 1
            self.seen.append(x.shape[0])
            log.append(x * self.count)
            return x + 1

    layers = nn.ModuleList(Counting() for _ in range(3))

    def program(x):
        log = []
        for layer in layers:
            x = layer(x, log)
        for layer in layers:
            x = layer(x, log)
        return x, log, [layer.count for layer in layers]

    twin = copy.deepcopy(layers)
    compiled, x = compiled_graph(program), torch.randn(3)
    with torch.no_grad():
        got = [compiled(x), compiled(x)]
        mine = [(layer.count, layer.seen) for layer in layers]
        layers = twin
        want = [program(x), program(x)]
    same(want, got)
    assert mine == [(layer.count, layer.seen) for layer in layers]


def test_lists_and_caches_that_are_passed_on():
    def attend(x, keys, table):
        keys.append(x * 2)
        table[len(keys)] = x.sum()
        return torch.stack(keys).sum(0)

    def program(x):
        keys, table = [], {}
        for _ in range(4):
            x = attend(x, keys, table)
        return x, keys, table

    agree(program, torch.randn(3))
    agree(lambda x, keys: [attend(x, keys, {}) for _ in range(3)], torch.randn(3), [torch.randn(3)])


def test_lists_that_are_changed_and_changed_back():
    def swap(items):
        items.reverse()
        return items[0] + items[1] * 2

    def program(x, y):
        items = [x, y]
        return swap(items), swap(items), swap(items), items

    agree(program, torch.randn(3), torch.randn(3))


def test_returned_containers_are_new_each_time():
    def make(x):
        return [x, x + 1], {"x": x * 2}, (x, (x * 3, None), 1)

    def program(x):
        found = [make(x) for _ in range(3)]
        found[0][0].append(x)
        found[1][1]["y"] = x
        return found, found[0][0] is found[1][0], found[1][2][0] is x

    assert repeated(program, torch.randn(3)) >= 1
    agree(program, torch.randn(3))


def test_result_that_is_the_argument_and_is_written_to():
    def pass_on(x):
        return x.to(torch.float32), x.contiguous()

    def program(x, y):
        a, b = pass_on(x)
        c, d = pass_on(y)
        d.add_(1)
        e, f = pass_on(y * 2)
        e.mul_(2)
        return a, b, c, d, e, f, a is x, d is y, e is f, x + 1, y + 1

    agree(program, torch.randn(3), torch.randn(3))


def test_views_made_by_a_function_are_written_to():
    def halves(x):
        return x[:2], x[2:]

    def program(x, y):
        a, b = halves(x)
        c, d = halves(y)
        d.zero_()
        e, f = halves(y * 1)
        f.fill_(3)
        return a, b, c, d, e, f, y * 2

    agree(program, torch.randn(4), torch.randn(4))


def test_closures_differ():
    def make(scale):
        offset = scale * 2

        def inner(x):
            return x * scale + offset

        return inner

    functions = [make(1.0), make(2.0), make(1.0), make(torch.tensor(3.0))]
    agree(lambda x: [function(x) for function in functions], torch.randn(3))
    agree(lambda x: [make(scale)(x) for scale in (1.0, 2.0, 1.0)], torch.randn(3))


def test_default_arguments_differ():
    def make(value):
        def inner(x, scale=value, *, shift=value):
            return x * scale + shift

        return inner

    functions = [make(1.0), make(2.0), make(1.0)]
    agree(lambda x: [function(x) for function in functions], torch.randn(3))


def test_variable_of_the_enclosing_function_changes_between_calls():
    def program(x):
        scale = 1.0

        def scaled(y):
            return y * scale

        first = scaled(x), scaled(x)
        scale = 5.0
        return first, scaled(x), scaled(x)

    agree(program, torch.randn(3))


def test_exception_in_one_layer():
    class Strict(nn.Module):
        def __init__(self, limit):
            super().__init__()
            self.limit = limit

        def forward(self, x):
            if x.shape[0] > self.limit:
                raise ValueError(f"more than {self.limit}")
            return x + 1

    layers = nn.ModuleList([Strict(9), Strict(9), Strict(1), Strict(9)])

    def program(x):
        errors = []
        for layer in layers:
            try:
                x = layer(x)
            except ValueError as error:
                errors.append(str(error))
        return x, errors

    agree(program, torch.randn(3))

    def outside(x):
        for layer in layers:
            x = layer(x)
        return x

    compiled = compiled_graph(outside)
    with torch.no_grad(), pytest.raises(ValueError, match="more than 1"):
        compiled(torch.randn(3))


def test_exceptions_that_a_function_handles():
    def value_of(table, key):
        try:
            return table[key]
        except KeyError:
            return -1.0

    tables = [{"a": 1.0}, {"b": 2.0}, {"a": 3.0}, {"b": 4.0}, {"b": 4.0}]
    agree(lambda x: [x * value_of(table, "a") for table in tables], torch.randn(3))
    repeated(lambda x: [x * value_of(table, "a") for table in tables], torch.randn(3))


def test_handled_exception_is_asked_for():
    import sys

    def current(x):
        return x + (1 if sys.exc_info()[0] is None else 2)

    def program(x):
        first = current(x), current(x)
        try:
            raise ValueError
        except ValueError:
            return first, current(x), current(x)

    agree(program, torch.randn(3))


def test_printed_text(capsys):
    def shout(x, word):
        print("word", word)
        return x + 1

    def program(x):
        for word in ("a", "b", "a"):
            x = shout(x, word)
        return x

    compiled = compiled_graph(program)
    with torch.no_grad():
        same(torch.ones(2) + 3, compiled(torch.ones(2)))
    assert capsys.readouterr().out == "word a\nword b\nword a\n"


def test_random_numbers_are_drawn_each_time():
    def dropped(x):
        return F.dropout(x, 0.5)

    compiled = lect.compile(lambda x: (dropped(x), dropped(x), dropped(x)))
    with torch.no_grad():
        found = compiled(torch.ones(1000))
    assert not torch.equal(found[0], found[1]) and not torch.equal(found[1], found[2])


def test_random_numbers_of_layers_in_training_are_eagers():
    model, x = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)) for _ in range(3)]), torch.randn(3, 4)
    compiled = lect.compile(model, options={"rng": "eager"})
    with torch.no_grad():
        torch.manual_seed(3)
        want = model(x)
        torch.manual_seed(3)
        same(want, compiled(x))


def test_modes_inside_and_around():
    def product(x):
        return x @ x

    def without(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return product(x)

    def program(x):
        found = [product(x), without(x), product(x), without(x)]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found += [product(x), product(x)]
        return [*found, product(x)], [each.dtype for each in found]

    agree(program, torch.randn(3, 3))


def test_autograd_is_switched_on_behind_repeated_calls():
    def flat(x):
        return x.view(-1) * 1

    def program(x, w):
        first, second = flat(x), flat(x)
        with torch.enable_grad():
            third = flat(w).sum() + flat(w).sum()
        return first + second, third, third.requires_grad

    agree(program, torch.randn(2, 3), torch.randn(2, 3).requires_grad_())


def test_context_variable_is_set_between_calls():
    def scaled(x):
        return x * SWITCH.get()

    def program(x):
        first = scaled(x), scaled(x)
        token = SWITCH.set(5.0)
        second = scaled(x), scaled(x)
        SWITCH.reset(token)
        return first, second, scaled(x)

    agree(program, torch.randn(3))


def test_iterators_and_generators_go_on():
    def take(x, numbers):
        return x * next(numbers)

    def count():
        yield from (1.0, 2.0, 3.0, 4.0)

    def program(x):
        numbers, values = count(), iter([5.0, 6.0, 7.0])
        return take(x, numbers), take(x, numbers), take(x, values), take(x, values), list(numbers), list(values)

    agree(program, torch.randn(3))


def test_suspended_generator_is_left():
    def first_of(x):
        numbers = (x * number for number in (1, 2, 3))
        return next(numbers)

    agree(lambda x: (first_of(x), first_of(x), first_of(x + 1)), torch.randn(3))


def test_known_elements():
    def number(x, t):
        return x * int(t.max().item())

    def program(x):
        return number(x, torch.arange(3)), number(x, torch.arange(3) + 1), number(x, torch.arange(3) * 2)

    agree(program, torch.randn(3))


def test_names_on_tensors():
    weights = [nn.Parameter(torch.randn(3)) for _ in range(4)]
    for number, weight in enumerate(weights):
        weight.factor = 2.0 if number != 2 else 5.0

    def scaled(x, weight):
        return x * weight * weight.factor

    agree(lambda x: [scaled(x, weight) for weight in weights], torch.randn(3))
    del weights[1].factor
    agree(lambda x: [scaled(x, weight) if hasattr(weight, "factor") else x for weight in weights], torch.randn(3))


def test_weak_references_and_properties():
    class Scaled(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self._scale = scale

        @property
        def scale(self):
            return self._scale * 2

        def forward(self, x):
            return x * self.scale

    layers = nn.ModuleList([Scaled(1.0), Scaled(1.0), Scaled(3.0), Scaled(1.0)])

    def program(x):
        for layer in layers:
            x = layer(x)
        return x

    repeated(program, torch.randn(3))
    agree(program, torch.randn(3))
    compiled, x = compiled_graph(program), torch.randn(3)
    with torch.no_grad():
        same(program(x), compiled(x))
        layers[3]._scale = 9.0
        same(program(x), compiled(x))


def test_class_attribute_is_shadowed_in_one_layer():
    class Scaled(nn.Module):
        scale = 2.0

        def forward(self, x):
            return x * self.scale

    layers = nn.ModuleList(Scaled() for _ in range(4))
    layers[2].scale = 2.0
    compiled, x = compiled_graph(lambda x: layers[3](layers[2](layers[1](layers[0](x))))), torch.randn(3)
    with torch.no_grad():
        same(x * 16, compiled(x))
        Scaled.scale = 3.0
        same(x * 54, compiled(x))
        layers[1].scale = 1.0
        same(x * 18, compiled(x))


def test_key_value_cache_over_steps():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = nn.Linear(4, 4)

        def forward(self, x, cache, number):
            cache[number] = torch.cat([cache[number], self.keys(x)]) if number in cache else self.keys(x)
            return x + cache[number].sum(0)

    layers = nn.ModuleList(Attention() for _ in range(3))

    def step(x, cache):
        for number, layer in enumerate(layers):
            x = layer(x, cache, number)
        return x

    compiled, x = compiled_graph(step), torch.randn(2, 4)
    mine, theirs = {}, {}
    with torch.no_grad():
        for _ in range(4):
            same(step(x, theirs), compiled(x, mine))
    same(theirs, mine)


def test_a_break_in_one_layer():
    class Talks(nn.Module):
        def __init__(self, loud):
            super().__init__()
            self.linear, self.loud = nn.Linear(3, 3), loud

        def forward(self, x):
            x = self.linear(x)
            if self.loud and x.sum().item() > 0:
                x = x + 1
            return x

    layers = nn.ModuleList(Talks(number == 3) for number in range(6))

    def program(x):
        for layer in layers:
            x = layer(x)
        return x

    agree(program, torch.randn(2, 3))
