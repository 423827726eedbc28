"""The first use of any torch function in a compiled one imports neither torch's compiler nor symbolic algebra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PROGRAMS = """
import sys, warnings
import torch, lect
import torch.nn.functional as F
warnings.simplefilter("ignore")
x, m, v, i = torch.randn(2, 3, 4, 4), torch.randn(4, 4), torch.randn(5), torch.tensor([0, 1])
programs = [
    lambda: torch.zeros_like(x) + torch.empty_like(x).fill_(1) + torch.ones_like(x) + torch.full_like(x, 2) + torch.rand_like(x) + x.new_zeros(4),
    lambda: (x.sort()[0], x.topk(2)[0], x.cumsum(0), x.cumprod(0), m.median(), m.logsumexp(0), x.std(), x.norm(), m.diff(), m.diag(), m.trace()),
    lambda: (F.pad(x, (1, 1, 1, 1), mode="reflect"), F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear"), F.unfold(x, 2)),
    lambda: (m.gather(0, i[None]), m.scatter(0, i[None], 1.0), m[i], m.index_put((i,), torch.ones(4)), F.embedding(i, m), torch.isin(i, i), F.one_hot(i, 4)),
    lambda: (F.cross_entropy(m[:2], i), F.batch_norm(x, None, None, training=True), F.group_norm(x, 3), F.rms_norm(x, (4,)), F.grid_sample(x, x[:, :2, :2, :2].mT)),
    lambda: (F.scaled_dot_product_attention(x, x, x), torch.einsum("ij,jk->ik", m, m), torch.linalg.inv(m), torch.kron(m, m), torch.cdist(m, m)),
    lambda: (F.glu(x), F.hardswish(x), F.hardtanh(x), F.leaky_relu(x), F.elu(x), torch.where(x > 0, x, 0.0), m.tril(), m + torch.linspace(0, 1, 4) + torch.eye(4)),
    lambda: (F.max_pool2d(x, 2), F.max_pool3d(x, 2), F.adaptive_avg_pool2d(x, (2, 2)), F.conv_transpose2d(x, torch.ones(3, 3, 2, 2)), F.dropout(x, 0.5, True)),
    lambda: (torch._foreach_add([x, x], [x, x]), torch.lerp(x, x, 0.5), torch.bucketize(v, torch.tensor([0.0, 1.0])), torch.cat([m, m]), m.flip(0), m.roll(1)),
    lambda: (m.sinc(), torch.special.i0(m), m.digamma(), torch.polygamma(1, m), m.erfinv(), torch.addmm(m, m, m), torch.renorm(m, 2, 0, 1.0), torch.add(m, m, out=v.new_empty(4, 4))),
]
for number, program in enumerate(programs):
    with torch.no_grad():
        lect.compile(program)()
    loaded = [name for name in ("sympy", "torch._dynamo", "torch._inductor", "torch.fx.experimental.symbolic_shapes") if name in sys.modules]
    assert not loaded, (number, loaded)
"""


@pytest.mark.slow
def test_first_uses_import_no_symbolic_algebra():
    result = subprocess.run([sys.executable, "-c", PROGRAMS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


THREADS = """
import sys, threading
from lect.frontends.tensors.quiet_symbols import without_symbols
found = []
def other():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv, guard_or_false
    import sympy
    found.extend([guard_or_false, ShapeEnv, sympy.Basic])
with without_symbols():
    from torch.fx.experimental.symbolic_shapes import guard_or_false as plain, sym_and, sym_eq
    assert (plain(3 == 3), sym_and(True, False), sym_eq((1, 2), (1, 2)), sym_eq((1,), (1, 2))) == (True, False, True, False)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
import sympy, torch.fx.experimental.symbolic_shapes as true
assert found == [true.guard_or_false, true.ShapeEnv, sympy.Basic], found
assert type(sympy).__name__ == type(true).__name__ == "module"
assert plain(true.ShapeEnv().create_unbacked_symint() == 7) is False
"""


def test_stand_ins_answer_one_thread_alone_and_go_away():
    result = subprocess.run([sys.executable, "-c", THREADS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
