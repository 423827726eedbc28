"""Programs as people write them around models: decoding with caches, generation, a training step in an object, an evaluation loop."""

from __future__ import annotations

import importlib.util
from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import lect
from tests.e2e.support import same, stops, versions

needs_transformers = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="needs transformers: the extra `models`")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
LIMIT = 8  # versions of one function


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    with torch.no_grad():
        yield
    lect.reset()


def pair(name):
    """The same model of the catalogue twice, one compiled."""
    from tests.models.catalogue import CASES

    return CASES[name].model(), lect.compile(CASES[name].model(), options={"level": "fx"})


def words(seed=1, shape=(2, 8)):
    from tests.models.catalogue import text

    return text(seed, shape)["input_ids"]


# ---- decoding step by step -------------------------------------------------------------------------------------------


def decode(model, cache, steps=6):
    """The logits of a prompt and of the words that follow it greedily."""
    out = model(input_ids=words(), past_key_values=cache, use_cache=True)
    found = [out.logits]
    for _ in range(steps):
        out = model(input_ids=out.logits[:, -1:].argmax(-1), past_key_values=cache, use_cache=True)
        found.append(out.logits)
    return found


@needs_transformers
@pytest.mark.parametrize("name", ["LlamaForCausalLM", "GPT2LMHeadModel", "MistralForCausalLM"])
def test_decoding_with_a_cache_that_grows(name):
    from transformers import DynamicCache

    eager, compiled = pair(name)
    caches = DynamicCache(config=eager.config), DynamicCache(config=eager.config)
    same(decode(eager, caches[0], steps=10), decode(compiled, caches[1], steps=10))
    for mine, theirs in zip(caches[0].layers, caches[1].layers):
        same((mine.keys, mine.values), (theirs.keys, theirs.values))
    assert versions() <= LIMIT
    assert set(stops()) <= {"LB0027"}


@needs_transformers
@pytest.mark.parametrize("name", ["LlamaForCausalLM", "GPT2LMHeadModel"])
def test_decoding_with_a_cache_of_fixed_size(name):
    from transformers import StaticCache

    eager, compiled = pair(name)
    caches = StaticCache(config=eager.config, max_cache_len=32), StaticCache(config=eager.config, max_cache_len=32)
    same(decode(eager, caches[0], steps=10), decode(compiled, caches[1], steps=10))
    for mine, theirs in zip(caches[0].layers, caches[1].layers):
        same((mine.keys, mine.values), (theirs.keys, theirs.values))
    assert versions() == 2  # the prompt, and a word
    assert stops() == []


def translate(model, steps=5):
    """The logits of a decoder that is run word by word behind an encoder."""
    encoded = model.get_encoder()(input_ids=words())
    cache, said, found = None, torch.zeros(2, 1, dtype=torch.long), []
    for _ in range(steps):
        out = model(encoder_outputs=encoded, decoder_input_ids=said, past_key_values=cache, use_cache=True)
        cache, said = out.past_key_values, out.logits[:, -1:].argmax(-1)
        found.append(out.logits)
    return found


@needs_transformers
def test_decoding_behind_an_encoder():
    eager, compiled = pair("T5ForConditionalGeneration")
    same(translate(eager), translate(compiled))
    assert versions() <= LIMIT
    assert stops() == []


# ---- generation ------------------------------------------------------------------------------------------------------


def greedy(model, prompt, length):
    """Words appended one by one, each found by running the model over all words so far, in a buffer of fixed size."""
    held = torch.zeros(prompt.shape[0], length, dtype=torch.long)
    held[:, : prompt.shape[1]] = prompt
    for place in range(prompt.shape[1], length):
        logits = model(input_ids=held).logits
        held[:, place] = logits[:, place - 1].argmax(-1)
    return held


@needs_transformers
def test_greedy_loop_by_hand():
    eager, compiled = pair("GPT2LMHeadModel")
    same(greedy(eager, words(), 14), greedy(compiled, words(), 14))
    assert (versions(), stops()) == (1, [])


