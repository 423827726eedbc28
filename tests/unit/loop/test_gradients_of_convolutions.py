"""Gradients of depthwise convolutions, which are nests on a GPU: values beside autograd's, computed by the reference interpreter."""

import pytest
import torch

from lect.backends.reference import loop as reference_loop
from lect.dialects import make_context
from lect.dialects.loop.ops import ExternOp, NestOp
from lect.ir import parse_module
from lect.passes.manager import PassManager
from lect.passes.targets import target_named


def program(x, w, g, stride, padding, dilation, device="cuda:0", groups=None):
    def type_text(tensor):
        return f'!functional.tensor<{"x".join(map(str, tensor.shape))}xf32, strides {list(tensor.stride())}, "{device}">'

    numbers = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups or x.shape[1], "strides": [list(x.stride()), list(w.stride()), [1]]}
    attrs = ", ".join([f"{name} = {value}" for name, value in numbers.items()])
    types = f'({type_text(x)}, {type_text(w)}, !functional.tensor<{w.shape[0]}xf32, "{device}">)'
    return f"""
functional.func @f(%g: {type_text(g)}, %x: {type_text(x)}, %w: {type_text(w)}) {{
  %0, %1, %2 = functional.convolution_backward(%g, %x, %w) {{{attrs}}} : {types}
  functional.return(%0, %1)
}}
"""


def lowered(text):
    ctx = make_context(target=target_named("cuda:sm_90"))
    module = parse_module(text, ctx)
    PassManager.parse("functional-to-loop", verify_each=True).run(module, ctx)
    return module.body.first


def of_kind(func, kind):
    return [op for op in func.body if isinstance(op, kind)]


CASES = [
    ((6, 7), (3, 3), [2, 2], [1, 1], [1, 1]),
    ((9, 8), (5, 5), [2, 2], [2, 2], [1, 1]),
    ((7, 9), (3, 4), [3, 1], [0, 3], [1, 2]),
    ((5, 5), (1, 2), [2, 3], [0, 0], [1, 1]),
    ((4, 5, 6), (3, 2, 3), [2, 1, 2], [1, 0, 2], [1, 1, 2]),
    ((7, 6), (3, 3), [1, 1], [1, 1], [1, 1]),
]


@pytest.mark.parametrize(("sizes", "filters", "stride", "padding", "dilation"), CASES)
def test_values(sizes, filters, stride, padding, dilation):
    generator = torch.Generator().manual_seed(0)
    together = torch.channels_last if len(sizes) == 2 else torch.channels_last_3d
    x = torch.randn((2, 3, *sizes), generator=generator).to(memory_format=together).requires_grad_(True)
    w = torch.randn((3, 1, *filters), generator=generator).requires_grad_(True)
    y = (torch.nn.functional.conv2d if len(sizes) == 2 else torch.nn.functional.conv3d)(x, w, None, stride, padding, dilation, 3)
    g = torch.randn(y.shape, generator=generator).to(memory_format=together)
    g[(0, 0, *[0] * len(sizes))] = float("inf")
    g[1, 1].fill_(float("nan"))
    y.backward(g)
    func = lowered(program(x.detach(), w.detach(), g, stride, padding, dilation))
    assert [call.args[-1] for call in of_kind(func, ExternOp)] == ([] if max(stride) > 1 else [(True, False, False)])
    found, filters_gradient = reference_loop.run(func, [g, x.detach(), w.detach()])
    torch.testing.assert_close(found, x.grad, equal_nan=True)
    torch.testing.assert_close(filters_gradient, w.grad, equal_nan=True)
    assert found.stride() == x.stride()


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"device": "cpu"}, "on a CPU"), ({"groups": 1}, "filters of several channels"), ({"rows": True}, "rows of one channel")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_left_to_the_library(changes, why):
    x, w = torch.randn(2, 4, 6, 6), torch.randn(4, 1 if "groups" not in changes else 4, 3, 3)
    g = torch.nn.functional.conv2d(x, w, None, 2, 1, 1, changes.get("groups", 4))
    if "rows" not in changes:
        x, g = x.to(memory_format=torch.channels_last), g.contiguous(memory_format=torch.channels_last)
    func = lowered(program(x, w, g, [2, 2], [1, 1], [1, 1], changes.get("device", "cuda:0"), changes.get("groups", 4)))
    assert not of_kind(func, NestOp), why
    assert [call.args[-1] for call in of_kind(func, ExternOp)] == [(True, True, False)]
