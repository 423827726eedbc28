"""Small networks of the usual kinds, for steps of training on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Attention and two linear layers, each behind a normalisation and around a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_heads, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = [part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.to_heads(self.first(x)).split(width, 2)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))


class Words(nn.Module):
    """A language model with shared embeddings; gives the loss."""

    def __init__(self, words: int = 60, width: int = 32, heads: int = 2, layers: int = 2, length: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, n: torch.Tensor) -> torch.Tensor:
        x = self.words(n) + self.places(torch.arange(n.shape[1], device=n.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), n[:, 1:].reshape(-1))


class Images(nn.Module):
    """Convolutions, also by channel, batch normalisation, pooling, squeeze and excitation; gives the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.one = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.deep, self.two = nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8)
        self.gate, self.ungate = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.point, self.three = nn.Conv2d(8, 16, 1, bias=False), nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.one(self.stem(x))), 3, 2, 1)
        y = F.hardswish(self.two(self.deep(x)))
        y = y * F.hardsigmoid(self.ungate(F.relu(self.gate(y.mean((2, 3), keepdim=True)))))
        x = F.relu(self.three(self.point(x + y)))
        return F.cross_entropy(self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)), target)


class Series(nn.Module):
    """RMS normalisation, rotary positions, gated layers, every second row, a running mean, dropout of nothing; gives the loss."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.gate, self.up, self.down = [nn.Linear(width, width, bias=False) for _ in range(3)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.float()
        x = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.weight.to(x.dtype)
        angle = torch.outer(torch.arange(x.shape[1], device=x.device, dtype=torch.float32), 10000.0 ** (-torch.arange(0, 16, device=x.device) / 16))
        cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
        a, b = x.chunk(2, -1)
        x = (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)
        x = self.down(F.silu(self.gate(x)) * self.up(x))
        x = x + (x * 2).as_strided((x.shape[0], 5, 32), (320, 64, 1)).repeat(1, 2, 1)
        return (F.dropout(x, 0.0).cumsum(1) / torch.arange(1, x.shape[1] + 1, device=x.device).view(1, -1, 1)).float().square().mean()


class Classes(nn.Module):
    """The loss of a language model over many classes, some targets of which do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(16, 20001, bias=False)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(x).float().view(-1, 20001), target.view(-1), ignore_index=7, label_smoothing=0.0)


class Net(NamedTuple):
    """What makes a network, and its inputs."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, ...]]


NETS = {
    "words": Net(Words, lambda: (torch.randint(0, 60, (3, 16)),)),
    "images": Net(Images, lambda: (torch.randn(4, 3, 24, 24), torch.randint(0, 10, (4,)))),
    "classes": Net(Classes, lambda: (torch.randn(1, 3, 16), torch.tensor([[0, 7, 20000]]))),
    "series": Net(Series, lambda: (torch.randn(3, 10, 32),)),
}


def step(model: nn.Module, run: Callable[..., torch.Tensor], inputs: tuple[Any, ...]) -> dict[str, torch.Tensor]:
    """The loss, the gradients and the buffers behind one step."""
    model.zero_grad()
    loss = run(*inputs)
    loss.backward()
    found = {"loss": loss.detach()}
    found |= {name: each.grad.detach().clone() for name, each in model.named_parameters() if each.grad is not None}
    return found | {name: each.detach().clone() for name, each in model.named_buffers()}


def pair(name: str, device: str = "cpu", **how: Any) -> tuple[nn.Module, nn.Module, tuple[torch.Tensor, ...]]:
    """A network twice with the same weights, and inputs."""
    torch.manual_seed(0)
    net = NETS[name]
    first, second = net.make(), net.make()
    second.load_state_dict(first.state_dict())
    inputs = tuple([each.to(device) for each in net.inputs()])
    return first.to(device, **how), second.to(device, **how), inputs
