"""Steps of training of small networks on the device: loss, gradients and buffers are eager's, in f32, under autocast, and channels last."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import torch

import lect
from tests.triton.nets import NETS, pair, step

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore")]
MODELS = (
    "GPT2LMHeadModel",
    "BertModel",
    "LlamaForCausalLM",
    "T5ForConditionalGeneration",
    "timm:resnet18",
    "timm:vit_tiny_patch16_224",
    "timm:mobilenetv3_small_050",
    "timm:resnet50",
)


def compare(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float) -> None:
    """Each difference is small beside the greatest number of its tensor."""
    assert found.keys() == expected.keys()
    wrong = {}
    for name, value in expected.items():
        off = (found[name].double() - value.double()).abs().max() / (value.double().abs().max() + 1e-3)
        if not off <= tolerance:
            wrong[name] = off.item()
    assert wrong == {}


def compare_with_exact(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], exact: dict[str, torch.Tensor]) -> None:
    """What was found is about as far from the exact values as eager's is."""
    for key, value in exact.items():
        scale = value.double().abs().max() + 1e-3
        eager, lects = [((each[key].double() - value.double()).abs().max() / scale).item() for each in (expected, found)]
        assert lects <= 1.5 * eager + 2e-2, (key, lects, eager)


def no_events() -> None:
    assert [str(event) for event in lect.events("note", "break", "fallback", "backward fallback")] == []


@pytest.mark.parametrize("name", NETS)
def test_step_in_f32(name: str) -> None:
    first, second, inputs = pair(name, "cuda")
    expected, found = step(first, first, inputs), step(second, lect.compile(second), inputs)
    compare(found, expected, 2e-3)
    no_events()


@pytest.mark.parametrize("name", NETS)
def test_step_under_autocast(name: str) -> None:
    first, second, inputs = pair(name, "cuda")
    exact = step(first, first, inputs)
    first, second, inputs = pair(name, "cuda")
    compiled = lect.compile(second)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        expected = step(first, first, inputs)
        found = step(second, compiled, inputs)
    no_events()
    compare_with_exact(found, expected, exact)


@pytest.mark.parametrize("name", NETS)
def test_step_of_a_network_in_halves(name: str) -> None:
    first, second, inputs = pair(name, "cuda", dtype=torch.bfloat16)
    exact = step(first.float(), first, [each.float() if each.is_floating_point() else each for each in inputs])
    first, second, inputs = pair(name, "cuda", dtype=torch.bfloat16)
    inputs = [each.bfloat16() if each.is_floating_point() else each for each in inputs]
    expected, found = step(first, first, inputs), step(second, lect.compile(second), inputs)
    no_events()
    compare_with_exact(found, expected, exact)


def test_step_with_channels_last() -> None:
    first, second, inputs = pair("images", "cuda", memory_format=torch.channels_last)
    inputs = (inputs[0].to(memory_format=torch.channels_last), inputs[1])
    compare(step(second, lect.compile(second), inputs), step(first, first, inputs), 2e-3)
    no_events()


def test_several_steps_of_an_optimizer() -> None:
    first, second, inputs = pair("words", "cuda")
    compiled = lect.compile(second)
    losses: list[Any] = []
    for model, run in ((first, first), (second, compiled)):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _ in range(5):
            optimizer.zero_grad()
            loss = run(*inputs)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - losses[1]) < 2e-3 * abs(losses[0])


@pytest.mark.parametrize("element", [torch.float16, torch.bfloat16, torch.float32])
def test_images_row_by_row(element: torch.dtype) -> None:
    """Convolutions take halves with their channels together, where nobody sees it; what is returned lies as in eager."""
    torch.manual_seed(0)
    nn = torch.nn
    stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, bias=False), nn.BatchNorm2d(32))
    rest = nn.Sequential(nn.ReLU(), nn.Conv2d(32, 32, 3, groups=32), nn.Conv2d(32, 24, 1), nn.GELU(), nn.Conv2d(24, 8, 3))
    model = nn.Sequential(stem, rest).eval().cuda().to(element)

    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = stem(x)
        z = rest(y)
        return z, z.mean((2, 3)), y.amax(1)

    x = torch.randn(4, 3, 30, 26, device="cuda").to(element)
    with torch.no_grad():
        expected, found = run(x), lect.compile(run)(x)
        exact = model.double()(x.double())
    for got, want in zip(found, expected, strict=True):
        assert got.stride() == want.stride() and got.dtype is want.dtype
    error, least = [(each[0].double() - exact).abs().max().item() for each in (found, expected)]
    assert error <= 2 * least + 1e-5
    no_events()


@pytest.mark.parametrize("name", MODELS)
def test_model(name: str) -> None:
    library = "timm" if name.startswith("timm:") else "transformers"
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    from tests.models.catalogue import CASES

    if name not in CASES:
        pytest.skip("is not in the catalogue")
    model = CASES[name].model().cuda()
    inputs = {key: value.cuda() if isinstance(value, torch.Tensor) else value for key, value in CASES[name].inputs(1).items()}
    with torch.no_grad():
        expected = model(**inputs)
        found = lect.compile(model)(**inputs)
    expected, found = [each if isinstance(each, torch.Tensor) else each[0] for each in (expected, found)]
    compare({"result": found}, {"result": expected}, 2e-3)
    no_events()


@pytest.mark.parametrize(("channels", "size", "filters", "stride"), [(64, 28, 3, 2), (72, 17, 5, 2), (24, 30, 3, (3, 1))])
def test_gradients_of_depthwise_convolutions(channels: int, size: int, filters: int, stride: Any) -> None:
    def run(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.conv2d(torch.relu(x * scale), w, None, stride, filters // 2, 1, channels)
        return (y * y.cos()).sum()

    def gradients(function: Any, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        generator = torch.Generator("cuda").manual_seed(0)
        made = [torch.randn(shape, device="cuda", generator=generator) for shape in ((8, channels, size, size), (channels, 1, filters, filters), (channels, 1, 1))]
        leaves = [each.to(dtype).requires_grad_(True) for each in made]
        function(leaves[0].contiguous(memory_format=torch.channels_last), *leaves[1:]).backward()
        return {name: leaf.grad for name, leaf in zip(("x", "w", "scale"), leaves)}

    found = gradients(lect.compile(run), torch.float32)
    no_events()
    compare_with_exact(found, gradients(run, torch.float32), gradients(run, torch.float64))
    compare(found, gradients(run, torch.float32), 1e-4)
