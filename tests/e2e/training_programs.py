"""What training and inference code does around models, in small: each function makes a program, its arguments, and a view of the state that it changes."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import re

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.utils.checkpoint import checkpoint


def perceptron(inputs=6, hidden=8, outputs=3):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def rows():
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(1))


def labels():
    return torch.tensor([0, 1, 2, 0, 1])


def moving_average():
    model = perceptron()
    shadow = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    state = {"steps": 0}

    def program(x, y):
        loss = F.cross_entropy(model(x), y)
        state["steps"] += 1
        decay = min(0.9, (1 + state["steps"]) / (10 + state["steps"]))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                shadow[name].mul_(decay).add_(parameter, alpha=1 - decay)
        return loss

    return program, (rows(), labels()), lambda: (shadow, state)


def clipped_gradients():
    model = perceptron()

    def program(x, y):
        gradients = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
        total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(each) for each in gradients]))
        factor = (1.0 / (total + 1e-6)).clamp(max=1.0)
        return [each * factor for each in gradients], total

    return program, (rows(), labels()), None


def scaled_loss():
    model = perceptron()
    scale, good = torch.tensor(1024.0), torch.tensor(0)

    def program(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x).float(), y)
        gradients = torch.autograd.grad(loss * scale, list(model.parameters()))
        with torch.no_grad():
            found = torch.stack([(~torch.isfinite(each)).any() for each in gradients]).any()
            for parameter, gradient in zip(model.parameters(), gradients):
                parameter.sub_(torch.where(found, torch.zeros_like(gradient), gradient / scale) * 0.1)
            good.copy_((good + 1) * (~found).long())
            grow = good >= 2
            scale.copy_(torch.where(found, scale * 0.5, torch.where(grow, scale * 2, scale)))
            good.masked_fill_(grow, 0)
        return loss.detach()

    return program, (rows(), labels()), lambda: (list(model.parameters()), scale, good)


def optimizer_and_schedule():
    model = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 5))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)

    def program(x, y):
        optimizer.step()
        schedule.step()
        return F.cross_entropy(model(x), y).detach()

    return program, (rows(), labels()), lambda: ([each.detach() for each in model.parameters()], optimizer.param_groups[0]["lr"], schedule.last_epoch)


def smoothed_labels():
    model = perceptron()

    def program(x, y, smoothing=0.1):
        scores = F.log_softmax(model(x), -1)
        mask = y.ne(-100)
        exact = -scores.gather(-1, y.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        loss = ((1 - smoothing) * exact - smoothing * scores.mean(-1)) * mask
        return {"mean": lambda: loss.sum() / mask.sum(), "sum": loss.sum}["mean"]()

    target = labels()
    target[1] = -100
    return program, (rows(), target), None


class Language(nn.Module):
    """A language model of one attention, with a cache of keys and values."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.mixed, self.out = nn.Embedding(11, 8), nn.Linear(8, 24), nn.Linear(8, 11)

    def forward(self, tokens, cache=None):
        x = self.embedding(tokens)
        batch, length, width = x.shape
        query, key, value = self.mixed(x).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        if cache is not None:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        total = key.shape[2]
        mask = torch.ones(length, total, dtype=torch.bool).tril(total - length)
        y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).reshape(batch, length, width)
        return self.out(x + y), (key, value)


def beam_search():
    model = Language().eval()

    @torch.no_grad()
    def program(tokens, beams=3, end=2):
        batch = tokens.shape[0]
        scores, token = F.log_softmax(model(tokens)[0][:, -1], -1).topk(beams, -1)
        found = torch.cat([tokens.unsqueeze(1).expand(batch, beams, -1), token.unsqueeze(-1)], -1)
        done = token.eq(end)
        for step in range(3):
            following = F.log_softmax(model(found.reshape(batch * beams, -1))[0][:, -1], -1).view(batch, beams, -1)
            following = following.masked_fill(done.unsqueeze(-1), float("-inf"))
            following[..., 0] = torch.where(done, torch.zeros(()), following[..., 0])
            candidates = (scores.unsqueeze(-1) + following) / ((6 + step) / 6) ** 0.6
            scores, index = candidates.view(batch, -1).topk(beams, -1)
            parent, token = index // following.shape[-1], index % following.shape[-1]
            found = torch.cat([found.gather(1, parent.unsqueeze(-1).expand(-1, -1, found.shape[-1])), token.unsqueeze(-1)], -1)
            done = done.gather(1, parent) | token.eq(end)
        return found, scores, done

    return program, (torch.tensor([[1, 3], [4, 5]]),), None


