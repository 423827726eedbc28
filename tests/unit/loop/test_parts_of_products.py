"""Products on a GPU whose sums are added up in parts: values in the reference interpreter, and when there are such parts."""

import pytest
import torch

from lect.backends.reference import host as reference_host
from lect.dialects import make_context
from lect.dialects.loop.ops import ExternOp
from lect.ir import parse_module, verify
from lect.passes.loop.gpu_products import TileProduct
from lect.passes.loop.nests import functions, nests_of
from lect.passes.manager import PassManager
from lect.passes.targets import target_named
from lect.passes.tuning import TUNING


def program(rows, inner, columns, batch=0, added=False):
    """A product with a tanh behind it."""
    lead, shape = ("bmm", f"{batch}x") if batch else ("addmm" if added else "mm", "")
    a, b, c = f"{shape}{rows}x{inner}", f"{shape}{inner}x{columns}", f"{shape}{rows}x{columns}"
    parameters = f"%x: !loop.buffer<{a}xbf16>, %w: !loop.buffer<{b}xbf16>" + (f", %b: !loop.buffer<{columns}xbf16>" if added else "")
    operands = "%b, %x, %w" if added else "%x, %w"
    views = f"#loop.view<{columns}>, " * added + f"#loop.view<{a}>, #loop.view<{b}>"
    numbers = ", ".join([f"#loop.operand<{k}>" for k in range(2 + added)])
    total = max(batch, 1) * rows * columns
    return f"""
loop.func @f({parameters}) {{
  %0 = loop.extern @e0({operands}) {{callee = @aten.{lead}.default, views = [{views}], args = [{numbers}], result_views = [#loop.view<{c}>]}} : !loop.buffer<{c}xbf16>
  %1 = loop.nest @n0(%0) {{space = #loop.space<d0: {total}>}} : !loop.buffer<{c}xbf16> {{
  ^bb0(%d0: index):
    %2 = loop.load(%0) {{map = #loop.map<(d0) -> (d0)>}} : bf16
    %3 = loop.cast(%2) : f32
    %4 = loop.tanh(%3) : f32
    %5 = loop.cast(%4) : bf16
    loop.store(%5) {{map = #loop.map<(d0) -> (d0)>}}
  }}
  loop.return(%1) {{views = [#loop.view<{c}>]}}
}}
"""


class Says:
    """The same record for every product."""

    def __init__(self, **choices):
        self.choices = choices

    def asked(self, kernel, pair):
        """Two nests may be one."""

    def find(self, kernel):
        return self.choices if "product" in self.choices else None


def lowered(text, **choices):
    ctx = make_context(target=target_named("cuda:sm_90"))
    ctx.resources[TUNING] = Says(**choices)
    module = parse_module(text, ctx)
    passes = PassManager.parse("loop").passes
    PassManager(passes[[each.name for each in passes].index("loop-choose-kernel") :], verify_each=True).run(module, ctx)
    del ctx.resources[TUNING]
    return module, ctx


def inputs(rows, inner, columns, batch=0, added=False):
    lead = (batch,) if batch else ()
    generator = torch.Generator().manual_seed(0)
    shapes = [(*lead, rows, inner), (*lead, inner, columns), *([(columns,)] if added else [])]
    return [torch.randn(shape, generator=generator).to(torch.bfloat16) for shape in shapes]


CASES = [{"rows": 64, "inner": 512, "columns": 48}, {"rows": 32, "inner": 1024, "columns": 64, "added": True}, {"rows": 16, "inner": 256, "columns": 32, "batch": 3}]


@pytest.mark.parametrize("case, parts", [(case, parts) for case in CASES for parts in (2, 4) if case["inner"] // parts >= 128])
def test_values(case, parts):
    module, ctx = lowered(program(**case), product="own", parts=parts)
    assert [nest.sym_name.endswith(".part") for nest in nests_of(module)].count(True) == 1
    assert not [op for func in functions(module) for op in func.body if isinstance(op, ExternOp)]
    PassManager.parse("kernel", verify_each=True).run(module, ctx)
    kernels = [op for op in module.body if op.name == "kernel.func"]
    assert len(kernels) == 2
    assert [any(inner.name == "kernel.dot" for inner in kernel.walk()) for kernel in kernels] == [True, False]
    x, w, *b = inputs(**case)
    (found,) = reference_host.run(next(op for op in module.body if op.name == "host.func"), [x, w, *b])
    product = torch.addmm(b[0], x, w) if b else x @ w
    torch.testing.assert_close(found, torch.tanh(product), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("parts", [1, 3, 8, 16])
def test_parts_that_do_not_fit_are_one(parts):
    module, _ = lowered(program(64, 512, 48), product="own", parts=parts)
    verify(module)
    assert len(nests_of(module)) == 1


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ({"rows": 64, "inner": 1024, "columns": 64}, [2, 4, 8]),
        ({"rows": 64, "inner": 256, "columns": 64}, [2]),
        ({"rows": 64, "inner": 136, "columns": 64}, []),
        ({"rows": 64, "inner": 1040, "columns": 64}, [2]),
        ({"rows": 64, "inner": 1024, "columns": 4096}, [2, 4]),
        ({"rows": 8192, "inner": 1024, "columns": 4096}, []),
    ],
)
def test_there_are_parts_where_tiles_are_few_and_sums_are_long(case, wanted):
    module = parse_module(program(**case), make_context())
    (call,) = [op for func in functions(module) for op in func.body if isinstance(op, ExternOp)]
    assert TileProduct.of(call).parts(132) == wanted
