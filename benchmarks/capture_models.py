"""The models of `python -m benchmarks.capture`, and one measurement of one of them, made in a process of its own.

    python -m benchmarks.capture_models lect gpt 12        prints milliseconds cold, warm, and the number of torch calls
    python -m benchmarks.capture_models torch gpt 12       the same for torch.compile(backend="eager")

Cold is the first capture of the process, with everything imported before; warm is the best of five further ones.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Attention and MLP of a GPT, as people write them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """A small GPT with `layers` layers."""

    def __init__(self, layers: int, width: int = 128, heads: int = 4, words: int = 1024, context: int = 128) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(words, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits."""
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(layers: int) -> tuple[nn.Module, dict[str, Any]]:
    """The GPT and its arguments."""
    return Gpt(layers).eval(), {"ids": torch.randint(0, 1000, (2, 64))}


def llama(layers: int) -> tuple[nn.Module, dict[str, Any]]:
    """Llama of transformers, tiny.  Raises ImportError without transformers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512}
    model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers, **sizes)).eval()
    return model, {"input_ids": torch.randint(0, 500, (2, 16)), "use_cache": False}


MODELS: dict[str, Callable[[int], tuple[nn.Module, dict[str, Any]]]] = {"gpt": gpt, "llama": llama}


def lect_capture(model: nn.Module, kwargs: dict[str, Any]) -> Callable[[], int]:
    """Bytecode to guards, graph and residual code; the number of torch calls."""
    from lect.dialects import make_context
    from lect.frontends.capture.api import open_frame
    from lect.frontends.capture.interpreter import CodeTable
    from lect.frontends.capture.to_fx import run

    table = CodeTable()

    def capture() -> int:
        ctx = make_context()
        ctx.resources.update(code_table=table, whole=True)
        run(open_frame(model, (), kwargs, ctx), ctx)
        return ctx.statistics["torch calls"]

    return capture


def torch_capture(model: nn.Module, kwargs: dict[str, Any]) -> Callable[[], int]:
    """A first call with `torch.compile(backend="eager")`, which captures and then runs the model, for a few milliseconds."""
    compiler: Any = torch.compile

    def capture() -> int:
        torch.compiler.reset()
        compiler(model, backend="eager", dynamic=False)(**kwargs)
        return 0

    return capture


def main() -> None:
    """Measure what the arguments say."""
    who, name, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    model, kwargs = MODELS[name](layers)
    with torch.no_grad():
        model(**kwargs)
        capture = (lect_capture if who == "lect" else torch_capture)(model, kwargs)
        if who == "torch":
            __import__("torch._dynamo")
        gc.collect()
        times = []
        calls = 0
        for _ in range(6):
            start = time.perf_counter()
            calls = capture()
            times.append((time.perf_counter() - start) * 1e3)
    print(times[0], min(times[1:]), calls)


if __name__ == "__main__":
    main()