def sampling():
    model = Language().eval()

    @torch.inference_mode()
    def program(tokens, share=0.9, most=5):
        for _ in range(2):
            scores = model(tokens)[0][:, -1] / 0.8
            scores = scores.masked_fill(scores < scores.topk(most)[0][:, -1:], -float("inf"))
            ordered, index = scores.sort(descending=True)
            chances = ordered.softmax(-1)
            scores = scores.scatter(1, index, ordered.masked_fill(chances.cumsum(-1) - chances > share, -float("inf")))
            tokens = torch.cat([tokens, torch.multinomial(scores.softmax(-1), 1)], 1)
        return tokens

    return program, (torch.tensor([[1, 3], [4, 5]]),), None


def decoding_with_a_cache():
    model = Language().eval()

    class Cache:
        def __init__(self):
            self.held, self.length = [], 0

        def update(self, pair):
            self.held, self.length = [pair], pair[0].shape[2]

        def get(self):
            return self.held[-1] if self.held else None

    @torch.no_grad()
    def program(tokens):
        cache, found = Cache(), []
        while cache.length < 5:
            scores, pair = model(tokens, cache.get())
            cache.update(pair)
            tokens = scores[:, -1:].argmax(-1)
            found.append(tokens)
        return torch.cat(found, 1), cache.length, cache.get()[0]

    return program, (torch.tensor([[1, 3], [4, 5]]),), None


