"""`lect.compile` on the device: values, gradients, streams, alignment, sizes beyond 2^31, and what happens when something is missing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F

import lect

pytestmark = pytest.mark.cuda
LARGE = os.environ.get("LECT_LARGE_TESTS") == "1"
ALONE = pytest.mark.skipif(not LARGE, reason="takes gigabytes; run alone with LECT_LARGE_TESTS=1 -k 2_to_the_31")
BF16 = torch.bfloat16


def make(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def compiled(run: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled function, which must not fall back."""
    made = lect.compile(run, fullgraph=True)

    def call(*args: Any) -> Any:
        result = made(*args)
        assert [str(event) for event in lect.events("note", "fallback", "backward fallback")] == []
        return result

    return call


def no_worse_than_eager(run: Callable[..., Any], *inputs: torch.Tensor) -> None:
    """The error against f64, relative to the greatest result, is not above eager's by more than a tenth."""
    exact = run(*[each.double() for each in inputs])
    scale = exact.abs().max()
    eager = ((run(*inputs).double() - exact).abs().max() / scale).item()
    found = ((compiled(run)(*inputs).double() - exact).abs().max() / scale).item()
    assert found <= eager * 1.1 + 1e-7, (found, eager)


def test_bias_gelu() -> None:
    no_worse_than_eager(lambda x, b: F.gelu(x + b, approximate="tanh") * 1.5, make(1024, 4096, dtype=BF16), make(4096, dtype=BF16))


def test_softmax() -> None:
    no_worse_than_eager(lambda x: torch.softmax(x, -1), make(512, 8192, dtype=BF16))
    no_worse_than_eager(lambda x: torch.softmax(x, -1), make(512, 5000))


def test_layer_norm() -> None:
    no_worse_than_eager(lambda x, y, w, b: F.layer_norm(x + y, (1024,), w, b), *[make(4096, 1024, dtype=BF16)] * 2, *[make(1024, dtype=BF16)] * 2)


def test_column_sum() -> None:
    no_worse_than_eager(lambda x: (x * x).sum(0), make(16384, 1024))


def test_sum_of_everything() -> None:
    no_worse_than_eager(lambda x: x.sum(), make(4096, 4096))


def test_transposition_is_exact() -> None:
    x, y = make(1000, 777), make(777, 1000)
    assert torch.equal(compiled(lambda x, y: (x.t() + y).contiguous())(x, y), x.t() + y)


def test_matrix_product_with_epilogue() -> None:
    x, w, b = make(256, 256, dtype=BF16), make(256, 256, dtype=BF16), make(256, dtype=BF16)

    def run(x, w, b):
        return F.relu(torch.addmm(b, x, w)) ** 2

    torch.testing.assert_close(compiled(run)(x, w, b), run(x, w, b), rtol=2**-6, atol=2**-6)


