"""Whole models with random weights: small ones on the CPU, common sizes on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.workloads import Builder, Workload
from benchmarks.workloads.kernels import kind, pick

SMALL_TEXT = {"num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 1024}


class Block(nn.Module):
    """Attention and an MLP, each behind a norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, tokens, width)."""
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.proj(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class NanoGPT(nn.Module):
    """A decoder of equal blocks with a language-model head."""

    def __init__(self, width: int = 768, heads: int = 12, layers: int = 12, words: int = 50304, context: int = 1024) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(words, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids: torch.Tensor, targets: torch.Tensor | None = None) -> torch.Tensor:
        """Logits, or the loss if there are targets; ids: (batch, tokens)."""
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return F.cross_entropy(logits.float().view(-1, logits.size(-1)), targets.view(-1))


def _gpt(device: str) -> NanoGPT:
    small = {} if device == "cuda" else {"width": 128, "heads": 4, "layers": 4, "words": 1024, "context": 128}
    return NanoGPT(**small).to(device, kind(device))


def nanogpt_train(device: str) -> Workload:
    """A training step of a small GPT."""
    model = _gpt(device)
    shape = (8, 1024) if device == "cuda" else (2, 64)
    ids = torch.randint(0, 1000, shape, device=device)
    return Workload(model, (ids, ids.clone()), train=True, params=list(model.parameters()))


def nanogpt_infer_small_batch(device: str) -> Workload:
    """One short sequence."""
    return Workload(_gpt(device).eval(), (torch.randint(0, 1000, (1, 64), device=device),))


def _transformers(model: str, config: str, device: str, shape: tuple[int, int], train: bool, **sizes: Any) -> Workload:
    import transformers

    module = getattr(transformers, model)(getattr(transformers, config)(**sizes)).to(device, kind(device))
    module.train(train)
    ids = torch.randint(0, 1000, shape, device=device)
    if train:
        params = list(module.parameters())
        return Workload(lambda **given: module(**given).loss, kwargs={"input_ids": ids, "labels": ids.clone()}, train=True, params=params)
    return Workload(lambda **given: module(**given).logits, kwargs={"input_ids": ids})


def hf_gpt2_infer(device: str) -> Workload:
    """GPT-2 of transformers."""
    sizes = {} if device == "cuda" else {"n_layer": 2, "n_embd": 128, "n_head": 4, "vocab_size": 1024}
    shape = (8, 512) if device == "cuda" else (2, 64)
    return _transformers("GPT2LMHeadModel", "GPT2Config", device, shape, False, use_cache=False, **sizes)


def hf_bert_train(device: str) -> Workload:
    """BERT of transformers, a training step without dropout."""
    sizes = {} if device == "cuda" else SMALL_TEXT
    shape = (32, 128) if device == "cuda" else (2, 64)
    return _transformers("BertForMaskedLM", "BertConfig", device, shape, True, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **sizes)


def hf_llama_infer(device: str) -> Workload:
    """Llama of transformers."""
    large = {
        "num_hidden_layers": 8, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 5632, "vocab_size": 32000,
    }  # fmt: skip
    sizes = large if device == "cuda" else {**SMALL_TEXT, "num_key_value_heads": 2}
    shape = (4, 512) if device == "cuda" else (2, 64)
    return _transformers("LlamaForCausalLM", "LlamaConfig", device, shape, False, use_cache=False, **sizes)


def _timm(name: str, device: str, train: bool, batch: int) -> Workload:
    from tests.models.stub_torchvision import install

    install()
    import timm

    model = timm.create_model(name, pretrained=False).to(device)
    model.train(train)
    x = torch.randn(batch, 3, 224, 224, device=device)
    if device == "cuda":
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        if not train:
            model, x = model.half(), x.half()
    if train:
        return Workload(lambda x: model(x).float().square().mean(), (x,), train=True, params=list(model.parameters()))
    return Workload(model, (x,))


def timm_resnet_infer(device: str) -> Workload:
    """ResNet-50 (18 on the CPU) of timm."""
    return _timm("resnet50" if device == "cuda" else "resnet18", device, False, pick(device, 64, 1))


def timm_resnet_train(device: str) -> Workload:
    """A training step of it."""
    return _timm("resnet50" if device == "cuda" else "resnet18", device, True, pick(device, 64, 2))


def timm_vit_infer(device: str) -> Workload:
    """A vision transformer of timm."""
    return _timm("vit_base_patch16_224" if device == "cuda" else "vit_tiny_patch16_224", device, False, pick(device, 64, 1))


def timm_mobilenetv3_train(device: str) -> Workload:
    """A training step of MobileNetV3 of timm."""
    return _timm("mobilenetv3_large_100" if device == "cuda" else "mobilenetv3_small_050", device, True, pick(device, 128, 4))


MODELS: Mapping[str, Builder] = MappingProxyType(
    {
        builder.__name__: builder
        for builder in (
            nanogpt_train, nanogpt_infer_small_batch, hf_gpt2_infer, hf_bert_train, hf_llama_infer, timm_resnet_infer, timm_resnet_train, timm_vit_infer,
            timm_mobilenetv3_train,
        )
    }
)  # fmt: skip
