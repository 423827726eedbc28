"""Fourier transforms, whose layouts the library decides, and old training steps by way of `x.data`, on a GPU."""

import pytest
import torch
from torch import nn

import lect

pytestmark = pytest.mark.cuda


def spectrogram(x):
    found = torch.stft(x, 64, 16, window=torch.hann_window(64, device=x.device), return_complex=True)
    return found.abs().pow(2).sum(-1)


def filtered(x):
    return torch.fft.irfft2(torch.fft.rfft2(x) * 0.5, s=x.shape[-2:]) + torch.fft.fft(x, dim=0).real


@pytest.mark.parametrize("program", [spectrogram, filtered], ids=lambda program: program.__name__)
@pytest.mark.parametrize("leaf", [False, True], ids=["values", "gradients"])
def test_transforms_are_one_graph(program, leaf):
    compiled = lect.compile(program)
    for _ in range(3):
        base, found = torch.randn(8, 512, device="cuda"), []
        for run in (program, compiled):
            x = base.clone().requires_grad_(leaf)
            y = run(x)
            if leaf:
                y.sum().backward()
            found.append((y.detach(), x.grad))
        torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)
        assert found[0][0].stride() == found[1][0].stride()
    assert lect.events("graph break", "fallback") == []


def test_layouts_of_transforms_are_the_librarys():
    def program(*given):
        return [
            each.stride()
            for x in given
            for dims in ((0,), (1,), (2,), (0, 2), (0, 1, 2))
            for each in (torch.fft.rfftn(x, dim=dims), torch.fft.fftn(x, dim=dims))
        ]

    def both(*given):
        return program(*given), given[0] + 1

    x = torch.randn(4, 6, 8, device="cuda")
    given = [x, x.transpose(0, 1), x[..., ::2], x[:1].expand(4, 6, 8)]
    assert lect.compile(both)(*given)[0] == program(*given)


def test_steps_by_way_of_data():
    def step(model, x):
        loss = model(x).pow(2).mean()
        model.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            parameter.data -= 0.1 * parameter.grad.data
        return loss.data

    def trained(run):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).cuda()
        losses = [run(model, torch.randn(5, 8, device="cuda")) for _ in range(4)]
        return losses, [parameter.detach().clone() for parameter in model.parameters()]

    torch.testing.assert_close(trained(lect.compile(step)), trained(step), rtol=1e-4, atol=1e-5)
    assert {event.number for event in lect.events("graph break")} == {"LB0004"}
