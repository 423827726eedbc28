"""A tensor of another kind, or one that shares memory with others, makes another version or runs eagerly: no result of a version for other inputs."""

import pytest
import torch

import lect
from tests.e2e.support import same, versions


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()


class Plain(torch.Tensor):
    """A subclass that does nothing of its own."""


@pytest.mark.parametrize(
    "again",
    [
        lambda x: x.to("meta"),
        torch.Tensor.to_sparse,
        torch.Tensor.to_sparse_csr,
        torch.Tensor.to_mkldnn,
        lambda x: x.as_subclass(Plain),
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        pytest.param(lambda x: x.rename("a", "b"), marks=pytest.mark.skipif(not hasattr(torch.Tensor, "rename"), reason="this torch gives no names")),
    ],
    ids=["device", "sparse", "rows", "blocked", "subclass", "quantized", "names"],
)
@pytest.mark.parametrize("guards", ["native", "python"])
@pytest.mark.parametrize("known", [False, True])
def test_kind_of_input(again, guards, known):
    """A tensor of another device, layout or class after a plain one, and a plain one after it."""
    f = lambda x: x.relu()  # noqa: E731
    compiled = lect.compile(f, options={"level": "fx", "guards": guards})
    x = torch.randn(4, 4)
    same(f(x), compiled(x))
    for other in (again(x), x, again(x)) if known else (again(x), x):
        want, got = f(other), compiled(other)
        assert (type(want), want.device, want.layout, want.shape, want.is_quantized) == (type(got), got.device, got.layout, got.shape, got.is_quantized)
        assert str(want) == str(got)
    assert versions() == (2 if again(x).is_meta else 1)


@pytest.mark.parametrize("guards", ["native", "python"])
def test_what_inputs_share(guards):
    """What is written to one input is seen in another, or is not, in each version; which of them a call takes hangs on what they share."""

    def f(a, b):
        a.add_(1)
        return b * 2

    compiled = lect.compile(f, options={"guards": guards})
    shares = [
        lambda: (torch.ones(4, 4), torch.full((4, 4), 2.0)),
        lambda: (torch.ones(4, 4),) * 2,
        lambda: (lambda t: (t, t.view(4, 4)))(torch.ones(4, 4)),
        lambda: (lambda t: (t[:4], t[4:]))(torch.ones(8, 4)),
        lambda: (lambda t: (t[:4], t[2:6]))(torch.ones(8, 4)),
    ]
    for _ in range(2):
        for share in shares:
            same(f(*share()), compiled(*share()))
    assert versions() <= 5
