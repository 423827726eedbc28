"""The order in which autograd's engine takes the leaves behind one node, which the runtime computes, is that of the engine itself."""

import pytest
import torch

from lect.runtime.engine_order import as_edges


class Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *leaves):
        ctx.count = len(leaves)
        return sum(leaf.sum() for leaf in leaves)

    @staticmethod
    def backward(ctx, gradient):
        return (gradient.expand(2),) * ctx.count


@pytest.mark.parametrize("count", [*range(1, 18), 31, 32, 33, 100])
def test_engine_comes_to_the_leaves_as_wanted(count):
    seen = []
    leaves = [torch.ones(2, requires_grad=True) for _ in range(count)]
    for number, leaf in enumerate(leaves):
        leaf.register_post_accumulate_grad_hook(lambda leaf, number=number: seen.append(number))
    wanted = [(7 * number + 3) % count for number in range(count)] if count % 7 else list(reversed(range(count)))
    Node.apply(*[leaves[number] for number in as_edges(wanted)]).backward()
    assert seen == wanted
