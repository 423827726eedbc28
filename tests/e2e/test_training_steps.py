"""Steps of training over batches of several lengths: one graph, two versions at most, and what an optimizer makes of the gradients is what eager's makes."""


import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import lect
from tests.e2e.support import same, stops, versions

LENGTHS = (6, 9, 11, 9)


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def native():
    """All that was compiled runs as native code, also backwards, for all sizes."""
    told = [str(event) for event in lect.events("note", "backward fallback", "static sizes")]
    assert stops() == []
    assert told == []


class Block(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        query, key, value = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.mixed(self.before(x)).chunk(3, -1)]
        y = F.scaled_dot_product_attention(query, key, value, dropout_p=0.1 if self.training else 0.0, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.wide(self.between(x)), key


class Language(nn.Module):
    """A model of words with labels, which returns its loss, its scores and the keys of its layers."""

    def __init__(self, checkpoints=False):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(16, 16)
        self.blocks, self.scores = nn.ModuleList([Block()]), nn.Linear(16, 20, bias=False)
        self.scores.weight = self.words.weight
        self.register_buffer("place", torch.arange(16)[None])
        self.checkpoints = checkpoints

    def forward(self, words, labels):
        x = self.words(words) + self.places(self.place[:, : words.shape[1]])
        keys = []
        if self.checkpoints:
            x.requires_grad_(True)
        for block in self.blocks:
            x, key = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
            keys.append(key)
        scores = self.scores(x).float()
        return {"loss": F.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten()), "scores": scores, "keys": keys}


