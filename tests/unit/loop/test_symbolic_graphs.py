"""Graphs with sizes that are known only at run time: one lowered text runs over many sizes, and gives what torch gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn import functional

from lect.backends.llvm.loaded import cpu_target
from lect.dialects import make_context
from lect.ir import parse_module, print_module, verify
from lect.passes.manager import PassManager
from lect.runtime.executable import Executable, build


class Case(NamedTuple):
    """A graph as text, its arguments for some sizes, and what it computes."""

    text: str
    arguments: Callable[..., Sequence[Any]]
    expected: Callable[..., Any]
    sizes: Sequence[int] = (2, 3, 7, 33, 1, 0)


def executable(text: str) -> Executable:
    """The graph as native code, by way of its lowest text."""
    ctx = make_context()
    ctx.target.update({**cpu_target(), "threads": 2})
    module = parse_module(text, ctx)
    verify(module)
    PassManager.parse("loop,kernel").run(module, ctx)
    again = parse_module(print_module(module), ctx)
    verify(again)
    assert print_module(again) == print_module(module)
    made = build(again, ctx)
    assert made.native is not None, made.refused
    return made


def tensor(*sizes: int) -> torch.Tensor:
    """Numbers, some of which are special."""
    made = torch.randn(sizes)
    if made.numel() > 8:
        made.view(-1)[:: made.numel() // 4] = torch.tensor([float("inf"), -0.0, float("nan"), 1e30, 0.0, 1.0, 2.0, 3.0])[: len(made.view(-1)[:: made.numel() // 4])]
    return made


ONE = "{symbols = {s0 = {hint = 17, min = 2}}}"
TWO = "{symbols = {s0 = {hint = 5, min = 2}, s1 = {hint = 40, min = 2}}}"
LARGE = (2, 5, 33, 1000)
CASES = {
    "pointwise": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>, %y: !functional.tensor<s1xf32>) {TWO} {{
          %0 = functional.add(%x, %y) : !functional.tensor<s0xs1xf32>
          %1 = functional.tanh(%0) : !functional.tensor<s0xs1xf32>
          functional.return(%1) }}""",
        lambda n, m: (tensor(n, m), tensor(m)),
        lambda x, y: (x + y).tanh(),
    ),
    "halves": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xbf16>, %y: !functional.tensor<s0x1xbf16>) {TWO} {{
          %0 = functional.mul(%x, %y) : !functional.tensor<s0xs1xbf16>
          functional.return(%0) }}""",
        lambda n, m: (tensor(n, m).bfloat16(), tensor(n, 1).bfloat16()),
        lambda x, y: x * y,
    ),
    "transposed": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>, %y: !functional.tensor<s1xs0xf32>) {TWO} {{
          %0 = functional.permute(%x) {{dims = [1, 0]}} : !functional.tensor<s1xs0xf32, strides [1, s1]>
          %1 = functional.add(%y, %0) : !functional.tensor<s1xs0xf32>
          functional.return(%1) }}""",
        lambda n, m: (tensor(n, m), tensor(m, n)),
        lambda x, y: y + x.t(),
    ),
    "softmax of rows": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>) {TWO} {{
          %0 = functional.softmax(%x) {{dim = 1}} : !functional.tensor<s0xs1xf32>
          functional.return(%0) }}""",
        lambda n, m: (tensor(n, m),),
        lambda x: x.softmax(1),
        LARGE,
    ),
    "softmax of columns": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>) {TWO} {{
          %0 = functional.softmax(%x) {{dim = 0}} : !functional.tensor<s0xs1xf32>
          functional.return(%0) }}""",
        lambda n, m: (tensor(n, m),),
        lambda x: x.softmax(0),
    ),
    "reductions": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>) {TWO} {{
          %0 = functional.sum(%x) {{dims = [1]}} : !functional.tensor<s0xf32>
          %1 = functional.mean(%x) {{dims = [0]}} : !functional.tensor<s1xf32>
          %2 = functional.amax(%x) {{dims = [0, 1]}} : !functional.tensor<f32>
          %3 = functional.argmax(%x) {{dim = 1}} : !functional.tensor<s0xi64>
          %4, %5 = functional.var_mean(%x) {{dims = [1]}} : (!functional.tensor<s0xf32>, !functional.tensor<s0xf32>)
          functional.return(%0, %1, %2, %3, %4) }}""",
        lambda n, m: (torch.randn(n, m),),
        lambda x: (x.sum(1), x.mean(0), x.amax(), x.argmax(1), x.var(1)),
        LARGE,
    ),
    "long sum": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xf32>) {ONE} {{
          %0 = functional.sum(%x) {{dims = [0]}} : !functional.tensor<f32>
          functional.return(%0) }}""",
        lambda n: (torch.rand(n),),
        lambda x: x.sum(),
        (0, 1, 2, 31, 33, 1000, 20011, 2000003),
    ),
    "layer norm": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1x64xf32>, %w: !functional.tensor<64xf32>, %b: !functional.tensor<64xf32>) {TWO} {{
          %0, %1, %2 = functional.layer_norm(%x, %w; %b) {{normalized = [64], eps = 1.0e-5}}
            : (!functional.tensor<s0xs1x64xf32>, !functional.tensor<s0xs1x1xf32>, !functional.tensor<s0xs1x1xf32>)
          functional.return(%0, %1, %2) }}""",
        lambda n, m: (torch.randn(n, m, 64), torch.randn(64), torch.randn(64)),
        lambda x, w, b: torch.native_layer_norm(x, [64], w, b, 1e-5),
    ),
    "linear": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1x64xf32>, %w: !functional.tensor<64x96xf32>, %b: !functional.tensor<96xf32>) {TWO} {{
          %0 = functional.reshape(%x) {{shape = [#lect.size<s0 * s1>, 64]}} : !functional.tensor<(s0 * s1)x64xf32>
          %1 = functional.addmm(%b, %0, %w) : !functional.tensor<(s0 * s1)x96xf32>
          %2 = functional.reshape(%1) {{shape = [#lect.size<s0>, #lect.size<s1>, 96]}} : !functional.tensor<s0xs1x96xf32>
          %3 = functional.tanh(%2) : !functional.tensor<s0xs1x96xf32>
          functional.return(%3) }}""",
        lambda n, m: (torch.randn(n, m, 64), torch.randn(64, 96), torch.randn(96)),
        lambda x, w, b: torch.addmm(b, x.reshape(-1, 64), w).reshape(*x.shape[:2], 96).tanh(),
    ),
    "heads": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1x24xf32>) {TWO} {{
          %0 = functional.reshape(%x) {{shape = [#lect.size<s0>, #lect.size<s1>, 3, 8]}} : !functional.tensor<s0xs1x3x8xf32>
          %1 = functional.permute(%0) {{dims = [0, 2, 1, 3]}} : !functional.tensor<s0x3xs1x8xf32, strides [s1 * 24, 8, 24, 1]>
          %2 = functional.permute(%1) {{dims = [0, 1, 3, 2]}} : !functional.tensor<s0x3x8xs1xf32, strides [s1 * 24, 8, 1, 24]>
          %q = functional.copy(%1) {{strides = [#lect.size<s1 * 24>, #lect.size<s1 * 8>, 8, 1]}} : !functional.tensor<s0x3xs1x8xf32>
          %k = functional.copy(%2) {{strides = [#lect.size<s1 * 24>, #lect.size<s1 * 8>, #lect.size<s1>, 1]}} : !functional.tensor<s0x3x8xs1xf32>
          %a = functional.reshape(%q) {{shape = [#lect.size<s0 * 3>, #lect.size<s1>, 8]}} : !functional.tensor<(s0 * 3)xs1x8xf32>
          %c = functional.reshape(%k) {{shape = [#lect.size<s0 * 3>, 8, #lect.size<s1>]}} : !functional.tensor<(s0 * 3)x8xs1xf32>
          %3 = functional.bmm(%a, %c) : !functional.tensor<(s0 * 3)xs1xs1xf32>
          %4 = functional.reshape(%3) {{shape = [#lect.size<s0>, 3, #lect.size<s1>, #lect.size<s1>]}} : !functional.tensor<s0x3xs1xs1xf32>
          %5 = functional.softmax(%4) {{dim = 3}} : !functional.tensor<s0x3xs1xs1xf32>
          functional.return(%5) }}""",
        lambda n, m: (torch.randn(n, m, 24),),
        lambda x: (x.view(*x.shape[:2], 3, 8).permute(0, 2, 1, 3) @ x.view(*x.shape[:2], 3, 8).permute(0, 2, 3, 1)).softmax(3),
        (2, 3, 7, 33, 1),
    ),
    "cat, slice, pad": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>, %y: !functional.tensor<s0x3xf32>) {TWO} {{
          %0 = functional.cat(%x, %y) {{dim = 1}} : !functional.tensor<s0x(s1 + 3)xf32>
          %1 = functional.slice(%0) {{dim = 1, start = 1, end = #lect.size<s1 + 3>}} : !functional.tensor<s0x(s1 + 2)xf32, strides [s1 + 3, 1]>
          %2 = functional.pad(%1) {{pads = [[0, 0], [2, 1]], value = 0.5}} : !functional.tensor<s0x(s1 + 5)xf32>
          %3 = functional.exp(%2) : !functional.tensor<s0x(s1 + 5)xf32>
          functional.return(%3) }}""",
        lambda n, m: (tensor(n, m), tensor(n, 3)),
        lambda x, y: functional.pad(torch.cat([x, y], 1)[:, 1:], (2, 1), value=0.5).exp(),
    ),
    "embedding": Case(
        f"""functional.func @f(%w: !functional.tensor<50x16xf32>, %i: !functional.tensor<s0xs1xi64>, %g: !functional.tensor<s0xs1x16xf32>) {TWO} {{
          %0 = functional.index(%w, %i) {{dims = [0]}} : !functional.tensor<s0xs1x16xf32>
          %1 = functional.embedding_backward(%g, %i) {{count = 50, padding = -1}} : !functional.tensor<50x16xf32>
          functional.return(%0, %1) }}""",
        lambda n, m: (torch.randn(50, 16), torch.randint(50, (n, m)), torch.randn(n, m, 16)),
        lambda w, i, g: (w[i], torch.ops.aten.embedding_dense_backward(g, i, 50, -1, False)),
    ),
    "gather": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>, %i: !functional.tensor<s0x4xi64>) {TWO} {{
          %0 = functional.gather(%x, %i) {{dim = 1}} : !functional.tensor<s0x4xf32>
          functional.return(%0) }}""",
        lambda n, m: (tensor(n, m), torch.randint(m, (n, 4))),
        lambda x, i: x.gather(1, i),
        (2, 3, 7, 33, 1),
    ),
    "scans": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>) {TWO} {{
          %0 = functional.cumsum(%x) {{dim = 1}} : !functional.tensor<s0xs1xf32>
          %1 = functional.cumsum(%x) {{dim = 0}} : !functional.tensor<s0xs1xf32>
          functional.return(%0, %1) }}""",
        lambda n, m: (torch.randn(n, m),),
        lambda x: (x.cumsum(1), x.cumsum(0)),
    ),
    "new tensors": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1xf32>) {TWO} {{
          %0 = functional.iota() {{size = #lect.size<s1>}} : !functional.tensor<s1xi64>
          %1 = functional.lt(%0) {{other = 5}} : !functional.tensor<s1xi1>
          %2 = functional.full() {{shape = [#lect.size<s0>, #lect.size<s1>], value = 1.5, element = f32}} : !functional.tensor<s0xs1xf32>
          %3 = functional.where(%1, %x, %2) : !functional.tensor<s0xs1xf32>
          functional.return(%3) }}""",
        lambda n, m: (tensor(n, m),),
        lambda x: torch.where(torch.arange(x.shape[1]) < 5, x, 1.5),
    ),
    "sum of many rows": Case(
        f"""functional.func @f(%x: !functional.tensor<s0xs1x64xf32>) {TWO} {{
          %0 = functional.sum(%x) {{dims = [0, 1]}} : !functional.tensor<64xf32>
          functional.return(%0) }}""",
        lambda n, m: (torch.rand(n, m, 64),),
        lambda x: x.sum((0, 1)),
    ),
    "number": Case(
        """functional.func @f(%x: !functional.tensor<s0x8xf32>, %n: !functional.tensor<i64>)
            {symbols = {s0 = {hint = 17, min = 2}, s1 = {hint = 3, min = 2, argument = 1}}} {
          %0 = functional.slice(%x) {dim = 0, start = 0, end = #lect.size<s1>} : !functional.tensor<s1x8xf32>
          %1 = functional.exp(%0) : !functional.tensor<s1x8xf32>
          functional.return(%1) }""",
        lambda n: (torch.randn(n + 2, 8), torch.tensor(n)),
        lambda x, n: x[:n].exp(),
        (2, 3, 5, 40),
    ),
    "several of a size": Case(
        """functional.func @f(%x: !functional.tensor<(s0 * 4)x8xf32>) {symbols = {s0 = {hint = 17, min = 2}}} {
          %0 = functional.reshape(%x) {shape = [#lect.size<s0>, 32]} : !functional.tensor<s0x32xf32>
          %1 = functional.sum(%0) {dims = [0]} : !functional.tensor<32xf32>
          functional.return(%1) }""",
        lambda n: (torch.randn(n * 4, 8),),
        lambda x: x.reshape(-1, 32).sum(0),
        (2, 3, 50),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_text_runs_over_many_sizes(name: str) -> None:
    case = CASES[name]
    made = executable(case.text)
    rank = case.arguments.__code__.co_argcount
    torch.manual_seed(0)
    for sizes in product(case.sizes, repeat=rank) if rank > 1 else [(size,) for size in case.sizes]:
        arguments = case.arguments(*sizes)
        expected = case.expected(*arguments)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for run in (made.native.run, made.run):
            for found, wanted in zip(run(*arguments), expected, strict=True):
                torch.testing.assert_close(found, wanted, equal_nan=True, msg=lambda text, sizes=sizes: f"{name} of {sizes}: {text}")  # type: ignore[misc]
                assert min(sizes) < 2 or found.stride() == wanted.stride()
