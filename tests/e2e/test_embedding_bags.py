"""Training of bags of rows, `embedding_bag`."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import same
from tests.e2e.test_compiled_training import both, in_native_code, leaf


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize(("padding", "with_end", "dtype"), [(None, False, torch.float32), (2, True, torch.bfloat16), (None, True, torch.float64)])
@pytest.mark.parametrize("mode", ["sum", "weighted", "mean", "max"])
def test_bags_of_rows(mode, padding, with_end, dtype):
    """The bookkeeping of bags has sizes that hang on the dtype, on the mode and on whether a gradient may come."""
    indices, offsets = torch.tensor([4, 1, 2, 6, 0, 2, 2, 3, 5, 1]), torch.tensor([0, 3, 3, 8, 10] if with_end else [0, 3, 3, 8])
    options = {"mode": "sum" if mode == "weighted" else mode, "padding_idx": padding, "include_last_offset": with_end}

    def program(table, factors):
        rows = F.embedding_bag(indices, table * 2, offsets, per_sample_weights=factors if mode == "weighted" else None, **options)
        return torch.tanh(rows)

    def use(run, table, factors):
        out = run(table, factors)
        out.square().sum().backward()
        with torch.no_grad():
            again = run(table, factors)
        return out, table.grad, factors.grad if mode == "weighted" else None, again

    both(program, use, lambda: leaf(7, 4).detach().to(dtype).requires_grad_(), lambda: leaf(10, seed=1).detach().to(dtype).requires_grad_())
    in_native_code()


def test_a_module_of_bags_learns():
    def use(run, _):
        torch.manual_seed(0)
        model = nn.Sequential(nn.EmbeddingBag(9, 4), nn.Linear(4, 2))
        run = model if run is eager else lect.compile(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        found = []
        for step in range(3):
            loss = run((torch.arange(12).view(3, 4) * (step + 1)) % 9).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.detach())
        return found, [parameter.detach() for parameter in model.parameters()]

    def eager(x):
        return x

    same(use(eager, None), use(None, None), scaled=True)
    in_native_code()
