"""Shape and stride arithmetic against what eager torch does with random tensors."""

from __future__ import annotations

import random

import pytest
import torch

from lect.dialects.functional import shapes


def random_tensor(rng: random.Random, shape: list[int]) -> torch.Tensor:
    """A tensor of this shape: plain, permuted, sliced, channels-last or expanded."""
    kind = rng.random()
    if kind < 0.3:
        return torch.empty(shape)
    if kind < 0.6:
        order = rng.sample(range(len(shape)), len(shape))
        return torch.empty([shape[dim] for dim in order]).permute([order.index(dim) for dim in range(len(order))])
    if kind < 0.8:
        return torch.empty([size * 2 for size in shape])[tuple([slice(None, None, 2)] * len(shape))]
    if kind < 0.9 and len(shape) == 4:
        return torch.empty(shape).contiguous(memory_format=torch.channels_last)
    return torch.empty([1] * len(shape)).expand(shape)


def random_operands(rng: random.Random) -> list[torch.Tensor]:
    """One to three tensors that broadcast; sizes of 0 and 1 are frequent."""
    shape = [rng.choice([0, 1, 2, 3, 4]) if rng.random() < 0.9 else 1 for _ in range(rng.randint(0, 4))]
    own = [[1 if rng.random() < 0.25 else size for size in shape][rng.choice([0, 0, 0, 1, 2]) :] for _ in range(rng.randint(1, 3))]
    return [random_tensor(rng, each) for each in own]


def layout(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(tensor.shape), tensor.stride()


@pytest.mark.parametrize("seed", range(8))
def test_pointwise_results_are_laid_out_as_eager_does(seed):
    rng = random.Random(seed)
    for _ in range(300):
        operands = random_operands(rng)
        result = (torch.neg, torch.add, torch.addcmul)[len(operands) - 1](*operands)
        layouts = [layout(operand) for operand in operands]
        shape = shapes.broadcast([own for own, _ in layouts])
        assert (shape, shapes.pointwise_strides(layouts, shape)) == layout(result), layouts
        assert shapes.preserved_strides(layouts[0]) == operands[0].clone().stride(), layouts[0]


@pytest.mark.parametrize("seed", range(4))
def test_views_are_those_of_eager(seed):
    rng = random.Random(seed)
    for _ in range(300):
        (tensor, *_) = random_operands(rng)
        flat = [size for size in tensor.shape for size in _factors(rng, size)]
        for shape in ([tensor.numel()], flat, [1, *flat], list(tensor.shape)):
            try:
                expected = tensor.view(shape).stride()
            except RuntimeError:
                expected = None
            assert shapes.view_strides(layout(tensor), tuple(shape)) == expected, (layout(tensor), shape)


def _factors(rng: random.Random, size: int) -> list[int]:
    found = [divisor for divisor in range(1, size + 1) if size % divisor == 0]
    first = rng.choice(found) if found else 0
    return [first, size // first] if first else [0]


@pytest.mark.parametrize("seed", range(4))
def test_density_and_contiguity_are_those_of_eager(seed):
    rng = random.Random(seed)
    for _ in range(300):
        for tensor in random_operands(rng):
            assert shapes.is_contiguous(*layout(tensor)) == tensor.is_contiguous()
            assert shapes.is_dense(*layout(tensor)) == torch.ops.aten.is_non_overlapping_and_dense(tensor)
            assert shapes.contiguous_strides(tensor.shape) == torch.empty(tensor.shape).stride()


def test_shape_errors_say_what_does_not_fit():
    with pytest.raises(shapes.ShapeError, match="sizes 3 and 4 of dim 1 do not broadcast"):
        shapes.broadcast([(2, 3), (4,)])
    with pytest.raises(shapes.ShapeError, match=r"shape \[3, -1\] does not fit 8 elements"):
        shapes.resolve_shape((3, -1), 8)
    with pytest.raises(shapes.ShapeError, match=r"dim 2 is outside of -2\.\.1"):
        shapes.normalize_dim(2, 2)
    with pytest.raises(shapes.ShapeError, match="named twice"):
        shapes.normalize_dims([0, -2], 2)
