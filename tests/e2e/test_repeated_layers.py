"""Layers of one class that are followed once: one that differs, or that changes later, must not be taken for the others."""

import types

import pytest
import torch
from torch import nn

import lect
from tests.e2e.repetition import agree, compiled_graph, repeated
from tests.e2e.support import same


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


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
