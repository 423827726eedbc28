"""Training as people write it: steps over batches of several lengths with an optimizer and a schedule, beside the same run of eager."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

import lect
from tests.e2e.support import stops, versions

MISSING = [name for name in ("transformers", "timm") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}: the extra `models`"),
]
LENGTHS = (8, 12, 15, 12, 8, 15)
BATCHES = {8: 2, 12: 3, 15: 5}


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


@dataclass
class Run:
    """What a run leaves: losses, norms of gradients, parameters and buffers, and the state of the optimizer."""

    losses: list = field(default_factory=list)
    norms: list = field(default_factory=list)
    state: dict = field(default_factory=dict)
    moments: list = field(default_factory=list)

    def ends(self, model, optimizer):
        self.state = model.state_dict()
        self.moments = [value for each in optimizer.state_dict()["state"].values() for value in each.values()]
        return self


def check(want, got, loss=1e-5, state=1e-4):
    """Two runs are the same up to rounding, which Adam enlarges where a gradient is hardly one."""
    torch.testing.assert_close(torch.stack(got.losses), torch.stack(want.losses), rtol=loss, atol=loss)
    torch.testing.assert_close(torch.stack(got.norms), torch.stack(want.norms), rtol=20 * loss, atol=20 * loss)
    assert list(want.state) == list(got.state)
    for name, value in want.state.items():
        torch.testing.assert_close(got.state[name], value, rtol=state, atol=state, msg=lambda text, name=name: f"{name}: {text}")
    assert len(want.moments) == len(got.moments)
    for one, other in zip(want.moments, got.moments):
        torch.testing.assert_close(other, one, rtol=0.01, atol=state)


def text(length, seed, **more):
    from tests.models.catalogue import text as words

    return {**words(seed, (2, length)), **more}


def named(length, seed):
    found = text(length, seed)
    return {**found, "labels": found["input_ids"]}


def words_only(length, seed):
    found = text(length, seed)["input_ids"]
    return {"input_ids": found, "labels": found}


def masked(length, seed):
    found = named(length, seed)
    found["labels"] = found["labels"].masked_fill(torch.arange(length) % 3 == 0, -100)
    found["attention_mask"][0, -3:] = 0
    return found


def translated(length, seed):
    return text(length, seed, labels=text(length - 2, seed + 9)["input_ids"])


def images(length, seed):
    count = BATCHES[length]
    return {"pixel_values": torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(seed)), "labels": torch.arange(count) % 2}


def spoken(length, seed):
    sound = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(seed))
    return {"input_features": sound, "labels": text(length, seed)["input_ids"]}


def captioned(length, seed):
    from tests.models.catalogue import text as words

    count = BATCHES[length]
    return {**words(seed, (count, length)), "pixel_values": images(length, seed)["pixel_values"], "return_loss": True}


# Class -> the class of the catalogue with the same configuration, and the batches.
MODELS = {
    "GPT2LMHeadModel": ("GPT2LMHeadModel", named),
    "LlamaForCausalLM": ("LlamaForCausalLM", named),
    "BertForMaskedLM": ("BertForMaskedLM", masked),
    "T5ForConditionalGeneration": ("T5ForConditionalGeneration", translated),
    "ViTForImageClassification": ("ViTForImageClassification", images),
    "WhisperForConditionalGeneration": ("WhisperModel", spoken),
    "CLIPModel": ("CLIPModel", captioned),
    "MambaForCausalLM": ("MambaForCausalLM", words_only),
}
# Versions beyond two, and why.  Mamba: torch's associative_scan walks in Python over the length, so each length is one.
MORE = {"MambaForCausalLM": 1}


def branches_on_elements(name):
    """Whisper of some releases draws a number for each layer and asks whether it is below the share of layers to leave out, also where that is 0."""
    if name != "WhisperForConditionalGeneration":
        return False
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return "self.layerdrop > 0" not in inspect.getsource(WhisperEncoder.forward)


def made(name):
    from tests.models.catalogue import DECODERS, ENCODERS, MIXED, PAIRS, SEEING, from_transformers

    row = {**ENCODERS, **DECODERS, **PAIRS, **SEEING, **MIXED}[MODELS[name][0]]
    return from_transformers(name, row).train()


def train(name, way, call=lambda model: model):
    model, run = made(name), Run()
    if way == "checkpoint":
        model.gradient_checkpointing_enable()
    seen = {}
    if way == "hooks":
        for path, module in model.named_modules():
            if path.count(".") == 2:
                module.register_forward_hook(lambda module, args, output, path=path: seen.__setitem__(path, output))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=20)
    called = call(model)
    for number, length in enumerate(LENGTHS):
        torch.manual_seed(number)
        with torch.autocast("cpu", torch.bfloat16, enabled=way == "autocast"):
            loss = called(**MODELS[name][1](length, number)).loss
        (loss / 2).backward()
        run.losses.append(loss.detach())
        if number % 2:
            run.norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    assert bool(seen) == (way == "hooks")
    return run.ends(model, optimizer)


class Root(torch.autograd.Function):
    """A square root whose slope is rounded once.  Eager's `pow(-0.5)` of 16-bit floats rounds the root in between for what fills no vector: a few rows."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(0.5)

    @staticmethod
    def backward(ctx, slope):
        (x,) = ctx.saved_tensors
        return slope * (0.5 * x.double().rsqrt()).to(x.dtype)