def train(model, call, autocast=False):
    """Losses, parameters and the moments of the optimizer."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.5, total_iters=4)
    losses, source = [], torch.Generator().manual_seed(1)
    for number, length in enumerate(LENGTHS):
        words = torch.randint(0, 20, (2, length), generator=source)
        torch.manual_seed(number)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = call(words, words)["loss"]
        (loss / 2).backward()
        losses.append(loss.detach())
        if number % 2:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return losses, dict(model.state_dict()), [each["exp_avg"] for each in optimizer.state_dict()["state"].values()]


def close(want, got, tolerance):
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("way", ["plain", "autocast", "checkpoint"])
def test_language_model_with_labels(way):
    eager, model = Language(way == "checkpoint"), Language(way == "checkpoint")
    want = train(eager, eager, way == "autocast")
    got = train(model, lect.compile(model, options={"rng": "eager"}), way == "autocast")
    close(want, got, 5e-3 if way == "autocast" else 1e-4)
    native()
    assert versions() <= 2


def test_backward_is_made_without_the_autocast_around_the_call():
    layer = nn.Linear(8, 8)

    def program(x):  # the attention of eager is made of products in f32 in its backward
        y = layer(x)[:, None]
        return F.scaled_dot_product_attention(y.float(), y.float(), y.float(), dropout_p=0.1).sum(), y

    found = []
    for call in (program, lect.compile(program, options={"rng": "eager"})):
        layer.zero_grad()
        torch.manual_seed(3)
        x = torch.randn(2, 4, 8, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss, _ = call(x)
        loss.backward()
        found.append((loss.detach(), x.grad, layer.weight.grad))
    close(*found, 2e-2)
    assert lect.events("note", "backward fallback") == []


@pytest.mark.parametrize("reduction", ["sum", "mean", "amax", "any", "var", "linear"])
def test_reduction_of_halves_that_are_not_contiguous(reduction):
    layer = nn.Linear(8, 8).bfloat16()

    def program(x):
        if reduction == "linear":  # whose backward adds up an expanded gradient
            return layer(x)
        y = x.permute(2, 1, 0)
        return (y > 0).any(0) if reduction == "any" else getattr(y, reduction)(0)

    compiled = lect.compile(program)
    for size in (4, 6, 7):
        found = []
        for call in (program, compiled):
            x = torch.randn(size, 3, 8, generator=torch.Generator().manual_seed(size)).bfloat16().requires_grad_()
            result = call(x)
            if result.requires_grad:
                result.sum().backward()
            found.append((result.detach(), x.grad))
        same(*found)
    native()
    assert versions() == 2


# ---- leaves that a graph makes ---------------------------------------------------------------------------------------


def gradients(program, *modules):
    """What eager and lect give: results, and the gradients of modules behind the first."""
    found = []
    for call in (program, lect.compile(program)):
        for module in modules:
            module.zero_grad()
        results = call(torch.randn(5, 8, generator=torch.Generator().manual_seed(4)))
        results[0].sum().backward()
        found.append(([result.detach() for result in results], [parameter.grad for module in modules for parameter in module.parameters()]))
    same(*found)


def test_tensor_that_requires_gradients_already():
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)
    gradients(lambda x: (second(first(x).requires_grad_(True)),), first, second)
    native()


def test_leaf_that_the_graph_makes_and_keeps():
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)

    def program(x):
        with torch.no_grad():
            x = first(x)
        x.requires_grad_()
        return checkpoint(second, x, use_reentrant=False), x.detach()

    gradients(program, first, second)
    native()


def test_penalty_on_the_gradient_at_points_between():
    critic = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))

    def program(x):
        between = (x * 0.3 + 0.7).detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        return ((slope.norm(2, 1) - 1) ** 2,)

    gradients(program, critic)
    native()


def test_leaf_that_is_returned_gathers_its_gradient():
    layer = nn.Linear(8, 8)

    def program(x):
        x = (x * 2).requires_grad_()
        return layer(x), x

    loss, leaf = lect.compile(program)(torch.ones(2, 8))
    loss.sum().backward()
    same(leaf.grad, layer.weight.detach().sum(0).expand(2, 8).contiguous())
    assert leaf.is_leaf and [event.number for event in lect.events("note")] == ["LB0021"]


# ---- results that show each other ------------------------------------------------------------------------------------


LAYER = nn.Linear(8, 8)
SHOWN = {
    "halves": lambda h: h.chunk(2, -1),
    "slices": lambda h: (h[:, :4], h[:, 4:]),
    "overlap": lambda h: (h[:, :6], h[:, 2:]),
    "view in front": lambda h: (h.t(), h),
    "views on both sides": lambda h: (h[0], h, h.view(-1)),
    "rows": lambda h: h.unbind(0),
    "detached": lambda h: (h.detach(), h, h.detach().view(-1)),
    "with a sum": lambda h: (h[:2], h.sum(), h[2:]),
    "of a batch": lambda h: LAYER(h.view(1, 5, 8)).chunk(2, -1),
}


@pytest.mark.parametrize("name", SHOWN)
def test_results_that_show_one_tensor(name):
    layer = nn.Linear(8, 8)

    def program(x):
        return SHOWN[name](layer(x))

    found = []
    for call in (program, lect.compile(program)):
        layer.zero_grad()
        results = call(torch.randn(5, 8, generator=torch.Generator().manual_seed(4)))
        loss = sum((each * torch.arange(1.0, each.numel() + 1).view(each.shape)).sum() for each in results if each.requires_grad)
        loss.backward()
        shared = len({each.untyped_storage().data_ptr() for each in results})
        found.append(([each.detach() for each in results], [each.requires_grad for each in results], layer.weight.grad, layer.bias.grad, shared))
    same(*found)
    native()


def test_loss_that_is_logged():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer, self.logged = nn.Linear(8, 3), {}

        def log(self, name, value):
            self.logged[name] = value.detach() if isinstance(value, torch.Tensor) else value

        def training_step(self, batch, number):
            scores = self.layer(batch[0])
            loss = F.cross_entropy(scores, batch[1])
            self.log("loss", loss)
            self.log("right", (scores.argmax(-1) == batch[1]).float().mean())
            return {"loss": loss, "out": scores.detach()}

    eager, model = Step(), Step()
    compiled = lect.compile(model.training_step)
    for number in range(3):
        batch = torch.randn(5, 8), torch.randint(0, 3, (5,))
        want, got = eager.training_step(batch, number), compiled(batch, number)
        for each in (want, got):
            each["loss"].backward()
        same((want["loss"].detach(), want["out"], eager.logged), (got["loss"].detach(), got["out"], model.logged))
        same(eager.layer.weight.grad, model.layer.weight.grad)
        assert model.logged["loss"].data_ptr() == got["loss"].data_ptr()
    native()


# ---- sizes -----------------------------------------------------------------------------------------------------------


def test_labels_are_shifted_for_each_length():
    def program(labels):
        shifted = labels.new_zeros(labels.shape)
        shifted[..., 1:] = labels[..., :-1].clone()
        return shifted.masked_fill_(shifted == -100, 0)

    compiled = lect.compile(program)
    for length in LENGTHS:
        labels = torch.randint(-100, 20, (2, length))
        same(program(labels), compiled(labels))
    native()
    assert versions() == 2


def test_vmap_over_sizes_that_change():
    def program(x, y):
        return torch.func.vmap(lambda a, b: (a * b).sum())(x, y)

    compiled = lect.compile(program)
    for length in LENGTHS:
        x, y = torch.randn(length, 3), torch.randn(length, 3)
        same(program(x, y), compiled(x, y))
    assert stops() == []
    assert versions() == 2


def test_call_of_a_cached_function_under_a_checkpoint():
    import functools

    layer = nn.Linear(8, 8)

    @functools.lru_cache
    def factor(number):
        return number * 0.5

    def program(x):
        return (checkpoint(lambda x: layer(x).tanh() * factor(3), x, use_reentrant=False),)

    gradients(program, layer)
    native()
    assert factor.cache_info().misses == 1
