"""Padded products give what the products give, also for NaN and infinities."""

import pytest
import torch

from lect.dialects import make_context
from lect.passes.manager import PassManager
from tests.unit.passes.graphs import functional_graph, operations, run_graph

FUNCTIONS = {
    "mm": lambda x, y, b: x @ y,
    "addmm": lambda x, y, b: torch.addmm(b, x, y, alpha=0.5),
    "column": lambda x, y, b: torch.addmm(b[:1], x, y, beta=2),
    "bmm": lambda x, y, b: torch.bmm(x.expand(2, -1, -1), y.expand(2, -1, -1)),
    "baddbmm": lambda x, y, b: torch.baddbmm(b, x.expand(2, -1, -1), y.expand(2, -1, -1)),
}


@pytest.mark.parametrize("sizes", [(3, 5, 6), (4, 8, 7), (9, 1, 4)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_padded(name, sizes):
    rows, inner, columns = sizes
    args = torch.randn(rows, inner), torch.randn(inner, columns), torch.randn(columns)
    args[0][0, 0], args[1][-1, -1], args[2][0] = float("inf"), float("nan"), -0.0
    graph = functional_graph(FUNCTIONS[name], *args, pipeline="capture,aot")
    module = graph.parent_op
    PassManager.parse("functional-pad-mm{alignment=4 least=1}", verify_each=True).run(module, make_context())
    assert operations(graph)["pad"] >= 1
    order = [next(arg for arg in args if tuple(value.type.shape) == tuple(arg.shape)) for value in graph.body.args]
    (got,) = run_graph(graph, *order)
    want = FUNCTIONS[name](*args)
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want, equal_nan=True)
