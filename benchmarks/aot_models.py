"""The models of `python -m benchmarks.aot`, and one measurement of one training step, made in a process of its own.

    python -m benchmarks.aot_models lect gpt       prints the milliseconds of each pass and the number of operations
    python -m benchmarks.aot_models torch gpt      prints the milliseconds of AOTAutograd, and of the whole first step but for running it
    python -m benchmarks.aot_models chain 5000     the same as the first for a chain of that many operations
    python -m benchmarks.aot_models saved bert     prints the bytes that lect, and that two partitions of torch, keep for the backward

Times are processor time of the first compile of the process, with everything imported before and one step of eager behind it.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import lect
from benchmarks.capture_models import Gpt
from lect.passes.instrument import Instrument
from lect.runtime.events import BackwardFallback, Obstacle

Step = Callable[[], torch.Tensor]
PARTITIONS = ("aot_eager", "aot_eager_decomp_partition")


class Loss(nn.Module):
    """A model and the cross entropy of what it gives."""

    def __init__(self, model: nn.Module, read: Callable[[Any], torch.Tensor] = lambda found: found) -> None:
        super().__init__()
        self.model, self.read = model, read

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of one batch."""
        found = self.read(self.model(x))
        return F.cross_entropy(found.flatten(0, -2), target.flatten())


class Chain(nn.Module):
    """Elementwise operations one behind the other, the last result summed up."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.scale = nn.Parameter(torch.randn(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`length` operations."""
        for _ in range(self.length // 2):
            x = torch.tanh(x * self.scale)
        return x.sum()


def gpt() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Twelve layers."""
    ids = torch.randint(0, 1000, (2, 64))
    return Loss(Gpt(12)), (ids, ids)


def bert() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """BERT of transformers, four layers, with its dropout.  Raises ImportError without transformers."""
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 4, "vocab_size": 1024}
    ids = torch.randint(0, 1000, (2, 64))
    return Loss(BertForMaskedLM(BertConfig(num_hidden_layers=4, **sizes)), lambda found: found.logits), (ids, ids)


def _timm(name: str, **settings: Any) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    from tests.models.stub_torchvision import install

    install()
    import timm

    model = timm.create_model(name, num_classes=10, **settings)
    return Loss(model), (torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,)))


def resnet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """ResNet-50 of timm on small images.  Raises ImportError without timm."""
    return _timm("resnet50")


def vit() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """ViT-Tiny of timm on small images.  Raises ImportError without timm."""
    return _timm("vit_tiny_patch16_224", img_size=64)


MODELS = {"gpt": gpt, "bert": bert, "resnet50": resnet, "vit": vit}


def import_everything() -> None:
    """Import the modules of lect, some of which are imported where they are needed."""
    for each in pkgutil.walk_packages(lect.__path__, "lect."):
        if each.name.startswith(("lect.passes", "lect.frontends", "lect.dialects", "lect.backends", "lect.runtime")):
            importlib.import_module(each.name)


class Clock(Instrument):
    """Processor time of each pass in milliseconds."""

    def __init__(self) -> None:
        self.start = 0.0
        self.times: dict[str, float] = {}

    def before(self, manager: Any, position: int, op: Any, ctx: Any) -> None:
        """Start."""
        self.start = time.process_time()

    def after(self, manager: Any, position: int, op: Any, ctx: Any) -> None:
        """Stop."""
        self.times[manager.passes[position].name] = (time.process_time() - self.start) * 1e3


def lect_times(model: nn.Module, arguments: tuple[Any, ...]) -> dict[str, float]:
    """Milliseconds of each pass of `aot`; `operations` are those of the joint graph."""
    from lect.dialects import make_context
    from lect.frontends.capture.api import open_frame
    from lect.passes.manager import PassManager

    ctx = make_context()
    ctx.resources["whole"] = True
    module = open_frame(model, arguments, {}, ctx)
    PassManager.parse("capture").run(module, ctx)
    manager = PassManager.parse("aot")
    clock = Clock()
    start = time.process_time()
    steps = manager.run(module, ctx, [clock])
    total = (time.process_time() - start) * 1e3
    return {**clock.times, "total": total, "operations": steps[0].statistics["operations"]}


def torch_times(model: nn.Module, arguments: tuple[Any, ...]) -> dict[str, float]:
    """Milliseconds in AOTAutograd, and of a first step over those of a second one."""
    backend = importlib.import_module("torch._dynamo").lookup_backend("aot_eager")
    inside = 0.0

    def timed(graph: Any, inputs: Any, **more: Any) -> Any:
        nonlocal inside
        start = time.process_time()
        made = backend(graph, inputs, **more)
        inside += time.process_time() - start
        return made

    compiler: Any = torch.compile
    compiled = compiler(model, backend=timed, dynamic=False)
    times = []
    for _ in range(2):
        start = time.process_time()
        compiled(*arguments).backward()
        times.append((time.process_time() - start) * 1e3)
    return {"aot": inside * 1e3, "all": times[0] - times[1]}


def saved_bytes(model: nn.Module, compiled: Any, arguments: tuple[Any, ...]) -> int:
    """Bytes of memory that a step keeps for its backward, beside parameters, buffers and arguments; compiles first."""
    own = {value.untyped_storage().data_ptr() for value in [*model.parameters(), *model.buffers(), *arguments]}
    compiled(*arguments).backward()
    found: dict[int, torch.UntypedStorage] = {}  # held, so that no memory is counted twice

    def pack(value: torch.Tensor) -> torch.Tensor:
        memory = value.untyped_storage()
        if memory.data_ptr() not in own:
            found[memory.data_ptr()] = memory
        return value

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        loss = compiled(*arguments)
    loss.backward()
    return sum(memory.nbytes() for memory in found.values())


def saved(name: str) -> dict[str, float]:
    """The bytes kept by eager, by lect, and by torch with and without its decompositions."""
    compiler: Any = torch.compile
    model, arguments = MODELS[name]()
    found: dict[str, float] = {"eager": saved_bytes(model, model, arguments)}
    found["lect"] = saved_bytes(model, lect.compile(model, options={"level": "functional"}), arguments)
    refused = [event for event in lect.events() if isinstance(event, Obstacle | BackwardFallback)]
    if refused:
        raise SystemExit(f"{name} was not compiled: {refused[0]}")
    for backend in PARTITIONS:
        importlib.import_module("torch._dynamo").reset()
        found[backend] = saved_bytes(model, compiler(model, backend=backend, dynamic=False), arguments)
    return found


def main() -> None:
    """Measure what the arguments say and print names and figures."""
    what, name = sys.argv[1:3]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    import_everything()
    if what == "saved":
        found = saved(name)
    else:
        model, arguments = (Chain(int(name)), (torch.randn(64),)) if what == "chain" else MODELS[name]()
        if what == "torch":
            importlib.import_module("torch._dynamo")
            importlib.import_module("torch._functorch.aot_autograd")
        model(*arguments).backward()
        gc.collect()
        found = (torch_times if what == "torch" else lect_times)(model, arguments)
    for key, value in found.items():
        print(key, value)


if __name__ == "__main__":
    main()
