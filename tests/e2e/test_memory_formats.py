"""Networks on images that are channels-last: the layouts of results and gradients are eager's, also where an image has one channel."""

import torch
from torch import nn

import lect


def test_grey_images_stay_channels_last():
    """Such images are row-major as well as channels-last; torch goes by the stride of the one channel."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.MaxPool2d(2), nn.ReplicationPad2d(1))
    compiled = lect.compile(model)
    for layout in (torch.channels_last, torch.contiguous_format):
        x = torch.randn(2, 1, 8, 8).to(memory_format=layout).requires_grad_()
        found, expected = compiled(x), model(x)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()
        slope = torch.randn_like(expected)
        given, wanted = torch.autograd.grad(found, x, slope), torch.autograd.grad(expected, x, slope)
        torch.testing.assert_close(given[0], wanted[0], rtol=1e-4, atol=1e-5)
        assert given[0].stride() == wanted[0].stride()
