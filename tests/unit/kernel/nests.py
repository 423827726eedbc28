"""Writing nests for tests in a few words, and running them in two ways: by the reference and as native code."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lect.backends import llvm, python_host
from lect.backends.reference import loop as reference
from lect.dialects import make_context
from lect.ir import Context, Operation, parse_module, verify
from lect.passes.manager import PassManager
from lect.runtime.executable import build, shared_launcher

PIPELINE = "kernel"
DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "ui8": torch.uint8,
}
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-40, 3e38)


def sizes_text(sizes: Sequence[int], element: str) -> str:
    return "".join([f"{size}x" for size in sizes]) + element


def linear(strides: Sequence[int]) -> str:
    """The offset of a strided array: `d0 * 8 + d1`."""
    return " + ".join([f"d{k} * {step}" for k, step in enumerate(strides) if step]) or "0"


def contiguous(sizes: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step if size != 1 else 0)
        step *= max(size, 1)
    return strides


def nest_text(space: Sequence[int], inputs: Sequence[tuple[str, str]], outputs: Sequence[tuple[str, str]], body: str) -> str:
    """A graph of one nest.  `inputs` and `outputs` are (name, "2x3xf32"); in `body`, MAP(offset) is an index map over the dims of the space."""
    dims = ", ".join([f"d{k}" for k in range(len(space))])
    while "MAP(" in body:
        before, _, rest = body.partition("MAP(")
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        body = f"{before}{{map = #loop.map<({dims}){'[i0]' if 'i0' in rest[:end] else ''} -> ({rest[: end - 1]})>}}{rest[end:]}"
    args = ", ".join([f"%{name}: !loop.buffer<{type}>" for name, type in inputs])
    names = ", ".join([f"%{name}" for name, _ in inputs])
    results = ", ".join([f"%{name}" for name, _ in outputs])
    types = ", ".join([f"!loop.buffer<{type}>" for _, type in outputs])
    types = types if len(outputs) == 1 else f"({types})"
    views = ", ".join([f"#loop.view<{type.rpartition('x')[0] or 'scalar'}>" for _, type in outputs])
    space_text = ", ".join([f"d{k}: {size}" for k, size in enumerate(space)])
    block = ", ".join([f"%d{k}: index" for k in range(len(space))])
    header = f"  ^bb0({block}):\n" if block else ""
    return (
        f"loop.func @f({args}) {{\n  {results} = loop.nest @n0({names}) {{space = #loop.space<{space_text}>}} : {types} {{\n{header}{body}\n  }}\n"
        f"  loop.return({results}) {{views = [{views}]}}\n}}\n"
    )


def parsed(text: str, ctx: Context) -> Operation:
    module = parse_module(text, ctx)
    verify(module)
    return module


def run_native(text: str, inputs: Sequence[torch.Tensor], pipeline: str = PIPELINE, **target: object) -> list[torch.Tensor]:
    """The graph as native code of this machine."""
    ctx = make_context(target=target)
    module = parsed(text, ctx)
    PassManager.parse(pipeline).run(module, ctx)
    verify(module)
    return build(module, ctx)(*inputs)


def run_reference(text: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The graph as its meaning has it."""
    ctx = make_context()
    func = next(op for op in parsed(text, ctx).body if op.name == "loop.func")
    return reference.run(func, inputs)


def run_many(texts: Sequence[str], inputs: Sequence[Sequence[torch.Tensor]]) -> list[list[torch.Tensor]]:
    """Several graphs, compiled as one module."""
    ctx = make_context()
    module = parsed("\n".join([text.replace("@f(", f"@f{k}(").replace("@n0(", f"@n{k}(") for k, text in enumerate(texts)]), ctx)
    PassManager.parse(PIPELINE).run(module, ctx)
    verify(module)
    code = llvm.compile_kernels([op for op in module.body if op.name == "kernel.func"], ctx)
    addresses = {symbol: code.entry(symbol) for symbol in code.symbols}
    found = []
    for func, tensors in zip([op for op in module.body if op.name == "host.func"], inputs):
        found.append(python_host.load(func, addresses, shared_launcher()).run(*tensors))
    return found


def check(text: str, inputs: Sequence[torch.Tensor], pipeline: str = PIPELINE, rtol: float = 0.0, atol: float = 0.0, **target: object) -> None:
    """Native code and reference agree."""
    compare(run_reference(text, inputs), run_native(text, inputs, pipeline, **target), rtol, atol)


def check_many(cases: Sequence[tuple[str, Sequence[torch.Tensor]]], rtol: float = 0.0, atol: float = 0.0) -> None:
    """`check` of several graphs, compiled as one module."""
    found = run_many([text for text, _ in cases], [inputs for _, inputs in cases])
    for (text, inputs), have in zip(cases, found):
        compare(run_reference(text, inputs), have, rtol, atol, what=text)


def compare(expected: Sequence[torch.Tensor], found: Sequence[torch.Tensor], rtol: float = 0.0, atol: float = 0.0, what: str = "") -> None:
    """Equal tensors, within a tolerance; NaN in the same places, zeros of the same sign where `rtol` is 0."""
    assert len(expected) == len(found)
    for want, have in zip(expected, found):
        assert want.shape == have.shape and want.dtype == have.dtype
        torch.testing.assert_close(have, want, rtol=rtol, atol=atol, equal_nan=True, msg=lambda text: f"{what}: {text}")
        if want.dtype.is_floating_point and rtol == 0.0:
            zeros = want == 0
            assert torch.equal(torch.signbit(have[zeros]), torch.signbit(want[zeros])), what


def sample(sizes: Sequence[int], element: str, seed: int = 0, special: bool = False) -> torch.Tensor:
    """Random numbers of an element type, with NaN, infinities and zeros of both signs among them if `special`."""
    generator = torch.Generator().manual_seed(seed)
    dtype = DTYPES[element]
    if dtype is torch.bool:
        return torch.randint(0, 2, tuple(sizes), generator=generator).bool()
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return torch.randint(max(info.min, -100), min(info.max, 100) + 1, tuple(sizes), generator=generator).to(dtype)
    out = torch.randn(tuple(sizes), generator=generator)
    if special and out.numel():
        where = torch.randint(0, max(out.numel() // 3, 1), out.shape, generator=generator)
        for number, value in enumerate(SPECIAL):
            out[where == number] = value
    return out.to(dtype)