def mixture_of_experts():
    torch.manual_seed(0)
    gate, experts = nn.Linear(6, 4), nn.ModuleList(perceptron(6, 8, 6) for _ in range(4))

    def program(x):
        weights, chosen = gate(x).softmax(-1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        found = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            found.index_add_(0, torch.arange(len(x)), expert(x) * (weights * (chosen == number)).sum(-1, keepdim=True))
        return found

    return program, (rows(),), None


class LowRank(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.down, self.up = nn.Parameter(torch.ones(2, base.in_features) * 0.1), nn.Parameter(torch.ones(base.out_features, 2))
        self.enabled = True
        base.weight.requires_grad_(False)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("base"), name)

    def forward(self, x):
        y = self.base(x)
        return y + F.linear(F.linear(x, self.down), self.up) if self.enabled else y

    @contextlib.contextmanager
    def disabled(self):
        self.enabled = False
        try:
            yield self
        finally:
            self.enabled = True


def low_rank_adapters():
    model = perceptron()
    model[0], model[2] = LowRank(model[0]), LowRank(model[2])

    def program(x):
        y = model(x)
        with model[0].disabled(), model[2].disabled():
            z = model(x)
        return (y - z).pow(2).sum(), y, model[0].in_features

    return program, (rows(),), None


def rearranged(x, pattern, **sizes):
    """A small `einops.rearrange`."""
    left, right = ([group.strip("()").split() for group in re.findall(r"\([^)]*\)|\S+", side)] for side in pattern.split("->"))
    dims = {}
    for size, group in zip(x.shape, left):
        known = math.prod(sizes[axis] for axis in group if axis in sizes)
        dims.update({axis: sizes.get(axis, size // known) for axis in group})
    flat = [axis for group in left for axis in group]
    x = x.reshape([dims[axis] for axis in flat]).permute([flat.index(axis) for group in right for axis in group])
    return x.reshape([math.prod(dims[axis] for axis in group) for group in right])


def named_axes():
    return lambda x: rearranged(x, "b (h d) t -> (b h) t d", h=2), (torch.randn(2, 6, 4),), None


class Settings(dict):
    def __getattr__(self, name):
        try:
            value = self[name]
        except KeyError as error:
            raise AttributeError(name) from error
        return Settings(value) if isinstance(value, dict) and not isinstance(value, Settings) else value

    def select(self, path, default=None):
        found = self
        for part in path.split("."):
            if not isinstance(found, dict) or part not in found:
                return default
            found = found[part]
        return found


def settings_by_path():
    settings, model = Settings(model={"activation": "gelu", "layers": 2}, train={"scale": 2.0}), perceptron(6, 6, 6)

    def program(x):
        for _ in range(settings.model.layers):
            x = getattr(F, settings.model.activation)(model(x))
        return x * settings.train.scale + settings.select("train.missing", 1), "model" in settings, settings.model.get("dropout")

    return program, (rows(),), None


def features_of_layers():
    model, features = perceptron(), {}
    for number in (0, 1):
        model[number].register_forward_hook(lambda module, args, output, number=number: features.__setitem__(number, output))

    def program(x, y):
        features.clear()
        return F.cross_entropy(model(x), y) + sum(each.pow(2).mean() for each in features.values())

    return program, (rows(), labels()), lambda: {number: each.detach() for number, each in features.items()}


def contrast():
    model, temperature = perceptron(6, 8, 4), nn.Parameter(torch.tensor(2.6))

    def program(a, b):
        a, b = F.normalize(model(a), dim=-1), F.normalize(model(b), dim=-1)
        scores, target = a @ b.t() * temperature.exp().clamp(max=100), torch.arange(len(a))
        return (F.cross_entropy(scores, target) + F.cross_entropy(scores.t(), target)) / 2

    return program, (rows(), rows() * 0.5), None


def diffusion():
    model, steps = perceptron(7, 8, 6), 4
    beta = torch.linspace(1e-4, 0.02, steps)
    kept = (1 - beta).cumprod(0)

    @torch.no_grad()
    def program(x):
        for step in reversed(range(steps)):
            noise = model(torch.cat([x, torch.full((x.shape[0], 1), step / steps)], 1))
            x = (x - beta[step] / (1 - kept[step]).sqrt() * noise) / (1 - beta[step]).sqrt()
            if step > 0:
                x = x + beta[step].sqrt() * torch.randn_like(x)
        return x

    return program, (rows(),), None


def messages_in_a_graph():
    layer = perceptron(6, 8, 6)

    def program(x, edges):
        source, target = edges
        message = layer(x)[source]
        count = torch.zeros(len(x)).scatter_add_(0, target, torch.ones(len(target))).clamp(min=1)
        weight = torch.exp(message.sum(-1))
        weight = weight / torch.zeros(len(x)).index_add_(0, target, weight)[target]
        return torch.zeros_like(x).index_add(0, target, message) / count[:, None], torch.zeros_like(x).index_add_(0, target, message * weight[:, None])

    return program, (rows(), torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])), None


def recurrent_cells():
    torch.manual_seed(0)
    cell, other = nn.GRUCell(6, 4), nn.LSTMCell(6, 4)

    def program(x):
        hidden, state, found = x.new_zeros(len(x), 4), None, []
        for step in range(3):
            hidden, state = cell(x * step, hidden), other(x, state)
            found.append(hidden + state[0])
        return torch.stack(found, 1), state

    return program, (rows(),), None


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward((x / scale).abs() <= 127)
        return (x / scale).round().clamp(-128, 127) * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0], None


def quantised():
    model, largest = perceptron(), torch.zeros(())

    def program(x):
        with torch.no_grad():
            largest.copy_(torch.where(largest == 0, x.abs().max(), largest * 0.9 + x.abs().max() * 0.1))
        return model(Rounded.apply(x, (largest / 127).clamp(min=1e-8)))

    return program, (rows(),), lambda: largest


def gradients_of_samples():
    model = perceptron()

    def loss(parameters, x, y):
        return F.cross_entropy(functional_call(model, parameters, (x.unsqueeze(0),)), y.unsqueeze(0))

    def program(x, y):
        parameters = {name: each.detach() for name, each in model.named_parameters()}
        found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
        return {name: each.flatten(1).norm(dim=1) for name, each in found.items()}

    return program, (rows(), labels()), None


def checkpointed():
    model = perceptron(6, 6, 6)

    def program(x):
        for _ in range(2):
            x = checkpoint(model, x, use_reentrant=False)
        return x

    return program, (rows(),), None


def advantages():
    def program(rewards, values):
        found, last = torch.zeros_like(rewards), torch.zeros(())
        for step in reversed(range(len(rewards) - 1)):
            last = rewards[step] + 0.99 * values[step + 1] - values[step] + 0.9 * last
            found[step] = last
        return found

    return program, (torch.randn(6), torch.randn(6)), None


def target_network():
    model = perceptron()
    target = copy.deepcopy(model)

    def program(x, actions):
        with torch.no_grad():
            wanted = 1 + 0.9 * target(x).max(1)[0]
        loss = F.smooth_l1_loss(model(x).gather(1, actions[:, None]).squeeze(1), wanted)
        with torch.no_grad():
            for old, new in zip(target.parameters(), model.parameters()):
                old.lerp_(new, 0.005)
        return loss

    return program, (rows(), labels()), lambda: list(target.parameters())


@dataclasses.dataclass
class Output:
    scores: torch.Tensor
    loss: torch.Tensor | None = None
    hidden: tuple = ()


def layers_by_name():
    known = {}

    def register(name):
        return lambda cls: known.setdefault(name, cls)

    @register("tanh")
    class Tanh(nn.Module):
        def forward(self, x):
            return x.tanh()

    @register("scale")
    class Scale(nn.Module):
        def __init__(self, factor=2):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

    def program(x):
        hidden = [x]
        for spec in ({"type": "tanh"}, {"type": "scale", "factor": 3}):
            options = dict(spec)
            hidden.append(known[options.pop("type")](**options)(hidden[-1]))
        return Output(hidden[-1], hidden[-1].sum(), tuple(hidden))

    return program, (rows(),), None


def positions():
    @functools.lru_cache(maxsize=4)
    def slopes(heads):
        return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]

    def program(x):
        _, heads, length, width = x.shape
        angle = torch.outer(torch.arange(length).float(), 1 / (10000 ** (torch.arange(0, width, 2).float() / width)))
        even, odd = x[..., ::2], x[..., 1::2]
        turned = torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], -1).flatten(-2)
        return turned, torch.tensor(slopes(heads))[:, None] * torch.arange(length)

    return program, (torch.randn(1, 2, 4, 4),), None


