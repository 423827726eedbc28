"""Calls of one model with ten sizes each: words of other batches and lengths, images of other batches."""

from __future__ import annotations

from typing import Any

import torch

import lect
from tests.e2e.support import same
from tests.models.catalogue import CASES, WORDS, Inputs

BATCHES = ((2, 8), (3, 11), (4, 5), (2, 16), (5, 7), (3, 13), (6, 9), (2, 21), (7, 4), (4, 12))


def inputs_of_size(name: str, number: int) -> Inputs:
    """The inputs of a model in the size with this number."""
    generator = torch.Generator().manual_seed(number)
    if "input_ids" not in (given := CASES[name].inputs(0)):
        return {key: torch.randn(number + 2, *value.shape[1:], generator=generator) for key, value in given.items()}
    batch, length = BATCHES[number]
    made: Inputs = {"input_ids": torch.randint(5, WORDS - 4, (batch, length), generator=generator), "attention_mask": torch.ones(batch, length).long()}
    if "decoder_input_ids" in given:
        made["decoder_input_ids"] = torch.randint(5, WORDS - 4, (batch, length - 1), generator=generator)
    return made


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else vars(value).values() if hasattr(value, "__dict__") else ()
    return list({id(tensor): tensor for item in inner for tensor in _tensors(item)}.values())


def _step(run: Any, model: torch.nn.Module, given: Inputs, seed: int, training: bool) -> Any:
    """The results, and in training the gradients of all parameters behind a loss that is another one for each element."""
    torch.manual_seed(seed)
    if not training:
        with torch.no_grad():
            return run(**given)
    model.zero_grad(set_to_none=True)
    results = run(**given)
    generator = torch.Generator().manual_seed(seed)
    losses = [(tensor * torch.randn(tensor.shape, generator=generator)).sum() for tensor in _tensors(results) if tensor.requires_grad]
    torch.stack(losses).sum().backward()
    return results, {name: parameter.grad for name, parameter in model.named_parameters()}


def try_sizes(name: str, training: bool, count: int = len(BATCHES)) -> None:
    """Compare the compiled model with eager's for each size; there are two compiles at most, and nothing stays static or runs eagerly."""
    model, eager = [CASES[name].model().train(training) for _ in range(2)]
    lect.reset()
    compiled = lect.compile(model, options={"rng": "eager"})
    for number in range(count):
        given = inputs_of_size(name, number)
        same(_step(eager, eager, given, number, training), _step(compiled, model, given, number, training), scaled=True)
    told = [event.text() for event in lect.events("static sizes", "fallback", "graph break", "backward fallback")]
    assert not told, told
    assert len(lect.events("compile")) <= 2 and len(lect.events("backward")) == 2 * training


def _decode(run: Any, model: Any, steps: int) -> list[torch.Tensor]:
    """The logits of a prompt and of the words behind it, one at a time with the keys and values of those before."""
    from transformers import DynamicCache

    cache, words, found = DynamicCache(config=model.config), torch.arange(10).view(2, 5) + 5, []
    for _ in range(steps):
        with torch.no_grad():
            found.append(run(input_ids=words, past_key_values=cache, use_cache=True).logits)
        words = found[-1][:, -1:].argmax(-1)
    return found


def try_decoding(name: str, dynamic: bool | None, steps: int = 10) -> None:
    """Decode with a cache of transformers that grows: one version for the prompt, and one for all words behind it when sizes are dynamic from the start."""
    model, eager = [CASES[name].model().eval() for _ in range(2)]
    lect.reset()
    compiled = lect.compile(model, dynamic=dynamic)
    same(_decode(eager, eager, steps), _decode(compiled, model, steps), scaled=True)
    assert not lect.events("fallback", "graph break")
    assert len(lect.events("compile")) == (2 if dynamic else 3)
