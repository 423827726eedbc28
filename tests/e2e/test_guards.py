"""A version is used again exactly when it is right: never after something that decided has changed, always after what did not."""

import functools
import gc
import types
import weakref

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import fallbacks, same, versions

FACTOR = 2.0
CONFIG = {"scale": 2.0, "shifts": [1, 2]}
OTHER = types.SimpleNamespace(value=1.0)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def compile_graph(fn, **options):
    """Compile up to the graph of torch calls, which a reference interpreter runs: guards are what is tested here."""
    return lect.compile(fn, options={"level": "fx", **options})


def changes(fn, x, change, again=None):
    """Call, change something, call again: both calls give eager's value.  Gives the number of versions."""
    compiled = compile_graph(fn)
    same(fn(x), compiled(x))
    change()
    second = x if again is None else again
    same(fn(second), compiled(second))
    return versions()


def test_global_is_changed(monkeypatch):
    assert changes(lambda x: x * FACTOR, torch.ones(3), lambda: monkeypatch.setitem(globals(), "FACTOR", 5.0)) == 2


def test_global_changes_type_but_not_value(monkeypatch):
    def f(x):
        return x + 1 if type(FACTOR) is float else x - 1

    assert changes(f, torch.ones(3), lambda: monkeypatch.setitem(globals(), "FACTOR", 2)) == 2


def test_entry_of_global_dictionary_is_changed(monkeypatch):
    assert changes(lambda x: x * CONFIG["scale"], torch.ones(3), lambda: monkeypatch.setitem(CONFIG, "scale", 3.0)) == 2


def test_item_of_nested_list_is_changed(monkeypatch):
    def f(x):
        for shift in CONFIG["shifts"]:
            x = x + shift
        return x

    monkeypatch.setitem(CONFIG, "shifts", [1, 2])
    assert changes(f, torch.ones(3), lambda: CONFIG["shifts"].__setitem__(1, 7)) == 2


def test_list_grows(monkeypatch):
    assert changes(lambda x: x * len(CONFIG["shifts"]), torch.ones(3), lambda: monkeypatch.setitem(CONFIG, "shifts", [1, 2, 3])) == 2


def test_key_appears(monkeypatch):
    assert changes(lambda x: x * CONFIG.get("extra", 1.0), torch.ones(3), lambda: monkeypatch.setitem(CONFIG, "extra", 4.0)) == 2


def test_membership_changes(monkeypatch):
    assert changes(lambda x: x + 1 if "extra" in CONFIG else x + 2, torch.ones(3), lambda: monkeypatch.setitem(CONFIG, "extra", 4.0)) == 2


def test_global_shadows_a_builtin(monkeypatch):
    assert changes(lambda x: x * len(CONFIG), torch.ones(3), lambda: monkeypatch.setitem(globals(), "len", lambda d: 10)) == 2


def test_called_global_function_is_replaced(monkeypatch):
    def helper(x):
        return x + 1

    monkeypatch.setitem(globals(), "helper", helper)
    assert changes(lambda x: globals()["helper"](x), torch.ones(3), lambda: monkeypatch.setitem(globals(), "helper", lambda x: x - 1)) == 2


def test_torch_function_is_replaced(monkeypatch):
    monkeypatch.setattr(nn.functional, "silu", nn.functional.silu)
    assert changes(lambda x: nn.functional.silu(x), torch.ones(3), lambda: monkeypatch.setattr(nn.functional, "silu", torch.relu)) == 2


def test_closure_cell_is_changed():
    factor = 2.0

    def change():
        nonlocal factor
        factor = 3.0

    assert changes(lambda x: x * factor, torch.ones(3), change) == 2


def test_default_argument_is_changed():
    def f(x, scale=2.0):
        return x * scale

    def change():
        f.__defaults__ = (4.0,)

    compiled = compile_graph(f)
    x = torch.ones(3)
    same(f(x), compiled(x))
    change()
    same(f(x), compiled(x))


def test_keyword_default_is_changed():
    def f(x, *, scale=2.0):
        return x * scale

    compiled = compile_graph(f)
    x = torch.ones(3)
    same(f(x), compiled(x))
    f.__kwdefaults__["scale"] = 4.0
    same(f(x), compiled(x))


def test_default_of_an_inlined_function_is_changed():
    def helper(x, scale=2.0):
        return x * scale

    def change():
        helper.__defaults__ = (4.0,)

    assert changes(lambda x: helper(x), torch.ones(3), change) == 2


