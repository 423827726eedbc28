"""Every form that is worth measuring gives the values of the nest: on this machine as native code, for a GPU in the reference interpreter of kernels."""

from __future__ import annotations

import pytest
import torch

from lect.backends.llvm import cpu_target
from lect.backends.reference import host as reference_host
from lect.backends.reference import loop as reference_loop
from lect.dialects import make_context
from lect.dialects.kernel.attributes import TilesAttr
from lect.dialects.loop.ops import NestOp
from lect.ir import parse_module
from lect.passes.kernel.candidates import MOST, candidates, least_time
from lect.passes.loop.nests import nests_of
from lect.passes.manager import PassManager
from lect.passes.targets import target_named
from lect.passes.tuning import check_choices, nest_alone
from lect.runtime.executable import build
from lect.runtime.linking import module_of
from tests.unit.kernel.nests import nest_text, sample, sizes_text
from tests.unit.kernel.test_reductions import softmax
from tests.unit.kernel.test_shapes import pointwise


def columns(rows, size):
    """The sums of the columns of a matrix."""
    body = f"""
    %0 = loop.load(%x) MAP(d0 * {size} + d1) : f32
    %1 = loop.reduce(%0) {{kind = "sum", over = [0]}} : f32
    loop.store(%1) MAP(d1)"""
    return nest_text([rows, size], [("x", sizes_text([rows, size], "f32"))], [("z", f"{size}xf32")], body)


def turned(rows, size):
    """A matrix, transposed."""
    body = f"""
    %0 = loop.load(%x) MAP(d1 * {rows} + d0) : f32
    loop.store(%0) MAP(d0 * {size} + d1)"""
    return nest_text([rows, size], [("x", sizes_text([size, rows], "f32"))], [("z", sizes_text([rows, size], "f32"))], body)


def product(rows, size, inner):
    """A product of two matrices of halves."""
    body = f"""
    %0 = loop.load(%x) MAP(d0 * {inner} + d2) : bf16
    %1 = loop.load(%y) MAP(d2 * {size} + d1) : bf16
    %2 = loop.cast(%0) : f32
    %3 = loop.cast(%1) : f32
    %4 = loop.mul(%2, %3) : f32
    %5 = loop.reduce(%4) {{kind = "sum", over = [2], contract = true}} : f32
    loop.store(%5) MAP(d0 * {size} + d1)"""
    inputs = [("x", sizes_text([rows, inner], "bf16")), ("y", sizes_text([inner, size], "bf16"))]
    text = nest_text([rows, size, inner], inputs, [("z", sizes_text([rows, size], "f32"))], body)
    return text.replace("@n0(%x, %y) {", '@n0(%x, %y) {chosen = "own tiles", ')


NESTS = {
    "pointwise": (pointwise([37, 130]), [([37, 130], "f32"), ([37, 130], "f32")]),
    "long": (pointwise([5000]), [([5000], "f32"), ([5000], "f32")]),
    "softmax": (softmax(9, 77), [([9, 77], "f32")]),
    "long softmax": (softmax(3, 5000), [([3, 5000], "f32")]),
    "longest softmax": (softmax(2, 17000), [([2, 17000], "f32")]),
    "columns": (columns(300, 70), [([300, 70], "f32")]),
    "turned": (turned(70, 130), [([130, 70], "f32")]),
    "product": (product(70, 48, 40), [([70, 40], "bf16"), ([40, 48], "bf16")]),
}
FIRST = "kernel-choose-gpu-tiles"
TARGETS = {"cpu": {**cpu_target(), "threads": 1}, "gpu": target_named("cuda:sm_90")}


def nest_of(name, target):
    """A nest, in front of the choice of its tiles, and its inputs."""
    text, inputs = NESTS[name]
    ctx = make_context(target=target)
    module = parse_module(text, ctx)
    passes = PassManager.parse("kernel").passes
    PassManager(passes[: [each.name for each in passes].index(FIRST)]).run(module, ctx)
    (nest,) = nests_of(module)
    return nest, [sample(sizes, element, number) for number, (sizes, element) in enumerate(inputs)]


def lowered(nest, choices, target):
    """The nest alone in one form, at the kernel level."""
    ctx = make_context(target=target)
    func = nest_alone(nest)
    (inner,) = [op for op in func.body if isinstance(op, NestOp)]
    inner.attrs.update(choices)
    module = module_of(func)
    passes = PassManager.parse("kernel").passes
    PassManager(passes[[each.name for each in passes].index(FIRST) :], verify_each=True).run(module, ctx)
    return module, ctx


@pytest.mark.parametrize("machine", TARGETS)
@pytest.mark.parametrize("name", NESTS)
def test_every_form_gives_the_values_of_the_nest(name, machine):
    target = TARGETS[machine]
    nest, inputs = nest_of(name, target)
    forms = candidates(nest, target)
    assert 1 < len(forms) <= MOST
    assert "warps" not in forms[0]
    assert len({str(form) for form in forms}) == len(forms)
    (wanted,) = reference_loop.run(nest_alone(nest), [each.flatten() for each in inputs])
    for form in forms:
        check_choices(nest, form)
        module, ctx = lowered(nest, form, target)
        if machine == "cpu":
            (found,) = build(module, ctx)(*inputs)
        else:
            (func,) = [op for op in module.body if op.name == "kernel.func"]
            assert func.warps == form.get("warps", func.warps)
            host = next(op for op in module.body if op.name == "host.func")
            (found,) = reference_host.run(host, inputs)
        torch.testing.assert_close(found.flatten(), wanted.flatten(), rtol=1e-4, atol=1e-5, msg=str(form))


def test_a_form_that_leaves_processors_idle_takes_longer():
    nest, _ = nest_of("long softmax", TARGETS["gpu"])
    few = {"tiles": TilesAttr("rows", [("Y", 0, 4, "grid"), ("R", 1, 8192, "whole")], "R")}
    many = {"tiles": TilesAttr("rows", [("R", 1, 8192, "whole")], "R")}
    assert least_time(nest, few, TARGETS["gpu"]) == pytest.approx(3 * least_time(nest, many, TARGETS["gpu"]))


def test_columns_that_are_narrower_than_what_memory_gives_at_once_take_longer():
    nest, _ = nest_of("columns", TARGETS["gpu"])
    wide, narrow = [{"tiles": TilesAttr("columns", [("R", 0, 64, "loop"), ("X", 1, block, "grid")], "X", True)} for block in (8, 2)]
    ratio = least_time(nest, narrow, TARGETS["gpu"]) / least_time(nest, wide, TARGETS["gpu"])
    assert ratio == pytest.approx(4 * 9 / 35)


@pytest.mark.parametrize(
    ("name", "tiles", "message"),
    [
        ("pointwise", TilesAttr("flat", [("X", 0, 1 << 18, "grid")], "X"), "has more than"),
        ("softmax", TilesAttr("tile product", [("R", 1, 128, "whole")], "R"), "is no product of tiles"),
        ("product", TilesAttr("tile product", [("Y", 0, 8, "grid"), ("X", 1, 16, "grid"), ("R", 2, 16, "loop")], "X"), "is no product of tiles"),
    ],
)
def test_forms_that_no_kernel_can_have(name, tiles, message):
    nest, _ = nest_of(name, TARGETS["gpu"])
    with pytest.raises(Exception, match=message):
        check_choices(nest, {"tiles": tiles})