@pytest.fixture
def rounded_once(monkeypatch):
    """The norm of CLIP's embeddings with `Root` in it."""
    from transformers.models.clip import modeling_clip

    assert modeling_clip._get_vector_norm(torch.tensor([[3.0, 4.0]])).tolist() == [[5.0]]
    return lambda: monkeypatch.setattr(modeling_clip, "_get_vector_norm", lambda x: Root.apply(x.pow(2).sum(-1, keepdim=True)))


@pytest.mark.parametrize("way", ["plain", "autocast", "checkpoint", "hooks"])
@pytest.mark.parametrize("name", MODELS)
def test_training_of_transformers(name, way, rounded_once):
    got = train(name, way, lambda model: lect.compile(model, options={"rng": "eager"}))
    if (name, way) == ("CLIPModel", "autocast"):
        rounded_once()
    want = train(name, way)
    check(want, got, *((1e-4, 1e-3) if way == "autocast" else ()))
    assert [str(event) for event in lect.events("note", "backward fallback")] == []
    if branches_on_elements(name):
        assert set(stops()) == {"LB0002"}
        return
    assert stops() == []
    assert versions() <= 2 + MORE.get(name, 0), [str(event) for event in lect.events("guard miss", "static sizes")]


# ---- timm ------------------------------------------------------------------------------------------------------------

TIMM = {
    "resnet18": 32,
    "convnext_atto": 32,
    "vit_tiny_patch16_224": 224,
    "efficientnet_b0": 32,
    "mobilenetv3_small_050": 32,
    "regnety_002": 32,
    "mixer_s32_224": 224,
    "densenet121": 32,
}


def mixed(images, labels, share):
    """A batch and itself in reverse order, and what of each label is in it, smoothed."""
    hot = torch.full((len(labels), 10), 0.01, dtype=torch.float64).scatter_(1, labels[:, None], 0.91)
    return images * share + images.flip(0) * (1 - share), hot * share + hot.flip(0) * (1 - share)


def train_images(name, call=lambda model: model):
    from tests.models.stub_torchvision import install

    install()
    import timm
    from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
    from timm.utils import ModelEmaV3

    torch.manual_seed(0)
    model, run = timm.create_model(name, num_classes=10, drop_rate=0.1).double().train(), Run()  # batches of few images enlarge the rounding of f32
    average = ModelEmaV3(model, decay=0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    called = call(model)
    smooth, soft = LabelSmoothingCrossEntropy(0.1), SoftTargetCrossEntropy()
    for number, size in enumerate((4, 6, 5, 6)):
        source = torch.Generator().manual_seed(number)
        x, y = torch.randn(size, 3, TIMM[name], TIMM[name], dtype=torch.float64, generator=source), torch.randint(0, 10, (size,), generator=source)
        torch.manual_seed(number)
        if number % 2:
            x, target = mixed(x, y, 0.3 + 0.1 * number)
            loss = soft(called(x), target)
        else:
            loss = smooth(called(x), y)
        optimizer.zero_grad()
        loss.backward()
        run.losses.append(loss.detach())
        run.norms.append(nn.utils.clip_grad_norm_(model.parameters(), 5.0))
        optimizer.step()
        schedule.step()
        average.update(model, step=number)
    run.ends(model, optimizer)
    run.state = {**run.state, **{f"average of {key}": value for key, value in average.module.state_dict().items()}}
    return run


@pytest.mark.parametrize("name", TIMM)
def test_training_of_timm(name):
    want = train_images(name)
    check(want, train_images(name, lambda model: lect.compile(model, options={"rng": "eager"})))
    assert stops() == []
    assert [str(event) for event in lect.events("note", "backward fallback")] == []
    assert versions() <= 2, [str(event) for event in lect.events("guard miss", "static sizes")]