def test_attribute_is_changed(monkeypatch):
    assert changes(lambda x: x * OTHER.value, torch.ones(3), lambda: monkeypatch.setattr(OTHER, "value", 2.0)) == 2


def test_attribute_appears(monkeypatch):
    def f(x):
        return x * getattr(OTHER, "extra", 1.0) if hasattr(OTHER, "extra") else x - 1

    assert changes(f, torch.ones(3), lambda: monkeypatch.setattr(OTHER, "extra", 3.0, raising=False)) == 2


class Model:
    scale = 2.0

    def __init__(self):
        self.shift = 1.0

    def helper(self, x):
        return x + self.shift

    @property
    def twice(self):
        return self.shift * 2

    def __call__(self, x):
        return self.helper(x) * self.scale + self.twice


def test_class_attribute_is_changed(monkeypatch):
    assert changes(Model(), torch.ones(3), lambda: monkeypatch.setattr(Model, "scale", 5.0)) == 2


def test_instance_attribute_hides_class_attribute():
    model = Model()
    assert changes(model, torch.ones(3), lambda: setattr(model, "scale", 7.0)) == 2


def test_method_of_class_is_replaced(monkeypatch):
    assert changes(Model(), torch.ones(3), lambda: monkeypatch.setattr(Model, "helper", lambda self, x: x - 1)) == 2


def test_method_is_hidden_by_instance():
    model = Model()
    assert changes(model, torch.ones(3), lambda: setattr(model, "helper", lambda x: x - 1)) == 2


def test_property_is_replaced(monkeypatch):
    assert changes(Model(), torch.ones(3), lambda: monkeypatch.setattr(Model, "twice", property(lambda self: 9.0))) == 2


def test_object_changes_its_class():
    class Second(Model):
        def helper(self, x):
            return x * 10

    model = Model()
    assert changes(model, torch.ones(3), lambda: setattr(model, "__class__", Second)) == 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("bias", torch.ones(4))
        self.rate = 0.5

    def forward(self, x):
        y = self.fc(x) + self.bias
        return torch.dropout(y, self.rate, False) * 2 if not self.training else y


def module_changes(change, x=None):
    torch.manual_seed(0)
    net = Net()
    compiled = compile_graph(net)
    x = torch.randn(2, 4) if x is None else x
    with torch.no_grad():
        same(net(x), compiled(x))
        change(net)
        same(net(x), compiled(x))
    return versions()


def test_train_flag():
    assert module_changes(lambda net: net.eval()) == 2


def test_module_attribute():
    assert module_changes(lambda net: setattr(net.eval(), "rate", 0.25)) == 2


def test_parameter_is_written_in_place():
    assert module_changes(lambda net: net.fc.weight.mul_(2)) == 1


def test_parameter_is_replaced():
    assert module_changes(lambda net: setattr(net.fc, "weight", nn.Parameter(torch.eye(4)))) == 1


def test_parameter_is_frozen():
    assert module_changes(lambda net: net.fc.weight.requires_grad_(False)) == 2


def test_parameter_becomes_none():
    assert module_changes(lambda net: setattr(net.fc, "bias", None)) == 2


def test_buffer_is_replaced_by_another_dtype():
    assert module_changes(lambda net: setattr(net, "bias", torch.ones(4, dtype=torch.float64))) == 2


def test_child_is_replaced():
    assert module_changes(lambda net: setattr(net, "fc", nn.Identity())) == 2


def test_instance_attribute_hides_a_child():
    def change(net):
        net.__dict__["fc"] = lambda x: x * 3

    assert module_changes(change) == 2


def test_forward_hook_is_added_to_module():
    assert module_changes(lambda net: net.register_forward_hook(lambda module, args, out: out + 1)) == 2
    assert fallbacks() == []


def test_forward_hook_is_added_to_child():
    assert module_changes(lambda net: net.fc.register_forward_pre_hook(lambda module, args: (args[0] * 2,))) == 2
    assert fallbacks() == []


def test_hook_on_all_modules():
    handles = []
    module_changes(lambda net: handles.append(nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 2)))
    handles[0].remove()
    assert fallbacks() == []


def test_forward_of_instance_is_replaced():
    assert module_changes(lambda net: setattr(net, "forward", lambda x: x * 3)) == 2
    assert fallbacks() == []


def test_forward_of_child_is_replaced():
    assert module_changes(lambda net: setattr(net.fc, "forward", lambda x: x * 3)) == 2