@needs_transformers
@pytest.mark.parametrize("way", ["module", "forward"])
@pytest.mark.parametrize("options", [{}, {"cache_implementation": "static"}, {"do_sample": True, "top_k": 5}], ids=["plain", "static", "sample"])
def test_generate(way, options):
    from tests.models.catalogue import CASES

    eager, model = CASES["LlamaForCausalLM"].model(), CASES["LlamaForCausalLM"].model()
    if way == "module":
        model = lect.compile(model, options={"level": "fx"})
    else:
        model.forward = lect.compile(model.forward, options={"level": "fx"})
    found = []
    for each in (eager, model):
        torch.manual_seed(0)
        found.append(each.generate(words(), max_new_tokens=6, disable_compile=True, **options))
    same(*found)
    assert 1 <= versions() <= LIMIT


# ---- training and evaluation -----------------------------------------------------------------------------------------


class Lightning(nn.Module):
    """What a training framework calls: hooks, a log, an optimizer it keeps."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(OrderedDict(first=nn.Linear(4, 8), act=nn.ReLU(), last=nn.Linear(8, 3)))
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        self.logged, self.started, self.batches = {}, [], 0
        self.net.first.register_forward_hook(self.watch)

    def watch(self, module, args, output):
        self.largest = output.detach().abs().max()

    def log(self, name, value, prog_bar=False):
        self.logged.setdefault(name, []).append((value.detach() if isinstance(value, torch.Tensor) else value, prog_bar))

    def on_train_batch_start(self, batch, number):
        self.started.append(number)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, number):
        x, y = batch
        out = self(x)
        loss = self.loss(out, y)
        self.log("loss", loss, prog_bar=True)
        self.log("accuracy", (out.argmax(-1) == y).float().mean())
        self.log("number", number)
        self.batches += 1
        return {"loss": loss, "out": out.detach()}


def fit(model, step, batches):
    found = []
    with torch.enable_grad():
        for number, batch in enumerate(batches):
            model.on_train_batch_start(batch, number)
            model.optimizer.zero_grad()
            out = step(batch, number)
            out["loss"].backward()
            model.optimizer.step()
            found.append(out["loss"].detach())
    return found


def some_batches(count=6):
    source = torch.Generator().manual_seed(3)
    return [(torch.randn(5, 4, generator=source), torch.randint(0, 3, (5,), generator=source)) for _ in range(count)]


def test_training_step_of_an_object():
    eager, model = Lightning(), Lightning()
    want = fit(eager, eager.training_step, some_batches())
    got = fit(model, lect.compile(model.training_step, options={"level": "fx"}), some_batches())
    same(want, got)
    same((eager.logged, eager.started, eager.batches, eager.largest), (model.logged, model.started, model.batches, model.largest))
    same(dict(eager.state_dict()), dict(model.state_dict()))
    assert versions() <= LIMIT


def evaluate(model, loader):
    """Accuracy and mean loss over a data set."""
    right, seen, losses = 0, 0, []
    for x, y in loader:
        out = model(x)
        losses.append(nn.functional.cross_entropy(out, y, reduction="sum"))
        right += (out.argmax(-1) == y).sum()
        seen += len(y)
    return right / seen, torch.stack(losses).sum() / seen


def some_loader():
    source = torch.Generator().manual_seed(4)
    data = TensorDataset(torch.randn(22, 4, generator=source), torch.randint(0, 3, (22,), generator=source))
    return DataLoader(data, batch_size=5)


def test_evaluation_of_a_compiled_model():
    model = Lightning().eval()
    compiled = lect.compile(model, options={"level": "fx"})
    want = evaluate(model, some_loader())
    same(want, evaluate(compiled, some_loader()))
    assert versions() <= LIMIT  # the last batch is smaller
    assert stops() == []


def test_evaluation_loop_that_is_compiled_itself():
    model = Lightning().eval()
    compiled = lect.compile(evaluate, options={"level": "fx"})
    for _ in range(2):
        same(evaluate(model, some_loader()), compiled(model, some_loader()))
    assert versions() <= 4 * LIMIT
