"""The joint function that is made call by call is the one that the engine makes of the whole graph: the same values to the last bit, the same `training`."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.fx.ops import GraphOp
from lect.frontends.capture.api import open_frame
from lect.frontends.tensors.lower import joint
from lect.frontends.tensors.lower.repeats import build_repeated, first_places, repeated_calls
from lect.ir import verify
from lect.passes.manager import PassManager

LAYERS = 9


class Net(nn.Module):
    """`layers` times a function of the module, the values so far and the number of the layer."""

    def __init__(self, layer, tied=False):
        super().__init__()
        self.layer = layer
        self.linears = nn.ModuleList(nn.Linear(8, 8) for _ in range(1 if tied else LAYERS))
        self.scale = nn.Parameter(torch.rand(8) + 0.5)
        self.register_buffer("mask", torch.rand(4, 8) > 0.3)

    def forward(self, x, y):
        for number in range(LAYERS):
            x, y = self.layer(self, x, y, self.linears[number % len(self.linears)])
        return x, y


def residual(net, x, y, linear):
    return x + torch.tanh(linear(x)) * net.scale, y


def squares(net, x, y, linear):
    x = linear(x)
    return x * x + torch.mul(x, x) * 0.25 - y, y * 1.5


def many_uses(net, x, y, linear):
    a = linear(x)
    return (a * x + a).sub(a, alpha=2) + torch.where(net.mask, a, x), torch.addcmul(y, a, a)


def pieces(net, x, y, linear):
    first, second = torch.split(linear(x), 4, dim=1)
    third, fourth = second.t().chunk(2)
    part = torch.cat([second.sigmoid(), first, third.t()[:, :1]], 1)[:, :8]
    return part, y + fourth.sum() + first[:, 1].view(4, 1)


def broadcasts(net, x, y, linear):
    row = x[:1].expand(4, 8)
    return linear(row) * x.mean(0) + x.amax(1, keepdim=True) + y, y.reshape(8, 4).t().reshape(4, 8) / 2


def no_gradient(net, x, y, linear):
    fixed = x.detach()
    order = fixed.argmax(1)
    return x - fixed * 0.5 + linear(fixed), y.index_select(0, order % 4)


def norms(net, x, y, linear):
    return F.layer_norm(linear(x), (8,), net.scale) + x, F.gelu(y, approximate="tanh").softmax(1)


def one_tensor_many_times(net, x, y, linear):
    return torch.stack([x, x, linear(x), x]).sum(0), torch.einsum("ij,ij->ij", y, x)


def no_op_views(net, x, y, linear):
    same = x.contiguous().to(torch.float32).flatten(0, 0)
    return F.dropout(same + linear(same.view(4, 8)), 0.5, training=False), y.expand(4, 8).clone() + same


def halves(net, x, y, linear):
    return linear(x.bfloat16().float() + x) + x.double().float(), (y.half() * 2).float()


def constants(net, x, y, linear):
    return linear(x) * torch.tensor(0.3) + torch.tensor([1.0, -0.0, 3.0, 4.0]).view(4, 1), y + torch.arange(8) * torch.tensor(2.5)


LAYER_KINDS = [residual, squares, many_uses, pieces, broadcasts, norms, one_tensor_many_times, no_op_views, halves, no_gradient, constants]


def captured(net, *arguments):
    """The graph of a call."""
    ctx = make_context()
    ctx.resources["whole"] = True
    module = open_frame(net, arguments, {}, ctx)
    PassManager.parse("capture").run(module, ctx)
    (graph,) = [op for op in module.body if isinstance(op, GraphOp)]
    return graph


def whole(graph, tangents=(), strides=()):
    """The joint function made by the engine of the whole graph, with all results as one group."""
    return joint._build_whole(graph, joint.returned(graph), tangents, strides)


def inputs_of(func):
    """Random tensors for the arguments of a function."""
    found = []
    for value in func.body.args:
        type = value.type
        made = torch.empty_strided(type.shape, type.strides)
        made.untyped_storage().copy_(torch.randn(made.untyped_storage().nbytes() // 4).untyped_storage())
        found.append(made.to({"f32": torch.float32, "i1": torch.bool}[type.element.spelling]))
    return found


@pytest.mark.parametrize("tied", [False, True], ids=["own", "tied"])
@pytest.mark.parametrize("layer", LAYER_KINDS, ids=lambda layer: layer.__name__)
def test_call_by_call_is_as_a_whole(layer, tied):
    x, y = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8, requires_grad=layer is not pieces)
    graph = captured(Net(layer, tied), x, y)
    end = joint.returned(graph)
    for tangents, strides in (((), ()), ((0,), ()), ((0,), (1, 4)), ((0,), (0, 0))):
        found = build_repeated(graph, end, tangents, strides)
        assert found is not None
        expected, draws = whole(graph, tangents, strides)
        func = found[0]
        verify(func)
        assert found[1] == draws == 0
        assert func.training == expected.training
        assert [value.type for value in func.body.args] == [value.type for value in expected.body.args]
        assert [value.type for value in func.body.last.operands] == [value.type for value in expected.body.last.operands]
        assert sorted(op.name for op in func.body) == sorted(op.name for op in expected.body)
        inputs = inputs_of(func)
        for ours, theirs in zip(run_functional(func, inputs), run_functional(expected, inputs)):
            assert ours.stride() == theirs.stride()
            assert torch.equal(ours.view(torch.int32), theirs.view(torch.int32))


def writes(net, x, y, linear):
    return linear(x).mul_(2), y


def flat_writes(net, x, y, linear):
    z = linear(x)
    z.t_()
    return z.t() + x, y


def switches(net, x, y, linear):
    with torch.no_grad():
        z = x * 2
    return linear(x) + z, y


def strides(net, x, y, linear):
    return torch.as_strided(linear(x), (4, 8), (8, 1)), y


@pytest.mark.parametrize("layer", [writes, flat_writes, switches, strides], ids=lambda layer: layer.__name__)
def test_left_to_the_whole(layer):
    x, y = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)
    graph = captured(Net(layer), x, y)
    assert build_repeated(graph, joint.returned(graph), ()) is None
    joint.build_joint(graph)


def shown(net, x, y, linear):
    return linear(x), linear(y)


class Shows(Net):
    """Two of the results lie in one memory."""

    def forward(self, x, y):
        x, y = super().forward(x, y)
        return x, x.t(), y


def test_results_that_share_memory_are_left_to_the_whole():
    graph = captured(Shows(shown), torch.randn(4, 8), torch.randn(4, 8))
    assert repeated_calls(graph) is not None
    assert build_repeated(graph, joint.returned(graph), ()) is None
    func, _ = joint.build_joint(graph)
    assert any(func.body.last.aliases)


def test_few_or_different_calls_are_left_to_the_whole():
    class Few(Net):
        def forward(self, x, y):
            return self.layer(self, x, y, self.linears[0])

    assert repeated_calls(captured(Few(residual), torch.randn(4, 8), torch.randn(4, 8))) is None


def test_autocast_is_left_to_the_whole():
    graph = captured(Net(residual), torch.randn(4, 8), torch.randn(4, 8))
    end = joint.returned(graph)
    assert build_repeated(graph, end, ()) is not None
    with torch.autocast("cpu", torch.bfloat16):
        assert build_repeated(graph, end, ()) is None


def test_calls_that_draw_random_numbers_are_counted():
    def drops(net, x, y, linear):
        return F.dropout(linear(x), 0.25), y

    graph = captured(Net(drops), torch.randn(4, 8), torch.randn(4, 8))
    found = build_repeated(graph, joint.returned(graph), ())
    assert found is not None
    assert found[1] == whole(graph)[1] == LAYERS


def test_first_places():
    a, b = object(), object()
    assert first_places([a, b, a, a, b]) == (0, 1, 0, 0, 1)