def test_forward_of_child_class_is_replaced(monkeypatch):
    assert module_changes(lambda net: monkeypatch.setattr(nn.Linear, "forward", lambda self, x: x * 3)) == 2


X = torch.randn(4, 4)


@pytest.mark.parametrize(
    "again",
    [
        torch.randn(5, 4),
        torch.randn(4, 4).double(),
        torch.randn(4, 4).t(),
        torch.randn(4, 8)[:, ::2],
        torch.randn(16),
        nn.Parameter(torch.randn(4, 4), requires_grad=False),
    ],
    ids=["shape", "dtype", "transposed", "strided", "rank", "class"],
)
def test_metadata_of_input(again):
    assert changes(lambda x: (x * 2).sum(-1), X, lambda: None, again) == 2


def test_negated_view_is_no_plain_tensor():
    again = torch.imag(torch.conj(torch.randn(4, 4, dtype=torch.complex64)))
    f = lambda x: x * 2  # noqa: E731
    compiled = compile_graph(f)
    start = torch.imag(torch.randn(4, 4, dtype=torch.complex64))
    same(f(start), compiled(start))
    same(f(again).resolve_neg(), compiled(again).resolve_neg())


def test_requires_grad_of_input():
    again = torch.randn(4, 4, requires_grad=True)
    changes(lambda x: x * 2, X, lambda: None, again)
    assert [event.through_torch for event in lect.events("compile")] == ["", "LB0021"]


def test_grad_mode():
    f = lambda x: x * 2  # noqa: E731
    x = torch.randn(3, requires_grad=True)
    compiled = compile_graph(f)
    with torch.no_grad():
        same(f(x), compiled(x))
    same(f(x), compiled(x))
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert versions() == 2


def test_inference_mode():
    f = lambda x: x * 2  # noqa: E731
    compiled = compile_graph(f)
    compiled(X)
    with torch.inference_mode():
        assert compiled(X).is_inference()
        same(f(X), compiled(X))
    assert not compiled(X).is_inference()


def test_default_dtype():
    f = lambda x: x + torch.ones(4)  # noqa: E731
    compiled = compile_graph(f)
    same(f(X), compiled(X))
    torch.set_default_dtype(torch.float64)
    try:
        same(f(X), compiled(X))
    finally:
        torch.set_default_dtype(torch.float32)


def test_autocast():
    f = lambda x: x @ x  # noqa: E731
    compiled = compile_graph(f)
    same(f(X), compiled(X))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        same(f(X), compiled(X))
    same(f(X), compiled(X))
    assert versions() == 2


def test_function_mode_sees_the_calls():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    f = lambda x: torch.relu(x)  # noqa: E731
    compiled = compile_graph(f)
    compiled(X)
    with Mode():
        compiled(X)
    assert torch.relu in seen


def test_vmap_over_compiled_function():
    f = lambda x: x * 2 + x.sum()  # noqa: E731
    compiled = compile_graph(f)
    compiled(X[0])
    same(torch.vmap(f)(X), torch.vmap(compiled)(X))


def test_same_tensor_twice_and_two_tensors():
    def f(x, y):
        return x + 1 if x is y else x - y

    compiled = compile_graph(f)
    y = torch.randn(4, 4)
    for args in ((X, X), (X, y), (y, X), (y, y)):
        same(f(*args), compiled(*args))
    assert versions() == 2


def test_argument_is_none_or_tensor():
    def f(x, mask=None):
        return x if mask is None else x * mask

    compiled = compile_graph(f)
    for mask in (None, X, None, torch.randn(4, 4)):
        same(f(X, mask) + 0, compiled(X, mask) + 0)
    assert set(fallbacks()) <= {"LB0022"}


@pytest.mark.parametrize("values", [(1, 1.0, True), (0.0, -0.0), ("a", "b"), (None, 1), ((1, 2), [1, 2]), (torch.float32, torch.float64)])
def test_scalar_arguments_are_told_apart(values):
    def f(x, value):
        if isinstance(value, bool):
            return x + 10
        if isinstance(value, torch.dtype):
            return x.to(value) + 1
        if isinstance(value, int | float):
            return x / value if value else torch.copysign(x, torch.tensor(value))
        if isinstance(value, tuple | list):
            return x * (2 if type(value) is list else 3)
        return x - len(str(value))

    compiled = compile_graph(f)
    for _ in range(2):
        for value in values:
            same(f(X, value), compiled(X, value))