@pytest.mark.parametrize("allowed", [False, True])
def test_small_products_of_floats(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact to f32, whether the program allows shorter factors or not."""
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", allowed)
    x, weights = make(64, 64), make(12, 64, 64) * 0.1

    def run(x, weights):
        for w in weights:
            x = torch.tanh(x @ w) + x
        return x

    error = (compiled(run)(x, weights).double() - run(x.double(), weights.double())).abs().max()
    assert error < 2e-5


@pytest.mark.parametrize("setting", ["ieee", "tf32"])
def test_large_products_of_floats_are_as_exact_as_the_program_asks(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda.matmul, "fp32_precision", setting)
    x, w = make(512, 4096), make(4096, 512)

    def run(x, w):
        return (x @ w).relu() * 2

    exact = run(x.double(), w.double())
    eager, found = [(each - exact).abs().max().item() for each in (run(x, w), compiled(run)(x, w))]
    assert found <= 1.2 * eager
    assert (found > 1e-3) == (setting == "tf32")


def test_convolution() -> None:
    x, w, b = make(8, 16, 32, 32), make(24, 16, 3, 3), make(24)

    def run(x, w, b):
        return F.relu(F.conv2d(x, w, b, padding=1)) + 1

    torch.testing.assert_close(compiled(run)(x, w, b), run(x, w, b), rtol=1e-4, atol=1e-4)


def test_attention() -> None:
    q, k, v = [make(2, 4, 128, 64, dtype=BF16) for _ in range(3)]

    def run(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True) * 2

    torch.testing.assert_close(compiled(run)(q, k, v), run(q, k, v), rtol=2e-2, atol=2e-2)


def train(model: torch.nn.Module, run: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    loss = run(*inputs)
    loss.backward()
    return [loss.detach(), *[each.grad.clone() for each in model.parameters() if each.grad is not None]]


def test_training_step() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 10)).cuda()
    x, target = make(32, 64), torch.randint(0, 10, (32,), device="cuda")

    def step(x, target):
        return F.cross_entropy(model(x), target)

    for a, b in zip(train(model, step, x, target), train(model, compiled(step), x, target), strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "dtype", "mean"), [((4096, 768), BF16, 0.0), ((300, 100), torch.float32, 50.0), ((2, 7, 5000), torch.float16, 0.0)])
def test_gradients_of_layer_norm(shape: tuple[int, ...], dtype: torch.dtype, mean: float) -> None:
    """No less exact than eager's, also where the mean is large."""
    x, gradient, w, b = make(*shape, dtype=dtype) + mean, make(*shape, dtype=dtype), make(shape[-1], dtype=dtype), make(shape[-1], dtype=dtype)

    def gradients(norm: Callable[..., torch.Tensor], double: bool) -> list[torch.Tensor]:
        leaves = [(each.double() if double else each.clone()).requires_grad_() for each in (x, w, b)]
        norm(*leaves).backward(gradient.to(leaves[0].dtype))
        return [leaf.grad.double() for leaf in leaves]

    def norm(x, w, b):
        return F.layer_norm(x, shape[-1:], w, b)

    exact, eager, found = gradients(norm, True), gradients(norm, False), gradients(compiled(norm), False)
    for a, b, c in zip(exact, eager, found, strict=True):
        assert (c - a).norm() <= 1.5 * (b - a).norm() + 1e-6 * a.norm()


def test_training_step_of_embeddings_and_norms() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(100, 64)
            self.norm = torch.nn.BatchNorm1d(64)
            self.head = torch.nn.Linear(64, 100)

        def forward(self, n: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(self.head(self.norm(self.words(n))), n)

    model = Net().cuda()
    n = torch.randint(0, 100, (50,), device="cuda")
    torch.testing.assert_close(train(model, compiled(model), n), train(model, model, n), rtol=1e-4, atol=1e-5)


def test_dropout_keeps_its_share_and_backward_has_the_mask_of_forward() -> None:
    x = torch.ones(1 << 20, device="cuda", requires_grad=True)
    out = compiled(lambda x: F.dropout(x, 0.25))(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
    assert abs((out == 0).float().mean().item() - 0.25) < 0.005


def test_autocast() -> None:
    x, w = make(64, 64), make(64, 64)

    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", dtype=BF16):
            return F.relu(x @ w) + 1

    found = compiled(run)(x, w)
    assert found.dtype is BF16
    assert torch.equal(found, run(x, w))


def test_memory_that_is_not_aligned() -> None:
    whole = make(10_001)
    run = compiled(lambda x: x * 2 + 1)
    for part in (whole[:10_000], whole[1:], whole[:10_000]):
        assert torch.equal(run(part), part * 2 + 1)


def test_other_stream() -> None:
    x = make(1 << 22)
    run = compiled(lambda x: x * 2 + 1)
    run(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x
        for _ in range(20):
            y = run(y * 0.5)
    torch.cuda.current_stream().wait_stream(stream)
    z = x
    for _ in range(20):
        z = (z * 0.5) * 2 + 1
    assert torch.equal(y, z)


def test_cuda_graph_of_compiled_calls() -> None:
    x = make(1 << 16)
    run = compiled(lambda x: (x * 2 + 1).relu())
    run(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(x)
    x.copy_(make(1 << 16))
    graph.replay()
    assert torch.equal(y, (x * 2 + 1).relu())


@ALONE
def test_more_than_2_to_the_31_elements() -> None:
    x = torch.zeros((1 << 31) + 100, dtype=torch.int8, device="cuda")
    x[-3:] = 5
    y = compiled(lambda x: x + 1)(x)
    assert y[-4:].tolist() == [1, 6, 6, 6]
    assert y[:5].tolist() == [1] * 5


@ALONE
def test_rows_beyond_2_to_the_31() -> None:
    x = torch.zeros(70_000, 40_000, dtype=torch.int8, device="cuda")
    x[-1, -2:] = 3
    assert compiled(lambda x: x.sum(1, dtype=torch.int32))(x)[-2:].tolist() == [0, 6]


def test_numbers_and_tensors_without_dims_of_the_cpu() -> None:
    x, scale = make(100), torch.tensor(2.5)
    assert torch.equal(compiled(lambda x, s: x * s + 1)(x, scale), x * scale + 1)


def test_foreach_writes() -> None:
    def mk():
        return [torch.rand(64, 64, device="cuda") for _ in range(10)]

    p, m = mk(), mk()
    q, n = [each.clone() for each in p], [each.clone() for each in m]

    def run(p: list[torch.Tensor], m: list[torch.Tensor]) -> None:
        torch._foreach_mul_(m, 0.9)
        torch._foreach_add_(p, m, alpha=-0.1)

    run(p, m)
    compiled(run)(q, n)
    for a, b in zip([*p, *m], [*q, *n]):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)


def test_without_triton_the_graph_runs_through_torch_and_an_event_says_so() -> None:
    x = make(100)
    with mock.patch("lect.backends.triton.available", lambda: "the package triton is not installed"):
        assert torch.equal(lect.compile(lambda x: x * 2 + 1)(x), x * 2 + 1)
    (note,) = lect.events("note")
    assert "triton is not installed" in str(note)


def test_a_kernel_that_triton_refuses_runs_through_torch_with_a_file_that_replays_it() -> None:
    x = make(100)

    def refuse(*args: Any) -> Any:
        raise RuntimeError("injected")

    with mock.patch("lect.backends.triton.compile.compile_source", refuse):
        assert torch.equal(lect.compile(lambda x: x * 2 + 1)(x), x * 2 + 1)
    (note,) = lect.events("note")
    assert note.number == "LB0020" and "injected" in str(note)  # type: ignore[attr-defined]


def test_a_kernel_that_the_driver_refuses_runs_through_torch() -> None:
    from lect.backends.triton import driver, launcher

    x = make(100)
    with mock.patch.object(launcher, "load_function", lambda binary, name, shared: driver.load_function(b"no machine code", name, shared)):
        assert torch.equal(lect.compile(lambda x: x * 2 + 1)(x), x * 2 + 1)
    (note,) = lect.events("note")
    assert "the driver does not take the kernel: CUDA error" in str(note)
    assert torch.equal(lect.compile(lambda x: x * 3)(x), x * 3)


def test_out_of_memory_is_torchs_own_error() -> None:
    x = torch.zeros(1, device="cuda")
    with pytest.raises(torch.OutOfMemoryError):
        lect.compile(lambda x: x.expand(1 << 38) + 1)(x)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU")
def test_second_device() -> None:
    x = torch.randn(1000, device="cuda:1")
    assert torch.equal(compiled(lambda x: x * 2 + 1)(x), x * 2 + 1)


def test_a_thread_that_has_called_nothing_of_cuda() -> None:
    x = make(64, 64)
    run = lect.compile(lambda x: (x * 2 + 1).relu())
    expected = run(x)
    found: list[Any] = []

    def work(function: Callable[..., Any]) -> None:
        try:
            found.append(function(x))
        except Exception as error:
            found.append(error)

    for function in (run, lect.compile(lambda x: (x * 2 + 1).relu() * 1)):  # a kernel that is loaded, and one that is not
        thread = threading.Thread(target=work, args=(function,))
        thread.start()
        thread.join()
    assert [torch.equal(each, expected) for each in found] == [True, True], found