def gathered_gradients():
    model = perceptron()
    gathered = [torch.zeros_like(parameter) for parameter in model.parameters()]

    def program(x, y):
        for part, target in zip(x.split(2), y.split(2)):
            torch._foreach_add_(gathered, torch.autograd.grad(F.cross_entropy(model(part), target) / 3, list(model.parameters())))
        return sum(each.abs().sum() for each in gathered)

    return program, (rows(), labels()), lambda: gathered


def windows():
    torch.manual_seed(0)
    model = nn.Conv1d(1, 1, 3, padding=1)

    @torch.no_grad()
    def program(x, size=4, stride=2):
        found, count = torch.zeros_like(x), torch.zeros_like(x)
        for start in itertools.takewhile(lambda start: start + size <= x.shape[-1], itertools.count(0, stride)):
            found[..., start : start + size] += model(x[..., start : start + size])
            count[..., start : start + size] += 1
        return found / count.clamp(min=1)

    return program, (torch.randn(2, 1, 8),), None


def meters():
    held, model = collections.defaultdict(lambda: collections.deque(maxlen=2)), perceptron()

    def program(x, y):
        scores = model(x)
        for name, value in {"loss": F.cross_entropy(scores, y).detach(), "accuracy": (scores.argmax(1) == y).float().mean()}.items():
            held[name].append(value)
        return {name: sum(each) / len(each) for name, each in held.items()}

    return program, (rows(), labels()), lambda: {name: list(each) for name, each in held.items()}


PROGRAMS = (
    *(moving_average, clipped_gradients, scaled_loss, optimizer_and_schedule, smoothed_labels, beam_search, sampling, decoding_with_a_cache),
    *(mixture_of_experts, low_rank_adapters, named_axes, settings_by_path, features_of_layers, contrast, diffusion, messages_in_a_graph),
    *(recurrent_cells, quantised, gradients_of_samples, checkpointed, advantages, target_network, layers_by_name, positions),
    *(gathered_gradients, windows, meters),
)
