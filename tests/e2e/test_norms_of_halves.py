"""Normalisations whose operand is of another type than their parameters, as autocast makes them, and layers whose parameters are halves."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

import lect

LAYERS = {
    "layer_norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8)),
    "layer_norm without parameters": lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8, elementwise_affine=False)),
    "group_norm of images": lambda: nn.Sequential(nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.GroupNorm(2, 4), nn.SiLU()),
    "weight_norm": lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(6, 8)), nn.CELU()),
}


def run(wrap, layer, dtype, autocast):
    """Result, input gradient, parameter gradients and buffers of two steps."""
    torch.manual_seed(3)
    model = LAYERS[layer]()
    if not autocast:
        model = model.to(dtype)
    compiled = wrap(model)
    found = []
    for _ in range(2):
        x = torch.randn(5, 6, dtype=torch.float32 if autocast else dtype, requires_grad=True)
        with torch.autocast("cpu", dtype=dtype, enabled=autocast):
            y = compiled(x)
            loss = y.float().pow(2).mean()
        model.zero_grad()
        loss.backward()
        found += [y.detach(), x.grad, *[parameter.grad for parameter in model.parameters()], *[buffer.clone() for buffer in model.buffers()]]
    return found


@pytest.mark.parametrize(("dtype", "autocast"), [(torch.bfloat16, True), (torch.float16, False)], ids=["autocast", "halves"])
@pytest.mark.parametrize("layer", LAYERS)
def test_training_steps_equal_eager(layer, dtype, autocast):
    lect.reset()
    start = len(lect.events())
    found = run(lect.compile, layer, dtype, autocast)
    assert not [str(event) for event in lect.events()[start:] if event.kind in ("fallback", "note", "backward fallback")]
    for one, other in zip(found, run(lambda model: model, layer, dtype, autocast), strict=True):
        torch.testing.assert_close(one, other, rtol=3e-2, atol=2e-2)
        assert one.dtype is other.dtype
        assert one.stride() == other.stride()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("count", [5, 100])
def test_reciprocal_roots_are_rounded_once(dtype, count):
    """Eager rounds twice what fills no vector register, so there it is no nearer to the exact value."""
    given = (torch.rand(count) * 9 + 0.1).to(dtype)
    exact = given.double() ** -0.5
    for program in (lambda x: torch.rsqrt(x), lambda x: x**-0.5):
        got, want = lect.compile(program)(given), program(given)
        if dtype is torch.bfloat16:
            assert torch.equal(got, exact.to(dtype))
        assert ((got.double() - exact).abs() <= (want.double() - exact).abs()).all()
    x = given.clone().requires_grad_()
    lect.compile(lambda x: x**0.5)(x).sum().backward()
    if dtype is torch.bfloat16:
        assert torch.equal(x.grad, 0.5 * exact.to(dtype))
