"""Functions and modules that a frame calls several times with objects of the same kinds, which are followed once: what must not be taken for the same."""

import contextvars
import copy
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from lect.dialects import make_context
from lect.frontends.capture.api import open_frame
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.numbers import NumberPolicy
from lect.frontends.capture.to_fx import run
from lect.frontends.capture.tracer import Tracer
from tests.e2e.support import same

FLAG = 1.0
SHARED = types.SimpleNamespace(scale=2.0)
COUNTS = {"calls": 0}
SWITCH = contextvars.ContextVar("switch", default=3.0)


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def capture(program, args, calls, given):
    """The text of what capture makes, with or without remembering calls; `given` takes how many calls were not followed."""

    class Counted(Tracer):
        def close(self):
            given.append(self.memo.given)
            super().close()

    policy = NumberPolicy()
    policy.calls = calls
    ctx = make_context()
    ctx.resources.update(code_table=CodeTable(), numbers=policy)
    from lect.frontends.capture import to_fx

    to_fx.Tracer, kept = Counted, to_fx.Tracer
    try:
        with torch.no_grad():
            module = open_frame(program, args, {}, ctx)
            run(module, ctx)
    finally:
        to_fx.Tracer = kept
    return str(module)


def compiled_graph(program):
    """Compiled up to the graph of torch calls, which a reference interpreter runs: capture is what is tested here."""
    return lect.compile(program, options={"level": "fx"})


def repeated(program, *args):
    """How many calls were not followed; what capture makes is the same text when all are."""
    given = []
    follows = capture(program, args, False, [])
    assert capture(program, args, True, given) == follows
    return sum(given)


def agree(program, *args, exact=False):
    """Two calls of the compiled program without autograd give eager's values and leave eager's arguments."""
    compiled = compiled_graph(program)
    for _ in range(2):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with torch.no_grad():
            same(program(*theirs), compiled(*mine), exact)
        same(theirs, mine, exact)


class Layer(nn.Module):
    """A layer whose forward reads objects of many kinds."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.register_buffer("shift", torch.randn(4))
        self.scale = 1.5
        self.options = {"power": 1, "extra": [0.5, 0.25]}
        self.config = types.SimpleNamespace(kind="plain", bias=0.125)
        self.skip = None
        self.function = torch.relu

    def forward(self, x):
        y = self.linear(self.norm(x)) * self.scale + self.shift
        if self.config.kind == "plain":
            y = y + self.config.bias
        for part in self.options["extra"]:
            y = y - part
        if self.training:
            y = y * 3
        if self.skip is not None:
            y = y + self.skip
        return x + self.function(y) ** self.options["power"]


class Stack(nn.Module):
    """Some layers in a row."""

    def __init__(self, count=4):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def stack():
    return Stack().eval()


def set_hook(layer):
    layer.register_forward_hook(lambda module, args, result: result * 2)


def set_own_forward(layer):
    layer.forward = types.MethodType(lambda self, x: x * 7, layer)


class Other(Layer):
    """A layer of another class."""

    def forward(self, x):
        return super().forward(x) - 1


def set_class(layer):
    layer.__class__ = Other


def tie(layer):
    layer.linear.weight = layer.norm.weight = nn.Parameter(torch.ones(4, 4)[0].clone())
    layer.linear = nn.Identity()


PLACES = [2, *[pytest.param(place, marks=pytest.mark.slow) for place in (0, 1, 3)]]
CHANGES = {
    "scale": lambda layer: setattr(layer, "scale", -2.5),
    "type of scale": lambda layer: setattr(layer, "scale", torch.tensor(2.0)),
    "config": lambda layer: setattr(layer.config, "kind", "other"),
    "value in config": lambda layer: setattr(layer.config, "bias", -0.0),
    "item": lambda layer: layer.options["extra"].__setitem__(1, 9.0),
    "longer list": lambda layer: layer.options["extra"].append(1.0),
    "key": lambda layer: layer.options.__setitem__("power", 2),
    "float key": lambda layer: layer.options.__setitem__("power", 1.0),
    "skip": lambda layer: setattr(layer, "skip", torch.ones(4)),
    "function": lambda layer: setattr(layer, "function", torch.tanh),
    "python function": lambda layer: setattr(layer, "function", lambda x: x * 2),
    "training": lambda layer: setattr(layer, "training", True),
    "hook": set_hook,
    "pre-hook": lambda layer: layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,)),
    "hook of a child": lambda layer: set_hook(layer.norm),
    "own forward": set_own_forward,
    "class": set_class,
    "class of a child": lambda layer: setattr(layer, "norm", nn.Identity()),
    "no bias": lambda layer: setattr(layer.linear, "bias", None),
    "eps": lambda layer: setattr(layer.norm, "eps", 0.5),
    "buffer of other strides": lambda layer: setattr(layer, "shift", torch.randn(4, 2)[:, 0]),
    "buffer of other dtype": lambda layer: setattr(layer, "shift", torch.arange(4)),
    "attribute instead of buffer": lambda layer: (layer._buffers.pop("shift"), layer.__dict__.__setitem__("shift", torch.full((4,), 5.0))),
    "tied": tie,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", list(CHANGES))
def test_one_layer_differs(change, place):
    torch.manual_seed(0)
    model, x = stack(), torch.randn(3, 4)
    CHANGES[change](model.layers[place])
    repeated(model, x)
    compiled = compiled_graph(model)
    with torch.no_grad():
        same(model(x), compiled(x))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", list(CHANGES))
def test_one_layer_changes_behind_the_first_call(change, place):
    torch.manual_seed(0)
    model, x = stack(), torch.randn(3, 4)
    compiled = compiled_graph(model)
    with torch.no_grad():
        same(model(x), compiled(x))
        CHANGES[change](model.layers[place])
        same(model(x), compiled(x))


def test_layers_are_followed_once():
    assert repeated(stack(), torch.randn(3, 4)) >= 3


def test_layers_share_objects():
    model = stack()
    model.layers[2].linear.weight = model.layers[0].linear.weight
    model.layers[3].config = model.layers[1].config
    model.layers[3].norm = model.layers[2].norm
    assert repeated(model, torch.randn(3, 4)) >= 1
    agree(model, torch.randn(3, 4))
    model.layers.append(model.layers[1])
    agree(model, torch.randn(3, 4))


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