def test_unrelated_changes_make_no_new_version(monkeypatch):
    net = Net().eval()
    compiled = compile_graph(net)
    holder = types.SimpleNamespace(net=net)
    with torch.no_grad():
        for step in range(5):
            monkeypatch.setitem(globals(), f"UNRELATED{step}", step)
            net.note = step
            holder.step = step
            net.fc.weight.add_(1)
            CONFIG[f"unrelated {step}"] = step
            x = torch.randn(2, 4)
            same(net(x), compiled(x))
            del CONFIG[f"unrelated {step}"]
    assert versions() == 1


def test_a_version_is_found_again_after_others():
    f = lambda x: x * 2  # noqa: E731
    compiled = compile_graph(f)
    for _ in range(3):
        for size in (2, 3, 4):
            same(f(torch.ones(size)), compiled(torch.ones(size)))
    assert versions() == 3


def test_too_many_versions_run_eagerly_and_say_why():
    f = lambda x, n: x * int(str(n))  # noqa: E731 - the text of a number needs its value
    compiled = compile_graph(f, version_limit=3)
    for n in range(10):
        same(f(X, n), compiled(X, n))
    assert versions() == 3
    assert fallbacks() == ["LB0027"]
    miss = lect.events("guard miss")[0]
    assert (miss.source, miss.guard) == ('L["n"]', "equals")
    assert "value = 0" in miss.expected
    assert miss.found == "1"
    assert "test_guards.py" in miss.location
    assert len(lect.events("recompile")) == 2


def test_nothing_is_kept_alive():
    class Payload:
        def __init__(self):
            self.scale = 2.0

    net = Net()
    payload = Payload()
    f = compile_graph(lambda net, x, payload: net(x) * payload.scale)
    x = torch.randn(2, 4)
    with torch.no_grad():
        out = f(net, x, payload)
    watched = [weakref.ref(value) for value in (net, x, payload, out, net.fc.weight)]
    del net, x, payload, out
    gc.collect()
    assert [ref() for ref in watched] == [None] * 5


def test_wrapped_functions_are_guarded_by_identity():
    def make(scale):
        @functools.wraps(make)
        def inner(x):
            return x * scale

        return inner

    f = lambda x, g: g(x)  # noqa: E731
    compiled = compile_graph(f)
    for scale in (2.0, 3.0):
        g = make(scale)
        same(f(X, g), compiled(X, g))


class Key:
    pass


def test_dictionary_with_keys_that_have_no_literal():
    first, second = Key(), Key()
    table = {first: 2.0, Key: 3.0, len: 4.0, second: 5.0}

    def program(x, key):
        return x * table[key] * table[Key] + len(table)

    compiled = compile_graph(program)
    x = torch.randn(3)
    for key in (first, second, first):
        same(program(x, key), compiled(x, key))
    table[Key] = 7.0
    same(program(x, first), compiled(x, first))
    table.pop(len)
    same(program(x, first), compiled(x, first))
    assert fallbacks() == []


def test_dictionary_with_tensors_for_keys():
    weights = [torch.randn(3), torch.randn(3)]
    table = {weight: {"scale": torch.randn(3)} for weight in weights}

    def program(number):
        return weights[number] * table[weights[number]]["scale"]

    compiled = compile_graph(program)
    for number in (0, 1, 0):
        same(program(number), compiled(number))
    table[weights[0]] = {"scale": torch.ones(3)}
    same(program(0), compiled(0))
    weights.reverse()
    same(program(0), compiled(0))
    assert fallbacks() == []


def test_ordered_dictionary_keeps_its_own_order():
    from collections import OrderedDict

    table = OrderedDict(a=1.0, b=2.0, c=3.0)
    table.move_to_end("c", last=False)

    def program(x):
        for value in table.values():
            x = x * value + 1
        return x, dict(**table), list(table.items())

    compiled = compile_graph(program)
    same(program(torch.ones(2)), compiled(torch.ones(2)))
    table.move_to_end("c")
    same(program(torch.ones(2)), compiled(torch.ones(2)))
    assert fallbacks() == []


def test_view_of_a_dictionary_is_guarded_by_its_items():
    for make in (dict.keys, dict.values, dict.items):
        names = {"a": 1}

        def program(x, view):
            return x + len(list(view)), list(view)

        compiled = lect.compile(program)
        for _ in range(2):
            same(program(torch.ones(2), make(names)), compiled(torch.ones(2), make(names)))
            names[f"b{len(names)}"] = 5
