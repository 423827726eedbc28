"""Functions of libraries that are done in one step: the fields of dataclasses, new modules and the modules in them."""

import dataclasses
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import same, stops, versions

REGISTRATION = nn.modules.module.register_module_module_registration_hook


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


@dataclasses.dataclass
class Point:
    """A class variable and an init-only one are no fields."""

    origin: ClassVar[int] = 3
    x: torch.Tensor
    scale: dataclasses.InitVar[float] = 2.0
    y: float = 1.5

    def __post_init__(self, scale: float) -> None:
        self.x = self.x * scale


@dataclasses.dataclass
class Named(Point):
    name: str = "here"


class Half:
    """It has what a dataclass has, and no dictionary."""

    __dataclass_fields__ = 7


class Layered(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(count)])
        self.used = count - 1

    def forward(self, x):
        for layer in self.layers[: self.used]:
            x = layer(x)
        return x, len(self.layers[1:])


def given(fn, *args: Any) -> tuple[str, Any]:
    try:
        return "returned", fn(*args)
    except Exception as error:
        return type(error).__name__, str(error)


def agree(fn, *args: Any, whole: bool = True) -> None:
    want = given(fn, *args)
    same(want, given(lect.compile(fn), *args))
    assert not whole or stops() == []


def test_the_fields_of_a_dataclass_and_of_its_instances():
    def names(x):
        made = Named(x, 3.0)
        first, again = dataclasses.fields(made), dataclasses.fields(Named)
        return [field.name for field in first], [field.default for field in again], [a is b for a, b in zip(first, again)], first is again, made.x

    agree(names, torch.randn(3))


def test_what_is_no_dataclass_has_no_fields():
    def fields(x, what):
        try:
            return dataclasses.fields(what), x
        except TypeError as error:
            return str(error), x + 1

    agree(fields, torch.randn(3), 5)
    agree(fields, torch.randn(3), int)


def test_a_class_whose_fields_are_no_dictionary():
    def fields(x):
        try:
            return dataclasses.fields(Half), x
        except AttributeError as error:
            return str(error), x + 1

    agree(fields, torch.randn(3))


def test_fields_that_are_added_later():
    @dataclasses.dataclass
    class Grows:
        a: int = 1

    def count(x):
        return x * len(dataclasses.fields(Grows))

    compiled, x = lect.compile(count), torch.randn(3)
    same(count(x), compiled(x))
    Grows.__dataclass_fields__["b"] = dataclasses.fields(Named)[0]
    same(count(x), compiled(x))
    assert torch.equal(compiled(x), x * 2)
    Grows.__dataclass_fields__["a"]._field_type = None
    same(count(x), compiled(x))
    assert versions() == 3


@pytest.mark.parametrize("grad", [False, True])
def test_a_part_of_a_list_of_modules(grad):
    model, x = Layered(4), torch.randn(2, 4)
    compiled = lect.compile(model)
    with torch.set_grad_enabled(grad):
        same(model(x), compiled(x))
        model.used = 2
        same(model(x), compiled(x))
        model.layers[0] = nn.Linear(4, 4)
        same(model(x), compiled(x))
    assert stops() == []


def test_a_module_made_in_the_frame_leaves_it():
    class Holder(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.add_module("inner", inner)
            self.size = 3

    def wrap(module, x):
        return Holder(module), module(x)

    module, x = nn.Linear(4, 4), torch.randn(2, 4)
    with torch.no_grad():
        want, got = wrap(module, x), lect.compile(wrap)(module, x)
    assert list(vars(want[0])) == list(vars(got[0]))
    assert [type(value) for value in vars(want[0]).values()] == [type(value) for value in vars(got[0]).values()]
    assert got[0].inner is module
    assert got[0].size == 3
    assert got[0].training
    same(want[1], got[1])
    made = vars(nn.Module())
    assert not any(value is made[name] for name, value in vars(got[0]).items() if isinstance(value, dict))


@pytest.mark.parametrize("name", ["", "a.b", "forward", "training", "tag", 7])
def test_names_that_a_module_refuses(name):
    class Tagged(nn.Module):
        tag = "taken"

    inner = nn.ReLU()

    def add(x):
        made = Tagged()
        try:
            made.add_module(name, inner)
        except (KeyError, TypeError) as error:
            return type(error).__name__, str(error), x + 1
        return "taken", list(made._modules), x

    agree(add, torch.randn(3))


def test_a_name_that_is_given_again_and_a_child_that_is_none():
    first, second = nn.ReLU(), nn.Tanh()

    def add(x):
        made = nn.Module()
        made.add_module("a", first)
        made.add_module("b", None)
        made.add_module("a", second)
        made.register_module("c", first)
        return list(made._modules), made.a(x), made.b is None, made.c(x)

    agree(add, torch.randn(3))


def test_a_child_that_is_no_module():
    def add(x):
        made = nn.Module()
        try:
            made.add_module("a", x)
        except TypeError as error:
            return str(error), x + 1
        return x

    agree(add, torch.randn(3), whole=False)  # the text of the error is made of the tensor's class


def test_a_module_that_takes_attributes_in_its_own_way():
    class Loud(nn.Module):
        said = ()

        def __setattr__(self, name, value):
            object.__setattr__(self, "said", (*self.said, name))
            super().__setattr__(name, value)

        def __getattr__(self, name):
            return ("no", name)

    inner = nn.ReLU()

    def make(x):
        made = Loud()
        made.other = 3
        try:
            made.add_module("inner", inner)
        except KeyError as error:
            return made.said, str(error), made.nothing, x + 1
        return made.said, made.nothing, x

    agree(make, torch.randn(3))


def test_a_class_behind_module_takes_what_it_is_made_with():
    class Noted:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            vars(self).setdefault("noted", []).append(name)

    class Both(nn.Module, Noted):
        pass

    class Both2(nn.Module, Noted):
        call_super_init = True

    def make(x):
        return Both().noted, Both2().noted, x + 1

    agree(make, torch.randn(3))


def test_hooks_on_the_registration_of_modules():
    inner, other, seen = nn.ReLU(), nn.Tanh(), []

    def add(x):
        made = nn.Module()
        made.add_module("a", inner)
        return made.a(x)

    def replace(module, name, child):
        seen.append(name)
        return other

    compiled, x = lect.compile(add), torch.randn(3)
    same(add(x), compiled(x))
    handle = REGISTRATION(replace)
    try:
        same(torch.tanh(x), compiled(x))
        assert seen == ["a"]
    finally:
        handle.remove()
    same(torch.relu(x), compiled(x))
